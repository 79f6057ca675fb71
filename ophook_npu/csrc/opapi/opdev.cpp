// Operators' own aclnn functions (aclnn/opdev/ophook_opdev.h): an executor notes operators by their types, and the
// second phase runs one after the other: a kernel of the package that asks, else the operator of the graph engine's
// table. What is neither is refused when it is noted, as on a device that finds no kernel.
#include <ATen/ops/empty.h>
#include <dlfcn.h>

#include <cstring>
#include <sstream>

#include "ge/kernels.h"
#include "opapi/described.h"
#include "opapi/stored.h"
#include "package/kernel_package.h"

extern "C" aclScalar* aclCreateScalar(void* value, aclDataType dtype);

namespace sim::aclnn {

namespace {

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

// Objects that end together, for this reason.
class Owned {
 public:
  explicit Owned(const char* why) : why_(why) {}
  ~Owned() {
    for (const auto& [object, end] : all_) end(object, why_);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;

  template <typename T>
  T* keep(T* object) {
    all_.emplace_back(object, [](void* one, const char* why) { objects().end(static_cast<T*>(one), why); });
    return object;
  }
  template <typename T, typename... Given>
  T* make(Given&&... given) {
    return keep(objects().make<T>(std::forward<Given>(given)...));
  }
  template <typename T, typename Of>
  T* make_array(const Of* from, uint64_t count) {
    return make<T>(decltype(T::values)(from, from + count));
  }

 private:
  const char* const why_;
  std::vector<std::pair<void*, void (*)(void*, const char*)>> all_;
};

struct Recorded final : PendingCall {
  explicit Recorded(const char* function) : PendingCall(nullptr), text(function) {
    constexpr std::string_view first = "GetWorkspaceSize";
    if (text.size() > first.size() && std::string_view(text).substr(text.size() - first.size()) == first)
      text.resize(text.size() - first.size());
    name = text.c_str();
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
    if (about.on_host()) out.data = about.storage->values.data();
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
      if (!at.described->on_host()) reachable(noted.type.empty() ? "a tensor" : noted.type.c_str(), out.back());
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
        return one.rank < 0 ? -1 : c10::multiply_integers(one.dims, one.dims + one.rank);
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
  Owned own{"was destroyed with its executor"};
  std::vector<const aclTensor*> tensors;
  std::vector<std::shared_ptr<Storage>> storages;
  std::vector<Noted> operators;
};

// What one call of the package's runtime takes.
struct Made {
  std::vector<const aclTensor*> side(const Noted::Side& given, void* workspace) {
    std::vector<const aclTensor*> out;
    size_t at = 0;
    for (size_t i = 0; i < given.counts.size(); ++i) {
      std::vector<const aclTensor*> own;
      for (size_t k = 0; k < given.counts[i]; ++k, ++at) {
        own.push_back(nullptr);
        if (!given.given[at]) continue;
        auto* made = owned.make<aclTensor>(Recorded::placed(given, at, workspace));
        if (made->described->on_host()) made->data = static_cast<char*>(workspace) + made->described->storage->offset;
        own.back() = made;
      }
      out.push_back(given.listed[i] ? reinterpret_cast<const aclTensor*>(owned.make<aclTensorList>(own)) : own.at(0));
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
          a.kind = 5, a.array = owned.make_array<aclIntArray>(one.ints.data(), one.ints.size());
          break;
        case ophook_opdev_some_floats:
          a.kind = 6, a.array = owned.make_array<aclFloatArray>(one.floats.data(), one.floats.size());
          break;
        case ophook_opdev_some_bools:
          a.kind = 7, a.array = owned.make_array<aclBoolArray>(one.ints.data(), one.ints.size());
          break;
        default: a.kind = 1;
      }
      out.push_back(a);
    }
    return out;
  }
  Owned owned{"was destroyed"};
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
    auto* made = call.own.make<aclTensor>();
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
    auto* made = call.own.make<aclTensor>(*of);
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
    Owned& own = recorded(executor).own;
    switch (kind) {
      case ophook_opdev_some_ints: return own.make_array<aclIntArray>(static_cast<const int64_t*>(values), count);
      case ophook_opdev_some_floats: return own.make_array<aclFloatArray>(static_cast<const float*>(values), count);
      case ophook_opdev_some_bools: return own.make_array<aclBoolArray>(static_cast<const bool*>(values), count);
      case ophook_opdev_a_list: {
        const auto* from = static_cast<const aclTensor* const*>(values);
        return own.make<aclTensorList>(std::vector<const aclTensor*>(from, from + count));
      }
      default: {
        aclScalar* made = aclCreateScalar(const_cast<void*>(values), aclDataType(dtype));
        SIM_CHECK(made, sim_error_message());
        return own.keep(made);
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
      inputs.emplace_back();
      if (!noted.inputs.given[i] || !one.described->on_host()) continue;
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
        auto& out = *const_cast<aclTensor*>(tensor);
        out.sizes.assign(told.dims, told.dims + told.rank);
        out.strides = row_major(out.sizes), out.storage_sizes = described(out).original = out.sizes;
        out.storage_elements = size_t(c10::multiply_integers(out.sizes));
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

}  // extern "C"
