// Small fused steps of transformers that no other table has a place for.
#include "opapi/aclnn.h"

#include <ATen/ops/maximum.h>
#include <ATen/ops/softmax.h>

using namespace sim::aclnn;

namespace {

// ---- attention over a ring of devices: two parts of the keys, each with the maximum and the sum of its softmax ------------
void ring_parts(const at::Tensor& out, const at::Tensor& top, const std::string& layout, const std::string& softmax_layout) {
  TORCH_CHECK(layout == "SBH" || layout == "TND", "input_layout ", layout, "; allowed: SBH, TND");
  const bool fits = layout == "SBH" ? softmax_layout.empty() || softmax_layout == "SBH" : softmax_layout == "TND";
  TORCH_CHECK(fits, "input_softmax_layout '", softmax_layout, "' for input_layout ", layout, " is not simulated; allowed: the same layout");
  TORCH_CHECK(out.dim() == 3 && top.dim() == (layout == "SBH" ? 4 : 3), "attention ", out.sizes(), " with softmax values ", top.sizes());
}

void ring_update(const at::Tensor& before, const at::Tensor& before_top, const at::Tensor& before_sum, const at::Tensor& now, const at::Tensor& now_top,
                 const at::Tensor& now_sum, bool sbh, const at::Tensor& out, const at::Tensor& out_top, const at::Tensor& out_sum) {
  auto top = at::maximum(before_top, now_top);
  auto before_share = before_top.sub(top).exp().mul(before_sum), now_share = now_top.sub(top).exp().mul(now_sum);
  auto sum = before_share.add(now_share);
  // The values of a head stand eight times: (batch, heads, sequence, 8) or (tokens, heads, 8).
  auto weighted = [&](const at::Tensor& part, const at::Tensor& share) {
    auto factor = share.div(sum).select(-1, 0);
    if (!sbh) return wide(part).mul(factor.unsqueeze(-1));
    auto heads = wide(part).unflatten(-1, {factor.size(1), -1});
    return heads.mul(factor.permute({2, 0, 1}).unsqueeze(-1)).flatten(-2);
  };
  write(out, weighted(before, before_share).add(weighted(now, now_share)).to(out.scalar_type()));
  write(out_top, top);
  write(out_sum, sum);
}

at::Tensor biased_softmax(const at::Tensor& self, const at::Tensor& mask, const at::Tensor& bias, double scale) {
  auto scores = wide(self).mul(scale).add(wide(bias));
  return at::softmax(mask.defined() ? scores.add(wide(mask)) : scores, -1);
}

}  // namespace

// clang-format off
ACLNN(RingAttentionUpdateV2,       (In,before, In,before_top, In,before_sum, In,now, In,now_top, In,now_sum, In,lengths, Text,layout, Text,softmax_layout, Out,out, Out,out_top, Out,out_sum),
      (ring_parts(before, before_top, layout, softmax_layout), like(now, before), like(out, before)), ring_update(before, before_top, before_sum, now, now_top, now_sum, layout == "SBH", out, out_top, out_sum))
ACLNN(MaskedSoftmaxWithRelPosBias, (In,self, In,mask, In,bias, double,scale, int64_t,precision, Out,out),
      like(out, self), write(out, biased_softmax(self, mask, bias, scale).to(out.scalar_type())))
// clang-format on
