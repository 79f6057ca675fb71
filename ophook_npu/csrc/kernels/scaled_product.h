// Products of numbers of 8 bits with scales of their own: a scale for each row and column, or a power of two for each
// 32 numbers along k, which lie in pairs: (…, k / 64, n, 2) for a matrix (…, k, n).
#pragma once

#include "kernels/tensors.h"

namespace sim::scaled {

// gm << 32 | gn << 16 | gk; a 0 is what the shapes say.
void groups_like(int64_t group_size);
// Each number of (…, k, n) times its factor, in float; and of rows (rows, k), whose scales are (rows, k / 64, 2).
at::Tensor times_factors(const at::Tensor& numbers, const at::Tensor& pairs);
at::Tensor rows_times_factors(const at::Tensor& rows, const at::Tensor& pairs);
void in_8_bits(const char* name, const at::Tensor& tensor);  // of FLOAT8_E5M2 or FLOAT8_E4M3FN
// Both of HIFLOAT8, which goes with one scale for all of a matrix, or for each of its columns.
bool of_hifloat8(const at::Tensor& x, const at::Tensor& weight);

struct Factors {
  at::Tensor x, weight, row_scale, scale;
};
// Batches that lie between the rows, (m, batch, k), times (batch, k, n): out is (m, batch, n).
void between_rows_like(const Factors& of, int64_t dtype, int64_t group_size, at::IntArrayRef perm_weight,
                       const at::Tensor& out);
at::Tensor between_rows(const Factors& of, at::IntArrayRef perm_weight);
// y + x' weight, x (k, m), and its scales (k / 64, m, 2); without `turned` both come as their transposed views.
void added_like(const Factors& of, bool turned, bool weight_turned, int64_t group_size, const at::Tensor& y);
at::Tensor added(const Factors& of, bool turned, const at::Tensor& y);
// y[i] + x' weight over the i-th group along k, whose scales lie as quantization by groups writes them: (k / 64 +
// groups, m, 2). x and its scales come as they are or, as torch_npu passes them, as their transposed views.
void groups_added_like(const Factors& of, const at::Tensor& list, int64_t group_size, const at::Tensor& y);
void add_groups(const Factors& of, const at::Tensor& list, int64_t kind, const at::Tensor& y);

// Both with powers of two: FLOAT8, FLOAT4, or FLOAT8 by FLOAT4 that lies turned. x (…, m, k), weight (…, k, n), scales
// (…, m, k / 64, 2) and (…, k / 64, n, 2).
bool by_powers(const at::Tensor& row_scale, const at::Tensor& scale);
void product_by_powers_like(const Factors& of, const at::Tensor& bias, int64_t group_size, const at::Tensor& out);
at::Tensor product_by_powers(const Factors& of);

// FLOAT4 with two scales: for each 32 numbers along k a power of two, for each 512 a float. x (m, k), weight (n, k), in
// ATen's pairs or in bytes that hold them, as torch_npu passes it.
struct TwoLevels {
  at::Tensor x, weight, row_scale0, scale0, row_scale1, scale1, bias;
};
void two_level_like(const TwoLevels& of, bool turned, bool weight_turned, int64_t block0, int64_t block1,
                    const at::Tensor& out);
at::Tensor two_level(const TwoLevels& of);

}  // namespace sim::scaled
