#include "aicpu_call.h"

#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>

#include <algorithm>
#include <cctype>
#include <deque>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>

#include "acl/error_codes/rt_error_codes.h"
#include "aicpu/call.h"
#include "core/json.h"
#include "core/log.h"
#include "core/sim.h"
#include "core/touch.h"
#include "graph_impl.h"
#include "registry.h"
#include "tasks.h"

namespace gesim {
namespace {

constexpr uint32_t kCpus = 6;  // AI CPUs of an Ascend 910B that run operators

// ---- what packages say of their kernels -------------------------------------------------------------------------
using AicpuInfo = std::map<std::string, std::string>;  // of one operator: the keys of "opInfo"

// {"Type": {"opInfo": {"key": "value", …}, "input0": {…}}}
std::map<std::string, AicpuInfo> read_config(const std::string& text) {
  std::map<std::string, AicpuInfo> out;
  for (const auto& [type, about] : sim::JsonReader(text).whole().fields) {
    AicpuInfo& info = out[type];
    if (const sim::Json* given = sim::find(about, "opInfo"))
      for (const auto& [key, value] : given->fields) info[key] = value.text;
  }
  return out;
}

struct AicpuEntry {
  std::string package;
  AicpuInfo info;

  std::string get(const char* key) const {
    const auto found = info.find(key);
    return found == info.end() ? "" : found->second;
  }
  bool flag(const char* key) const { return get(key) == "True" || get(key) == "true"; }
  bool tells_shapes() const { return get("subTypeOfInferShape") == "3"; }
};

std::map<std::string, AicpuEntry> read_packages() {
  std::map<std::string, AicpuEntry> out;
  for (const std::string& package : package_folders()) {
    const std::string folder = package + "/op_impl/cpu/config";
    DIR* dir = opendir(folder.c_str());
    while (dirent* one = dir ? readdir(dir) : nullptr) {
      const std::string name = one->d_name;
      if (name.size() < 6 || name.compare(name.size() - 5, 5, ".json") != 0) continue;
      std::ifstream file(folder + "/" + name);
      try {
        for (auto& [type, info] : read_config({std::istreambuf_iterator<char>(file), {}}))
          out.emplace(type, AicpuEntry{package, info});  // the first package goes before the later ones
      } catch (const std::invalid_argument& error) {
        sim_log("GE", sim_log_error, "aicpu", (folder + "/" + name + ": " + error.what()).c_str());
      }
    }
    if (dir) closedir(dir);
  }
  return out;
}

const AicpuEntry* find_entry(const std::string& type) {
  static const auto* all = new std::map<std::string, AicpuEntry>(read_packages());
  const auto found = all->find(type);
  return found == all->end() ? nullptr : &found->second;
}

using AicpuFunction = decltype(&ophook_aicpu_run);

// What dlopen does not say: it passes over such a file as if it were not there.
bool is_of_this_machine(const std::string& library) {
  Elf64_Ehdr theirs{}, ours{};
  const auto read = [](const char* path, Elf64_Ehdr& to) {
    return bool(std::ifstream(path, std::ios::binary).read(reinterpret_cast<char*>(&to), sizeof to));
  };
  return !read(library.c_str(), theirs) || !read("/proc/self/exe", ours) || theirs.e_machine == ours.e_machine;
}

std::string find_function(const AicpuEntry& entry, AicpuFunction& out) {
  const std::string library = entry.get("kernelSo");
  if (entry.get("opKernelLib") != "CUSTAICPUKernel")
    return "its AI CPU kernel is of the library " + entry.get("opKernelLib") +
           ", which is not simulated; allowed: CUSTAICPUKernel";
  if (entry.get("subTypeOfInferShape") == "4")
    return "its AI CPU kernel allocates its outputs itself (opInfo.subTypeOfInferShape=4), which is not simulated; "
           "allowed: 1, 2 and 3";
  const std::string path = entry.package + "/op_impl/cpu/aicpu_kernel/impl/" + library;
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return "its AI CPU kernel cannot be loaded: " +
           (is_of_this_machine(path) ? dlerror() : path + " is compiled for another processor than the host's") +
           "; the simulated device runs what the host runs: build the project with the compilers of "
           "TOOLCHAIN_DIR=$ASCEND_HOME_PATH/toolkit/toolchain/hcc";
  out = reinterpret_cast<AicpuFunction>(dlsym(handle, "ophook_aicpu_run"));
  if (out) return "";
  return path + " was not linked by the compilers of $ASCEND_HOME_PATH/toolkit/toolchain/hcc; build it by them";
}

// ---- the call ---------------------------------------------------------------------------------------------------
class AicpuAttributes {
 public:
  AicpuAttributes() = default;
  AicpuAttributes(const Node& node, const ge::OperatorImpl& prototype) {
    const std::vector<Attr> values = ge::attributes_of(node, prototype);
    for (size_t i = 0; i < values.size(); ++i)
      if (const ge::IrAttr& declared = prototype.ir_attrs[i]; values[i].kind != Attr::kNone || !declared.required)
        add(declared.name, values[i]);
  }
  const std::vector<ophook_aicpu_attr>& views() const { return views_; }
  std::string problem;

 private:
  struct Kept {
    std::string name;
    Attr attr;
    std::vector<const char*> texts;
    std::vector<int64_t> wholes;
    std::vector<size_t> lengths;
  };

  void add(const std::string& name, const Attr& given) {
    Kept& kept = kept_.emplace_back();  // a deque: what is pointed to stays
    kept.name = name;
    kept.attr = given;
    const Attr& attr = kept.attr;
    ophook_aicpu_attr out{};
    out.name = kept.name.c_str();
    out.whole = attr.i, out.real = attr.f, out.text = attr.s.c_str();
    out.count = attr.ints.size(), out.wholes = attr.ints.data();
    switch (attr.kind) {
      case Attr::kInt: out.kind = ophook_aicpu_int; break;
      case Attr::kFloat: out.kind = ophook_aicpu_float; break;
      case Attr::kBool: out.kind = ophook_aicpu_bool; break;
      case Attr::kString: out.kind = ophook_aicpu_string; break;
      case Attr::kType: out.kind = ophook_aicpu_type; break;
      case Attr::kInts: out.kind = ophook_aicpu_ints; break;
      case Attr::kBools: out.kind = ophook_aicpu_bools; break;
      case Attr::kTypes: out.kind = ophook_aicpu_types; break;
      case Attr::kFloats:
        out.kind = ophook_aicpu_floats, out.count = attr.floats.size(), out.reals = attr.floats.data();
        break;
      case Attr::kStrings:
        for (const std::string& text : attr.strings) kept.texts.push_back(text.c_str());
        out.kind = ophook_aicpu_strings, out.count = kept.texts.size(), out.texts = kept.texts.data();
        break;
      case Attr::kIntLists:
        for (const auto& list : attr.lists) {
          kept.wholes.insert(kept.wholes.end(), list.begin(), list.end());
          kept.lengths.push_back(list.size());
        }
        out.kind = ophook_aicpu_int_lists, out.count = kept.lengths.size();
        out.wholes = kept.wholes.data(), out.lengths = kept.lengths.data();
        break;
      default: problem = "its attribute '" + name + "' is of a kind that AI CPU kernels do not have here"; return;
    }
    views_.push_back(out);
  }

  std::deque<Kept> kept_;
  std::vector<ophook_aicpu_attr> views_;
};

void write_aicpu_line(int32_t level, const char* text) { sim_log("AICPU", level, "aicpu", text); }

struct AicpuCall {
  std::string name, type;
  AicpuFunction function;
  std::vector<ge_tensor> inputs, outputs;
  AicpuAttributes attrs;
  uint32_t blocks = 1;  // parts that the operator is cut into: each is told its number
  bool tells_shapes = false;

  static ophook_aicpu_tensor view(const ge_tensor& tensor, bool unknown) {
    ophook_aicpu_tensor out{};
    out.dtype = tensor.dtype, out.format = 2;  // ND
    out.rank = tensor.rank, out.data = tensor.data, out.shape_unknown = unknown;
    out.size = static_cast<uint64_t>(std::max<int64_t>(byte_size(tensor), 0));
    std::copy(tensor.dims, tensor.dims + tensor.rank, out.dims);
    return out;
  }

  int fail(const std::string& why) const {
    return sim_fail(ACL_ERROR_RT_AICPU_EXCEPTION, "the AI CPU kernel of %s (%s): %s", name.c_str(), type.c_str(),
                    why.c_str());
  }

  int run_block(uint32_t block) {
    std::vector<ophook_aicpu_tensor> in, out;
    for (const ge_tensor& one : inputs) in.push_back(view(one, false));
    for (const ge_tensor& one : outputs) out.push_back(view(one, tells_shapes));
    std::vector<ophook_aicpu_attr> attributes = attrs.views();
    if (blocks > 1)
      for (const auto& [key, value] : {std::pair("block_id", block), {"block_num", blocks}}) {
        ophook_aicpu_attr& one = attributes.emplace_back(ophook_aicpu_attr{});
        one.name = key, one.kind = ophook_aicpu_int, one.whole = value;
      }
    ophook_aicpu_call call{type.c_str(),      in.data(),         in.size(), out.data(),      out.size(),
                           attributes.data(), attributes.size(), kCpus,     write_aicpu_line};
    char error[512] = "";
    if (const uint32_t status = function(&call, error, sizeof error))
      return fail(*error ? error : "Compute returned " + std::to_string(status));
    for (size_t i = 0; i < out.size() && tells_shapes; ++i) {
      ge_tensor told = outputs[i];
      told.rank = out[i].rank;
      std::copy(out[i].dims, out[i].dims + out[i].rank, told.dims);
      if (byte_size(told) < 0 || byte_size(told) > byte_size(outputs[i]))
        return fail("it tells the shape " + describe(told) + " of output " + std::to_string(i) +
                    ", which has room for " + describe(outputs[i]));
      outputs[i] = told;
    }
    return 0;
  }

  static int run(void* self) {
    AicpuCall& call = **static_cast<std::shared_ptr<AicpuCall>*>(self);
    for (const auto* side : {&call.inputs, &call.outputs})
      for (const ge_tensor& tensor : *side)
        if (const int64_t size = byte_size(tensor); size > 0)
          if (const char* problem = sim_memory_problem(side == &call.inputs ? "an input" : "an output", tensor.data,
                                                       static_cast<size_t>(size)))
            return call.fail(problem);
    int code = 0;
    for (uint32_t block = 0; block < call.blocks && !code; ++block) code = call.run_block(block);
    return code;
  }
  static void drop(void* self) { delete static_cast<std::shared_ptr<AicpuCall>*>(self); }

  static void tell(const void* self, sim_listener* listener) {
    const AicpuCall& call = **static_cast<const std::shared_ptr<AicpuCall>*>(self);
    listener->type(listener, call.type.c_str());
    for (const auto* side : {&call.inputs, &call.outputs}) {
      const bool writes = side == &call.outputs;
      ge_tell(listener, writes, side->data(), side->size());
      for (const ge_tensor& tensor : *side)
        if (const int64_t size = byte_size(tensor); size > 0) sim::touch(listener, writes, tensor.data, size_t(size));
    }
  }
  static constexpr sim_about kAbout{sim_task_operator, tell};
};

// Into how many parts an operator with opInfo.flagSupportBlockDim is cut: along one dimension of its first input, or
// all of its elements (-1).
uint32_t blocks_of(const AicpuEntry& entry, const std::vector<ge_tensor>& inputs) {
  if (!entry.flag("flagSupportBlockDim") || inputs.empty()) return 1;
  const std::string given = entry.get("blockDimByIndex");
  const int index = given.empty() ? -1 : std::atoi(given.c_str());
  const int64_t count = index < 0 ? element_count(inputs[0]) : index < inputs[0].rank ? inputs[0].dims[index] : 1;
  return static_cast<uint32_t>(std::clamp<int64_t>(count, 1, kCpus));
}

}  // namespace

bool aicpu_exists(const std::string& type) { return find_entry(type) != nullptr; }

bool aicpu_tells_shapes(const std::string& type) {
  const AicpuEntry* entry = find_entry(type);
  return entry && entry->tells_shapes();
}

std::string aicpu_launch(const Node& node, const std::vector<ge_tensor>& inputs, std::vector<ge_tensor>& outputs,
                         void* stream, int* failed) {
  const AicpuEntry& entry = *find_entry(node.type);
  auto call = std::make_shared<AicpuCall>();
  std::string problem = find_function(entry, call->function);
  if (!problem.empty()) return problem;
  if (std::any_of(inputs.begin(), inputs.end(), [](const ge_tensor& one) { return one.dtype == ge_absent; }))
    return "its AI CPU kernel would get an optional input that is not fed, which is not simulated";
  const ge::Operator op = create(node.name, node.type);
  call->attrs = AicpuAttributes(node, *ge::OpDescUtils::impl(op));
  if (!call->attrs.problem.empty()) return call->attrs.problem;
  call->name = node.name, call->type = node.type, call->inputs = inputs, call->outputs = outputs;
  // What is written in place is one tensor.
  for (size_t o = 0; o < outputs.size(); ++o)
    for (size_t i = 0; i < inputs.size(); ++i)
      if (node.output_desc[o].name == node.input_desc[i].name) call->outputs[o].data = inputs[i].data;
  call->tells_shapes = entry.tells_shapes();
  call->blocks = blocks_of(entry, inputs);
  if (sim_launch_about(stream, call->type.c_str(), &AicpuCall::kAbout, AicpuCall::run,
                       new std::shared_ptr<AicpuCall>(call), AicpuCall::drop))
    return last_error();
  if (!call->tells_shapes) return "";
  if (const int code = sim_stream_synchronize(stream, -1)) {
    if (failed) *failed = code;
    return last_error();
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    outputs[i].rank = call->outputs[i].rank;
    std::copy(call->outputs[i].dims, call->outputs[i].dims + outputs[i].rank, outputs[i].dims);
  }
  return "";
}

}  // namespace gesim
