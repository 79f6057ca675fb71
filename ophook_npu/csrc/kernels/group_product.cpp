#include "kernels/group_product.h"

#include "kernels/grouped.h"

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
  of_dtype("x1", x, {at::kHalf, at::kBFloat16});
  same_dtype({x, weight, out});
  shape(out, {divided(x.size(0), devices.ranks()), weight.size(1)});
}

void own_columns_like(const at::Tensor& x, const at::Tensor& weight, const Devices& devices, const at::Tensor& out) {
  SIM_CHECK(x.dim() == 2, "x1 with 2 dimensions expected, got ", x.sizes());
  columns_like(x.size(1), weight);
  SIM_CHECK(remainder_of(weight.size(1), devices.ranks()) == 0, weight.size(1), " columns of x2 for ", devices.ranks(),
            " devices");
  of_dtype("x1", x, {at::kHalf, at::kBFloat16});
  same_dtype({x, weight, out});
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
  if (of_8_bits(x)) grouped::quantized_matmul(x, with.weight, with.row_scale, with.scale, {}, {}, with.bias, out);
  else if (of_8_bits(with.weight))
    grouped::weight_quantized_matmul(x, with.weight, with.weight_scale, with.offset, {}, with.bias, out);
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
  Dims shares;
  for (int64_t i = 0; i < devices.ranks(); ++i) shares.push_back(divided(rows, devices.ranks()));
  return shares;
}

Tensors of_own_rows(Devices& devices, const Factors& with) {
  const Dims shares = equal_shares(devices, with.x.size(0));
  const at::Tensor x = devices.exchange(with.x, shares, shares)
                           .reshape({devices.ranks(), shares[0], with.x.size(1)})
                           .transpose(0, 1)
                           .reshape({shares[0], -1});
  return {product({x, with.weight, with.bias, {}, {}, {}, {}, {}}, x.scalar_type()), x};
}

at::Tensor of_own_columns(Devices& devices, const Factors& with) {
  const at::Tensor all = product(with, with.x.scalar_type());
  const Dims shares = equal_shares(devices, all.size(0) * devices.ranks());
  const at::Tensor by_rank = all.reshape({all.size(0), devices.ranks(), -1}).transpose(0, 1).flatten(0, 1);
  return devices.exchange(by_rank, shares, shares);
}

// ---- each expert on one device -------------------------------------------------------------------------------------
// Rows that a device sends to all experts of each device.
static Dims by_device(const Dims& counts, int64_t experts) {
  Dims sums;
  for (size_t i = 0; i < counts.size(); ++i)
    i % size_t(experts) ? sums.back() += counts[i] : (sums.push_back(counts[i]), 0);
  return sums;
}

static int64_t sum_of(const Dims& counts) {
  int64_t sum = 0;
  for (const int64_t count : counts) sum += count;
  return sum;
}

// Rows whose counts are by device and expert in this order, or the other, in the other order.
static at::Tensor reordered(const at::Tensor& rows, const Dims& counts, int64_t outer) {
  const int64_t inner = divided(int64_t(counts.size()), outer);
  std::vector<int64_t> starts;
  int64_t start = 0;
  for (const int64_t count : counts) starts.push_back(start), start += count;
  Tensors parts;
  for (int64_t i = 0; i < inner; ++i)
    for (int64_t o = 0; o < outer; ++o)
      parts.push_back(rows.narrow(0, starts[size_t(o * inner + i)], counts[size_t(o * inner + i)]));
  return at::cat(parts);
}

static Dims turned_over(const Dims& counts, int64_t outer) {
  const int64_t inner = divided(int64_t(counts.size()), outer);
  Dims other;
  for (int64_t i = 0; i < inner; ++i)
    for (int64_t o = 0; o < outer; ++o) other.push_back(counts[size_t(o * inner + i)]);
  return other;
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
  return at::cat(parts);
}

void experts_like(const Devices& devices, int64_t ranks, const at::Tensor& x, const at::Tensor& weight,
                  const Dims& sent, const Dims& received, bool turned, const at::Tensor& out) {
  SIM_CHECK(ranks == devices.ranks(), "epWorldSize ", ranks, ": the group has ", devices.ranks(), " devices");
  SIM_CHECK(ranks >= 8 && ranks <= 128 && (ranks & (ranks - 1)) == 0, "epWorldSize ", ranks,
            "; allowed: 8, 16, 32, 64, 128");
  of_dtype("gmmX", x, {at::kHalf, at::kBFloat16});
  same_dtype({x, weight, out});
  SIM_CHECK(x.dim() == 2 && weight.dim() == 3 && weight.size(turned ? 2 : 1) == x.size(1),
            "gmmX (rows, h) and gmmWeight (experts, h, n) expected, got ", x.sizes(), " and ", weight.sizes(),
            turned ? ", turned" : "");
  const int64_t all = weight.size(0) * ranks;
  SIM_CHECK(int64_t(sent.size()) == all && int64_t(received.size()) == all, all,
            " numbers of sent and received rows expected, got ", sent.size(), " and ", received.size());
  SIM_CHECK(all <= 256, all, " sendCounts", "; allowed: 256 at most");
  for (const Dims& list : {sent, received})
    for (const int64_t count : list) SIM_CHECK(count >= 0, "a number of rows is ", count);
  SIM_CHECK(sum_of(sent) == x.size(0), "sendCounts have ", sum_of(sent), " rows, gmmX ", x.size(0));
  shape(out, {sum_of(received), weight.size(turned ? 1 : 2)});
}

Tensors of_experts(Devices& devices, const at::Tensor& x, const at::Tensor& weight, const Dims& sent,
                   const Dims& received, bool turned) {
  const int64_t experts = weight.size(0);
  const at::Tensor came = devices.exchange(x, by_device(sent, experts), by_device(received, experts));
  const at::Tensor rows = reordered(came, received, devices.ranks());
  return {each_expert(rows, weight, received, turned), rows};
}

at::Tensor back_from_experts(Devices& devices, const at::Tensor& x, const at::Tensor& weight, const Dims& sent,
                             const Dims& received, bool turned) {
  const int64_t experts = weight.size(0);
  const at::Tensor rows = each_expert(x, weight, sent, turned);
  return devices.exchange(reordered(rows, turned_over(sent, devices.ranks()), experts), by_device(sent, experts),
                          by_device(received, experts));
}

void shared_like(const at::Tensor& x, const at::Tensor& weight, bool turned, const at::Tensor& out) {
  SIM_CHECK(x.defined() == weight.defined() && x.defined() == out.defined(), "mmX, mmWeight and mmY go together");
  if (!x.defined()) return;
  SIM_CHECK(x.dim() == 2 && weight.dim() == 2, "mmX and mmWeight are matrices, got ", x.sizes(), " and ",
            weight.sizes());
  matrix(out, x, turned ? weight.t() : weight);
  same_dtype({x, weight, out});
}

}  // namespace sim::group_product
