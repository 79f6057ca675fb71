// Normalizations that take scale and shift for each batch, and those that end in numbers of 8 bits.
#pragma once

#include "kernels/normal.h"

namespace sim::quant {

kernels::Normal ada_layer_norm(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& shift,
                               const at::Tensor& weight, const at::Tensor& bias, double eps);
void ada_like(const at::Tensor& out, const at::Tensor& x, const at::Tensor& scale, const at::Tensor& shift,
              std::initializer_list<at::Tensor> statistics = {});
void write_ada(const at::Tensor& out, const at::Tensor& mean, const at::Tensor& rstd, const kernels::Normal& result);
struct AdaNormal {
  at::Tensor x, rstd, mean, scale, weight, bias;
};
struct AdaGradients {
  at::Tensor x, scale, shift, weight, bias;
};
void ada_backward(const at::Tensor& grad, const AdaNormal& of, const AdaGradients& to);
void write_rows_quantized(const at::Tensor& out, const at::Tensor& scale, const at::Tensor& value);
void dynamic_mode(const std::string& mode);
at::Tensor smooth(const at::Tensor& value, const at::Tensor& scales);
SIM_API at::Tensor rms_normal(const at::Tensor& x, const at::Tensor& gamma, const at::Tensor& beta, double eps);
at::Tensor layer_normal(const at::Tensor& x, const at::Tensor& gamma, const at::Tensor& beta, double eps);
void over_the_last(const at::Tensor& x, const at::Tensor& gamma);
SIM_API at::Tensor steps_of(const at::Tensor& value, const at::Tensor& scale, const at::Tensor& zero, bool divide);
// What is added before it is normalized.
struct Summands {
  at::Tensor a, b, gamma, beta = {}, bias = {};
  double eps = 0;
};
struct QuantizedResult {
  at::Tensor scale = {}, zero = {}, out, out_scale = {};
};
void add_layer_norm_like(const Summands& of, const std::string& mode, bool divide, const QuantizedResult& first,
                         const QuantizedResult& second);
void add_layer_norm_quant(const Summands& of, const QuantizedResult& to, const at::Tensor& normal,
                          const at::Tensor& total);
// The same with two results, of which the second is there where its scale is: with scales that are given or, dynamic,
// one for each row, before which a scale that is given multiplies.
struct Quantization {
  bool dynamic, divide;
};
void add_layer_norm_like(const Summands& of, const std::string& mode, const QuantizedResult& first,
                         const QuantizedResult& second, const at::Tensor& sum);
void add_layer_norm_quant(const Summands& of, const Quantization& how, const QuantizedResult& first,
                          const QuantizedResult& second, const at::Tensor& total);
void group_norm_silu(const at::Tensor& self, const at::Tensor& gamma, const at::Tensor& beta, int64_t groups,
                     double eps, bool silu, const kernels::Normal& to);
void group_norm_silu_quant(const at::Tensor& self, const at::Tensor& gamma, const at::Tensor& beta,
                           const at::Tensor& scale, int64_t groups, double eps, const kernels::Normal& to);
// Whole numbers: (number - zero) * scale.
struct WholeNumbers {
  at::Scalar scale, zero;
};
struct Channels {
  at::Tensor mean, var, weight, bias;
};
at::Tensor quantized_batch_norm(const at::Tensor& x, const Channels& of, const WholeNumbers& from,
                                const WholeNumbers& to, double eps);

}  // namespace sim::quant
