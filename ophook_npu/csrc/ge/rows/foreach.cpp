// One operation over lists of tensors, as optimizers use them. The lists arrive one behind the other.
#include "ge/rows/rows.h"
#include "kernels/arithmetic.h"

namespace sim::ge_table {
namespace {

void each_rule(Shaper& s) {
  if (s.count() < s.outputs())
    throw Refused("it has " + std::to_string(s.count()) + " inputs for " + std::to_string(s.outputs()) + " outputs");
  for (size_t i = 0; i < s.outputs(); ++i) s.out(i, s.dtype(i), s.shape(i));
}
void each_after_scalar_rule(Shaper& s) {
  for (size_t i = 0; i < s.outputs(); ++i) s.out(i, s.dtype(i + 1), s.shape(i + 1));
}
void norms_rule(Shaper& s) {
  for (size_t i = 0; i < s.outputs(); ++i) s.out(i, s.dtype(i), known({}));
}

using Operands = Tensors;

// Calls f with the i-th tensors of `lists` lists and the number after them: one for all, or the i-th of as many. It is
// a number and no tensor, as in the aclnn rows: x ** 2 is x * x there, and maximum passes NaN on in the same way.
template <typename F>
Results each(const Args& a, size_t lists, F f) {
  Results out;
  const size_t count = a.outputs();
  const at::Tensor numbers = a.count() > lists * count ? a[lists * count] : at::Tensor();
  for (size_t i = 0; i < count; ++i) {
    Operands x;
    for (size_t list = 0; list < lists; ++list) x.push_back(a[list * count + i]);
    at::Scalar number;
    if (numbers.defined())
      number = number_of(numbers.numel() == 1 ? numbers : numbers.flatten()[static_cast<int64_t>(i)]);
    out.push_back(f(x, number));
  }
  return out;
}

// The number comes before its one list.
template <typename F>
Results each_after_scalar(const Args& a, F f) {
  Results out;
  for (size_t i = 1; i < a.count(); ++i) out.push_back(f(number_of(a[0]), a[i]));
  return out;
}

}  // namespace

#define EACH(type, proto, lists, ...)                                                                            \
  {"Foreach" #type, proto, each_rule, [](const Args& a) {                                                        \
     return each(a, lists, [](const Operands& x, [[maybe_unused]] const at::Scalar& n) { return __VA_ARGS__; }); \
   }}
#define WITH_NUMBER "x* scalar -> y*"
#define WITH_NUMBERS "x* scalars -> y*"
const Family foreach_rows = {
    EACH(AddScalar, WITH_NUMBER, 1, at::add(x[0], n)),
    EACH(AddScalarList, WITH_NUMBERS, 1, at::add(x[0], n)),
    EACH(AddList, "x1* x2* alpha -> y*", 2, kernels::list_sum(x[0], x[1], n)),
    EACH(SubScalar, WITH_NUMBER, 1, at::sub(x[0], n)),
    EACH(SubScalarList, WITH_NUMBERS, 1, at::sub(x[0], n)),
    EACH(SubList, "x1* x2* alpha -> y*", 2, kernels::list_difference(x[0], x[1], n)),
    EACH(MulScalar, WITH_NUMBER, 1, at::mul(x[0], n)),
    EACH(MulScalarList, WITH_NUMBERS, 1, at::mul(x[0], n)),
    EACH(MulList, "x1* x2* -> y*", 2, at::mul(x[0], x[1])),
    EACH(DivScalar, WITH_NUMBER, 1, at::div(x[0], n)),
    EACH(DivScalarList, WITH_NUMBERS, 1, at::div(x[0], n)),
    EACH(DivList, "x1* x2* -> y*", 2, at::div(x[0], x[1])),
    EACH(MaximumScalar, WITH_NUMBER, 1, at::clamp_min(x[0], n)),
    EACH(MaximumScalarList, WITH_NUMBERS, 1, at::clamp_min(x[0], n)),
    EACH(MaximumList, "x1* x2* -> y*", 2, at::maximum(x[0], x[1])),
    EACH(MinimumScalar, WITH_NUMBER, 1, at::clamp_max(x[0], n)),
    EACH(MinimumScalarList, WITH_NUMBERS, 1, at::clamp_max(x[0], n)),
    EACH(MinimumList, "x1* x2* -> y*", 2, at::minimum(x[0], x[1])),
    EACH(PowScalar, WITH_NUMBER, 1, at::pow(x[0], n)),
    EACH(PowScalarList, WITH_NUMBERS, 1, at::pow(x[0], n)),
    EACH(PowList, "x1* x2* -> y*", 2, at::pow(x[0], x[1])),
    {"ForeachPowScalarAndTensor", "scalar x* -> y*", each_after_scalar_rule,
     [](const Args& a) {
       return each_after_scalar(a, [](const at::Scalar& n, const at::Tensor& x) { return at::pow(n, x); });
     }},
    EACH(AddcdivScalar, "x1* x2* x3* scalar -> y*", 3, kernels::list_addcdiv(x[0], x[1], x[2], n)),
    EACH(AddcdivScalarList, "x1* x2* x3* scalars -> y*", 3, kernels::list_addcdiv(x[0], x[1], x[2], n)),
    EACH(AddcdivList, "x1* x2* x3* scalars -> y*", 3, kernels::list_addcdiv(x[0], x[1], x[2], n)),
    EACH(AddcmulScalar, "x1* x2* x3* scalar -> y*", 3, kernels::list_addcmul(x[0], x[1], x[2], n)),
    EACH(AddcmulScalarList, "x1* x2* x3* scalars -> y*", 3, kernels::list_addcmul(x[0], x[1], x[2], n)),
    EACH(AddcmulList, "x1* x2* x3* scalars -> y*", 3, kernels::list_addcmul(x[0], x[1], x[2], n)),
    EACH(LerpScalar, "x1* x2* weight -> y*", 2, at::lerp(x[0], x[1], n)),
    EACH(LerpList, "x1* x2* weight* -> y*", 3, at::lerp(x[0], x[1], x[2])),
    {"ForeachNorm", "x* scalar -> y*", norms_rule,
     [](const Args& a) {
       return each(a, 1, [](const Operands& x, const at::Scalar& n) { return at::linalg_vector_norm(x[0], n); });
     }},

    EACH(RoundOffNumber, "x* roundMode -> y*", 1, kernels::rounded(x[0], n.toLong())),

    EACH(Abs, "x* -> y*", 1, at::abs(x[0])),
    EACH(Neg, "x* -> y*", 1, at::neg(x[0])),
    EACH(Sqrt, "x* -> y*", 1, at::sqrt(x[0])),
    EACH(Reciprocal, "x* -> y*", 1, at::reciprocal(x[0])),
    EACH(Exp, "x* -> y*", 1, at::exp(x[0])),
    EACH(Expm1, "x* -> y*", 1, at::expm1(x[0])),
    EACH(Log, "x* -> y*", 1, at::log(x[0])),
    EACH(Log1p, "x* -> y*", 1, at::log1p(x[0])),
    EACH(Log2, "x* -> y*", 1, at::log2(x[0])),
    EACH(Log10, "x* -> y*", 1, at::log10(x[0])),
    EACH(Sigmoid, "x* -> y*", 1, at::sigmoid(x[0])),
    EACH(Tanh, "x* -> y*", 1, at::tanh(x[0])),
    EACH(Sin, "x* -> y*", 1, at::sin(x[0])),
    EACH(Cos, "x* -> y*", 1, at::cos(x[0])),
    EACH(Tan, "x* -> y*", 1, at::tan(x[0])),
    EACH(Sinh, "x* -> y*", 1, at::sinh(x[0])),
    EACH(Cosh, "x* -> y*", 1, at::cosh(x[0])),
    EACH(ASin, "x* -> y*", 1, at::asin(x[0])),
    EACH(ACos, "x* -> y*", 1, at::acos(x[0])),
    EACH(ATan, "x* -> y*", 1, at::atan(x[0])),
    EACH(Atan, "x* -> y*", 1, at::atan(x[0])),  // as torchair writes it
    EACH(Erf, "x* -> y*", 1, at::erf(x[0])),
    EACH(Erfc, "x* -> y*", 1, at::erfc(x[0])),
};

}  // namespace sim::ge_table
