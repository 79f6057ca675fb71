// The wheel's header; where it writes op::(op_name), which no compiler takes, CANN's own has op::op_name.
#pragma once
#include "graph/operator_reg_wheel.h"

#undef INFER_VERIFY_FUNC
#undef INFER_FORMAT_FUNC
#undef INFER_VALUE_RANGE_FUNC
#define INFER_VERIFY_FUNC(op_name, x) [](Operator& v) { return x((op::op_name&)v); }
#define INFER_FORMAT_FUNC(op_name, x) [](Operator& v) { return x((op::op_name&)v); }
#define INFER_VALUE_RANGE_FUNC(op_name, x) [](Operator& v) { return x((op::op_name&)v); }
