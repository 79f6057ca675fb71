#include "kernels/quant.h"

#include "kernels/mx_quant.h"

namespace sim::quant {
namespace {

constexpr int64_t kInWord = 8;
constexpr int64_t kFloatBits = 0xFFFFE000;  // sign, exponent and 10 bits of the mantissa
constexpr int64_t kOffsetShift = 37, kOffsetBits = 0x1FF, kHasOffset = int64_t(1) << 46;

at::Tensor shifts() { return at::arange(0, 4 * kInWord, 4, at::kLong); }

}  // namespace

at::Tensor packed(const at::Tensor& values) {
  SIM_CHECK(values.dim() && values.size(-1) % kInWord == 0, "the last dimension of ", values.sizes(),
            " is no multiple of 8");
  auto words = values.to(at::kLong).bitwise_and(15).unflatten(-1, {-1, kInWord});
  return words.bitwise_left_shift(shifts()).sum(-1).to(at::kInt);
}

at::Tensor unpacked(const at::Tensor& words) {
  auto nibbles = words.to(at::kLong).unsqueeze(-1).bitwise_right_shift(shifts()).bitwise_and(15);
  return nibbles.bitwise_xor(8).sub(8).flatten(-2).to(at::kChar);
}

// Words of numbers that lie along the rows: the transpose of a packed matrix.
static bool packed_along_rows(const at::Tensor& matrix) {
  const int64_t rows = matrix.dim() - 2;
  return rows >= 0 && matrix.stride(rows) == 1 && matrix.stride(-1) == matrix.size(rows) &&
         (matrix.size(rows) > 1 || matrix.size(-1) > 1);  // one column, too: that of a packed one has strides of 1
}

at::Tensor whole_numbers(const at::Tensor& matrix) {
  if (matrix.scalar_type() != at::kInt) return matrix;
  return packed_along_rows(matrix) ? unpacked(matrix.transpose(-1, -2)).transpose(-1, -2) : unpacked(matrix);
}

Dims whole_sizes(const at::Tensor& matrix) {
  Dims sizes = matrix.sizes().vec();
  if (matrix.scalar_type() == at::kInt) sizes[sizes.size() - (packed_along_rows(matrix) ? 2 : 1)] *= kInWord;
  return sizes;
}

double largest(const at::Tensor& out) {
  of_dtype("a quantized output", out, {at::kChar, at::kInt});
  return out.scalar_type() == at::kInt ? 7 : 127;
}

void quantized_like(const at::Tensor& out, at::IntArrayRef value) {
  Dims sizes = value.vec();
  if (largest(out) == 7) sizes.back() /= kInWord;
  shape(out, sizes);
}

void by_row(const at::Tensor& out, const at::Tensor& x) {
  SIM_CHECK(x.dim(), "a tensor without dimensions has no rows");
  const at::IntArrayRef outer = outer_sizes(x);
  if (!out.defined() || out.dim() != 1 || out.numel() != c10::multiply_integers(outer)) asked({out}, outer);
}

at::Tensor saturated(const at::Tensor& value, const at::Tensor& out) {
  const double top = largest(out);
  auto steps = value.round().clamp(-top - 1, top).nan_to_num(0).to(at::kChar);
  return top == 7 ? packed(steps) : steps;
}

Dynamic symmetric(const at::Tensor& rows, double top) {
  auto scale = rows.abs().amax(-1).div(top);
  return {rows.div(scale.masked_fill(scale.eq(0), 1).unsqueeze(-1)), scale, {}};
}

Dynamic asymmetric(const at::Tensor& rows, double top, double least) {
  auto highest = rows.amax(-1);
  auto scale = highest.sub(rows.amin(-1)).div(top - least);
  auto offset = highest.div(scale).neg().add(top);
  return {rows.div(scale.unsqueeze(-1)).add(offset.unsqueeze(-1)), scale, offset};
}

at::Tensor encoded(const at::Tensor& scale, const at::Tensor& offset, bool round) {
  of_dtype("scale", scale, {at::kFloat});
  auto bits = scale.contiguous().view(at::kInt).to(at::kLong);
  // Half of the last kept bit goes to the even neighbour.
  if (round) bits = bits.add(0xFFF).add(bits.bitwise_right_shift(13).bitwise_and(1));
  bits = bits.bitwise_and(kFloatBits).bitwise_or(kHasOffset);
  if (!offset.defined()) return bits;
  auto steps = offset.round().clamp(-256, 255).to(at::kLong).bitwise_and(kOffsetBits);
  return bits.bitwise_or(steps.bitwise_left_shift(kOffsetShift));
}

bool is_encoded(const at::Tensor& scale) {
  return scale.scalar_type() == at::kLong || scale.scalar_type() == at::kUInt64;
}

at::Tensor scale_of(const at::Tensor& scale) {
  if (!is_encoded(scale)) return wide(scale);
  return scale.contiguous().view(at::kLong).bitwise_and(kFloatBits).to(at::kInt).view(at::kFloat);
}

at::Tensor offset_of(const at::Tensor& scale) {
  auto steps = scale.contiguous().view(at::kLong).bitwise_right_shift(kOffsetShift).bitwise_and(kOffsetBits);
  return steps.bitwise_xor(256).sub(256).to(at::kFloat);
}

at::Tensor integer_product(const at::Tensor& a, const at::Tensor& b) {
  // Up to 1024 products of 8 bits a sum is below 2^24, which float holds in full.
  const auto dtype = a.size(-1) <= 1024 ? at::kFloat : at::kDouble;
  return at::matmul(a.to(dtype), b.to(dtype)).to(at::kInt);
}

at::Tensor dequantized(const at::Tensor& weight, const at::Tensor& scale, const at::Tensor& offset) {
  auto numbers = whole_numbers(weight);
  auto along_k = [&](const at::Tensor& values) {
    if (values.dim() < 2 || values.size(0) == 1) return values;
    SIM_CHECK(remainder_of(numbers.size(0), values.size(0)) == 0, values.size(0), " groups of ", numbers.size(0),
              " rows of a weight");
    return values.repeat_interleave(numbers.size(0) / values.size(0), 0);
  };
  auto result = numbers.to(scale.scalar_type());
  if (offset.defined()) result = result.add(along_k(offset));
  return result.mul(along_k(scale));
}

at::Tensor quantized(const at::Tensor& x, const at::Tensor& scales, const at::Tensor& zero_points, int64_t dim,
                     at::ScalarType result) {
  const int64_t wrapped = scales.numel() == 1 ? 0 : wrap(dim, x);  // one scale has no dimension
  return quantized_by(x, along(scales, x, wrapped),
                      zero_points.defined() ? along(zero_points, x, wrapped) : zero_points, result);
}

at::Tensor quantized_by(const at::Tensor& x, const at::Tensor& scales, const at::Tensor& zero_points,
                        at::ScalarType result) {
  // In place: such tensors are large. Float holds every step of a type of 8 bits.
  const double bytes = double(at::elementSize(result));
  if (at::isFloatingType(result)) {  // of 8 bits; HIFLOAT8 is float here
    const auto value = at::div(wide(x), scales);
    return mx::stepped(zero_points.defined() ? value.add(zero_points) : value, at::empty({0}, result));
  }
  auto steps = at::div(bytes == 1 ? wide(x) : x.to(at::kDouble), scales).round_();
  if (zero_points.defined()) steps.add_(zero_points);
  const bool is_signed = result != at::kByte;
  const double most = std::exp2(8 * bytes - is_signed);
  return steps.clamp_(is_signed ? -most : 0, most - 1).to(result);
}

}  // namespace sim::quant
