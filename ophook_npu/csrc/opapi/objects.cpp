// aclTensor, aclScalar and their lists: made and destroyed by the caller, read by phase 1.
#include "opapi/objects.h"

using namespace sim::aclnn;

namespace sim::aclnn {
static constexpr const char* kNames[] = {"an aclTensor",    "an aclScalar",     "an aclIntArray",   "an aclFloatArray",
                                         "an aclBoolArray", "an aclTensorList", "an aclScalarList", "an aclOpExecutor"};
constinit Slots all_objects(kNames);
}  // namespace sim::aclnn

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
    case ACL_UINT16: return int64_t(*static_cast<const uint16_t*>(value));
    case ACL_UINT32: return int64_t(*static_cast<const uint32_t*>(value));
    case ACL_UINT64: return *static_cast<const uint64_t*>(value);
    case ACL_INT64: return *static_cast<const int64_t*>(value);
    case ACL_BOOL: return *static_cast<const bool*>(value);
    case ACL_COMPLEX64: return c10::complex<double>(*static_cast<const c10::complex<float>*>(value));
    case ACL_COMPLEX128: return *static_cast<const c10::complex<double>*>(value);
    default: SIM_CHECK(false, "aclCreateScalar: data type ", int(dtype), " is not simulated");
  }
}

template <typename T>
T* made_array(const char* caller, const auto* values, uint64_t count) {
  return guarded<T*>(caller, kInvalid, nullptr, [&] {
    SIM_CHECK(values || count == 0, "its ", count, " values are null");
    return objects().make<T>(decltype(T::values)(values, values + count));
  });
}

int no_object(const char* caller, const char* kind, const void* handle) {
  return sim_fail(handle ? kInvalid : kNullPointer, "%s: %p %s, not a live %s", caller, handle,
                  objects().what(handle).c_str(), kind);
}

// Null is no error: torch_npu destroys what it did not make.
template <typename T>
int destroyed(const char* caller, const char* kind, const T* handle) {
  if (!handle) return 0;
  return objects().end(handle, "was destroyed") ? 0 : no_object(caller, kind, handle);
}

// The same for what may be in a list.
template <typename T>
int destroyed_member(const char* caller, const char* kind, const T* handle) {
  if (handle && objects().is<T>(handle) && objects().lists(handle).load(std::memory_order_acquire) > 0)
    return sim_fail(kInvalid, "%s: %p is in a list, which destroys it", caller, static_cast<const void*>(handle));
  return destroyed(caller, kind, handle);
}

template <typename List, typename T>
List* made_list(const char* caller, const T* const* members, uint64_t count) {
  return guarded<List*>(caller, kInvalid, nullptr, [&] {
    SIM_CHECK(members || count == 0, "its ", count, " members are null");
    for (uint64_t i = 0; i < count; ++i)
      SIM_CHECK(is_or_null(members[i]), "member ", i, " (", static_cast<const void*>(members[i]), ") ",
                objects().what(members[i]));
    List* list = objects().make<List>(std::vector<const T*>(members, members + count));
    for (uint64_t i = 0; i < count; ++i)
      if (members[i]) objects().lists(members[i]).fetch_add(1, std::memory_order_relaxed);
    return list;
  });
}

template <typename List, typename T>
int destroyed_list(const char* caller, const char* kind, const List* handle, std::vector<const T*> List::* members) {
  if (!handle) return 0;
  std::vector<const T*> held;
  if (!objects().end(handle, "was destroyed", [&](List& list) { held = std::move(list.*members); }))
    return no_object(caller, kind, handle);
  for (const T* member : held)
    if (member && objects().lists(member).fetch_sub(1, std::memory_order_acq_rel) == 1)
      objects().end(member, "was destroyed with its list");
  return 0;
}

void describe(aclTensor& tensor, const int64_t* sizes, uint64_t dims, aclDataType dtype, const int64_t* strides,
              int64_t offset, aclFormat format, const int64_t* storage_sizes, uint64_t storage_dims, void* data) {
  tensor.dtype = dtype, tensor.offset = offset, tensor.format = format, tensor.data = data;
  tensor.storage_elements =
      std::accumulate(storage_sizes, storage_sizes + storage_dims, size_t(1), std::multiplies<>());
  tensor.storage_sizes.assign(storage_sizes, storage_sizes + storage_dims);
  tensor.sizes.assign(sizes, sizes + dims);
  tensor.strides.resize(dims);
  int64_t step = 1;
  for (uint64_t i = dims; i-- > 0; step *= sizes[i]) tensor.strides[i] = strides ? strides[i] : step;
}

}  // namespace

extern "C" {

SIM_API int aclInitTensor(aclTensor* tensor, const int64_t* sizes, uint64_t dims, aclDataType dtype,
                          const int64_t* strides, int64_t offset, aclFormat format, const int64_t* storage_sizes,
                          uint64_t storage_dims, void* data) {
  if (!objects().is<aclTensor>(tensor)) return no_object("aclInitTensor", "aclTensor", tensor);
  if ((!sizes && dims) || (!storage_sizes && storage_dims)) return sim_fail(kNullPointer, "aclInitTensor: null sizes");
  describe(*tensor, sizes, dims, dtype, strides, offset, format, storage_sizes, storage_dims, data);
  return 0;
}
SIM_API aclTensor* aclCreateTensor(const int64_t* sizes, uint64_t dims, aclDataType dtype, const int64_t* strides,
                                   int64_t offset, aclFormat format, const int64_t* storage_sizes,
                                   uint64_t storage_dims, void* data) {
  return guarded<aclTensor*>("aclCreateTensor", kInvalid, nullptr, [&] {
    SIM_CHECK(sizes || dims == 0, "its ", dims, " sizes are null");
    SIM_CHECK(storage_sizes || storage_dims == 0, "the ", storage_dims, " sizes of its storage are null");
    aclTensor* made = objects().make<aclTensor>();
    describe(*made, sizes, dims, dtype, strides, offset, format, storage_sizes, storage_dims, data);
    return made;
  });
}
SIM_API int aclDestroyTensor(const aclTensor* tensor) {
  return destroyed_member("aclDestroyTensor", "aclTensor", tensor);
}
SIM_API aclScalar* aclCreateScalar(void* value, aclDataType dtype) {
  return guarded<aclScalar*>("aclCreateScalar", kInvalid, nullptr, [&] {
    SIM_CHECK(value, "its value is null");
    return objects().make<aclScalar>(scalar_from(value, dtype), dtype);
  });
}
SIM_API int aclDestroyScalar(const aclScalar* scalar) {
  return destroyed_member("aclDestroyScalar", "aclScalar", scalar);
}

SIM_API aclIntArray* aclCreateIntArray(const int64_t* values, uint64_t count) {
  return made_array<aclIntArray>("aclCreateIntArray", values, count);
}
SIM_API int aclDestroyIntArray(const aclIntArray* array) {
  return destroyed("aclDestroyIntArray", "aclIntArray", array);
}
SIM_API aclFloatArray* aclCreateFloatArray(const float* values, uint64_t count) {
  return made_array<aclFloatArray>("aclCreateFloatArray", values, count);
}
SIM_API int aclDestroyFloatArray(const aclFloatArray* array) {
  return destroyed("aclDestroyFloatArray", "aclFloatArray", array);
}
SIM_API aclBoolArray* aclCreateBoolArray(const bool* values, uint64_t count) {
  return made_array<aclBoolArray>("aclCreateBoolArray", values, count);
}
SIM_API int aclDestroyBoolArray(const aclBoolArray* array) {
  return destroyed("aclDestroyBoolArray", "aclBoolArray", array);
}

SIM_API aclTensorList* aclCreateTensorList(const aclTensor* const* tensors, uint64_t count) {
  return made_list<aclTensorList>("aclCreateTensorList", tensors, count);
}
SIM_API int aclDestroyTensorList(const aclTensorList* list) {
  return destroyed_list("aclDestroyTensorList", "aclTensorList", list, &aclTensorList::tensors);
}
SIM_API aclScalarList* aclCreateScalarList(const aclScalar* const* scalars, uint64_t count) {
  return made_list<aclScalarList>("aclCreateScalarList", scalars, count);
}
SIM_API int aclDestroyScalarList(const aclScalarList* list) {
  return destroyed_list("aclDestroyScalarList", "aclScalarList", list, &aclScalarList::scalars);
}

// Extensions look these up by name around every call (EXEC_NPU_CMD of op-plugin): on a device they keep memory for the
// executors of a thread. Here each executor has its own.
SIM_API int InitHugeMemThreadLocal(void*, bool) { return 0; }
SIM_API void UnInitHugeMemThreadLocal(void*, bool) {}
SIM_API void ReleaseHugeMem(void*, bool) {}

}  // extern "C"
