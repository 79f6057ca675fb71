// One operation: made from its parameters, prepared for tensors by Setup, put on the context's stream by Execute.
#ifndef OPHOOK_ATB_OPERATION_H_
#define OPHOOK_ATB_OPERATION_H_

#include <string>

#include "context.h"
#include "types.h"

#pragma GCC visibility push(default)

namespace atb {

// The order of these functions is the binary interface.
class Operation {
 public:
  Operation() = default;
  virtual ~Operation() = default;
  virtual std::string GetName() const = 0;
  virtual Status InferShape(const SVector<TensorDesc>& inTensorDescs, SVector<TensorDesc>& outTensorDescs) const = 0;
  virtual uint32_t GetInputNum() const = 0;
  virtual uint32_t GetOutputNum() const = 0;
  // workspaceSize: the bytes of device memory that Execute has to be given.
  virtual Status Setup(const VariantPack& variantPack, uint64_t& workspaceSize, Context* context) = 0;
  virtual Status Execute(const VariantPack& variantPack, uint8_t* workspace, uint64_t workspaceSize,
                         Context* context) = 0;
};

template <typename OpParam>
Status CreateOperation(const OpParam& opParam, Operation** operation);
Status DestroyOperation(Operation* operation);

}  // namespace atb

#pragma GCC visibility pop

#endif
