// Boxes of detection models: overlaps, pooling of regions, regression targets, suppression.
#include "ge/rows/rows.h"
#include "kernels/anchors.h"
#include "kernels/boxes.h"
#include "kernels/position_sensitive.h"
#include "kernels/rotated.h"
#include "kernels/suppression.h"

namespace sim::ge_table {
namespace {

// Each box of the one against each of the other: (M ground truths, N boxes), or aligned, (N, 1). eps makes every box
// wider and higher.
void iou_rule(Shaper& s) {
  require_same_dtype(s, 0, 2);
  if (const std::string mode = s.text("mode"); mode != "iou" && mode != "iof")
    throw Refused("mode='" + mode + "' is not simulated");
  s.out(s.flag("aligned") ? pattern<kernels::kPairs> : pattern<"n 4, m 4 -> m n">);
}
at::Tensor iou(const Args& a) {
  return kernels::overlaps(a[0], a[1], a.real("eps"), a.text("mode") == "iof", a.flag("aligned"), false);
}

// ---- generalized overlaps of boxes (4, N) and (4, M) ---------------------------------------------------------------
void generalized_rule(Shaper& s) {
  require_same_dtype(s, 0, 2);
  s.only("mode", "iou");
  s.out(s.flag("is_cross") ? pattern<"4 n, 4 m -> m n, m n"> : pattern<kernels::kColumnPairs>);
}

template <kernels::Penalty penalty>
Results generalized(const Args& a) {
  auto result = kernels::generalized_overlaps(a[0], a[1], a.flag("trans"), a.flag("is_cross"), penalty);
  auto rows = [&](const at::Tensor& t) { return t.reshape(a.output(0).sizes()); };
  if (penalty == kernels::Penalty::distance_and_aspect) return {rows(result.overlap), rows(result.aspect)};
  return {rows(result.overlap)};
}

// As op-plugin and the prototypes have them: pairs of centre and size alone.
void overlap_grad_rule(Shaper& s) {
  require_same_dtype(s, 0, 3);
  s.only("trans", 1.0);
  s.only("is_cross", 0.0);
  s.only("mode", "iou");
  const auto& shapes = pattern<"*_, 4 n, 4 n -> 4 n, 4 n">;
  if (numbers_in(s, 0) != s.match(shapes)[0]) throw Refused("a gradient " + s.describe(0) + " for " + s.describe(1));
  s.out(shapes);
}
template <kernels::Penalty penalty>
Results overlap_grad(const Args& a) {
  auto [boxes, truths] = kernels::generalized_overlaps_backward(a[0], a[1], a[2], penalty);
  return {boxes, truths};
}

// ---- boxes that are turned: (batch, 5, N), centre, size and an angle -----------------------------------------------
// Which way corners with an angle turn, no source tells. op-plugin hands over both thresholds as `value`.
void turned_pairs_rule(Shaper& s) {
  require_same_dtype(s, 0, 2);
  s.only("trans", 0.0);
  s.only("is_cross", 1.0);
  s.only("mode", "iou");
  for (const char* threshold : {"v_threshold", "e_threshold", "value"}) s.only(threshold, 0.0);
  s.out(pattern<"batch 5 n, batch 5 m -> batch n m">);
}

void turned_nms_rule(Shaper& s) {
  require_same_dtype(s, 0, 2);
  s.match(pattern<"n 5, n, *_ -> n">);
  s.only("is_angle", 1.0);
  if (const int64_t mode = s.integer("mode"); mode != 0 && mode != 1)
    throw Refused("mode=" + std::to_string(mode) + " is not simulated");
  for (const Dim& dim : s.shape(2).value_or(Sizes()))
    if (dim != 1) throw Refused("labels " + s.describe(2) + " are not simulated; allowed: one for all boxes");
  s.out(0, s.dtype(0), known({unknown, 5}));
  s.out(1, kInt32, known({unknown}));
}

// ---- regression targets of boxes (N, 4) ---------------------------------------------------------------------------
void box_rule(Shaper& s) {
  require_same_dtype(s, 0, 2);
  s.out(pattern<"n 4, n 4 -> n 4">);
}

std::vector<float> four(const Args& a, const char* attr, float otherwise) {
  std::vector<float> values = a.reals(attr);
  if (values.empty()) values.assign(4, otherwise);
  if (values.size() != 4) throw Refused(std::string(attr) + " needs 4 values");
  return values;
}

// ---- ROIAlign: rois are (N, 5), the image's number and the corners -------------------------------------------------
kernels::Regions regions(const Call& call) {
  for (const char* attr : {"pooled_height", "pooled_width"})
    if (call.integer(attr) < 1)
      throw Refused(std::string(attr) + " is above 0, not " + std::to_string(call.integer(attr)));
  return kernels::ending({call.real("spatial_scale"), call.integer("pooled_height"), call.integer("pooled_width"),
                          call.integer("sample_num")},
                         call.integer("roi_end_mode"));
}

void roi_align_rule(Shaper& s) {
  const kernels::Regions p = regions(s);
  s.out(pattern<kernels::kPooledRegions>, {p.height, p.width});
}
void roi_align_grad_rule(Shaper& s) {
  const kernels::Regions p = regions(s);
  const Dims of = s.integers("xdiff_shape");
  if (of.size() != 4 || *std::min_element(of.begin(), of.end()) < 1)
    throw Refused(c10::str("xdiff_shape is four numbers above 0, not ", of));
  s.match(pattern<"n =c =h =w, n 5 -> n">, {of[1], p.height, p.width});
  s.out(s.dtype(0), of);
}

// ---- pooling where each cell has channels of its own: rois are (batch, 5, n), an image's number and the corners
// ------
kernels::PositionSensitive position_sensitive(const Call& call) {
  const int64_t outputs = call.integer("output_dim"), groups = call.integer("group_size");
  if (outputs < 1 || groups < 1 || groups >= 128)
    throw Refused(c10::str("output_dim=", outputs, " and group_size=", groups, "; allowed: above 0, and below 128"));
  return {call.real("spatial_scale"), outputs, groups};
}
void position_sensitive_rule(Shaper& s) {
  require_same_dtype(s, 0, 2);
  const auto how = position_sensitive(s);
  s.match(pattern<"n =channels _ _, _ 5 _ -> n">, {how.outputs * how.groups * how.groups});
  const Shape rois = s.shape(1);
  s.out(s.dtype(0), known({rois ? (*rois)[0] * (*rois)[2] : unknown, how.outputs, how.groups, how.groups}));
}
void position_sensitive_grad_rule(Shaper& s) {
  require_same_dtype(s, 0, 2);
  const auto how = position_sensitive(s);
  s.match(pattern<"n =outputs =groups groups, _ 5 _ -> n">, {how.outputs, how.groups});
  const Dims size = s.integers("input_size");
  if (size.size() != 2) throw Refused("input_size needs 2 values, it has " + std::to_string(size.size()));
  const Shape rois = s.shape(1);
  s.out(s.dtype(0), known({rois ? (*rois)[0] : unknown, how.outputs * how.groups * how.groups, size[0], size[1]}));
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

kernels::Suppression chosen_by(const Args& a) {
  return {.least_score = *a.number(4), .most_overlap = *a.number(3), .count = a.need(2).at(0)};
}
void chosen_rule(Shaper& s) {
  require_same_dtype(s, 0, 2);
  s.match(pattern<"n 4, n -> n">);
  one_number(s, 2, 5);
  const Values count = s.values(2);
  s.out(0, kInt32, known({s.flag("pad_to_max_output_size") ? at_or_unknown(count, 0) : unknown}));
  s.out(1, kInt32, known({}));
}

// Its places stand at the front of what its caller made room for.
void chosen_alone_rule(Shaper& s) {
  require_same_dtype(s, 0, 2);
  s.match(pattern<"n 4, n -> n">);
  one_number(s, 2, 5);
  if (s.integer("offset")) throw Refused("an offset other than 0 is not simulated");
  s.out(kInt32, known({unknown}));
}

// How many stay is told by the values, where they are there.
kernels::Suppression each_chosen_by(const Call& call) {
  const auto number = [&](size_t input, double otherwise) {
    return call.has(input) ? call.number(input).value() : otherwise;
  };
  return {.least_score = number(4, -std::numeric_limits<double>::infinity()),
          .most_overlap = number(3, 0),
          .count = int64_t(number(2, 0))};
}
bool centred(const Call& call) {
  if (const int64_t told = call.integer("center_point_box"); told != 0 && told != 1)
    throw Refused("center_point_box=" + std::to_string(told) + "; allowed: 0, 1");
  return call.flag("center_point_box");
}
void chosen_of_each_rule(Shaper& s) {
  require_same_dtype(s, 0, 2);
  s.match(pattern<"b n 4, b c n -> n">);
  one_number(s, 2, 5);
  bool there = true;
  for (size_t i = 0; i < 5; ++i) there = there && (!s.has(i) || s.there(i));
  const bool by_centre = centred(s);
  s.out(kInt32,
        there ? sized_as(kernels::chosen_of_each(s[0], s[1], each_chosen_by(s), by_centre)) : known({unknown, 3}));
}

void classes_rule(Shaper& s) {
  require_same_dtype(s, 0, 2);
  if (s.has(2) || s.has(3)) throw Refused("clip_window and num_valid_boxes are not simulated");
  if (s.flag("change_coordinate_frame")) throw Refused("change_coordinate_frame needs a clip_window");
  s.out(s.flag("transpose_box") ? pattern<"b q 4 n, b n c, _?, _? -> b =m 4, b m, b m, b :int32">
                                : pattern<"b n q 4, b n c, _?, _? -> b =m 4, b m, b m, b :int32">,
        {s.integer("max_total_size")});
  const Shape boxes = s.shape(0), scores = s.shape(1);
  if (!boxes || !scores) return;
  if (const Dim own = (*boxes)[s.flag("transpose_box") ? 1 : 2]; own != 1 && own != (*scores)[2])
    throw Refused("boxes " + s.describe(0) + " for scores " + s.describe(1) + "; one box for all classes, or for each");
}

// ---- anchors
// ---------------------------------------------------------------------------------------------------------
kernels::AnchorGrid anchor_grid(const Call& call) {
  const Dims size = call.integers("featmap_size"), steps = call.integers("strides");
  if (size.size() != 2 || steps.size() != 2 || std::min({size[0], size[1], steps[0], steps[1]}) < 1)
    throw Refused(c10::str("featmap_size=", size, " and strides=", steps, "; two each, above 0"));
  return {.rows = size[0],
          .columns = size[1],
          .step_x = steps[0],
          .step_y = steps[1],
          .anchors = call.integer("num_base_anchors")};
}
void anchor_flags_rule(Shaper& s) {
  const auto grid = anchor_grid(s);
  s.match(pattern<"n 4 -> n">);
  s.out(kUint8, known({grid.rows * grid.columns * grid.anchors}));
}
void assign_rule(Shaper& s) {
  if (s.dtype(2) != kUint8) throw Refused("box_responsible_flags must be uint8, they are " + s.describe(2));
  s.out(pattern<"n, k n, n, n, n, k, k, *_ -> n">);
}
at::Tensor assigned(const Args& a) {
  return kernels::assigned_truths(
      a[0], a[2], {.all = a[1], .largest = a[3], .best_truth = a[4], .largest_of_truth = a[5], .best_anchor = a[6]},
      a.need(7).at(0),
      {.least_overlap = a.real("pos_iou_thr"),
       .least_overlap_of_truth = a.real("min_pos_iou"),
       .all_best = a.flag("gt_max_assign_all")});
}

// ---- targets --------------------------------------------------------------------------------------------------------
// (B, 5, N): corners and an angle in degrees, whose tangent the target is of.
void rotated_rule(Shaper& s) {
  for (float weight : s.reals("weight"))
    if (weight != 1) throw Refused("a weight other than 1 is not simulated");
  s.out(pattern<"batch 5 n, batch 5 n -> batch 5 n">);
}

void yolo_rule(Shaper& s) { s.out(pattern<"n 4, n 4, n -> n 4 :1">); }

void valid_rule(Shaper& s) {
  require_same_dtype(s, 0, 2);
  s.match(pattern<"n 4, 3 -> n">);
  const Shape boxes = s.shape(0);
  s.out(kInt8, known({boxes ? (*boxes)[0] : unknown}));
}

}  // namespace

#define POOLING "spatial_scale:Float pooled_height:Int pooled_width:Int sample_num:Int=2 roi_end_mode:Int=1"
#define OVERLAP "trans:Bool=false is_cross:Bool=true mode:String=iou"
const Family boxes_rows = {
    ROW(Iou, "bboxes gtboxes -> overlap | mode:String=iou eps:Float=1.0 aligned:Bool=false", iou_rule, iou(a)),
    {"GIoU", "bboxes gtboxes -> overlap | " OVERLAP, generalized_rule, generalized<kernels::Penalty::enclosing>},
    {"DIoU", "bboxes gtboxes -> overlap | " OVERLAP, generalized_rule, generalized<kernels::Penalty::distance>},
    {"CIoU", "bboxes gtboxes -> overlap atan_sub | " OVERLAP " atan_sub_flag:Bool=false", generalized_rule,
     generalized<kernels::Penalty::distance_and_aspect>},
    {"GIoUGrad", "dy bboxes gtboxes -> dbboxes dgtboxes | " OVERLAP, overlap_grad_rule,
     overlap_grad<kernels::Penalty::enclosing>},
    {"DIoUGrad", "dy bboxes gtboxes -> dbboxes dgtboxes | " OVERLAP, overlap_grad_rule,
     overlap_grad<kernels::Penalty::distance>},
    ROW(RotatedOverlaps, "boxes query_boxes -> overlaps | trans:Bool=false", turned_pairs_rule,
        kernels::rotated_overlaps(a[0], a[1], false)),
    ROW(RotatedIou,
        "boxes query_boxes -> iou | trans:Bool=false mode:String=iou is_cross:Bool=true v_threshold:Float=0 "
        "e_threshold:Float=0",
        turned_pairs_rule, kernels::rotated_overlaps(a[0], a[1], true)),
    FITTED(RotatedNMS,
           "boxes scores labels -> selected_detections keep_indices | iou_threshold:Float score_threshold:Float=0 "
           "max_output_size:Int=-1 mode:Int=0 is_angle:Bool=true",
           turned_nms_rule,
           kernels::rotated_unsuppressed(a[0], a[1],
                                         {.most_overlap = a.real("iou_threshold"),
                                          .least_score = a.real("score_threshold"),
                                          .count = a.integer("max_output_size"),
                                          .corners = a.integer("mode") == 1})),
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
    ROW(PSROIPoolingV2, "x rois -> y | spatial_scale:Float output_dim:Int group_size:Int", position_sensitive_rule,
        kernels::position_sensitive_means(a[0], a[1], position_sensitive(a))),
    ROW(PSROIPoolingGradV2D, "x rois -> y | spatial_scale:Float group_size:Int output_dim:Int input_size:ListInt",
        position_sensitive_grad_rule,
        kernels::position_sensitive_means_backward(a[0], a[1], position_sensitive(a), a.output(0).sizes())),
    FITTED(NonMaxSuppressionV3,
           "boxes scores max_output_size iou_threshold score_threshold -> selected_indices | offset:Int=0",
           chosen_alone_rule, at::tensor(kernels::chosen_boxes(a[0], a[1], chosen_by(a)), at::kInt)),
    // What lies behind the valid places is not told; here it is 0 whether padding is asked for or not.
    EACH_OF(NonMaxSuppressionV4,
            "boxes scores max_output_size iou_threshold score_threshold -> selected_indices valid_outputs | "
            "pad_to_max_output_size:Bool=false",
            chosen_rule, kernels::chosen_and_padded(a[0], a[1], chosen_by(a), a.output(0).size(0))),
    FITTED(NonMaxSuppressionV6,
           "boxes scores max_output_size? iou_threshold? score_threshold? -> selected_indices | center_point_box:Int=0 "
           "max_boxes_size:Int=0",
           chosen_of_each_rule, kernels::chosen_of_each(a[0], a[1], each_chosen_by(a), centred(a))),
    EACH_OF(BatchMultiClassNonMaxSuppression,
            "boxes scores clip_window? num_valid_boxes? -> nmsed_boxes nmsed_scores nmsed_classes nmsed_num | "
            "score_threshold:Float iou_threshold:Float max_size_per_class:Int max_total_size:Int "
            "change_coordinate_frame:Bool=false transpose_box:Bool=false image_size:ListInt={}",
            classes_rule,
            kernels::chosen_by_class(a[0], a[1],
                                     {.least_score = a.real("score_threshold"),
                                      .most_overlap = a.real("iou_threshold"),
                                      .count = a.integer("max_size_per_class")},
                                     a.integer("max_total_size"), a.flag("transpose_box"))),
    ROW(AnchorResponseFlags, "gt_bboxes -> flags | featmap_size:ListInt strides:ListInt num_base_anchors:Int",
        anchor_flags_rule, kernels::responsible_anchors(a[0], anchor_grid(a))),
    ROW(GridAssignPositive,
        "assigned_gt_inds overlaps box_responsible_flags max_overlaps argmax_overlaps gt_max_overlaps "
        "gt_argmax_overlaps num_gts -> assigned_gt_inds_pos | pos_iou_thr:Float min_pos_iou:Float "
        "gt_max_assign_all:Bool",
        assign_rule, assigned(a)),
    ROW(CheckValid, "bbox_tensor img_metas -> valid_tensor", valid_rule, kernels::within_image(a[0], a[1])),
    EACH_OF(NMSWithMask, "box_scores -> selected_boxes selected_idx selected_mask | iou_threshold:Float=0.5", nms_rule,
            kernels::suppressed(a[0], a.real("iou_threshold"))),
    ROW(RotatedBoxEncode, "anchor_box gt_box -> y | weight:ListFloat={1,1,1,1,1}", rotated_rule,
        kernels::encode_rotated(a[0], a[1])),
    ROW(RotatedBoxDecode, "anchor_box deltas -> y | weight:ListFloat={1,1,1,1,1}", rotated_rule,
        kernels::decode_rotated(a[0], a[1])),
    ROW(YoloBoxesEncode, "anchor_boxes gt_bboxes stride -> encoded_bboxes | performance_mode:String=high_precision",
        yolo_rule, kernels::encode_yolo(a[0], a[1], a[2])),
};

}  // namespace sim::ge_table
