// Images resized, and sampled where a grid says.
#include "ge/rows/rows.h"
#include "kernels/pooling.h"
#include "kernels/resampling.h"

namespace sim::ge_table {
namespace {

// The number of what an attribute names, in ATen's order.
int64_t place_of(const Call& call, const char* attr, const std::vector<std::string>& names) {
  const std::string given = call.text(attr);
  const auto found = std::find(names.begin(), names.end(), given);
  if (found == names.end()) throw Refused(std::string(attr) + "='" + given + "' is not simulated");
  return found - names.begin();
}
// ---- resizing ------------------------------------------------------------------------------------------------------
// The height and width that input 1 gives.
Values plane_size(const Call& s) {
  const Values size = s.values(1);
  if (size && (size->size() != 2 || std::min(size->at(0), size->at(1)) < 1))
    throw Refused(c10::str("a size of ", *size, "; allowed: two numbers above 0"));
  return size;
}
// The axes of space begin at `first`.
void resize_from(Shaper& s, size_t first, int32_t dtype) {
  Shape shape = s.shape(0);
  if (shape && shape->size() != 4) throw Refused("its input has 4 dimensions, it is " + s.describe(0));
  const Values size = plane_size(s);
  for (size_t i = 0; shape && i < 2; ++i) (*shape)[i + first] = at_or_unknown(size, i);
  s.out(dtype, shape);
}
void resize_rule(Shaper& s) { resize_from(s, 2, s.dtype(0)); }

void nearest_rule(Shaper& s) {
  if (s.flag("align_corners")) s.only("half_pixel_centers", 0.0);
  resize_rule(s);
}

Dims resized(const Args& a) {
  Dims sizes = a[0].sizes().vec(), size = a.need(1);
  std::copy(size.begin(), size.end(), sizes.last(size.size()));
  return sizes;
}

// Corners and half pixels are torch's two of bilinear; neither of them is between pixels from the corner on.
bool from_the_corner(const Call& call) { return !call.flag("align_corners") && !call.flag("half_pixel_centers"); }
kernels::Pixels pixels(const Call& call) {
  if (from_the_corner(call)) return kernels::Pixels::from_the_corner;
  return call.flag("align_corners") ? kernels::Pixels::by_corners : kernels::Pixels::by_middles;
}
at::Tensor bilinear(const Args& a) {
  const Dims to = a.need(1);
  return kernels::resampled(a[0], kernels::corner_weights(a[0].size(2), to.at(0)),
                            kernels::corner_weights(a[0].size(3), to.at(1)));
}
at::Tensor bilinear_grad(const Args& a) {
  const at::Tensor grad = a[0], of = a[1];
  return kernels::resampled_backward(grad, kernels::corner_weights(of.size(2), grad.size(2)),
                                     kernels::corner_weights(of.size(3), grad.size(3)));
}
void bilinear_grad_rule(Shaper& s) {
  s.match(pattern<"n c _ _, n c _ _ -> n">);
  s.out(s.dtype(0), s.shape(1));
}

// Images (n, h, w, c), whose result is of floats.
void behind_rule(Shaper& s) { resize_from(s, 1, kFloat); }
at::Tensor in_front(const at::Tensor& x) { return x.permute({0, 3, 1, 2}); }
at::Tensor behind(const at::Tensor& x) { return x.permute({0, 2, 3, 1}); }
at::Tensor by_area(const Args& a) {
  const Dims to = a.need(1);
  const bool corners = a.flag("align_corners");
  return behind(kernels::resampled(in_front(a[0]), kernels::area_weights(a[0].size(1), to.at(0), corners),
                                   kernels::area_weights(a[0].size(2), to.at(1), corners)));
}
void two_numbers(const Call& call, size_t input) {
  require_shape(call, input, known({2}), "has to be a number for the height and one for the width");
}
void moved_rule(Shaper& s) {
  kernels::of_filter(s.text("kernel_type"));
  two_numbers(s, 2), two_numbers(s, 3);
  behind_rule(s);
}
void moved_grad_rule(Shaper& s) {
  kernels::of_filter(s.text("kernel_type"));
  two_numbers(s, 2), two_numbers(s, 3);
  s.match(pattern<"n _ _ c, n _ _ c, _, _ -> n">);
  s.out(kFloat, s.shape(1));
}
at::Tensor moved_axis(const Args& a, int64_t axis, int64_t from, int64_t to) {
  return kernels::moved_weights(
      from, to, {a[2][axis].item<double>(), a[3][axis].item<double>(), a.text("kernel_type"), a.flag("antialias")});
}
at::Tensor moved(const Args& a) {
  const Dims to = a.need(1);
  return behind(kernels::resampled(in_front(a[0]), moved_axis(a, 0, a[0].size(1), to.at(0)),
                                   moved_axis(a, 1, a[0].size(2), to.at(1))));
}
at::Tensor moved_grad(const Args& a) {
  const at::Tensor grad = a[0], of = a[1];
  return behind(kernels::resampled_backward(in_front(grad), moved_axis(a, 0, of.size(1), grad.size(1)),
                                            moved_axis(a, 1, of.size(2), grad.size(2))));
}

void colours_rule(Shaper& s) {
  const Shape x = s.shape(0);
  if (x && (x->empty() || x->back() != 3)) throw Refused("its last dimension has 3 colours, it is " + s.describe(0));
  if (s.knows("data_format")) s.only("data_format", "HWC");
  one_number(s, 1, s.count());
  floating(s);
}

// ResizeD: cubic (n, c, h, w), or linear of lines, which are images (n, c, 1, w) and have no height as a result.
bool cubic(const Call& call) {
  const std::string mode = call.text("mode");
  if (mode != "cubic" && mode != "linear") throw Refused("mode='" + mode + "' is not simulated");
  return mode == "cubic";
}
bool corners(const Call& call) {
  return place_of(call, "coordinate_transformation_mode", {"half_pixel", "align_corners"}) == 1;
}
kernels::Resizing resizing(const Call& call, const Dims& size) {
  const std::vector<float> scales = call.reals("scales");
  const auto factor = [&](size_t i) {  // 0: that of the sizes
    return i < scales.size() && scales[i] > 0 ? std::optional<double>(scales[i]) : std::nullopt;
  };
  return {size, corners(call), factor(0), factor(1)};
}
void resize_to_rule(Shaper& s) {
  corners(s);
  const Dims size = s.integers("sizes");
  const size_t axes = cubic(s) ? 2 : 1;
  Shape x = s.shape(0);
  if (size.size() != axes || *std::min_element(size.begin(), size.end()) < 1 || (x && x->size() != 4))
    throw Refused("it resizes images, " + s.describe(0) + " is none");
  if (x && axes == 1) x->pop_back();
  for (size_t i = 0; x && i < axes; ++i) (*x)[i + 2] = size[i];
  s.out(s.dtype(0), x);
}
at::Tensor resized_to(const Args& a) {
  const kernels::Resizing how = resizing(a, a.integers("sizes"));
  return cubic(a) ? kernels::cubic(a[0], how) : kernels::linear(a[0].squeeze(2), how);
}
void resize_back_rule(Shaper& s) {
  corners(s);
  const Dims of = s.integers("original_size");
  if (of.size() != size_t(cubic(s) ? 4 : 3) || *std::min_element(of.begin(), of.end()) < 1)
    throw Refused(c10::str("original_size ", of, "; allowed: the sizes of an image, or of a line, above 0"));
  if (cubic(s)) s.only("data_format", "HWNC"), s.match(pattern<"h w =n =c -> n">, {of[0], of[1]});
  s.out(s.dtype(0), of);
}
// HWNC is how a cubic one's gradient lies on both sides, though the result is described as an image.
at::Tensor resized_back(const Args& a) {
  const kernels::Resizing how = resizing(a, a.integers("original_size"));
  if (!cubic(a)) return kernels::linear_backward(a[0].squeeze(2), how);
  return kernels::cubic_backward(a[0].permute({2, 3, 0, 1}), how).permute({2, 3, 0, 1}).reshape(how.size);
}

// The places of all pixels in one line.
void grid_rule(Shaper& s) {
  const Values size = s.values(1);
  if (size && size->size() != 4 && size->size() != 5)
    throw Refused("output_size has 4 or 5 values, it has " + std::to_string(size->size()));
  const Shape theta = s.shape(0);
  if (size && *std::min_element(size->begin(), size->end()) < 1) throw Refused(c10::str("output_size ", *size));
  if (size) s.match(size->size() == 4 ? pattern<"=n 2 3 -> n"> : pattern<"=n 3 4 -> n">, {size->at(0)});
  Dim places = size ? Dim(1) : unknown;
  for (size_t i = 2; size && i < size->size(); ++i) places = places * size->at(i);
  s.out(s.dtype(0), known({theta ? (*theta)[0] : unknown, places, theta ? (*theta)[1] : unknown}));
}

// ---- windows of an image as columns --------------------------------------------------------------------------------
Dims of_axes(const Call& call, const char* attr) {
  const Dims all = call.integers(attr);
  if (all.size() == 1) return Dims(2, all[0]);
  if (all.size() != 2) throw Refused(std::string(attr) + " needs 1 or 2 values, it has " + std::to_string(all.size()));
  return all;
}
Dims columns_pads(const Call& call) {
  const Dims all = call.integers("pads");
  return all.size() == 1 ? Dims(2, all[0]) : equal_pads(call, 2);
}
void has_windows(const Dims& kernel, const Dims& stride, const Dims& dilation, const Dims& pads) {
  for (size_t i = 0; i < 2; ++i)
    if (kernel[i] < 1 || stride[i] < 1 || dilation[i] < 1 || pads[i] < 0)
      throw Refused(c10::str("windows of ", kernel, ", strides of ", stride, ", dilations of ", dilation,
                             " and paddings of ", pads, "; allowed: above 0, and paddings from 0 on"));
}
void columns_rule(Shaper& s) {
  s.only("padding_mode", "CALCULATED");
  const Shape x = s.shape(0);
  const Dims kernel = of_axes(s, "ksizes"), stride = of_axes(s, "strides"), dilation = of_axes(s, "dilations"),
             pads = columns_pads(s);
  if (!x) return s.out(s.dtype(0), std::nullopt);
  if (x->size() != 4) throw Refused("its input has 4 dimensions, it is " + s.describe(0));
  has_windows(kernel, stride, dilation, pads);
  Dim count = 1;
  for (size_t i = 0; i < 2; ++i)
    count = count * (((*x)[i + 2] + 2 * pads[i] - dilation[i] * (kernel[i] - 1) - 1) / stride[i] + 1);
  s.out(s.dtype(0), known({(*x)[0], (*x)[1] * (kernel[0] * kernel[1]), count}));
}
// x is (n, c, windows' elements, windows).
void image_rule(Shaper& s) {
  const Shape x = s.shape(0);
  const Values size = plane_size(s);
  const Dims kernel = of_axes(s, "kernel_size"), stride = of_axes(s, "stride"), dilation = of_axes(s, "dilation"),
             pads = of_axes(s, "padding");
  has_windows(kernel, stride, dilation, pads);
  int64_t places = size ? 1 : -1;
  for (size_t i = 0; size && i < 2; ++i)
    if (size->at(i) + 2 * pads[i] < dilation[i] * (kernel[i] - 1) + 1)
      throw Refused(c10::str("windows of ", kernel, " do not fit into ", *size));
  for (size_t i = 0; size && i < 2; ++i)
    places *= (size->at(i) + 2 * pads[i] - dilation[i] * (kernel[i] - 1) - 1) / stride[i] + 1;
  s.match(pattern<"n c =elements =places -> n">, {kernel[0] * kernel[1], places});
  s.out(s.dtype(0),
        known({x ? (*x)[0] : unknown, x ? (*x)[1] : unknown, at_or_unknown(size, 0), at_or_unknown(size, 1)}));
}

}  // namespace

const Family image_rows = {
#define RESIZE "align_corners:Bool=false half_pixel_centers:Bool=false"
    ROW(ResizeNearestNeighborV2, "x size -> y | " RESIZE, nearest_rule, kernels::nearest(a[0], a.need(1), pixels(a))),
    ROW(ResizeNearestNeighborV2Grad, "grads size -> y | " RESIZE, nearest_rule,
        kernels::nearest_backward(a[0], resized(a), pixels(a))),
    ROW(ResizeBilinearV2, "x size -> y | " RESIZE " dtype:Type=0", resize_rule,
        from_the_corner(a) ? bilinear(a) : at::upsample_bilinear2d(wide(a[0]), a.need(1), a.flag("align_corners"))),
    ROW(ResizeBilinearV2Grad, "grads original_image -> y | " RESIZE, bilinear_grad_rule,
        from_the_corner(a) ? bilinear_grad(a)
                           : at::upsample_bilinear2d_backward(wide(a[0]), a[0].sizes().slice(2), a[1].sizes(),
                                                              a.flag("align_corners"))),
    ROW(ResizeArea, "images size -> y | align_corners:Bool=false", behind_rule, by_area(a)),
#define MOVED "kernel_type:String=lanczos3 antialias:Bool=true"
    ROW(ScaleAndTranslate, "images size scale translation -> y | " MOVED, moved_rule, moved(a)),
    ROW(ScaleAndTranslateGrad, "grads original_image scale translation -> y | " MOVED, moved_grad_rule, moved_grad(a)),
    ROW(RGBToHSV, "images -> y", colours_rule, kernels::rgb_to_hsv(a[0])),
    ROW(AdjustHue, "images delta -> y | data_format:String=HWC", colours_rule,
        kernels::hue_turned(a[0], a[1].item<double>())),
    ROW(AdjustSaturation, "images scale -> y", colours_rule, kernels::saturation_scaled(a[0], a[1].item<double>())),
#define RESIZE_BY_MODE                                                                                              \
  "roi:ListInt={} scales:ListFloat={} coordinate_transformation_mode:String=half_pixel cubic_coeff_a:Float=-0.75 "  \
  "exclude_outside:Int=0 extrapolation_value:Float=0.0 mode:String=nearest nearest_mode:String=round_prefer_floor " \
  "data_format:String=NCHW"
    ROW(ResizeD, "x -> y | sizes:ListInt " RESIZE_BY_MODE, resize_to_rule, resized_to(a)),
    ROW(ResizeGradD, "grads -> y | original_size:ListInt " RESIZE_BY_MODE, resize_back_rule, resized_back(a)),
    ROW(AffineGrid, "theta output_size -> y | align_corners:Bool=false", grid_rule,
        at::affine_grid_generator(wide(a[0]), a.need(1), a.flag("align_corners")).flatten(1, -2)),
    ROW(Im2col,
        "x -> y | ksizes:ListInt strides:ListInt={1} dilations:ListInt={1} padding_mode:String=CALCULATED "
        "pads:ListInt={0}",
        columns_rule,
        at::im2col(a[0], of_axes(a, "ksizes"), of_axes(a, "dilations"), columns_pads(a), of_axes(a, "strides"))),
    ROW(Col2im, "x output_size -> y | kernel_size:ListInt dilation:ListInt padding:ListInt stride:ListInt", image_rule,
        at::col2im(a[0].flatten(1, 2), a.need(1), of_axes(a, "kernel_size"), of_axes(a, "dilation"),
                   of_axes(a, "padding"), of_axes(a, "stride"))),
};

}  // namespace sim::ge_table
