#include "kernels/fractional.h"

#include <cmath>

namespace sim::kernels {

at::Tensor drawn_borders(int64_t size, int64_t parts, bool steady, const at::Generator& by) {
  SIM_CHECK(parts >= 1 && parts <= size, parts, " windows along ", size);
  std::vector<int64_t> out{0};
  if (steady) {
    const double step = double(size) / double(parts), whole = std::floor(step);
    const double most = std::min((whole + 2) / step - 1, (double(size) + 1 - whole) / step - double(parts - 1));
    const double shift = at::rand({}, by, at::TensorOptions().dtype(at::kDouble)).item<double>() * most;
    for (int64_t i = 1; i < parts; ++i) out.push_back(int64_t(std::ceil(step * (double(i) + shift))) - 1);
    out.push_back(size);
  } else {
    const at::Tensor order = at::randperm(parts, by);
    for (int64_t i = 0; i < parts; ++i)
      out.push_back(out.back() + size / parts + (order[i].item<int64_t>() < size % parts));
  }
  return at::tensor(out, at::kLong);
}

namespace {
// For each window its part of an image, and the place of the result.
template <typename F>
void each_window(const at::Tensor& x, const Borders& at, F use) {
  const at::Tensor borders[] = {at.rows.to(at::kLong), at.columns.to(at::kLong)};
  const auto end = [&](size_t axis, int64_t i) {
    return std::min(borders[axis][i + 1].item<int64_t>() + at.overlapping, x.size(int64_t(axis) + 1));
  };
  for (const size_t axis : {0, 1}) {
    const int64_t count = borders[axis].numel();
    for (int64_t i = 0; i < count; ++i) {
      const int64_t border = borders[axis][i].item<int64_t>(), size = x.size(int64_t(axis) + 1);
      SIM_CHECK(border >= (i ? borders[axis][i - 1].item<int64_t>() + 1 : 0) && border <= size, "border ", i, " is ",
                border, " in ", x.sizes());
    }
  }
  for (int64_t i = 0; i + 1 < borders[0].numel(); ++i)
    for (int64_t j = 0; j + 1 < borders[1].numel(); ++j)
      use(x.slice(1, borders[0][i].item<int64_t>(), end(0, i)).slice(2, borders[1][j].item<int64_t>(), end(1, j)), i,
          j);
}
at::Tensor room_for(const at::Tensor& x, const Borders& at) {
  return at::zeros({x.size(0), at.rows.numel() - 1, at.columns.numel() - 1, x.size(3)}, x.options());
}
}  // namespace

at::Tensor fractional_maxima(const at::Tensor& x, const Borders& at) {
  at::Tensor out = room_for(x, at);
  each_window(x, at, [&](const at::Tensor& part, int64_t i, int64_t j) {
    out.select(1, i).select(1, j).copy_(at::amax(part, {1, 2}));
  });
  return out;
}
at::Tensor fractional_average(const at::Tensor& x, const Borders& at) {
  at::Tensor out = room_for(x, at);
  each_window(x, at, [&](const at::Tensor& part, int64_t i, int64_t j) {
    out.select(1, i).select(1, j).copy_(at::mean(part.to(at::kDouble), {1, 2}));  // of whole numbers cut off
  });
  return out;
}
at::Tensor fractional_maxima_backward(const at::Tensor& grad, const at::Tensor& x, const Borders& at) {
  at::Tensor places = at::arange(x.numel(), at::kLong).view(x.sizes()), out = at::zeros({x.numel()}, grad.options());
  const at::Tensor flat = x.contiguous().flatten();
  each_window(places, at, [&](const at::Tensor& part, int64_t i, int64_t j) {
    const at::Tensor mine = part.flatten(1, 2), first = at::argmax(flat.take(mine), 1, true);
    out.index_add_(0, mine.gather(1, first).flatten(), grad.select(1, i).select(1, j).flatten());
  });
  return out.view(x.sizes());
}
at::Tensor fractional_average_backward(const at::Tensor& grad, at::IntArrayRef sizes, const Borders& at) {
  at::Tensor out = at::zeros(sizes, at::kDouble);
  each_window(out, at, [&](const at::Tensor& part, int64_t i, int64_t j) {
    const at::Tensor own = grad.select(1, i).select(1, j).to(at::kDouble).unsqueeze(1).unsqueeze(1);
    at::Tensor(part).add_(own, 1.0 / double(part.size(1) * part.size(2)));
  });
  return out;
}

}  // namespace sim::kernels
