// One operation over lists of tensors, as optimizers use them.
#include "ge/rows/rows.h"

namespace sim::ge_table {

#define EACH(op, proto) {"Foreach" #op, proto, "aclnnForeach" #op}
// What graphs have in three forms: with a number, with one for each tensor, with a list.
#define IN_THREE(op, of_lists) \
  EACH(op##Scalar, "x* scalar -> y*"), EACH(op##ScalarList, "x* scalars -> y*"), EACH(op##List, of_lists)
#define OF_THREE(op)                                                                               \
  EACH(op##Scalar, "x1* x2* x3* scalar -> y*"), EACH(op##ScalarList, "x1* x2* x3* scalars -> y*"), \
      EACH(op##List, "x1* x2* x3* scalars -> y*")
const Family foreach_rows = {
    IN_THREE(Add, "x1* x2* alpha -> y*"),
    IN_THREE(Sub, "x1* x2* alpha -> y*"),
    IN_THREE(Mul, "x1* x2* -> y*"),
    IN_THREE(Div, "x1* x2* -> y*"),
    IN_THREE(Maximum, "x1* x2* -> y*"),
    IN_THREE(Minimum, "x1* x2* -> y*"),
    IN_THREE(Pow, "x1* x2* -> y*"),
    EACH(PowScalarAndTensor, "scalar x* -> y*"),
    OF_THREE(Addcdiv),
    OF_THREE(Addcmul),
    EACH(LerpScalar, "x1* x2* weight -> y*"),
    EACH(LerpList, "x1* x2* weight* -> y*"),
    {"ForeachNorm", "x* scalar -> y*", "aclnnForeachNorm",
     [](Shaper& s) {
       for (size_t i = 0; i < s.outputs(); ++i) s.out(i, s.dtype(i), Dims{});
     }},
    EACH(RoundOffNumber, "x* roundMode -> y*"),
#define ONE(op) EACH(op, "x* -> y*")
    ONE(Abs),
    ONE(Neg),
    ONE(Sqrt),
    ONE(Reciprocal),
    ONE(Exp),
    ONE(Expm1),
    ONE(Log),
    ONE(Log1p),
    ONE(Log2),
    ONE(Log10),
    ONE(Sigmoid),
    ONE(Tanh),
    ONE(Sin),
    ONE(Cos),
    ONE(Tan),
    ONE(Sinh),
    ONE(Cosh),
    ONE(Erf),
    ONE(Erfc),
    {"ForeachASin", "x* -> y*", "aclnnForeachAsin"},
    {"ForeachACos", "x* -> y*", "aclnnForeachAcos"},
    {"ForeachATan", "x* -> y*", "aclnnForeachAtan"},
    {"ForeachAtan", "x* -> y*", "aclnnForeachAtan"},  // as torchair writes it
};

}  // namespace sim::ge_table
