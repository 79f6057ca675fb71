// In the place of CANN's header of this name: one run of an operator that runs eagerly inside a graph
// (graph/custom_op.h).
#pragma once

#include "../../details/call.h"

namespace gert {

// "ir" counts the inputs and outputs of the prototype, the other indices count tensors.
class EagerOpExecutionContext {
 public:
  virtual const Tensor* GetInputTensor(size_t index) const = 0;  // each returns NULL where there is none
  virtual const Tensor* GetRequiredInputTensor(size_t ir) const = 0;
  virtual const Tensor* GetOptionalInputTensor(size_t ir) const = 0;
  virtual const Tensor* GetDynamicInputTensor(size_t ir, size_t index) const = 0;
  virtual const Tensor* GetOutputTensor(size_t index) const = 0;  // NULL before MallocOutputTensor
  virtual const AnchorInstanceInfo* GetIrOutputInstanceInfo(size_t ir) const = 0;
  virtual Tensor* MallocOutputTensor(size_t index, const StorageShape& shape, const StorageFormat& format,
                                     ge::DataType dtype) = 0;
  virtual ge::graphStatus MakeOutputRefInput(size_t output, size_t input) = 0;  // the output is that input's memory
  virtual void* GetStream() const = 0;
  virtual void* MallocWorkSpace(size_t size) = 0;  // on the device, until what the operator launches is over

 protected:
  ~EagerOpExecutionContext() = default;
};

}  // namespace gert
