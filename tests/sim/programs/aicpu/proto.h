// The prototypes of the AI CPU operators of kernels.cc.
#pragma once
#include "graph/operator_reg.h"

namespace ge {
REG_OP(Weigh)
    .INPUT(x, TensorType({DT_FLOAT, DT_INT32}))
    .INPUT(w, TensorType({DT_FLOAT, DT_INT32}))
    .OUTPUT(y, TensorType({DT_FLOAT, DT_INT32}))
    .ATTR(factor, Float, 2.0)
    .ATTR(plus, ListInt, {1, 2})
    .ATTR(flag, Bool, true)
    .ATTR(mode, String, "plain")
    .OP_END_FACTORY_REG(Weigh) REG_OP(Number)
    .INPUT(x, TensorType({DT_INT32}))
    .OUTPUT(y, TensorType({DT_INT32}))
    .OP_END_FACTORY_REG(Number) REG_OP(Positive)
    .INPUT(x, TensorType({DT_FLOAT}))
    .OUTPUT(y, TensorType({DT_FLOAT}))
    .ATTR(most, Int, 0)
    .OP_END_FACTORY_REG(Positive) REG_OP(Own)
    .INPUT(x, TensorType({DT_INT32}))
    .OUTPUT(y, TensorType({DT_INT32}))
    .OP_END_FACTORY_REG(Own)
}  // namespace ge
