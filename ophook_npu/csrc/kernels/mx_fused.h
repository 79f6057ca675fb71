// What ends in small floating-point numbers: normalizations, gated units, products, by blocks or with one scale.
#pragma once

#include "kernels/activation_quant.h"
#include "kernels/gated.h"
#include "kernels/mx_quant.h"

namespace sim::mx {

// ---- after a normalization -----------------------------------------------------------------------------------------
struct NormResults {
  at::Tensor out, sum = {}, scale, rstd;
  bool with_rstd;
};
void norm_like(const quant::Summands& of, int64_t dtype, const How& how, const NormResults& to);
// sum: a + b, or neither.
void norm_quant(const quant::Summands& of, const How& how, const NormResults& to);
void rms_norm_like(const at::Tensor& x, const at::Tensor& gamma, const at::Tensor& scale, const at::Tensor& out,
                   const at::Tensor& rstd);
void rms_norm_quant(const at::Tensor& x, const at::Tensor& gamma, const at::Tensor& beta, double eps, bool divide,
                    const quant::QuantizedResult& to, const at::Tensor& rstd);
void rms_norm_backward_like(const at::Tensor& grad, const at::Tensor& x, const std::string& mode,
                            const at::Tensor& out);
void rms_norm_backward_quant(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& rstd,
                             const at::Tensor& gamma, bool divide, const quant::QuantizedResult& to,
                             const at::Tensor& out_gamma);

// ---- after a gated unit --------------------------------------------------------------------------------------------
struct GatedRows {
  at::Tensor x, group_index;
  int64_t dim, kind, axis;
};
void swiglu_like(const GatedRows& of, int64_t swiglu_mode, double limit, int64_t dtype, const How& how,
                 const at::Tensor& out, const at::Tensor& scale);
void swiglu_quant(const GatedRows& of, const quant::Swiglu& swiglu, const How& how, const at::Tensor& out,
                  const at::Tensor& scale);
void swiglu_dual_like(const at::Tensor& x, const at::Tensor& ends, int64_t dtype, const How& how, const TwoAxes& to);
at::Tensor swiglu(const at::Tensor& x, bool left);
void swiglu_backward_like(const at::Tensor& x, const at::Tensor& grad, const at::Tensor& ends, int64_t dtype,
                          const How& how, const TwoAxes& to);
at::Tensor swiglu_backward(const at::Tensor& x, const at::Tensor& grad, bool left);

at::Tensor first_half(const at::Tensor& x);  // of the last dimension
struct Tokens {
  int64_t quant_mode;  // 0: blocks of 128 with scales of float, 1: of 32 with powers of two
  bool powers;         // of two
  double limit;        // -1: none
  int64_t block;
  bool with_origin;
};
void swiglu_tokens_like(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& static_scale, int64_t dtype,
                        const Tokens& how, const at::Tensor& out, const at::Tensor& scale);
void swiglu_tokens(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& group_index, const Tokens& how,
                   const at::Tensor& out, const at::Tensor& scale);
void swiglu_tokens_backward_like(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& weight,
                                 const at::Tensor& origin, const at::Tensor& out, const at::Tensor& out_weight);
void swiglu_tokens_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& origin, const at::Tensor& group_index, double limit,
                            const at::Tensor& out, const at::Tensor& out_weight);

void gelu_like(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& offset, const std::string& mode,
               const std::string& round_mode, const at::Tensor& out, const at::Tensor& out_scale);
void gelu_quant(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& offset, const std::string& approximate,
                bool dynamic, const at::Tensor& out, const at::Tensor& out_scale);

// ---- with scales of float ------------------------------------------------------------------------------------------
// Rows in groups that have a scale each; without groups all are one. most: the largest magnitude of each.
// Without a mode, or by the one that the format has: HIFLOAT8 its own.
void rint_alone(const std::string& mode, const at::Tensor& out);
void scaled_like(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& ends, const std::string& mode,
                 int64_t dtype, const at::Tensor& out, const at::Tensor& most);
void scaled_quant(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& ends, const at::Tensor& out,
                  const at::Tensor& most);
struct Tiles {
  double least;  // the reciprocal of the largest scale, or 0
  int64_t rows, columns;
};
void tiles_like(const at::Tensor& x, const at::Tensor& ends, const std::string& mode, int64_t kind, double top,
                const Tiles& how, const at::Tensor& out, const at::Tensor& scale);
void tiles_quant(const at::Tensor& x, const at::Tensor& ends, const Tiles& how, const at::Tensor& out,
                 const at::Tensor& scale);

}  // namespace sim::mx
