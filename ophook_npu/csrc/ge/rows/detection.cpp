// Heads of detection models: pooling of regions, suppression, targets of YOLO and of rotated boxes.
#include "ge/rows/rows.h"

namespace sim::ge_table {
namespace {

// ---- ROIAlign: rois are (N, 5), the image's number and the corners -------------------------------------------------
struct Pooling {
  double scale;
  int64_t height, width, samples, end_mode;
};
Pooling pooling(const Call& call) {
  Pooling out{call.real("spatial_scale"), call.integer("pooled_height"), call.integer("pooled_width"),
              call.integer("sample_num"), call.integer("roi_end_mode")};
  if (out.end_mode != 0 && out.end_mode != 1)
    throw Refused("roi_end_mode=" + std::to_string(out.end_mode) + " is not simulated");
  return out;
}

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
Region region(const at::Tensor& roi, const Pooling& p, int64_t height, int64_t width) {
  at::Tensor values = roi.to(at::kDouble);
  auto edge = [&](int64_t i) { return values[i].item<double>(); };
  double more = p.end_mode == 1 ? 1 : 0;  // the far edge belongs to the region
  double x1 = edge(1) * p.scale, y1 = edge(2) * p.scale, x2 = (edge(3) + more) * p.scale,
         y2 = (edge(4) + more) * p.scale;
  double least = p.end_mode == 1 ? 0 : 1;
  return {static_cast<int64_t>(edge(0)), cells(y1, y1 + std::max(y2 - y1, least), p.height, p.samples, height),
          cells(x1, x1 + std::max(x2 - x1, least), p.width, p.samples, width)};
}

void roi_align_rule(Shaper& s) {
  Pooling p = pooling(s);
  Shape features = s.shape(0), rois = s.shape(1);
  if ((features && features->size() != 4) || (rois && (rois->size() != 2 || rois->back() != 5)))
    throw Refused("features (N, C, H, W) and rois (M, 5) expected, not " + s.describe(0) + " and " + s.describe(1));
  s.out(s.dtype(0), features && rois ? known({(*rois)[0], (*features)[1], p.height, p.width}) : std::nullopt);
}
at::Tensor roi_align(const Args& a) {
  Pooling p = pooling(a);
  at::Tensor features = wide(a[0]), rois = wide(a[1]), out = at::zeros(a.output(0).sizes());
  for (int64_t i = 0; i < rois.size(0); ++i) {
    Region r = region(rois[i], p, features.size(2), features.size(3));
    out[i].copy_(at::matmul(at::matmul(r.rows, features[r.image]), r.columns.t()));
  }
  return out;
}
void roi_align_grad_rule(Shaper& s) {
  pooling(s);
  s.out(s.dtype(0), s.integers("xdiff_shape"));
}
at::Tensor roi_align_grad(const Args& a) {
  Pooling p = pooling(a);
  at::Tensor grad = wide(a[0]), rois = wide(a[1]), out = at::zeros(a.output(0).sizes());
  for (int64_t i = 0; i < rois.size(0); ++i) {
    Region r = region(rois[i], p, out.size(2), out.size(3));
    out[r.image] += at::matmul(at::matmul(r.rows.t(), grad[i]), r.columns);
  }
  return out;
}

// ---- suppression: boxes (N, 5) with their score, the best first ---------------------------------------------------
void nms_rule(Shaper& s) {
  Shape boxes = s.shape(0);
  if (!boxes || boxes->size() != 2 || boxes->back() < 5) throw Refused("its boxes are (N, 5), not " + s.describe(0));
  s.out(0, s.dtype(0), known({(*boxes)[0], 5}));
  s.out(1, kInt32, known({(*boxes)[0]}));
  s.out(2, kUint8, known({(*boxes)[0]}));
}
Results nms(const Args& a) {
  at::Tensor boxes = wide(a[0]).narrow(1, 0, 4);
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
    kept.narrow(0, i + 1, count - i - 1).logical_and_(overlap.le(a.real("iou_threshold")));
  }
  return {a[0].narrow(1, 0, 5), at::arange(count, at::kInt), kept.to(at::kByte)};
}

// ---- targets --------------------------------------------------------------------------------------------------------
// (B, 5, N): corners and an angle in degrees, whose tangent the target is of.
void rotated_rule(Shaper& s) {
  for (float weight : s.reals("weight"))
    if (weight != 1) throw Refused("a weight other than 1 is not simulated");
  Shape shape = s.shape(0);
  if (shape && (shape->size() != 3 || (*shape)[1] != 5))
    throw Refused("its boxes are (batch, 5, N), not " + s.describe(0));
  same(s);
}
constexpr double kDegree = M_PI / 180;
at::Tensor encode_rotated(const Args& a) {
  Tensors from = wide(a[0]).unbind(1), to = wide(a[1]).unbind(1);
  at::Tensor width = from[2] - from[0], height = from[3] - from[1];
  return at::stack({(to[0] + to[2] - from[0] - from[2]) / 2 / width, (to[1] + to[3] - from[1] - from[3]) / 2 / height,
                    at::log((to[2] - to[0]) / width), at::log((to[3] - to[1]) / height),
                    at::tan(to[4] * kDegree) - at::tan(from[4] * kDegree)},
                   1);
}
at::Tensor decode_rotated(const Args& a) {
  Tensors from = wide(a[0]).unbind(1), delta = wide(a[1]).unbind(1);
  at::Tensor width = from[2] - from[0], height = from[3] - from[1];
  at::Tensor x = (from[0] + from[2]) / 2 + delta[0] * width, y = (from[1] + from[3]) / 2 + delta[1] * height;
  width = width * at::exp(delta[2]) / 2;
  height = height * at::exp(delta[3]) / 2;
  return at::stack(
      {x - width, y - height, x + width, y + height, at::atan(delta[4] + at::tan(from[4] * kDegree)) / kDegree}, 1);
}

void yolo_rule(Shaper& s) { s.out(s.dtype(1), s.shape(1)); }
at::Tensor encode_yolo(const Args& a) {
  Tensors from = wide(a[0]).unbind(1), to = wide(a[1]).unbind(1);
  at::Tensor stride = a[2].to(at::kFloat);
  const double eps = 1e-6;
  auto centre = [&](size_t low) {
    return (((to[low] + to[low + 2] - from[low] - from[low + 2]) / 2) / stride + 0.5).clamp(eps, 1 - eps);
  };
  auto size = [&](size_t low) {
    return at::log(((to[low + 2] - to[low]) / (from[low + 2] - from[low])).clamp_min(eps));
  };
  return at::stack({centre(0), centre(1), size(0), size(1)}, 1);
}

}  // namespace

#define POOLING "spatial_scale:Float pooled_height:Int pooled_width:Int sample_num:Int=2 roi_end_mode:Int=1"
const Family detection_rows = {
    ROW(ROIAlign, "features rois rois_n? -> y | " POOLING, roi_align_rule, roi_align(a)),
    ROW(ROIAlignGrad, "ydiff rois rois_n? -> xdiff | xdiff_shape:ListInt " POOLING, roi_align_grad_rule,
        roi_align_grad(a)),
    {"NMSWithMask", "box_scores -> selected_boxes selected_idx selected_mask | iou_threshold:Float=0.5", nms_rule, nms},
    ROW(RotatedBoxEncode, "anchor_box gt_box -> y | weight:ListFloat={1,1,1,1,1}", rotated_rule, encode_rotated(a)),
    ROW(RotatedBoxDecode, "anchor_box deltas -> y | weight:ListFloat={1,1,1,1,1}", rotated_rule, decode_rotated(a)),
    ROW(YoloBoxesEncode, "anchor_boxes gt_bboxes stride -> encoded_bboxes | performance_mode:String=high_precision",
        yolo_rule, encode_yolo(a)),
};

}  // namespace sim::ge_table
