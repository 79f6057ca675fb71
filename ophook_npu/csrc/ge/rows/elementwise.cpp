// Operators of one element or of several in one place: arithmetic, comparison, logic, activations.
#include "ge/rows/rows.h"
#include "kernels/activation.h"
#include "kernels/arithmetic.h"

namespace sim::ge_table {
namespace {

void compare(Shaper& s) {
  broadcast(s);
  Shape shape = broadcast_shapes(s.shape(0), s.shape(1), s);
  s.out(kBool, shape);
}

// What has no values for whole numbers.
void floating(Shaper& s) {
  const int32_t dtype = s.dtype(0);
  if (dtype != kFloat && dtype != kHalf && dtype != kBfloat16 && dtype != kDouble && dtype != kComplex64 &&
      dtype != kComplex128)
    throw Refused("its input must be a floating-point number, it is " + s.describe(0));
  same(s);
}

void logical(Shaper& s) {
  for (size_t i = 0; i < s.count(); ++i)
    if (s.dtype(i) != kBool)
      throw Refused("its inputs must be bool, input " + std::to_string(i) + " is " + s.describe(i));
  broadcast(s);
}

void integral(Shaper& s) {
  for (size_t i = 0; i < s.count(); ++i)
    if (s.dtype(i) == kFloat || s.dtype(i) == kHalf || s.dtype(i) == kBfloat16)
      throw Refused("its inputs must be integers or bool, input " + std::to_string(i) + " is " + s.describe(i));
  broadcast(s);
}

void cast(Shaper& s) { s.out(static_cast<int32_t>(s.integer("dst_type")), s.shape(0)); }

// condition, then two values
void select(Shaper& s) {
  if (s.dtype(0) != kBool) throw Refused("its condition must be bool, it is " + s.describe(0));
  require_same_dtype(s, 1, 3);
  s.out(s.dtype(1), broadcast_shapes(broadcast_shapes(s.shape(1), s.shape(2), s), s.shape(0), s));
}

// x, mask, a single value
void masked(Shaper& s) {
  if (s.dtype(1) != kBool) throw Refused("its mask must be bool, it is " + s.describe(1));
  s.out(s.dtype(0), broadcast_shapes(s.shape(0), s.shape(1), s));
}

// The result's type is an attribute, whatever the input's precision.
void part_rule(Shaper& s) { s.out(static_cast<int32_t>(s.integer("Tout")), s.shape(0)); }
void complex_rule(Shaper& s) {
  if (s.dtype(0) != kFloat && s.dtype(0) != kDouble) throw Refused("it makes no complex numbers of " + s.describe(0));
  broadcast(s);
  s.out(static_cast<int32_t>(s.integer("Tout")), broadcast_shapes(s.shape(0), s.shape(1), s));
}

void bitcast(Shaper& s) {
  auto type = static_cast<int32_t>(s.integer("type"));
  s.out(type, s.shape(0));
}

// (size, bytes / size)
void sign_bits_rule(Shaper& s) {
  Shape x = s.shape(0);
  const int64_t size = s.integer("size");
  const Dim bytes = x ? ((*x)[0] + 7) / 8 : unknown;
  if ((x && x->size() != 1) || size <= 0 || bytes % size != 0)
    throw Refused(s.describe(0) + " does not pack into " + std::to_string(size) + " rows");
  s.out(kUint8, known({size, bytes / size}));
}
void from_sign_bits_rule(Shaper& s) {
  Shape x = s.shape(0);
  const int64_t size = s.integer("size");
  const Dim bits = x ? (*x)[0] * 8 : unknown;
  if (s.dtype(0) != kUint8 || size <= 0 || bits % size != 0)
    throw Refused(s.describe(0) + " does not unpack into " + std::to_string(size) + " rows");
  s.out(static_cast<int32_t>(s.integer("dtype")), known({size, bits / size}));
}

// Indices of both widths meet in what torchair computes of shapes; the result has the wider.
void arithmetic(Shaper& s) {
  const auto index = [&](size_t i) { return s.dtype(i) == kInt32 || s.dtype(i) == kInt64; };
  if (s.dtype(0) == s.dtype(1) || !index(0) || !index(1)) return broadcast(s);
  s.out(kInt64, broadcast_shapes(s.shape(0), s.shape(1), s));
}

void fourier_rule(Shaper& s) {
  if (s.dtype(0) != kComplex64 && s.dtype(0) != kComplex128)
    throw Refused("its input must be complex, it is " + s.describe(0));
  same(s);
}

void prelu_grad_rule(Shaper& s) {
  s.out(0, s.dtype(1), s.shape(1));
  s.out(1, s.dtype(2), s.shape(2));
}
Results prelu_grad(const Args& a) {
  auto [x, weight] = kernels::prelu_backward(a[0], a[1], a[2]);
  return {x, weight};
}

}  // namespace

const Family elementwise_rows = {
#define BINARY "x1 x2 -> y"
#define UNARY "x -> y"
    ROW(Add, BINARY, arithmetic, at::add(a[0], a[1])),
    ROW(Sub, BINARY, arithmetic, at::sub(a[0], a[1])),
    ROW(Mul, BINARY, arithmetic, at::mul(a[0], a[1])),
    ROW(Div, BINARY, broadcast, kernels::quotient(a[0], a[1], a.out_dtype())),
    ROW(RealDiv, BINARY, broadcast, kernels::quotient(a[0], a[1], a.out_dtype())),
    ROW(FloorDiv, BINARY, broadcast, kernels::quotient(a[0], a[1], a.out_dtype(), 2)),
    ROW(TruncateDiv, BINARY, broadcast, kernels::quotient(a[0], a[1], a.out_dtype(), 1)),
    ROW(FloorMod, BINARY, broadcast, kernels::remainder(a[0], a[1])),
    ROW(Mod, BINARY, broadcast, kernels::fmod(a[0], a[1])),
    ROW(Pow, BINARY, broadcast, at::pow(a[0], a[1])),
    ROW(Maximum, BINARY, broadcast, at::maximum(a[0], a[1])),
    ROW(Minimum, BINARY, broadcast, at::minimum(a[0], a[1])),
    ROW(SquaredDifference, BINARY, broadcast, kernels::squared_difference(a[0], a[1])),
    ROW(Atan2, BINARY, broadcast, at::atan2(a[0], a[1])),
    ROW(Xlogy, BINARY, broadcast, at::xlogy(a[0], a[1])),
    ROW(Equal, BINARY, compare, at::eq(a[0], a[1])),
    ROW(NotEqual, BINARY, compare, at::ne(a[0], a[1])),
    ROW(Greater, BINARY, compare, at::gt(a[0], a[1])),
    ROW(GreaterEqual, BINARY, compare, at::ge(a[0], a[1])),
    ROW(Less, BINARY, compare, at::lt(a[0], a[1])),
    ROW(LessEqual, BINARY, compare, at::le(a[0], a[1])),
    ROW(LogicalAnd, BINARY, logical, at::logical_and(a[0], a[1])),
    ROW(LogicalOr, BINARY, logical, at::logical_or(a[0], a[1])),
    ROW(BitwiseAnd, BINARY, integral, at::bitwise_and(a[0], a[1])),
    ROW(BitwiseOr, BINARY, integral, at::bitwise_or(a[0], a[1])),
    ROW(BitwiseXor, BINARY, integral, at::bitwise_xor(a[0], a[1])),

    ROW(Muls, "x -> y | value:Float", same, at::mul(a[0], a.real("value"))),
    ROW(Adds, "x -> y | value:Float", same, at::add(a[0], a.real("value"))),
    ROW(Axpy, "x1 x2 -> y | alpha:Float", broadcast, at::add(a[0], a[1], a.real("alpha"))),
    ROW(AxpyV2, "x1 x2 alpha -> y", broadcast, kernels::scaled_sum(a[0], a[1], a[2])),
    ROW(Sxpy, "x1 x2 alpha? -> y", broadcast, kernels::scaled_difference(a[0], a[1], a[2])),
    ROW(Addcmul, "input_data x1 x2 value -> y", broadcast, kernels::addcmul(a[0], a[1], a[2], a[3])),
    ROW(Addcdiv, "input_data x1 x2 value -> y", broadcast, kernels::addcdiv(a[0], a[1], a[2], a[3])),
    ROW(Lerp, "start end weight -> y", broadcast, at::lerp(a[0], a[1], a[2])),
    ROW(ClipByValue, "x clip_value_min clip_value_max -> y", broadcast, at::clamp(a[0], a[1], a[2])),
    ROW(ClipByValueV2, "x clip_value_min clip_value_max -> y", broadcast, at::clamp(a[0], a[1], a[2])),
    ROW(AddN, "x* -> y | N:Int", broadcast, kernels::sum_of_all(a.tensors(0, a.count()))),
    ROW(Select, "condition x1 x2 -> y", select, at::where(a[0], a[1], a[2])),
    ROW(SelectV2, "condition then else -> result", select, at::where(a[0], a[1], a[2])),
    ROW(MaskedFill, "x mask value -> y", masked, at::masked_fill(a[0], a[1], number_of(a[2]))),

    ROW(Cast, "x -> y | dst_type:Int", cast, a[0].to(a.out_dtype())),
    ROW(Real, "input -> output | Tout:Type=0", part_rule, at::real(a[0]).to(a.out_dtype())),
    ROW(Imag, "input -> output | Tout:Type=0", part_rule, at::imag(a[0]).to(a.out_dtype())),
    ROW(Complex, "real imag -> out | Tout:Type=16", complex_rule, at::complex(a[0], a[1]).to(a.out_dtype())),
    ROW(FFT, UNARY, fourier_rule, at::fft_fft(a[0])),
    ROW(FFT2D, UNARY, fourier_rule, at::fft_fft2(a[0])),
    ROW(Bitcast, "x -> y | type:Type keep_dim:Bool=false", bitcast, a[0].view(a.out_dtype())),
    ROW(Identity, UNARY, same, a[0]),
    ROW(TensorMove, UNARY, same, a[0]),
    ROW(Assign, "ref value -> ref | validate_shape:Bool=true use_locking:Bool=false", same, a[1]),
    ROW(ZerosLike, UNARY, same, at::zeros_like(a[0])),
    ROW(OnesLike, UNARY, same, at::ones_like(a[0])),
    ROW(Abs, UNARY, same, at::abs(a[0])),
    ROW(Neg, UNARY, same, at::neg(a[0])),
    ROW(Exp, "x -> y | base:Float=-1.0 scale:Float=1.0 shift:Float=0.0", floating,
        kernels::exponential(a[0], a.real("base"), a.real("scale"), a.real("shift"))),
    ROW(Log, "x -> y | base:Float=-1.0 scale:Float=1.0 shift:Float=0.0", floating,
        kernels::logarithm(a[0], a.real("base"), a.real("scale"), a.real("shift"))),
    ROW(Log1p, UNARY, floating, at::log1p(a[0])),
    ROW(Expm1, UNARY, floating, at::expm1(a[0])),
    ROW(Sqrt, UNARY, floating, at::sqrt(a[0])),
    ROW(Rsqrt, UNARY, floating, at::rsqrt(a[0])),
    ROW(Reciprocal, UNARY, same, at::reciprocal(a[0])),
    ROW(Square, UNARY, same, at::square(a[0])),
    ROW(Sin, UNARY, floating, at::sin(a[0])),
    ROW(Cos, UNARY, floating, at::cos(a[0])),
    ROW(Tan, UNARY, same, at::tan(a[0])),
    ROW(Asin, UNARY, same, at::asin(a[0])),
    ROW(Acos, UNARY, same, at::acos(a[0])),
    ROW(Atan, UNARY, same, at::atan(a[0])),
    ROW(Sinh, UNARY, floating, at::sinh(a[0])),
    ROW(Cosh, UNARY, floating, at::cosh(a[0])),
    ROW(Tanh, UNARY, floating, at::tanh(a[0])),
    ROW(Erf, UNARY, floating, at::erf(a[0])),
    ROW(Erfc, UNARY, floating, at::erfc(a[0])),
    ROW(Floor, UNARY, same, at::floor(a[0])),
    ROW(Ceil, UNARY, same, at::ceil(a[0])),
    ROW(Round, UNARY, same, at::round(a[0])),
    ROW(Rint, UNARY, same, at::round(a[0])),
    ROW(Trunc, "input_x -> output_y", same, at::trunc(a[0])),
    ROW(Sign, UNARY, same, at::sign(a[0])),
    ROW(LogicalNot, UNARY, logical, at::logical_not(a[0])),
    ROW(Invert, UNARY, integral, at::bitwise_not(a[0])),
    ROW(IsFinite, UNARY, boolean_like, at::isfinite(a[0])),
    ROW(IsInf, UNARY, boolean_like, at::isinf(a[0])),
    ROW(IsNan, UNARY, boolean_like, at::isnan(a[0])),

    ROW(Relu, UNARY, same, at::relu(a[0])),
    ROW(Sigmoid, UNARY, same, at::sigmoid(a[0])),
    ROW(Gelu, UNARY, same, at::gelu(a[0], "tanh")),  // GE's Gelu is the tanh form, whatever torch was asked for
    ROW(GeluV2, "x -> y | approximate:String=none", same, at::gelu(a[0], a.text("approximate"))),
    ROW(Swish, "x -> y | scale:Float=1.0", same, kernels::swish(a[0], a.real("scale"))),
    ROW(Elu, "x -> y | alpha:Float=1.0 scale:Float=1.0 input_scale:Float=1.0", same,
        at::elu(a[0], a.real("alpha"), a.real("scale"), a.real("input_scale"))),
    ROW(LeakyRelu, "x -> y | negative_slope:Float=0.0", same, at::leaky_relu(a[0], a.real("negative_slope"))),
    ROW(HardSwish, UNARY, same, at::hardswish(a[0])),
    ROW(Mish, UNARY, same, at::mish(a[0])),
    ROW(SoftplusV2, "x -> y | beta:Float=1.0 threshold:Float=20.0", same,
        at::softplus(a[0], a.real("beta"), a.real("threshold"))),

    ROW(ReluGrad, "gradients features -> backprops", broadcast, at::threshold_backward(a[0], a[1], 0)),
    ROW(ThresholdGradV2D, "gradients features -> backprops | threshold:Float", broadcast,
        at::threshold_backward(a[0], a[1], a.real("threshold"))),
    ROW(SigmoidGrad, "y dy -> z | complex_conj:Bool=false", broadcast, at::sigmoid_backward(a[1], a[0])),
    ROW(TanhGrad, "y dy -> z | complex_conj:Bool=false", broadcast, at::tanh_backward(a[1], a[0])),
    ROW(GeluGrad, "dy x y -> z", same, at::gelu_backward(a[0], a[1], "tanh")),
    ROW(GeluGradV2, "dy x -> z | approximate:String=none", broadcast,
        at::gelu_backward(a[0], a[1], a.text("approximate"))),
    ROW(SwishGrad, "grad x y -> grad_x | scale:Float=1.0", same, kernels::swish_backward(a[0], a[1], a.real("scale"))),
    ROW(HardSwishGrad, "grad x -> y", same, at::hardswish_backward(a[0], a[1])),
    ROW(HardtanhGrad, "result grad -> y | min_val:Float=-1.0 max_val:Float=1.0", same,
        at::hardtanh_backward(a[1], a[0], a.real("min_val"), a.real("max_val"))),
    ROW(HardShrink, "input_x -> output_y | lambd:Float=0.5", same, at::hardshrink(a[0], a.real("lambd"))),
    ROW(HardShrinkGrad, "gradients features -> backprops | lambd:Float=0.5", same,
        at::hardshrink_backward(a[0], a[1], a.real("lambd"))),
    ROW(HardSigmoid, "input_x -> output_y | alpha:Float=0.16666666 beta:Float=0.5", same,
        kernels::hard_sigmoid(a[0], a.real("alpha"), a.real("beta"))),
    ROW(HardSigmoidGrad, "grads input_x -> y | alpha:Float=0.16666666 beta:Float=0.5", same,
        kernels::hard_sigmoid_backward(a[0], a[1], a.real("alpha"), a.real("beta"))),
    ROW(MishGrad, "grad x tanhx? -> x_grad", same, at::mish_backward(a[0], a[1])),
    ROW(Asinh, UNARY, same, at::asinh(a[0])),
    ROW(Acosh, UNARY, same, at::acosh(a[0])),
    ROW(Atanh, UNARY, same, at::atanh(a[0])),
    ROW(Erfinv, "input_x -> output_y", floating, at::erfinv(a[0])),
    ROW(RightShift, "x y -> z", integral, at::bitwise_right_shift(a[0], a[1])),
    ROW(NanToNum, "x -> y | nan:Float=0.0 posinf:Float=0.0 neginf:Float=0.0", same,
        at::nan_to_num(a[0], a.real("nan"), a.real("posinf"), a.real("neginf"))),
    ROW(ThresholdV2, "x threshold value? -> y", same, kernels::thresholded(a[0], a[1], a[2])),
    ROW(LeakyReluGrad, "gradients features -> backprops | negative_slope:Float=0.0", broadcast,
        at::leaky_relu_backward(a[0], a[1], a.real("negative_slope"), false)),
    ROW(EluGradV2,
        "grads activations -> y | alpha:Float=1.0 scale:Float=1.0 input_scale:Float=1.0 is_result:Bool=false",
        broadcast,
        at::elu_backward(a[0], a.real("alpha"), a.real("scale"), a.real("input_scale"), a.flag("is_result"), a[1])),
    ROW(LogSigmoid, UNARY, same, at::log_sigmoid(a[0])),
    ROW(LogSigmoidGrad, "grads features -> backprops", broadcast, kernels::log_sigmoid_backward(a[0], a[1])),
    ROW(PRelu, "x weight -> y", same, kernels::prelu(a[0], a[1])),
    {"PReluGrad", "grads features weights -> dx da", prelu_grad_rule, prelu_grad},
    ROW(FastGelu, UNARY, same, kernels::fast_gelu(a[0])),
    ROW(FastGeluGrad, "dy x -> z", broadcast, kernels::fast_gelu_backward(a[0], a[1])),
    ROW(SignBitsPack, "x -> y | size:Int", sign_bits_rule, kernels::sign_bits(a[0], a.output(0).sizes())),
    ROW(SignBitsUnpack, "x -> y | size:Int dtype:Type=0", from_sign_bits_rule,
        kernels::from_sign_bits(a[0], a.output(0).sizes(), a.out_dtype())),
};

}  // namespace sim::ge_table
