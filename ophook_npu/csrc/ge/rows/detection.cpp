// Heads of detection models: pooling of regions, suppression, targets of YOLO and of rotated boxes.
#include "ge/rows/rows.h"
#include "kernels/boxes.h"

namespace sim::ge_table {
namespace {

// ---- ROIAlign: rois are (N, 5), the image's number and the corners -------------------------------------------------
kernels::Regions regions(const Call& call) {
  const int64_t end_mode = call.integer("roi_end_mode");
  if (end_mode != 0 && end_mode != 1) throw Refused("roi_end_mode=" + std::to_string(end_mode) + " is not simulated");
  return {call.real("spatial_scale"), call.integer("pooled_height"), call.integer("pooled_width"),
          call.integer("sample_num"), end_mode == 1};
}

void roi_align_rule(Shaper& s) {
  const kernels::Regions p = regions(s);
  Shape features = s.shape(0), rois = s.shape(1);
  if ((features && features->size() != 4) || (rois && (rois->size() != 2 || rois->back() != 5)))
    throw Refused("features (N, C, H, W) and rois (M, 5) expected, not " + s.describe(0) + " and " + s.describe(1));
  s.out(s.dtype(0), features && rois ? known({(*rois)[0], (*features)[1], p.height, p.width}) : std::nullopt);
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
const Family detection_rows = {
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
