// aclTensor, aclScalar and their lists: made and destroyed by the caller, read by phase 1.
#include "opapi/aclnn.h"

using namespace sim::aclnn;

namespace {

at::Scalar scalar_from(const void* value, aclDataType dtype) {
  switch (dtype) {
    case ACL_FLOAT: return *static_cast<const float*>(value);
    case ACL_DOUBLE: return *static_cast<const double*>(value);
    case ACL_FLOAT16: return float(*static_cast<const at::Half*>(value));
    case ACL_BF16: return float(*static_cast<const at::BFloat16*>(value));
    case ACL_INT8: return int64_t(*static_cast<const int8_t*>(value));
    case ACL_UINT8: return int64_t(*static_cast<const uint8_t*>(value));
    case ACL_INT16: return int64_t(*static_cast<const int16_t*>(value));
    case ACL_INT32: return int64_t(*static_cast<const int32_t*>(value));
    case ACL_INT64: return *static_cast<const int64_t*>(value);
    case ACL_BOOL: return *static_cast<const bool*>(value);
    case ACL_COMPLEX64: return c10::complex<double>(*static_cast<const c10::complex<float>*>(value));
    case ACL_COMPLEX128: return *static_cast<const c10::complex<double>*>(value);
    default: SIM_CHECK(false, "aclCreateScalar: data type ", int(dtype), " is not simulated");
  }
}

template <typename Make>
auto guarded(const char* caller, Make make) -> decltype(make()) {
  try {
    return make();
  } catch (const c10::Error& error) {
    sim_fail(kInvalid, "%s: %s", caller, error.what_without_backtrace());
  } catch (const std::exception& error) {
    sim_fail(kInner, "%s: %s", caller, error.what());
  } catch (...) {
    sim_fail(kInner, "%s: an exception of an unknown type", caller);
  }
  return nullptr;
}

}  // namespace

extern "C" {

SIM_API aclTensor* aclCreateTensor(const int64_t* sizes, uint64_t dims, aclDataType dtype, const int64_t* strides,
                                   int64_t offset, aclFormat format, const int64_t* storage_sizes,
                                   uint64_t storage_dims, void* data) {
  size_t elements = 1;
  for (uint64_t i = 0; i < storage_dims; ++i) elements *= size_t(storage_sizes[i]);
  auto tensor = new aclTensor{dtype, at::DimVector(sizes, sizes + dims), {}, offset, format, elements, data};
  if (strides) {
    tensor->strides.assign(strides, strides + dims);
  } else {
    tensor->strides.resize(dims);
    int64_t step = 1;
    for (uint64_t i = dims; i-- > 0; step *= sizes[i]) tensor->strides[i] = step;
  }
  return tensor;
}
SIM_API int aclDestroyTensor(const aclTensor* tensor) {
  delete tensor;
  return 0;
}
SIM_API int aclGetViewShape(const aclTensor* tensor, int64_t** sizes, uint64_t* dims) {
  *dims = tensor->sizes.size();
  *sizes = new int64_t[*dims];  // the caller's to delete[], as CANN documents
  std::copy(tensor->sizes.begin(), tensor->sizes.end(), *sizes);
  return 0;
}

SIM_API aclScalar* aclCreateScalar(void* value, aclDataType dtype) {
  return guarded("aclCreateScalar", [&] { return new aclScalar{scalar_from(value, dtype)}; });
}
SIM_API int aclDestroyScalar(const aclScalar* scalar) {
  delete scalar;
  return 0;
}

SIM_API aclIntArray* aclCreateIntArray(const int64_t* values, uint64_t count) {
  return new aclIntArray{{values, values + count}};
}
SIM_API int aclDestroyIntArray(const aclIntArray* array) {
  delete array;
  return 0;
}
SIM_API aclFloatArray* aclCreateFloatArray(const float* values, uint64_t count) {
  return new aclFloatArray{{values, values + count}};
}
SIM_API int aclDestroyFloatArray(const aclFloatArray* array) {
  delete array;
  return 0;
}
SIM_API aclBoolArray* aclCreateBoolArray(const bool* values, uint64_t count) {
  return new aclBoolArray{sim::Checked<bool>(values, values + count)};
}
SIM_API int aclDestroyBoolArray(const aclBoolArray* array) {
  delete array;
  return 0;
}

// A list takes its members over: the caller destroys the list only.
SIM_API aclTensorList* aclCreateTensorList(const aclTensor* const* tensors, uint64_t count) {
  auto list = new aclTensorList;
  for (uint64_t i = 0; i < count; ++i) list->tensors.emplace_back(tensors[i]);
  return list;
}
SIM_API int aclDestroyTensorList(const aclTensorList* list) {
  delete list;
  return 0;
}
SIM_API aclScalarList* aclCreateScalarList(const aclScalar* const* scalars, uint64_t count) {
  auto list = new aclScalarList;
  for (uint64_t i = 0; i < count; ++i) list->scalars.emplace_back(scalars[i]);
  return list;
}
SIM_API int aclDestroyScalarList(const aclScalarList* list) {
  delete list;
  return 0;
}

}  // extern "C"
