// In the place of CANN's header of this name: what a library tells about the implementation of an operator.
//
//   IMPL_OP(my_op).InputsDataDependency({3, 4});   // these inputs of the prototype are read on the host
#pragma once

#include <cstddef>
#include <initializer_list>

namespace ge {

class OpImplRegister {
 public:
  explicit OpImplRegister(const char* type) : type_(type) {}
  const OpImplRegister& InputsDataDependency(std::initializer_list<int> inputs) const {
    add_dependencies(inputs.begin(), inputs.size());
    return *this;
  }

 private:
  void add_dependencies(const int* inputs, size_t count) const;
  const char* type_;
};

}  // namespace ge

#define IMPL_OP(type) static const ge::OpImplRegister op_impl_register_##type = ge::OpImplRegister(#type)

#if __has_include("register/op_def.h")  // in the toolkit: what registers tiling and inference of an operator project
#include "register/op_def.h"
#endif
