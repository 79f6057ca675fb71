// What a caller asks of the objects that it made, and executors that are run again on other memory.
#include "opapi/objects.h"

using namespace sim::aclnn;

namespace {

// 0, or the code of what is wrong with an object and the places that the answer is written to.
template <typename T, typename... Place>
int check(const char* caller, const T* object, Place*... places) {
  if (!object || (!places || ...)) return sim_fail(kNullPointer, "%s: null pointer", caller);
  if (objects().is<T>(object)) return 0;
  return sim_fail(kInvalid, "%s: %p %s", caller, static_cast<const void*>(object), objects().what(object).c_str());
}

// The caller's to delete[], as CANN documents.
int hand_out(const char* caller, const aclTensor* tensor, at::DimVector aclTensor::* values, int64_t** out,
             uint64_t* count) {
  if (int code = check(caller, tensor, out, count)) return code;
  *count = (tensor->*values).size();
  *out = new int64_t[*count];
  std::copy((tensor->*values).begin(), (tensor->*values).end(), *out);
  return 0;
}

template <typename T, typename Values>
int count(const char* caller, const T* list, Values T::* values, uint64_t* size) {
  if (int code = check(caller, list, size)) return code;
  *size = (list->*values).size();
  return 0;
}

// `tensor` is at another address now: so are the next runs of the executor, which was given `object`. The tensor's is
// set first, as in CANN: programs refresh tensors without an executor before they ask for one.
int move(const char* caller, aclOpExecutor* executor, aclTensor* tensor, const void* object, void* address) {
  if (!tensor) return sim_fail(kInnerNull, "%s: no tensor", caller);
  if (int code = check(caller, tensor)) return code;
  tensor->data = address;
  if (!executor) return sim_fail(kInnerNull, "%s: no executor; the tensor has its new address", caller);
  if (int code = check(caller, executor)) return code;
  const char* const name = executor->call->name;
  if (!executor->repeatable)
    return sim_fail(kInvalid, "%s: aclSetAclOpExecutorRepeatable was not called for this %s", caller, name);
  try {
    if (auto call = moved(*executor->call, object)) {
      release(std::exchange(executor->call, call.release()));
      return 0;
    }
  } catch (const c10::Error& error) {
    return sim_fail(kInvalid, "%s: %s: %s", caller, name, error.what_without_backtrace());
  }
  return sim_fail(kInvalid, "%s: the tensor was not passed to this call of %s", caller, name);
}

int move_member(const char* caller, aclOpExecutor* executor, size_t position, aclTensorList* list, void* address) {
  if (!list) return sim_fail(kInnerNull, "%s: no list", caller);
  if (int code = check(caller, list)) return code;
  if (position >= list->tensors.size())
    return sim_fail(kInvalid, "%s: tensor %zu of %zu", caller, position, list->tensors.size());
  return move(caller, executor, const_cast<aclTensor*>(list->tensors[position]), list, address);
}

}  // namespace

extern "C" {

// ---- tensors ----
SIM_API int aclGetViewShape(const aclTensor* tensor, int64_t** sizes, uint64_t* dims) {
  return hand_out("aclGetViewShape", tensor, &aclTensor::sizes, sizes, dims);
}
SIM_API int aclGetViewStrides(const aclTensor* tensor, int64_t** strides, uint64_t* dims) {
  return hand_out("aclGetViewStrides", tensor, &aclTensor::strides, strides, dims);
}
SIM_API int aclGetStorageShape(const aclTensor* tensor, int64_t** sizes, uint64_t* dims) {
  return hand_out("aclGetStorageShape", tensor, &aclTensor::storage_sizes, sizes, dims);
}
SIM_API int aclGetViewOffset(const aclTensor* tensor, int64_t* offset) {
  if (int code = check("aclGetViewOffset", tensor, offset)) return code;
  *offset = tensor->offset;
  return 0;
}
SIM_API int aclGetFormat(const aclTensor* tensor, aclFormat* format) {
  if (int code = check("aclGetFormat", tensor, format)) return code;
  *format = tensor->format;
  return 0;
}
SIM_API int aclGetDataType(const aclTensor* tensor, aclDataType* dtype) {
  if (int code = check("aclGetDataType", tensor, dtype)) return code;
  *dtype = tensor->dtype;
  return 0;
}
SIM_API int aclGetRawTensorAddr(const aclTensor* tensor, void** address) {
  if (int code = check("aclGetRawTensorAddr", tensor, address)) return code;
  *address = tensor->data;
  return 0;
}
SIM_API int aclSetRawTensorAddr(aclTensor* tensor, void* address) {
  if (int code = check("aclSetRawTensorAddr", tensor)) return code;
  tensor->data = address;
  return 0;
}

// ---- arrays and lists ----
SIM_API int aclGetIntArraySize(const aclIntArray* array, uint64_t* size) {
  return count("aclGetIntArraySize", array, &aclIntArray::values, size);
}
SIM_API int aclGetFloatArraySize(const aclFloatArray* array, uint64_t* size) {
  return count("aclGetFloatArraySize", array, &aclFloatArray::values, size);
}
SIM_API int aclGetBoolArraySize(const aclBoolArray* array, uint64_t* size) {
  return count("aclGetBoolArraySize", array, &aclBoolArray::values, size);
}
SIM_API int aclGetTensorListSize(const aclTensorList* list, uint64_t* size) {
  return count("aclGetTensorListSize", list, &aclTensorList::tensors, size);
}
SIM_API int aclGetScalarListSize(const aclScalarList* list, uint64_t* size) {
  return count("aclGetScalarListSize", list, &aclScalarList::scalars, size);
}

// ---- executors that are run again on other memory ----
// Which tensor is meant is known by what the caller passes: its index among the operator's own says nothing more.
#define MOVE(name)                                                                            \
  SIM_API int name(aclOpExecutor* executor, const size_t, aclTensor* tensor, void* address) { \
    return move(#name, executor, tensor, tensor, address);                                    \
  }
#define MOVE_MEMBER(name)                                                                                     \
  SIM_API int name(aclOpExecutor* executor, size_t, const size_t place, aclTensorList* list, void* address) { \
    return move_member(#name, executor, place, list, address);                                                \
  }
MOVE(aclSetTensorAddr)
MOVE(aclSetInputTensorAddr)
MOVE(aclSetOutputTensorAddr)
MOVE(AclSetTensorAddr)
MOVE(AclSetInputTensorAddr)
MOVE(AclSetOutputTensorAddr)
MOVE_MEMBER(aclSetDynamicTensorAddr)
MOVE_MEMBER(aclSetDynamicInputTensorAddr)
MOVE_MEMBER(aclSetDynamicOutputTensorAddr)
MOVE_MEMBER(AclSetDynamicTensorAddr)
MOVE_MEMBER(AclSetDynamicInputTensorAddr)
MOVE_MEMBER(AclSetDynamicOutputTensorAddr)

// ---- the library ----
SIM_API int aclnnInit(const char*) { return 0; }  // nothing is set up before the first operator
SIM_API int aclnnFinalize() { return 0; }

}  // extern "C"
