// libacl_rtc: Ascend C that a program compiles while it runs. The toolkit's bisheng makes a library of it, which
// aclrtBinaryLoadFromData loads.
#include <cctype>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/command.h"
#include "core/handles.h"
#include "core/sim.h"
#include "include/acl/acl_rt_compile.h"

namespace sim::rtc {
namespace {

struct Program {
  std::mutex mutex;
  std::string source, name;
  std::map<std::string, std::string> headers;  // by the name that the source includes
  std::map<std::string, std::string> lowered;  // by expression
  bool compiled = false;
  std::string binary, log;
};

std::shared_ptr<Program> find(const char* caller, aclrtcProg handle) {
  auto found = Handles<Program>::all().find(handle);
  if (!found) sim_fail(ACL_ERROR_RTC_INVALID_PROG, "%s: %p was not made by aclrtcCreateProg", caller, handle);
  return found;
}

// `get` of the program with its mutex held, where what it fills in is there.
template <typename F>
aclError with_program(const char* caller, aclrtcProg handle, bool there, F get) {
  const auto program = find(caller, handle);
  if (!program) return ACL_ERROR_RTC_INVALID_PROG;
  if (!there) return sim_fail(ACL_ERROR_RTC_INVALID_INPUT, "%s: an argument is null", caller);
  std::lock_guard<std::mutex> lock(program->mutex);
  return get(*program);
}

template <typename F>
aclError with_binary(const char* caller, aclrtcProg handle, bool there, F get) {
  return with_program(caller, handle, there, [&](const Program& program) -> aclError {
    if (program.binary.empty()) return sim_fail(ACL_ERROR_RTC_COMPILATION, "%s: the program is not compiled", caller);
    get(program.binary);
    return ACL_SUCCESS;
  });
}

// A file's name of what the program calls itself: findings name it.
std::string file_of(const std::string& name) {
  std::string file = std::filesystem::path(name).filename().string();
  if (file.empty()) file = "default_program";
  return file.size() > 4 && file.compare(file.size() - 4, 4, ".asc") == 0 ? file : file + ".asc";
}

}  // namespace

extern "C" {

SIM_API aclError aclrtcCreateProg(aclrtcProg* prog, const char* src, const char* name, int numHeaders,
                                  const char** headers, const char** includeNames) {
  if (!prog || !src || numHeaders < 0 || (numHeaders && (!headers || !includeNames)))
    return sim_fail(ACL_ERROR_RTC_INVALID_INPUT, "%s: prog or src is null, or the headers are not there", __func__);
  auto made = std::make_shared<Program>();
  made->source = src, made->name = name ? name : "default_program";
  for (int i = 0; i < numHeaders; ++i) {
    const std::filesystem::path path = includeNames[i] ? includeNames[i] : "";
    bool inside = headers[i] && !path.empty() && path.is_relative();
    for (const auto& part : path) inside = inside && part != "..";
    if (!inside)
      return sim_fail(ACL_ERROR_RTC_INVALID_INPUT, "%s: header %d has no text, or no name inside a folder", __func__,
                      i);
    made->headers[path.string()] = headers[i];
  }
  *prog = Handles<Program>::all().add(std::move(made));
  return ACL_SUCCESS;
}

SIM_API aclError aclrtcDestroyProg(aclrtcProg* prog) {
  if (!prog || !Handles<Program>::all().take(*prog))
    return sim_fail(ACL_ERROR_RTC_INVALID_PROG, "%s: no such program", __func__);
  *prog = nullptr;
  return ACL_SUCCESS;
}

SIM_API aclError aclrtcAddNameExpr(aclrtcProg prog, const char* const nameExpression) {
  const auto program = find(__func__, prog);
  if (!program) return ACL_ERROR_RTC_INVALID_PROG;
  if (!nameExpression || !*nameExpression)
    return sim_fail(ACL_ERROR_RTC_INVALID_INPUT, "%s: the expression is empty", __func__);
  std::lock_guard<std::mutex> lock(program->mutex);
  if (program->compiled)
    return sim_fail(ACL_ERROR_RTC_NO_NAME_EXPR_AFTER_COMPILATION, "%s: the program is compiled", __func__);
  std::string lowered = "ophook_rtc_" + std::to_string(program->lowered.size());
  for (const char* c = nameExpression; *c; ++c) lowered += std::isalnum(static_cast<unsigned char>(*c)) ? *c : '_';
  program->lowered.emplace(nameExpression, std::move(lowered));
  return ACL_SUCCESS;
}

SIM_API aclError aclrtcCompileProg(aclrtcProg prog, int numOptions, const char** options) {
  const auto program = find(__func__, prog);
  if (!program) return ACL_ERROR_RTC_INVALID_PROG;
  if (numOptions < 0 || (numOptions && !options))
    return sim_fail(ACL_ERROR_RTC_INVALID_INPUT, "%s: the options are not there", __func__);
  std::lock_guard<std::mutex> lock(program->mutex);
  command::Folder folder;
  if (folder.path.empty()) return sim_fail(ACL_ERROR_RTC_FAILURE, "%s: no folder can be made for the source", __func__);
  const auto source = folder.path / file_of(program->name), out = folder.path / "kernels.so", log = folder.path / "log";
  bool written = command::write(source, program->source);
  for (const auto& [name, text] : program->headers)
    written = command::write(folder.path / "headers" / name, text) && written;
  if (!written)
    return sim_fail(ACL_ERROR_RTC_FAILURE, "%s: the source cannot be written to %s", __func__, folder.path.c_str());
  std::vector<std::string> line{command::tool("bisheng").string(),
                                "-shared",
                                "-I" + (folder.path / "headers").string(),
                                source.string(),
                                "-o",
                                out.string()};
  for (int i = 0; i < numOptions; ++i) {
    if (!options[i] || options[i][0] != '-')
      return sim_fail(ACL_ERROR_RTC_INVALID_OPTION, "%s: option %d is none: %s", __func__, i,
                      options[i] ? options[i] : "null");
    line.emplace_back(options[i]);
  }
  for (const auto& [expression, lowered] : program->lowered)
    line.push_back("--ophook-kernel=" + lowered + "=" + expression);
  const int status = command::run(line, log);
  program->log = command::read(log), program->binary = status ? "" : command::read(out);
  program->compiled = true;
  if (!status) return ACL_SUCCESS;
  const char* said = program->log.c_str();
  if (status < 0) return sim_fail(ACL_ERROR_RTC_FAILURE, "%s: %s does not start", __func__, line[0].c_str());
  auto says = [&](const char* what) { return std::strstr(said, what) != nullptr; };
  const int code = says("--npu-arch") || says("unrecognized command-line option") ? ACL_ERROR_RTC_INVALID_OPTION
                   : says("cannot be linked")                                     ? ACL_ERROR_RTC_LINKING
                                                                                  : ACL_ERROR_RTC_COMPILATION;
  return sim_fail(code, "%s: %s", __func__, said);
}

SIM_API aclError aclrtcGetLoweredName(aclrtcProg prog, const char* nameExpression, const char** loweredName) {
  const char* caller = __func__;
  return with_program(caller, prog, nameExpression && loweredName, [&](const Program& program) -> aclError {
    if (!program.compiled)
      return sim_fail(ACL_ERROR_RTC_NO_LOWERED_NAMES_BEFORE_COMPILATION, "%s: the program is not compiled", caller);
    const auto found = program.lowered.find(nameExpression);
    if (found == program.lowered.end())
      return sim_fail(ACL_ERROR_RTC_NAME_EXPR_NOT_VALID, "%s: aclrtcAddNameExpr was not called for %s", caller,
                      nameExpression);
    *loweredName = found->second.c_str();
    return ACL_SUCCESS;
  });
}

SIM_API aclError aclrtcGetBinDataSize(aclrtcProg prog, size_t* binDataSizeRet) {
  return with_binary(__func__, prog, binDataSizeRet,
                     [&](const std::string& binary) { *binDataSizeRet = binary.size(); });
}

SIM_API aclError aclrtcGetBinData(aclrtcProg prog, char* binData) {
  return with_binary(__func__, prog, binData,
                     [&](const std::string& binary) { std::memcpy(binData, binary.data(), binary.size()); });
}

// With the zero that ends it.
SIM_API aclError aclrtcGetCompileLogSize(aclrtcProg prog, size_t* logSizeRet) {
  return with_program(__func__, prog, logSizeRet, [&](const Program& program) -> aclError {
    *logSizeRet = program.log.size() + 1;
    return ACL_SUCCESS;
  });
}

SIM_API aclError aclrtcGetCompileLog(aclrtcProg prog, char* log) {
  return with_program(__func__, prog, log, [&](const Program& program) -> aclError {
    std::memcpy(log, program.log.c_str(), program.log.size() + 1);
    return ACL_SUCCESS;
  });
}

}  // extern "C"
}  // namespace sim::rtc
