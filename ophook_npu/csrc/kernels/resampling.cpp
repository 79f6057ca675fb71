#include "kernels/resampling.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

namespace sim::kernels {

at::Tensor resampled(const at::Tensor& x, const at::Tensor& rows, const at::Tensor& columns) {
  return at::matmul(at::matmul(rows, x.to(at::kFloat)), columns.t());
}
at::Tensor resampled_backward(const at::Tensor& grad, const at::Tensor& rows, const at::Tensor& columns) {
  return resampled(grad, rows.t(), columns.t());
}

// A row for each new pixel, from what it has of each old one.
static at::Tensor weights_of(int64_t from, int64_t to, const std::function<void(int64_t, float*)>& fill) {
  at::Tensor out = at::zeros({to, from}, at::kFloat);
  for (int64_t i = 0; i < to; ++i) fill(i, out.data_ptr<float>() + i * from);
  return out;
}

at::Tensor corner_weights(int64_t from, int64_t to) {
  const float step = float(from) / float(to);
  return weights_of(from, to, [&](int64_t i, float* row) {
    const float place = float(i) * step, part = place - std::floor(place);
    const int64_t first = std::min(int64_t(place), from - 1);
    row[first] += 1 - part, row[std::min(first + 1, from - 1)] += part;
  });
}

static at::Tensor nearest_pixels(int64_t from, int64_t to, bool corners) {
  const float step = corners && to > 1 ? float(from - 1) / float(to - 1) : float(from) / float(to);
  std::vector<int64_t> out;
  for (int64_t i = 0; i < to; ++i) {
    const float place = corners ? std::round(float(i) * step) : std::floor((float(i) + 0.5f) * step);
    out.push_back(std::min(int64_t(place), from - 1));
  }
  return at::tensor(out, at::kLong);
}

at::Tensor nearest(const at::Tensor& x, at::IntArrayRef to, Pixels how) {
  if (how == Pixels::from_the_corner) return at::upsample_nearest2d(wide(x), to);
  const bool corners = how == Pixels::by_corners;
  return x.index_select(2, nearest_pixels(x.size(2), to[0], corners))
      .index_select(3, nearest_pixels(x.size(3), to[1], corners));
}
at::Tensor nearest_backward(const at::Tensor& grad, at::IntArrayRef sizes, Pixels how) {
  const at::Tensor each = wide(grad);
  if (how == Pixels::from_the_corner) return at::upsample_nearest2d_backward(each, grad.sizes().slice(2), sizes);
  const bool corners = how == Pixels::by_corners;
  const at::Tensor columns = at::zeros({sizes[0], sizes[1], grad.size(2), sizes[3]}, each.options())
                                 .index_add_(3, nearest_pixels(sizes[3], grad.size(3), corners), each);
  return at::zeros(sizes, each.options()).index_add_(2, nearest_pixels(sizes[2], grad.size(2), corners), columns);
}

at::Tensor area_weights(int64_t from, int64_t to, bool corners) {
  const double step = corners && to > 1 ? double(from - 1) / double(to - 1) : double(from) / double(to);
  return weights_of(from, to, [&](int64_t i, float* row) {
    const double begin = double(i) * step, end = begin + step;
    for (auto j = int64_t(begin); double(j) < end; ++j) {
      const double part = std::min(end, double(j) + 1) - std::max(begin, double(j));
      row[std::min(j, from - 1)] += float(part / step);
    }
  });
}

namespace {
struct Filter {
  const char* name;
  double radius;
  double (*at)(double);  // of a distance from 0 on
};
template <int radius>
double lanczos(double x) {
  if (x >= radius) return 0;
  const double turn = std::numbers::pi * x;
  return x <= 1e-3 ? 1 : radius * std::sin(turn) * std::sin(turn / radius) / (turn * turn);
}
double gaussian(double x) { return x >= 1.5 ? 0 : std::exp(-x * x / (2 * 0.5 * 0.5)); }
double box(double x) { return x < 0.5 ? 1 : x == 0.5 ? 0.5 : 0; }
double triangle(double x) { return x < 1 ? 1 - x : 0; }
double keys(double x) {
  if (x >= 2) return 0;
  return x >= 1 ? ((-0.5 * x + 2.5) * x - 4) * x + 2 : (1.5 * x - 2.5) * x * x + 1;
}
double mitchell(double x) {
  if (x >= 2) return 0;
  return x >= 1 ? ((-7.0 / 18 * x + 2) * x - 10.0 / 3) * x + 16.0 / 9 : (7.0 / 6 * x - 2) * x * x + 8.0 / 9;
}
constexpr Filter kFilters[] = {{"lanczos1", 1, lanczos<1>},
                               {"lanczos3", 3, lanczos<3>},
                               {"lanczos5", 5, lanczos<5>},
                               {"gaussian", 1.5, gaussian},
                               {"box", 1, box},
                               {"triangle", 1, triangle},
                               {"keyscubic", 2, keys},
                               {"mitchellcubic", 2, mitchell}};
const Filter& filter_named(const std::string& name) {
  for (const Filter& one : kFilters)
    if (name == one.name) return one;
  std::string all;
  for (const Filter& one : kFilters) all += (all.empty() ? "" : ", ") + std::string(one.name);
  SIM_CHECK(false, "there is no filter '", name, "'; allowed: ", all);
}
}  // namespace

void of_filter(const std::string& name) { filter_named(name); }

at::Tensor moved_weights(int64_t from, int64_t to, const Moved& how) {
  const Filter& filter = filter_named(how.filter);
  const double back = 1 / how.scale, width = how.antialias ? std::max(back, 1.0) : 1, reach = filter.radius * width;
  return weights_of(from, to, [&](int64_t i, float* row) {
    const double middle = (double(i) + 0.5 - how.shift) * back;
    if (middle < 0 || middle > double(from)) return;
    const auto first = std::max<int64_t>(int64_t(std::ceil(middle - reach - 0.5)), 0);
    const auto last = std::min<int64_t>(int64_t(std::floor(middle + reach - 0.5)), from - 1);
    double sum = 0;
    for (int64_t j = first; j <= last; ++j) {
      row[j] = float(filter.at(std::abs(double(j) + 0.5 - middle) / width));
      sum += double(row[j]);
    }
    for (int64_t j = first; sum != 0 && j <= last; ++j) row[j] = float(double(row[j]) / sum);
  });
}

// ---- colours ------------------------------------------------------------------------------------------------------
at::Tensor rgb_to_hsv(const at::Tensor& x) {
  const at::Tensor rgb = wide(x), most = at::amax(rgb, -1), range = most - at::amin(rgb, -1);
  const at::Tensor red = rgb.select(-1, 0), green = rgb.select(-1, 1), blue = rgb.select(-1, 2);
  const at::Tensor step = 1 / (6 * at::where(range == 0, at::ones_like(range), range));
  at::Tensor hue = at::where(most == red, (green - blue) * step,
                             at::where(most == green, (blue - red) * step + 2.0 / 6, (red - green) * step + 4.0 / 6));
  hue = at::where(range == 0, at::zeros_like(hue), at::where(hue < 0, hue + 1, hue));
  const at::Tensor part = at::where(most > 0, range / most, at::zeros_like(most));
  return at::stack({hue, part, most}, -1);
}
static at::Tensor hsv_to_rgb(const at::Tensor& hue, const at::Tensor& saturation, const at::Tensor& value) {
  const at::Tensor turn = hue * 6;
  const auto channel = [&](double from, double sign, double shift) {
    const at::Tensor share = at::clamp((turn - from).abs() * sign + shift, 0, 1);
    return (1 - saturation + share * saturation) * value;
  };
  return at::stack({channel(3, 1, -1), channel(2, -1, 2), channel(4, -1, 2)}, -1);
}
at::Tensor hue_turned(const at::Tensor& x, double by) {
  const at::Tensor hsv = rgb_to_hsv(x), hue = hsv.select(-1, 0) + by;
  return hsv_to_rgb(hue - at::floor(hue), hsv.select(-1, 1), hsv.select(-1, 2));
}
at::Tensor saturation_scaled(const at::Tensor& x, double by) {
  const at::Tensor hsv = rgb_to_hsv(x);
  return hsv_to_rgb(hsv.select(-1, 0), at::clamp(hsv.select(-1, 1) * by, 0, 1), hsv.select(-1, 2));
}

}  // namespace sim::kernels
