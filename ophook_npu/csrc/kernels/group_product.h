// Products of matrices of which each device has a part: what they add up to on all of them, the share that each keeps
// of it, and products of what the devices first give each other. Each device's part is rounded to the result's data
// type before it goes to the others, as what is sent is.
#pragma once

#include "kernels/devices.h"

namespace sim::group_product {

// What one device multiplies. An undefined tensor is absent, here and below.
struct Factors {
  const at::Tensor &x, &weight, &bias;
  at::Tensor rest{};                    // added to the product
  at::Tensor row_scale{}, scale{};      // of int8: of the rows of x, and of the weight's columns
  at::Tensor weight_scale{}, offset{};  // of a weight of int8 alone
};

// ---- what must hold ------------------------------------------------------------------------------------------------
// As many devices as the product takes: up to 8, and on Ascend910_93 up to `more` where it has the function.
void number_like(const Devices& devices, int64_t least = 1, int64_t more = 8);
// Of what is shared out or gathered: the numbers that are summed up.
void inner_like(const Factors& factors);
// rows of out: those of x times `more`, through `fewer`
void product_like(const Factors& factors, const at::Tensor& out, int64_t more = 1, int64_t fewer = 1);
// x (m, k / devices) and out (m / devices, n), for a weight (k, n)
void own_rows_like(const at::Tensor& x, const at::Tensor& weight, const Devices& devices, const at::Tensor& out);
// out (m devices, n / devices)
void own_columns_like(const at::Tensor& x, const at::Tensor& weight, const Devices& devices, const at::Tensor& out);
void sent_in_8_bits(const at::Tensor& first, const at::Tensor& second, const at::Tensor& out);

// ---- what is computed: on this device, with the others -------------------------------------------------------------
at::Tensor summed(Devices& devices, const Factors& factors, at::ScalarType result);
// Sent as int8, by one scale to where it is summed up, and by another from there.
at::Tensor summed_in_8_bits(Devices& devices, const Factors& factors, const at::Tensor& first, const at::Tensor& second,
                            at::ScalarType result);
struct Normed {
  const at::Tensor &residual, &gamma;
  double eps;
  const at::Tensor &sum, &normal;  // what is written
};
void normed_like(const Factors& factors, const Normed& how);
void add_normed(Devices& devices, const Factors& factors, const Normed& how);
at::Tensor share_of_sum(Devices& devices, const Factors& factors, at::ScalarType result);
// The product, what was gathered, and the scales of its rows.
Tensors gathered(Devices& devices, const Factors& factors, at::ScalarType result);
// Each device has all columns of its share of the rows, instead of its share of the columns of all rows: the product,
// and these.
Tensors of_own_rows(Devices& devices, const Factors& factors);
// And the product back: its share of the columns of all rows.
at::Tensor of_own_columns(Devices& devices, const Factors& factors);

// The same of numbers of 8 bits. Rows of half numbers are quantized when they came, each by its largest number, to
// `steps`; the product, and the rows as they came.
void quantized_own_rows_like(const Factors& factors, const Devices& devices, int64_t x_mode, int64_t mode,
                             int64_t steps, const at::Tensor& out);
Tensors of_quantized_own_rows(Devices& devices, const Factors& factors, int64_t steps, at::ScalarType result);
void quantized_own_columns_like(const Factors& factors, const Devices& devices, int64_t x_mode, int64_t mode,
                                const at::Tensor& out);
at::Tensor of_quantized_own_columns(Devices& devices, const Factors& factors, at::ScalarType result);

// ---- each expert on one device: the product of rows that came from all, and of a shared expert ---------------------
// counts: for each device its experts in turn.
void experts_like(const Devices& devices, int64_t ranks, const at::Tensor& x, const at::Tensor& weight,
                  const Dims& sent, const Dims& received, bool turned, const at::Tensor& out);
// What came, in the order of the experts, times their weights, and this.
Tensors of_experts(Devices& devices, const at::Tensor& x, const at::Tensor& weight, const Dims& sent,
                   const Dims& received, bool turned);
// Times the weights of the experts, and back to where the rows came from.
at::Tensor back_from_experts(Devices& devices, const at::Tensor& x, const at::Tensor& weight, const Dims& sent,
                             const Dims& received, bool turned);
// The same of FLOAT8 with a scale for each 32 numbers along k, (rows, k / 64, 2) and (experts, k / 64, n, 2).
struct Scaled {
  const at::Tensor &x, &weight, &x_scale, &weight_scale;
  int64_t x_mode, weight_mode;
};
void scaled_experts_like(const Devices& devices, int64_t ranks, const Scaled& factors, const Dims& sent,
                         const Dims& received, int64_t group_size, const at::Tensor& out);
Tensors of_scaled_experts(Devices& devices, const Scaled& factors, const Dims& sent, const Dims& received);
at::Tensor back_from_scaled_experts(Devices& devices, const Scaled& factors, const Dims& sent, const Dims& received,
                                    at::ScalarType result);
void scaled_shared_like(const Scaled& factors, const at::Tensor& out);
at::Tensor scaled_shared(const Scaled& factors);
// Else it is as if one were null that is needed: which may be given and which not hangs together.
void given_as_said(bool held, const char* what);
void shared_like(const at::Tensor& x, const at::Tensor& weight, bool turned, const at::Tensor& out);

}  // namespace sim::group_product
