#include "kernels/pooling.h"

#include <cstring>

#include "kernels/conv.h"

namespace sim::kernels {

// How often a window fits: along a side that is `size` long, padded by `before` and `after`. The last one is left out
// where it would begin in the padding.
static int64_t windows(int64_t size, int64_t before, int64_t after, int64_t window, int64_t step, bool ceil_mode) {
  SIM_CHECK(window > 0 && step > 0, "a window of ", window, " by steps of ", step);
  const int64_t room = size + before + after - window + (ceil_mode ? step - 1 : 0), count = room / step + 1;
  SIM_CHECK(room >= 0, "a window of ", window, " by steps of ", step, " in ", size, " + ", before, " + ", after);
  return ceil_mode && (count - 1) * step >= size + before ? count - 1 : count;
}

Dims pooled_sizes(at::IntArrayRef x, const Window& w) {
  const size_t dims = size_t(w.dims), first = x.size() - dims;
  SIM_CHECK(x.size() == dims + 1 || x.size() == dims + 2, "an input of shape ", x, " for windows of ", dims,
            " dimensions");
  for_dims("kernelSize", w.size, dims, 1), for_dims("stride", w.stride, dims, 1);
  for_dims("padding", w.padding, dims, 0), for_dims("dilation", w.dilation, dims, 1);
  Dims sizes = x.vec();
  for (size_t i = 0; i < dims; ++i) {
    const int64_t window = of_each(w.size, i, 1), step = of_each(w.stride, i, window), pad = of_each(w.padding, i, 0);
    sizes[first + i] = windows(x[first + i], pad, pad, of_each(w.dilation, i, 1) * (window - 1) + 1, step, w.ceil_mode);
  }
  return sizes;
}

Dims resized_sizes(const at::Tensor& x, const Checked<float>& scales) {
  SIM_CHECK(x.dim() == 4 && scales.size() == 4 && scales[0] == 1 && scales[1] == 1, "scales ",
            at::ArrayRef<float>(scales), " of ", x.sizes(), "; four for (N, C, H, W), of which the first two are 1");
  Dims sizes = x.sizes().vec();
  for (size_t dim : {2, 3}) sizes[dim] = static_cast<int64_t>(std::floor(double(sizes[dim]) * double(scales[dim])));
  return sizes;
}

Dims last_replaced(at::IntArrayRef x, at::IntArrayRef size) {
  SIM_CHECK(x.size() == size.size() + 1 || x.size() == size.size() + 2, "an input of shape ", x, " and sizes ", size,
            " do not belong together");
  Dims sizes = x.vec();
  std::copy(size.begin(), size.end(), sizes.last(size.size()));
  return sizes;
}

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

// What a mask begins with that has places.
constexpr char kPlaces[16] = "ophook places";

Maxima maxima(const at::Tensor& x, const Window& w) {
  const auto run = w.dims == 3 ? at::max_pool3d_with_indices : at::max_pool2d_with_indices;
  auto [y, places] = run(wide(x), w.size, w.stride, w.padding, w.dilation, w.ceil_mode);
  return {y, places};
}

// Of each image.
static at::Tensor places_in(const at::Tensor& x, size_t dims, const at::Tensor& places) {
  int64_t count = 1;
  for (int64_t dim = 1; dim <= int64_t(dims); ++dim) count *= x.size(-dim);
  return indices_below(count, places);
}

at::Tensor maxima_backward(const at::Tensor& grad, const at::Tensor& x, const Window& w, const at::Tensor& places) {
  const auto run = w.dims == 3 ? at::max_pool3d_with_indices_backward : at::max_pool2d_with_indices_backward;
  return run(wide(grad), wide(x), w.size, w.stride, w.padding, w.dilation, w.ceil_mode,
             places_in(x, size_t(w.dims), places));
}

at::Tensor adaptive_maxima_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& places,
                                    size_t dims) {
  SIM_CHECK(outer_sizes(grad, dims) == outer_sizes(x, dims), "a gradient ", grad.sizes(), " of ", x.sizes());
  const auto run = dims == 3 ? at::adaptive_max_pool3d_backward : at::adaptive_max_pool2d_backward;
  return run(wide(grad), wide(x), places_in(x, dims, places));
}

// Where in a mask the places of so many results are, as int32; undefined where it has no room for them.
static at::Tensor room_for_places(const at::Tensor& mask, int64_t count) {
  constexpr int64_t begin = sizeof kPlaces;
  if (!mask.is_contiguous() || mask.numel() < begin + count * 4) return {};
  return mask.view({-1}).slice(0, begin, begin + count * 4).view(at::kInt);
}

void write_places(const at::Tensor& mask, const at::Tensor& places) {
  mask.zero_();
  const at::Tensor room = room_for_places(mask, places.numel());
  if (!room.defined()) return;
  room.copy_(places.reshape({-1}));  // those of a tensor whose channels lie last do, too
  std::memcpy(mask.data_ptr(), kPlaces, sizeof kPlaces);
}

at::Tensor maxima_backward_again(const at::Tensor& grad, const at::Tensor& x, const Window& window) {
  return maxima_backward(grad, x, window, maxima(x, window).places);
}

at::Tensor maxima_backward_masked(const at::Tensor& grad, const at::Tensor& x, const Window& window,
                                  const at::Tensor& mask) {
  const at::Tensor room = room_for_places(mask, grad.numel());
  const int64_t plane = x.size(-2) * x.size(-1);
  if (room.defined() && room.numel() && !std::memcmp(mask.data_ptr(), kPlaces, sizeof kPlaces)) {
    if (at::amin(room).item<int>() >= 0 && at::amax(room).item<int>() < plane)
      return maxima_backward(grad, x, window, room.view(grad.sizes()));
  }
  return maxima_backward_again(grad, x, window);
}

// One side of a pooling that pads by itself, first axis 0.
struct Side {
  int64_t before, window, step, count;
};
static Side side_of(at::IntArrayRef x, const Window& w, size_t axis) {
  const int64_t size = x[x.size() - 2 + axis], window = of_each(w.size, axis, 1), step = of_each(w.stride, axis, 1);
  const int64_t before = of_each(w.padding, axis, 0), after = w.padding.size() == 4 ? w.padding[axis + 2] : before;
  SIM_CHECK(size + before + after >= window, "a window of ", window, " in ", size, " + ", before, " + ", after);
  return {before, window, step, windows(size, before, after, window, step, w.ceil_mode)};
}

Dims padded_maxima_sizes(at::IntArrayRef x, const Window& w) {
  SIM_CHECK(x.size() == 3 || x.size() == 4, "an input of shape ", x, "; 3 or 4 dimensions expected");
  return last_replaced(x, {side_of(x, w, 0).count, side_of(x, w, 1).count});
}

at::Tensor maxima_padded(const at::Tensor& x, const Window& w) {
  Window inside{2, {}, {}, Dims{0}, Dims{1}, false};
  Frame frame{{}, {}, {0, 0}};
  for (size_t i = 0; i < 2; ++i) {
    const auto [before, window, step, count] = side_of(x.sizes(), w, i);
    frame.before.push_back(before);
    frame.behind.push_back((count - 1) * step + window - x.size(int64_t(i) - 2) - before);
    inside.size.push_back(window), inside.stride.push_back(step);
  }
  return maxima_framed(x, inside, frame);
}

// As at::constant_pad_nd has it: the last axis first.
static Dims pads_of(const Frame& frame, bool over = true) {
  Dims out;
  for (size_t i = frame.before.size(); i-- > 0;)
    out.insert(out.end(), {frame.before[i], frame.behind[i] + (over ? frame.over[i] : 0)});
  return out;
}
static at::Tensor sums(const at::Tensor& x, const Window& w) { return average(x, w, /*count_padding=*/true, 1); }
// How many elements each window has.
static at::Tensor counts(at::IntArrayRef sizes, const Window& w, const Frame& frame, bool count_padding) {
  Dims one(sizes.size(), 1);
  std::copy(sizes.end() - w.dims, sizes.end(), one.end() - w.dims);
  Frame over{Dims(size_t(w.dims), 0), Dims(size_t(w.dims), 0), frame.over};
  const at::Tensor inside = at::constant_pad_nd(at::ones(one), pads_of(frame, false), count_padding ? 1 : 0);
  return sums(at::constant_pad_nd(inside, pads_of(over)), w);
}

at::Tensor average_framed(const at::Tensor& x, const Window& w, const Frame& frame, bool count_padding,
                          int64_t divisor) {
  const at::Tensor total = sums(at::constant_pad_nd(wide(x), pads_of(frame)), w);
  return divisor ? total.div(divisor) : total.div(counts(x.sizes(), w, frame, count_padding));
}
at::Tensor average_framed_backward(const at::Tensor& grad, at::IntArrayRef sizes, const Window& w, const Frame& frame,
                                   bool count_padding, int64_t divisor) {
  const Dims pads = pads_of(frame);
  const at::Tensor slope = wide(grad), x = at::constant_pad_nd(at::empty(sizes, slope.options()), pads);
  const at::Tensor each = divisor ? slope.div(divisor) : slope.div(counts(sizes, w, frame, count_padding));
  return unpadded(average_backward(each, x.sizes(), w, /*count_padding=*/true, 1), pads);
}

static at::Tensor framed_by_least(const at::Tensor& x, const Frame& frame) {
  const at::Tensor numbers = at::isFloatingType(x.scalar_type()) ? wide(x) : x.to(at::kDouble);
  return at::constant_pad_nd(numbers, pads_of(frame), -std::numeric_limits<double>::infinity());
}
at::Tensor maxima_framed(const at::Tensor& x, const Window& w, const Frame& frame) {
  return maxima(framed_by_least(x, frame), w).y.to(x.scalar_type());
}
at::Tensor maxima_framed_backward(const at::Tensor& grad, const at::Tensor& x, const Window& w, const Frame& frame) {
  const at::Tensor whole = framed_by_least(x, frame);
  return unpadded(maxima_backward_again(grad.to(whole.scalar_type()), whole, w), pads_of(frame));
}

at::Tensor cubic(const at::Tensor& x, const Resizing& how) {
  return at::upsample_bicubic2d(wide(x), how.size, how.corners, how.first, how.second);
}
at::Tensor cubic_backward(const at::Tensor& grad, const Resizing& how) {
  return at::upsample_bicubic2d_backward(wide(grad).contiguous(), grad.sizes().slice(2), how.size, how.corners,
                                         how.first, how.second);
}
at::Tensor linear(const at::Tensor& x, const Resizing& how) {
  return at::upsample_linear1d(wide(x), how.size, how.corners, how.first);
}
at::Tensor linear_backward(const at::Tensor& grad, const Resizing& how) {
  return at::upsample_linear1d_backward(wide(grad), grad.sizes().slice(2), how.size, how.corners, how.first);
}

}  // namespace sim::kernels
