#include "atb/operation.h"

#include <numeric>

#include "core/handles.h"

namespace sim::atblib {

void refuse(int code, std::initializer_list<Part> parts) {
  std::ostringstream text;
  for (const Part& part : parts) part.print(text);
  throw Refusal{code, text.str()};
}

int told(const char* name, const Refusal& refusal) {
  std::fprintf(stderr, "[simulated Ascend] %s: %s\n", name, refusal.reason.c_str());
  return sim_fail(refusal.code, "%s: %s", name, refusal.reason.c_str());
}

// ---- arguments ---------------------------------------------------------------------------------------------------
Arguments::~Arguments() {
  for (const aclTensor* tensor : tensors_) aclDestroyTensor(tensor);
  for (const aclIntArray* array : arrays_) aclDestroyIntArray(array);
}

aclTensor* Arguments::make(const Tensor& tensor, bool as_it_lies) {
  const auto& shape = tensor.desc.shape;
  if (tensor.desc.dtype == ACL_DT_UNDEFINED) return nullptr;  // absent
  const auto format = as_it_lies || tensor.desc.format == ACL_FORMAT_UNDEFINED ? ACL_FORMAT_ND : tensor.desc.format;
  int64_t strides[::atb::MAX_DIM], count = 1;
  for (uint64_t i = shape.dimNum; i-- > 0; count *= shape.dims[i]) strides[i] = count;
  void* data = tensor.deviceData ? tensor.deviceData : tensor.hostData;
  aclTensor* made =
      aclCreateTensor(shape.dims, shape.dimNum, tensor.desc.dtype, strides, 0, format, shape.dims, shape.dimNum, data);
  ATB_CHECK(made, ERROR_OUT_OF_HOST_MEMORY, "a tensor cannot be made");
  tensors_.push_back(made);
  return made;
}

In Arguments::flat(In tensor) {
  if (tensor->format == ACL_FORMAT_ND) return tensor;
  const auto& sizes = tensor->sizes;
  tensors_.push_back(aclCreateTensor(sizes.data(), sizes.size(), tensor->dtype, tensor->strides.data(), tensor->offset,
                                     ACL_FORMAT_ND, sizes.data(), sizes.size(), tensor->data));
  ATB_CHECK(tensors_.back(), ERROR_OUT_OF_HOST_MEMORY, "a tensor cannot be made");
  return tensors_.back();
}

int64_t Arguments::size(size_t i, size_t dim) const {
  const auto& shape = desc(i).shape;
  ATB_CHECK(dim < shape.dimNum, ERROR_INVALID_TENSOR_DIM_NUM, "input ", i, " has ", shape.dimNum, " dimensions");
  return shape.dims[dim];
}

static Ints ints(std::vector<const aclIntArray*>& kept, const int32_t* values, size_t count) {
  const std::vector<int64_t> wide(values, values + count);
  const aclIntArray* made = aclCreateIntArray(wide.data(), wide.size());
  ATB_CHECK(made, ERROR_OUT_OF_HOST_MEMORY, "an array cannot be made");
  kept.push_back(made);
  return made;
}

Ints Arguments::none() { return ints(arrays_, nullptr, 0); }

std::pair<Ints, Ints> Arguments::halves(Ints both) {
  const auto& all = both->values;
  const auto half = [&](size_t from) {
    arrays_.push_back(aclCreateIntArray(all.data() + from, all.size() / 2));
    return arrays_.back();
  };
  const Ints first = half(0);
  return {first, half(all.size() / 2)};
}

Ints Arguments::host(size_t i, const char* name) {
  const Tensor& tensor = pack_.inTensors[i];
  ATB_CHECK(tensor.hostData, ERROR_INVALID_PARAM, name,
            " must lie on the host: ATB reads it when the operation is set up");
  ATB_CHECK(tensor.desc.dtype == ACL_INT32, ERROR_INVALID_TENSOR_DTYPE, name, " has ACL data type ",
            int(tensor.desc.dtype), "; allowed: int32");
  return ints(arrays_, static_cast<const int32_t*>(tensor.hostData), ::atb::Utils::GetTensorNumel(tensor));
}

Ints Arguments::host(In tensor, const char* name) {
  if (!tensor) return none();
  live(name, tensor);
  ATB_CHECK(tensor->dtype == ACL_INT32, ERROR_INVALID_TENSOR_DTYPE, name, " has ACL data type ", int(tensor->dtype),
            "; allowed: int32");
  const auto* data = static_cast<const int32_t*>(tensor->data) + tensor->offset;
  const auto count = size_t(c10::multiply_integers(tensor->sizes));
  ATB_CHECK(!count || (tensor->data && sim_memory_device(data, nullptr) < 0), ERROR_INVALID_PARAM, name,
            " must lie on the host: ATB reads it when the operation is set up");
  return ints(arrays_, data, count);
}

const aclTensor& given(In tensor, const char* name, size_t rank) {
  live(name, tensor);
  ATB_CHECK(tensor, ERROR_INVALID_PARAM, name, " is null");
  ATB_CHECK(tensor->sizes.size() == rank, ERROR_INVALID_TENSOR_DIM_NUM, name, " has ", tensor->sizes.size(),
            " dimensions; allowed: ", rank);
  return *tensor;
}

int64_t total(Ints lengths) { return std::accumulate(lengths->values.begin(), lengths->values.end(), int64_t(0)); }

Tensor on_device(In tensor) {
  Tensor made;
  if (!tensor) return made;
  live("a tensor", tensor);
  ATB_CHECK(tensor->sizes.size() <= ::atb::MAX_DIM, ERROR_INVALID_TENSOR_DIM_NUM, "a tensor has ", tensor->sizes.size(),
            " dimensions; allowed: up to 8");
  made.desc = {tensor->dtype, tensor->format, {}};
  for (int64_t size : tensor->sizes) made.desc.shape.dims[made.desc.shape.dimNum++] = size;
  made.deviceData = static_cast<char*>(tensor->data) + size_t(tensor->offset) * aclDataTypeSize(tensor->dtype);
  made.dataSize = ::atb::Utils::GetTensorSize(made);
  return made;
}
Tensor on_host(In tensor) {
  Tensor made = on_device(tensor);
  ATB_CHECK(sim_memory_device(made.deviceData, nullptr) < 0, ERROR_INVALID_PARAM,
            "lengths must lie on the host: ATB reads them when the operation is set up");
  std::swap(made.deviceData, made.hostData);
  return made;
}

// ---- packs -------------------------------------------------------------------------------------------------------
static bool is_type(char letter, aclDataType dtype) {
  switch (letter) {
    case 'h': return dtype == ACL_FLOAT16;
    case 'b': return dtype == ACL_BF16;
    case 'f': return dtype == ACL_FLOAT;
    case 'c': return dtype == ACL_INT8;
    case 'i': return dtype == ACL_INT32;
    case 'n': return dtype == ACL_INT32 || dtype == ACL_UINT32;
    default: return true;
  }
}

static bool of_types(const VariantPack& pack, const std::string& column) {
  size_t i = 0;
  for (const auto* tensors : {&pack.inTensors, &pack.outTensors}) {
    for (const Tensor& tensor : *tensors)
      if (i >= column.size() || !is_type(column[i++], tensor.desc.dtype)) return false;
    if (tensors == &pack.inTensors && (i >= column.size() || column[i++] != '>')) return false;
  }
  return i == column.size();
}

static std::string types_of(const VariantPack& pack) {
  std::string text;
  for (const auto* tensors : {&pack.inTensors, &pack.outTensors}) {
    for (const Tensor& tensor : *tensors) text += std::to_string(int(tensor.desc.dtype)) + " ";
    if (tensors == &pack.inTensors) text += "-> ";
  }
  text.pop_back();
  return text;
}

std::pair<uint32_t, uint32_t> numbers_of(const std::string& types) {
  const size_t arrow = types.find('>'), end = std::min(types.find(' '), types.size());
  return {uint32_t(arrow), uint32_t(end - arrow - 1)};
}

void check_pack(const VariantPack& pack, const std::string& types) {
  const auto [inputs, outputs] = numbers_of(types);
  ATB_CHECK(pack.inTensors.size() == inputs, ERROR_INVALID_IN_TENSOR_NUM, pack.inTensors.size(),
            " inputs; the operation has ", inputs);
  ATB_CHECK(pack.outTensors.size() == outputs, ERROR_INVALID_IN_TENSOR_NUM, pack.outTensors.size(),
            " outputs; the operation has ", outputs);
  for (const auto* tensors : {&pack.inTensors, &pack.outTensors})
    for (size_t i = 0; i < tensors->size(); ++i) {
      const Tensor& tensor = (*tensors)[i];
      const char* kind = tensors == &pack.inTensors ? "input " : "output ";
      const auto rank = tensor.desc.shape.dimNum;
      ATB_CHECK(rank > 0 && rank <= ::atb::MAX_DIM, ERROR_INVALID_TENSOR_DIM_NUM, kind, i, " has ", rank,
                " dimensions; allowed: 1 to 8");
      ATB_CHECK(tensor.deviceData || tensor.hostData, ERROR_INVALID_PARAM, kind, i, " has no address");
    }
  std::istringstream columns(types);
  for (std::string column; columns >> column;)
    if (of_types(pack, column)) return;
  ATB_CHECK(false, ERROR_INVALID_TENSOR_INI_MATCH, "no kernel for tensors of the ACL data types ", types_of(pack));
}

void check_descs(const Descs& descs, size_t inputs) {
  ATB_CHECK(descs.size() == inputs, ERROR_INVALID_IN_TENSOR_NUM, descs.size(), " inputs; the operation has ", inputs);
}

std::vector<const void*> addresses(const VariantPack& pack) {
  std::vector<const void*> all;
  for (const auto* tensors : {&pack.inTensors, &pack.outTensors})
    for (const Tensor& tensor : *tensors) all.push_back(tensor.deviceData ? tensor.deviceData : tensor.hostData);
  return all;
}

// ---- operations --------------------------------------------------------------------------------------------------
int Prepared::explained() const {
  try {
    throw;
  } catch (const Refusal& refusal) {
    return told(name_, refusal);
  } catch (const c10::Error& error) {
    return told(name_, {ErrorType::ERROR_INVALID_PARAM, error.what_without_backtrace()});
  } catch (const std::bad_alloc&) {
    return told(name_, {ErrorType::ERROR_OUT_OF_HOST_MEMORY, "the host is out of memory"});
  } catch (const std::exception& error) {
    return told(name_, {ErrorType::ERROR_INVALID_PARAM, error.what()});
  } catch (...) {
    return told(name_, {ErrorType::ERROR_INTERNAL_ERROR, "an exception of an unknown type"});
  }
}

// A row of libopapi left its reason.
int Prepared::first_phase_refused() const {
  const char* left = sim_error_message();
  const std::string text = left ? left : name_;
  std::fprintf(stderr, "%s\n", text.c_str());
  return sim_fail(ErrorType::ERROR_INVALID_PARAM, "%s", text.c_str());
}

void Prepared::drop() {
  if (executor_) aclDestroyAclOpExecutor(executor_);
  executor_ = nullptr;
}

// It can be executed more than once after one Setup.
void Prepared::keep(aclOpExecutor* executor, uint64_t workspace) {
  drop();
  executor_ = executor;
  workspace_ = workspace;
  if (executor) aclSetAclOpExecutorRepeatable(executor);
}

int Prepared::launch(void* workspace, uint64_t size, ::atb::Context* context) {
  if (!context) return told(name_, {ErrorType::ERROR_INVALID_PARAM, "the context is null"});
  if (!executor_) return told(name_, {ErrorType::ERROR_INVALID_PARAM, "it was not set up"});
  if (size < workspace_ || (workspace_ && !workspace))
    return sim_fail(ErrorType::ERROR_INVALID_PARAM, "%s: the workspace has %llu bytes; Setup asked for %llu", name_,
                    (unsigned long long)(workspace ? size : 0), (unsigned long long)workspace_);
  const int code = sim::aclnn::launch(name_, workspace, size, executor_, context->GetExecuteStream());
  return code ? int(ErrorType::ERROR_RT_FAIL) : 0;
}

::atb::Status Prepared::InferShape(const Descs&, Descs&) const {
  sim_unimplemented((std::string(name_) + "'s InferShape").c_str());
  return ErrorType::ERROR_INVALID_PARAM;
}
::atb::Status Prepared::Setup(const VariantPack&, uint64_t& workspace, ::atb::Context*) {
  workspace = 0;
  sim_unimplemented((std::string(name_) + " by Setup; it has a function of its own").c_str());
  return ErrorType::ERROR_INVALID_PARAM;
}
::atb::Status Prepared::Execute(const VariantPack&, uint8_t* workspace, uint64_t size, ::atb::Context* context) {
  return launch(workspace, size, context);
}

int publish(std::unique_ptr<Prepared> operation, ::atb::Operation** out) {
  *out = operation.get();
  Handles<Prepared>::all().add(std::shared_ptr<Prepared>(std::move(operation)));
  return 0;
}

int function_operation(const char* name, uint64_t* workspace, ::atb::Operation** operation, ::atb::Context* context,
                       Prepared** out) {
  if (!workspace || !operation || !context)
    return sim_fail(ErrorType::ERROR_INVALID_PARAM, "%s: no %s", name,
                    !workspace   ? "place for the workspace size"
                    : !operation ? "place for the operation"
                                 : "context");
  *workspace = 0;
  if (!*operation) publish(std::make_unique<Prepared>(name), operation);
  const auto found = Handles<Prepared>::all().find(static_cast<Prepared*>(*operation));
  if (!found)
    return sim_fail(ErrorType::ERROR_INVALID_OPERATION_ADDR, "%s: operation (%p) is none", name, (void*)*operation);
  *out = found.get();
  return 0;
}

int function_launch(const char* name, void* workspace, uint64_t size, ::atb::Operation* operation,
                    ::atb::Context* context) {
  const auto found = Handles<Prepared>::all().find(static_cast<Prepared*>(operation));
  if (!found)
    return sim_fail(ErrorType::ERROR_INVALID_OPERATION_ADDR, "%s: operation (%p) is none", name, (void*)operation);
  return found->launch(workspace, size, context);
}

}  // namespace sim::atblib

SIM_API atb::Status atb::DestroyOperation(atb::Operation* operation) {
  if (!operation) return NO_ERROR;
  if (!sim::Handles<sim::atblib::Prepared>::all().take(static_cast<sim::atblib::Prepared*>(operation)))
    return sim_fail(ERROR_INVALID_OPERATION_ADDR, "atb::DestroyOperation: operation (%p) is none", (void*)operation);
  return NO_ERROR;
}
