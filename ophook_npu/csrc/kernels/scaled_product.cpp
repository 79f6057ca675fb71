#include "kernels/scaled_product.h"

#include "kernels/groups.h"
#include "kernels/mx_quant.h"
#include "kernels/needed.h"
#include "kernels/pattern.h"
#include "kernels/quant.h"

namespace sim::scaled {

constexpr int64_t kGroup = 32;

static bool by_groups(const at::Tensor& scale) { return scale.scalar_type() == at::kFloat8_e8m0fnu; }

// The factor of each number of a matrix (…, k, n). A number of 8 bits times a power of two is exact in float.
static at::Tensor factors(const at::Tensor& pairs, int64_t k) {
  return pairs.to(at::kFloat).transpose(-1, -2).flatten(-3, -2).repeat_interleave(kGroup, -2).narrow(-2, 0, k);
}

at::Tensor times_factors(const at::Tensor& numbers, const at::Tensor& pairs) {
  return numbers.to(at::kFloat).mul(factors(pairs, numbers.size(-2)));
}

at::Tensor rows_times_factors(const at::Tensor& rows, const at::Tensor& pairs) {
  return times_factors(rows.t(), pairs.transpose(0, 1)).t();
}

void groups_like(int64_t group_size) {
  const int64_t m = group_size >> 32 & 0xFFFF, n = group_size >> 16 & 0xFFFF, k = group_size & 0xFFFF;
  SIM_CHECK(m <= 1 && n <= 1 && (k == 0 || k == kGroup), "groupSize of ", m, " x ", n, " x ", k,
            "; allowed: 0 or 1, 0 or 1, 0 or 32");
}

void in_8_bits(const char* name, const at::Tensor& tensor) {
  of_dtype(name, tensor, {at::kFloat8_e5m2, at::kFloat8_e4m3fn});
}

bool of_hifloat8(const at::Tensor& x, const at::Tensor& weight) {
  return mx::is_hifloat8(x) && mx::is_hifloat8(weight);
}

void between_rows_like(const Factors& of, int64_t dtype, int64_t group_size, at::IntArrayRef perm,
                       const at::Tensor& out) {
  const bool whole = of_hifloat8(of.x, of.weight);
  if (!whole) in_8_bits("x1", of.x), in_8_bits("x2", of.weight);
  SIM_NEEDED(whole || of.row_scale.defined(), "x1Scale is null");
  const bool groups = !whole && by_groups(of.scale), turned = perm == at::IntArrayRef({0, 2, 1});
  SIM_CHECK(perm == at::IntArrayRef({0, 1, 2}) || (turned && (groups || whole)), "permX2 ", perm,
            "; allowed: [0, 1, 2], and with scales of groups or numbers of HIFLOAT8 [0, 2, 1]");
  const auto [rows, batch, k, n] = turned ? shapes<"m batch k, batch n k -> m batch n">(of.x, of.weight, out)
                                          : shapes<"m batch k, batch k n -> m batch n">(of.x, of.weight, out);
  constexpr int64_t kHalfCode = 1, kBFloat16Code = 27, kHiFloat8Code = 34;
  SIM_CHECK(dtype == kHalfCode || dtype == kBFloat16Code || (whole && dtype == kHiFloat8Code), "dtype ", dtype,
            "; allowed: 1, 27", whole ? ", 34" : "");
  of_dtype("out", out, {dtype == kHalfCode ? at::kHalf : dtype == kBFloat16Code ? at::kBFloat16 : at::kFloat});
  if (whole) {
    SIM_CHECK(quant::is_encoded(of.scale), "x2Scale of ", of.scale.scalar_type(),
              "; allowed for HIFLOAT8: UINT64, INT64");
    shape(of.scale, {n});
    if (of.row_scale.defined()) shape(of.row_scale, {1});
  } else if (groups) {
    of_dtype("x1", of.x, {at::kFloat8_e4m3fn}), same_dtype({of.x, of.weight});
    groups_like(group_size);
    SIM_CHECK(k % 64 == 0, "k of ", k, "; allowed: multiples of 64");
    shape(of.row_scale, {rows, batch, k / 64, 2});
    if (turned) shape(of.scale, {batch, n, k / 64, 2});
    else shape(of.scale, {batch, k / 64, n, 2});
  } else {
    of_dtype("x2Scale", of.scale, {at::kFloat});
    SIM_CHECK(k == 512 && n == 128, "k of ", k, " and n of ", n, "; allowed with a scale for each row: 512 and 128");
    shape(of.row_scale, {rows}), shape(of.scale, {n});
  }
}

at::Tensor between_rows(const Factors& of, at::IntArrayRef perm_weight) {
  const at::Tensor left = of.x.transpose(0, 1), right = of.weight.permute(perm_weight);
  if (of_hifloat8(of.x, of.weight)) {
    const auto value = at::bmm(left, right).mul(quant::scale_of(of.scale)).transpose(0, 1);
    return of.row_scale.defined() ? value.mul(quant::scale_of(of.row_scale)) : value;
  }
  if (!by_groups(of.scale)) {
    auto value = at::bmm(left.to(at::kFloat), right.to(at::kFloat));
    return value.mul(of.scale).mul(of.row_scale.unsqueeze(1)).transpose(0, 1);
  }
  // The scales of x: (m, batch, k / 64, 2), as those of its transpose, (batch, k / 64, m, 2).
  const at::Tensor rows = times_factors(left.transpose(1, 2), of.row_scale.permute({1, 2, 0, 3}));
  const bool turned = perm_weight[1] == 2;
  const at::Tensor columns = times_factors(right, turned ? of.scale.transpose(1, 2) : of.scale);
  return at::bmm(rows.transpose(1, 2), columns).transpose(0, 1);
}

void added_like(const Factors& of, bool turned, bool weight_turned, int64_t group_size, const at::Tensor& y) {
  const bool whole = of_hifloat8(of.x, of.weight);
  if (!whole) in_8_bits("x1", of.x), in_8_bits("x2", of.weight);
  const auto of_scale = whole ? at::kFloat : at::kFloat8_e8m0fnu;
  of_dtype("x1Scale", of.row_scale, {of_scale}), of_dtype("x2Scale", of.scale, {of_scale});
  const auto [k, n, m] =
      turned ? shapes<"k n, k m -> m n">(of.weight, of.x, y) : shapes<"k n, m k -> m n">(of.weight, of.x, y);
  SIM_CHECK(!weight_turned && (turned || of.x.stride(0) == 1 || of.x.size(0) == 1), "transposeX1 ", turned,
            " and transposeX2 ", weight_turned, "; allowed: true, or false for a transposed view, and false");
  if (whole) {
    SIM_CHECK(group_size == 0, "groupSize ", group_size, "; allowed for HIFLOAT8: 0");
    return shape(of.row_scale, {1}), shape(of.scale, {1});
  }
  groups_like(group_size);
  const int64_t blocks = divided(k + 63, 64);
  if (turned) shape(of.row_scale, {blocks, m, 2});
  else shape(of.row_scale, {m, blocks, 2});
  shape(of.scale, {blocks, n, 2});
}

at::Tensor added(const Factors& of, bool turned, const at::Tensor& y) {
  if (of_hifloat8(of.x, of.weight))
    return at::matmul(turned ? of.x.t() : of.x, of.weight).mul(of.row_scale.mul(of.scale)).add(y);
  const at::Tensor left =
      turned ? times_factors(of.x, of.row_scale) : times_factors(of.x.t(), of.row_scale.transpose(0, 1));
  return at::addmm(y, left.t(), times_factors(of.weight, of.scale));
}

// ---- powers of two on both sides -----------------------------------------------------------------------------------
bool by_powers(const at::Tensor& row_scale, const at::Tensor& scale) {
  return row_scale.defined() && by_groups(row_scale) && by_groups(scale);
}

static Dims scale_sizes(const Dims& batch, int64_t first, int64_t second) {
  Dims sizes(batch.begin(), batch.end() - 2);
  sizes.insert(sizes.end(), {first, second, 2});
  return sizes;
}

// Where one of the two sizes is 1, the other order is the same numbers, and the device takes it.
static void powers_like(const char* name, const at::Tensor& scale, const at::Tensor& of, const Dims& sizes) {
  const size_t last = sizes.size();
  Dims other = sizes;
  std::swap(other[last - 3], other[last - 2]);
  const bool one = sizes[last - 3] == 1 || sizes[last - 2] == 1;
  SIM_CHECK(scale.sizes() == sizes || (one && scale.sizes() == other), name, " ", scale.sizes(), "; ",
            at::IntArrayRef(sizes), " is expected");
  const bool turned = scale.stride(-3) == 2 && scale.stride(-2) != 2;
  SIM_CHECK(one || turned == mx::lies_transposed(of), name, " and its matrix are to be turned alike");
}

static void powers_group(int64_t group_size, int64_t k, bool mixed) {
  if (mixed) {
    const int64_t m = group_size >> 32 & 0xFFFF, n = group_size >> 16 & 0xFFFF;
    SIM_CHECK(m == n && m <= 1 && (group_size & 0xFFFF) == kGroup, "groupSize of ", m, " x ", n, " x ",
              group_size & 0xFFFF, "; allowed: 0 x 0 x 32, 1 x 1 x 32");
    return;
  }
  groups_like(group_size);
  SIM_CHECK((group_size & 0xFFFF) == kGroup || k % 64 == 0, "groupSize has 0 for k, and ", k,
            " numbers along k do not fill their scales");
}

static void bias_like(const at::Tensor& bias, bool mixed, const at::Tensor& out) {
  if (!bias.defined()) return;
  const int64_t n = out.size(-1);
  of_dtype("bias", bias, {mixed ? out.scalar_type() : at::kFloat});
  if (mixed) return shape(bias, {1, n});
  const Dims deep = out.dim() == 3 ? Dims{out.size(0), 1, n} : Dims{1, n};
  SIM_CHECK(bias.sizes() == Dims{n} || (out.dim() <= 3 && bias.sizes() == deep), "bias ", bias.sizes(), " for out ",
            out.sizes());
}

void product_by_powers_like(const Factors& of, const at::Tensor& bias, int64_t group_size, const at::Tensor& out) {
  const bool pairs = of.x.scalar_type() == kFloat4, mixed = !pairs && of.weight.scalar_type() == kFloat4;
  if (pairs) of_dtype("x2", of.weight, {kFloat4});
  else if (mixed) of_dtype("x1", of.x, {at::kFloat8_e4m3fn}), of_dtype("out", out, {at::kHalf, at::kBFloat16});
  else in_8_bits("x1", of.x), in_8_bits("x2", of.weight);
  of_dtype("out", out, {at::kHalf, at::kBFloat16, at::kFloat});
  const Dims left = mx::number_sizes(of.x), right = mx::number_sizes(of.weight);
  matrix(out, left, right);
  const int64_t k = left.back(), blocks = divided(k + 63, 64);
  SIM_CHECK(!pairs || k > 2, "k is ", k, "; more than 2 is needed");
  SIM_CHECK(!mixed || (out.dim() == 2 && k % 8 == 0 && !mx::lies_transposed(of.x) && mx::lies_transposed(of.weight)),
            "FLOAT8 by FLOAT4 takes (m, k) and a turned weight, k a multiple of 8; got ", at::IntArrayRef(left),
            " and ", at::IntArrayRef(right));
  powers_like("x1Scale", of.row_scale, of.x, scale_sizes(left, left[left.size() - 2], blocks));
  powers_like("x2Scale", of.scale, of.weight, scale_sizes(right, blocks, right.back()));
  powers_group(group_size, k, mixed);
  bias_like(bias, mixed, out);
}

at::Tensor product_by_powers(const Factors& of) {
  const Dims left = mx::number_sizes(of.x), right = mx::number_sizes(of.weight);
  const int64_t blocks = divided(left.back() + 63, 64);
  const auto row_scale = of.row_scale.reshape(scale_sizes(left, left[left.size() - 2], blocks)).transpose(-3, -2);
  const auto scale = of.scale.reshape(scale_sizes(right, blocks, right.back()));
  const auto rows = times_factors(mx::numbers_of(of.x).transpose(-1, -2), row_scale).transpose(-1, -2);
  return at::matmul(rows, times_factors(mx::numbers_of(of.weight), scale));
}

static bool transposed_view(const at::Tensor& x) { return x.stride(0) == 1 && x.stride(1) != 1; }

void groups_added_like(const Factors& of, const at::Tensor& list, int64_t group_size, const at::Tensor& y) {
  if (of.x.dim() == 2 && of.weight.dim() == 2 && (!of.x.size(0) || !of.weight.size(1))) return;  // nothing is looked at
  const bool whole = of_hifloat8(of.x, of.weight);
  if (!whole) in_8_bits("x1", of.x), in_8_bits("x2", of.weight);
  of_dtype("y", y, {at::kFloat});
  refuse_unless_zero(group_size, "groupSize");
  SIM_NEEDED(of.row_scale.defined() && list.defined(), "x1Scale or groupList is null");
  const auto of_scale = whole ? at::kFloat : at::kFloat8_e8m0fnu;
  of_dtype("x1Scale", of.row_scale, {of_scale}), of_dtype("x2Scale", of.scale, {of_scale});
  SIM_CHECK(of.x.dim() == 2 && of.weight.dim() == 2 && (whole || of.row_scale.dim() == 3) && list.dim() == 1 &&
                list.size(0) <= 1024,
            "x1 (k, m), x2 (k, n), x1Scale with 3 dimensions and groupList of up to 1024 expected, got ", of.x.sizes(),
            ", ", of.weight.sizes(), ", ", of.row_scale.sizes(), " and ", list.sizes());
  const bool view = transposed_view(of.x);
  const int64_t k = of.weight.size(0), m = of.x.size(view ? 0 : 1), groups = list.size(0), blocks = k / 64 + groups;
  SIM_CHECK(of.x.size(view ? 1 : 0) == k, "k of x1 ", of.x.sizes(), " and x2 ", of.weight.sizes(), " differ");
  shape(y, {groups, m, of.weight.size(1)});
  if (whole) {
    if (of.row_scale.dim() != 1) shape(of.row_scale, {groups, 1});
    else shape(of.row_scale, {groups});
    if (of.scale.dim() == 1) shape(of.scale, {groups});
    else if (of.scale.size(-1) != 1) shape(of.scale, {groups, of.weight.size(1)});
    else shape(of.scale, {groups, 1});
    return;
  }
  shape(view ? of.row_scale.transpose(0, 1) : of.row_scale, {blocks, m, 2});
  shape(of.scale, {blocks, of.weight.size(1), 2});
}

void add_groups(const Factors& of, const at::Tensor& list, int64_t kind, const at::Tensor& y) {
  if (!y.numel() || !of.x.size(0) || !of.weight.size(1)) return;
  const bool view = transposed_view(of.x), whole = of_hifloat8(of.x, of.weight);
  const at::Tensor left = view ? of.x.t() : of.x, left_scale = view ? of.row_scale.transpose(0, 1) : of.row_scale;
  for (const auto& [group, start, count] : groups::of(list, kind, of.weight.size(0))) {
    if (!count) continue;
    if (whole) {
      const auto product = at::matmul(left.narrow(0, start, count).t(), of.weight.narrow(0, start, count));
      y[group].add_(product.mul(of.scale[group]).mul(of.row_scale[group]));
      continue;
    }
    const int64_t first = mx::first_scale(group, start), blocks = divided(count + 63, 64);
    const auto part = [&, start = start, count = count](const at::Tensor& matrix, const at::Tensor& scales) {
      return times_factors(matrix.narrow(0, start, count), scales.narrow(0, first, blocks));
    };
    y[group].addmm_(part(left, left_scale).t(), part(of.weight, of.scale));
  }
}

// ---- two levels ----------------------------------------------------------------------------------------------------
constexpr int64_t kUpperGroup = 512;

void two_level_like(const TwoLevels& of, bool turned, bool weight_turned, int64_t block0, int64_t block1,
                    const at::Tensor& out) {
  SIM_CHECK(!turned && weight_turned, "transposeX1 ", turned, " and transposeX2 ", weight_turned,
            "; allowed: false and true");
  SIM_CHECK(block0 == kUpperGroup && block1 == kGroup, "groups of ", block0, " and ", block1, "; allowed: 512 and 32");
  const auto [m, pairs, n] = shapes<"m pairs, n pairs, n? -> m n">(of.x, of.weight, of.bias, out);
  const int64_t k = 2 * pairs, upper = divided(k + kUpperGroup - 1, kUpperGroup), lower = divided(k + 63, 64);
  shape(of.row_scale0, {m, upper}), shape(of.scale0, {upper, n});
  shape(of.row_scale1, {m, lower, 2}), shape(of.scale1, {n, lower, 2});
}

at::Tensor two_level(const TwoLevels& of) {
  const auto rows = [](const at::Tensor& pairs, const at::Tensor& lower, const at::Tensor& upper) {
    const at::Tensor numbers = mx::numbers_of(pairs);
    return rows_times_factors(numbers, lower)
        .mul(upper.repeat_interleave(kUpperGroup, 1).narrow(1, 0, numbers.size(1)));
  };
  const at::Tensor right = of.weight.scalar_type() == kFloat4 ? of.weight : of.weight.view(kFloat4);
  const at::Tensor value =
      at::matmul(rows(of.x, of.row_scale1, of.row_scale0), rows(right, of.scale1, of.scale0.t()).t());
  return of.bias.defined() ? value.add(of.bias) : value;
}

}  // namespace sim::scaled
