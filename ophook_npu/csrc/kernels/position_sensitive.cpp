#include "kernels/position_sensitive.h"

#include <algorithm>
#include <cmath>

namespace sim::kernels {
namespace {

struct Span {
  int64_t first, end;
  bool empty() const { return end <= first; }
};
// The pixels of one of the cells between two edges, in the steps in which the device's tests round.
Span cell_between(float low, float high, int64_t cell, const PositionSensitive& how, int64_t pixels) {
  const auto scale = float(how.scale), start = std::nearbyint(low) * scale;
  const float size = std::max(std::nearbyint(high + 1) * scale - start, 0.1f) / float(how.groups);
  const auto within = [&](float edge) { return int64_t(std::clamp(edge, 0.0f, float(pixels))); };
  return {within(std::floor(float(cell) * size + start)), within(std::ceil(float(cell + 1) * size + start))};
}

// Calls see(cell's number in the result, plane of its features, rows, columns) for the cells that have pixels.
template <typename See>
void each_cell(const at::Tensor& regions, const PositionSensitive& how, at::IntArrayRef features, See see) {
  const at::Tensor rows = regions.to(at::kFloat).transpose(1, 2).reshape({-1, 5}).contiguous();
  const auto* region = rows.const_data_ptr<float>();
  const int64_t groups = how.groups;
  for (int64_t n = 0; n < rows.size(0); ++n, region += 5)
    for (int64_t i = 0; i < groups; ++i)
      for (int64_t j = 0; j < groups; ++j) {
        const Span down = cell_between(region[2], region[4], i, how, features[2]),
                   over = cell_between(region[1], region[3], j, how, features[3]);
        if (down.empty() || over.empty()) continue;
        const auto image = int64_t(region[0]);
        SIM_CHECK(image >= 0 && image < features[0], "region ", n, " is of image ", image, " of ", features[0]);
        for (int64_t channel = 0; channel < how.outputs; ++channel) {
          const int64_t cell = (channel * groups + i) * groups + j;
          see(n * how.outputs * groups * groups + cell, image * features[1] + cell, down, over);
        }
      }
}

}  // namespace

at::Tensor position_sensitive_means(const at::Tensor& features, const at::Tensor& regions,
                                    const PositionSensitive& how) {
  const at::Tensor from = features.to(at::kFloat).contiguous();
  const at::Tensor out = at::zeros({regions.size(0) * regions.size(2), how.outputs, how.groups, how.groups});
  const int64_t width = from.size(3), plane_size = from.size(2) * width;
  auto* to = out.mutable_data_ptr<float>();
  const auto* values = from.const_data_ptr<float>();
  each_cell(regions, how, from.sizes(), [&](int64_t cell, int64_t plane, Span down, Span over) {
    float sum = 0;
    for (int64_t i = down.first; i < down.end; ++i)
      for (int64_t j = over.first; j < over.end; ++j) sum += values[plane * plane_size + i * width + j];
    to[cell] = sum / float((down.end - down.first) * (over.end - over.first));
  });
  return out;
}

at::Tensor position_sensitive_means_backward(const at::Tensor& grad, const at::Tensor& regions,
                                             const PositionSensitive& how, at::IntArrayRef sizes) {
  const at::Tensor from = grad.to(at::kFloat).contiguous(), out = at::zeros(sizes);
  const int64_t width = sizes[3], plane_size = sizes[2] * width;
  auto* to = out.mutable_data_ptr<float>();
  const auto* values = from.const_data_ptr<float>();
  each_cell(regions, how, sizes, [&](int64_t cell, int64_t plane, Span down, Span over) {
    const float part = values[cell] / float((down.end - down.first) * (over.end - over.first));
    for (int64_t i = down.first; i < down.end; ++i)
      for (int64_t j = over.first; j < over.end; ++j) to[plane * plane_size + i * width + j] += part;
  });
  return out;
}

}  // namespace sim::kernels
