// Boxes of detection models: overlaps, regression targets, suppression.
#include "ge/rows/rows.h"

namespace sim::ge_table {
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

// Each box of the one against each of the other: (M ground truths, N boxes). eps makes every box wider and higher.
void iou_rule(Shaper& s) {
  require_same_dtype(s, 0, 2);
  Shape boxes = s.shape(0), truths = s.shape(1);
  if ((boxes && (boxes->size() != 2 || boxes->back() != 4)) || (truths && (truths->size() != 2 || truths->back() != 4)))
    throw Refused("its boxes are (N, 4), not " + s.describe(0) + " and " + s.describe(1));
  s.out(s.dtype(0), boxes && truths ? known({(*truths)[0], (*boxes)[0]}) : std::nullopt);
}
at::Tensor iou(const Args& a) {  // every step is rounded to the boxes' data type, as on the device
  at::Tensor eps = at::scalar_tensor(a.real("eps"), a[0].scalar_type());
  auto sides = [&](const at::Tensor& boxes) -> Tensors { return boxes.t().unbind(0); };
  auto box = sides(a[0]), truth = sides(a[1]);
  auto area = [&](const Tensors& of) { return (of[2] - of[0] + eps) * (of[3] - of[1] + eps); };
  auto shared = [&](size_t low, size_t high) {
    return (at::minimum(truth[high].unsqueeze(1), box[high]) - at::maximum(truth[low].unsqueeze(1), box[low]))
        .clamp_min(0);
  };
  at::Tensor common = shared(0, 2) * shared(1, 3), of_truth = area(truth).unsqueeze(1);
  std::string mode = a.text("mode");
  if (mode != "iou" && mode != "iof") throw Refused("mode='" + mode + "' is not simulated");
  return common / (mode == "iof" ? of_truth : area(box) + of_truth - common);
}

// ---- generalized overlaps of boxes (4, N) and (4, M) ---------------------------------------------------------------
void generalized_rule(Shaper& s) {
  require_same_dtype(s, 0, 2);
  s.only("mode", "iou");
  Shape boxes = s.shape(0), truths = s.shape(1);
  if (!boxes || !truths || boxes->size() != 2 || truths->size() != 2 || boxes->front() != 4 || truths->front() != 4)
    throw Refused("its boxes are (4, N), not " + s.describe(0) + " and " + s.describe(1));
  bool cross = s.flag("is_cross");
  if (!cross && (*boxes)[1] != (*truths)[1]) throw Refused("it pairs " + s.describe(0) + " with " + s.describe(1));
  for (size_t i = 0; i < s.outputs(); ++i) s.out(i, s.dtype(0), known({cross ? (*truths)[1] : 1, (*boxes)[1]}));
}

enum class Penalty { enclosing, distance, distance_and_aspect };

Results generalized(const Args& a, Penalty penalty) {
  Corners p = corners(wide(a[0]), a.flag("trans")), q = corners(wide(a[1]), a.flag("trans"));
  if (a.flag("is_cross")) q = {q.x1.unsqueeze(1), q.y1.unsqueeze(1), q.x2.unsqueeze(1), q.y2.unsqueeze(1)};
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
  auto rows = [&](const at::Tensor& t) { return t.reshape(a.output(0).sizes()); };
  if (penalty == Penalty::distance_and_aspect) return {rows(overlap), rows(aspect)};
  return {rows(overlap)};
}

// ---- regression targets of boxes (N, 4) ---------------------------------------------------------------------------
void box_rule(Shaper& s) {
  require_same_dtype(s, 0, 2);
  Shape shape = s.shape(0);
  if (shape && (shape->size() != 2 || shape->back() != 4)) throw Refused("its boxes are (N, 4), not " + s.describe(0));
  s.out(s.dtype(0), shape);
}

at::Tensor four(const Args& a, const char* attr, float otherwise) {
  std::vector<float> values = a.reals(attr);
  if (values.empty()) values.assign(4, otherwise);
  if (values.size() != 4) throw Refused(std::string(attr) + " needs 4 values");
  return at::tensor(values);
}

// Centre and size of boxes whose far edge belongs to them.
struct Centred {
  at::Tensor x, y, width, height;
};
Centred centred(const at::Tensor& boxes) {
  Tensors side = wide(boxes).unbind(1);
  at::Tensor width = side[2] - side[0] + 1, height = side[3] - side[1] + 1;
  return {(side[0] + side[2]) * 0.5, (side[1] + side[3]) * 0.5, width, height};
}

at::Tensor encode_boxes(const Args& a) {
  Centred from = centred(a[0]), to = centred(a[1]);
  at::Tensor deltas = at::stack({(to.x - from.x) / from.width, (to.y - from.y) / from.height,
                                 at::log(to.width / from.width), at::log(to.height / from.height)},
                                1);
  // The device normalizes in float16, whatever the boxes are.
  return (deltas.to(at::kHalf) - four(a, "means", 0).to(at::kHalf)) * (1 / four(a, "stds", 1)).to(at::kHalf);
}

at::Tensor decode_boxes(const Args& a) {
  Centred from = centred(a[0]);
  Tensors delta = (wide(a[1]) * four(a, "stds", 1) + four(a, "means", 0)).unbind(1);
  double ratio = std::abs(std::log(a.real("wh_ratio_clip")));
  at::Tensor x = from.x + from.width * delta[0], y = from.y + from.height * delta[1];
  at::Tensor width = from.width * at::exp(delta[2].clamp(-ratio, ratio)),
             height = from.height * at::exp(delta[3].clamp(-ratio, ratio));
  at::Tensor out =
      at::stack({x - width * 0.5 + 0.5, y - height * 0.5 + 0.5, x + width * 0.5 - 0.5, y + height * 0.5 - 0.5}, 1);
  Dims limits = a.integers("max_shape");  // height, width
  if (limits.size() == 2) {
    at::Tensor most = at::tensor({limits[1] - 1, limits[0] - 1, limits[1] - 1, limits[0] - 1}).to(out.scalar_type());
    out = at::minimum(out.clamp_min(0), most);
  }
  return out;
}

}  // namespace

#define OVERLAP "trans:Bool=false is_cross:Bool=true mode:String=iou"
const Family boxes_rows = {
    ROW(Iou, "bboxes gtboxes -> overlap | mode:String=iou eps:Float=1.0 aligned:Bool=false", iou_rule, iou(a)),
    {"GIoU", "bboxes gtboxes -> overlap | " OVERLAP, generalized_rule,
     [](const Args& a) { return generalized(a, Penalty::enclosing); }},
    {"DIoU", "bboxes gtboxes -> overlap | " OVERLAP, generalized_rule,
     [](const Args& a) { return generalized(a, Penalty::distance); }},
    {"CIoU", "bboxes gtboxes -> overlap atan_sub | " OVERLAP " atan_sub_flag:Bool=false", generalized_rule,
     [](const Args& a) { return generalized(a, Penalty::distance_and_aspect); }},
    ROW(BoundingBoxEncode, "anchor_box ground_truth_box -> delats | means:ListFloat={0,0,0,0} stds:ListFloat={1,1,1,1}",
        box_rule, encode_boxes(a)),
    ROW(BoundingBoxDecode,
        "rois deltas -> bboxes | means:ListFloat={0,0,0,0} stds:ListFloat={1,1,1,1} max_shape:ListInt "
        "wh_ratio_clip:Float=0.016",
        box_rule, decode_boxes(a)),
};

}  // namespace sim::ge_table
