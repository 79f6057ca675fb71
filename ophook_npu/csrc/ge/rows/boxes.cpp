// Boxes of detection models: overlaps, pooling of regions, regression targets, suppression.
#include "ge/rows/rows.h"
#include "kernels/boxes.h"

namespace sim::ge_table {
namespace {

// Each box of the one against each of the other: (M ground truths, N boxes), or aligned, (N, 1). eps makes every box
// wider and higher.
void iou_rule(Shaper& s) {
  require_same_dtype(s, 0, 2);
  s.out(s.flag("aligned") ? pattern<kernels::kPairs> : pattern<"n 4, m 4 -> m n">);
}
at::Tensor iou(const Args& a) {
  const std::string mode = a.text("mode");
  if (mode != "iou" && mode != "iof") throw Refused("mode='" + mode + "' is not simulated");
  return kernels::overlaps(a[0], a[1], a.real("eps"), mode == "iof", a.flag("aligned"), false);
}

// ---- generalized overlaps of boxes (4, N) and (4, M) ---------------------------------------------------------------
void generalized_rule(Shaper& s) {
  require_same_dtype(s, 0, 2);
  s.only("mode", "iou");
  s.out(s.flag("is_cross") ? pattern<"4 n, 4 m -> m n, m n"> : pattern<kernels::kColumnPairs>);
}

Results generalized(const Args& a, kernels::Penalty penalty) {
  auto result = kernels::generalized_overlaps(a[0], a[1], a.flag("trans"), a.flag("is_cross"), penalty);
  auto rows = [&](const at::Tensor& t) { return t.reshape(a.output(0).sizes()); };
  if (penalty == kernels::Penalty::distance_and_aspect) return {rows(result.overlap), rows(result.aspect)};
  return {rows(result.overlap)};
}

// ---- regression targets of boxes (N, 4) ---------------------------------------------------------------------------
void box_rule(Shaper& s) {
  require_same_dtype(s, 0, 2);
  s.out(pattern<"n 4 -> n 4">);
}

std::vector<float> four(const Args& a, const char* attr, float otherwise) {
  std::vector<float> values = a.reals(attr);
  if (values.empty()) values.assign(4, otherwise);
  if (values.size() != 4) throw Refused(std::string(attr) + " needs 4 values");
  return values;
}

// ---- ROIAlign: rois are (N, 5), the image's number and the corners -------------------------------------------------
kernels::Regions regions(const Call& call) {
  const int64_t end_mode = call.integer("roi_end_mode");
  if (end_mode != 0 && end_mode != 1) throw Refused("roi_end_mode=" + std::to_string(end_mode) + " is not simulated");
  return {call.real("spatial_scale"), call.integer("pooled_height"), call.integer("pooled_width"),
          call.integer("sample_num"), end_mode == 1};
}

void roi_align_rule(Shaper& s) {
  const kernels::Regions p = regions(s);
  s.out(pattern<kernels::kPooledRegions>, {p.height, p.width});
}
void roi_align_grad_rule(Shaper& s) {
  regions(s);
  s.out(s.dtype(0), s.integers("xdiff_shape"));
}

// ---- suppression: boxes (N, 5) with their score, the best first ---------------------------------------------------
void nms_rule(Shaper& s) {
  Shape boxes = s.shape(0);
  if (boxes && (boxes->size() != 2 || boxes->back() < 5)) throw Refused("its boxes are (N, 5), not " + s.describe(0));
  const Dim count = boxes ? (*boxes)[0] : unknown;
  s.out(0, s.dtype(0), known({count, 5}));
  s.out(1, kInt32, known({count}));
  s.out(2, kUint8, known({count}));
}
Results nms(const Args& a) {
  auto [boxes, places, mask] = kernels::suppressed(a[0], a.real("iou_threshold"));
  return {boxes, places, mask};
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

void yolo_rule(Shaper& s) { s.out(s.dtype(1), s.shape(1)); }

}  // namespace

#define POOLING "spatial_scale:Float pooled_height:Int pooled_width:Int sample_num:Int=2 roi_end_mode:Int=1"
#define OVERLAP "trans:Bool=false is_cross:Bool=true mode:String=iou"
const Family boxes_rows = {
    ROW(Iou, "bboxes gtboxes -> overlap | mode:String=iou eps:Float=1.0 aligned:Bool=false", iou_rule, iou(a)),
    {"GIoU", "bboxes gtboxes -> overlap | " OVERLAP, generalized_rule,
     [](const Args& a) { return generalized(a, kernels::Penalty::enclosing); }},
    {"DIoU", "bboxes gtboxes -> overlap | " OVERLAP, generalized_rule,
     [](const Args& a) { return generalized(a, kernels::Penalty::distance); }},
    {"CIoU", "bboxes gtboxes -> overlap atan_sub | " OVERLAP " atan_sub_flag:Bool=false", generalized_rule,
     [](const Args& a) { return generalized(a, kernels::Penalty::distance_and_aspect); }},
    ROW(BoundingBoxEncode, "anchor_box ground_truth_box -> delats | means:ListFloat={0,0,0,0} stds:ListFloat={1,1,1,1}",
        box_rule, kernels::encode_boxes(a[0], a[1], four(a, "means", 0), four(a, "stds", 1))),
    ROW(BoundingBoxDecode,
        "rois deltas -> bboxes | means:ListFloat={0,0,0,0} stds:ListFloat={1,1,1,1} max_shape:ListInt "
        "wh_ratio_clip:Float=0.016",
        box_rule,
        kernels::decode_boxes(a[0], a[1], four(a, "means", 0), four(a, "stds", 1), a.real("wh_ratio_clip"),
                              a.integers("max_shape"))),
    ROW(ROIAlign, "features rois rois_n? -> y | " POOLING, roi_align_rule, kernels::roi_align(a[0], a[1], regions(a))),
    ROW(ROIAlignGrad, "ydiff rois rois_n? -> xdiff | xdiff_shape:ListInt " POOLING, roi_align_grad_rule,
        kernels::roi_align_backward(a[0], a[1], regions(a), a.output(0).sizes())),
    {"NMSWithMask", "box_scores -> selected_boxes selected_idx selected_mask | iou_threshold:Float=0.5", nms_rule, nms},
    ROW(RotatedBoxEncode, "anchor_box gt_box -> y | weight:ListFloat={1,1,1,1,1}", rotated_rule,
        kernels::encode_rotated(a[0], a[1])),
    ROW(RotatedBoxDecode, "anchor_box deltas -> y | weight:ListFloat={1,1,1,1,1}", rotated_rule,
        kernels::decode_rotated(a[0], a[1])),
    ROW(YoloBoxesEncode, "anchor_boxes gt_bboxes stride -> encoded_bboxes | performance_mode:String=high_precision",
        yolo_rule, kernels::encode_yolo(a[0], a[1], a[2])),
};

}  // namespace sim::ge_table
