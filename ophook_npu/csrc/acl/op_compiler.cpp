// libacl_op_compiler: compile options, and single operators by type name (the path that ops without an aclnn form
// take).
//
// It fails as libascendcl does (acl/runtime.cpp). The operator table refuses with a text: it becomes the message of
// ACL_ERROR_INVALID_PARAM in the call, or of the stream's error where the operator was on it.
#include "acl/acl_op_compiler.h"

#include <cstring>
#include <mutex>

#include "acl/operator_models.h"
#include "acl/refuse.h"

namespace {

std::mutex options_mutex;
// "disable": operators are looked up, not compiled for each shape; anything else sends torch_npu down the old aclop
// path.
std::map<int, std::string>& options() {
  static auto* instance = new std::map<int, std::string>{{ACL_OP_JIT_COMPILE, "disable"}};
  return *instance;
}

int problem_of_compiling(const char* caller, aclopCompileType compile, const char* path) {
  if (compile == ACL_COMPILE_SYS || (compile == ACL_COMPILE_UNREGISTERED && path)) return ACL_SUCCESS;
  if (compile == ACL_COMPILE_UNREGISTERED) return ACL_INVALID(caller, "no path of an operator that is not registered");
  return sim_fail(ACL_ERROR_API_NOT_SUPPORT, "%s: %d is no aclopCompileType", caller, int(compile));
}

// `told`: null, or the descriptions of the outputs, which get the sizes that only running tells.
int compile_and_execute(const char* caller, const sim::acl::Operator& op, const sim::acl::Memory& memory,
                        aclTensorDesc* const told[], void* stream) {
  if (const int code = problem_of(caller, op)) return code;
  if (const int code = problem_of(caller, op, memory)) return code;
  if (all_empty(op)) return ACL_SUCCESS;
  return sim::acl::compile_and_execute(op, memory, stream, told);
}

}  // namespace

extern "C" {

size_t aclGetCompileoptSize(aclCompileOpt option) {
  std::lock_guard<std::mutex> lock(options_mutex);
  auto entry = options().find(option);
  return entry == options().end() ? 0 : entry->second.size() + 1;
}

aclError aclGetCompileopt(aclCompileOpt option, char* value, size_t length) {
  std::lock_guard<std::mutex> lock(options_mutex);
  auto entry = options().find(option);
  ACL_INVALID_IF(entry == options().end(), "option %d was never set", int(option));
  ACL_INVALID_IF(length < entry->second.size() + 1, "buffer too small");
  memcpy(value, entry->second.c_str(), entry->second.size() + 1);
  return ACL_SUCCESS;
}

aclError aclSetCompileopt(aclCompileOpt option, const char* value) {
  std::lock_guard<std::mutex> lock(options_mutex);
  options()[option] = value ? value : "";
  return ACL_SUCCESS;
}

aclError aclopSetCompileFlag(aclOpCompileFlag flag) {
  sim::acl::compile_for_all_sizes(flag == ACL_OP_COMPILE_FUZZ);
  return ACL_SUCCESS;
}

aclError aclopCompile(const char* type, int input_count, const aclTensorDesc* const inputs[], int output_count,
                      const aclTensorDesc* const outputs[], const aclopAttr* attributes, aclopEngineType,
                      aclopCompileType kind, const char* path) {
  if (const int code = problem_of_compiling("aclopCompile", kind, path)) return code;
  const sim::acl::Operator op{type, input_count, inputs, output_count, outputs, attributes};
  if (const int code = problem_of("aclopCompile", op)) return code;
  if (const int code = sim::acl::problem_of_places("aclopCompile", op)) return code;
  return sim::acl::compile("aclopCompile", op);
}

aclError aclopCompileAndExecute(const char* type, int input_count, const aclTensorDesc* const input_desc[],
                                const aclDataBuffer* const inputs[], int output_count,
                                const aclTensorDesc* const output_desc[], aclDataBuffer* const outputs[],
                                const aclopAttr* attributes, aclopEngineType, aclopCompileType kind, const char* path,
                                aclrtStream stream) {
  if (const int code = problem_of_compiling("aclopCompileAndExecute", kind, path)) return code;
  return compile_and_execute("aclopCompileAndExecute",
                             {type, input_count, input_desc, output_count, output_desc, attributes}, {inputs, outputs},
                             nullptr, stream);
}

// Returns when the descriptions of the outputs have their sizes.
aclError aclopCompileAndExecuteV2(const char* type, int input_count, aclTensorDesc* input_desc[],
                                  aclDataBuffer* inputs[], int output_count, aclTensorDesc* output_desc[],
                                  aclDataBuffer* outputs[], aclopAttr* attributes, aclopEngineType,
                                  aclopCompileType kind, const char* path, aclrtStream stream) {
  if (const int code = problem_of_compiling("aclopCompileAndExecuteV2", kind, path)) return code;
  return compile_and_execute("aclopCompileAndExecuteV2",
                             {type, input_count, input_desc, output_count, output_desc, attributes}, {inputs, outputs},
                             output_desc, stream);
}

}  // extern "C"
