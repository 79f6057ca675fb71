// What an AI CPU kernel is given: its type, tensors and attributes.
#pragma once

#include <memory>
#include <string>

#include "cpu_attr_value.h"
#include "cpu_tensor.h"
#include "cpu_types.h"

namespace aicpu {

class ContextImpl;
class AICPU_VISIBILITY CpuKernelContext {
  friend class CpuKernelUtils;

 public:
  CpuKernelContext() = delete;
  ~CpuKernelContext() = default;
  CpuKernelContext(const CpuKernelContext&) = delete;
  CpuKernelContext& operator=(const CpuKernelContext&) = delete;

  std::string GetOpType() const;
  Tensor* Input(uint32_t index) const;   // nullptr: there is none
  Tensor* Output(uint32_t index) const;  // likewise
  AttrValue* GetAttr(std::string name) const;
  uint32_t GetInputsSize() const;
  uint32_t GetOutputsSize() const;

 private:
  explicit CpuKernelContext(const std::shared_ptr<ContextImpl>& impl) : impl_(impl) {}
  std::shared_ptr<ContextImpl> impl_;
  friend struct Access;
};

}  // namespace aicpu
