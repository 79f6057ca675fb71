#include "kernels/block_quant.h"

#include "kernels/groups.h"
#include "kernels/pattern.h"

#include "kernels/mx_quant.h"
#include "kernels/quant.h"

namespace sim::quant {

static void write_tokens(const at::Tensor& out, const at::Tensor& scale, const at::Tensor& value,
                         const at::Tensor& factor) {
  write_quantized(out, value);
  write(scale, factor.reshape(scale.sizes()));
}

// ---- one scale for each block of a matrix --------------------------------------------------------------------------
static int64_t blocks(int64_t size, int64_t block) { return divided(size + block - 1, block); }

void block_like(const at::Tensor& self, const std::string& mode, int64_t dtype, int64_t rows, int64_t columns,
                const at::Tensor& out, const at::Tensor& scale) {
  SIM_CHECK(self.dim() == 2 || self.dim() == 3, "x ", self.sizes(), "; 2 or 3 dimensions are allowed");
  SIM_CHECK(mode.empty() || mode == "rint", "roundMode ", mode, "; allowed: rint");
  SIM_CHECK(dtype == 2, "dstType ", dtype, "; allowed: 2 (int8)");
  SIM_CHECK(rows == 1 && columns == 128, "blocks of ", rows, " x ", columns, "; allowed: 1 x 128");
  like(out, self), of_dtype("yOut", out, {at::kChar});
  shapes<"*rows _ -> *rows =blocks">({blocks(self.size(-1), columns)}, self, scale);
}

void block_quant(const at::Tensor& self, double least, int64_t columns, const at::Tensor& out,
                 const at::Tensor& scale) {
  auto x = wide(self).to(at::kFloat);
  const int64_t width = x.size(-1), count = blocks(width, columns);
  auto padded = at::constant_pad_nd(x, {0, count * columns - width}).unflatten(-1, {count, columns});
  auto factor = padded.abs().amax(-1).div(127);
  if (least > 0) factor = factor.clamp_max(1 / least);
  write_quantized(out, padded.div(factor.unsqueeze(-1)).flatten(-2).narrow(-1, 0, width));
  write(scale, factor);
}

// ---- after products ------------------------------------------------------------------------------------------------
// Numbers of FLOAT4 go in blocks of 32 of a token's, and are not clipped.
static mx::How flat_blocks(double top) { return {"", top == 0 ? mx::kFloor : mx::kRange, top}; }

void flat_like(const Flat& of, const at::Tensor& out, const at::Tensor& scale) {
  SIM_CHECK(of.self.dim() == 3, "x (tokens, rows, columns) expected, got ", of.self.sizes());
  shape(of.left, {of.self.size(1), of.self.size(1)});
  const bool in_groups = out.scalar_type() == kFloat4;
  if (!in_groups || of.right.numel()) shape(of.right, {of.self.size(2), of.self.size(2)});
  if (in_groups) {
    const auto value = of.self.flatten(1);
    return mx::quant_like(value, -1, 40, flat_blocks(of.top), out, scale);
  }
  SIM_CHECK(of.top == 0, "dstTypeMax ", of.top, "; allowed for numbers of 4 bits that are whole: 0");
  of_dtype("out", out, {at::kInt});
  quantized_like(out, of.self);
  shape(scale, {of.self.size(0)});
}

// Each token by its largest number: 7 / clip of what is computed becomes the largest that 4 bits hold. Tokens that no
// group has are left as they are.
void flat_quant(const Flat& of, const at::Tensor& out, const at::Tensor& scale) {
  int64_t tokens = of.self.size(0);
  if (of.groups.defined()) {
    tokens = 0;
    for (const groups::Group& group : groups::of(of.groups, of.kind, of.self.size(0)))
      tokens = group.start + group.count;
  }
  auto value = wide(of.self.narrow(0, 0, tokens));
  if (of.right.numel()) value = at::matmul(value, wide(of.right));
  value = at::matmul(wide(of.left), value);
  if (scale.dim() == 3)
    return mx::quant(value.flatten(1), -1, flat_blocks(of.top), out.narrow(0, 0, tokens), scale.narrow(0, 0, tokens));
  auto factor = value.abs().flatten(1).amax(-1).div(7 / of.clip);
  write_tokens(out.narrow(0, 0, tokens), scale.narrow(0, 0, tokens), value.div(factor.reshape({-1, 1, 1})), factor);
}

void rotate_like(const Rotated& of, const at::Tensor& alpha, const at::Tensor& out, const at::Tensor& scale) {
  const auto [rows, columns, k] = shapes<"rows columns, k k">(of.self, of.rotation);
  SIM_CHECK(remainder_of(columns, k) == 0, "rows of ", columns, " numbers for a rotation of ", k);
  SIM_CHECK(!alpha.defined(), "alpha has to be null");
  if (!mx::of_whole_numbers(out))  // in blocks, as of Microscaling formats
    return mx::quant_like(of.self, of.axis, mx::format_of(out).code, {of.mode, of.algorithm, of.top}, out, scale);
  SIM_CHECK(wrap(of.axis, of.self) == 1 && of.algorithm == 0 && of.top == 0, "axis ", of.axis, ", scaleAlg ",
            of.algorithm, ", dstTypeMax ", of.top, "; allowed: -1 or 1, 0, 0");
  SIM_CHECK(of.mode.empty() || of.mode == "rint" || of.mode == "floor", "roundMode ", of.mode,
            " is not simulated; allowed: rint, floor");
  quantized_like(out, of.self);
  shape(scale, {rows});
}

void rotate_quant(const Rotated& of, const at::Tensor& out, const at::Tensor& scale) {
  auto rows = at::matmul(wide(of.self).reshape({-1, of.rotation.size(0)}), wide(of.rotation)).reshape(of.self.sizes());
  if (!mx::of_whole_numbers(out)) return mx::quant(rows, of.axis, {of.mode, of.algorithm, of.top}, out, scale);
  const auto result = symmetric(rows, largest(out));
  write_tokens(out, scale, of.mode == "floor" ? result.value.floor() : result.value, result.scale);
}

// ---- back from whole numbers ---------------------------------------------------------------------------------------
// Eight numbers of 4 bits in a word.
void anti_quantized_like(const at::Tensor& self, const at::Tensor& out) {
  Dims sizes = self.sizes().vec();
  if (self.scalar_type() == at::kInt && sizes.empty()) sizes = {1};
  if (self.scalar_type() == at::kInt) sizes.back() *= 8;
  if (self.scalar_type() == at::kByte) sizes.back() *= 2;  // INT4 whose rows do not end with a whole word
  shape(out, sizes);
}

// Numbers of 4 bits from words or from bytes; others as they are.
static at::Tensor numbers_of(const at::Tensor& self) {
  if (self.scalar_type() == at::kInt) return unpacked(self.dim() ? self : self.reshape({1}));
  if (self.scalar_type() != at::kByte) return wide(self);
  const auto bytes = self.to(at::kShort);
  return at::stack({bytes.bitwise_and(15), bytes.bitwise_right_shift(4)}, -1).flatten(-2).bitwise_xor(8).sub(8);
}

at::Tensor anti_quantized(const at::Tensor& self, const at::Tensor& scale, const at::Tensor& offset, bool square) {
  auto value = numbers_of(self).to(at::kFloat);
  if (offset.defined()) value = value.add(wide(offset));
  value = value.mul(wide(scale));
  return square ? value.mul(wide(scale)) : value;
}

at::Tensor with_bias_dequantized(const at::Tensor& self, const at::Tensor& weight_scale, const at::Tensor& row_scale,
                                 const at::Tensor& bias) {
  const bool early = bias.defined() && bias.scalar_type() == at::kInt;
  auto value = (early ? self.add(bias) : self).to(at::kFloat).mul(wide(weight_scale));
  if (row_scale.defined()) value = value.mul(wide(row_scale).reshape({-1, 1}));
  return bias.defined() && !early ? value.add(wide(bias)) : value;
}

void situ_like(const Products& of, const at::Tensor& out, const at::Tensor& scale) {
  SIM_CHECK(!of.group_index.defined(), "groupIndex is not simulated");
  SIM_CHECK(of.mode == "static" || of.mode == "dynamic", "quantType ", of.mode, "; allowed: static, dynamic");
  SIM_CHECK(of.mode == "dynamic" || of.quant_scale.defined(), "static quantization needs quantScale");
  Dims sizes = of.self.sizes().vec();
  sizes.back() = divided(sizes.back(), 2);
  shape(out, sizes), of_dtype("yOut", out, {at::kChar});
  if (of.mode == "dynamic") by_row(scale, of.self);
  const int64_t columns = of.self.size(-1);
  one_or_each("weightScale", of.weight_scale, columns), one_or_each("bias", of.bias, columns);
  counted("activationScale", of.row_scale, outer_sizes(of.self));
  one_or_each("quantScale", of.quant_scale, sizes.back());
  if (of.mode == "static") one_or_each("quantOffset", of.quant_offset, sizes.back());
}

static at::Tensor row(const at::Tensor& values) { return wide(values).reshape({-1}); }

// Unlike its relatives it cuts what is behind the point.
void situ_quant(const Products& of, const kernels::SituGlu& how, const at::Tensor& out, const at::Tensor& scale) {
  auto value = wide(of.self).to(at::kFloat);
  if (of.weight_scale.defined() && !at::isFloatingType(of.self.scalar_type())) {
    value = value.mul(row(of.weight_scale));
    if (of.self.scalar_type() == at::kInt && of.row_scale.defined())
      value = value.mul(wide(of.row_scale).reshape(outer_sizes(of.self)).unsqueeze(-1));
    if (of.bias.defined()) value = value.add(row(of.bias));
  }
  value = kernels::situ_glu(value, how);
  if (of.mode == "dynamic") {
    const auto result = symmetric(value, 127);
    return write_tokens(out, scale, result.value.trunc(), result.scale);
  }
  value = value.div(row(of.quant_scale));
  write_quantized(out, (of.quant_offset.defined() ? value.add(row(of.quant_offset)) : value).trunc());
}

// ---- quantization that training imitates ---------------------------------------------------------------------------
void fake_quant(const FakeQuant& of, const at::Tensor& out, const at::Tensor& mask) {
  auto steps = wide(of.self).div(of.scale).round().add(of.zero);
  out.copy_(
      steps.clamp(double(of.least), double(of.most)).sub(of.zero).mul(of.scale));  // of any type, whole numbers too
  write(mask, steps.ge(double(of.least)).logical_and(steps.le(double(of.most))));
}

void fake_quant_all(const FakeQuant& of, bool enabled, const at::Tensor& out, const at::Tensor& mask) {
  if (enabled)
    return fake_quant({of.self, wide(of.scale).reshape({}), of.zero.to(at::kFloat).reshape({}), of.least, of.most}, out,
                      mask);
  out.copy_(of.self);
  mask.fill_(true);
}

void fake_like(const FakeQuant& of, int64_t size, const at::Tensor& out, const at::Tensor& mask) {
  like(out, of.self), like(mask, of.self), like(of.zero, of.scale);
  SIM_CHECK(of.scale.numel() == size, of.scale.numel(), " scales for a size of ", size);
  SIM_CHECK(of.least <= of.most, "quantMin ", of.least, " is above quantMax ", of.most);
}

}  // namespace sim::quant
