// Runs an operator package's own Ascend C kernel: inference and tiling in the first phase, the kernel in the second.
// It fails as libopapi does (opapi/aclnn.h); what its checks find in a kernel is part of the message.
#include "package/kernel_package.h"

#include <ATen/ops/empty.h>
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ascendc/runtime/options.h"
#include "core/pages_api.h"
#include "hccl/here.h"
#include "hccl/kernels.h"
#include "opapi/aclnn.h"
#include "opapi/rules_table.h"

using namespace sim::aclnn;

namespace {

void* open(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  TORCH_CHECK(library, "the package's ", path, " cannot be loaded: ", dlerror());
  return library;
}
void* look_up(void* library, const char* name) {
  void* found = dlsym(library, name);
  TORCH_CHECK(found, "the package has no ", name);
  return found;
}
bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }
// The folder `ups` above the one of the library that has `address`.
std::string folder_of(const void* address, int ups) {
  Dl_info info;
  TORCH_CHECK(dladdr(address, &info) && info.dli_fname, "the package's folder is not known");
  // A program may have the library by a link.
  char* real = realpath(info.dli_fname, nullptr);
  std::string folder = real ? real : info.dli_fname;
  std::free(real);
  for (int up = 0; up <= ups; ++up) folder.resize(folder.rfind('/') == std::string::npos ? 0 : folder.rfind('/'));
  return folder;
}
// What folders of kernels call the device's family.
std::string family_folder() {
  const std::string soc = sim_current_soc()->name;
  for (const std::string_view family : sim::kFamilies) {
    if (soc.rfind(family, 0) != 0) continue;
    std::string small(family);
    std::transform(small.begin(), small.end(), small.begin(), ::tolower);
    return small;
  }
  return soc;
}

constexpr char kRuntime[] = "libophook_ascendc.so";

// Where a program of the toolkit has put the kernels of the operators that ship; it compiles them once. Its words go
// where this process's go. It is another process: what this one preloads is not for it.
std::string shipped_kernels(const std::string& root) {
  const std::string command = "env -u LD_PRELOAD '" + root + "/bin/op_package' shipped";
  FILE* pipe = popen(command.c_str(), "r");
  TORCH_CHECK(pipe, "cannot start ", command, ": ", std::strerror(errno));
  std::string said;
  char part[512];
  while (std::fgets(part, sizeof part, pipe)) said += part;
  pclose(pipe);
  while (!said.empty() && said.back() == '\n') said.pop_back();
  TORCH_CHECK(!said.empty() && exists(said),
              "the kernels of the operators that ship could not be compiled; next: ophook-npu sim build");
  return said + "/op_impl/cpu/";
}

// The libraries of one operator of one package.
struct Loaded {
  explicit Loaded(const ophook_operator* op) {
    const std::string package = folder_of(op->anchor, 2);
    std::string kernels = package + "/op_impl/cpu/", host_path = kernels + "libophook_op_host.so";
    const std::string root = folder_of(reinterpret_cast<const void*>(&family_folder), 1);
    std::string runtime_path = kernels + kRuntime;
    if (!exists(host_path)) {  // a package that msopgen's CMake made: opc compiled its kernels
      const std::string tbe = package + "/op_impl/ai_core/tbe";
      host_path = tbe + "/op_tiling/liboptiling.so";
      kernels = tbe + "/kernel/" + family_folder() + "/" + op->function + "/";
      runtime_path = root + "/opp/vendors/ophook/op_impl/cpu/" + kRuntime;
      if (!exists(runtime_path)) runtime_path = shipped_kernels(root) + kRuntime;
    } else if (!exists(runtime_path)) {  // the toolkit's own, whose kernels are compiled when the first one is to run
      kernels = shipped_kernels(root), runtime_path = kernels + kRuntime;
    }
    // One for the process: kernels bind to the first that is there, another package's or Python's.
    void* runtime = dlopen(kRuntime, RTLD_NOW | RTLD_NOLOAD);
    if (!runtime) runtime = open(runtime_path);
    run = reinterpret_cast<decltype(&ascendc_run)>(look_up(runtime, "ascendc_run"));
    auto* layout = reinterpret_cast<decltype(&ascendc_layout)>(dlsym(runtime, "ascendc_layout"));
    TORCH_CHECK(layout && layout() == ASCENDC_LAYOUT, "the kernels in ", kernels,
                " were built by another version; build the package again");
    void* host = dlopen(host_path.c_str(), RTLD_NOW | RTLD_LOCAL);
    TORCH_CHECK(host, "the package's host library cannot be loaded: ", dlerror());
    tile = reinterpret_cast<decltype(&ascendc_tile)>(look_up(host, "ascendc_tile"));
    infer = reinterpret_cast<decltype(&ascendc_infer)>(look_up(host, "ascendc_infer"));
    kind = op->kind;
    for (size_t i = 0; i < op->choice_count; ++i) {
      const std::string path = kernels + op->choices[i].library;
      if (op->kind < 0 && !exists(path)) {  // opc was not asked for this choice
        entries.push_back(nullptr), cube_entries.push_back(nullptr);
        continue;
      }
      void* kernel = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
      TORCH_CHECK(kernel, "the package's kernel cannot be loaded: ", dlerror());
      entries.push_back(look_up(kernel, op->function));
      if (op->kind < 0) kind = *static_cast<const int*>(look_up(kernel, "ophook_kind"));
      // A source that asks which core it is compiled for is there twice.
      std::string cube = path;
      cube.replace(cube.rfind('.'), std::string::npos, "_cube.so");
      void* twin = exists(cube) ? dlopen(cube.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
      cube_entries.push_back(twin ? look_up(twin, op->function) : nullptr);
    }
    TORCH_CHECK(kind >= 0, "there is no kernel of ", op->type, " for ", sim_current_soc()->name, " in ", kernels,
                "; build the package with ENABLE_BINARY_PACKAGE and this device in ASCEND_COMPUTE_UNIT "
                "(CMakePresets.json), and install it");
  }
  int32_t kind;
  decltype(&ascendc_run) run;
  decltype(&ascendc_tile) tile;
  decltype(&ascendc_infer) infer;
  std::vector<void*> entries, cube_entries;  // by choice
};

const Loaded& loaded(const ophook_operator* op) {
  static std::mutex mutex;
  static std::map<const ophook_operator*, Loaded> all;
  std::lock_guard<std::mutex> lock(mutex);
  auto it = all.find(op);
  if (it == all.end()) it = all.emplace(op, Loaded(op)).first;
  return it->second;
}

ascendc_tensor describe(const at::Tensor& tensor) {
  ascendc_tensor out{};
  out.dtype = int32_t(to_acl_dtype(tensor.scalar_type()));
  out.rank = int32_t(tensor.dim());
  TORCH_CHECK(tensor.dim() <= 25, "a tensor has ", tensor.dim(), " dimensions; allowed: up to 25");
  for (int64_t i = 0; i < tensor.dim(); ++i) out.dims[i] = tensor.size(i);
  out.data = tensor.data_ptr();
  return out;
}

// The groups of a call while its kernel runs.
struct Groups {
  explicit Groups(const std::vector<HcclComm>& communicators) {
    for (HcclComm communicator : communicators) {
      void* held = nullptr;
      const void* context = ophook_hccl_context(communicator, &held);
      TORCH_CHECK(context, sim_error_message());
      contexts.push_back(context), holds.emplace_back(held, ophook_hccl_release);
    }
  }
  std::vector<const void*> contexts;
  std::vector<std::unique_ptr<void, decltype(&ophook_hccl_release)>> holds;
};

struct KernelCall final : PendingCall {
  KernelCall(const ophook_operator* which, const char* op_name) : PendingCall(op_name), op(which) {}

  // A parameter of the operator, and its tensors among those of its side.
  struct Parameter {
    const char* name;
    int32_t form;
    size_t begin, count;
    bool given;
    bool listed() const { return form == ophook_tensors; }
    bool ours() const { return form >= ophook_ints && form <= ophook_scalars; }  // its numbers are in memory of ours
  };

  // Numbers that the caller gave as no tensor. A kernel copies whole blocks, as it does from a device's memory.
  template <typename Numbers>
  static at::Tensor tensor_of(const Numbers& numbers, at::ScalarType type) {
    const int64_t count = std::distance(numbers.begin(), numbers.end());
    at::Tensor whole = at::zeros({count + 64}, at::TensorOptions().dtype(type));
    int64_t i = 0;
    for (const auto& number : numbers) whole[i++].fill_(at::Scalar(number));
    return whole.narrow(0, 0, count);
  }
  at::ScalarType scalar_type(int32_t becomes) const {
    if (becomes >= 0) return to_scalar_type(aclDataType(becomes));
    const Parameter& of = of_inputs.at(size_t(-1 - becomes));
    TORCH_CHECK(of.count && inputs[of.begin].defined(), of.name, " must be given: a scalar has its data type");
    return inputs[of.begin].scalar_type();
  }
  at::Tensor numbers_of(const char* name, const void* given, int32_t form, int32_t becomes) {
    TORCH_CHECK(given, name, " must be given");
    switch (form) {
      case ophook_ints: {
        const auto* array = static_cast<const aclIntArray*>(given);
        return live(name, array), tensor_of(convert(array), at::kLong);
      }
      case ophook_floats: {
        const auto* array = static_cast<const aclFloatArray*>(given);
        return live(name, array), tensor_of(convert(array), at::kFloat);
      }
      case ophook_bools: return tensor_of(convert(static_cast<const aclBoolArray*>(given)), at::kBool);
      case ophook_scalar:
        return tensor_of(std::vector<at::Scalar>{convert(static_cast<const aclScalar*>(given))}, scalar_type(becomes));
      default: return tensor_of(convert(static_cast<const aclScalarList*>(given)), scalar_type(becomes));
    }
  }

  void take(const aclTensor* const* given, bool written, Tensors& all, std::vector<Parameter>& parameters) {
    const size_t from = written ? op->input_count : 0, count = written ? op->output_count : op->input_count;
    for (size_t i = 0; i < count; ++i) {
      const char* name = op->names[from + i];
      const int32_t same = written ? op->same_as[i] : -1;
      const int32_t form = op->forms[from + i];
      const size_t begin = all.size();
      if (same >= 0) {  // an output that is an input
        const Parameter& of = of_inputs[size_t(same)];
        all.insert(all.end(), inputs.begin() + int64_t(of.begin), inputs.begin() + int64_t(of.begin + of.count));
      } else if (form >= ophook_ints && form <= ophook_scalars) {
        all.emplace_back();  // below: a scalar may have the data type of a parameter behind it
      } else if (form == ophook_tensors) {
        const auto* list = reinterpret_cast<const aclTensorList*>(given[i]);
        TORCH_CHECK(list, name, " must be given");
        for (const at::Tensor& tensor : convert(list)) all.push_back(tensor);
      } else {
        live(name, given[i]);
        all.push_back(convert(given[i]));
        TORCH_CHECK(!written || all.back().defined() || op->optional[from + i], name, " must be given");
      }
      const bool listed = form == ophook_tensors;
      parameters.push_back({name, form, begin, all.size() - begin, listed || all.back().defined()});
    }
    for (size_t i = 0; i < count; ++i) {
      Parameter& one = parameters[i];
      if (!one.ours() || (!given[i] && op->optional[i])) continue;
      all[one.begin] = numbers_of(one.name, given[i], one.form, op->becomes[i]);
      one.given = true;
    }
  }

  void prepare(const aclTensor* const* in, const ophook_attribute* attributes, size_t attribute_count,
               const aclTensor* const* out) {
    for (size_t i = 0; i < attribute_count; ++i) {
      if (attributes[i].kind == 5) live("an attribute", static_cast<const aclIntArray*>(attributes[i].array));
      if (attributes[i].kind == 6) live("an attribute", static_cast<const aclFloatArray*>(attributes[i].array));
    }
    code = &loaded(op);
    take(in, false, inputs, of_inputs);
    take(out, true, outputs, of_outputs);
    spaces.resize(op->output_count);
    for (size_t i = 0; i < op->output_count; ++i)
      if (op->computed[i]) spaces[i] = convert(Resized{const_cast<aclTensor*>(out[i])});
    choose();
    for (size_t i = 0; i < op->group_count; ++i) {
      const char* name = attributes[op->groups[i]].text;
      TORCH_CHECK(name && *name, "the name of group ", i, " is null or empty; allowed: what HcclGetCommName gives");
      const HcclComm communicator = ophook_hccl_find(name);
      TORCH_CHECK(communicator, "there is no group '", name, "' in this process; make its communicator first");
      groups.push_back(communicator);
    }
    // Attributes and shapes as the host side reads them.
    std::vector<ascendc_attr> attrs(attribute_count);
    std::vector<std::vector<int64_t>> whole_lists(attribute_count);
    std::vector<std::vector<float>> real_lists(attribute_count);
    for (size_t i = 0; i < attribute_count; ++i) {
      const ophook_attribute& a = attributes[i];
      attrs[i] = {a.kind, a.whole, a.real, a.text, nullptr, nullptr, 0};
      if (a.kind == 5) whole_lists[i] = convert(static_cast<const aclIntArray*>(a.array));
      if (a.kind == 6) real_lists[i] = convert(static_cast<const aclFloatArray*>(a.array));
      if (a.kind == 7)
        for (const bool one : convert(static_cast<const aclBoolArray*>(a.array))) whole_lists[i].push_back(one);
      attrs[i].wholes = whole_lists[i].data(), attrs[i].reals = real_lists[i].data();
      attrs[i].count = std::max(whole_lists[i].size(), real_lists[i].size());
    }
    std::vector<ascendc_tensor> given, results;
    std::vector<int32_t> counts, result_counts;
    for (const Parameter& one : of_inputs) counts.push_back(one.given ? int32_t(one.count) : -1);
    for (const Parameter& one : of_outputs) result_counts.push_back(one.given ? int32_t(one.count) : -1);
    for (const Parameter& one : of_inputs)
      for (size_t k = one.begin; k < one.begin + one.count; ++k) {
        if (!inputs[k].defined()) continue;
        given.push_back(describe(inputs[k]));
        if (one.form == ophook_unread) given.back().data = nullptr;
      }
    for (const at::Tensor& tensor : outputs)
      if (tensor.defined()) results.push_back(describe(tensor));
    const sim_soc* soc = sim_current_soc();
    const ascendc_soc platform = ophook::rt::platform_of(*soc);
    std::vector<ascendc_tensor> inferred = results;
    ascendc_call call{op->type,
                      given.data(),
                      counts.data(),
                      counts.size(),
                      inferred.data(),
                      result_counts.data(),
                      result_counts.size(),
                      attrs.data(),
                      attrs.size(),
                      platform};
    char error[512] = "";
    // As CANN's function, which takes the outputs as they are: many projects keep the inference that msopgen wrote,
    // whose output has the shape of the first input. It is asked for outputs alone whose shape nobody has told yet.
    const auto untold = [](const at::Tensor& one) { return one.defined() && one.dim() == sim::Untold::kDims; };
    if (std::any_of(outputs.begin(), outputs.end(), untold)) {
      const int failed = code->infer(&call, error, sizeof error);
      TORCH_CHECK(!failed || failed == ASCENDC_INFERS_NOTHING, error);
      size_t told_of = 0;
      for (size_t i = 0; !failed && i < of_outputs.size(); ++i)
        for (size_t k = of_outputs[i].begin; k < of_outputs[i].begin + of_outputs[i].count; ++k) {
          if (!outputs[k].defined()) continue;
          const ascendc_tensor& one = inferred[told_of++];
          if (op->same_as[i] < 0) sim::idle(outputs[k], at::IntArrayRef(one.dims, size_t(one.rank)));
        }
    }
    call.outputs = results.data();
    ascendc_tiling told;  // it has room for the longest tiling data: as this call's own, its pages would be fresh ones
    TORCH_CHECK(code->tile(&call, &told, error, sizeof error) == 0, error);
    block_dim = told.block_dim, tiling_key = told.tiling_key, workspace_size = told.workspace;
    need_atomic = told.need_atomic != 0;
    tiling.assign(told.data, told.data + told.size);
  }

  // The column of data types that the arguments are.
  void choose() {
    for (size_t c = 0; c < op->choice_count; ++c) {
      const int32_t* dtypes = op->choices[c].dtypes;
      auto fits = [&](const Parameter& one, const Tensors& side, int32_t dtype) {
        return !one.given || !one.count || dtype < 0 || dtype == int32_t(to_acl_dtype(side[one.begin].scalar_type()));
      };
      bool all = true;
      for (size_t i = 0; i < of_inputs.size(); ++i) all &= fits(of_inputs[i], inputs, dtypes[i]);
      for (size_t i = 0; i < of_outputs.size(); ++i) all &= fits(of_outputs[i], outputs, dtypes[of_inputs.size() + i]);
      if (!all || !code->entries[c]) continue;
      entry = code->entries[c], cube_entry = code->cube_entries[c], initial = op->choices[c].initial;
      return;
    }
    std::string given;
    for (const at::Tensor& t : inputs)
      given += (given.empty() ? "" : ", ") + std::string(t.defined() ? c10::toString(t.scalar_type()) : "none");
    TORCH_CHECK(false, "the operator has no kernel for inputs of ", given);
  }

  void run(void* workspace) override {
    // What has no output has nothing but its inputs to write to.
    const bool of_inputs_alone = outputs.empty();
    const Tensors& results = of_inputs_alone ? inputs : outputs;
    const bool empty =
        std::all_of(results.begin(), results.end(), [](const at::Tensor& t) { return !t.defined() || t.numel() == 0; });
    if (empty && !op->launches_empty) return;
    for (const Parameter& one : of_inputs)
      for (size_t k = one.begin; !one.ours() && k < one.begin + one.count; ++k) reachable(one.name, inputs[k]);
    for (const Parameter& one : of_outputs)
      for (size_t k = one.begin; k < one.begin + one.count; ++k) reachable(one.name, outputs[k]);
    std::vector<ascendc_memory> memory, in_lists;
    std::vector<std::vector<uint64_t>> described;  // what a kernel is given of a list
    auto add = [](std::vector<ascendc_memory>& to, const char* argument, const at::Tensor& tensor, int role) {
      ascendc_memory m{};
      m.name = argument, m.role = role, m.element = 1;
      if (tensor.defined() && tensor.numel()) {
        m.data = tensor.data_ptr();
        m.bytes = tensor.nbytes();
        // What a copy of whole blocks may reach behind the tensor: the rest of the allocation; a write nothing of
        // another's.
        const size_t before = size_t(tensor.storage_offset()) * tensor.itemsize(), stored = tensor.storage().nbytes();
        size_t left = stored - before, of_device = 0;
        if (sim_memory_device(m.data, &of_device) >= 0) left = of_device;
        const bool own = role == 0 || role == ASCENDC_GIVEN || before + m.bytes >= stored;
        if (!own) left = m.bytes;
        m.allocated = std::max<size_t>(m.bytes, std::min<size_t>(left, m.bytes + 63));
        m.element = int32_t(tensor.element_size());
      }
      to.push_back(m);
    };
    auto add_all = [&](const Parameter& one, const Tensors& side, int role) {
      if (!one.listed()) return add(memory, one.name, side[one.begin], role);
      const auto begin = side.begin() + int64_t(one.begin), end = begin + int64_t(one.count);
      std::for_each(begin, end, [&](const at::Tensor& tensor) { add(in_lists, one.name, tensor, role); });
      std::vector<uint64_t>& words = described.emplace_back(list_of(Tensors(begin, end)));
      const size_t bytes = words.size() * sizeof(uint64_t);
      memory.push_back({one.name, words.data(), bytes, bytes, 0, 8});
    };
    std::vector<int64_t> input_of(outputs.size(), -1);  // that an output is
    for (size_t i = 0; i < of_outputs.size(); ++i)
      for (size_t k = 0; op->same_as[i] >= 0 && k < of_outputs[i].count; ++k)
        input_of[of_outputs[i].begin + k] = int64_t(of_inputs[size_t(op->same_as[i])].begin + k);
    auto written = [&](size_t input) {
      return of_inputs_alone || std::find(input_of.begin(), input_of.end(), int64_t(input)) != input_of.end();
    };
    Tensors dense_inputs, dense_outputs;
    for (const at::Tensor& tensor : inputs)
      dense_inputs.push_back(tensor.defined() && !tensor.is_contiguous() ? dense_copy(tensor) : tensor);
    // A kernel that copies tile by tile would read what it has written: inputs that overlap an output are copied.
    for (size_t i = 0; i < inputs.size(); ++i)
      for (const at::Tensor& out : outputs)
        if (!written(i) && dense_inputs[i].defined() && dense_inputs[i].numel() && out.numel() &&
            overlap(dense_inputs[i], out))
          dense_inputs[i] = dense_copy(dense_inputs[i]);
    for (size_t i = 0; i < outputs.size(); ++i)
      dense_outputs.push_back(input_of[i] >= 0 ? dense_inputs[size_t(input_of[i])]
                              : !outputs[i].defined() || outputs[i].is_contiguous()
                                  ? outputs[i]
                                  : at::empty(outputs[i].sizes(), outputs[i].options()));
    described.reserve(of_inputs.size() + of_outputs.size());
    // An output holds what the caller has put there, zeros mostly, and a kernel may add to it or write a part of it:
    // nobody can tell that from memory that nobody has written. Who asks for strict findings has both refused.
    const ascendc_options options = ophook::rt::options_of(*sim_current_soc(), code->kind);
    for (const Parameter& one : of_inputs)
      add_all(one, dense_inputs, one.count && written(one.begin) ? 2 : options.strict ? 0 : ASCENDC_GIVEN);
    for (size_t i = 0; i < of_outputs.size(); ++i) {
      const Parameter& one = of_outputs[i];
      const bool filled = need_atomic && initial[i].bytes && one.given;
      for (size_t k = one.begin; filled && k < one.begin + one.count; ++k) fill(dense_outputs[k], initial[i]);
      const bool held = op->same_as[i] >= 0 || filled || op->computed[i];
      add_all(one, dense_outputs, held ? 2 : options.strict ? 1 : ASCENDC_FILLED);
    }
    std::vector<uint64_t> told = shapes_to_tell();  // not all of it is written, nor of the outputs whose shapes it has
    const size_t bytes_told = told.size() * sizeof(uint64_t);
    if (!told.empty()) memory.push_back({"shapes of outputs", told.data(), bytes_told, bytes_told, 2, 8});
    ascendc_memory space{"workspace", workspace, workspace_size, workspace_size, 3, 1};
    memory.push_back(space);
    memory.push_back({"tiling", tiling.data(), tiling.size(), tiling.size(), 4, 1});
    memory.insert(memory.end(), in_lists.begin(), in_lists.end());  // behind all that the kernel has parameters for
    char summary[1024] = "";
    const Groups joined(groups);
    const ascendc_launch launch{entry,
                                memory.data(),
                                int32_t(memory.size()),
                                int32_t(block_dim),
                                tiling_key,
                                options,
                                summary,
                                sizeof summary,
                                cube_entry,
                                nullptr,
                                nullptr,
                                ophook_hccl_wires(),
                                joined.contexts.data(),
                                joined.contexts.size(),
                                options.strict ? nullptr : sim_memory_reach};
    const int failed = code->run(&launch, nullptr);
    TORCH_CHECK(!failed, "the kernel of ", op->type, " has errors:\n", summary);
    if (*summary) warn_once(summary);
    const Tensors& dense = of_inputs_alone ? dense_inputs : dense_outputs;
    std::vector<bool> fitted(results.size());
    const uint64_t* shape = told.data();
    for (size_t i = 0; i < spaces.size(); ++i) {
      if (!spaces[i]) continue;
      const size_t at = of_outputs[i].begin;
      fit(*spaces[i], as_told(of_outputs[i].name, dense[at], shape));
      fitted[at] = true, shape += kTold;
    }
    for (size_t i = 0; i < results.size(); ++i)
      if (!fitted[i] && !results[i].is_same(dense[i])) results[i].copy_(dense[i]);
  }

  // What a kernel writes of an output whose shape it tells (OutputShapeDependOnCompute): the number of dimensions and
  // eight of them, as 64 bits where bit 31 of the first is set, and where the upper half of the first is empty.
  static constexpr size_t kTold = 9;
  std::vector<uint64_t> shapes_to_tell() const {
    size_t count = 0;
    for (const auto& space : spaces) count += space.has_value();
    return std::vector<uint64_t>(kTold * count, ~uint64_t{0});
  }
  static at::Tensor as_told(const char* name, const at::Tensor& whole, const uint64_t* told) {
    const bool wide = (told[0] & 0x80000000u) || !(told[0] >> 32);
    const uint64_t rank = told[0] & 0x7fffffffu;
    TORCH_CHECK(told[0] != ~uint64_t{0} && rank < kTold, "the kernel tells no shape of ", name, ": its first word is ",
                told[0], "; allowed: a number of dimensions up to 8, and their sizes");
    const auto* narrow = reinterpret_cast<const uint32_t*>(told);
    std::vector<int64_t> sizes;
    int64_t count = 1;
    for (uint64_t i = 1; i <= rank; ++i) sizes.push_back(int64_t(wide ? told[i] : narrow[i])), count *= sizes.back();
    TORCH_CHECK(count >= 0 && count <= whole.numel(), "the kernel tells the shape ", at::IntArrayRef(sizes), " of ",
                name, ", which does not fit into ", whole.sizes());
    return whole.flatten().narrow(0, 0, count).view(sizes);
  }

  void warn_once(const char* summary) const {
    static std::mutex mutex;
    static std::set<std::string> told;
    std::lock_guard<std::mutex> lock(mutex);
    if (told.insert(op->type).second)
      sim_warn("the kernel of %s does what a device takes, and may be wrong: %s", op->type, summary);
  }

  // As ListTensorDesc reads it: the distance to the addresses; of each tensor its dimensions and its place in 32 bits
  // each, and its shape; the addresses.
  static std::vector<uint64_t> list_of(const Tensors& tensors) {
    std::vector<uint64_t> words = {0};
    for (size_t i = 0; i < tensors.size(); ++i) {
      words.push_back(uint64_t(tensors[i].dim()) | uint64_t(i) << 32);
      for (const int64_t size : tensors[i].sizes()) words.push_back(uint64_t(size));
    }
    words[0] = words.size() * sizeof(uint64_t);
    for (const at::Tensor& tensor : tensors) words.push_back(reinterpret_cast<uint64_t>(tensor.data_ptr()));
    return words;
  }

  // With the padding that device memory has behind a tensor, which a copy of whole blocks may read.
  static at::Tensor dense_copy(const at::Tensor& tensor) {
    const at::Tensor room = at::empty({tensor.numel() + 64}, tensor.options());
    return room.narrow(0, 0, tensor.numel()).view(tensor.sizes()).copy_(tensor);
  }

  static void fill(const at::Tensor& tensor, const ophook_initial& with) {
    auto* to = static_cast<char*>(tensor.data_ptr());
    for (size_t at = 0; at < tensor.nbytes(); at += with.bytes)
      std::memcpy(to + at, &with.pattern, std::min(with.bytes, tensor.nbytes() - at));
  }

  static bool overlap(const at::Tensor& a, const at::Tensor& b) {
    const auto* from = static_cast<const char*>(a.data_ptr());
    const auto* to = static_cast<const char*>(b.data_ptr());
    return from < to + b.storage().nbytes() && to < from + a.nbytes();
  }

  const ophook_operator* op;
  const Loaded* code = nullptr;
  void *entry = nullptr, *cube_entry = nullptr;
  const ophook_initial* initial = nullptr;
  Tensors inputs, outputs;                   // of all parameters
  std::vector<std::optional<Space>> spaces;  // of outputs whose shapes the kernel tells
  std::vector<Parameter> of_inputs, of_outputs;
  std::vector<HcclComm> groups;
  uint32_t block_dim = 0;
  bool need_atomic = false;
  uint64_t tiling_key = 0;
  std::vector<uint8_t> tiling;
};

}  // namespace

extern "C" {

OPHOOK_PACKAGE_API int ophook_package_begin(const ophook_operator* op, const aclTensor* const* inputs,
                                            const ophook_attribute* attributes, size_t attribute_count,
                                            const aclTensor* const* outputs, uint64_t* workspace,
                                            aclOpExecutor** executor) {
  static std::mutex mutex;
  static std::map<std::string, std::string> names;  // an executor keeps a pointer to its name
  const char* name;
  {
    std::lock_guard<std::mutex> lock(mutex);
    name = names.emplace(op->type, std::string("aclnn") + op->type).first->second.c_str();
  }
  if (!workspace || !executor)
    return sim_fail(kNullPointer, "%s: no place for the workspace size or the executor", name);
  try {
    auto call = std::make_unique<KernelCall>(op, name);
    call->prepare(inputs, attributes, attribute_count, outputs);
    return hand_over(std::move(call), workspace, executor);
  } catch (const c10::Error& error) {
    return turn_away(sim_fail(kInvalid, "%s: %s", name, error.what_without_backtrace()), name, workspace, executor);
  } catch (const std::exception& error) {
    return turn_away(sim_fail(kInner, "%s: %s", name, error.what()), name, workspace, executor);
  }
}

OPHOOK_PACKAGE_API int ophook_package_launch(const char* name, void* workspace, uint64_t size, aclOpExecutor* executor,
                                             void* stream) {
  return launch(name, workspace, size, executor, stream);
}

}  // extern "C"
