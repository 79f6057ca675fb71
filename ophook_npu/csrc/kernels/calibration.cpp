#include "kernels/calibration.h"

namespace sim::kernels {

Calibrated calibrated(const at::Tensor& data, const at::Tensor& least, const at::Tensor& most, const at::Tensor& counts,
                      const Calibration& how) {
  const at::Tensor x = data.to(at::kFloat), low = least.to(at::kFloat).reshape({}),
                   high = most.to(at::kFloat).reshape({});
  const at::Tensor below = counts.to(at::kFloat) / float(data.numel());
  const auto edge_at = [&](double part) { return below.lt(part).sum() / float(counts.numel()) * (high - low) + low; };
  at::Tensor start = edge_at(1 - float(how.least_percentile)), end = edge_at(float(how.most_percentile));
  const auto tries = int64_t((how.last - how.first) / how.step + 0.5) + 1;
  const at::Tensor factor = at::arange(tries, at::kFloat) * how.step + how.first;
  at::Tensor scale, offset;
  if (how.with_offset) {
    start = start.clamp_max(0);
    scale = (end.clamp_min(0) * factor - start) / 255;
  } else {
    scale = at::maximum(end.abs(), start.abs()) * factor / 127;
  }
  scale = at::where(scale.lt(1.192092896e-07), at::ones_like(scale), scale);
  offset = how.with_offset ? -(at::round(start / scale) + 128) : at::zeros_like(scale);
  const at::Tensor loss = at::empty({tries});
  for (int64_t i = 0; i < tries; ++i) {
    const at::Tensor quantized = (at::round(x / scale[i]) + offset[i]).clamp(-128, 127);
    loss[i].copy_(((quantized - offset[i]) * scale[i] - x).square().sum());
  }
  const int64_t best = at::argmin(loss).item<int64_t>();
  return {scale[best].reshape(least.sizes()), offset[best].reshape(least.sizes())};
}

}  // namespace sim::kernels
