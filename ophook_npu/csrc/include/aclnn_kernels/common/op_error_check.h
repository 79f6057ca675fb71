// Checks of arguments that operators' own aclnn functions share: each logs what is wrong and goes on with a statement.
#ifndef OPHOOK_ACLNN_KERNELS_OP_ERROR_CHECK_H_
#define OPHOOK_ACLNN_KERNELS_OP_ERROR_CHECK_H_

#include "../../aclnn/opdev/ophook_opdev.h"

template <typename T>
bool IsNullptr(const T* object, const char* name) {
  if (object) return false;
  OP_LOGE(ACLNN_ERR_PARAM_NULLPTR, "%s is null", name);
  return true;
}
static inline bool CheckDims(const aclTensor* tensor) {
  const op::Shape& shape = tensor->GetViewShape();
  for (size_t i = 0; i < shape.GetDimNum(); ++i)
    if (shape.GetDim(i) > INT32_MAX)
      return OP_LOGE(ACLNN_ERR_PARAM_INVALID, "a size is more than %d", INT32_MAX), false;
  return true;
}
static inline bool CheckReduceOutShape(const aclTensor* inferred, const aclTensor* out) {
  const op::Shape &a = inferred->GetViewShape(), &b = out->GetViewShape();
  if (a == b || (a.GetShapeSize() == 1 && b.GetShapeSize() == 1)) return true;
  OP_LOGE(ACLNN_ERR_PARAM_INVALID, "out has shape %s, not %s", op::ToString(b).GetString(),
          op::ToString(a).GetString());
  return false;
}
// Batch and channels of both are the same.
static inline bool CheckNCDimValid(const aclTensor* self, const aclTensor* out) {
  const op::Format format = self->GetStorageFormat();
  const bool last = format == op::Format::FORMAT_NHWC;
  if (!last && format != op::Format::FORMAT_NCHW)
    return OP_LOGE(ACLNN_ERR_PARAM_INVALID, "the format is %s; allowed: NCHW, NHWC", op::ToString(format).GetString()),
           false;
  const size_t channel = last ? 3 : 1;
  const op::Shape &a = self->GetViewShape(), &b = out->GetViewShape();
  if (a.GetDim(0) == b.GetDim(0) && a.GetDim(channel) == b.GetDim(channel)) return true;
  OP_LOGE(ACLNN_ERR_PARAM_INVALID, "batch or channels differ: %s, %s", op::ToString(a).GetString(),
          op::ToString(b).GetString());
  return false;
}

#define OPHOOK_CHECK_ARGUMENT(wrong, code, result, ...) \
  do {                                                  \
    if (wrong) {                                        \
      OP_LOGE(code, __VA_ARGS__);                       \
      result;                                           \
    }                                                   \
  } while (0)
#define OPHOOK_TEXT(what) op::ToString(what).GetString()

#define OP_CHECK_NULL(param, result) \
  if (IsNullptr(param, #param)) {    \
    result;                          \
  }
#define OP_CHECK_DTYPE_NOT_SUPPORT(tensor, allowed, result)                                                \
  OPHOOK_CHECK_ARGUMENT(!op::CheckType((tensor)->GetDataType(), allowed), ACLNN_ERR_PARAM_INVALID, result, \
                        "%s has data type %s; allowed: %s", #tensor, OPHOOK_TEXT((tensor)->GetDataType()), \
                        OPHOOK_TEXT(allowed))
#define OP_CHECK_DTYPE_NOT_MATCH(tensor, expected, result)                                            \
  OPHOOK_CHECK_ARGUMENT((tensor)->GetDataType() != expected, ACLNN_ERR_PARAM_INVALID, result,         \
                        "%s has data type %s, not %s", #tensor, OPHOOK_TEXT((tensor)->GetDataType()), \
                        OPHOOK_TEXT(expected))
#define OP_CHECK_DTYPE_NOT_SAME(a, b, result)                                                      \
  OPHOOK_CHECK_ARGUMENT((a)->GetDataType() != (b)->GetDataType(), ACLNN_ERR_PARAM_INVALID, result, \
                        "%s has data type %s and %s %s", #a, OPHOOK_TEXT((a)->GetDataType()), #b,  \
                        OPHOOK_TEXT((b)->GetDataType()))
#define OP_CHECK_RESULT_DTYPE_CAST_FAILED(type, wanted, result)                                               \
  OPHOOK_CHECK_ARGUMENT(!op::CanCast(type, wanted), ACLNN_ERR_PARAM_INVALID, result, "%s does not become %s", \
                        OPHOOK_TEXT(type), OPHOOK_TEXT(wanted))
#define OP_CHECK_BROADCAST_WITH_SHAPE(tensor, shape, result)                                                          \
  OPHOOK_CHECK_ARGUMENT(!op::CheckBroadcastShape((tensor)->GetViewShape(), shape), ACLNN_ERR_PARAM_INVALID, result,   \
                        "%s has shape %s, which does not go with %s", #tensor, OPHOOK_TEXT((tensor)->GetViewShape()), \
                        OPHOOK_TEXT(shape))
#define OP_CHECK_BROADCAST(a, b, result) OP_CHECK_BROADCAST_WITH_SHAPE(a, (b)->GetViewShape(), result)
#define OP_CHECK_BROADCAST_AND_INFER_SHAPE(a, b, shape, result)                                            \
  OPHOOK_CHECK_ARGUMENT(!op::BroadcastInferShape((a)->GetViewShape(), (b)->GetViewShape(), shape),         \
                        ACLNN_ERR_PARAM_INVALID, result, "%s has shape %s, which does not go with %s", #a, \
                        OPHOOK_TEXT((a)->GetViewShape()), OPHOOK_TEXT((b)->GetViewShape()))
#define OP_CHECK_SHAPE_NOT_EQUAL_WITH_EXPECTED_SIZE(tensor, shape, result)                                             \
  OPHOOK_CHECK_ARGUMENT((tensor)->GetViewShape() != shape, ACLNN_ERR_PARAM_INVALID, result, "%s has shape %s, not %s", \
                        #tensor, OPHOOK_TEXT((tensor)->GetViewShape()), OPHOOK_TEXT(shape))
#define OP_CHECK_SHAPE_NOT_EQUAL(a, b, result) \
  OP_CHECK_SHAPE_NOT_EQUAL_WITH_EXPECTED_SIZE(a, (b)->GetViewShape(), result)
#define OP_CHECK_SHAPE_AND_SCALAR_EQUAL(a, b, result) \
  do {                                                \
    if ((a)->Numel() != 1 || (b)->Numel() != 1) {     \
      OP_CHECK_SHAPE_NOT_EQUAL(a, b, result);         \
    }                                                 \
  } while (0)
#define OPHOOK_CHECK_RANK(tensor, relation, count, result)                                                             \
  OPHOOK_CHECK_ARGUMENT((tensor)->GetViewShape().GetDimNum() relation static_cast<size_t>(count),                      \
                        ACLNN_ERR_PARAM_INVALID, result, "%s has %zu dimensions, which is " #relation " %zu", #tensor, \
                        (tensor)->GetViewShape().GetDimNum(), static_cast<size_t>(count))
#define OP_CHECK_WRONG_DIMENSION(tensor, count, result) OPHOOK_CHECK_RANK(tensor, !=, count, result)
#define OP_CHECK_MAX_DIM(tensor, count, result) OPHOOK_CHECK_RANK(tensor, >, count, result)
#define OP_CHECK_MIN_DIM(tensor, count, result) OPHOOK_CHECK_RANK(tensor, <, count, result)
#define OP_CHECK_COMM_INPUT(size, executor)                                              \
  OPHOOK_CHECK_ARGUMENT(size == nullptr || executor == nullptr, ACLNN_ERR_PARAM_NULLPTR, \
                        return ACLNN_ERR_PARAM_NULLPTR, "there is no place for the workspace size or the executor")
#define OP_CHECK_ADD_TO_LAUNCHER_LIST_AICORE(failed, result, ...) \
  OPHOOK_CHECK_ARGUMENT(failed, ACLNN_ERR_INNER_STATIC_WORKSPACE_INVALID, result, __VA_ARGS__)
#define OP_CHECK_INFERSHAPE(failed, result, ...) \
  OPHOOK_CHECK_ARGUMENT(failed, ACLNN_ERR_INNER_INFERSHAPE_ERROR, result, __VA_ARGS__)
#define OP_CHECK_TENSORLIST_SIZE_EQUAL(a, b, result)                                                                  \
  OPHOOK_CHECK_ARGUMENT((a)->Size() != (b)->Size(), ACLNN_ERR_PARAM_INVALID, result, "%s has %lu tensors and %s %lu", \
                        #a, (a)->Size(), #b, (b)->Size())

#endif
