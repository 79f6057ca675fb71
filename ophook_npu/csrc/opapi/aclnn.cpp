#include "opapi/aclnn.h"

#include "opapi/kernel_scope.h"
#include "opapi/rules.h"
#include "opapi/watch.h"

namespace sim::aclnn {
namespace {

// A refused call keeps its error: callers exist that do not look at phase 1's status and come back with the executor,
// on another thread, where the message would be lost.
struct Refused final : aclOpExecutor {
  Refused(const char* op, int with, const char* why) : aclOpExecutor(op), code(with), reason(why ? why : "") {}
  int ready() override { return sim_fail(code, "%s", reason.c_str()); }
  void run() override {}
  int code;
  std::string reason;
};

int explain(const char* name, int unexpected) {
  try {
    throw;
  } catch (const c10::Error& error) {
    return sim_fail(unexpected, "%s: %s", name, error.what_without_backtrace());
  } catch (const std::bad_alloc&) {
    return sim_fail(kInner, "%s: the host is out of memory", name);
  } catch (const std::exception& error) {
    return sim_fail(unexpected, "%s: %s", name, error.what());
  } catch (...) {
    return sim_fail(kInner, "%s: an exception of an unknown type", name);
  }
}

int run_task(void* pointer) {
  thread_local KernelScope scope;  // once a stream thread, not once a task: it costs as much as a small operator
  auto call = static_cast<aclOpExecutor*>(pointer);
  try {
    call->run();
    return 0;
  } catch (...) {
    return explain(call->name, ACL_ERROR_RT_AICORE_EXCEPTION);
  }
}

}  // namespace

at::ScalarType to_scalar_type(aclDataType dtype) {
  switch (dtype) {
#define DTYPE(acl, aten) \
  case acl: return at::ScalarType::aten;
#include "opapi/dtypes.inc"
#undef DTYPE
    default: SIM_CHECK(false, "ACL data type ", int(dtype), " is not simulated");
  }
}

aclDataType to_acl_dtype(at::ScalarType dtype) {
  switch (dtype) {
#define DTYPE(acl, aten) \
  case at::ScalarType::aten: return acl;
#include "opapi/dtypes.inc"
#undef DTYPE
    default: SIM_CHECK(false, "torch.", dtype, " has no ACL data type");
  }
}

at::Tensor convert(const aclTensor* tensor) {
  if (!tensor) return {};
  SIM_CHECK(tensor->format != ACL_FORMAT_FRACTAL_NZ && tensor->format != ACL_FORMAT_NC1HWC0 &&
                tensor->format != ACL_FORMAT_FRACTAL_Z && tensor->format != ACL_FORMAT_NDC1HWC0,
            "a tensor in the private format ", int(tensor->format), " is not simulated");
  const auto dtype = c10::scalarTypeToTypeMeta(to_scalar_type(tensor->dtype));
  const size_t bytes = tensor->storage_elements * dtype.itemsize();
  // As at::from_blob, without its second look at sizes and strides: this is on every operator's path.
  c10::Storage storage(c10::Storage::use_byte_size_t(), bytes, c10::DataPtr(tensor->data, c10::kCPU), nullptr, false);
  auto result =
      at::detail::make_tensor<c10::TensorImpl>(std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CPU), dtype);
  auto* impl = result.unsafeGetTensorImpl();
  impl->set_sizes_and_strides(tensor->sizes, tensor->strides, tensor->offset);
  int64_t last = tensor->offset;
  for (size_t i = 0; i < tensor->sizes.size(); ++i) {
    if (tensor->sizes[i] == 0) return result;
    last += (tensor->sizes[i] - 1) * tensor->strides[i];
  }
  if (last >= 0 && size_t(last) < tensor->storage_elements) return result;
  // torch_npu goes on telling the old size of a storage that was resized: then the allocation decides.
  size_t left = 0;
  const size_t needed = size_t(last + 1) * dtype.itemsize();
  SIM_CHECK(last >= 0 && sim_memory_device(tensor->data, &left) >= 0 && needed <= left, "the view ",
            at::IntArrayRef(tensor->sizes), " with strides ", at::IntArrayRef(tensor->strides), " and offset ",
            tensor->offset, " leaves its storage of ", tensor->storage_elements, " elements");
  impl->unsafe_storage().set_nbytes(needed);
  return result;
}

at::Scalar convert(const aclScalar* scalar) {
  SIM_CHECK(scalar, "a scalar argument is null");
  return scalar->value;
}
Space convert(Resized space) { return {convert(static_cast<const aclTensor*>(space.tensor)), space.tensor}; }
Dims convert(const aclIntArray* array) { return array ? array->values : Dims{}; }
Checked<float> convert(const aclFloatArray* array) { return array ? array->values : Checked<float>{}; }
Checked<bool> convert(const aclBoolArray* array) { return array ? array->values : Checked<bool>{}; }
Tensors convert(const aclTensorList* list) {
  Tensors tensors;
  if (list)
    for (const auto& tensor : list->tensors) tensors.push_back(convert(tensor.get()));
  return tensors;
}
Checked<at::Scalar> convert(const aclScalarList* list) {
  Checked<at::Scalar> scalars;
  if (list)
    for (const auto& scalar : list->scalars) scalars.push_back(convert(scalar.get()));
  return scalars;
}

void fit(const Space& space, const at::Tensor& value) {
  SIM_CHECK(space.memory.defined(), "an output is null");
  SIM_CHECK(value.numel() <= space.memory.numel(), "the result of shape ", value.sizes(), " does not fit into ",
            space.memory.sizes());
  space.memory.as_strided(value.sizes(), at::detail::defaultStrides(value.sizes())).copy_(value);
  space.tensor->sizes = value.sizes().vec();
}

static bool partly_same(const aclTensor* input, const aclTensor* output) {
  if (!input || !output || !input->data || !output->data) return false;
  auto range = [](const aclTensor* tensor) {
    const auto start = reinterpret_cast<uintptr_t>(tensor->data);
    const auto size = static_cast<int64_t>(c10::elementSize(to_scalar_type(tensor->dtype)));
    int64_t first = tensor->offset, last = tensor->offset + 1;
    for (size_t i = 0; i < tensor->sizes.size(); ++i) last += (tensor->sizes[i] - 1) * tensor->strides[i];
    return std::pair(start + uintptr_t(first * size), start + uintptr_t(last * size));
  };
  const auto [input_begin, input_end] = range(input);
  const auto [output_begin, output_end] = range(output);
  if (input_end <= output_begin || output_end <= input_begin) return false;
  return input_begin != output_begin || input->dtype != output->dtype || input->sizes != output->sizes ||
         input->strides != output->strides;
}

// The positions of the inputs to copy: all, if one of them lies partly in an output, else none.
static std::vector<size_t> inputs_apart(std::initializer_list<Given> parameters) {
  bool found = false;
  std::vector<size_t> inputs;
  for (const Given& from : parameters) {
    const In* input = std::get_if<In>(&from);
    if (!input) continue;
    for (const Given& to : parameters)
      if (const Out* output = std::get_if<Out>(&to)) found = found || partly_same(*input, *output);
  }
  if (found)
    for (size_t i = 0; i < parameters.size(); ++i)
      if (std::holds_alternative<In>(parameters.begin()[i])) inputs.push_back(i);
  return inputs;
}

// A row's call: its parameters between the phases.
struct RowCall final : aclOpExecutor {
  RowCall(const Row& of, std::initializer_list<Given> parameters) : aclOpExecutor(of.name), row(of) {
    held.reserve(parameters.size());
    for (const Given& given : parameters)
      std::visit([this](auto value) { held.emplace_back(std::in_place_type<Value<decltype(value)>>, convert(value)); },
                 given);
    row.body(held.data(), Phase::first);
    apart = inputs_apart(parameters);
  }
  void run() override {
    if (apart.empty()) return row.body(held.data(), Phase::second);
    auto copied = held;
    for (size_t input : apart)
      if (auto& tensor = std::get<at::Tensor>(copied[input]); tensor.defined()) tensor = tensor.clone();
    row.body(copied.data(), Phase::second);
  }
  const Row& row;
  c10::SmallVector<Held, 8> held;
  std::vector<size_t> apart;
};

static Argument argument(const Given& given) {
  return std::visit(
      [](auto value) -> Argument {
        using Kind = decltype(value);
        if constexpr (std::is_same_v<Kind, In> || std::is_same_v<Kind, Out>) return {Argument::kTensor, value};
        else if constexpr (std::is_same_v<Kind, Resized>) return {Argument::kTensor, value.tensor};
        else if constexpr (std::is_same_v<Kind, MaybeNum>) return {Argument::kPointer, value.scalar};
        else if constexpr (std::is_same_v<Kind, List>) return {Argument::kList, value};
        else if constexpr (std::is_pointer_v<Kind>) return {Argument::kPointer, value};
        else return {Argument::kValue, nullptr};
      },
      given);
}

// 0, or the code of what CANN's page says about these arguments.
static int refused_by_rules(Row& row, std::initializer_list<Given> parameters) {
  if (!rules_wanted()) return 0;
  c10::SmallVector<Argument, 16> arguments;
  const auto see = [&] {
    for (const Given& given : parameters) arguments.push_back(argument(given));
  };
  if (!row.looked_up.load(std::memory_order_acquire)) {
    see();
    row.rules = find_rules(row.name, arguments.data(), arguments.size());
    row.looked_up.store(true, std::memory_order_release);
  }
  const FunctionRules* rules = row.rules.load(std::memory_order_relaxed);
  if (!rules) return 0;
  if (arguments.empty()) see();
  return apply_rules(*rules, arguments.data(), arguments.size());
}

static int turn_away(int code, const Row& row, uint64_t* workspace, aclOpExecutor** executor) {
  if (workspace) *workspace = 0;
  if (!executor) return code;
  *executor = new Refused(row.name, code, sim_error_message());
  return (*executor)->ready();
}

int prepare(Row& row, std::initializer_list<Given> parameters, uint64_t* workspace, aclOpExecutor** executor) {
  if (watching()) watched(std::string("call\t") + row.name);
  if (const int code = refused_by_rules(row, parameters)) return turn_away(code, row, workspace, executor);
  try {
    auto call = std::make_unique<RowCall>(row, parameters);
    if (!workspace || !executor)
      return sim_fail(kNullPointer, "%s: no place for the workspace size or the executor", row.name);
    *workspace = 0;
    *executor = call.release();
    return 0;
  } catch (...) {
    return turn_away(explain(row.name, kInvalid), row, workspace, executor);
  }
}

int launch(const char* name, aclOpExecutor* executor, void* stream) {
  if (!executor) return sim_fail(kNullPointer, "%s: no executor; its first phase was not called", name);
  auto drop = [](void* call) { delete static_cast<aclOpExecutor*>(call); };
  if (int code = executor->ready()) return drop(executor), code;
  // The stream owns the call from here: it may be captured, and run again after the caller has forgotten it.
  return sim_launch(stream, name, run_task, executor, drop);
}

}  // namespace sim::aclnn

extern "C" SIM_API int aclDestroyAclOpExecutor(aclOpExecutor* executor) {
  delete executor;
  return 0;
}
