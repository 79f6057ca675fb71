// Elementwise operators of one operand, and conversions.
#include "ge/rows/rows.h"
#include "kernels/activation.h"
#include "kernels/arithmetic.h"
#include "kernels/quant.h"

namespace sim::ge_table {
namespace {

void cast(Shaper& s) { s.out(static_cast<int32_t>(s.integer("dst_type")), s.shape(0)); }

// The result's type is an attribute, whatever the input's precision.
void part_rule(Shaper& s) { s.out(static_cast<int32_t>(s.integer("Tout")), s.shape(0)); }

// Of whole numbers, in float.
void of_whole_too(Shaper& s) { is_whole(s.dtype(0)) ? s.out(kFloat, s.shape(0)) : floating(s); }

void bitcast(Shaper& s) {
  const auto type = static_cast<int32_t>(s.integer("type"));
  const int64_t from = bits_of(s.dtype(0)), to = bits_of(type), parts = std::max(from, to) / std::min(from, to);
  Shape shape = s.shape(0);
  if (!shape || parts == 1) return s.out(type, shape);
  if (from > to && !s.flag("keep_dim")) {
    shape->push_back(parts);
  } else if (from > to && !shape->empty()) {
    shape->back() = shape->back() * parts;
  } else if (from < to && !shape->empty() && s.flag("keep_dim")) {
    shape->back() = shape->back() / parts;
  } else if (from < to && !shape->empty() && (!shape->back().known() || shape->back() == parts)) {
    shape->pop_back();
  } else {
    throw Refused("x " + s.describe(0) + " as a data type of " + std::to_string(to) + " bits");
  }
  s.out(type, shape);
}

void to_type_rule(Shaper& s) {
  constexpr std::pair<const char*, int32_t> kTypes[] = {
      {"torch.qint8", kInt8}, {"torch.quint8", kUint8}, {"torch.qint32", kInt32}};
  const std::string named = s.text("dtype");
  if (const Shape x = s.shape(0)) {
    const Dim size = x->empty() ? Dim(1) : (*x)[size_t(wrap(s.integer("axis"), rank_of(x)))];
    for (const size_t i : {1, 2}) {
      const Dim numbers = numbers_in(s, i);
      if (numbers != 1 && numbers != size)
        throw Refused(s.describe(i) + " along axis " + std::to_string(s.integer("axis")) + " of " + s.describe(0));
    }
  }
  for (const auto& [name, dtype] : kTypes)
    if (named == name) return s.out(dtype, s.shape(0));
  throw Refused("dtype '" + named + "'; allowed: torch.qint8, torch.quint8, torch.qint32");
}

template <int32_t... types>
void boolean_of(Shaper& s) {
  require_type(s, 0, {types...});
  boolean_like(s);
}

}  // namespace

#define UNARY "x -> y"
const Family unary_rows = {
    ROW(Cast, "x -> y | dst_type:Int", cast, a[0].to(a.out_dtype())),
    ROW(Real, "input -> output | Tout:Type=0", part_rule, at::real(a[0]).to(a.out_dtype())),
    ROW(Imag, "input -> output | Tout:Type=0", part_rule, at::imag(a[0]).to(a.out_dtype())),
    ROW(Bitcast, "x -> y | type:Type keep_dim:Bool=false", bitcast, a.bytes()),
    ROW(Quantize, "x scales zero_points? -> y | dtype:String axis:Int=1", to_type_rule,
        quant::quantized(a[0], a[1].flatten(), a[2].defined() ? a[2].flatten() : at::Tensor(), a.integer("axis"),
                         a.out_dtype())),
    ROW(Identity, UNARY, same, a.bytes()),
    ROW(TensorMove, UNARY, same, a.bytes()),
    ROW(StopGradient, UNARY, same, a.bytes()),
    ROW(GuaranteeConst, UNARY, same, a.bytes()),
    ROW(Snapshot, UNARY, same, a.bytes()),
    ROW(PreventGradient, "x -> y | message:String", same, a.bytes()),
    ROW(Abs, UNARY, same, at::abs(a[0])),
    ROW(Neg, UNARY, same, at::neg(a[0])),
    ROW(Exp, "x -> y | base:Float=-1.0 scale:Float=1.0 shift:Float=0.0", floating,
        kernels::exponential(a[0], a.real("base"), a.real("scale"), a.real("shift"))),
    ROW(Log, "x -> y | base:Float=-1.0 scale:Float=1.0 shift:Float=0.0", of_whole_too,
        kernels::logarithm(a[0], a.real("base"), a.real("scale"), a.real("shift"))),
    ROW(Log1p, UNARY, floating, at::log1p(a[0])),
    ROW(Expm1, UNARY, floating, at::expm1(a[0])),
    ROW(Sqrt, UNARY, floating, at::sqrt(a[0])),
    ROW(Rsqrt, UNARY, floating, at::rsqrt(a[0])),
    ROW(Reciprocal, UNARY, same, at::reciprocal(a[0])),
    ROW(Sin, UNARY, floating, at::sin(a[0])),
    ROW(Cos, UNARY, floating, at::cos(a[0])),
    ROW(Tan, UNARY, same, at::tan(a[0])),
    ROW(Asin, UNARY, same, at::asin(a[0])),
    ROW(Acos, UNARY, same, at::acos(a[0])),
    ROW(Atan, UNARY, same, at::atan(a[0])),
    ROW(Sinh, UNARY, floating, at::sinh(a[0])),
    ROW(Cosh, UNARY, floating, at::cosh(a[0])),
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
    ROW(CheckNumerics, "x -> y | message:String", floating, kernels::all_finite(a[0], a.text("message"))),
    ROW(IsFinite, UNARY, boolean_like, at::isfinite(a[0])),
    ROW(IsInf, UNARY, boolean_like, at::isinf(a[0])),
    ROW(IsNan, UNARY, boolean_like, at::isnan(a[0])),
    ROW(Asinh, UNARY, same, at::asinh(a[0])),
    ROW(Acosh, UNARY, same, at::acosh(a[0])),
    ROW(Atanh, UNARY, same, at::atanh(a[0])),
    ROW(Erfinv, "input_x -> output_y", floating, at::erfinv(a[0])),
    ROW(Angle, "input -> output | Tout:Type=0", complex_part, at::angle(a[0]).to(a.out_dtype())),
    ROW(Lgamma, "x -> y", (one_of<kHalf, kFloat, kDouble>), at::lgamma(wide(a[0]))),
    ROW(IsNegInf, "x -> y", (boolean_of<kHalf, kFloat, kDouble, kBfloat16>), at::isneginf(a[0])),
    ROW(IsPosInf, "x -> y", (boolean_of<kHalf, kFloat, kDouble, kBfloat16>), at::isposinf(a[0])),
    ROW(Digamma, "x -> y", (one_of<kHalf, kFloat, kDouble>), at::digamma(wide(a[0]))),
};

}  // namespace sim::ge_table
