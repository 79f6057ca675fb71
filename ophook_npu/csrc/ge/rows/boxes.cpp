// Boxes of detection models: overlaps, regression targets, suppression.
#include "ge/rows/rows.h"
#include "kernels/boxes.h"

namespace sim::ge_table {
namespace {

// Each box of the one against each of the other: (M ground truths, N boxes), or aligned, (N, 1). eps makes every box
// wider and higher.
void iou_rule(Shaper& s) {
  require_same_dtype(s, 0, 2);
  Shape boxes = s.shape(0), truths = s.shape(1);
  if ((boxes && (boxes->size() != 2 || boxes->back() != 4)) || (truths && (truths->size() != 2 || truths->back() != 4)))
    throw Refused("its boxes are (N, 4), not " + s.describe(0) + " and " + s.describe(1));
  const bool aligned = s.flag("aligned");
  if (aligned && boxes && truths && (*boxes)[0] != (*truths)[0])
    throw Refused("it pairs " + s.describe(0) + " with " + s.describe(1));
  s.out(s.dtype(0),
        boxes && truths ? aligned ? known({(*boxes)[0], 1}) : known({(*truths)[0], (*boxes)[0]}) : std::nullopt);
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
  Shape boxes = s.shape(0), truths = s.shape(1);
  if ((boxes && (boxes->size() != 2 || boxes->front() != 4)) ||
      (truths && (truths->size() != 2 || truths->front() != 4)))
    throw Refused("its boxes are (4, N), not " + s.describe(0) + " and " + s.describe(1));
  const bool cross = s.flag("is_cross");
  const Dim of_boxes = boxes ? (*boxes)[1] : unknown, of_truths = truths ? (*truths)[1] : unknown;
  if (!cross && of_boxes != of_truths) throw Refused("it pairs " + s.describe(0) + " with " + s.describe(1));
  for (size_t i = 0; i < s.outputs(); ++i) s.out(i, s.dtype(0), known({cross ? of_truths : Dim(1), of_boxes}));
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
  Shape shape = s.shape(0);
  if (shape && (shape->size() != 2 || shape->back() != 4)) throw Refused("its boxes are (N, 4), not " + s.describe(0));
  s.out(s.dtype(0), shape);
}

std::vector<float> four(const Args& a, const char* attr, float otherwise) {
  std::vector<float> values = a.reals(attr);
  if (values.empty()) values.assign(4, otherwise);
  if (values.size() != 4) throw Refused(std::string(attr) + " needs 4 values");
  return values;
}

}  // namespace

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
};

}  // namespace sim::ge_table
