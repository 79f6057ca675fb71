// Operators over lists of tensors, as torch's optimizers call them. In place, the output list is the input list.
#include "kernels/arithmetic.h"
#include "opapi/aclnn.h"

using namespace sim::aclnn;

namespace {

// FLOAT may become FLOAT16 or BFLOAT16, and these FLOAT; nothing else changes its data type.
void copied(const Tensors& out, const Tensors& in) {
  const auto is_short = [](at::ScalarType type) { return type == at::kHalf || type == at::kBFloat16; };
  for (size_t i = 0; i < in.size(); ++i) {
    const at::ScalarType from = in[i].scalar_type(), to = out[i].scalar_type();
    SIM_CHECK_DTYPE(from == to || (from == at::kFloat && is_short(to)) || (is_short(from) && to == at::kFloat),
                    "a copy of ", from, " as ", to);
  }
}

void norms(const Tensors& out, const Tensors& in) {
  SIM_CHECK(out.size() == in.size(), "the lists have ", in.size(), " inputs and ", out.size(), " outputs");
  for (const at::Tensor& each : out)
    SIM_CHECK(each.numel() == 1, "an output of one number expected, got ", each.sizes());
}

template <typename F>
void each(Tensors& out, F compute) {
  for (size_t i = 0; i < out.size(); ++i) out[i].copy_(compute(i));
}

}  // namespace

#define EACH(...) each(out, [&](size_t i) { return __VA_ARGS__; })

// one list
#define FOREACH(Op, fn) ACLNN(Foreach##Op, (List, x, List, out), , EACH(at::fn(x[i])))

FOREACH(Abs, abs)
FOREACH(Acos, acos)
FOREACH(Asin, asin)
FOREACH(Atan, atan)
FOREACH(Cos, cos)
FOREACH(Cosh, cosh)
FOREACH(Erf, erf)
FOREACH(Erfc, erfc)
FOREACH(Exp, exp)
FOREACH(Expm1, expm1)
FOREACH(Log, log)
FOREACH(Log10, log10)
FOREACH(Log1p, log1p)
FOREACH(Log2, log2)
FOREACH(Neg, neg)
FOREACH(Reciprocal, reciprocal)
FOREACH(Sigmoid, sigmoid)
FOREACH(Sign, sign)
FOREACH(Sin, sin)
FOREACH(Sinh, sinh)
FOREACH(Sqrt, sqrt)
FOREACH(Tan, tan)
FOREACH(Tanh, tanh)

ACLNN(ForeachCopy, (List, x, List, out), copied(out, x), EACH(x[i]))
ACLNN(ForeachZeroInplace, (List, out), when_run(), EACH(at::zeros_like(out[i])))
ACLNN(ForeachNorm, (List, x, Num, ord, List, out), norms(out, x),
      EACH(at::linalg_vector_norm(x[i], ord, std::nullopt, false, out[i].scalar_type())))
ACLNN(ForeachRoundOffNumber, (List, x, In, mode, List, out), a_number("mode", mode),
      EACH(kernels::rounded(x[i], number_of(mode).toLong())))
ACLNN(ForeachRoundOffNumberV2, (List, x, Num, mode, List, out), , EACH(kernels::rounded(x[i], mode.toLong())))

// in place: the list that is written is the first input
ACLNN(ForeachACosInplace, (List, out), when_run(), EACH(at::acos(out[i])))
ACLNN(ForeachLogInplace, (List, out), when_run(), EACH(at::log(out[i])))
ACLNN(ForeachMulScalarInplace, (List, out, In, scalar), a_number("scalar", scalar),
      EACH(at::mul(out[i], number_of(scalar))))
ACLNN(ForeachSubScalarInplace, (List, out, In, scalar), a_number("scalar", scalar),
      EACH(at::sub(out[i], number_of(scalar))))
ACLNN(ForeachMulListInplace, (List, out, List, y), , EACH(at::mul(out[i], y[i])))
ACLNN(ForeachDivListInplace, (List, out, List, y), , EACH(at::div(out[i], y[i])))
ACLNN(ForeachAddListInplace, (List, out, List, y, In, alpha), a_number("alpha", alpha),
      EACH(kernels::list_sum(out[i], y[i], number_of(alpha))))
ACLNN(ForeachSubListInplace, (List, out, List, y, In, alpha), a_number("alpha", alpha),
      EACH(kernels::list_difference(out[i], y[i], number_of(alpha))))

ACLNN(ForeachPowScalarAndTensor, (Num, scalar, List, x, List, out), , EACH(at::pow(scalar, x[i])))
// a list and a scalar, one that lies on the device, or one for each tensor
#define FOREACH_SCALAR(Op, fn)                                                                  \
  ACLNN(Foreach##Op##ScalarV2, (List, x, Num, scalar, List, out), , EACH(at::fn(x[i], scalar))) \
  ACLNN(Foreach##Op##Scalar, (List, x, In, scalar, List, out), a_number("scalar", scalar),      \
        EACH(at::fn(x[i], number_of(scalar))))                                                  \
  ACLNN(Foreach##Op##ScalarList, (List, x, Nums, scalars, List, out), , EACH(at::fn(x[i], scalars[i])))

FOREACH_SCALAR(Add, add)
FOREACH_SCALAR(Sub, sub)
FOREACH_SCALAR(Mul, mul)
FOREACH_SCALAR(Div, div)
FOREACH_SCALAR(Pow, pow)
FOREACH_SCALAR(Maximum, clamp_min)
FOREACH_SCALAR(Minimum, clamp_max)

// two lists
ACLNN(ForeachAddListV2, (List, x, List, y, Num, alpha, List, out), , EACH(kernels::list_sum(x[i], y[i], alpha)))
ACLNN(ForeachSubListV2, (List, x, List, y, Num, alpha, List, out), , EACH(kernels::list_difference(x[i], y[i], alpha)))
ACLNN(ForeachAddList, (List, x, List, y, In, alpha, List, out), a_number("alpha", alpha),
      EACH(kernels::list_sum(x[i], y[i], number_of(alpha))))
ACLNN(ForeachSubList, (List, x, List, y, In, alpha, List, out), a_number("alpha", alpha),
      EACH(kernels::list_difference(x[i], y[i], number_of(alpha))))
ACLNN(ForeachMulList, (List, x, List, y, List, out), , EACH(at::mul(x[i], y[i])))
ACLNN(ForeachDivList, (List, x, List, y, List, out), , EACH(at::div(x[i], y[i])))
ACLNN(ForeachPowList, (List, x, List, y, List, out), , EACH(at::pow(x[i], y[i])))
ACLNN(ForeachMaximumList, (List, x, List, y, List, out), , EACH(at::maximum(x[i], y[i])))
ACLNN(ForeachMinimumList, (List, x, List, y, List, out), , EACH(at::minimum(x[i], y[i])))

// three lists; their list of scalars is a tensor
ACLNN(ForeachLerpScalar, (List, x, List, y, Num, weight, List, out), , EACH(at::lerp(x[i], y[i], weight)))
ACLNN(ForeachLerpList, (List, x, List, y, List, z, List, out), , EACH(at::lerp(x[i], y[i], z[i])))
#define SCALARS_OF_EACH(Op, fn)                                           \
  ACLNN(Foreach##Op, (List, x, List, y, List, z, In, scalars, List, out), \
        sim::counted("scalars", scalars, {int64_t(x.size())}),            \
        EACH(kernels::fn(x[i], y[i], z[i], number_of(scalars.reshape({-1})[int64_t(i)]))))
#define OF_THREE_LISTS(Op, fn)                                                                               \
  ACLNN(Foreach##Op##Scalar, (List, x, List, y, List, z, In, scalar, List, out), a_number("scalar", scalar), \
        EACH(kernels::fn(x[i], y[i], z[i], number_of(scalar))))                                              \
  ACLNN(Foreach##Op##ScalarV2, (List, x, List, y, List, z, Num, scalar, List, out), ,                        \
        EACH(kernels::fn(x[i], y[i], z[i], scalar)))                                                         \
  SCALARS_OF_EACH(Op##ScalarList, fn)                                                                        \
  SCALARS_OF_EACH(Op##List, fn)
OF_THREE_LISTS(Addcmul, list_addcmul)
OF_THREE_LISTS(Addcdiv, list_addcdiv)
#undef EACH
