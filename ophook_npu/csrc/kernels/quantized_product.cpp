#include "kernels/quantized_product.h"

#include "kernels/groups.h"
#include "kernels/pattern.h"

#include "kernels/mx_quant.h"
#include "kernels/quant.h"
#include "kernels/scaled_product.h"

namespace sim::weighted {

using namespace sim::quant;
using sim::mx::of_whole_numbers;

at::Tensor present(const at::Tensor& tensor) { return tensor.defined() && tensor.numel() ? tensor : at::Tensor(); }

at::Tensor plus(const at::Tensor& value, const at::Tensor& bias) {
  return bias.defined() ? value.add(wide(bias)) : value;
}

// 8 bits by 4: the device takes an x apart into halves of 4 bits, both with a sign, so that x is too small by 8. The
// caller gives what that leaves out, 8 * weight * scale summed over k, as `bias`. A scale for each group of k.
static at::Tensor product_of_8_by_4(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& scale,
                                    const at::Tensor& bias, const at::Tensor& row_scale) {
  SIM_CHECK(row_scale.defined(), "int8 by int4 needs the scales of the rows");
  auto scaled = dequantized(weight, scale_of(scale).reshape({-1, scale.size(-1)}), {});
  auto value = plus(at::matmul(wide(x).to(at::kFloat).sub(8), scaled), bias);
  return value.mul(wide(row_scale).reshape({-1, 1}));
}

// Weights of 4 bits with a scale, and a zero point, for each group of k.
at::Tensor product_by_groups(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& scale,
                             const at::Tensor& zero, const at::Tensor& row_scale) {
  auto numbers = whole_numbers(weight).to(at::kFloat);
  auto zeros = zero.defined() ? std::optional<at::Tensor>(wide(zero)) : std::nullopt;
  const int64_t each = divided(numbers.size(0), scale.size(0));
  if (zeros) numbers = numbers.sub(zeros->repeat_interleave(each, 0));
  auto value = at::matmul(whole_numbers(x).to(at::kFloat), numbers.mul(scale_of(scale).repeat_interleave(each, 0)));
  return row_scale.defined() ? value.mul(row_scale.reshape({-1, 1})) : value;
}

// Without a scale the sums themselves.
static at::Tensor integer_product_of(const at::Tensor& x, const at::Tensor& weight, const Extras& with) {
  auto sums = integer_product(whole_numbers(x), whole_numbers(weight));
  const bool early = with.bias.defined() && with.bias.scalar_type() == at::kInt;
  if (early) sums = sums.add(with.bias);
  if (!with.scale.defined()) return sums;
  auto scale = scale_of(with.scale).reshape({-1});
  SIM_CHECK(scale.numel() == 1 || scale.numel() == sums.size(-1), scale.numel(), " scales for ", sums.size(-1),
            " columns; scales by group of k are not simulated here");
  auto value = sums.to(at::kFloat).mul(scale);
  if (with.row_scale.defined()) value = value.mul(wide(with.row_scale).reshape({-1, 1}));
  return early ? value : plus(value, with.bias);
}

// With a scale for each 32 numbers along k. No page has it: torch_npu and op-plugin's tests pass it so on an Ascend950,
// and the bias is added to the product.
at::Tensor scaled_product(const at::Tensor& x, const at::Tensor& weight, const Extras& with) {
  return plus(at::matmul(scaled::rows_times_factors(mx::numbers_of(x), with.row_scale),
                         scaled::times_factors(mx::numbers_of(weight), with.scale)),
              with.bias);
}

// FLOAT8 and FLOAT4; FLOAT4_E1M2 arrives as bytes.
bool of_small_floats(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kFloat8_e5m2:
    case at::kFloat8_e4m3fn:
    case at::kByte:
    case kFloat4: return true;
    default: return false;
  }
}

// The scale of a weight of 4 bits for an x of 8 comes as antiquant_scale.
static at::Tensor product_of_small_floats(const at::Tensor& x, const at::Tensor& weight, const Extras& with) {
  SIM_CHECK(of_small_floats(weight) || (mx::is_hifloat8(x) && mx::is_hifloat8(weight)), "x of ", x.scalar_type(),
            " by a weight of ", weight.scalar_type(), " is not simulated");
  SIM_CHECK(!with.offset.defined() && !with.antiquant_offset.defined(),
            "offsets of FLOAT8 and FLOAT4 are not simulated");
  const at::Tensor& scale = with.scale.defined() ? with.scale : with.antiquant_scale;
  SIM_CHECK(scale.defined(), "x of ", x.scalar_type(), " needs a scale of the weight");
  if (scale.scalar_type() == at::kFloat8_e8m0fnu) {
    const int64_t k = mx::number_sizes(x)[1], blocks = divided(k + 63, 64);
    SIM_CHECK(with.row_scale.defined(), "blocks of 32 numbers need the scales of the rows");
    shape(scale, {blocks, mx::number_sizes(weight)[1], 2}), shape(with.row_scale, {x.size(0), blocks, 2});
    return scaled_product(x, weight, {with.bias, scale, {}, {}, {}, with.row_scale});
  }
  auto value = at::matmul(mx::numbers_of(x), mx::numbers_of(weight)).mul(scale_of(scale).reshape({-1}));
  return plus(with.row_scale.defined() ? value.mul(wide(with.row_scale).reshape({-1, 1})) : value, with.bias);
}

// HIFLOAT8 is float here, and goes with a scale.
static bool scaled_floats(const at::Tensor& tensor, const at::Tensor& scale) {
  return of_small_floats(tensor) || (scale.defined() && mx::is_hifloat8(tensor));
}

at::Tensor product(const at::Tensor& x, const at::Tensor& weight, const Extras& with) {
  // Numbers of FLOAT may come with a scale and an offset that nothing reads.
  const bool plain = mx::is_hifloat8(x) && with.offset.defined();
  if (!plain && scaled_floats(x, with.scale)) return product_of_small_floats(x, weight, with);
  if (x.scalar_type() == at::kChar && weight.scalar_type() == at::kInt) {
    refuse_if_given({with.offset}, "offset of a product of int8 by int4");
    return product_of_8_by_4(x, weight, with.scale, with.bias, with.row_scale);
  }
  if (of_whole_numbers(x)) return integer_product_of(x, weight, with);
  const bool small = !plain && scaled_floats(weight, with.antiquant_scale);
  if (!small && !of_whole_numbers(weight)) return plus(at::matmul(wide(x), wide(weight)), with.bias);
  SIM_CHECK(with.antiquant_scale.defined(), "a weight of ", weight.scalar_type(), " needs antiquant_scale");
  auto scale = with.antiquant_scale;
  SIM_CHECK(!mx::of_pairs(weight) || scale.dim() <= 2, "antiquantScale ", scale.sizes(), " for x of ", x.scalar_type(),
            " is not simulated; allowed: one number, one for each column, or (groups along k, columns)");
  if (scale.scalar_type() == at::kFloat8_e8m0fnu) scale = scale.to(at::kFloat).to(x.scalar_type());
  const auto numbers = small ? mx::numbers_of(weight) : whole_numbers(weight);
  return plus(at::matmul(wide(x), wide(dequantized(numbers, scale, with.antiquant_offset))), with.bias);
}

void write_product(const at::Tensor& out, at::Tensor value, const Extras& with) {
  if (out.scalar_type() != at::kChar) return write(out, value.to(out.scalar_type()));
  if (with.scale.defined() && is_encoded(with.scale))
    value = value.round().clamp(-256, 255).add(offset_of(with.scale).reshape({-1}));  // 9 bits before the offset
  write_quantized(out, plus(value, with.offset));
}

// ---- one quantized product -----------------------------------------------------------------------------------------
constexpr int64_t kBlock = 128;

static bool by_blocks(const at::Tensor& x, const at::Tensor& row_scale) {
  return row_scale.defined() && row_scale.dim() == 2 && x.scalar_type() == at::kChar && row_scale.size(1) > 1;
}

void bias_like(const at::Tensor& bias, const at::Tensor& out) {
  if (!present(bias).defined()) return;
  SIM_CHECK(bias.dim() && bias.size(-1) == out.size(-1), "bias ", bias.sizes(), " for ", out.size(-1), " columns");
  into(out, {bias});
}

static bool by_groups(const at::Tensor& scale) { return scale.dim() == 2 && scale.size(0) > 1 && scale.size(1) > 1; }
static bool is_8_by_4(const Factors& of) {
  return of.x.scalar_type() == at::kChar && of.weight.scalar_type() == at::kInt;
}

// Scales are one number or one for each column, or, where the weight has 4 bits, one for each group of k too.
static void scales_like(const Factors& of, const at::Tensor& out) {
  const int64_t columns = out.size(-1), k = whole_sizes(of.x).back();
  const at::Tensor scale = present(of.scale), row_scale = present(of.row_scale), offset = present(of.offset);
  if (scale.defined() && (is_8_by_4(of) || by_groups(scale))) {
    SIM_CHECK(scale.dim() && scale.size(-1) == columns && scale.numel() && k % (scale.numel() / columns) == 0,
              "x2Scale ", scale.sizes(), " for k of ", k, " and ", columns,
              " columns; ([groups of k,] columns) expected");
    if (!is_8_by_4(of) && offset.defined()) like(offset, scale);
  } else {
    one_or_each("x2Scale", scale, columns), one_or_each("x2Offset", offset, columns);
  }
  one_or_each("yOffset", present(of.out_offset), columns);
  if (of.x.scalar_type() == at::kChar) counted("x1Scale", row_scale, {out.size(-2)});
  else one_or_each("x1Scale", row_scale, out.size(-2));
  bias_like(of.bias, out);
}

void quantized_matmul_like(const Factors& of, const at::Tensor& x_offset, const at::Tensor& out_scale,
                           const at::Tensor& out) {
  of_dtype("x1", of.x, {at::kChar, at::kInt});
  of_dtype("x2", of.weight, {at::kChar, at::kInt});
  SIM_CHECK(!present(x_offset).defined() && !present(out_scale).defined(), "x1_offset and y_scale are not simulated");
  matrix(out, whole_sizes(of.x), whole_sizes(of.weight));
  if (!by_blocks(of.x, of.row_scale)) scales_like(of, out);
}

void quantized_matmul(const Factors& of, const at::Tensor& out) {
  Extras with{present(of.bias), of.scale, present(of.offset), {}, {}, present(of.row_scale)};
  if (out.scalar_type() == at::kInt) with.scale = at::Tensor();
  if (is_8_by_4(of))
    return write_product(out, product_of_8_by_4(of.x, of.weight, of.scale, present(of.out_offset), with.row_scale), {});
  if (by_groups(of.scale))
    return write_product(out, product_by_groups(of.x, of.weight, of.scale, with.offset, with.row_scale), {});
  auto value = product(of.x, of.weight, with);
  if (is_encoded(of.scale)) with.offset = at::Tensor();  // it is part of the scale
  write_product(out, value, with);
}

at::Tensor one_scale(double scale) { return at::full({1}, scale, at::kFloat); }

at::Tensor of_columns(const at::Tensor& scale, const at::Tensor& weight) {
  constexpr int64_t kTogether = 16;
  const int64_t columns = whole_sizes(weight).back(), all = divided(columns + kTogether - 1, kTogether) * kTogether;
  SIM_CHECK(scale.dim() == 1 && (scale.numel() == columns || scale.numel() == all), "scales ", scale.sizes(), " for ",
            columns, " columns; (", columns, ") or (", all, ") expected");
  return scale.narrow(0, 0, columns);
}

at::Tensor turned(const at::Tensor& matrix, bool transpose) { return transpose ? matrix.transpose(-1, -2) : matrix; }

static void one_product(const at::Tensor& out, const at::Tensor& x, const at::Tensor& weight) {
  matrix(out, x, weight);
  SIM_CHECK(out.dim() == 2, "matrices of ", x.sizes(), " and ", weight.sizes(), "; allowed: two dimensions");
}

static void none_of(std::initializer_list<at::Tensor> tensors) {
  for (const at::Tensor& each : tensors)
    SIM_CHECK(!present(each).defined(), "yScale, x1Offset, x2Offset, yOffset, x3 (or bias) are not taken");
}

static bool with_powers(const Factors& of) { return scaled::by_powers(of.row_scale, of.scale); }

static scaled::Factors powers_of(const Factors& of, Turns turns) {
  auto over = [](const at::Tensor& scale, bool turn) { return turn ? scale.transpose(-3, -2) : scale; };
  return {of.x, of.weight, over(of.row_scale, turns.x), over(of.scale, turns.weight)};
}

static void with_powers_like(const Factors& of, std::initializer_list<at::Tensor> absent, Turns turns,
                             int64_t group_size, const at::Tensor& out) {
  none_of(absent);
  for (const auto& [matrix, scale] : {std::pair(of.x, of.row_scale), std::pair(of.weight, of.scale)})
    SIM_CHECK(matrix.dim() >= 2 && scale.dim() == matrix.dim() + 1, "scales ", scale.sizes(), " of a matrix ",
              matrix.sizes(), "; one dimension more is expected");
  scaled::product_by_powers_like(powers_of(of, turns), present(of.bias), group_size, out);
}

void product_by_scales_like(const Factors& of, const at::Tensor& x_offset, const at::Tensor& out_scale, Turns turns,
                            int64_t group_size, const at::Tensor& out) {
  if (with_powers(of))
    return with_powers_like(of, {x_offset, out_scale, of.offset, of.out_offset}, turns, group_size, out);
  quantized_matmul_like(of, x_offset, out_scale, out);
  if (!by_blocks(of.x, of.row_scale)) return;
  of_dtype("x2", of.weight, {at::kChar});
  one_product(out, of.x, of.weight);
  const int64_t blocks = divided(of.x.size(1) + kBlock - 1, kBlock);
  shape(of.row_scale, {of.x.size(0), blocks});
  shape(turned(of.scale, turns.weight), {blocks, divided(of.weight.size(1) + kBlock - 1, kBlock)});
  bias_like(of.bias, out);
}

static void product_by_blocks(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& row_scale,
                              const at::Tensor& scale, const at::Tensor& bias, const at::Tensor& out) {
  auto total = at::zeros({x.size(0), weight.size(1)});
  const auto columns = scale.repeat_interleave(kBlock, 1).narrow(1, 0, weight.size(1));
  for (int64_t block = 0; block < scale.size(0); ++block) {
    const int64_t first = block * kBlock, count = std::min(kBlock, x.size(1) - first);
    auto part = integer_product(x.narrow(1, first, count), weight.narrow(0, first, count)).to(at::kFloat);
    total.add_(part.mul(row_scale.narrow(1, block, 1)).mul(columns.narrow(0, block, 1)));
  }
  write(out, (bias.defined() ? total.add(wide(bias)) : total).to(out.scalar_type()));
}

void product_by_scales(const Factors& of, Turns turns, const at::Tensor& out) {
  if (with_powers(of))
    return write(out, plus(scaled::product_by_powers(powers_of(of, turns)), present(of.bias)).to(out.scalar_type()));
  if (by_blocks(of.x, of.row_scale))
    return product_by_blocks(of.x, of.weight, of.row_scale, turned(of.scale, turns.weight), of.bias, out);
  quantized_matmul(of, out);
}

// (x2 + offset) * scale: of up to 64 rows with the offsets and scales that the caller made for a matrix unit, of more
// with its own.
static bool has_few_rows(const ForMatrixUnit& of) { return of.x.size(0) <= 64; }

void matrix_quantized_like(const ForMatrixUnit& of, const at::Tensor& out) {
  one_product(out, of.x, of.weight);
  const bool few = has_few_rows(of);
  SIM_CHECK(!few || (of.deq_offset.defined() && of.deq_scale.defined()), "deqOffset and deqScale are null for ",
            of.x.size(0), " rows; up to 64 need them");
  if (few) shape(of.diagonal, {32, 32});
  one_or_each(few ? "deqOffset" : "addOffset", few ? of.deq_offset : of.offset, out.size(1));
  one_or_each(few ? "deqScale" : "mulScale", few ? of.deq_scale : of.scale, out.size(1));
  into(out, {of.bias});
}

void matrix_quantized(const ForMatrixUnit& of, const at::Tensor& out) {
  const bool few = has_few_rows(of);
  auto numbers = of.weight.to(at::kFloat);
  auto row = [](const at::Tensor& values) { return values.to(at::kFloat).reshape({1, -1}); };
  if (const at::Tensor& added = few ? of.deq_offset : of.offset; added.defined()) numbers = numbers.add(row(added));
  if (const at::Tensor& factor = few ? of.deq_scale : of.scale; factor.defined())
    numbers = numbers.mul(row(few ? scale_of(factor) : factor));
  auto value = at::matmul(of.x.to(at::kFloat), numbers);
  write(out, (of.bias.defined() ? value.add(of.bias) : value).to(out.scalar_type()));
}

at::Tensor reduced_product(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& row_scale,
                           const at::Tensor& scale) {
  auto value = integer_product(x, weight).to(at::kFloat).mul(wide(row_scale).unsqueeze(-1));
  return value.mul(scale_of(scale)).sum(0);
}

void reduced_product_like(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& row_scale,
                          const at::Tensor& scale, std::initializer_list<at::Tensor> absent, bool otherwise,
                          const at::Tensor& out) {
  none_of(absent);
  shapes<"batch m k, batch k n, batch m? -> m n">(x, weight, row_scale, out);
  SIM_CHECK(!otherwise, "transposeX1, transposeX2 or keepDims is true; allowed: false");
  shape(scale, {weight.size(2)});
}

void fused_product_like(const Factors& of, std::initializer_list<at::Tensor> absent, const at::Tensor& out) {
  none_of(absent);
  quantized_matmul_like(of, {}, {}, out);
}

at::Tensor fused_product(const Factors& of, const std::string& activation) {
  auto value = product(of.x, of.weight, {present(of.bias), of.scale, {}, {}, {}, present(of.row_scale)});
  return activation.empty() ? value : at::gelu(value, activation == "gelu_tanh" ? "tanh" : "none");
}

void quantized_result(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& scale, const at::Tensor& bias,
                      const at::Tensor& out) {
  auto value = plus(at::matmul(wide(x), wide(weight)), present(bias));
  write_product(out, value.mul(scale_of(scale).reshape({-1})), {{}, scale, {}, {}, {}, {}});
}

// ---- quantized on the way ------------------------------------------------------------------------------------------
void requantized_like(const Requantized& of, const std::string& mode, bool transpose_weight, const at::Tensor& out) {
  of_dtype("x", of.x, {at::kHalf}), of_dtype("weight", of.weight, {at::kChar}), of_dtype("out", out, {at::kHalf});
  SIM_CHECK(transpose_weight, "transposeWeight false; allowed: true");
  SIM_CHECK(mode == "pertoken" || mode == "pertensor", "xQuantMode '", mode, "'; allowed: pertoken, pertensor");
  const bool groups = of.weight.dim() == 3;
  SIM_CHECK(groups == of.ends.defined(), "a weight ", of.weight.sizes(),
            groups ? " needs a groupList" : " takes no groupList");
  SIM_CHECK(of.x.dim() == 2 && of.weight.dim() == 2 + groups && of.weight.size(-1) == of.x.size(1),
            "x (m, k) and weight ", groups ? "(experts, n, k)" : "(n, k)", " expected, got ", of.x.sizes(), " and ",
            of.weight.sizes());
  SIM_CHECK(of.weight.size(-1) % 16 == 0 && of.weight.size(-2) % 16 == 0, "n and k of weight ", of.weight.sizes(),
            " must be multiples of 16");
  shape(out, {of.x.size(0), of.weight.size(-2)});
  shape(of.scale, of.weight.sizes().slice(0, size_t(of.weight.dim()) - 1));
  of_dtype("weightScale", of.scale, {at::kFloat, at::kLong});
  if (groups) shape(of.ends, {of.weight.size(0)}), of_dtype("groupList", of.ends, {at::kLong});
  const bool scaled = present(of.x_scale).defined(), both = of.scale.scalar_type() == at::kLong;
  SIM_CHECK(scaled || mode == "pertoken", "xQuantMode pertensor needs xScale");
  SIM_CHECK(both == (scaled && of.x_scale.scalar_type() == at::kHalf),
            "weightScale of INT64 goes with xScale of FLOAT16");
  SIM_CHECK(!both || mode == "pertensor", "weightScale of INT64 goes with xQuantMode pertensor");
  if (scaled) shape(of.x_scale, {mode == "pertensor" ? 1 : of.x.size(0)});
  if (present(of.smooth).defined()) shape(of.smooth, {of.x.size(1)}), of_dtype("smoothScale", of.smooth, {at::kHalf});
}

// A weight's scale of INT64 has the bits of a float that x's scale is a part of.
static at::Tensor of_float_bits(const at::Tensor& scale) {
  return scale.scalar_type() == at::kLong ? scale.to(at::kInt).view(at::kFloat) : scale;
}

// Halves are rounded to the even neighbour, as in the device's cast.
at::Tensor requantized(const Requantized& of) {
  auto rows = wide(of.x);
  if (present(of.smooth).defined()) rows = rows.mul(wide(of.smooth));
  Dynamic steps;
  if (present(of.x_scale).defined()) {
    steps.scale = wide(of.x_scale);
    steps.value = rows.div(steps.scale.reshape({-1, 1}));
  } else {
    steps = symmetric(rows, 127);
  }
  const at::Tensor whole = saturated(steps.value, at::empty({0}, at::kChar));
  const auto scaled = [&](const at::Tensor& part, const at::Tensor& matrix, const at::Tensor& columns) {
    return integer_product(part, matrix.t()).to(at::kFloat).mul(of_float_bits(columns));
  };
  at::Tensor value;
  if (of.ends.defined()) {
    value = at::zeros({of.x.size(0), of.weight.size(1)});
    for (const auto& [expert, start, count] : groups::of(of.ends, groups::kEnds, of.x.size(0)))
      if (count)
        value.narrow(0, start, count).copy_(scaled(whole.narrow(0, start, count), of.weight[expert], of.scale[expert]));
  } else {
    value = scaled(whole, of.weight, of.scale);
  }
  return of.scale.scalar_type() == at::kLong ? value : value.mul(steps.scale.reshape({-1, 1}));
}

// ---- weights of 4 or 8 bits alone ----------------------------------------------------------------------------------
// Eight numbers of FLOAT4_E2M1 may lie in each element of FLOAT; HIFLOAT8, which is float here, has as many elements as
// numbers.
static bool in_words(const at::Tensor& weight, const at::Tensor& x, const at::Tensor& out) {
  return weight.scalar_type() == at::kFloat && weight.numel() * 8 == x.size(-1) * out.size(-1);
}
static bool of_4_bits(const at::Tensor& weight, const at::Tensor& x, const at::Tensor& out) {
  return weight.scalar_type() == kFloat4 || in_words(weight, x, out);
}
static at::Tensor in_pairs(const at::Tensor& weight, const at::Tensor& x, const at::Tensor& out) {
  if (!in_words(weight, x, out)) return weight;
  const bool turned_over = !weight.is_contiguous();
  const auto pairs = turned(weight, turned_over).contiguous().view(at::kByte).view(kFloat4);
  return turned(pairs, turned_over);
}

void weight_quantized_like(const WeightQuantized& of, const at::Tensor& out) {
  const auto& [x, weight, scale, offset, out_scale, bias, group_size] = of;
  of_dtype("weight", weight, {at::kChar, at::kInt, at::kFloat8_e4m3fn, at::kFloat, kFloat4});
  SIM_CHECK_DTYPE(scale.scalar_type() != at::kFloat8_e8m0fnu || of_4_bits(weight, x, out), "antiquantScale of ",
                  scale.scalar_type(), " goes with a weight of FLOAT4_E2M1");
  SIM_CHECK(weight.dim() == 2, "a weight (k, n) expected, got ", weight.sizes(),
            "; batches of weights are not simulated");
  SIM_CHECK(!present(out_scale).defined() || is_encoded(out_scale), "quant_scale of ", out_scale.scalar_type(),
            " is not simulated");
  matrix(out, whole_sizes(x),
         of_whole_numbers(weight) ? whole_sizes(weight) : mx::number_sizes(in_pairs(weight, x, out)));
  const int64_t k = whole_sizes(x).back(), columns = out.size(-1);
  const int64_t groups = group_size > 0 ? divided(k + group_size - 1, group_size) : 1;
  const bool one = groups == 1 && scale.numel() == 1 && scale.dim() <= 2;
  const bool each = scale.dim() == 1 ? groups == 1 && scale.size(0) == columns
                                     : scale.dim() == 2 && scale.size(0) == groups && scale.size(1) == columns;
  SIM_CHECK(one || each, "antiquantScale ", scale.sizes(), " for k of ", k, " in groups of ", group_size, " and ",
            columns, " columns");
  SIM_CHECK(remainder_of(k, groups) == 0, groups, " groups of k of ", k, " are not simulated");
  if (present(offset).defined()) like(offset, scale);
  one_or_each("quantScale", present(out_scale), columns), bias_like(bias, out);
}

void weight_quantized_matmul(const WeightQuantized& of, const at::Tensor& out) {
  auto value =
      product(of.x, in_pairs(of.weight, of.x, out), {present(of.bias), {}, {}, of.scale, present(of.offset), {}});
  const Extras with{{}, present(of.out_scale), {}, {}, {}, {}};
  write_product(out, with.scale.defined() ? value.mul(scale_of(with.scale).reshape({-1})) : value, with);
}

}  // namespace sim::weighted
