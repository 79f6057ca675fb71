// The functions that operators' own aclnn functions call of CANN's math operators. libopapi.so has them (csrc/l0), so
// that a project may define one of its own.
#ifndef OPHOOK_ACLNN_KERNELS_L0_H_
#define OPHOOK_ACLNN_KERNELS_L0_H_

#include "../aclnn/opdev/ophook_opdev.h"

namespace l0op {

const aclTensor* Contiguous(const aclTensor* x, aclOpExecutor* executor);
const aclTensor* PickViewAsContiguous(const aclTensor* x, aclOpExecutor* executor);
const aclTensor* ViewCopy(const aclTensor* x, const aclTensor* y, aclOpExecutor* executor);
const aclTensor* ReViewToOut(const aclTensor* x, const aclTensor* y, aclOpExecutor* executor);
const aclTensor* Cast(const aclTensor* self, op::DataType type, aclOpExecutor* executor);
const aclTensor* CastOnlyForConvBackward(const aclTensor* self, op::DataType type, aclOpExecutor* executor);
const aclTensor* Reshape(const aclTensor* x, const op::Shape& shape, aclOpExecutor* executor);
const aclTensor* Reshape(const aclTensor* x, const aclIntArray* shape, aclOpExecutor* executor);
const aclTensor* UnsafeReshape(const aclTensor* x, const op::Shape& shape, aclOpExecutor* executor);
const aclTensor* Transpose(const aclTensor* x, const aclIntArray* order, aclOpExecutor* executor);
const aclTensor* Transpose(const aclTensor* x, const aclTensor* y, const aclTensor* order, aclOpExecutor* executor);
const aclTensor* Slice(const aclTensor* x, const aclIntArray* offsets, const aclIntArray* sizes,
                       aclOpExecutor* executor);
const aclTensor* Slice(const aclTensor* x, const aclTensor* y, const aclTensor* offset, const aclTensor* size,
                       aclOpExecutor* executor);
const aclTensor* Pad(const aclTensor* self, const aclTensor* paddings, aclOpExecutor* executor);

}  // namespace l0op

#endif
