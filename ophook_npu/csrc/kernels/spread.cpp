#include "kernels/spread.h"

#include <array>
#include <functional>

namespace sim::kernels {
namespace {

using Part = std::array<int64_t, 4>;  // rows and columns of an image: from, to
// For each number of the mask: where it stands, what part of the images it is for, and where these go in
// (height * width, height, width) as one dimension.
void each_of_mask(const SpatialMask& m, const std::function<void(int64_t, const Part&, const at::Tensor&)>& run) {
  const auto reached = [](int64_t at, int64_t middle, int64_t size) {
    return std::pair(std::max<int64_t>(0, middle - at), std::min(size, size + middle - at));
  };
  for (int64_t row = 0; row < m.mask_height; ++row)
    for (int64_t column = 0; column < m.mask_width; ++column) {
      const auto [top, bottom] = reached(row, m.middle_row, m.height);
      const auto [left, right] = reached(column, m.middle_column, m.width);
      if (top >= bottom || left >= right) continue;
      const at::Tensor own = (at::arange(top, bottom).unsqueeze(1) * m.width + at::arange(left, right)).flatten();
      const at::Tensor other = own + ((row - m.middle_row) * m.width + column - m.middle_column);
      const int64_t all = m.height * m.width;
      run(row * m.mask_width + column, {top, bottom, left, right},
          m.distribute ? own * all + other : other * all + own);
    }
}
at::Tensor placed(const at::Tensor& x, int64_t at, const Part& part) {
  return x.select(1, at).slice(1, part[0], part[1]).slice(2, part[2], part[3]);
}

// Where each of the a * h * w numbers goes, (a * h * w, r).
at::Tensor targets(const at::Tensor& places) {
  const at::Tensor to = places.to(at::kLong).flatten(0, 2) - 1;
  SIM_CHECK(!to.numel() || (to.min().item<int64_t>() >= 0 && to.max().item<int64_t>() < to.size(0)),
            "an index is not one of 1 to ", to.size(0));
  return to;
}

}  // namespace

at::Tensor spatial_mask(const at::Tensor& x, const SpatialMask& m) {
  const int64_t all = m.height * m.width;
  at::Tensor out = at::zeros({m.images, all * all}, x.options());
  each_of_mask(m, [&](int64_t at, const Part& part, const at::Tensor& to) {
    out.index_copy_(1, to, placed(x, at, part).flatten(1));
  });
  return out.reshape({m.images, all, m.height, m.width});
}
at::Tensor spatial_mask_backward(const at::Tensor& grad, const SpatialMask& m) {
  at::Tensor out = at::zeros({m.images, m.mask_height * m.mask_width, m.height, m.width}, grad.options());
  each_of_mask(m, [&](int64_t at, const Part& part, const at::Tensor& from) {
    at::Tensor own = placed(out, at, part);
    own.copy_(grad.flatten(1).index_select(1, from).reshape(own.sizes()));
  });
  return out;
}

at::Tensor turned_filters(const at::Tensor& x, const at::Tensor& places) {
  const at::Tensor to = targets(places);
  const int64_t o = x.size(0), i = x.size(1), turns = to.size(1);
  at::Tensor out = at::zeros({o, turns, i, to.size(0)}, x.options());
  for (int64_t turn = 0; turn < turns; ++turn) out.select(1, turn).index_copy_(2, to.select(1, turn), x.flatten(2));
  return out.reshape({o * turns, i * x.size(2), x.size(3), x.size(4)});
}
at::Tensor turned_filters_backward(const at::Tensor& grad, const at::Tensor& places) {
  const at::Tensor to = targets(places);
  const int64_t turns = to.size(1), o = grad.size(0) / turns, i = grad.size(1) / places.size(0);
  const at::Tensor all = wide(grad).reshape({o, turns, i, to.size(0)});
  at::Tensor out = at::zeros({o, i, to.size(0)}, all.options());
  for (int64_t turn = 0; turn < turns; ++turn) out += all.select(1, turn).index_select(2, to.select(1, turn));
  return out.reshape({o, i, places.size(0), places.size(1), places.size(2)});
}

}  // namespace sim::kernels
