#include "kernels/reduce.h"

#include <limits>

namespace sim::kernels {

std::tuple<at::Tensor, at::Tensor, at::Tensor> without_repeats(const at::Tensor& self, std::optional<int64_t> dim) {
  if (!self.is_complex()) return at::unique_consecutive(self, true, true, dim);
  const at::Tensor parts = at::view_as_real(self), rows = dim ? parts : parts.reshape({-1, 2});
  auto [values, inverse, counts] = at::unique_consecutive(rows, true, true, dim ? wrap(*dim, self) : 0);
  return {at::view_as_complex(values.contiguous()), dim ? inverse : inverse.reshape(self.sizes()), counts};
}

static at::ScalarType widened(at::ScalarType type) {
  return type == at::kHalf || type == at::kBFloat16 ? at::kFloat : type;
}

at::Tensor product(const at::Tensor& x, at::ScalarType result) { return at::prod(wide(x), widened(result)); }

at::Tensor product(const at::Tensor& x, int64_t dim, bool keep_dim, at::ScalarType result) {
  return at::prod(wide(x), dim, keep_dim, widened(result));
}

// ATen multiplies along one dimension at a time; rounded once, after the last.
at::Tensor product(const at::Tensor& x, Dims dims, bool keep_dims) {
  at::Tensor out = wide(x);
  for (int64_t& dim : dims) dim = wrap(dim, x);
  std::sort(dims.rbegin(), dims.rend());
  for (const int64_t dim : dims) out = product(out, dim, keep_dims, out.scalar_type());
  return out;
}

at::Tensor average_of(const at::Tensor& x, const Dims& dims, bool keep_dims) {
  if (!at::isIntegralType(x.scalar_type(), true)) return at::mean(x, dims, keep_dims);
  return at::mean(x.to(at::kDouble), dims, keep_dims).trunc().to(x.scalar_type());
}

at::Tensor squares_along(const at::Tensor& x, const Dims& dims, bool keep_dims) {
  const at::Tensor all = at::square(wide(x));
  return dims.empty() ? all : at::sum(all, dims, keep_dims);
}
at::Tensor log_of_sum(const at::Tensor& x, const Dims& dims, bool keep_dims) {
  return at::log(at::sum(wide(x), dims, keep_dims));
}

// Of every number with those before it along dim; f(x) is that from the front, with them and with itself.
template <typename F>
static at::Tensor running(const at::Tensor& x, int64_t dim, const Scan& scan, const at::Scalar& neutral, F f) {
  if (!x.dim()) return scan.exclusive ? at::full_like(x, neutral) : x;
  at::Tensor found = f(scan.reverse ? at::flip(x, {dim}) : x);
  if (scan.exclusive && x.size(dim)) {
    const at::Tensor first = at::full_like(found.narrow(dim, 0, 1), neutral);
    found = at::concat({first, found.narrow(dim, 0, x.size(dim) - 1)}, dim);
  }
  return scan.reverse ? at::flip(found, {dim}) : found;
}
at::Tensor running_sum(const at::Tensor& x, int64_t dim, const Scan& scan) {
  return running(x, dim, scan, 0, [&](const at::Tensor& from) { return at::cumsum(from, dim, x.scalar_type()); });
}
at::Tensor running_product(const at::Tensor& x, int64_t dim, at::ScalarType result, const Scan& scan) {
  return running(wide(x), dim, scan, 1,
                 [&](const at::Tensor& from) { return at::cumprod(from, dim, widened(result)); });
}
at::Tensor running_logsumexp(const at::Tensor& x, int64_t dim, const Scan& scan) {
  const double least = x.scalar_type() == at::kDouble ? std::numeric_limits<double>::lowest()
                       : x.scalar_type() == at::kHalf ? -65504.0
                                                      : double(std::numeric_limits<float>::lowest());
  return running(wide(x), dim, scan, least, [&](const at::Tensor& from) { return at::logcumsumexp(from, dim); });
}

Deviation deviation(const at::Tensor& x, const Dims& dims, int64_t correction, bool keep_dims) {
  const auto over = dims.empty() ? at::OptionalIntArrayRef() : at::OptionalIntArrayRef(dims);
  auto [std, mean] = at::std_mean(x, over, at::Scalar(correction), keep_dims);
  return {std, mean};
}

at::Tensor variance_from(const at::Tensor& x, const at::Tensor& mean, const Dims& dims, int64_t correction,
                         bool keep_dims) {
  const at::Tensor sum = at::sum(at::square(at::sub(wide(x), wide(mean))), dims, keep_dims);
  return at::div(sum, x.numel() / std::max<int64_t>(sum.numel(), 1) - correction);
}

Extremes extremes(const at::Tensor& x, at::IntArrayRef dims, bool keep_dims) {
  return {at::amin(x, dims, keep_dims), at::amax(x, dims, keep_dims)};
}

at::Tensor histogram(const at::Tensor& x, int64_t bins, const at::Scalar& min, const at::Scalar& max) {
  return at::histc(x.to(at::isIntegralType(x.scalar_type(), false) ? at::kDouble : at::kFloat), bins, min, max);
}

at::Tensor norm(const at::Tensor& x, double p, const Dims& dims, bool keep_dims, double least) {
  return at::linalg_vector_norm(x, p, dims, keep_dims).clamp_min(least);
}

at::Tensor confusion(const at::Tensor& labels, const at::Tensor& predictions, const at::Tensor& weights,
                     int64_t classes) {
  const at::Tensor rows = indices_below(classes, labels.to(at::kLong));
  const at::Tensor places = rows * classes + indices_below(classes, predictions.to(at::kLong));
  const at::Tensor each = weights.defined() ? weights.to(at::kDouble) : at::ones(places.sizes(), at::kDouble);
  return at::zeros({classes * classes}, at::kDouble).index_add(0, places, each).view({classes, classes});
}
at::Tensor histogram_between(const at::Tensor& x, const at::Tensor& ends, int64_t bins) {
  const double least = ends[0].item<double>(), most = ends[1].item<double>();
  SIM_CHECK(least < most, "a range from ", least, " to ", most);
  const at::Tensor places = at::floor((x.flatten().to(at::kDouble) - least) * (double(bins) / (most - least)));
  return at::bincount(at::clamp(places, 0, bins - 1).to(at::kLong), {}, bins);
}

static at::Tensor root_of_squares(const at::Tensor& x, const Dims& dims, double least) {
  return at::sqrt(at::sum(at::square(wide(x)), dims, true).clamp_min(least));
}
at::Tensor l2_normalized(const at::Tensor& x, const Dims& dims, double least) {
  return at::div(wide(x), root_of_squares(x, dims, least));
}
at::Tensor l2_normalized_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& y, const Dims& dims,
                                  double least) {
  const at::Tensor slope = wide(grad), along_y = at::sum(slope * wide(y), dims, true);
  return at::div(slope - wide(y) * along_y, root_of_squares(x, dims, least));
}
at::Tensor half_of_squares(const at::Tensor& x) { return at::sum(at::square(wide(x))).div(2); }

static bool has_root(double p) { return !std::isinf(p) && p != 0; }

at::Tensor power_sum(const at::Tensor& x, double p, const Dims& dims, bool keep_dims) {
  const at::Tensor norm = at::linalg_vector_norm(x, p, dims, keep_dims);
  return has_root(p) ? at::pow(norm, p) : norm;
}

at::Tensor norm_of_power_sum(const at::Tensor& sum, double p, double least) {
  return (has_root(p) ? at::pow(sum, 1 / p) : sum).clamp_min(least);
}

// -1 is how infinity is handed over.
at::Tensor spread_distances_backward(const at::Tensor& grad, const at::Tensor& x1, const at::Tensor& x2,
                                     const at::Tensor& distances, double p) {
  const at::Tensor slope = wide(grad), difference = wide(x1) - wide(x2), distance = wide(distances),
                   size = difference.abs();
  at::Tensor out;
  if (p == 0) out = at::zeros_like(difference);
  else if (p < 0 || std::isinf(p)) out = slope * difference.sign() * size.ge(distance);
  else out = slope * difference.sign() * at::pow(size, p - 1) / at::pow(distance, p - 1);
  return at::where(distance.eq(0) | difference.eq(0), 0, out).sum(-2);
}

at::Tensor distances_backward(const at::Tensor& grad, const at::Tensor& x1, const at::Tensor& x2,
                              const at::Tensor& distances, double p) {
  return spread_distances_backward(grad.unsqueeze(-1), x1.unsqueeze(-2), x2.unsqueeze(-3), distances.unsqueeze(-1), p);
}

at::Tensor vector_norm(const at::Tensor& x, const at::Scalar& order, at::OptionalIntArrayRef dims, bool keep_dims) {
  const at::Tensor real = x.is_complex() ? at::real(x) : x;
  const bool half = real.scalar_type() == at::kHalf || real.scalar_type() == at::kBFloat16;
  return at::linalg_vector_norm(half ? real : real.to(at::kFloat), order, dims, keep_dims, at::kFloat);
}

Sorted first_of_sorted(const at::Tensor& x, int64_t count, int64_t dim, bool largest) {
  SIM_CHECK(count >= 0 && count <= x.size(dim), count, " of ", x.size(dim), " along dimension ", dim);
  const auto [values, places] = at::sort(x, true, dim, largest);
  return {values.narrow(dim, 0, count), places.narrow(dim, 0, count)};
}

}  // namespace sim::kernels
