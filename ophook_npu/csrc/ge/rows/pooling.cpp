// Pooling of planes, (batch, channels, height, width).
#include "ge/rows/rows.h"
#include "kernels/pooling.h"

namespace sim::ge_table {
namespace {

// What a window leaves of a dimension; with ceil_mode the last one may hang over, but none starts behind the input.
Dim windows(const Dim& size, int64_t kernel, int64_t stride, int64_t pad, int64_t dilation, bool ceil) {
  if (kernel < 1 || stride < 1 || dilation < 1 || pad < 0 || 2 * pad > dilation * (kernel - 1) + 1)
    throw Refused(c10::str("a window of ", kernel, ", a stride of ", stride, ", a dilation of ", dilation,
                           " and a padding of ", pad, "; allowed: above 0, and a padding of at most half a window"));
  if (dilation * (kernel - 1) + 1 > size + 2 * pad)
    throw Refused(
        c10::str("a window of ", kernel, " does not fit into a dimension of ", size.size(), " and a padding of ", pad));
  const Dim out = (size + 2 * pad - dilation * (kernel - 1) - 1 + (ceil ? stride - 1 : 0)) / stride + 1;
  const Dim taken = ceil && (out - 1) * stride >= size + pad ? out - 1 : out;
  return taken;
}
constexpr const char* kPooled = "is not what its windows leave of the input";

// ---- averages ---------------------------------------------------------------------------------------------------
void average_attrs(const Call& s) {
  s.only("data_format", "NCHW");
  s.only("padding_mode", "CALCULATED");
  if (s.flag("global_pooling")) throw Refused("global_pooling is not simulated");
}

Shape averaged(const Call& s, Shape shape) {
  average_attrs(s);
  const auto kernel = spatial(s, 2, "ksize", 1), strides = spatial(s, 2, "strides", 1), pads = equal_pads(s, 2);
  if (shape && shape->size() != 4) throw Refused("its images have 4 dimensions, not " + std::to_string(shape->size()));
  for (size_t i = 0; shape && i < 2; ++i) {
    Dim& size = (*shape)[i + 2];
    size = windows(size, kernel[i], strides[i], pads[i], 1, s.flag("ceil_mode"));
  }
  return shape;
}
void average_rule(Shaper& s) { s.out(s.dtype(0), averaged(s, s.shape(0))); }

kernels::Window average_window(const Args& a) {
  return {2, spatial(a, 2, "ksize", 1), spatial(a, 2, "strides", 1), equal_pads(a, 2), {}, a.flag("ceil_mode")};
}

void average_grad_rule(Shaper& s) {
  const Shape of = shape_from(s, 0);
  require_shape(s, 1, averaged(s, of), kPooled);
  s.out(s.dtype(1), of);
}

void adaptive_grad_rule(Shaper& s) {
  const Dims before = s.integers("orig_input_shape");
  const Shape grad = s.shape(0);
  if (before.size() < 3 || before.size() > 4 || *std::min_element(before.begin(), before.end()) < 1 ||
      (grad && grad->size() != before.size()))
    throw Refused("its images have 3 or 4 dimensions above 0, its gradient is " + s.describe(0));
  for (size_t i = 0; grad && i + 2 < before.size(); ++i)
    if ((*grad)[i] != before[i]) throw Refused("its gradient " + s.describe(0) + " does not fit orig_input_shape");
  s.out(s.dtype(0), before);
}

void adaptive_rule(Shaper& s) {
  const auto size = s.integers("output_size");
  if (size.size() != 2) throw Refused("output_size needs 2 values, it has " + std::to_string(size.size()));
  Shape shape = s.shape(0);
  if (shape) {
    if (shape->size() < 3 || shape->size() > 4)
      throw Refused("its input has 3 or 4 dimensions, it is " + s.describe(0));
    std::copy(size.begin(), size.end(), shape->last(size.size()));
  }
  s.out(s.dtype(0), shape);
}

// ---- of volumes: attributes have a value for every axis of space, or for batch and channels as well ---------------
Dims of_volume(const Call& call, const char* attr) {
  const Dims all = call.integers(attr);
  if (all.size() == 1) return Dims(3, all[0]);
  if (all.size() == 3) return all;
  return spatial(call, 3, attr, 1);
}

// One that rounds up has windows which hang over: op-plugin pads behind as well, by as much as they do.
Dims pads_in_front(const Call& call) {
  const Dims both = call.integers("pads");
  if (both.size() != 6) throw Refused("pads needs 6 values, it has " + std::to_string(both.size()));
  return {both[0], both[2], both[4]};
}
bool pads_more_behind(const Call& call) {
  const Dims both = call.integers("pads");
  return both.size() == 6 && (both[1] > both[0] || both[3] > both[2] || both[5] > both[4]);
}

Shape of_windows(const Call& s, Shape shape, const Dims& pads, const Dims& dilation, bool ceil) {
  s.only("data_format", "NCDHW");
  const auto kernel = of_volume(s, "ksize"), strides = of_volume(s, "strides");
  if (shape && shape->size() != 5) throw Refused("its volumes have 5 dimensions, not " + std::to_string(shape->size()));
  for (size_t i = 0; shape && i < 3; ++i)
    (*shape)[i + 2] = windows((*shape)[i + 2], kernel[i], strides[i], pads[i], dilation[i], ceil);
  return shape;
}

Shape averaged_volume(const Call& s, const Shape& of) {
  return of_windows(s, of, equal_pads(s, 3), {1, 1, 1}, s.flag("ceil_mode"));
}
void volume_average_rule(Shaper& s) { s.out(s.dtype(0), averaged_volume(s, s.shape(0))); }
void volume_average_grad_rule(Shaper& s) {
  const Shape of = shape_from(s, 0);
  require_shape(s, 1, averaged_volume(s, of), kPooled);
  s.out(s.dtype(1), of);
}
kernels::Window volume_average(const Args& a) {
  return {3, of_volume(a, "ksize"), of_volume(a, "strides"), equal_pads(a, 3), {}, a.flag("ceil_mode")};
}

void volume_max_rule(Shaper& s) {
  s.only("padding", "CALCULATED");
  s.out(s.dtype(0), of_windows(s, s.shape(0), pads_in_front(s), of_volume(s, "dilation"), s.flag("ceil_mode")));
}
kernels::Window volume_max(const Args& a, const Dims& dilation, bool ceil) {
  return {3, of_volume(a, "ksize"), of_volume(a, "strides"), pads_in_front(a), dilation, ceil};
}
void volume_max_grad_rule(Shaper& s) {
  s.only("padding", "CALCULATED");
  const Shape pooled = of_windows(s, s.shape(0), pads_in_front(s), {1, 1, 1}, pads_more_behind(s));
  for (const size_t i : {1, 2}) require_shape(s, i, pooled, kPooled);
  same(s);
}

// ---- maxima -----------------------------------------------------------------------------------------------------
// V1 gives a value for every dimension of (batch, height, width, channels), V3 one for height and width.
Dims of_window(const Call& call, const char* attr) {
  const Dims all = call.integers(attr);
  if (all.size() == 2) return all;
  if (all.size() != 4) throw Refused(std::string(attr) + " needs 2 or 4 values, it has " + std::to_string(all.size()));
  return {all[1], all[2]};
}

int32_t index_dtype(const Call& call) { return call.integer("dtype") == kInt64 ? kInt64 : kInt32; }

Shape of_maxima(const Call& s) {
  Shape shape = s.shape(0);
  if (shape && shape->size() != 4) throw Refused("its input has 4 dimensions, it is " + s.describe(0));
  const auto kernel = of_window(s, "ksize"), strides = of_window(s, "strides"), pads = of_window(s, "pads"),
             dilation = of_window(s, "dilation");
  for (size_t i = 0; shape && i < 2; ++i)
    (*shape)[i + 2] = windows((*shape)[i + 2], kernel[i], strides[i], pads[i], dilation[i], s.flag("ceil_mode"));
  return shape;
}
void max_rule(Shaper& s) {
  const Shape shape = of_maxima(s);
  s.out(0, s.dtype(0), shape);
  s.out(1, index_dtype(s), shape);
}
void max_grad_rule(Shaper& s) {
  const Shape shape = of_maxima(s);
  for (const size_t i : {1, 2}) require_shape(s, i, shape, kPooled);
  same(s);
}

kernels::Window max_window(const Args& a) {
  return {2,
          of_window(a, "ksize"),
          of_window(a, "strides"),
          of_window(a, "pads"),
          of_window(a, "dilation"),
          a.flag("ceil_mode")};
}
// Only the operator's own gradient reads the argmax: on the device its layout is private.
Results maxima(const Args& a) {
  auto [y, places] = kernels::maxima(a[0], max_window(a));
  return {y, places};
}

kernels::Window max_window_of_plane(const Args& a) {
  kernels::Window window = average_window(a);
  window.dilation = {1, 1};
  return window;
}

}  // namespace

const Family pooling_rows = {
    ROW(AvgPoolV2,
        "x -> y | ksize:ListInt strides:ListInt padding_mode:String=CALCULATED pads:ListInt={0,0,0,0} "
        "data_format:String=NCHW global_pooling:Bool=false ceil_mode:Bool=false exclusive:Bool=true "
        "divisor_override:Int=0",
        average_rule, kernels::average(a[0], average_window(a), !a.flag("exclusive"), a.integer("divisor_override"))),
    ROW(AdaptiveAvgPool2d, "x -> y | output_size:ListInt", adaptive_rule,
        kernels::adaptive_average(a[0], a.integers("output_size"))),
    ROW(AvgPoolV2Grad,
        "orig_input_shape input_grad -> out_grad | ksize:ListInt strides:ListInt padding_mode:String=CALCULATED "
        "pads:ListInt={0,0,0,0} data_format:String=NCHW global_pooling:Bool=false ceil_mode:Bool=false "
        "exclusive:Bool=true divisor_override:Int=0",
        average_grad_rule,
        kernels::average_backward(a[1], a.need(0), average_window(a), !a.flag("exclusive"),
                                  a.integer("divisor_override"))),
    ROW(AdaptiveAvgPool2dGrad, "input_grad -> output_grad | orig_input_shape:ListInt", adaptive_grad_rule,
        kernels::adaptive_average_backward(a[0], a.integers("orig_input_shape"))),

#define OF_VOLUME "ksize:ListInt strides:ListInt pads:ListInt "
#define AVERAGE_OF_VOLUME \
  OF_VOLUME "ceil_mode:Bool=false count_include_pad:Bool=true divisor_override:Int=0 data_format:String=NDHWC"
    ROW(AvgPool3D, "x -> y | " AVERAGE_OF_VOLUME, volume_average_rule,
        kernels::average(a[0], volume_average(a), a.flag("count_include_pad"), a.integer("divisor_override"))),
    ROW(AvgPool3DGrad, "orig_input_shape grads -> output | " AVERAGE_OF_VOLUME, volume_average_grad_rule,
        kernels::average_backward(a[1], a.need(0), volume_average(a), a.flag("count_include_pad"),
                                  a.integer("divisor_override"))),
    ROW(MaxPool3D,
        "x -> y | ksize:ListInt strides:ListInt padding:String pads:ListInt={0,0,0,0,0,0} "
        "dilation:ListInt={1,1,1,1,1} ceil_mode:Int=0 data_format:String=NDHWC",
        volume_max_rule, kernels::maxima(a[0], volume_max(a, of_volume(a, "dilation"), a.flag("ceil_mode"))).y),
    ROW(MaxPool3DGrad, "orig_x orig_y grads -> y | " OF_VOLUME "padding:String=SAME data_format:String=NDHWC",
        volume_max_grad_rule,
        kernels::maxima_backward_again(a[2], a[0], volume_max(a, {1, 1, 1}, pads_more_behind(a)))),

    ROW(MaxPoolV3,
        "x -> y | ksize:ListInt strides:ListInt padding_mode:String=CALCULATED pads:ListInt={0,0,0,0} "
        "data_format:String=NCHW global_pooling:Bool=false ceil_mode:Bool=false",
        average_rule, kernels::maxima(a[0], max_window_of_plane(a)).y),

#define MAX_POOL \
  "ksize:ListInt strides:ListInt pads:ListInt dtype:Int=3 dilation:ListInt={1,1,1,1} ceil_mode:Bool=false"
    {"MaxPoolWithArgmaxV1", "x -> y argmax | " MAX_POOL, max_rule, maxima},
    {"MaxPoolWithArgmaxV3", "x -> y argmax | " MAX_POOL " data_format:String=NCHW", max_rule, maxima},
    ROW(MaxPoolGradWithArgmaxV1, "x grad argmax -> y | " MAX_POOL, max_grad_rule,
        kernels::maxima_backward(a[1], a[0], max_window(a), a[2])),
    ROW(MaxPoolGradWithArgmaxV3, "x grad argmax -> y | " MAX_POOL " data_format:String=NCHW", max_grad_rule,
        kernels::maxima_backward(a[1], a[0], max_window(a), a[2])),

};

}  // namespace sim::ge_table
