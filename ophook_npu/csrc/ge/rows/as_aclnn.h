// A type of the graph engine that is one of libopapi's functions: its row is the prototype and that function's name.
//
//   {"MoeInitRoutingV3", "x expert_idx scale? … -> expanded_x … | active_num:Int=-1 …", "aclnnMoeInitRoutingV3"}
//
// A parameter is the port or attribute of the same name, `expandedXOut` that of expanded_x. What is called otherwise,
// or is only on one side, the row says behind the function's name:
//
//   weight=quantized_weight   the parameter is this input, output or attribute
//   x2=x2^transpose_x2        the same, its last two dimensions swapped where this attribute is true
//   rstd=rstd?output_rstd     null unless this attribute is true, or this input is given
//   k=K|k                     this attribute, or that one where this has its default
//   -precision                this attribute, or input, says nothing to the function
//   mode=mode{sum,mean,max}   the attribute is a text, the parameter its place in this list
//   cubeMathType=0            this number; a text where the parameter is one
//   y:dst_type                the output has the data type that this attribute says, or that of this input, or float, …
//   y:dtype{float16,,int32}   the same where the attribute is the type's place in this list; none: that of the first
//                             input
//
// Outputs whose names are on one side only follow in their order. The shapes are those that the function's first phase
// expects; the data types those that its rules ask for, or else that of the first input.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ge/rows/rows.h"

// Names of its own: the users' build has all rows in one unit.
namespace sim::ge_table::as_aclnn {

class AsAclnn {
 public:
  // Throws std::logic_error where the prototype and the function do not fit.
  AsAclnn(const char* text, const char* prototype, const Attributes& attributes);
  ~AsAclnn();
  // `rule`: says what the function's first phase and rules do not say of some outputs, or null.
  void infer(const ge_call& call, void (*rule)(Shaper&)) const;
  void run(const ge_call& call) const;

 private:
  struct Impl;
  // What the first phase refuses, where all is known.
  void check(const ge_call& call, const std::vector<size_t>& in, const std::vector<size_t>& out) const;
  // What shapes that are known in part say of the results; refuses those that do not fit.
  void infer_partly(const ge_call& call, const std::vector<size_t>& in, const std::vector<size_t>& out) const;
  const ge_tensor* has_shape_of(const ge_call& call, const std::vector<size_t>& in, size_t result) const;
  const std::unique_ptr<const Impl> impl_;
};

}  // namespace sim::ge_table::as_aclnn

namespace sim::ge_table {
using as_aclnn::AsAclnn;
}
