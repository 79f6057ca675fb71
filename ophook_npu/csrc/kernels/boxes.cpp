#include "kernels/boxes.h"

namespace sim::kernels {
namespace {

// Corners of boxes (4, N) that are given as corners or, with `trans`, as centre and size.
struct Corners {
  at::Tensor x1, y1, x2, y2;
  at::Tensor width() const { return x2 - x1; }
  at::Tensor height() const { return y2 - y1; }
  at::Tensor area() const { return width() * height(); }
};
Corners corners(const at::Tensor& boxes, bool trans) {
  at::Tensor a = boxes[0], b = boxes[1], c = boxes[2], d = boxes[3];
  if (!trans) return {a, b, c, d};
  return {a - c / 2, b - d / 2, a + c / 2, b + d / 2};
}

// Centre and size of boxes whose far edge belongs to them.
struct Centred {
  at::Tensor x, y, width, height;
};
Centred centred_at(const at::Tensor& boxes) {
  Tensors side = wide(boxes).unbind(1);
  at::Tensor width = side[2] - side[0] + 1, height = side[3] - side[1] + 1;
  return {(side[0] + side[2]) * 0.5, (side[1] + side[3]) * 0.5, width, height};
}

constexpr double kDegree = M_PI / 180;

// The mean of bilinear samples is a product with one matrix an axis: row i holds what cell i takes of each pixel.
at::Tensor cells(double start, double end, int64_t count, int64_t samples, int64_t pixels) {
  at::Tensor out = at::zeros({count, pixels});
  if (!pixels) return out;
  auto weight = out.accessor<float, 2>();
  double size = (end - start) / static_cast<double>(count);
  int64_t taken = samples > 0 ? samples : static_cast<int64_t>(std::ceil(size));
  for (int64_t i = 0; i < count; ++i)
    for (int64_t k = 0; k < taken; ++k) {
      double at = start + (static_cast<double>(i) + (static_cast<double>(k) + 0.5) / static_cast<double>(taken)) * size;
      if (at < -1 || at > static_cast<double>(pixels)) continue;
      at = std::clamp(at, 0.0, static_cast<double>(pixels - 1));
      auto low = static_cast<int64_t>(at);
      int64_t high = std::min(low + 1, pixels - 1);
      auto part = static_cast<float>(at - static_cast<double>(low));
      weight[i][low] += (1 - part) / static_cast<float>(taken);
      weight[i][high] += part / static_cast<float>(taken);
    }
  return out;
}

struct Region {
  int64_t image;
  at::Tensor rows, columns;
};
Region region(const at::Tensor& roi, const Regions& how, int64_t height, int64_t width) {
  at::Tensor values = roi.to(at::kDouble);
  auto edge = [&](int64_t i) { return values[i].item<double>(); };
  double more = how.far_edge ? 1 : 0;  // the far edge belongs to the region
  double shift = how.aligned ? 0.5 : 0;
  double x1 = edge(1) * how.scale - shift, y1 = edge(2) * how.scale - shift, x2 = (edge(3) + more) * how.scale - shift,
         y2 = (edge(4) + more) * how.scale - shift;
  double least = how.far_edge || how.aligned ? 0 : 1;
  return {static_cast<int64_t>(edge(0)), cells(y1, y1 + std::max(y2 - y1, least), how.height, how.samples, height),
          cells(x1, x1 + std::max(x2 - x1, least), how.width, how.samples, width)};
}

}  // namespace

void overlaps_like(const at::Tensor& boxes, const at::Tensor& truths, const std::string& mode, bool pairs,
                   const at::Tensor& out) {
  SIM_CHECK(mode == "iou" || mode == "iof", "mode ", mode, "; allowed: iou, iof");
  if (pairs) shapes<kPairs>(boxes, truths, out);
  else shapes<"n 4, m 4 -> n m">(boxes, truths, out);
}

at::Tensor overlaps(const at::Tensor& boxes, const at::Tensor& truths, double eps, bool of_truth, bool pairs,
                    bool wider) {
  at::Tensor margin = at::scalar_tensor(eps, boxes.scalar_type());
  // a column a number: of the boxes they lie along the result's rows, where each truth is a row
  auto sides = [&](const at::Tensor& of, bool upright) -> Tensors { return (upright ? of : of.t()).split(1, upright); };
  auto box = sides(boxes, pairs), truth = sides(truths, true);
  auto area = [&](const Tensors& of) { return (of[2] - of[0] + margin) * (of[3] - of[1] + margin); };
  auto shared = [&](size_t low, size_t high) {
    const at::Tensor side = at::minimum(truth[high], box[high]) - at::maximum(truth[low], box[low]);
    return (wider ? side + margin : side).clamp_min(0);
  };
  at::Tensor common = shared(0, 2) * shared(1, 3), whole_truth = area(truth);
  return common / (of_truth ? whole_truth : area(box) + whole_truth - common);
}

// The page's limits: pairs alone, and their number is a multiple of 1024.
void penalized_like(const at::Tensor& boxes, const at::Tensor& truths, const std::string& mode, const at::Tensor& out,
                    const at::Tensor& aspect) {
  shapes<kColumnPairs>(boxes, truths, out, aspect);
  SIM_CHECK(boxes.size(1) % 1024 == 0, boxes.size(1), " boxes; a multiple of 1024 is expected");
  SIM_CHECK(mode == "iou", "mode ", mode, " is not simulated; allowed: iou");  // of "iof" there is no formula
}

Generalized generalized_overlaps(const at::Tensor& boxes, const at::Tensor& truths, bool centred, bool each,
                                 Penalty penalty) {
  Corners p = corners(wide(boxes), centred), q = corners(wide(truths), centred);
  if (each) q = {q.x1.unsqueeze(1), q.y1.unsqueeze(1), q.x2.unsqueeze(1), q.y2.unsqueeze(1)};
  at::Tensor common = (at::minimum(p.x2, q.x2) - at::maximum(p.x1, q.x1)).clamp_min(0) *
                      (at::minimum(p.y2, q.y2) - at::maximum(p.y1, q.y1)).clamp_min(0);
  at::Tensor all = p.area() + q.area() - common + 1e-16, overlap = common / all;
  at::Tensor width = at::maximum(p.x2, q.x2) - at::minimum(p.x1, q.x1),
             height = at::maximum(p.y2, q.y2) - at::minimum(p.y1, q.y1);
  at::Tensor aspect = at::zeros_like(overlap);
  if (penalty == Penalty::enclosing) {
    at::Tensor enclosing = width * height;
    overlap = overlap - (enclosing - all) / enclosing;
  } else {
    at::Tensor apart = ((p.x1 + p.x2 - q.x1 - q.x2).square() + (p.y1 + p.y2 - q.y1 - q.y2).square()) / 4;
    at::Tensor far = apart / (width.square() + height.square() + 1e-16);
    if (penalty == Penalty::distance_and_aspect) {
      aspect = at::atan(q.width() / q.height()) - at::atan(p.width() / p.height());
      at::Tensor v = aspect.square() * (4 / (M_PI * M_PI));
      far = far + v * v / (1 - overlap + v + 1e-16);
    }
    overlap = overlap - far;
  }
  return {overlap, aspect};
}

namespace {

// Gradients along one axis, of the near and the far edges of boxes and truths.
struct EdgeGradients {
  at::Tensor near, far, truth_near, truth_far;
  at::Tensor centre() const { return near + far; }
  at::Tensor size() const { return (far - near) / 2; }
  at::Tensor truth_centre() const { return truth_near + truth_far; }
  at::Tensor truth_size() const { return (truth_far - truth_near) / 2; }
};
// What comes to them from the length that both share, and from the least one that holds both. Of two equal edges each
// takes half.
EdgeGradients edges(const Tensors& box, const Tensors& truth, const at::Tensor& shared, const at::Tensor& enclosing) {
  const auto lesser = [](const at::Tensor& a, const at::Tensor& b) { return a.lt(b) + a.eq(b) * 0.5; };
  const at::Tensor far = lesser(box[1], truth[1]), near = lesser(truth[0], box[0]);
  const at::Tensor of_shared = shared * at::minimum(box[1], truth[1]).gt(at::maximum(box[0], truth[0]));
  return {-(of_shared * near + enclosing * (1 - near)), of_shared * far + enclosing * (1 - far),
          -(of_shared * (1 - near) + enclosing * near), of_shared * (1 - far) + enclosing * far};
}

}  // namespace

OverlapGradients generalized_overlaps_backward(const at::Tensor& grad, const at::Tensor& boxes,
                                               const at::Tensor& truths, Penalty penalty) {
  const Corners p = corners(wide(boxes), true), q = corners(wide(truths), true);
  const at::Tensor dy = wide(grad).reshape({boxes.size(1)});
  const auto shared_between = [](const Tensors& a, const Tensors& b) {
    return (at::minimum(a[1], b[1]) - at::maximum(a[0], b[0])).clamp_min(0);
  };
  const Tensors px{p.x1, p.x2}, py{p.y1, p.y2}, qx{q.x1, q.x2}, qy{q.y1, q.y2};
  const at::Tensor across = shared_between(px, qx), down = shared_between(py, qy), common = across * down;
  const at::Tensor all = p.area() + q.area() - common + 1e-16;
  const at::Tensor width = at::maximum(p.x2, q.x2) - at::minimum(p.x1, q.x1),
                   height = at::maximum(p.y2, q.y2) - at::minimum(p.y1, q.y1);
  at::Tensor by_all = -dy * common / all.square(), by_width, by_height, by_x, by_y;
  if (penalty == Penalty::enclosing) {
    const at::Tensor enclosing = width * height, by_enclosing = -dy * all / enclosing.square();
    by_all = by_all + dy / enclosing;
    by_width = by_enclosing * height;
    by_height = by_enclosing * width;
    by_x = by_y = at::zeros_like(dy);
  } else {
    const at::Tensor x = (p.x1 + p.x2 - q.x1 - q.x2) / 2, y = (p.y1 + p.y2 - q.y1 - q.y2) / 2;
    const at::Tensor diagonal = width.square() + height.square() + 1e-16;
    const at::Tensor by_diagonal = dy * (x.square() + y.square()) / diagonal.square();
    by_width = 2 * by_diagonal * width;
    by_height = 2 * by_diagonal * height;
    by_x = -2 * dy * x / diagonal;
    by_y = -2 * dy * y / diagonal;
  }
  const at::Tensor by_common = dy / all - by_all;
  const EdgeGradients x = edges(px, qx, by_common * down, by_width), y = edges(py, qy, by_common * across, by_height);
  return {
      at::stack({x.centre() + by_x, y.centre() + by_y, x.size() + by_all * p.height(), y.size() + by_all * p.width()}),
      at::stack({x.truth_centre() - by_x, y.truth_centre() - by_y, x.truth_size() + by_all * q.height(),
                 y.truth_size() + by_all * q.width()})};
}

at::Tensor encode_boxes(const at::Tensor& anchors, const at::Tensor& truths, const std::vector<float>& means,
                        const std::vector<float>& stds) {
  const at::Tensor mean = at::tensor(means), std = at::tensor(stds);
  Centred from = centred_at(anchors), to = centred_at(truths);
  at::Tensor deltas = at::stack({(to.x - from.x) / from.width, (to.y - from.y) / from.height,
                                 at::log(to.width / from.width), at::log(to.height / from.height)},
                                1);
  // The device normalizes in float16, whatever the boxes are.
  return (deltas.to(at::kHalf) - mean.to(at::kHalf)) * (1 / std).to(at::kHalf);
}

at::Tensor decode_boxes(const at::Tensor& anchors, const at::Tensor& deltas, const std::vector<float>& means,
                        const std::vector<float>& stds, double ratio_clip, const Dims& limits) {
  Centred from = centred_at(anchors);
  Tensors delta = (wide(deltas) * at::tensor(stds) + at::tensor(means)).unbind(1);
  double ratio = std::abs(std::log(ratio_clip));
  at::Tensor x = from.x + from.width * delta[0], y = from.y + from.height * delta[1];
  at::Tensor width = from.width * at::exp(delta[2].clamp(-ratio, ratio)),
             height = from.height * at::exp(delta[3].clamp(-ratio, ratio));
  at::Tensor out =
      at::stack({x - width * 0.5 + 0.5, y - height * 0.5 + 0.5, x + width * 0.5 - 0.5, y + height * 0.5 - 0.5}, 1);
  if (limits.size() == 2) {
    at::Tensor most = at::tensor({limits[1] - 1, limits[0] - 1, limits[1] - 1, limits[0] - 1}).to(out.scalar_type());
    out = at::minimum(out.clamp_min(0), most);
  }
  return out;
}

at::Tensor encode_rotated(const at::Tensor& anchors, const at::Tensor& truths) {
  Tensors from = wide(anchors).unbind(1), to = wide(truths).unbind(1);
  at::Tensor width = from[2] - from[0], height = from[3] - from[1];
  return at::stack({(to[0] + to[2] - from[0] - from[2]) / 2 / width, (to[1] + to[3] - from[1] - from[3]) / 2 / height,
                    at::log((to[2] - to[0]) / width), at::log((to[3] - to[1]) / height),
                    at::tan(to[4] * kDegree) - at::tan(from[4] * kDegree)},
                   1);
}

at::Tensor decode_rotated(const at::Tensor& anchors, const at::Tensor& deltas) {
  Tensors from = wide(anchors).unbind(1), delta = wide(deltas).unbind(1);
  at::Tensor width = from[2] - from[0], height = from[3] - from[1];
  at::Tensor x = (from[0] + from[2]) / 2 + delta[0] * width, y = (from[1] + from[3]) / 2 + delta[1] * height;
  width = width * at::exp(delta[2]) / 2;
  height = height * at::exp(delta[3]) / 2;
  return at::stack(
      {x - width, y - height, x + width, y + height, at::atan(delta[4] + at::tan(from[4] * kDegree)) / kDegree}, 1);
}

at::Tensor encode_yolo(const at::Tensor& anchors, const at::Tensor& truths, const at::Tensor& stride) {
  Tensors from = wide(anchors).unbind(1), to = wide(truths).unbind(1);
  at::Tensor step = stride.to(at::kFloat);
  const double eps = 1e-6;
  auto centre = [&](size_t low) {
    return (((to[low] + to[low + 2] - from[low] - from[low + 2]) / 2) / step + 0.5).clamp(eps, 1 - eps);
  };
  auto size = [&](size_t low) {
    return at::log(((to[low + 2] - to[low]) / (from[low + 2] - from[low])).clamp_min(eps));
  };
  return at::stack({centre(0), centre(1), size(0), size(1)}, 1);
}

at::Tensor unsuppressed(const at::Tensor& all, double most) {
  at::Tensor boxes = wide(all).narrow(1, 0, 4);
  int64_t count = boxes.size(0);
  at::Tensor size = boxes.narrow(1, 2, 2) - boxes.narrow(1, 0, 2), area = size.prod(1),
             kept = at::ones({count}, at::kBool);
  for (int64_t i = 0; i + 1 < count; ++i) {
    if (!kept[i].item<bool>()) continue;
    at::Tensor others = boxes.narrow(0, i + 1, count - i - 1);
    at::Tensor low = at::maximum(others.narrow(1, 0, 2), boxes[i].narrow(0, 0, 2)),
               high = at::minimum(others.narrow(1, 2, 2), boxes[i].narrow(0, 2, 2));
    at::Tensor common = (high - low).clamp_min(0).prod(1),
               overlap = common / (area[i] + area.narrow(0, i + 1, count - i - 1) - common);
    kept.narrow(0, i + 1, count - i - 1).logical_and_(overlap.le(most));
  }
  return kept;
}

Regions ending(Regions how, int64_t end_mode) {
  SIM_CHECK(end_mode >= 0 && end_mode <= 3, "roi_end_mode ", end_mode, " is not simulated; allowed: 0, 1, 2, 3");
  how.far_edge = end_mode == 1;
  how.aligned = end_mode > 1;
  return how;
}

void regions_like(const at::Tensor& rois, const Regions& how, const at::Tensor& features, const at::Tensor& pooled) {
  shapes<kPooledRegions>({how.height, how.width}, features, rois, pooled);
}

void pooled_like(const at::Tensor& rois, const Regions& how, const at::Tensor& features, const at::Tensor& pooled) {
  SIM_CHECK(how.scale > 0 && how.samples >= 0 && how.height > 0 && how.width > 0, "a result of ", how.height, " by ",
            how.width, ", spatialScale ", how.scale, ", samplingRatio ", how.samples);
  regions_like(rois, how, features, pooled);
}

at::Tensor with_images(const at::Tensor& rois, const at::Tensor& images) {
  shapes<"n 4, n">(rois, images);
  return at::concat({images.to(at::kFloat).unsqueeze(1), wide(rois)}, 1);
}

at::Tensor roi_align(const at::Tensor& features, const at::Tensor& rois, const Regions& how) {
  at::Tensor images = wide(features), regions = wide(rois);
  at::Tensor out = at::zeros({rois.size(0), features.size(1), how.height, how.width});
  for (int64_t i = 0; i < rois.size(0); ++i) {
    Region r = region(regions[i], how, features.size(2), features.size(3));
    out[i].copy_(at::matmul(at::matmul(r.rows, images[r.image]), r.columns.t()));
  }
  return out;
}

at::Tensor roi_align_backward(const at::Tensor& grad, const at::Tensor& rois, const Regions& how,
                              at::IntArrayRef sizes) {
  at::Tensor grads = wide(grad), regions = wide(rois), out = at::zeros(sizes);
  for (int64_t i = 0; i < rois.size(0); ++i) {
    Region r = region(regions[i], how, out.size(2), out.size(3));
    out[r.image] += at::matmul(at::matmul(r.rows.t(), grads[i]), r.columns);
  }
  return out;
}

Suppressed suppressed(const at::Tensor& boxes, double most) {
  return {boxes.narrow(1, 0, 5), at::arange(boxes.size(0), at::kInt), unsuppressed(boxes, most).to(at::kByte)};
}

RegionMaxima roi_maxima(const at::Tensor& features, const at::Tensor& rois, int64_t height, int64_t width,
                        double scale_y, double scale_x) {
  const at::Tensor images = wide(features), regions = rois.to(at::kDouble);
  const int64_t count = rois.size(0), channels = features.size(1), rows = features.size(2), columns = features.size(3);
  RegionMaxima result{at::zeros({count, channels, height, width}, images.options()),
                      at::full({count, channels, height, width}, -1, at::kLong)};
  const auto cell = [](double start, double size, int64_t at, int64_t pixels) {
    const auto clipped = [&](double edge) { return std::clamp<int64_t>(static_cast<int64_t>(edge), 0, pixels); };
    return std::pair(clipped(std::floor(start + double(at) * size)), clipped(std::ceil(start + double(at + 1) * size)));
  };
  for (int64_t i = 0; i < count; ++i) {
    const auto edge = [&](int64_t at) { return regions[i][at].item<double>(); };
    const double x = edge(1) * scale_x, y = edge(2) * scale_y, wide_by = (edge(3) + 1) * scale_x - x,
                 high_by = (edge(4) + 1) * scale_y - y;
    if (wide_by <= 0 || high_by <= 0) continue;
    for (int64_t row = 0; row < height; ++row)
      for (int64_t column = 0; column < width; ++column) {
        const auto [top, bottom] = cell(y, high_by / double(height), row, rows);
        const auto [left, right] = cell(x, wide_by / double(width), column, columns);
        if (bottom <= top || right <= left) continue;
        const at::Tensor part =
            images[static_cast<int64_t>(edge(0))].narrow(1, top, bottom - top).narrow(2, left, right - left).flatten(1);
        const auto [most, at] = at::max(part, 1);
        result.y[i].select(2, column).select(1, row).copy_(most);
        result.places[i].select(2, column).select(1, row).copy_((at.div(right - left, "floor") + top) * columns +
                                                                at.remainder(right - left) + left);
      }
  }
  return result;
}

at::Tensor roi_maxima_backward(const at::Tensor& grad, const at::Tensor& rois, const at::Tensor& places,
                               const at::Tensor& x) {
  const at::Tensor sums = at::zeros({x.size(0), x.size(1), x.size(2) * x.size(3)}, wide(x).options());
  const at::Tensor named = at::zeros(sums.sizes(), at::kBool), images = rois.select(1, 0).to(at::kLong);
  for (int64_t i = 0; i < rois.size(0); ++i) {
    const at::Tensor at = places[i].flatten(1).to(at::kLong), there = at.ge(0);
    const int64_t image = images[i].item<int64_t>();
    sums[image].scatter_add_(1, at.clamp_min(0), wide(grad[i]).flatten(1) * there);
    named[image].scatter_(1, at.clamp_min(0), at::logical_or(there, named[image].gather(1, at.clamp_min(0))));
  }
  return at::where(named, sums, wide(x).reshape(sums.sizes())).reshape(x.sizes());
}

at::Tensor within_image(const at::Tensor& corners, const at::Tensor& image) {
  const at::Tensor box = wide(corners), size = wide(image);
  const at::Tensor ends = at::stack({size[1] * size[2], size[0] * size[2]}) - 1;
  return at::logical_and(at::all(box.narrow(1, 0, 2) >= 0, 1), at::all(box.narrow(1, 2, 2) <= ends, 1)).to(at::kChar);
}

}  // namespace sim::kernels
