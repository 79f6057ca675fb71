// The kernels of this library, by the types of their operators. One that is run asynchronously waits for an event of
// the device's scheduler, which is not simulated.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cpu_kernel.h"

namespace aicpu {

class AICPU_VISIBILITY CpuKernelRegister {
 public:
  static CpuKernelRegister& Instance();
  std::shared_ptr<CpuKernel> GetCpuKernel(const std::string& opType);
  std::vector<std::string> GetAllRegisteredOpTypes() const;
  uint32_t RunCpuKernel(CpuKernelContext& ctx);
};

}  // namespace aicpu
