// Operators of one element or of several in one place: arithmetic, comparison, logic, activations.
#include "ge/rows/rows.h"
#include "kernels/activation.h"
#include "kernels/arithmetic.h"

namespace sim::ge_table {
namespace {

// Whole numbers are compared with others, too.
void compare(Shaper& s) {
  if (is_whole(s.dtype(0)) == is_whole(s.dtype(1))) require_same_dtype(s, 0, 2);
  Shape shape = broadcast_shapes(s.shape(0), s.shape(1), s);
  s.out(kBool, shape);
}

// condition, then two values
void select(Shaper& s) {
  if (s.dtype(0) != kBool) throw Refused("its condition must be bool, it is " + s.describe(0));
  require_same_dtype(s, 1, 3);
  s.out(s.dtype(1), broadcast_shapes(broadcast_shapes(s.shape(1), s.shape(2), s), s.shape(0), s));
}

// x, mask, a single value
void masked(Shaper& s) {
  if (s.dtype(1) != kBool) throw Refused("its mask must be bool, it is " + s.describe(1));
  one_number(s, 2, 3);
  s.out(s.dtype(0), broadcast_shapes(s.shape(0), s.shape(1), s));
}

// A base of -1 is e.
void log_add_exp_rule(Shaper& s) {
  s.only("scale", 1.0);
  s.only("shift", 0.0);
  if (s.real("base") != 2) s.only("base", -1.0);
  broadcast(s);
}

void complex_rule(Shaper& s) {
  if (s.dtype(0) != kFloat && s.dtype(0) != kDouble) throw Refused("it makes no complex numbers of " + s.describe(0));
  broadcast(s);
  s.out(static_cast<int32_t>(s.integer("Tout")), broadcast_shapes(s.shape(0), s.shape(1), s));
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
  if (s.dtype(0) != kUint8 || (x && x->size() != 1) || size <= 0 || bits % size != 0)
    throw Refused(s.describe(0) + " does not unpack into " + std::to_string(size) + " rows");
  s.out(static_cast<int32_t>(s.integer("dtype")), known({size, bits / size}));
}

// Indices of both widths meet in what torchair computes of shapes; the result has the wider.
void arithmetic(Shaper& s) {
  const auto index = [&](size_t i) { return s.dtype(i) == kInt32 || s.dtype(i) == kInt64; };
  if (s.dtype(0) == s.dtype(1) || !index(0) || !index(1)) return broadcast(s);
  s.out(kInt64, broadcast_shapes(s.shape(0), s.shape(1), s));
}

// Blocks of 16 channels of both.
void channel_blocks_rule(Shaper& s) {
  require_same_dtype(s, 0, 2);
  s.match(pattern<"n _ *b, n _ *b -> n">);
  Shape shape = s.shape(0);
  const int64_t count = s.integer("c1_len");
  if (count < 1) throw Refused("c1_len=" + std::to_string(count) + " is not above 0");
  for (const size_t i : {0, 1}) {
    const int64_t first = s.integer(i ? "x2_c1_offset" : "x1_c1_offset");
    const Shape of = s.shape(i);
    if (first < 0 || (of && (*of)[1] < 16 * (first + count - 1) + 1))
      throw Refused(c10::str(count, " blocks of 16 channels from block ", first, " on are more than ", s.describe(i)));
  }
  if (shape) (*shape)[1] = 16 * s.integer("c1_len");
  s.out(s.dtype(0), shape);
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
    ROW(AccumulateNV2, "x* -> y | N:Int", broadcast, kernels::sum_of_all(a.tensors(0, a.count()))),
    ROW(Select, "condition x1 x2 -> y", select, at::where(a[0], a[1], a[2])),
    ROW(SelectV2, "condition then else -> result", select, at::where(a[0], a[1], a[2])),
    ROW(MaskedFill, "x mask value -> y", masked, at::masked_fill(a[0], a[1], number_of(a[2]))),

    ROW(Complex, "real imag -> out | Tout:Type=16", complex_rule, at::complex(a[0], a[1]).to(a.out_dtype())),
    ROW(Assign, "ref value -> ref | validate_shape:Bool=true use_locking:Bool=false", (pattern<"*s, *s -> *s">), a[1]),
    ROW(ZerosLike, UNARY, same, at::zeros_like(a[0])),
    ROW(OnesLike, UNARY, same, at::ones_like(a[0])),

    ROW(RightShift, "x y -> z", integral, at::bitwise_right_shift(a[0], a[1])),
    ROW(NanToNum, "x -> y | nan:Float=0.0 posinf:Float=0.0 neginf:Float=0.0", same,
        at::nan_to_num(a[0], a.real("nan"), a.real("posinf"), a.real("neginf"))),
    ROW(SignBitsPack, "x -> y | size:Int", sign_bits_rule, kernels::sign_bits(a[0], a.output(0).sizes())),
    ROW(SignBitsUnpack, "x -> y | size:Int dtype:Type=0", from_sign_bits_rule,
        kernels::from_sign_bits(a[0], a.output(0).sizes(), a.out_dtype())),
    ROW(Square, UNARY, same, at::square(a[0])),
    ROW(LogAddExp, "x y -> z | base:Float=-1.0 scale:Float=1.0 shift:Float=0.0", log_add_exp_rule,
        a.real("base") == 2 ? at::logaddexp2(a[0], a[1]) : at::logaddexp(a[0], a[1])),
    ROW(StrideAdd, "x1 x2 -> y | x1_c1_offset:Int x2_c1_offset:Int c1_len:Int", channel_blocks_rule,
        kernels::blocks_added(a[0], a[1], {a.integer("x1_c1_offset"), a.integer("x2_c1_offset"), a.integer("c1_len")})),
    ROW(Gcd, "x1 x2 -> y", (some_of<kInt8, kUint8, kInt16, kInt32, kInt64>), at::gcd(a[0], a[1])),
    ROW(MaxN, "x* -> y", broadcast, kernels::most_of_all(a.tensors(0, a.count()))),
    ROW(Xlog1py, "x y -> z", (some_of<kHalf, kFloat, kDouble>), kernels::xlog1py(a[0], a[1])),
    ROW(AddV2, "x1 x2 -> y", broadcast, at::add(a[0], a[1])),
};

}  // namespace sim::ge_table
