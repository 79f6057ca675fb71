// Images resized, and sampled where a grid says.
#include "ge/rows/rows.h"
#include "kernels/pooling.h"

namespace sim::ge_table {
namespace {

// The number of what an attribute names, in ATen's order.
int64_t place_of(const Call& call, const char* attr, const std::vector<std::string>& names) {
  const std::string given = call.text(attr);
  const auto found = std::find(names.begin(), names.end(), given);
  if (found == names.end()) throw Refused(std::string(attr) + "='" + given + "' is not simulated");
  return found - names.begin();
}
int64_t interpolation(const Call& call, size_t axes) {
  return place_of(call, "interpolation_mode",
                  axes == 2 ? std::vector<std::string>{"bilinear", "nearest", "bicubic"}
                            : std::vector<std::string>{"bilinear", "nearest"});
}
int64_t padding(const Call& call) { return place_of(call, "padding_mode", {"zeros", "border", "reflection"}); }

// x (n, c, …), grid (n, …, axes) -> (n, c, the grid's …)
template <size_t axes>
void sampled(Shaper& s) {
  if (axes == 3) s.only("data_format", "NCDHW");
  interpolation(s, axes), padding(s);
  s.out(axes == 2 ? "aclnnGridSampler2D" : "aclnnGridSampler3D");
}

// ---- resizing ------------------------------------------------------------------------------------------------------
void resize_rule(Shaper& s) {
  Shape shape = s.shape(0);
  if (shape && shape->size() != 4) throw Refused("its input has 4 dimensions, it is " + s.describe(0));
  const Values size = s.values(1);
  for (size_t i = 0; shape && i < 2; ++i) (*shape)[i + 2] = at_or_unknown(size, i);
  s.out(s.dtype(0), shape);
}

void only_torchs(const Call& call) {
  call.only("align_corners", 0.0);
  call.only("half_pixel_centers", 0.0);
}

void nearest_rule(Shaper& s) {
  only_torchs(s);
  resize_rule(s);
}

Dims resized(const Args& a) {
  Dims sizes = a[0].sizes().vec(), size = a.need(1);
  std::copy(size.begin(), size.end(), sizes.last(size.size()));
  return sizes;
}

}  // namespace

const Family image_rows = {
    ROW(GridSampler2D,
        "x grid -> y | interpolation_mode:String=bilinear padding_mode:String=zeros align_corners:Bool=false",
        sampled<2>,
        at::grid_sampler_2d(wide(a[0]), wide(a[1]), interpolation(a, 2), padding(a), a.flag("align_corners"))),
    ROW(GridSampler3D,
        "x grid -> y | interpolation_mode:String=bilinear padding_mode:String=zeros data_format:String=NCDHW "
        "align_corners:Bool=false",
        sampled<3>,
        at::grid_sampler_3d(wide(a[0]), wide(a[1]), interpolation(a, 3), padding(a), a.flag("align_corners"))),
#define RESIZE "align_corners:Bool=false half_pixel_centers:Bool=false"
    ROW(ResizeNearestNeighborV2, "x size -> y | " RESIZE, nearest_rule, at::upsample_nearest2d(wide(a[0]), a.need(1))),
    ROW(ResizeNearestNeighborV2Grad, "grads size -> y | " RESIZE, nearest_rule,
        at::upsample_nearest2d_backward(wide(a[0]), a[0].sizes().slice(2), resized(a))),
};

}  // namespace sim::ge_table
