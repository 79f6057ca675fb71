#include "kernels/rotated.h"

#include <cmath>

namespace sim::kernels {
namespace {

struct Point {
  double x, y;
};
Point operator-(Point a, Point b) { return {a.x - b.x, a.y - b.y}; }
double cross(Point a, Point b) { return a.x * b.y - a.y * b.x; }

struct Box {
  double x, y, width, height, angle;
  double area() const { return width * height; }
};
using Polygon = std::vector<Point>;

// From x towards y, as the sides' inner half-planes are.
Polygon corners_of(const Box& box) {
  const double turn = box.angle * (M_PI / 180), cosine = std::cos(turn), sine = std::sin(turn);
  Polygon out;
  for (const Point at : {Point{-0.5, -0.5}, Point{0.5, -0.5}, Point{0.5, 0.5}, Point{-0.5, 0.5}}) {
    const double x = at.x * box.width, y = at.y * box.height;
    out.push_back({box.x + x * cosine - y * sine, box.y + x * sine + y * cosine});
  }
  return out;
}

// What of a convex polygon lies on the inner side of the line from `a` to `b`.
Polygon cut_along(const Polygon& shape, Point a, Point b) {
  Polygon out;
  const auto inside = [&](Point p) { return cross(b - a, p - a); };
  for (size_t i = 0; i < shape.size(); ++i) {
    const Point from = shape[i], to = shape[(i + 1) % shape.size()];
    const double before = inside(from), after = inside(to);
    if (before >= 0) out.push_back(from);
    if (before * after >= 0) continue;
    const double part = before / (before - after);
    out.push_back({from.x + part * (to.x - from.x), from.y + part * (to.y - from.y)});
  }
  return out;
}

double shared_area(Box a, Box b) {
  // A box without an area, or with a negative one, shares nothing.
  if (!(a.area() > 0 && b.area() > 0)) return 0;
  const Point middle{(a.x + b.x) / 2, (a.y + b.y) / 2};  // far from it, differences of coordinates lose digits
  for (Box* box : {&a, &b}) box->x -= middle.x, box->y -= middle.y;
  Polygon shape = corners_of(a);
  const Polygon sides = corners_of(b);
  for (size_t i = 0; i < sides.size(); ++i) shape = cut_along(shape, sides[i], sides[(i + 1) % sides.size()]);
  double twice = 0;
  for (size_t i = 0; i < shape.size(); ++i) twice += cross(shape[i], shape[(i + 1) % shape.size()]);
  return std::max(twice / 2, 0.0);
}

double relative_overlap(const Box& a, const Box& b) {
  const double shared = shared_area(a, b);
  return shared > 0 ? shared / (a.area() + b.area() - shared) : 0;
}

// The boxes of a matrix with one in each row.
std::vector<Box> boxes_in(const at::Tensor& rows, bool corners) {
  const at::Tensor values = rows.to(at::kDouble).contiguous();
  const auto* of = values.const_data_ptr<double>();
  std::vector<Box> out;
  for (int64_t i = 0; i < values.size(0); ++i, of += 5)
    out.push_back(corners ? Box{(of[0] + of[2]) / 2, (of[1] + of[3]) / 2, of[2] - of[0], of[3] - of[1], -of[4]}
                          : Box{of[0], of[1], of[2], of[3], of[4]});
  return out;
}

}  // namespace

at::Tensor rotated_overlaps(const at::Tensor& boxes, const at::Tensor& others, bool relative) {
  const at::Tensor out = at::zeros({boxes.size(0), boxes.size(2), others.size(2)});
  auto* to = out.mutable_data_ptr<float>();
  for (int64_t batch = 0; batch < boxes.size(0); ++batch) {
    const auto rows = boxes_in(boxes[batch].t(), false), columns = boxes_in(others[batch].t(), false);
    for (const Box& a : rows)
      for (const Box& b : columns) *to++ = float(relative ? relative_overlap(a, b) : shared_area(a, b));
  }
  return out;
}

KeptBoxes rotated_unsuppressed(const at::Tensor& boxes, const at::Tensor& scores, const RotatedSuppression& how) {
  const std::vector<Box> all = boxes_in(boxes, how.corners);
  const at::Tensor of = scores.to(at::kFloat), order = at::argsort(of, true, 0, true);
  const auto least = float(how.least_score);
  Dims kept;
  for (int64_t i = 0; i < order.numel(); ++i) {
    const int64_t place = order[i].item<int64_t>();
    const auto score = of[place].item<float>();
    if (int64_t(kept.size()) == how.count || score < least) break;
    SIM_CHECK(score != least, "no source tells whether a box stays whose score is the least, ", least);
    bool stays = true;
    for (size_t k = 0; stays && k < kept.size(); ++k)
      stays = relative_overlap(all[size_t(place)], all[size_t(kept[k])]) <= how.most_overlap;
    if (stays) kept.push_back(place);
  }
  const at::Tensor places = at::tensor(kept, at::kLong);
  return {boxes.index_select(0, places), places.to(at::kInt)};
}

}  // namespace sim::kernels
