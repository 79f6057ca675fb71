// Operators' own aclnn functions (aclnn/opdev/ophook_opdev.h): an executor notes operators by their types, and the
// second phase runs one after the other: a kernel of the package that asks, else the operator of the graph engine's
// table. What is neither is refused when it is noted, as on a device that finds no kernel.
#include "include/aclnn/opdev/ophook_opdev_c.h"

#include <ATen/ops/empty.h>
#include <dlfcn.h>

#include <cstring>
#include <map>
#include <sstream>

#include "ge/kernels.h"
#include "opapi/objects.h"
#include "package/kernel_package.h"

extern "C" aclScalar* aclCreateScalar(void* value, aclDataType dtype);

namespace sim::aclnn {

// Memory of an executor: in the workspace, or on the host.
struct Storage {
  uint64_t bytes = 0, offset = 0;
  bool on_host = false;
  std::vector<char> values;
};

struct Described {
  struct Sizes {
    size_t rank = 0;
    int64_t dims[25] = {};
  } shapes[3];  // as ophook_opdev_shape gives them
  at::DimVector original;
  int32_t view_format = 0, original_format = 0;
  int64_t storage_offset = 0;  // in elements
  bool of_workspace = false;
  bool of_executor = false;  // then it lives until the call has run, and its place may be told after it was noted
  std::shared_ptr<Storage> storage;  // null: the caller's
};

namespace {

Described& described(const aclTensor& tensor) {
  if (!tensor.described) {
    tensor.described = std::make_shared<Described>();
    tensor.described->original = tensor.sizes;
    tensor.described->view_format = tensor.described->original_format = tensor.format;
  }
  return *tensor.described;
}

// One operator of an executor, with its tensors as they were when it was noted.
struct Noted {
  struct Side {
    std::vector<aclTensor> tensors;
    std::vector<const aclTensor*> origins;  // of each tensor, where it is the executor's
    std::vector<bool> given;                // of each tensor
    std::vector<size_t> counts;             // tensors of each parameter
    std::vector<bool> listed;               // of each parameter
  };
  struct Attribute {
    int32_t kind;
    std::string name, text;
    int64_t whole;
    double real;
    std::vector<int64_t> ints;
    std::vector<float> floats;
  };
  std::string type;
  Side inputs, outputs;
  std::vector<Attribute> attributes;
  std::vector<std::pair<aclTensor, uint64_t>> told;
  const ophook_operator* kernel = nullptr;  // of the package; null: the table's
};

void take(Noted::Side& side, const ophook_opdev_value* values, uint64_t count) {
  const auto add = [&](const aclTensor* tensor) {
    live("a tensor of an operator", tensor);
    if (tensor) described(*tensor);  // the copy shares it
    side.given.push_back(tensor != nullptr);
    side.origins.push_back(tensor && tensor->described->of_executor ? tensor : nullptr);
    side.tensors.push_back(tensor ? *tensor : aclTensor{});
  };
  for (uint64_t i = 0; i < count; ++i) {
    const ophook_opdev_value& one = values[i];
    const size_t before = side.tensors.size();
    SIM_CHECK(one.kind == ophook_opdev_nothing || one.kind == ophook_opdev_a_tensor || one.kind == ophook_opdev_a_list,
              "parameter ", i, " of an operator is no tensor; ConvertToTensor makes one");
    if (one.kind == ophook_opdev_a_list)
      for (const aclTensor* tensor : static_cast<const aclTensorList*>(one.object)->tensors) add(tensor);
    else add(static_cast<const aclTensor*>(one.object));
    side.counts.push_back(side.tensors.size() - before);
    side.listed.push_back(one.kind == ophook_opdev_a_list);
  }
}

Noted::Attribute attribute(const ophook_opdev_value& given) {
  Noted::Attribute out{given.kind, "", given.text ? given.text : "", given.whole, given.real, {}, {}};
  if (given.kind == ophook_opdev_some_ints) {
    const Dims& values = static_cast<const aclIntArray*>(given.object)->values;
    out.ints.assign(values.begin(), values.end());
  } else if (given.kind == ophook_opdev_some_floats) {
    const auto& values = static_cast<const aclFloatArray*>(given.object)->values;
    out.floats.assign(values.begin(), values.end());
  } else if (given.kind == ophook_opdev_some_bools) {
    for (const bool one : static_cast<const aclBoolArray*>(given.object)->values) out.ints.push_back(one);
  } else if (given.kind == ophook_opdev_a_scalar) {
    const aclScalar& scalar = *static_cast<const aclScalar*>(given.object);
    out.kind = scalar.value.isIntegral(false) ? int32_t(ophook_opdev_an_int)
               : scalar.value.isBoolean()     ? int32_t(ophook_opdev_a_bool)
                                              : int32_t(ophook_opdev_a_float);
    if (out.kind == ophook_opdev_a_float) out.real = scalar.value.toDouble();
    else out.whole = scalar.value.toLong();
  }
  return out;
}

// "x1 x2? -> y | a:Int=1": the names behind the bar, with their types.
std::vector<std::pair<std::string, std::string>> attributes_of(const char* proto) {
  std::vector<std::pair<std::string, std::string>> out;
  const char* bar = std::strchr(proto, '|');
  std::istringstream words(bar ? bar + 1 : "");
  for (std::string word; words >> word;) {
    const size_t colon = word.find(':');
    if (colon == std::string::npos) continue;
    out.emplace_back(word.substr(0, colon), word.substr(colon + 1, word.find('=') - colon - 1));
  }
  return out;
}

// The operator of the package whose library has the address; op_build has written it, op_package put it next to that.
const ophook_operator* kernel_of(const void* anchor, const char* type) {
  Dl_info info;
  if (!anchor || !dladdr(anchor, &info) || !info.dli_fname) return nullptr;
  std::string folder(info.dli_fname);
  folder.resize(folder.rfind('/') == std::string::npos ? 0 : folder.rfind('/') + 1);
  void* library = dlopen((folder + "libophook_operators.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return nullptr;
  const void* found = dlsym(library, ("ophook_operator_" + std::string(type)).c_str());
  return found ? *static_cast<const ophook_operator* const*>(found) : nullptr;
}

// What runs it is chosen, and its attributes get their names.
void find(Noted& noted, const ophook_opdev_launch& launch) {
  noted.kernel = kernel_of(launch.anchor, launch.type);
  const char* proto = ophook_ge_proto(launch.type);
  if (!noted.kernel && noted.type.empty()) return;  // a copy
  std::vector<std::pair<std::string, std::string>> known;
  if (!noted.kernel) {
    if (!proto) return;
    known = attributes_of(proto);
  }
  for (uint64_t i = 0; i < launch.attribute_count; ++i) {
    Noted::Attribute one = attribute(launch.attributes[i]);
    if (i < launch.name_count) {
      one.name = launch.names[i];
      const auto has = [&](const auto& entry) { return entry.first == one.name; };
      // AI CPU operators tell the data types of their inputs besides.
      if (!noted.kernel && std::none_of(known.begin(), known.end(), has)) {
        SIM_CHECK(one.kind == ophook_opdev_a_dtype || one.kind == ophook_opdev_a_mode, launch.type,
                  " has no attribute ", one.name);
        continue;
      }
    } else if (!noted.kernel) {
      if (i >= known.size()) {
        const bool says_nothing = one.kind == ophook_opdev_a_mode || (one.kind == ophook_opdev_an_int && !one.whole);
        SIM_CHECK(says_nothing, launch.type, " has ", known.size(), " attributes, not ", launch.attribute_count);
        continue;
      }
      one.name = known[i].first;
      if (one.kind == ophook_opdev_a_mode) continue;
    }
    noted.attributes.push_back(std::move(one));
  }
}

bool runs(const Noted& noted) { return noted.type.empty() || noted.kernel || ophook_ge_proto(noted.type.c_str()); }

// The call of the table that an operator is, over contiguous tensors.
struct TableCall {
  TableCall(const Noted& noted, const std::vector<at::Tensor>& inputs, const std::vector<at::Tensor>& outputs) {
    const auto add = [](std::vector<ge_tensor>& to, const Noted::Side& side, const std::vector<at::Tensor>& tensors) {
      for (size_t i = 0; i < tensors.size(); ++i) {
        ge_tensor one{};
        one.dtype = side.given[i] ? int32_t(side.tensors[i].dtype) : int32_t(ge_absent);
        if (side.given[i]) {
          SIM_CHECK(side.tensors[i].sizes.size() <= ge_max_rank, "a tensor has more than 16 dimensions");
          one.rank = int32_t(side.tensors[i].sizes.size());
          std::copy(side.tensors[i].sizes.begin(), side.tensors[i].sizes.end(), one.dims);
          one.data = tensors[i].defined() ? tensors[i].data_ptr() : nullptr;
        }
        to.push_back(one);
      }
    };
    add(in, noted.inputs, inputs), add(out, noted.outputs, outputs);
    const auto types = attributes_of(ophook_ge_proto(noted.type.c_str()));
    for (const Noted::Attribute& one : noted.attributes) {
      ge_attr a{};
      a.name = one.name.c_str(), a.i = one.whole, a.f = one.real, a.s = one.text.c_str();
      a.ints = one.ints.data(), a.floats = one.floats.data(), a.count = std::max(one.ints.size(), one.floats.size());
      switch (one.kind) {
        case ophook_opdev_a_float: a.kind = ge_attr_float; break;
        case ophook_opdev_a_bool: a.kind = ge_attr_bool; break;
        case ophook_opdev_a_text: a.kind = ge_attr_string; break;
        case ophook_opdev_a_dtype: a.kind = ge_attr_dtype; break;
        case ophook_opdev_some_ints:
        case ophook_opdev_some_bools: a.kind = ge_attr_ints; break;
        case ophook_opdev_some_floats: a.kind = ge_attr_floats; break;
        default: a.kind = ge_attr_int;
      }
      // C++ says little of numbers: what the prototype takes tells.
      for (const auto& [name, type] : types) {
        if (name != one.name) continue;
        if (type == "Float" && a.kind == ge_attr_int) a.kind = ge_attr_float, a.f = double(a.i);
        if (type == "Bool" && a.kind == ge_attr_int) a.kind = ge_attr_bool;
        if (type == "Type" && a.kind == ge_attr_int) a.kind = ge_attr_dtype;
        if (type == "Int" && (a.kind == ge_attr_bool || a.kind == ge_attr_dtype)) a.kind = ge_attr_int;
      }
      attributes.push_back(a);
    }
    call = {noted.type.c_str(), in.data(),         in.size(),         out.data(),
            out.size(),         attributes.data(), attributes.size(), noted.inputs.counts.data()};
  }
  std::vector<ge_tensor> in, out;
  std::vector<ge_attr> attributes;
  ge_call call;
};

struct Recorded final : PendingCall {
  explicit Recorded(const char* function) : PendingCall(nullptr), text(function) {
    constexpr std::string_view first = "GetWorkspaceSize";
    if (text.size() > first.size() && std::string_view(text).substr(text.size() - first.size()) == first)
      text.resize(text.size() - first.size());
    name = text.c_str();
  }
  ~Recorded() override {
    for (const auto* one : lists)
      objects().end(one, "was destroyed with its executor", [](auto& list) { list.tensors.clear(); });
    for (const auto* one : tensors) objects().end(one, "was destroyed with its executor");
    for (const auto* one : scalars) objects().end(one, "was destroyed with its executor");
    for (const auto* one : ints) objects().end(one, "was destroyed with its executor");
    for (const auto* one : floats) objects().end(one, "was destroyed with its executor");
    for (const auto* one : bools) objects().end(one, "was destroyed with its executor");
  }

  // Each tensor of the workspace has a place of its own. The size of one may be told by an inference behind its making.
  uint64_t lay_out() {
    uint64_t at = 0;
    for (const aclTensor* tensor : tensors) {
      Storage* storage = tensor->described->storage.get();
      if (!storage || storage->on_host || !tensor->described->of_workspace) continue;
      const uint64_t bytes = at::elementSize(stored_type(tensor->dtype)) * tensor->storage_elements;
      storage->bytes = std::max(storage->bytes, bytes);
    }
    for (const auto& storage : storages) {
      if (storage->on_host) storage->bytes = has_kernels() ? storage->values.size() : 0;
      storage->offset = at;
      at += (storage->bytes + 511) / 512 * 512;
    }
    return workspace_size = at;
  }

  // A kernel reads on the device what the host tells it.
  bool has_kernels() const {
    return std::any_of(operators.begin(), operators.end(), [](const Noted& one) { return one.kernel != nullptr; });
  }

  // The tensor at its place in memory.
  static aclTensor placed(const Noted::Side& side, size_t i, void* workspace) {
    aclTensor out = side.tensors[i];
    const aclTensor& now = side.origins[i] ? *side.origins[i] : out;
    const Described& about = *now.described;
    out.data = now.data, out.offset = now.offset + about.storage_offset;
    if (about.storage && about.storage->on_host) out.data = about.storage->values.data();
    else if (about.storage && about.of_workspace) out.data = static_cast<char*>(workspace) + about.storage->offset;
    return out;
  }

  std::vector<at::Tensor> tensors_of(const Noted& noted, const Noted::Side& side, void* workspace) const {
    std::vector<at::Tensor> out;
    for (size_t i = 0; i < side.tensors.size(); ++i) {
      out.emplace_back();
      if (!side.given[i]) continue;
      const aclTensor at = placed(side, i, workspace);
      out.back() = convert(&at);
      const bool on_host = at.described->storage && at.described->storage->on_host;
      if (!on_host) reachable(noted.type.empty() ? "a tensor" : noted.type.c_str(), out.back());
    }
    return out;
  }

  void run(void* workspace) override {
    for (const auto& storage : storages)
      if (storage->on_host && storage->bytes)
        std::memcpy(static_cast<char*>(workspace) + storage->offset, storage->values.data(), storage->bytes);
    for (const Noted& noted : operators) {
      if (noted.kernel) run_kernel(noted, workspace);
      else run_row(noted, workspace);
    }
  }

  void run_row(const Noted& noted, void* workspace) const {
    const auto inputs = tensors_of(noted, noted.inputs, workspace),
               outputs = tensors_of(noted, noted.outputs, workspace);
    if (noted.type.empty()) {
      outputs.at(0).copy_(inputs.at(0).reshape(outputs[0].sizes()));
      return;
    }
    std::vector<at::Tensor> read, written;
    for (const at::Tensor& one : inputs) read.push_back(one.defined() ? one.contiguous() : one);
    for (const at::Tensor& one : outputs)
      written.push_back(!one.defined() || one.is_contiguous() ? one : at::empty(one.sizes(), one.options()));
    TableCall made(noted, read, written);
    char error[512] = "";
    std::vector<ge_tensor> told = made.out;
    SIM_CHECK(!ophook_ge_infer(&made.call, error, sizeof error), noted.type, ": ", error);
    for (size_t i = 0; i < told.size(); ++i) {  // as the function describes it, where that is as many numbers
      const auto count = [](const ge_tensor& one) {
        int64_t numbers = one.rank < 0 ? -1 : 1;
        for (int32_t d = 0; d < one.rank; ++d) numbers *= one.dims[d];
        return numbers;
      };
      const ge_tensor inferred = made.out[i];
      SIM_CHECK(count(inferred) < 0 || !noted.outputs.given[i] || count(inferred) == count(told[i]), noted.type,
                ": output ", i, " has ", count(told[i]), " elements, not ", count(inferred));
      if (count(inferred) < 0) made.out[i] = told[i];
      made.out[i].data = told[i].data;
    }
    SIM_CHECK(!ophook_ge_run(&made.call, error, sizeof error), noted.type, ": ", error);
    for (size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i].defined() && !written[i].is_same(outputs[i])) outputs[i].copy_(written[i]);
  }

  void run_kernel(const Noted& noted, void* workspace) const;

  std::string text;
  std::vector<const aclTensor*> tensors;
  std::vector<const aclTensorList*> lists;
  std::vector<const aclScalar*> scalars;
  std::vector<const aclIntArray*> ints;
  std::vector<const aclFloatArray*> floats;
  std::vector<const aclBoolArray*> bools;
  std::vector<std::shared_ptr<Storage>> storages;
  std::vector<Noted> operators;
};

// Objects for one call of the package's runtime.
struct Made {
  ~Made() {
    for (const auto* one : lists) aclDestroy(one);
    for (const auto* one : tensors) objects().end(one, "was destroyed");
    for (const auto* one : ints) objects().end(one, "was destroyed");
    for (const auto* one : floats) objects().end(one, "was destroyed");
    for (const auto* one : bools) objects().end(one, "was destroyed");
  }
  static void aclDestroy(const aclTensorList* list) {
    objects().end(list, "was destroyed", [](aclTensorList& one) { one.tensors.clear(); });
  }
  std::vector<const aclTensor*> side(const Noted::Side& given, void* workspace) {
    std::vector<const aclTensor*> out;
    size_t at = 0;
    for (size_t i = 0; i < given.counts.size(); ++i) {
      std::vector<const aclTensor*> own;
      for (size_t k = 0; k < given.counts[i]; ++k, ++at) {
        own.push_back(nullptr);
        if (!given.given[at]) continue;
        aclTensor* made = objects().make<aclTensor>(Recorded::placed(given, at, workspace));
        if (const Storage* storage = made->described->storage.get(); storage && storage->on_host)
          made->data = static_cast<char*>(workspace) + storage->offset;
        tensors.push_back(made), own.back() = made;
      }
      if (given.listed[i]) {
        lists.push_back(objects().make<aclTensorList>(own));
        out.push_back(reinterpret_cast<const aclTensor*>(lists.back()));
      } else {
        out.push_back(own.at(0));
      }
    }
    return out;
  }
  std::vector<ophook_attribute> attributes(const Noted& noted) {
    std::vector<ophook_attribute> out;
    for (const Noted::Attribute& one : noted.attributes) {
      ophook_attribute a{};
      a.whole = one.whole, a.real = one.real, a.text = one.text.c_str();
      switch (one.kind) {
        case ophook_opdev_a_float: a.kind = 2; break;
        case ophook_opdev_a_bool: a.kind = 3; break;
        case ophook_opdev_a_text: a.kind = 4; break;
        case ophook_opdev_some_ints:
          a.kind = 5, a.array = ints.emplace_back(objects().make<aclIntArray>(Dims(one.ints)));
          break;
        case ophook_opdev_some_floats:
          a.kind = 6,
          a.array =
              floats.emplace_back(objects().make<aclFloatArray>(Checked<float>(one.floats.begin(), one.floats.end())));
          break;
        case ophook_opdev_some_bools:
          a.kind = 7,
          a.array = bools.emplace_back(objects().make<aclBoolArray>(Checked<bool>(one.ints.begin(), one.ints.end())));
          break;
        default: a.kind = 1;
      }
      out.push_back(a);
    }
    return out;
  }
  std::vector<const aclTensor*> tensors;
  std::vector<const aclTensorList*> lists;
  std::vector<const aclIntArray*> ints;
  std::vector<const aclFloatArray*> floats;
  std::vector<const aclBoolArray*> bools;
};

void Recorded::run_kernel(const Noted& noted, void* workspace) const {
  static void* const library = dlopen("libophook_kernel.so", RTLD_NOW | RTLD_LOCAL);
  SIM_CHECK(library, "libophook_kernel.so cannot be loaded: ", dlerror());
  static const auto begin = reinterpret_cast<decltype(&ophook_package_begin)>(dlsym(library, "ophook_package_begin"));
  SIM_CHECK(noted.inputs.counts.size() == noted.kernel->input_count &&
                noted.outputs.counts.size() == noted.kernel->output_count,
            noted.type, " has ", noted.kernel->input_count, " inputs and ", noted.kernel->output_count,
            " outputs in its OpDef, not ", noted.inputs.counts.size(), " and ", noted.outputs.counts.size());
  Made made;
  auto in = made.side(noted.inputs, workspace), out = made.side(noted.outputs, workspace);
  for (size_t i = 0; i < out.size(); ++i)  // an output that is an input comes once
    if (noted.kernel->same_as[i] >= 0) out[i] = nullptr;
  const auto attributes = made.attributes(noted);
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  const int code = begin(noted.kernel, in.data(), attributes.data(), attributes.size(), out.data(), &size, &executor);
  const char* why = sim_error_message();
  PendingCall* call = nullptr;
  if (executor) objects().end(executor, "was run", [&](aclOpExecutor& one) { call = one.call; });
  const std::unique_ptr<PendingCall, void (*)(void*)> owned(call, release);
  SIM_CHECK(!code && call, noted.type, ": ", why ? why : "its first phase failed");
  const at::Tensor space = at::empty({int64_t(size)}, at::TensorOptions().dtype(at::kByte));
  call->run(size ? space.data_ptr() : nullptr);
}

Recorded& recorded(aclOpExecutor* executor) {
  SIM_CHECK(objects().is<aclOpExecutor>(executor), "executor (", static_cast<void*>(executor), ") ",
            objects().what(executor));
  auto* call = dynamic_cast<Recorded*>(executor->call);
  SIM_CHECK(call, "the executor is another function's");
  return *call;
}

void describe(aclTensor& tensor, const ophook_opdev_tensor& in) {
  const auto set = [](at::DimVector& dims, const int64_t* from, int32_t rank) { dims.assign(from, from + rank); };
  tensor.dtype = aclDataType(in.dtype), tensor.format = aclFormat(in.storage_format);
  tensor.offset = in.offset, tensor.data = in.data;
  set(tensor.sizes, in.view, in.view_rank), set(tensor.strides, in.strides, in.view_rank);
  set(tensor.storage_sizes, in.storage, in.storage_rank);
  tensor.storage_elements = 1;
  for (const int64_t one : tensor.storage_sizes) tensor.storage_elements *= size_t(one);
  Described& about = described(tensor);
  set(about.original, in.original, in.original_rank);
  about.view_format = in.view_format, about.original_format = in.original_format;
  about.storage_offset = in.storage_offset, about.of_workspace = in.of_workspace != 0;
}

// Calls the function; what it throws becomes the message, and `failed` the answer.
template <typename T, typename Do>
T guarded(const char* caller, int code, T failed, Do what) {
  try {
    return what();
  } catch (const c10::Error& error) {
    sim_fail(code, "%s: %s", caller, error.what_without_backtrace());
  } catch (const std::exception& error) {
    sim_fail(code, "%s: %s", caller, error.what());
  }
  return failed;
}

constexpr int kInfers = 561001, kFindsKernel = 561003;

Noted note(const ophook_opdev_launch& launch) {
  Noted noted;
  noted.type = launch.type;
  take(noted.inputs, launch.inputs, launch.input_count);
  take(noted.outputs, launch.outputs, launch.output_count);
  for (uint64_t i = 0; i < launch.told_count; ++i)
    noted.told.emplace_back(*launch.told[i].shapes, launch.told[i].output);
  find(noted, launch);
  return noted;
}

}  // namespace
}  // namespace sim::aclnn

using namespace sim::aclnn;

extern "C" {

SIM_API void ophook_opdev_get(const aclTensor* tensor, ophook_opdev_tensor* out) {
  *out = {};
  if (!objects().is<aclTensor>(tensor)) {
    sim_fail(kInvalid, "opdev: %p %s, not a live aclTensor", static_cast<const void*>(tensor),
             objects().what(tensor).c_str());
    return;
  }
  const Described& about = described(*tensor);
  const auto get = [](const at::DimVector& dims, int64_t* to, int32_t& rank) {
    rank = int32_t(std::min<size_t>(dims.size(), 25));
    std::copy_n(dims.begin(), rank, to);
  };
  int32_t strides = 0;
  get(tensor->sizes, out->view, out->view_rank), get(tensor->strides, out->strides, strides);
  get(tensor->storage_sizes, out->storage, out->storage_rank), get(about.original, out->original, out->original_rank);
  out->dtype = tensor->dtype, out->storage_format = tensor->format;
  out->view_format = about.view_format, out->original_format = about.original_format;
  out->offset = tensor->offset, out->storage_offset = about.storage_offset;
  out->on_host = about.storage && about.storage->on_host, out->of_workspace = about.of_workspace;
  out->data = out->on_host ? about.storage->values.data() : tensor->data;
}

SIM_API void ophook_opdev_set(const aclTensor* tensor, const ophook_opdev_tensor* in) {
  if (!objects().is<aclTensor>(tensor)) return;
  describe(*const_cast<aclTensor*>(tensor), *in);
}

SIM_API const void* ophook_opdev_shape(const aclTensor* tensor, int32_t which) {
  static const Described::Sizes none;
  if (!objects().is<aclTensor>(tensor)) {
    sim_fail(kInvalid, "opdev: %p %s, not a live aclTensor", static_cast<const void*>(tensor),
             objects().what(tensor).c_str());
    return &none;
  }
  Described& about = described(*tensor);
  const at::DimVector& dims = which == 0 ? tensor->sizes : which == 1 ? tensor->storage_sizes : about.original;
  Described::Sizes& out = about.shapes[which];
  out.rank = std::min<size_t>(dims.size(), 25);
  std::copy_n(dims.begin(), out.rank, out.dims);
  return &out;
}

SIM_API uint64_t ophook_opdev_list_size(const void* list, int32_t kind) {
  if (kind == ophook_opdev_a_list) return static_cast<const aclTensorList*>(list)->tensors.size();
  return static_cast<const aclScalarList*>(list)->scalars.size();
}
SIM_API const void* ophook_opdev_list_at(const void* list, int32_t kind, uint64_t i) {
  if (kind == ophook_opdev_a_list) {
    const auto& all = static_cast<const aclTensorList*>(list)->tensors;
    return i < all.size() ? all[i] : nullptr;
  }
  const auto& all = static_cast<const aclScalarList*>(list)->scalars;
  return i < all.size() ? all[i] : nullptr;
}
SIM_API const void* ophook_opdev_array_data(const void* array, int32_t kind, uint64_t* size) {
  const auto of = [&](const auto& values) -> const void* {
    *size = values.size();
    return values.size() ? &values[0] : nullptr;
  };
  if (kind == ophook_opdev_some_ints) return of(static_cast<const aclIntArray*>(array)->values);
  if (kind == ophook_opdev_some_floats) return of(static_cast<const aclFloatArray*>(array)->values);
  const auto& bools = *static_cast<const aclBoolArray*>(array);
  *size = bools.values.size();
  if (!bools.plain) {
    bools.plain = std::shared_ptr<bool[]>(new bool[bools.values.size() + 1]);
    std::copy(bools.values.begin(), bools.values.end(), bools.plain.get());
  }
  return bools.plain.get();
}
SIM_API void ophook_opdev_scalar_get(const aclScalar* scalar, int32_t* dtype, int64_t* whole, double* real,
                                     double* imaginary) {
  const at::Scalar& value = scalar->value;
  *dtype = scalar->dtype;
  const auto complex = value.toComplexDouble();
  *real = complex.real(), *imaginary = complex.imag();
  *whole = value.isIntegral(true) ? value.toLong() : 0;
}

SIM_API aclOpExecutor* ophook_opdev_begin(const char* function) {
  return guarded<aclOpExecutor*>(function, kInner, nullptr, [&] {
    auto call = std::make_unique<Recorded>(function);
    aclOpExecutor* made = objects().make<aclOpExecutor>(call.get(), false);
    call.release();
    return made;
  });
}
SIM_API void ophook_opdev_end(aclOpExecutor* executor) {
  PendingCall* call = nullptr;
  if (objects().end(executor, "was destroyed", [&](aclOpExecutor& one) { call = one.call; })) release(call);
}

SIM_API aclTensor* ophook_opdev_make(aclOpExecutor* executor, const ophook_opdev_tensor* like, const void* values,
                                     uint64_t bytes) {
  return guarded<aclTensor*>("AllocTensor", kInner, nullptr, [&] {
    Recorded& call = recorded(executor);
    aclTensor* made = objects().make<aclTensor>();
    call.tensors.push_back(made);
    describe(*made, *like);
    auto storage = call.storages.emplace_back(std::make_shared<Storage>());
    storage->on_host = like->on_host != 0;
    if (values) storage->values.assign(static_cast<const char*>(values), static_cast<const char*>(values) + bytes);
    made->described->storage = storage;
    made->described->of_workspace = !storage->on_host, made->described->of_executor = true;
    return made;
  });
}
SIM_API aclTensor* ophook_opdev_view(aclOpExecutor* executor, const aclTensor* of, const ophook_opdev_tensor* as) {
  return guarded<aclTensor*>("CreateView", kInner, nullptr, [&] {
    live("a tensor", of);
    SIM_CHECK(of, "CreateView of a tensor that is null");
    Recorded& call = recorded(executor);
    aclTensor* made = objects().make<aclTensor>(*of);
    call.tensors.push_back(made);
    const Described about = described(*of);
    made->described = std::make_shared<Described>();
    describe(*made, *as);
    made->data = of->data;
    made->described->storage = about.storage, made->described->of_workspace = about.of_workspace;
    made->described->storage_offset = about.storage_offset, made->described->of_executor = true;
    return made;
  });
}
SIM_API void* ophook_opdev_keep(aclOpExecutor* executor, int32_t kind, const void* values, uint64_t count,
                                int32_t dtype) {
  return guarded<void*>("opdev", kInner, nullptr, [&]() -> void* {
    Recorded& call = recorded(executor);
    const auto keep = [](auto& all, auto* made) { return all.push_back(made), made; };
    switch (kind) {
      case ophook_opdev_some_ints: {
        const auto* from = static_cast<const int64_t*>(values);
        return keep(call.ints, objects().make<aclIntArray>(Dims(from, from + count)));
      }
      case ophook_opdev_some_floats: {
        const auto* from = static_cast<const float*>(values);
        return keep(call.floats, objects().make<aclFloatArray>(Checked<float>(from, from + count)));
      }
      case ophook_opdev_some_bools: {
        const auto* from = static_cast<const bool*>(values);
        return keep(call.bools, objects().make<aclBoolArray>(Checked<bool>(from, from + count)));
      }
      case ophook_opdev_a_list: {
        const auto* from = static_cast<const aclTensor* const*>(values);
        return keep(call.lists, objects().make<aclTensorList>(std::vector<const aclTensor*>(from, from + count)));
      }
      default: {
        aclScalar* made = aclCreateScalar(const_cast<void*>(values), aclDataType(dtype));
        SIM_CHECK(made, sim_error_message());
        return keep(call.scalars, made);
      }
    }
  });
}

SIM_API int32_t ophook_opdev_infer(aclOpExecutor*, const ophook_opdev_launch* launch) {
  return guarded<int32_t>(launch->type, kInfers, kInfers, [&]() -> int32_t {
    const Noted noted = note(*launch);
    SIM_CHECK(ophook_ge_proto(launch->type), "its inference of shapes is not simulated");
    std::vector<at::Tensor> inputs, outputs(noted.outputs.tensors.size());
    for (size_t i = 0; i < noted.inputs.tensors.size(); ++i) {
      const aclTensor& one = noted.inputs.tensors[i];
      const bool known = noted.inputs.given[i] && one.described->storage && one.described->storage->on_host;
      inputs.emplace_back();
      if (!known) continue;
      aclTensor placed = one;
      placed.data = placed.described->storage->values.data();
      inputs.back() = convert(&placed).contiguous();
    }
    TableCall made(noted, inputs, outputs);
    char error[512] = "";
    SIM_CHECK(!ophook_ge_infer(&made.call, error, sizeof error), error);
    size_t at = 0;
    for (uint64_t i = 0; i < launch->output_count; ++i) {
      const auto set = [&](const aclTensor* tensor) {
        const ge_tensor& told = made.out[at++];
        if (!tensor || told.rank < 0) return;
        ophook_opdev_tensor about;
        ophook_opdev_get(tensor, &about);
        about.view_rank = about.storage_rank = about.original_rank = told.rank;
        int64_t step = 1;
        for (int32_t d = told.rank; d-- > 0; step *= told.dims[d]) {
          about.view[d] = about.storage[d] = about.original[d] = told.dims[d];
          about.strides[d] = step;
        }
        ophook_opdev_set(tensor, &about);
      };
      if (launch->outputs[i].kind == ophook_opdev_a_list)
        for (const aclTensor* one : static_cast<const aclTensorList*>(launch->outputs[i].object)->tensors) set(one);
      else set(static_cast<const aclTensor*>(launch->outputs[i].object));
    }
    return 0;
  });
}

SIM_API int32_t ophook_opdev_add(aclOpExecutor* executor, const ophook_opdev_launch* launch) {
  return guarded<int32_t>(*launch->type ? launch->type : "a copy", kInner, kInner, [&]() -> int32_t {
    Recorded& call = recorded(executor);
    Noted noted = note(*launch);
    if (!runs(noted))
      return sim_fail(kFindsKernel,
                      "%s: no kernel of the operator %s (%s): the package has none, and it is not simulated", call.name,
                      launch->type, launch->where);
    SIM_CHECK(noted.told.empty(), "outputs whose shape the kernel tells (OP_OUTSHAPE) are not simulated");
    call.operators.push_back(std::move(noted));
    return 0;
  });
}

SIM_API uint64_t ophook_opdev_workspace(aclOpExecutor* executor) {
  return guarded<uint64_t>("GetWorkspaceSize", kInner, 0, [&] { return recorded(executor).lay_out(); });
}

SIM_API int32_t ophook_opdev_run(void* workspace, uint64_t size, aclOpExecutor* executor, void* stream) {
  if (!executor) return sim_fail(kNullPointer, "CommonOpExecutorRun: no executor; the first phase was not called");
  if (!objects().is<aclOpExecutor>(executor))
    return sim_fail(kInvalid, "CommonOpExecutorRun: executor (%p) %s", static_cast<void*>(executor),
                    objects().what(executor).c_str());
  return launch(executor->call->name, workspace, size, executor, stream);
}

SIM_API void ophook_opdev_log(int32_t level, int32_t code, const char* file, int32_t line, const char* text) {
  const char* name = std::strrchr(file, '/');
  if (level == 3) sim_fail(code, "%s [%s:%d]", text, name ? name + 1 : file, line);
}

}  // extern "C"
