// What mmcv calls by type: points, masks of spatial attention, turned filters.
#include "ge/rows/rows.h"
#include "kernels/activation.h"
#include "kernels/points.h"
#include "kernels/spread.h"

namespace sim::ge_table {
namespace {

// ---- points
// ----------------------------------------------------------------------------------------------------------
void ball_rule(Shaper& s) {
  require_same_dtype(s, 0, 2);
  if (s.integer("sample_num") < 1) throw Refused(c10::str("sample_num is above 0, not ", s.integer("sample_num")));
  s.out(pattern<"b 3 _, m b 3 -> m b =count :int32">, {s.integer("sample_num")});
}
at::Tensor in_ball(const Args& a) {
  return kernels::ball_query(
      a[0], a[1],
      {.nearest = a.real("min_radius"), .farthest = a.real("max_radius"), .count = a.integer("sample_num")});
}
void interpolated_rule(Shaper& s) { s.out(pattern<"b _ c, b n 3, b n 3 -> b n c">); }
void polygons_rule(Shaper& s) { s.out(pattern<"n 2, 8 m -> n m">); }
void biased_rule(Shaper& s) {
  require_same_dtype(s, 0, 2);
  s.out(pattern<"*n, *n -> *n">);
}
void chamfer_rule(Shaper& s) {
  require_same_dtype(s, 0, 2);
  s.out(pattern<"2 b n, 2 b m -> b n, b m, b n :int32, b m :int32">);
}

// ---- masks of spatial attention: psa_type 0 collects, 1 distributes
// -----------------------------------------------------
kernels::SpatialMask spatial_of(const Call& call) {
  const int64_t type = call.integer("psa_type");
  if (type != 0 && type != 1) throw Refused(c10::str("psa_type is 0 or 1, not ", type));
  for (const char* size : {"num", "h_feature", "w_feature", "h_mask", "w_mask"})
    if (call.integer(size) < 1) throw Refused(c10::str(size, " is above 0, not ", call.integer(size)));
  return {.distribute = type == 1,
          .images = call.integer("num"),
          .height = call.integer("h_feature"),
          .width = call.integer("w_feature"),
          .mask_height = call.integer("h_mask"),
          .mask_width = call.integer("w_mask"),
          .middle_row = call.integer("half_h_mask"),
          .middle_column = call.integer("half_w_mask")};
}
void spatial_rule(Shaper& s) {
  const auto m = spatial_of(s);
  s.out(pattern<"=n =mask =h =w -> n =places h w">,
        {m.images, m.mask_height * m.mask_width, m.height, m.width, m.height * m.width});
}
void spatial_grad_rule(Shaper& s) {
  const auto m = spatial_of(s);
  s.out(pattern<"=n =places =h =w -> n =mask h w">,
        {m.images, m.height * m.width, m.height, m.width, m.mask_height * m.mask_width});
}

// ---- filters of turned features
// ----------------------------------------------------------------------------------------
void turned_rule(Shaper& s) {
  s.match(pattern<"_ _ a h w, a h w _ -> a">);
  const Shape x = s.shape(0), places = s.shape(1);
  const auto of = [](const Shape& shape, size_t i) { return shape ? (*shape)[i] : Dim(unknown); };
  s.out(s.dtype(0), known({of(x, 0) * of(places, 3), of(x, 1) * of(x, 2), of(x, 3), of(x, 4)}));
}
void turned_grad_rule(Shaper& s) {
  s.match(pattern<"_ _ h w, _ h w _ -> h">);
  const Shape grad = s.shape(0), places = s.shape(1);
  if (!grad || !places) return s.out(s.dtype(0), known({unknown, unknown, unknown, unknown, unknown}));
  for (const auto& [whole, part] : {std::pair((*grad)[0], (*places)[3]), std::pair((*grad)[1], (*places)[0])})
    if (part < 1 || whole % part != 0)
      throw Refused("a gradient " + s.describe(0) + " for the places " + s.describe(1));
  s.out(s.dtype(0),
        known({(*grad)[0] / (*places)[3], (*grad)[1] / (*places)[0], (*places)[0], (*places)[1], (*places)[2]}));
}

}  // namespace

#define SPATIAL                                                                             \
  "psa_type:Int num:Int h_feature:Int w_feature:Int h_mask:Int w_mask:Int half_h_mask:Int " \
  "half_w_mask:Int"
const Family mmcv_rows = {
    ROW(BallQuery, "xyz center_xyz -> idx | min_radius:Float max_radius:Float sample_num:Int", ball_rule, in_ball(a)),
    ROW(ThreeInterpolate, "features idx weight -> y", interpolated_rule, kernels::three_interpolate(a[0], a[1], a[2])),
    EACH_OF(ChamferDistance, "xyz1 xyz2 -> dist1 dist2 idx1 idx2", chamfer_rule, kernels::chamfer_distance(a[0], a[1])),
    ROW(PointsInPolygons, "points polygons -> output", polygons_rule, kernels::in_polygons(a[0], a[1])),
    ROW(PSAMask, "x -> y | " SPATIAL, spatial_rule, kernels::spatial_mask(a[0], spatial_of(a))),
    ROW(PSAMaskGrad, "y_grad -> x_grad | " SPATIAL, spatial_grad_rule,
        kernels::spatial_mask_backward(a[0], spatial_of(a))),
    ROW(ActiveRotatedFilter, "x indices -> y", turned_rule, kernels::turned_filters(a[0], a[1])),
    ROW(ActiveRotatedFilterGrad, "y_grad indices -> x_grad", turned_grad_rule,
        kernels::turned_filters_backward(a[0], a[1])),
    ROW(FusedBiasLeakyRelu, "x bias -> y | negative_slope:Float=0.2 scale:Float=1.414213562373", biased_rule,
        kernels::biased_leaky_relu(a[0], a[1], a.real("negative_slope"), a.real("scale"))),
    ROW(FusedBiasLeakyReluGrad, "y_grad features -> x_grad | negative_slope:Float=0.2 scale:Float=1.414213562373",
        biased_rule, kernels::biased_leaky_relu_backward(a[0], a[1], a.real("negative_slope"), a.real("scale"))),
};

}  // namespace sim::ge_table
