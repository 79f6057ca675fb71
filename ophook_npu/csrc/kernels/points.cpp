#include "kernels/points.h"

namespace sim::kernels {

at::Tensor ball_query(const at::Tensor& points, const at::Tensor& centres, const Ball& ball) {
  const at::Tensor off = centres.to(at::kFloat).unsqueeze(3) - points.to(at::kFloat);  // m, b, 3, n
  const at::Tensor far = off.square().sum(2);
  const at::Tensor in =
      far.eq(0).logical_or(far.ge(ball.nearest * ball.nearest).logical_and(far.lt(ball.farthest * ball.farthest)));
  const int64_t n = far.size(2);
  at::Tensor found = std::get<0>(at::where(in, at::arange(n), at::scalar_tensor(n, at::kLong)).sort(2));
  found = found.narrow(2, 0, std::min(n, ball.count));
  if (n < ball.count) found = at::constant_pad_nd(found, {0, ball.count - n}, n);
  const at::Tensor first = found.narrow(2, 0, 1);
  found = at::where(found.eq(n), first, found);
  return found.masked_fill(first.eq(n), 0).to(at::kInt);
}

at::Tensor three_interpolate(const at::Tensor& features, const at::Tensor& places, const at::Tensor& weights) {
  const int64_t b = features.size(0), m = features.size(1), c = features.size(2), n = places.size(1);
  const at::Tensor place = places.to(at::kLong);
  SIM_CHECK(!place.numel() || (place.min().item<int64_t>() >= 0 && place.max().item<int64_t>() < m),
            "an index is outside of the ", m, " features");
  const at::Tensor taken = wide(features).gather(1, place.reshape({b, 3 * n, 1}).expand({b, 3 * n, c}));
  return (taken.reshape({b, n, 3, c}) * wide(weights).unsqueeze(3)).sum(2);
}

Chamfer chamfer_distance(const at::Tensor& points, const at::Tensor& others) {
  const at::Tensor far = (wide(points).unsqueeze(3) - wide(others).unsqueeze(2)).square().sum(0);  // b, n, m
  const auto [there, nearest_there] = far.min(2);
  const auto [back, nearest_back] = far.min(1);
  return {there, back, nearest_there.to(at::kInt), nearest_back.to(at::kInt)};
}

// A ray to the right crosses the sides of a polygon around the point an odd number of times.
at::Tensor in_polygons(const at::Tensor& points, const at::Tensor& polygons) {
  const at::Tensor px = points.select(1, 0).unsqueeze(1), py = points.select(1, 1).unsqueeze(1);
  at::Tensor crossed = at::zeros({points.size(0), polygons.size(1)}, at::kBool), border = at::zeros_like(crossed);
  for (int64_t i = 0, j = 3; i < 4; j = i++) {
    const at::Tensor sx = polygons[2 * i], sy = polygons[2 * i + 1], tx = polygons[2 * j], ty = polygons[2 * j + 1];
    const at::Tensor spans = sy.lt(py).logical_and(ty.ge(py)).logical_or(sy.ge(py).logical_and(ty.lt(py)));
    const at::Tensor x = sx + (py - sy) * (tx - sx) / (ty - sy);
    const auto corner = [&](const at::Tensor& cx, const at::Tensor& cy) { return cx.eq(px).logical_and(cy.eq(py)); };
    // What comes after the side that a point lies on is not counted.
    border = border.logical_or(corner(sx, sy)).logical_or(corner(tx, ty)).logical_or(spans.logical_and(x.eq(px)));
    crossed = crossed.logical_xor(spans.logical_and(x.gt(px)).logical_and(border.logical_not()));
  }
  return crossed.to(at::kFloat);
}

}  // namespace sim::kernels
