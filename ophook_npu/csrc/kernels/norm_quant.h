// Normalizations that take scale and shift for each batch, and those that end in numbers of 8 bits.
#pragma once

#include "kernels/norm.h"

namespace sim::quant {

kernels::Normal ada_layer_norm(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& shift,
                               const at::Tensor& weight, const at::Tensor& bias, double eps);
void ada_like(const at::Tensor& out, const at::Tensor& x, const at::Tensor& scale, const at::Tensor& shift,
              std::initializer_list<at::Tensor> statistics = {});
void write_ada(const at::Tensor& out, const at::Tensor& mean, const at::Tensor& rstd, const kernels::Normal& result);
void ada_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& rstd, const at::Tensor& mean,
                  const at::Tensor& scale, const at::Tensor& weight, const at::Tensor& bias, const at::Tensor& out,
                  const at::Tensor& out_scale, const at::Tensor& out_shift, const at::Tensor& out_weight,
                  const at::Tensor& out_bias);
void write_rows_quantized(const at::Tensor& out, const at::Tensor& scale, const at::Tensor& value);
void dynamic_mode(const std::string& mode);
at::Tensor smooth(const at::Tensor& value, const at::Tensor& scales);
SIM_API at::Tensor rms_normal(const at::Tensor& x, const at::Tensor& gamma, const at::Tensor& beta, double eps);
at::Tensor layer_normal(const at::Tensor& x, const at::Tensor& gamma, const at::Tensor& beta, double eps);
void over_the_last(const at::Tensor& x, const at::Tensor& gamma);
void static_mode(int64_t mode);
SIM_API at::Tensor steps_of(const at::Tensor& value, const at::Tensor& scale, const at::Tensor& zero, bool divide);
void add_layer_norm_like(const at::Tensor& a, const at::Tensor& b, const at::Tensor& gamma, const std::string& mode,
                         bool divide, const at::Tensor& scale1, const at::Tensor& scale2, const at::Tensor& out);
void add_layer_norm_quant(const at::Tensor& a, const at::Tensor& b, const at::Tensor& gamma, const at::Tensor& beta,
                          const at::Tensor& bias, const at::Tensor& scale, const at::Tensor& zero, double eps,
                          const at::Tensor& out, const at::Tensor& normal, const at::Tensor& total);
// The same with two results, of which the second is there where its scale is: with scales that are given or, dynamic,
// one for each row, before which a scale that is given multiplies.
struct QuantizedResult {
  at::Tensor scale, zero, out, out_scale;
};
struct Quantization {
  bool dynamic, divide;
};
void add_layer_norm_like(const at::Tensor& a, const at::Tensor& b, const at::Tensor& gamma, const std::string& mode,
                         const QuantizedResult& first, const QuantizedResult& second, const at::Tensor& sum);
void add_layer_norm_quant(const at::Tensor& a, const at::Tensor& b, const at::Tensor& gamma, const at::Tensor& beta,
                          const at::Tensor& bias, double eps, const Quantization& how, const QuantizedResult& first,
                          const QuantizedResult& second, const at::Tensor& sum);
void group_norm_silu(const at::Tensor& self, const at::Tensor& gamma, const at::Tensor& beta, int64_t groups,
                     double eps, bool silu, const at::Tensor& out, const at::Tensor& mean, const at::Tensor& rstd);
void group_norm_silu_quant(const at::Tensor& self, const at::Tensor& gamma, const at::Tensor& beta,
                           const at::Tensor& scale, int64_t groups, double eps, const at::Tensor& out,
                           const at::Tensor& mean, const at::Tensor& rstd);
at::Tensor quantized_batch_norm(const at::Tensor& x, const at::Tensor& mean, const at::Tensor& var, double scale,
                                double zero, double out_scale, double out_zero, const at::Tensor& weight,
                                const at::Tensor& bias, double eps);

}  // namespace sim::quant
