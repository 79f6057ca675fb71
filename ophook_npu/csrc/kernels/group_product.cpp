#include "kernels/group_product.h"

#include <numeric>

#include "kernels/absent.h"
#include "kernels/norm.h"
#include "kernels/pattern.h"
#include "kernels/quantized_product.h"
#include "kernels/scaled_product.h"

namespace sim::group_product {

// ---- what must hold ------------------------------------------------------------------------------------------------
static bool of_8_bits(const at::Tensor& tensor) { return tensor.scalar_type() == at::kChar; }

static void columns_like(int64_t columns, const at::Tensor& weight) {
  SIM_CHECK(weight.dim() == 2 && weight.size(0) == columns, "x2 (", columns, ", n) expected, got ", weight.sizes());
}

void number_like(const Devices& devices, int64_t least, int64_t more) {
  const int64_t count = devices.ranks(), most = on_product("Ascend910_93") ? more : 8;
  SIM_CHECK((count & (count - 1)) == 0 && count >= least && count <= most, "a group of ", count,
            " devices; allowed: powers of two from ", least, " to ", most);
}

void inner_like(const Factors& with) {
  SIM_CHECK(with.x.dim() == 2, "x1 with 2 dimensions expected, got ", with.x.sizes());
  const int64_t k = with.x.size(1);
  SIM_CHECK(k >= 256 && k < 65535, "k of ", k, "; allowed: 256 to 65534");
}

void product_like(const Factors& with, const at::Tensor& out, int64_t more, int64_t fewer) {
  const at::Tensor& x = with.x;
  SIM_CHECK(x.dim() == 2 || (x.dim() == 3 && more == 1 && fewer == 1), "x1 with 2",
            more == 1 && fewer == 1 ? " or 3" : "", " dimensions expected, got ", x.sizes());
  columns_like(x.size(-1), with.weight);
  SIM_CHECK(remainder_of(x.size(0) * more, fewer) == 0, x.size(0), " rows of x1 for ", fewer, " devices");
  at::DimVector sizes(x.sizes());
  sizes[0] = divided(sizes[0] * more, fewer);
  sizes.back() = with.weight.size(1);
  shape(out, sizes);
  if (with.rest.defined()) like(out, with.rest);
  SIM_CHECK(!with.bias.defined() || (with.bias.dim() == 1 && with.bias.size(0) == with.weight.size(1)), "a bias (",
            with.weight.size(1), ") expected, got ", with.bias.sizes());
  const bool quantized = of_8_bits(x), quantized_weight = of_8_bits(with.weight);
  of_dtype("x1", x, {at::kHalf, at::kBFloat16, at::kChar});
  of_dtype("x2", with.weight, {at::kHalf, at::kBFloat16, at::kChar});
  SIM_CHECK(!quantized || quantized_weight, "x1 of int8 goes with x2 of int8");
  SIM_CHECK(quantized == with.scale.defined(), "a scale of the product goes with int8, and int8 with one");
  SIM_CHECK((quantized_weight && !quantized) == with.weight_scale.defined(),
            "a scale of x2 goes with x2 of int8 alone, and that with one");
  if (!quantized && !quantized_weight) same_dtype({x, with.weight, out});
}

void own_rows_like(const at::Tensor& x, const at::Tensor& weight, const Devices& devices, const at::Tensor& out) {
  SIM_CHECK(x.dim() == 2 && remainder_of(x.size(0), devices.ranks()) == 0, "rows of x1 for ", devices.ranks(),
            " devices expected, got ", x.sizes());
  columns_like(x.size(1) * devices.ranks(), weight);
  shape(out, {divided(x.size(0), devices.ranks()), weight.size(1)});
}

void own_columns_like(const at::Tensor& x, const at::Tensor& weight, const Devices& devices, const at::Tensor& out) {
  columns_like(x.size(1), weight);
  SIM_CHECK(remainder_of(weight.size(1), devices.ranks()) == 0, weight.size(1), " columns of x2 for ", devices.ranks(),
            " devices");
  shape(out, {x.size(0) * devices.ranks(), divided(weight.size(1), devices.ranks())});
}

void sent_in_8_bits(const at::Tensor& first, const at::Tensor& second, const at::Tensor& out) {
  SIM_CHECK(first.defined() == second.defined(), "the two scales of what is sent go together");
  if (!first.defined()) return;
  for (const at::Tensor& scale : {first, second}) {
    SIM_CHECK(scale.numel() == out.size(-1), "a scale of what is sent for each of ", out.size(-1),
              " columns expected, got ", scale.sizes());
    same_dtype({scale, out});
  }
}

// ---- what is computed ----------------------------------------------------------------------------------------------
static at::Tensor product(const Factors& with, at::ScalarType result) {
  const at::Tensor x = with.x.flatten(0, -2);
  const at::Tensor out = at::empty({x.size(0), with.weight.size(1)}, x.options().dtype(result));
  if (of_8_bits(x))
    weighted::quantized_matmul(
        {.x = x, .weight = with.weight, .row_scale = with.row_scale, .scale = with.scale, .bias = with.bias}, out);
  else if (of_8_bits(with.weight))
    weighted::weight_quantized_matmul(
        {.x = x, .weight = with.weight, .scale = with.weight_scale, .offset = with.offset, .bias = with.bias}, out);
  else
    out.copy_(with.bias.defined() ? at::matmul(wide(x), wide(with.weight)).add(wide(with.bias))
                                  : at::matmul(wide(x), wide(with.weight)));
  if (with.rest.defined()) out.add_(with.rest.flatten(0, -2));
  return out;
}

static at::Tensor unflattened(const at::Tensor& rows, const at::Tensor& x) {
  at::DimVector sizes(x.sizes());
  sizes.back() = rows.size(1);
  return rows.reshape(sizes);
}

void normed_like(const Factors& factors, const Normed& how) {
  const at::Tensor& residual = how.residual;
  SIM_CHECK(residual.dim() == 3, "a residual of 3 dimensions expected, got ", residual.sizes());
  product_like(factors, factors.x.dim() == 2 ? residual.flatten(0, 1) : residual);
  shape(how.gamma, {residual.size(-1)});
  like(how.sum, residual), like(how.normal, residual);
  SIM_CHECK(how.eps > 0 && how.eps < 1, "epsilon ", how.eps, "; allowed: between 0 and 1");
}

void add_normed(Devices& devices, const Factors& factors, const Normed& how) {
  const at::Tensor product = summed(devices, factors, how.residual.scalar_type()).reshape(how.residual.sizes());
  const kernels::NormalOfSum result = kernels::add_rms_norm(product, how.residual, how.gamma, how.eps);
  write(how.sum, result.sum), write(how.normal, result.y);
}

at::Tensor summed(Devices& devices, const Factors& with, at::ScalarType result) {
  return unflattened(devices.sum(product(with, result)), with.x);
}

static at::Tensor in_8_bits(const at::Tensor& value) { return value.round().clamp(-128, 127); }

at::Tensor summed_in_8_bits(Devices& devices, const Factors& with, const at::Tensor& first, const at::Tensor& second,
                            at::ScalarType result) {
  const at::Tensor to = wide(first).reshape({-1}), from = wide(second).reshape({-1});
  // A sum of 8-bit numbers is exact in float.
  const at::Tensor sums = devices.sum(in_8_bits(wide(product(with, result)).div(to)));
  return unflattened(in_8_bits(sums.mul(to.div(from))).mul(from), with.x);
}

at::Tensor share_of_sum(Devices& devices, const Factors& with, at::ScalarType result) {
  return devices.share_of_sum(product(with, result));
}

Tensors gathered(Devices& devices, const Factors& with, at::ScalarType result) {
  const at::Tensor x = devices.gather(with.x);
  Factors of_all{x, with.weight, with.bias, {}, with.row_scale, with.scale, {}, {}};
  if (with.row_scale.defined()) of_all.row_scale = devices.gather(with.row_scale.reshape({-1}));
  return {product(of_all, result), x};
}

static Dims equal_shares(const Devices& devices, int64_t rows) {
  return Dims(size_t(devices.ranks()), divided(rows, devices.ranks()));
}

static at::Tensor came_in_rows(Devices& devices, const at::Tensor& x) {
  const Dims shares = equal_shares(devices, x.size(0));
  return devices.exchange(x, shares, shares)
      .reshape({devices.ranks(), shares[0], x.size(1)})
      .transpose(0, 1)
      .reshape({shares[0], -1});
}

Tensors of_own_rows(Devices& devices, const Factors& with) {
  const at::Tensor x = came_in_rows(devices, with.x);
  return {product({x, with.weight, with.bias, {}, {}, {}, {}, {}}, x.scalar_type()), x};
}

// Rows to all devices, of all columns of the own part.
static at::Tensor by_columns(Devices& devices, const at::Tensor& all) {
  const Dims shares = equal_shares(devices, all.size(0) * devices.ranks());
  const at::Tensor by_rank = all.reshape({all.size(0), devices.ranks(), -1}).transpose(0, 1).flatten(0, 1);
  return devices.exchange(by_rank, shares, shares);
}

at::Tensor of_own_columns(Devices& devices, const Factors& with) {
  return by_columns(devices, product(with, with.x.scalar_type()));
}

// ---- of 8 bits, by rows and columns --------------------------------------------------------------------------------
constexpr int64_t kE5m2 = 35, kE4m3 = 36;  // aclDataType

static void scales_of_columns_like(const Factors& with, int64_t mode) {
  constexpr int64_t kByColumn = 2;
  SIM_CHECK(mode == kByColumn, "x2QuantMode ", mode, " is not simulated; allowed: 2 (a scale for each column)");
  scaled::in_8_bits("x2", with.weight);
  SIM_CHECK(with.scale.numel() == with.weight.size(1), "an x2Scale for each of ", with.weight.size(1),
            " columns is missing");
  of_dtype("x2Scale", with.scale, {at::kFloat});
  SIM_CHECK(!with.bias.defined() || with.bias.numel() == with.weight.size(1), "a bias (", with.weight.size(1),
            ") expected");
}

void quantized_own_rows_like(const Factors& factors, const Devices& devices, int64_t x_mode, int64_t mode,
                             int64_t steps, const at::Tensor& out) {
  constexpr int64_t kWhenTheyCame = 7;
  SIM_CHECK(x_mode == kWhenTheyCame, "x1QuantMode ", x_mode, " is not simulated; allowed: 7 (each row when it came)");
  SIM_CHECK(steps == kE5m2 || steps == kE4m3, "x1QuantDtype ", steps,
            " is not simulated; allowed: 35 (FLOAT8_E5M2), 36 (FLOAT8_E4M3FN)");
  of_dtype("x1", factors.x, {at::kHalf, at::kBFloat16});
  own_rows_like(factors.x, factors.weight, devices, out);
  scales_of_columns_like(factors, mode);
}

// The bias is added before the scales: so op-plugin's tests have it.
static at::Tensor product_of_8_bits(const at::Tensor& x, const at::Tensor& row_scale, const Factors& with) {
  auto value = at::matmul(x.to(at::kFloat), with.weight.to(at::kFloat));
  if (with.bias.defined()) value = value.add(wide(with.bias).reshape({1, -1}));
  return value.mul(row_scale.reshape({-1, 1})).mul(with.scale.reshape({1, -1}));
}

Tensors of_quantized_own_rows(Devices& devices, const Factors& with, int64_t steps, at::ScalarType result) {
  const at::Tensor rows = came_in_rows(devices, with.x), values = wide(rows);
  const auto type = steps == kE5m2 ? at::kFloat8_e5m2 : at::kFloat8_e4m3fn;
  const double top = steps == kE5m2 ? 57344 : 448;
  const at::Tensor largest = values.abs().amax(1, true);
  const at::Tensor row_scale = largest.div(top).masked_fill(largest.eq(0), 1);
  const at::Tensor quantized = values.div(row_scale).clamp(-top, top).to(type);
  return {product_of_8_bits(quantized, row_scale, with).to(result), rows};
}

void quantized_own_columns_like(const Factors& with, const Devices& devices, int64_t x_mode, int64_t mode,
                                const at::Tensor& out) {
  constexpr int64_t kByRow = 3;
  SIM_CHECK(x_mode == kByRow, "x1QuantMode ", x_mode, " is not simulated; allowed: 3 (a scale for each row)");
  own_columns_like(with.x, with.weight, devices, out);
  scaled::in_8_bits("x1", with.x);
  scales_of_columns_like(with, mode);
  SIM_CHECK(with.row_scale.numel() == with.x.size(0), "an x1Scale for each of ", with.x.size(0), " rows is missing");
}

at::Tensor of_quantized_own_columns(Devices& devices, const Factors& with, at::ScalarType result) {
  return by_columns(devices, product_of_8_bits(with.x, with.row_scale, with).to(result));
}

// ---- each expert on one device -------------------------------------------------------------------------------------
// Rows that a device sends to all experts of each device.
static Dims by_device(const Dims& counts, int64_t experts) {
  Dims sums;
  for (size_t i = 0; i < counts.size(); ++i)
    i % size_t(experts) ? sums.back() += counts[i] : (sums.push_back(counts[i]), 0);
  return sums;
}

static int64_t sum_of(const Dims& counts) { return std::accumulate(counts.begin(), counts.end(), int64_t(0)); }

// What is by device and expert in this order, or the other, in the other order.
template <typename List>
static List turned_over(const List& all, int64_t outer) {
  const int64_t inner = divided(int64_t(all.size()), outer);
  List other;
  for (int64_t i = 0; i < inner; ++i)
    for (int64_t o = 0; o < outer; ++o) other.push_back(all[size_t(o * inner + i)]);
  return other;
}

// Rows with so many of each.
static at::Tensor reordered(const at::Tensor& rows, const Dims& counts, int64_t outer) {
  return at::concat(turned_over(Tensors(rows.split_with_sizes(counts)), outer));
}

static at::Tensor each_expert(const at::Tensor& rows, const at::Tensor& weight, const Dims& counts, bool turned) {
  const int64_t experts = weight.size(0), devices = divided(int64_t(counts.size()), experts);
  Tensors parts;
  int64_t start = 0;
  for (int64_t expert = 0; expert < experts; ++expert) {
    int64_t count = 0;
    for (int64_t device = 0; device < devices; ++device) count += counts[size_t(device * experts + expert)];
    parts.push_back(at::matmul(wide(rows.narrow(0, start, count)), wide(turned ? weight[expert].t() : weight[expert]))
                        .to(rows.scalar_type()));
    start += count;
  }
  return at::concat(parts);
}

static void counts_like(int64_t all, int64_t rows, const Dims& sent, const Dims& received) {
  SIM_CHECK(int64_t(sent.size()) == all && int64_t(received.size()) == all, all,
            " numbers of sent and received rows expected, got ", sent.size(), " and ", received.size());
  SIM_CHECK(all <= 256, all, " sendCounts", "; allowed: 256 at most");
  for (const Dims& list : {sent, received})
    for (const int64_t count : list) SIM_CHECK(count >= 0, "a number of rows is ", count);
  SIM_CHECK(sum_of(sent) == rows, "sendCounts have ", sum_of(sent), " rows, gmmX ", rows);
}

void experts_like(const Devices& devices, int64_t ranks, const at::Tensor& x, const at::Tensor& weight,
                  const Dims& sent, const Dims& received, bool turned, const at::Tensor& out) {
  SIM_CHECK(ranks == devices.ranks(), "epWorldSize ", ranks, ": the group has ", devices.ranks(), " devices");
  SIM_CHECK(ranks >= 8 && ranks <= 128 && (ranks & (ranks - 1)) == 0, "epWorldSize ", ranks,
            "; allowed: 8, 16, 32, 64, 128");
  of_dtype("gmmX", x, {at::kHalf, at::kBFloat16});
  same_dtype({x, weight, out});
  const auto [rows, h, experts, n] =
      turned ? shapes<"rows h, experts n h">(x, weight) : shapes<"rows h, experts h n">(x, weight);
  counts_like(experts * ranks, rows, sent, received);
  shape(out, {sum_of(received), n});
}

Tensors of_experts(Devices& devices, const at::Tensor& x, const at::Tensor& weight, const Dims& sent,
                   const Dims& received, bool turned) {
  const int64_t experts = weight.size(0);
  const at::Tensor came = devices.exchange(x, by_device(sent, experts), by_device(received, experts));
  const at::Tensor rows = reordered(came, received, devices.ranks());
  return {each_expert(rows, weight, received, turned), rows};
}

static at::Tensor sent_back(Devices& devices, const at::Tensor& rows, int64_t experts, const Dims& sent,
                            const Dims& received) {
  return devices.exchange(reordered(rows, turned_over(sent, devices.ranks()), experts), by_device(sent, experts),
                          by_device(received, experts));
}

at::Tensor back_from_experts(Devices& devices, const at::Tensor& x, const at::Tensor& weight, const Dims& sent,
                             const Dims& received, bool turned) {
  return sent_back(devices, each_expert(x, weight, sent, turned), weight.size(0), sent, received);
}

// ---- the same of numbers with scales -------------------------------------------------------------------------------
static void scaled_like(const Scaled& with) {
  constexpr int64_t kByGroups = 6;
  SIM_CHECK(with.x_mode == kByGroups && with.weight_mode == kByGroups, "quantModes ", with.x_mode, " and ",
            with.weight_mode, " are not simulated; allowed: 6 (a scale for each 32 numbers)");
  scaled::in_8_bits("the left matrix", with.x), scaled::in_8_bits("the weight", with.weight);
  SIM_CHECK(with.x.dim() == 2 && with.weight.size(-2) == with.x.size(1), "matrices ", with.x.sizes(), " and ",
            with.weight.sizes(), " do not fit");
  SIM_CHECK(with.x_scale.defined() && with.weight_scale.defined(), "a scale is null");
  of_dtype("the left matrix' scale", with.x_scale, {at::kFloat8_e8m0fnu});
  of_dtype("the weight's scale", with.weight_scale, {at::kFloat8_e8m0fnu});
  const int64_t blocks = divided(with.x.size(1) + 63, 64);
  shape(with.x_scale, {with.x.size(0), blocks, 2});
  shapes<"*experts _ columns -> *experts =blocks columns 2">({blocks}, with.weight, with.weight_scale);
}

void scaled_experts_like(const Devices& devices, int64_t ranks, const Scaled& with, const Dims& sent,
                         const Dims& received, int64_t group_size, const at::Tensor& out) {
  SIM_CHECK(ranks == devices.ranks(), "epWorldSize ", ranks, ": the group has ", devices.ranks(), " devices");
  SIM_CHECK(ranks >= 2 && ranks <= 256 && (ranks & (ranks - 1)) == 0, "epWorldSize ", ranks,
            "; allowed: powers of two from 2 to 256");
  SIM_CHECK(with.weight.dim() == 3, "gmmWeight (experts, h, n) expected, got ", with.weight.sizes());
  scaled_like(with), scaled::groups_like(group_size);
  of_dtype("gmmY", out, {at::kHalf, at::kBFloat16});
  counts_like(with.weight.size(0) * ranks, with.x.size(0), sent, received);
  shape(out, {sum_of(received), with.weight.size(2)});
}

// HCCL sends bytes: it has no FLOAT8.
static at::Tensor bytes_of(const at::Tensor& rows) { return rows.contiguous().view(at::kByte).flatten(1); }

Tensors of_scaled_experts(Devices& devices, const Scaled& with, const Dims& sent, const Dims& received) {
  const int64_t experts = with.weight.size(0);
  const auto moved = [&](const at::Tensor& rows) {
    const at::Tensor came = devices.exchange(bytes_of(rows), by_device(sent, experts), by_device(received, experts));
    return reordered(came, received, devices.ranks()).view(rows.scalar_type());
  };
  const at::Tensor rows = moved(with.x), pairs = moved(with.x_scale).unflatten(1, {-1, 2});
  return {each_expert(scaled::rows_times_factors(rows, pairs), scaled::times_factors(with.weight, with.weight_scale),
                      received, false),
          rows};
}

at::Tensor back_from_scaled_experts(Devices& devices, const Scaled& with, const Dims& sent, const Dims& received,
                                    at::ScalarType result) {
  const at::Tensor rows = each_expert(scaled::rows_times_factors(with.x, with.x_scale),
                                      scaled::times_factors(with.weight, with.weight_scale), sent, false);
  return sent_back(devices, rows.to(result), with.weight.size(0), sent, received);
}

void scaled_shared_like(const Scaled& with, const at::Tensor& out) {
  SIM_CHECK(with.x.defined() == with.weight.defined() && with.x.defined() == out.defined(),
            "mmX, mmWeight and mmY go together");
  if (!with.x.defined()) return;
  SIM_CHECK(with.weight.dim() == 2, "mmWeight is a matrix, got ", with.weight.sizes());
  scaled_like(with);
  of_dtype("mmY", out, {at::kHalf, at::kBFloat16});
  matrix(out, with.x, with.weight);
}

at::Tensor scaled_shared(const Scaled& with) {
  return at::matmul(scaled::rows_times_factors(with.x, with.x_scale),
                    scaled::times_factors(with.weight, with.weight_scale));
}

void given_as_said(bool held, const char* what) {
  if (!held) throw Absent({__func__, __FILE__, uint32_t(__LINE__)}, what);
}

void shared_like(const at::Tensor& x, const at::Tensor& weight, bool turned, const at::Tensor& out) {
  given_as_said(x.defined() == weight.defined() && x.defined() == out.defined(), "mmX, mmWeight and mmY go together");
  if (!x.defined()) return;
  SIM_CHECK(x.dim() == 2 && weight.dim() == 2, "mmX and mmWeight are matrices, got ", x.sizes(), " and ",
            weight.sizes());
  matrix(out, x, turned ? weight.t() : weight);
  same_dtype({x, weight, out});
}

}  // namespace sim::group_product
