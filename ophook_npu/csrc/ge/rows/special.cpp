// Elementwise functions beside those of every day: with care about zeros, of mathematics, of complex numbers, and what
// gradients of functions are made of.
#include "ge/rows/rows.h"
#include "kernels/arithmetic.h"
#include "kernels/special.h"

namespace sim::ge_table {
namespace {

// The same, of one shape.
template <int32_t... types>
void alike(Shaper& s) {
  for (size_t i = 1; i < s.count(); ++i) like_first(s, i);
  require_same_dtype(s, 0, s.count());
  one_of<types...>(s);
}
#define FLOATS kHalf, kFloat, kDouble, kBfloat16
#define COMPLEX kComplex64, kComplex128
#define WHOLE kInt8, kUint8, kInt16, kInt32, kInt64

void near_rule(Shaper& s) {
  like_first(s, 1);
  require_same_dtype(s, 0, 2);
  boolean_like(s);
}
void counted_bits(Shaper& s) {
  require_type(s, 0, {WHOLE});
  s.out(kUint8, s.shape(0));
}
void two_sums(Shaper& s) {
  like_first(s, 1);
  for (const size_t i : {0, 1}) {
    require_type(s, i, {kFloat});
    s.out(i, kFloat, known({}));
  }
}
void halves_rule(Shaper& s) {
  for (const size_t i : {1, 2}) like_first(s, i);
  require_same_dtype(s, 0, 3);
  for (const size_t i : {0, 1}) s.out(i, s.dtype(0), s.shape(0));
}
// Where both are the same, the first has the gradient.
Results halves(const at::Tensor& grad, const at::Tensor& to_first) {
  return kernels::each_of(kernels::gradient_of_two(grad, to_first));
}
void joined_rule(Shaper& s) {
  const int64_t mode = s.integer("mode");
  if (mode < 0 || mode > 2) throw Refused("mode=" + std::to_string(mode) + "; allowed: 0, 1, 2");
  if (const size_t count = s.reals("coeff").size(); count && count != s.count())
    throw Refused(c10::str(count, " coefficients for ", s.count(), " inputs"));
  alike<kHalf, kFloat, kBfloat16>(s);
}
// x1 * x3 + x2, where x3 is one number; and half the sum of squares of x1.
void multiplied_rule(Shaper& s) {
  like_first(s, 1);
  one_number(s, 2, 3);
  require_same_dtype(s, 0, 3);
  same(s);
  if (s.outputs() > 1) s.out(1, s.dtype(0), known({}));
}
void cast_like(Shaper& s) { s.out(s.dtype(1), s.shape(0)); }
void cosine_rule(Shaper& s) {
  require_type(s, 0, {kFloat});
  require_same_dtype(s, 0, 2);
  Shape shape = broadcast_shapes(s.shape(0), s.shape(1), s);
  if (shape && !shape->empty()) shape->erase(shape->begin() + wrap(s.integer("dim"), rank_of(shape)));
  s.out(s.dtype(0), shape);
}

}  // namespace

#define UNARY "x -> y"
#define BINARY "x1 x2 -> y"
#define GRADIENT "y dy -> z"
const Family special_rows = {
    ROW(Inv, UNARY, (one_of<kHalf, kFloat, kDouble, kInt32, kInt64, COMPLEX>), at::reciprocal(a[0])),
    ROW(DivNoNan, BINARY, (some_of<kFloat, kUint8, kInt8, kInt32, kHalf, kDouble>),
        kernels::quotient_or_zero(a[0], a[1])),
    ROW(MulNoNan, BINARY, broadcast, kernels::product_or_zero(a[0], a[1])),
    ROW(Xdivy, BINARY, (some_of<kHalf, kFloat, kDouble, COMPLEX>), kernels::zero_or_quotient(a[0], a[1])),
    ROW(TruncateMod, BINARY, (some_of<kHalf, kFloat, kDouble, kInt64, kInt32>), kernels::fmod(a[0], a[1])),
    {"SquareSumAll", "x1 x2 -> y1 y2", two_sums,
     [](const Args& a) -> Results { return {kernels::square_sum(a[0]), kernels::square_sum(a[1])}; }},
    ROW(ApproximateEqual, "x1 x2 -> y | tolerance:Float=0.00001", near_rule,
        kernels::is_near(a[0], a[1], a.real("tolerance"))),
    ROW(Power, "x -> y | power:Float=1.0 scale:Float=1.0 shift:Float=0.0", (one_of<kHalf, kFloat, kBfloat16>),
        kernels::power_of(a[0], a.real("power"), a.real("scale"), a.real("shift"))),
    ROW(FusedMulAdd, "x1 x2 x3 -> y", (some_of<kFloat, kHalf, kInt32>),
        kernels::product_and_sums(a[0], a[1], a[2], at::Tensor())),
    ROW(FusedMulAddAdd, "x1 x2 x3 x4 -> y", (some_of<kFloat, kHalf, kInt32>),
        kernels::product_and_sums(a[0], a[1], a[2], a[3])),
    ROW(FusedMulAddN, "x1 x2 x3 -> y", multiplied_rule, kernels::product_and_sum(a[0], a[2], a[1])),
    ROW(FusedMulAddNL2loss, "x1 x2 x3 -> y1 y2", multiplied_rule, kernels::product_and_sum(a[0], a[2], a[1]),
        kernels::square_sum(a[0], 0.5)),
    ROW(Eltwise, "x* -> y | N:Int mode:Int=1 coeff:ListFloat={}", joined_rule,
        kernels::members_joined(a.tensors(0, a.count()), a.integer("mode"), a.reals("coeff"))),
    ROW(CastLike, "x target -> y", cast_like, a[0].to(a.out_dtype())),
    ROW(ToBool, "input -> output", boolean_like, at::ne(a[0], 0)),
    ROW(Fills, "x -> y | value:Float", same, at::full_like(a[0], a.real("value"))),
    ROW(ThresholdedRelu, "x -> y | alpha:Float=1.0", (one_of<kHalf, kFloat>), at::threshold(a[0], a.real("alpha"), 0)),
    ROW(CosineSimilarity, "input_x1 input_x2 -> output_y | dim:Int=1 eps:Float=1e-8", cosine_rule,
        at::cosine_similarity(a[0], a[1], a.integer("dim"), a.real("eps"))),

    ROW(Igamma, "a x -> z", (some_of<kFloat, kDouble>), at::special_gammainc(a[0], a[1])),
    ROW(Igammac, "a x -> z", (some_of<kFloat, kDouble>), at::special_gammaincc(a[0], a[1])),
    ROW(Zeta, "x q -> z", (some_of<kFloat, kDouble>), at::special_zeta(a[0], a[1])),
    ROW(Betainc, "a b x -> z", (some_of<kFloat, kDouble>), kernels::incomplete_beta(a[0], a[1], a[2])),
    ROW(BesselI0e, UNARY, floating, at::special_i0e(wide(a[0]))),
    ROW(BesselI1e, UNARY, floating, at::special_i1e(wide(a[0]))),
    ROW(Ndtri, UNARY, one_of<FLOATS>, at::special_ndtri(wide(a[0]))),
    ROW(NextAfter, "x1 x2 -> output", (some_of<kFloat, kDouble>), at::nextafter(a[0], a[1])),
    ROW(PopulationCount, UNARY, counted_bits, kernels::bits_set(a[0])),

    ROW(ComplexAbs, "x -> y | Tout:Type=0", complex_part, at::abs(a[0]).to(a.out_dtype())),
    ROW(Conj, "input -> output", one_of<COMPLEX>, at::conj_physical(a[0])),

    // By what the function gave, or was given.
    ROW(InvGrad, "x grad -> y", (alike<kFloat, kHalf, kInt32, kInt8>), kernels::reciprocal_backward(a[0], a[1])),
    ROW(ReciprocalGrad, GRADIENT, (alike<FLOATS, COMPLEX>), kernels::reciprocal_backward(a[0], a[1])),
    ROW(RsqrtGrad, GRADIENT, (alike<FLOATS, COMPLEX>), kernels::rsqrt_backward(a[0], a[1])),
    ROW(SqrtGrad, GRADIENT, (alike<FLOATS, COMPLEX>), kernels::sqrt_backward(a[0], a[1])),
    ROW(AbsGrad, GRADIENT, (alike<kHalf, kFloat, kBfloat16>), kernels::abs_backward(a[0], a[1])),
    ROW(AcosGrad, GRADIENT, (alike<kHalf, kFloat, kBfloat16>), kernels::acos_backward(a[0], a[1])),
    ROW(AsinGrad, GRADIENT, (alike<kHalf, kFloat, kBfloat16>), kernels::asin_backward(a[0], a[1])),
    ROW(AtanGrad, GRADIENT, (alike<kHalf, kFloat, kBfloat16>), kernels::atan_backward(a[0], a[1])),
    ROW(AcoshGrad, GRADIENT, (alike<kHalf, kFloat, kBfloat16>), kernels::acosh_backward(a[0], a[1])),
    ROW(AsinhGrad, GRADIENT, (alike<kHalf, kFloat, kBfloat16>), kernels::asinh_backward(a[0], a[1])),
    {"MaximumGrad", "grads x1 x2 -> y1 y2 | grad_x:Bool=true grad_y:Bool=true", halves_rule,
     [](const Args& a) { return halves(a[0], at::ge(a[1], a[2])); }},
    {"MinimumGrad", "grads x1 x2 -> y1 y2 | grad_x:Bool=true grad_y:Bool=true", halves_rule,
     [](const Args& a) { return halves(a[0], at::le(a[1], a[2])); }},
};

}  // namespace sim::ge_table
