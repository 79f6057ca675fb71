// Points in space and on a plane, as mmcv's operators define them: neighbours, what lies between them, polygons.
#pragma once

#include "kernels/tensors.h"

namespace sim::kernels {

struct Ball {
  double nearest, farthest;  // radii; a point at the centre counts always
  int64_t count;
};
// For each centre (m, b, 3) the first points (b, 3, n) in its ball, int32 (m, b, count). Where there are fewer, the
// first stands again; where there is none, 0.
at::Tensor ball_query(const at::Tensor& points, const at::Tensor& centres, const Ball& ball);
// (b, n, c): three of the features (b, m, c) each, times their weights (b, n, 3).
at::Tensor three_interpolate(const at::Tensor& features, const at::Tensor& places, const at::Tensor& weights);
// Of each point (2, b, n) to the nearest of the others (2, b, m), squared, with its place, and back.
struct Chamfer {
  at::Tensor there, back, nearest_there, nearest_back;
};
Chamfer chamfer_distance(const at::Tensor& points, const at::Tensor& others);
// (n, m): 1 where a point (n, 2) lies in a polygon of four corners (8, m), 0 on its border and outside.
at::Tensor in_polygons(const at::Tensor& points, const at::Tensor& polygons);

}  // namespace sim::kernels
