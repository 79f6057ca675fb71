// In the place of CANN's header of this name: operators that run eagerly inside a graph, C++ code that is given the
// graph's stream. torchair generates such operators where it has no GE converter (scaled dot product attention is one),
// and a library of a package may have them, with kernels that they launch.
//
//   class my_op : public ge::EagerExecuteOp, public ge::ShapeInferOp {
//     ge::graphStatus Execute(gert::EagerOpExecutionContext* ctx) override {…}
//     ge::graphStatus InferShape(gert::InferShapeContext* ctx) override {…} …
//   };
//   REG_AUTO_MAPPING_OP(my_op);
//
// The engine is compiled with another string ABI than the operator, so nothing of the standard library crosses the
// border: an inference is called through plain C, and its context is made on the operator's side.
#pragma once

#include <cstddef>
#include <cstdio>
#include <type_traits>

#include "exe_graph/runtime/eager_op_execution_context.h"
#include "ge/ge_api_error_codes.h"
#include "graph/types.h"

namespace ge {

class EagerExecuteOp {
 public:
  virtual ~EagerExecuteOp() = default;
  virtual Status Execute(gert::EagerOpExecutionContext* context) = 0;
};

// Without it the output's shape is known when the operator has run.
class ShapeInferOp {
 public:
  virtual ~ShapeInferOp() = default;
  virtual graphStatus InferShape(gert::InferShapeContext* context) = 0;
  virtual graphStatus InferDataType(gert::InferDataTypeContext* context) = 0;
};

// 0, or 1 with the reason.
using EagerOpInfer = int (*)(const ascendc_call* call, char* error, size_t capacity);

template <typename Op>
int infer_eager_op(const ascendc_call* call, char* error, size_t capacity) {
  gert::Node node = ophook::host::node_of(*call);
  Op op;
  gert::InferDataTypeContext types(node);
  if (static_cast<ShapeInferOp&>(op).InferDataType(&types) != GRAPH_SUCCESS)
    return std::snprintf(error, capacity, "its InferDataType refuses the inputs"), 1;
  gert::InferShapeContext shapes(node);
  if (static_cast<ShapeInferOp&>(op).InferShape(&shapes) != GRAPH_SUCCESS)
    return std::snprintf(error, capacity, "its InferShape refuses the inputs"), 1;
  ophook::host::take_inferred(node, *call, true);
  return 0;
}
template <typename Op>
EagerOpInfer inference_of() {
  if constexpr (std::is_base_of_v<ShapeInferOp, Op>) return &infer_eager_op<Op>;
  return nullptr;
}

// What REG_AUTO_MAPPING_OP does; the first registration of a type stays.
struct EagerOpRegister {
  EagerOpRegister(const char* type, EagerExecuteOp* (*make)(), EagerOpInfer infer);
};

}  // namespace ge

#define REG_AUTO_MAPPING_OP(type)                            \
  static const ge::EagerOpRegister eager_op_register_##type( \
      #type, []() -> ge::EagerExecuteOp* { return new type; }, ge::inference_of<type>())
