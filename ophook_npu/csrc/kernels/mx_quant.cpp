#include "kernels/mx_quant.h"

#include <array>

#include "kernels/groups.h"
#include "kernels/norm_quant.h"
#include "kernels/pattern.h"
#include "kernels/quant.h"

namespace sim::mx {

static int64_t blocks(int64_t size, int64_t block) { return divided(size + block - 1, block); }

// A last block that is not full counts as one with zeros.
at::Tensor largest_in(const at::Tensor& x, int64_t axis, int64_t block) {
  auto last = x.abs().movedim(axis, -1);
  const int64_t count = blocks(last.size(-1), block);
  last = at::constant_pad_nd(last, {0, count * block - last.size(-1)});
  return last.unflatten(-1, {count, block}).amax(-1).movedim(-1, axis);
}

at::Tensor spread(const at::Tensor& values, int64_t axis, int64_t block, int64_t size) {
  return values.repeat_interleave(block, axis).narrow(axis, 0, size);
}

at::Tensor over(const at::Tensor& value, const at::Tensor& scale) {
  return value.div(scale.masked_fill(scale.eq(0), 1));
}

namespace {

constexpr int64_t kBias = 127, kNoNumber = 255;  // of FLOAT8_E8M0
constexpr int64_t kFraction = (1 << 23) - 1;     // of a float
constexpr std::array kFormats{
    Format{35, 2, -14, 15, 57344, 1}, Format{36, 3, -6, 8, 448, 1},
    Format{40, 1, 0, 2, 6, 2},        Format{41, 2, 0, 0, 1.75, 2},  // its numbers below 1 have the same steps
    Format{34, 1, -15, 15, 32768, 1},
};
constexpr const Format& kHiFloat8 = kFormats[4];

at::Tensor bytes_of(const at::Tensor& tensor) { return tensor.view(at::kByte); }

// The magnitudes of a format of 4 bits, by their codes.
at::Tensor magnitudes(const Format& format) {
  auto codes = at::arange(8, at::kFloat);
  if (format.mantissa == 2) return codes.div(4);
  auto exponent = codes.div(2, "floor"), half = codes.sub(exponent.mul(2));
  return at::where(exponent.eq(0), half.div(2), at::exp2(exponent.sub(1)).mul(half.div(2).add(1)));
}

at::Tensor nearest(const at::Tensor& steps, const std::string& mode) {
  if (mode == "floor") return steps.floor();
  if (mode == "ceil") return steps.ceil();
  if (mode == "trunc") return steps.trunc();
  if (mode == "round") return steps.abs().add(0.5).floor().mul(steps.sign());
  return steps.round();
}

// What the format has for the value.
at::Tensor rounded_to(const Format& format, const at::Tensor& value, const std::string& mode) {
  if (format.code == kHiFloat8.code) return value;  // rounded where it is stored
  const auto exponent = std::get<1>(at::frexp(value)).sub(1).clamp_min(format.least);
  auto step = at::exp2(exponent.sub(format.mantissa).to(at::kFloat));
  auto result = nearest(value.div(step), mode).mul(step).clamp(-format.largest, format.largest);
  return at::copysign(result, value);
}

// The scales' exponents with their bias. A block with an infinite number, or none, has the scale that is no number.
at::Tensor exponents(const at::Tensor& most, const Format& format, const How& how) {
  auto clamped = how.least > 0 ? most.clamp_min(how.least) : most;
  at::Tensor result;
  if (how.algorithm == kFloor) {
    result = std::get<1>(at::frexp(clamped)).sub(1 + format.most - kBias).clamp(0, kNoNumber - 1);
    result = result.mul(clamped.ne(0));
  } else {
    // A division in float, as the formula has it.
    auto bits = clamped.div(how.top > 0 ? how.top : format.largest).view(at::kInt);
    auto exponent = bits.bitwise_right_shift(23), fraction = bits.bitwise_and(kFraction);
    auto up = exponent.gt(0).logical_and(exponent.lt(kNoNumber - 1)).logical_and(fraction.gt(0));
    if (how.algorithm == kCeil) up = up.logical_or(exponent.eq(0).logical_and(fraction.gt((kFraction + 1) / 2)));
    result = exponent.add(up);
  }
  return at::where(most.isfinite(), result, at::full_like(result, kNoNumber)).to(at::kByte);
}

at::Tensor factors(const at::Tensor& bytes) { return bytes.view(at::kFloat8_e8m0fnu).to(at::kFloat); }

// Pairs of neighbours along the dimension lie together, in a last dimension; an odd one has a 0 next to it.
at::Tensor paired(const at::Tensor& scales, int64_t axis) {
  auto last = scales.movedim(axis, -1);
  last = at::constant_pad_nd(last, {0, last.size(-1) % 2});
  return last.unflatten(-1, {-1, 2}).movedim(-2, wrap(axis, scales));
}

void write_scales(const at::Tensor& out, const at::Tensor& scales, int64_t axis) {
  write(bytes_of(out), paired(scales, axis));
}

struct Blocks {
  at::Tensor values, scales;
};
Blocks quantized(const at::Tensor& x, int64_t axis, const Format& format, const How& how) {
  auto scales = exponents(largest_in(x, axis, how.block), format, how);
  return {x.div(spread(factors(scales), axis, how.block, x.size(axis))), scales};
}

at::Tensor as_float(const at::Tensor& x) { return x.to(at::kFloat); }

Dims scale_sizes(const at::Tensor& values, int64_t axis, int64_t block, int64_t groups) {
  Dims sizes = values.sizes().vec();
  int64_t& size = sizes[size_t(wrap(axis, values))];
  size = groups ? size / (2 * block) + groups : blocks(size, 2 * block);
  sizes.push_back(2);
  return sizes;
}

}  // namespace

// ---- small floating-point numbers ----------------------------------------------------------------------------------
Format format_of(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kFloat8_e5m2: return kFormats[0];
    case at::kFloat8_e4m3fn: return kFormats[1];
    case kFloat4: return kFormats[2];
    case at::kByte: return kFormats[3];
    case at::kFloat: return kHiFloat8;
    default:
      SIM_CHECK(false, "a tensor of ", tensor.scalar_type(),
                "; allowed: HIFLOAT8, FLOAT8_E5M2, FLOAT8_E4M3FN, FLOAT4_E2M1, FLOAT4_E1M2");
  }
}

// Two numbers of 4 bits are neighbours in memory: in the transpose of a matrix that lies so, along its rows.
bool lies_transposed(const at::Tensor& tensor) {
  return tensor.dim() >= 2 && tensor.stride(-2) == 1 && tensor.stride(-1) != 1;
}

Dims number_sizes(const at::Tensor& tensor) {
  Dims sizes = tensor.sizes().vec();
  const size_t last = sizes.size() - 1;
  sizes[lies_transposed(tensor) ? last - 1 : last] *= format_of(tensor).in_byte;
  return sizes;
}

at::Tensor numbers_of(const at::Tensor& tensor) {
  const Format format = format_of(tensor);
  if (format.in_byte == 1) return tensor.to(at::kFloat);
  if (lies_transposed(tensor)) return numbers_of(tensor.transpose(-1, -2)).transpose(-1, -2);
  auto bytes = bytes_of(tensor).to(at::kLong);
  auto codes = at::stack({bytes.bitwise_and(15), bytes.bitwise_right_shift(4)}, -1).flatten(-2);
  auto result = indexed(magnitudes(format), {codes.bitwise_and(7)});
  return at::where(codes.lt(8), result, result.neg());
}

void write_numbers(const at::Tensor& out, const at::Tensor& value, const std::string& mode) {
  const Format format = format_of(out);
  auto result = rounded_to(format, value.nan_to_num(0), mode);
  if (format.in_byte == 1) return write(bytes_of(out), bytes_of(result.to(out.scalar_type())));
  auto codes = at::bucketize(result.abs(), magnitudes(format)).add(result.signbit().to(at::kLong).mul(8));
  auto pairs = codes.unflatten(-1, {-1, 2});
  write(bytes_of(out), pairs.select(-1, 0).add(pairs.select(-1, 1).mul(16)).to(at::kByte));
}

bool of_whole_numbers(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kChar || tensor.scalar_type() == at::kInt;
}

double largest_of(const at::Tensor& out) {
  return of_whole_numbers(out) ? quant::largest(out) : format_of(out).largest;
}

double least_of(const at::Tensor& out) { return -largest_of(out) - of_whole_numbers(out); }

at::Tensor stepped(const at::Tensor& value, const at::Tensor& out) {
  if (of_whole_numbers(out)) return quant::saturated(value, out);
  return rounded_to(format_of(out), as_float(value), "rint").to(out.scalar_type());
}

void write_stepped(const at::Tensor& out, const at::Tensor& value, const std::string& mode) {
  if (of_whole_numbers(out) || format_of(out).in_byte == 1) return write(out, stepped(value, out));
  write_numbers(out, value, mode);
}

void stepped_like(const at::Tensor& out, at::IntArrayRef value) {
  of_dtype("y", out, {at::kChar, at::kInt, at::kFloat, at::kFloat8_e5m2, at::kFloat8_e4m3fn});
  of_whole_numbers(out) ? quant::quantized_like(out, value) : shape(out, value);
}

bool of_pairs(const at::Tensor& x) { return x.scalar_type() == kFloat4; }

constexpr int64_t kInt4 = 29;  // of aclDataType
static bool into_pairs(int64_t dtype) { return dtype == kFormats[2].code || dtype == kFormats[3].code; }

void cast_like(const at::Tensor& x, int64_t dtype, const at::Tensor& out) {
  const bool small = into_pairs(dtype);
  SIM_CHECK(x.dim() || !(small || dtype == kInt4), "self without dimensions for numbers of 4 bits");
  if (dtype == kInt4) {
    of_dtype("self for INT4", x, {at::kInt}), of_dtype("out of INT4", out, {at::kInt, at::kByte});
    SIM_CHECK(x.is_contiguous(), "self ", x.sizes(), " with strides ", x.strides(), " for INT4 is not contiguous");
    Dims sizes = x.sizes().vec();
    sizes.back() /= out.scalar_type() == at::kByte ? 2 : 8;
    return shape(out, sizes);
  }
  SIM_CHECK(!small || format_of(out).code == dtype, "dtype ", dtype, " for an output of ", out.scalar_type());
  if (small) out_like(out, of_pairs(x) ? number_sizes(x) : Dims(x.sizes().vec()));
  else of_pairs(x) ? shape(out, number_sizes(x)) : like(out, x);
}

// The page does not say what becomes of a number that 4 bits cannot hold: as in other casts its lowest bits stay.
void cast(const at::Tensor& x, int64_t dtype, const at::Tensor& out) {
  if (dtype == kInt4 && out.scalar_type() == at::kInt) return write(out, quant::packed(x));
  if (dtype == kInt4) {
    auto pairs = x.bitwise_and(15).unflatten(-1, {-1, 2});
    return write(out, pairs.select(-1, 0).add(pairs.select(-1, 1).mul(16)).to(at::kByte));
  }
  if (into_pairs(dtype)) return write_numbers(out, of_pairs(x) ? numbers_of(x) : as_float(x));
  out.copy_(of_pairs(x) ? numbers_of(x) : x);
}

void pad_like(const at::Tensor& x, const Dims& pads) {
  if (!c10::isFloat8Type(x.scalar_type()) && !of_pairs(x)) return;
  SIM_CHECK(std::all_of(pads.begin(), pads.end(), [](int64_t pad) { return pad >= 0; }), "pad ", pads, " for ",
            x.scalar_type(), "; no negative numbers are allowed");
  SIM_CHECK(!of_pairs(x) || pads.size() < 2 || (pads[0] % 2 == 0 && pads[1] % 2 == 0), "pad ", pads, " for ",
            x.scalar_type(), "; the last dimension takes even numbers");
}

Dims stored_pads(const at::Tensor& x, const Dims& pads) {
  Dims bytes = pads;
  for (size_t i = 0; of_pairs(x) && i < std::min<size_t>(2, bytes.size()); ++i) bytes[i] /= 2;
  return bytes;
}

void pad(const at::Tensor& out, const at::Tensor& x, const Dims& pads, const at::Scalar& value) {
  const Dims bytes = stored_pads(x, pads);
  if (x.scalar_type() == at::kFloat8_e8m0fnu) {  // powers of two: what is less, 0 too, is the least of them
    const auto number = at::full({1}, value, at::kFloat).to(x.scalar_type());
    return write(bytes_of(out), at::constant_pad_nd(bytes_of(x), bytes, bytes_of(number).item()));
  }
  if (!of_pairs(x)) return write(out, at::constant_pad_nd(x, bytes, value));
  const auto pair = at::empty({1}, x.options());
  write_numbers(pair, at::full({2}, value, at::kFloat));
  write(bytes_of(out), at::constant_pad_nd(bytes_of(x), bytes, bytes_of(pair).item()));
}

// ---- what must hold ------------------------------------------------------------------------------------------------
void without_range(int64_t algorithm) {
  SIM_CHECK(algorithm == kFloor || algorithm == kCeil, "scaleAlg ", algorithm, "; allowed: 0, 1");
}

void block_like(const How& how, int64_t dtype, const at::Tensor& out) {
  const Format format = format_of(out);
  SIM_CHECK(dtype == format.code, "dstType ", dtype, " for an output of data type ", format.code);
  const bool small = format.in_byte == 2, ranged = format.code == 40 || (format.code == 41 && how.top > 0);
  SIM_CHECK(how.mode.empty() || how.mode == "rint" || (small && (how.mode == "floor" || how.mode == "round")),
            "roundMode ", how.mode, "; allowed: rint", small ? ", floor, round" : "");
  SIM_CHECK(how.algorithm == kFloor || how.algorithm == (small ? kRange : kCeil), "scaleAlg ", how.algorithm,
            " for data type ", format.code, "; allowed: 0, ", small ? 2 : 1);
  SIM_CHECK(
      how.top == 0 || (ranged && how.algorithm == kRange && how.top >= format.largest && how.top <= 2 * format.largest),
      "dstTypeMax ", how.top, "; allowed: 0, or with scaleAlg 2 from ", format.largest, " to twice as much");
  SIM_CHECK(how.least == 0 || (how.algorithm == kCeil && how.least > 0), "maxLowBound ", how.least,
            "; allowed: 0, or more with scaleAlg 1");
  SIM_CHECK(how.block > 0 && how.block % 32 == 0 && how.block <= 1024, "blocksize ", how.block,
            "; allowed: multiples of 32 up to 1024");
  SIM_CHECK(how.algorithm != kRange || how.block == 32, "blocksize ", how.block, "; allowed with scaleAlg 2: 32");
}

void scale_like(const at::Tensor& scale, const at::Tensor& values, int64_t axis, int64_t block, int64_t groups) {
  of_dtype("mxscale", scale, {at::kFloat8_e8m0fnu});
  shape(scale, scale_sizes(values, axis, block, groups));
}

void out_like(const at::Tensor& out, at::IntArrayRef values) {
  Dims sizes = values.vec();
  const int64_t in_byte = format_of(out).in_byte;
  SIM_CHECK(remainder_of(sizes.back(), in_byte) == 0, "the last dimension of ", values, " is odd");
  sizes.back() /= in_byte;
  shape(out, sizes);
}

void quant_like(const at::Tensor& x, int64_t axis, int64_t dtype, const How& how, const at::Tensor& out,
                const at::Tensor& scale) {
  SIM_CHECK(x.dim() >= 1 && x.dim() <= 7, "x ", x.sizes(), "; 1 to 7 dimensions are allowed");
  block_like(how, dtype, out), out_like(out, x.sizes()), scale_like(scale, x, axis, how.block);
  SIM_CHECK(x.scalar_type() != at::kFloat || (how.block == 32 && x.size(axis) >= 32), "x of float ", x.sizes(),
            " in blocks of ", how.block, "; allowed: 32, and a dimension of 32 or more");
}

// ---- what is computed ----------------------------------------------------------------------------------------------
void quant(const at::Tensor& x, int64_t axis, const How& how, const at::Tensor& out, const at::Tensor& scale) {
  auto [values, scales] = quantized(as_float(x), axis, format_of(out), how);
  write_numbers(out, values, how.mode);
  write_scales(scale, scales, axis);
}

void grouped_like(const at::Tensor& x, const at::Tensor& ends, int64_t dtype, const How& how, const at::Tensor& out,
                  const at::Tensor& scale) {
  SIM_CHECK(x.dim() == 2 && ends.dim() == 1, "x with 2 dimensions and groups with 1 expected, got ", x.sizes(), " and ",
            ends.sizes());
  SIM_CHECK(how.block == 32, "blocksize ", how.block, "; allowed: 32");
  block_like(how, dtype, out), out_like(out, x.sizes()), scale_like(scale, x, 0, how.block, ends.numel());
}

// The pages tell the size alone. It is what a group needs that finds its place without the lengths of those before.
int64_t first_scale(int64_t group, int64_t start, int64_t block) { return start / (2 * block) + group; }

void grouped_quant(const at::Tensor& x, const at::Tensor& ends, int64_t kind, const How& how, const at::Tensor& out,
                   const at::Tensor& scale) {
  bytes_of(scale).zero_();
  for (const auto& [group, start, count] : groups::of(ends, kind, x.size(0))) {
    if (!count) continue;
    quant(x.narrow(0, start, count), 0, how, out.narrow(0, start, count),
          scale.narrow(0, first_scale(group, start, how.block), blocks(count, 2 * how.block)));
  }
}

void dual_like(const at::Tensor& x, const at::Tensor& ends, int64_t dtype, const How& how, const TwoAxes& to) {
  SIM_CHECK(x.dim() >= 2 && x.dim() <= 7, "x ", x.sizes(), "; 2 to 7 dimensions are allowed");
  block_like(how, dtype, to.out1), out_like(to.out1, x.sizes()), scale_like(to.scale1, x, -1, how.block);
  if (ends.defined()) return grouped_like(x, ends, dtype, how, to.out2, to.scale2);
  block_like(how, dtype, to.out2), out_like(to.out2, x.sizes()), scale_like(to.scale2, x, -2, how.block);
}

void dual_quant(const at::Tensor& x, const at::Tensor& ends, const How& how, const TwoAxes& to) {
  quant(x, -1, how, to.out1, to.scale1);
  ends.defined() ? grouped_quant(x, ends, groups::kEnds, how, to.out2, to.scale2)
                 : quant(x, -2, how, to.out2, to.scale2);
}

void square_like(const at::Tensor& x, int64_t dtype, const How& how, const TwoScales& to) {
  SIM_CHECK(x.dim() == 2 || x.dim() == 3, "x ", x.sizes(), "; 2 or 3 dimensions are allowed");
  SIM_CHECK(how.algorithm != kCeil, "scaleAlg 1; allowed: 0, 2");
  SIM_CHECK(how.top == 0 || how.top == 6 || how.top == 7, "dstTypeMax ", how.top, "; allowed: 0, 6, 7");
  block_like(how, dtype, to.out), out_like(to.out, x.sizes());
  scale_like(to.scale1, x, -1, how.block), scale_like(to.scale2, x, -2, how.block);
}

void square_quant(const at::Tensor& x, const How& how, const TwoScales& to) {
  auto all = as_float(x);
  auto scales =
      exponents(largest_in(largest_in(all, -1, how.block), -2, how.block), format_of(to.out), how);  // of each block
  auto by_row = spread(scales, -2, how.block, x.size(-2));
  write_numbers(to.out, all.div(spread(factors(by_row), -1, how.block, x.size(-1))), how.mode);
  write_scales(to.scale1, by_row, -1);
  write_scales(to.scale2, spread(scales, -1, how.block, x.size(-1)), -2);
}

void reblocked_like(const at::Tensor& x, const at::Tensor& scale, int64_t dtype, const TwoScales& to) {
  const Dims sizes = number_sizes(x);
  SIM_CHECK((sizes.size() == 2 || sizes.size() == 3) && sizes[sizes.size() - 2] % 64 == 0 && sizes.back() % 2 == 0,
            "x ", sizes, "; 2 or 3 dimensions, multiples of 64 and of 2, are allowed");
  SIM_CHECK(dtype == format_of(to.out).code, "dstType ", dtype, " for an output of data type ", format_of(to.out).code);
  shape(to.out, sizes);
  const at::Tensor values = at::empty(sizes, at::kByte);
  scale_like(scale, values, -1, 32), scale_like(to.scale1, values, -1, 32), scale_like(to.scale2, values, -2, 32);
}

void reblocked(const at::Tensor& x, const at::Tensor& scale, const TwoScales& to) {
  const at::Tensor numbers = numbers_of(x);
  const int64_t rows = numbers.size(-2), columns = numbers.size(-1), across = blocks(columns, 32);
  const int64_t room = format_of(to.out).most - format_of(x).most;
  const at::Tensor own = bytes_of(scale).flatten(-2).narrow(-1, 0, across).to(at::kInt);
  const at::Tensor square = own.unflatten(-2, {-1, 32}).amax(-2).sub(room).clamp_min(0);
  const at::Tensor by_row = spread(square, -2, 32, rows);
  write_numbers(to.out, numbers.mul(spread(at::exp2(own.sub(by_row).to(at::kFloat)), -1, 32, columns)), "rint");
  write_scales(to.scale1, by_row.to(at::kByte), -1);
  write_scales(to.scale2, spread(square, -1, 32, columns).to(at::kByte), -2);
}

void two_level_like(const at::Tensor& x, const at::Tensor& smooth, int64_t block0, const How& how,
                    const TwoScales& to) {
  SIM_CHECK(block0 == 512 && how.block == 32, "blocks of ", block0, " and ", how.block, "; allowed: 512 and 32");
  quant_like(x, -1, 40, how, to.out, to.scale2);
  shapes<"*rows _ -> *rows =blocks">({blocks(x.size(-1), block0)}, x, to.scale1);
  if (!smooth.defined()) return;
  same_dtype({x, smooth});
  shape(smooth, {x.size(-1)});
}

void two_level_quant(const at::Tensor& x, const at::Tensor& smooth, int64_t block0, const How& how,
                     const TwoScales& to) {
  auto all = quant::smooth(as_float(x), smooth);
  auto first = largest_in(all, -1, block0).div(format_of(to.out).largest);
  auto value = over(all, spread(first, -1, block0, x.size(-1)));
  quant(value.to(x.scalar_type()), -1, how, to.out, to.scale2);
  write(to.scale1, first);
}

void anti_like(const at::Tensor& x, const at::Tensor& scale, int64_t axis, int64_t dtype, const at::Tensor& out) {
  shape(out, x.dim() ? number_sizes(x) : Dims());
  scale_like(scale, out, axis, 32);
  const auto type = out.scalar_type();
  SIM_CHECK(dtype == (type == at::kFloat  ? 0
                      : type == at::kHalf ? 1
                                          : 27),
            "dstType ", dtype, " for an output of ", type);
}

at::Tensor anti_quant(const at::Tensor& x, const at::Tensor& scale, int64_t axis) {
  auto numbers = numbers_of(x);
  const int64_t dim = wrap(axis, x);
  auto scales = bytes_of(scale).movedim(-1, dim + 1).flatten(dim, dim + 1);
  return numbers.mul(spread(factors(scales.contiguous()), dim, 32, numbers.size(dim)));
}

}  // namespace sim::mx
