#include "kernels/pooling.h"

namespace sim::kernels {

static std::optional<int64_t> divisor_of(int64_t divisor) {
  return divisor ? std::optional<int64_t>(divisor) : std::nullopt;
}

at::Tensor average(const at::Tensor& x, const Window& w, bool count_padding, int64_t divisor) {
  const auto run = w.dims == 3 ? at::avg_pool3d : at::avg_pool2d;
  return run(wide(x), w.size, w.stride, w.padding, w.ceil_mode, count_padding, divisor_of(divisor));
}

at::Tensor average_backward(const at::Tensor& grad, at::IntArrayRef sizes, const Window& w, bool count_padding,
                            int64_t divisor) {
  const auto run = w.dims == 3 ? at::avg_pool3d_backward : at::avg_pool2d_backward;
  const at::Tensor slope = wide(grad);
  return run(slope, at::empty(sizes, slope.options()), w.size, w.stride, w.padding, w.ceil_mode, count_padding,
             divisor_of(divisor));
}

at::Tensor adaptive_average(const at::Tensor& x, const Dims& size) {
  return size.size() == 3 ? at::adaptive_avg_pool3d(wide(x), size) : at::adaptive_avg_pool2d(wide(x), size);
}

at::Tensor adaptive_average_backward(const at::Tensor& grad, at::IntArrayRef sizes) {
  const at::Tensor slope = wide(grad), x = at::empty(sizes, slope.options());
  return at::_adaptive_avg_pool2d_backward(slope, x);
}

Maxima maxima(const at::Tensor& x, const Window& w) {
  const auto run = w.dims == 3 ? at::max_pool3d_with_indices : at::max_pool2d_with_indices;
  auto [y, places] = run(wide(x), w.size, w.stride, w.padding, w.dilation, w.ceil_mode);
  return {y, places};
}

at::Tensor maxima_backward(const at::Tensor& grad, const at::Tensor& x, const Window& w, const at::Tensor& places) {
  const auto run = w.dims == 3 ? at::max_pool3d_with_indices_backward : at::max_pool2d_with_indices_backward;
  return run(wide(grad), wide(x), w.size, w.stride, w.padding, w.dilation, w.ceil_mode, places.to(at::kLong));
}

at::Tensor maxima_backward(const at::Tensor& grad, const at::Tensor& x, const Window& window) {
  return maxima_backward(grad, x, window, maxima(x, window).places);
}

at::Tensor maxima_padded(const at::Tensor& x, const Window& w) {
  auto both = [](const Dims& values, size_t i, int64_t otherwise) {
    return values.empty() ? otherwise : values[values.size() > 1 ? i : 0];
  };
  Dims pads, sizes, steps;
  for (size_t i = 0; i < 2; ++i) {
    const int64_t size = x.size(int64_t(i) - 2), window = both(w.size, i, 1), step = both(w.stride, i, 1);
    const int64_t before = both(w.padding, i, 0), after = w.padding.size() == 4 ? w.padding[i + 2] : before;
    const int64_t room = size + before + after - window;
    SIM_CHECK(room >= 0 && window > 0 && step > 0, "a window of ", window, " by steps of ", step, " in ", size, " + ",
              before, " + ", after);
    int64_t count = (w.ceil_mode ? divided(room + step - 1, step) : divided(room, step)) + 1;
    if (w.ceil_mode && (count - 1) * step >= size + before) --count;
    pads.insert(pads.begin(), {before, (count - 1) * step + window - size - before});
    sizes.push_back(window), steps.push_back(step);
  }
  return at::max_pool2d(at::constant_pad_nd(x, pads, -std::numeric_limits<double>::infinity()), sizes, steps);
}

}  // namespace sim::kernels
