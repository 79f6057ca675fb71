// In the place of CANN's header of this name: what a library tells about the implementation of an operator.
//
//   IMPL_OP(my_op).InputsDataDependency({3, 4});   // these inputs of the prototype are read on the host
#pragma once

#include <cstddef>
#include <initializer_list>

#if __has_include("register/op_def.h")  // in the toolkit: what registers tiling and inference of an operator project
#include "register/op_def.h"
#define OPHOOK_HOST_SIDE 1
#endif

namespace ge {

// To the graph engine; what is of the operator's host side, to its registry.
class OpImplRegister {
 public:
  explicit OpImplRegister(const char* type) : type_(type) {}
  const OpImplRegister& InputsDataDependency(std::initializer_list<int> inputs) const {
    add_dependencies(inputs.begin(), inputs.size());
    return *this;
  }
#ifdef OPHOOK_HOST_SIDE
#define TO_HOST_SIDE(name)                                            \
  template <typename... T>                                            \
  const OpImplRegister& name(T... given) const {                      \
    return (void)gert::OpImplRegisterV2(type_).name(given...), *this; \
  }
  TO_HOST_SIDE(Tiling)
  TO_HOST_SIDE(InferShape)
  TO_HOST_SIDE(InferShapeRange)
  TO_HOST_SIDE(InferDataType)
  TO_HOST_SIDE(InferFormat)
  TO_HOST_SIDE(InferOutDataTypeSameWithFirstInput)
  TO_HOST_SIDE(GenSimplifiedKey)
  TO_HOST_SIDE(CheckSupport)
  TO_HOST_SIDE(OpSelectFormat)
  TO_HOST_SIDE(PrivateAttr)
#undef TO_HOST_SIDE
#define TO_HOST_SIDE(name)                                               \
  const OpImplRegister& name(std::initializer_list<int> indices) const { \
    return (void)gert::OpImplRegisterV2(type_).name(indices), *this;     \
  }
  TO_HOST_SIDE(TilingInputsDataDependency)
  TO_HOST_SIDE(HostInputs)
  TO_HOST_SIDE(OutputShapeDependOnCompute)
  TO_HOST_SIDE(NullableOutputs)
#undef TO_HOST_SIDE
  const OpImplRegister& TilingInputsDataDependency(std::initializer_list<int> inputs,
                                                   std::initializer_list<gert::TilingPlacement> places) const {
    return (void)gert::OpImplRegisterV2(type_).TilingInputsDataDependency(inputs, places), *this;
  }
  template <typename T, typename F>
  const OpImplRegister& TilingParse(F parse) const {
    return (void)gert::OpImplRegisterV2(type_).template TilingParse<T>(parse), *this;
  }
#endif

 private:
  void add_dependencies(const int* inputs, size_t count) const;
  const char* type_;
};

}  // namespace ge

#define IMPL_OP(type) static const ge::OpImplRegister op_impl_register_##type = ge::OpImplRegister(#type)
