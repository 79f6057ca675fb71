// Work that is shared among the AI CPUs. Projects bring copies of this header, which have these guards.
#ifndef AICPU_CONTEXT_INC_UTILS_H
#define AICPU_CONTEXT_INC_UTILS_H
#ifndef AICPU_CONTEXT_INC_UTILS_H_
#define AICPU_CONTEXT_INC_UTILS_H_

#include <functional>
#include <memory>

#include "cpu_attr_value.h"
#include "cpu_context.h"
#include "cpu_tensor.h"

namespace aicpu {

class AICPU_VISIBILITY CpuKernelUtils {
 public:
  static std::shared_ptr<Tensor> CreateTensor();
  static std::shared_ptr<TensorShape> CreateTensorShape();
  static std::shared_ptr<AttrValue> CreateAttrValue();
  // Calls work(begin, end) for parts of [0, total) of perUnitSize, several at once. 0, or why it failed.
  static uint32_t ParallelFor(const CpuKernelContext& ctx, int64_t total, int64_t perUnitSize,
                              const std::function<void(int64_t, int64_t)>& work);
  static uint32_t GetCPUNum(const CpuKernelContext& ctx);
};

}  // namespace aicpu

#endif
#endif
