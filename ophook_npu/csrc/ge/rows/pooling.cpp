// Pooling of planes, (batch, channels, height, width).
#include "ge/rows/rows.h"
#include "kernels/fractional.h"
#include "kernels/pooling.h"
#include "kernels/random.h"

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

// ---- over planes (axes 2) and volumes (3), padded as an attribute says ----------------------------------------------
struct Windows {
  bool behind_space;  // where the channels lie
  std::string padding;
  Dims size, stride, dilation, before, behind;  // of the axes of space
  bool ceil, whole;                             // whole: one over all
  size_t axis(size_t of_space) const { return of_space + (behind_space ? 1 : 2); }
};

bool channels_behind(const Call& call, size_t axes) {
  const std::string format = call.text("data_format");
  if (format == (axes == 2 ? "NHWC" : "NDHWC")) return true;
  if (format != (axes == 2 ? "NCHW" : "NCDHW")) throw Refused("data_format='" + format + "' is not simulated");
  return false;
}

// A value for each axis of space, one for all of them, or one for each dimension.
Dims along_space(const Call& call, size_t axes, const char* attr) {
  if (!call.knows(attr)) return Dims(axes, 1);
  const Dims all = call.integers(attr);
  if (all.size() == 1) return Dims(axes, all[0]);
  if (all.size() == axes) return all;
  const size_t first = channels_behind(call, axes) ? 1 : 2;
  if (all.size() != axes + 2 || all[0] != 1 || all[first == 1 ? axes + 1 : 1] != 1)
    throw Refused(c10::str(attr, "=", all, "; allowed: ", axes + 2, " values, 1 for batch and channels"));
  return {all.begin() + first, all.begin() + first + axes};
}

Windows windows_of(const Call& call, size_t axes) {
  Windows out{.behind_space = channels_behind(call, axes), .padding = "CALCULATED"};
  for (const char* attr : {"padding", "padding_mode"})
    if (call.knows(attr)) out.padding = call.text(attr);
  const bool told = call.knows("pads");
  if (out.padding != "SAME" && out.padding != "VALID" && !(out.padding == "CALCULATED" && told))
    throw Refused("its padding is '" + out.padding + "'; allowed: SAME, VALID" + (told ? ", CALCULATED" : ""));
  out.size = along_space(call, axes, "ksize"), out.stride = along_space(call, axes, "strides");
  out.dilation = along_space(call, axes, "dilation");
  const Dims pads = out.padding == "CALCULATED" ? call.integers("pads") : Dims(2 * axes, 0);
  if (pads.size() != 2 * axes) throw Refused(c10::str("pads=", pads, "; allowed: ", 2 * axes, " values"));
  for (size_t i = 0; i < axes; ++i) out.before.push_back(pads[2 * i]), out.behind.push_back(pads[2 * i + 1]);
  out.ceil = call.knows("ceil_mode") && call.flag("ceil_mode");
  out.whole = call.knows("global_pooling") && call.flag("global_pooling");
  return out;
}

Dim windows_along(const Windows& w, size_t i, const Dim& size) {
  if (w.whole) return 1;
  const int64_t step = w.stride[i], reach = w.dilation[i] * (w.size[i] - 1) + 1, pads = w.before[i] + w.behind[i];
  if (w.before[i] == w.behind[i] && w.padding != "SAME")
    return windows(size, w.size[i], step, w.before[i], w.dilation[i], w.ceil);
  if (w.size[i] < 1 || step < 1 || w.dilation[i] < 1 || w.before[i] < 0 || w.behind[i] < 0 ||
      std::max(w.before[i], w.behind[i]) >= std::max<int64_t>(reach, 2))
    throw Refused(c10::str("a window of ", w.size[i], ", a stride of ", step, ", a dilation of ", w.dilation[i],
                           " and paddings of ", w.before[i], " and ", w.behind[i],
                           "; allowed: above 0, and paddings below a window"));
  if (w.padding == "SAME") return (size + (step - 1)) / step;
  if (reach > size + pads)
    throw Refused(c10::str("a window of ", w.size[i], " does not fit into a dimension of ", size.size(),
                           " and paddings of ", w.before[i], " and ", w.behind[i]));
  const Dim out = (size + pads - reach + (w.ceil ? step - 1 : 0)) / step + 1;
  const Dim taken = w.ceil && (out - 1) * step >= size + w.before[i] ? out - 1 : out;
  return taken;
}

// What an input of these sizes is padded by.
kernels::Frame frame_of(const Windows& w, at::IntArrayRef sizes) {
  const Dims none(w.size.size(), 0);
  kernels::Frame out{.before = w.whole ? none : w.before, .behind = w.whole ? none : w.behind, .over = none};
  for (size_t i = 0; i < w.size.size() && !w.whole; ++i) {
    const int64_t size = sizes[w.axis(i)], reach = w.dilation[i] * (w.size[i] - 1) + 1;
    const int64_t taken = (windows_along(w, i, size).size() - 1) * w.stride[i] + reach;
    const int64_t rest = std::max<int64_t>(taken - size - w.before[i] - w.behind[i], 0);
    if (w.padding == "SAME") out.before[i] = rest / 2, out.behind[i] = rest - rest / 2;
    else out.over[i] = rest;
  }
  return out;
}
kernels::Window window_of(const Windows& w, at::IntArrayRef sizes) {
  const size_t axes = w.size.size(), first = w.axis(0);
  return {.dims = int64_t(axes),
          .size = w.whole ? Dims(sizes.begin() + first, sizes.begin() + first + axes) : w.size,
          .stride = w.stride,
          .padding = Dims{0},
          .dilation = w.dilation,
          .ceil_mode = false};
}

Shape pooled(const Call& call, size_t axes, Shape shape) {
  const Windows w = windows_of(call, axes);
  if (shape && shape->size() != axes + 2)
    throw Refused(c10::str("its input has ", axes + 2, " dimensions, not ", shape->size()));
  for (size_t i = 0; shape && i < axes; ++i) (*shape)[w.axis(i)] = windows_along(w, i, (*shape)[w.axis(i)]);
  return shape;
}
template <size_t axes>
void pooled_rule(Shaper& s) {
  s.out(s.dtype(0), pooled(s, axes, s.shape(0)));
}
template <size_t axes>
void average_grad_rule(Shaper& s) {
  const Shape of = shape_from(s, 0);
  require_shape(s, 1, pooled(s, axes, of), kPooled);
  s.out(s.dtype(1), of);
}
template <size_t axes>
void maxima_grad_rule(Shaper& s) {
  const Shape shape = pooled(s, axes, s.shape(0));
  for (const size_t i : {1, 2}) require_shape(s, i, shape, kPooled);
  same(s);
}

bool counts_padding(const Call& call) {
  return call.knows("exclusive") ? !call.flag("exclusive")
                                 : call.knows("count_include_pad") && call.flag("count_include_pad");
}
int64_t divisor_of(const Call& call) { return call.knows("divisor_override") ? call.integer("divisor_override") : 0; }
at::Tensor channels_first(const at::Tensor& x, const Windows& w) { return w.behind_space ? x.movedim(-1, 1) : x; }
at::Tensor channels_back(const at::Tensor& x, const Windows& w) { return w.behind_space ? x.movedim(1, -1) : x; }
template <size_t axes>
at::Tensor averages(const Args& a) {
  const Windows w = windows_of(a, axes);
  const at::Tensor x = a[0];
  return channels_back(kernels::average_framed(channels_first(x, w), window_of(w, x.sizes()), frame_of(w, x.sizes()),
                                               counts_padding(a), divisor_of(a)),
                       w);
}
template <size_t axes>
at::Tensor averages_grad(const Args& a) {
  const Windows w = windows_of(a, axes);
  const at::Tensor like = a.output(0);
  return channels_back(kernels::average_framed_backward(channels_first(a[1], w), channels_first(like, w).sizes(),
                                                        window_of(w, like.sizes()), frame_of(w, like.sizes()),
                                                        counts_padding(a), divisor_of(a)),
                       w);
}
template <size_t axes>
at::Tensor greatest(const Args& a) {
  const Windows w = windows_of(a, axes);
  const at::Tensor x = a[0];
  return channels_back(kernels::maxima_framed(channels_first(x, w), window_of(w, x.sizes()), frame_of(w, x.sizes())),
                       w);
}
template <size_t axes>
at::Tensor greatest_grad(const Args& a) {
  const Windows w = windows_of(a, axes);
  const at::Tensor x = a[0];
  return channels_back(kernels::maxima_framed_backward(channels_first(a[2], w), channels_first(x, w),
                                                       window_of(w, x.sizes()), frame_of(w, x.sizes())),
                       w);
}

// ---- windows with borders that are drawn, of images (n, h, w, c) ----------------------------------------------------
std::vector<int64_t> fractions(const Call& call, const Shape& x) {
  const std::vector<float> ratio = call.reals("pooling_ratio");
  if (ratio.size() != 4 || ratio[0] != 1 || ratio[3] != 1 || ratio[1] < 1 || ratio[2] < 1)
    throw Refused(c10::str("pooling_ratio=", ratio, "; allowed: 1, two from 1 on, 1"));
  if (x && x->size() != 4) throw Refused("its images have 4 dimensions, not " + std::to_string(x->size()));
  std::vector<int64_t> out;
  for (size_t axis = 1; x && axis < 3; ++axis)
    out.push_back((*x)[axis].known() ? int64_t(double((*x)[axis].size()) / double(ratio[axis])) : -1);
  return out;
}
void fractional_rule(Shaper& s) {
  Shape shape = s.shape(0);
  const std::vector<int64_t> parts = fractions(s, shape);
  for (size_t i = 0; i < 2; ++i) {
    const Dim count = shape && parts[i] >= 0 ? Dim(parts[i]) : unknown;
    if (shape) (*shape)[i + 1] = count;
    s.out(i + 1, kInt64, known({count + 1}));
  }
  s.out(0, s.dtype(0), shape);
}
kernels::Borders drawn(const Args& a) {
  const auto seed = uint64_t(a.integer("seed")), second = uint64_t(a.integer("seed2"));
  const bool told = seed || second || a.flag("deterministic");
  const at::Generator by = told ? kernels::generator(seed, second) : kernels::own_generator();
  const at::Tensor x = a[0];
  const std::vector<int64_t> parts = fractions(a, sized_as(x));
  const bool steady = a.flag("pseudo_random");
  return {kernels::drawn_borders(x.size(1), parts[0], steady, by),
          kernels::drawn_borders(x.size(2), parts[1], steady, by), a.flag("overlapping")};
}
template <at::Tensor (*pool)(const at::Tensor&, const kernels::Borders&)>
Results fractional(const Args& a) {
  const kernels::Borders at = drawn(a);
  return {pool(a[0], at), at.rows, at.columns};
}
// A border more than there are results along each axis of space.
void borders_fit(const Call& call, size_t gradient, size_t borders) {
  const Shape of = call.shape(gradient);
  for (size_t axis = 1; of && axis < 3; ++axis) {
    const Shape given = call.shape(borders + axis - 1);
    if (given && given->size() == 1 && (*given)[0].known() && (*of)[axis].known() && (*given)[0] != (*of)[axis] + 1)
      throw Refused("its borders " + call.describe(borders + axis - 1) + " do not fit " + call.describe(gradient));
  }
}
void fractional_maxima_grad_rule(Shaper& s) {
  s.match(pattern<"n h w c, n y x c, n y x c, _, _ -> n">);
  borders_fit(s, 2, 3);
  same(s);
}
void fractional_average_grad_rule(Shaper& s) {
  s.match(pattern<"4, n y x c, _, _ -> n">);
  borders_fit(s, 1, 2);
  if (const Values before = s.values(0); const Shape of = s.shape(1))
    for (const size_t axis : {0, 3})
      if (before && (*of)[axis].known() && (*of)[axis] != (*before)[axis])
        throw Refused(c10::str("its images have ", *before, ", the gradient is ", s.describe(1)));
  s.out(s.dtype(1), shape_from(s, 0));
}

// ---- adaptive ones -----------------------------------------------------------------------------------------------
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

}  // namespace

#define OF_TWO_PADDINGS "ksize:ListInt strides:ListInt padding:String data_format:String=NHWC"
#define OF_THREE_PADDINGS                                                                                        \
  "ksize:ListInt strides:ListInt padding_mode:String=CALCULATED pads:ListInt={0,0,0,0} data_format:String=NCHW " \
  "global_pooling:Bool=false ceil_mode:Bool=false"
#define OF_VOLUME "ksize:ListInt strides:ListInt pads:ListInt "
#define AVERAGE_OF_VOLUME \
  OF_VOLUME "ceil_mode:Bool=false count_include_pad:Bool=true divisor_override:Int=0 data_format:String=NDHWC"
const Family pooling_rows = {
    ROW(AvgPool, "x -> y | " OF_TWO_PADDINGS, pooled_rule<2>, averages<2>(a)),
    ROW(AvgPoolGrad, "orig_input_shape input_grad -> out_grad | " OF_TWO_PADDINGS, average_grad_rule<2>,
        averages_grad<2>(a)),
    ROW(AvgPoolV2, "x -> y | " OF_THREE_PADDINGS " exclusive:Bool=true divisor_override:Int=0", pooled_rule<2>,
        averages<2>(a)),
    ROW(AvgPoolV2Grad,
        "orig_input_shape input_grad -> out_grad | " OF_THREE_PADDINGS " exclusive:Bool=true divisor_override:Int=0",
        average_grad_rule<2>, averages_grad<2>(a)),
    ROW(AvgPool3D, "x -> y | " AVERAGE_OF_VOLUME, pooled_rule<3>, averages<3>(a)),
    ROW(AvgPool3DGrad, "orig_input_shape grads -> output | " AVERAGE_OF_VOLUME, average_grad_rule<3>,
        averages_grad<3>(a)),
    ROW(AdaptiveAvgPool2d, "x -> y | output_size:ListInt", adaptive_rule,
        kernels::adaptive_average(a[0], a.integers("output_size"))),
    ROW(AdaptiveAvgPool2dGrad, "input_grad -> output_grad | orig_input_shape:ListInt", adaptive_grad_rule,
        kernels::adaptive_average_backward(a[0], a.integers("orig_input_shape"))),

    ROW(MaxPool, "x -> y | " OF_TWO_PADDINGS, pooled_rule<2>, greatest<2>(a)),
    ROW(MaxPoolGrad, "x1 x2 grad -> y | " OF_TWO_PADDINGS, maxima_grad_rule<2>, greatest_grad<2>(a)),
    ROW(MaxPoolV3, "x -> y | " OF_THREE_PADDINGS, pooled_rule<2>, greatest<2>(a)),
    ROW(MaxPoolV3Grad, "orig_input orig_output grad -> out_grad | " OF_THREE_PADDINGS, maxima_grad_rule<2>,
        greatest_grad<2>(a)),
    ROW(MaxPool3D,
        "x -> y | ksize:ListInt strides:ListInt padding:String pads:ListInt={0,0,0,0,0,0} "
        "dilation:ListInt={1,1,1,1,1} ceil_mode:Int=0 data_format:String=NDHWC",
        pooled_rule<3>, greatest<3>(a)),
    ROW(MaxPool3DGrad, "orig_x orig_y grads -> y | " OF_VOLUME "padding:String=SAME data_format:String=NDHWC",
        maxima_grad_rule<3>, greatest_grad<3>(a)),

#define FRACTIONS                                                                                        \
  "pooling_ratio:ListFloat={} pseudo_random:Bool=false overlapping:Bool=false deterministic:Bool=false " \
  "seed:Int=0 seed2:Int=0"
    {"FractionalMaxPool", "x -> y row_pooling_sequence col_pooling_sequence | " FRACTIONS, fractional_rule,
     fractional<kernels::fractional_maxima>},
    {"FractionalAvgPool", "x -> y row_pooling_sequence col_pooling_sequence | " FRACTIONS, fractional_rule,
     fractional<kernels::fractional_average>},
    ROW(FractionalMaxPoolGrad,
        "orig_input orig_output out_backprop row_pooling_sequence col_pooling_sequence -> y | overlapping:Bool=false",
        fractional_maxima_grad_rule,
        kernels::fractional_maxima_backward(a[2], a[0], {a[3], a[4], a.flag("overlapping")})),
    ROW(FractionalAvgPoolGrad,
        "orig_input_tensor_shape out_backprop row_pooling_sequence col_pooling_sequence -> y | overlapping:Bool=false",
        fractional_average_grad_rule,
        kernels::fractional_average_backward(a[1], a.need(0), {a[2], a[3], a.flag("overlapping")})),

#define MAX_POOL \
  "ksize:ListInt strides:ListInt pads:ListInt dtype:Int=3 dilation:ListInt={1,1,1,1} ceil_mode:Bool=false"
    // Only the operator's own gradient reads the argmax: on the device its layout is private.
    EACH_OF(MaxPoolWithArgmaxV1, "x -> y argmax | " MAX_POOL, max_rule, kernels::maxima(a[0], max_window(a))),
    EACH_OF(MaxPoolWithArgmaxV3, "x -> y argmax | " MAX_POOL " data_format:String=NCHW", max_rule,
            kernels::maxima(a[0], max_window(a))),
    ROW(MaxPoolGradWithArgmaxV1, "x grad argmax -> y | " MAX_POOL, max_grad_rule,
        kernels::maxima_backward(a[1], a[0], max_window(a), a[2])),
    ROW(MaxPoolGradWithArgmaxV3, "x grad argmax -> y | " MAX_POOL " data_format:String=NCHW", max_grad_rule,
        kernels::maxima_backward(a[1], a[0], max_window(a), a[2])),

};

}  // namespace sim::ge_table
