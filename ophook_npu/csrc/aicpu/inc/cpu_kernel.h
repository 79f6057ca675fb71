// The base class of AI CPU kernels, and what makes one known by the type of its operator.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cpu_context.h"

namespace aicpu {

class AICPU_VISIBILITY CpuKernel {
 public:
  virtual uint32_t Compute(CpuKernelContext& ctx) = 0;
  virtual ~CpuKernel() {}
};

using KERNEL_CREATOR_FUN = std::function<std::shared_ptr<CpuKernel>()>;

AICPU_VISIBILITY bool RegistCpuKernel(const std::string& type, const KERNEL_CREATOR_FUN& fun);

template <typename T, typename... Args>
static inline std::shared_ptr<T> MakeShared(Args&&... args) {
  return std::shared_ptr<T>(new (std::nothrow) T(std::forward<Args>(args)...));
}

#define REGISTER_CPU_KERNEL(type, clazz)                            \
  static const bool clazz##_is_registered __attribute__((unused)) = \
      aicpu::RegistCpuKernel(type, []() -> std::shared_ptr<aicpu::CpuKernel> { return aicpu::MakeShared<clazz>(); });

}  // namespace aicpu
