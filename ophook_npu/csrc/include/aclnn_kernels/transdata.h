#ifndef OPHOOK_ACLNN_KERNELS_TRANSDATA_H_
#define OPHOOK_ACLNN_KERNELS_TRANSDATA_H_
#include "ophook_l0.h"

namespace l0op {

const aclTensor* ReFormat(const aclTensor* x, const op::Format& format, aclOpExecutor* executor = nullptr);
const aclTensor* TransData(const aclTensor* x, op::Format format, int64_t, aclOpExecutor*);
const aclTensor* TransDataSpecial(const aclTensor* x, op::Format format, int64_t groups, aclOpExecutor* executor);

}  // namespace l0op

#endif
