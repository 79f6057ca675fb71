// Gated units, and the scaling of features.
#include "kernels/gated.h"

#include "kernels/activation.h"
#include "kernels/members.h"
#include "opapi/aclnn.h"

using namespace sim::aclnn;

namespace {

Dims halved(const at::Tensor& self, int64_t dim) {
  const int64_t at = wrap(dim, self);
  SIM_CHECK(self.dim() && self.size(at) % 2 == 0, "dimension ", dim, " of ", self.sizes(), " has an odd size");
  Dims sizes = self.sizes().vec();
  sizes[at] /= 2;
  return sizes;
}

void half_of(const at::Tensor& out, const at::Tensor& self, int64_t dim) { shape(out, halved(self, dim)); }

// The rows that were computed: the others of `out` stay.
void write_rows(const at::Tensor& out, const at::Tensor& rows) {
  const int64_t all = rows.size(1) ? out.numel() / rows.size(1) : rows.size(0);
  auto whole = out.is_contiguous() ? out : out.contiguous();
  whole.view({all, rows.size(1)}).narrow(0, 0, rows.size(0)).copy_(rows);
  if (!whole.is_same(out)) out.copy_(whole);
}

void write_modulate(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& shift,
                    const kernels::ModulateGradients& result) {
  write(x, result.x);
  if (scale.defined()) write(scale, result.scale.reshape(scale.sizes()));
  if (shift.defined()) write(shift, result.shift.reshape(shift.sizes()));
}

// As CANN's check has it: one row for each batch, also as (batch, 1, features), and both are there.
void modulated_rows(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& shift) {
  SIM_CHECK(x.dim() == 3, "self (batch, rows, features) expected, got ", x.sizes());
  for (const at::Tensor& each : {scale, shift}) {
    SIM_CHECK(each.defined(), "scaleOptional and shiftOptional have to be given both");
    const Dims flat{x.size(0), x.size(2)}, row{x.size(0), 1, x.size(2)};
    SIM_CHECK(each.sizes() == flat || each.sizes() == row, "a scale or shift of shape ", each.sizes(), "; expected ",
              flat, " or ", row);
  }
}

void geglu_like(const at::Tensor& self, int64_t dim, const at::Tensor& out, const at::Tensor& out_gelu) {
  half_of(out, self, dim), like(out_gelu, out);
}

// A number for each feature of each batch.
void modulated_by(const at::Tensor& x, std::initializer_list<at::Tensor> scales) {
  SIM_CHECK(x.dim() == 3, "input (batch, rows, features) expected, got ", x.sizes());
  asked(scales, {x.size(0), x.size(2)});
}

}  // namespace

ACLNN(ClippedSwiglu,
      (In, self, In, group_index, int64_t, dim, double, alpha, double, limit, double, bias, bool, interleaved, Out,
       out),
      half_of(out, self, dim),
      write_rows(out, kernels::clipped_swiglu(self, group_index, {dim, alpha, limit, bias, interleaved})))
ACLNN(ClippedSwigluV2,
      (In, self, In, group_index, int64_t, dim, double, alpha, double, limit, double, bias, bool, interleaved, int64_t,
       clamp_mode, Out, out),
      SIM_CHECK(clamp_mode == 0 || clamp_mode == 1, "clampMode ", clamp_mode, "; allowed: 0, 1");
      half_of(out, self, dim),
      write_rows(out,
                 kernels::clipped_swiglu(self, group_index, {dim, alpha, limit, bias, interleaved, clamp_mode == 1})))
ACLNN(SwigluGroup, (In, self, In, weight, In, group_index, double, limit, Out, out),
      (same_dtype({self, out}), half_of(out, self, -1), kernels::token_weights(self, weight, limit)),
      write_rows(out, kernels::swiglu_of_tokens(self, weight, group_index, limit)))
ACLNN(ClippedSwigluGrad,
      (In, grad, In, self, In, group_index, int64_t, dim, double, alpha, double, limit, double, bias, bool, interleaved,
       Out, out),
      (half_of(grad, self, dim), like(out, self)),
      write(out, kernels::clipped_swiglu_backward(grad, self, group_index, {dim, alpha, limit, bias, interleaved})))
ACLNN(FatreluMul, (In, self, In, threshold, Out, out), (half_of(out, self, -1), one_element(threshold)),
      write(out, kernels::fatrelu_mul(self, threshold)))
ACLNN(GeGlu, (In, self, int64_t, dim, int64_t, approximate, Out, out, Out, out_gelu),
      geglu_like(self, dim, out, out_gelu),
      kernels::write_members({out, out_gelu}, kernels::geglu(self, dim, approximate, false)))
ACLNN(GeGluBackward, (In, grad, In, self, In, gelu, int64_t, dim, int64_t, approximate, Out, out),
      half_of(grad, self, dim), write(out, kernels::geglu_backward(grad, self, gelu, dim, approximate, false)))
ACLNN(SituGlu, (In, self, int64_t, dim, double, beta, double, linear_beta, bool, left, Out, out),
      half_of(out, self, dim), write(out, kernels::situ_glu(self, {dim, beta, linear_beta, left})))
ACLNN(SituGluGrad, (In, grad, In, self, int64_t, dim, double, beta, double, linear_beta, bool, left, Out, out),
      half_of(grad, self, dim), write(out, kernels::situ_glu_backward(grad, self, {dim, beta, linear_beta, left})))
ACLNN(Modulate, (In, self, In, scale, In, shift, Out, out), modulated_rows(self, scale, shift),
      write(out, kernels::modulate(self, scale, shift)))
ACLNN(ModulateBackward, (In, grad, In, self, In, scale, In, shift, Out, out, Out, out_scale, Out, out_shift),
      modulated_by(self, {scale, out_scale, out_shift}),
      write_modulate(out, out_scale, out_shift, kernels::modulate_backward(grad, self, scale)))
ACLNN(Glu, (In, self, int64_t, dim, Out, out), half_of(out, self, dim), write(out, kernels::glu(self, dim)))
ACLNN(SwiGlu, (In, self, int64_t, dim, Out, out), half_of(out, self, dim), write(out, kernels::swiglu(self, dim)))
ACLNN(GeGluV3, (In, self, int64_t, dim, int64_t, approximate, bool, left, Out, out, Out, out_gelu),
      geglu_like(self, dim, out, out_gelu),
      kernels::write_members({out, out_gelu}, kernels::geglu(self, dim, approximate, left)))
ACLNN(GeluMul, (In, self, Text, approximate, Out, out), (half_of(out, self, -1), kernels::of_gelu(approximate)),
      write(out, kernels::gelu_mul(self, approximate)))
ACLNN(GluBackward, (In, grad, In, self, int64_t, dim, Out, out), half_of(grad, self, dim),
      write(out, kernels::glu_backward(grad, self, dim)))
ACLNN(SwiGluGrad, (In, grad, In, self, int64_t, dim, Out, out), half_of(grad, self, dim),
      write(out, kernels::swiglu_backward(grad, self, dim)))
ACLNN(GeGluV3Backward, (In, grad, In, self, In, gelu, int64_t, dim, int64_t, approximate, bool, left, Out, out),
      half_of(grad, self, dim), write(out, kernels::geglu_backward(grad, self, gelu, dim, approximate, left)))
