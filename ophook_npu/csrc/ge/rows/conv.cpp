// Convolutions over planes, (batch, channels, height, width), and volumes, with a depth before the height.
#include "ge/rows/rows.h"
#include "kernels/conv.h"
#include "kernels/deformable.h"

namespace sim::ge_table {
namespace {

// What both sides of each axis are padded by, and what one of them is padded by beyond that, as at::constant_pad_nd has
// it: the last axis first.
struct Padding {
  Dims both, more;
  int64_t total(size_t axis) const {
    const size_t at = more.size() - 2 * axis;
    return 2 * both[axis] + (more.empty() ? 0 : more[at - 2] + more[at - 1]);
  }
};
Padding padding_of(const Call& call, size_t axes) {
  const Dims pads = call.integers("pads");
  if (pads.size() != 2 * axes) throw Refused(c10::str("pads needs ", 2 * axes, " values, it has ", pads.size()));
  Padding out;
  bool even = true;
  for (size_t i = 0; i < axes; ++i) {
    const int64_t before = pads[2 * i], behind = pads[2 * i + 1], least = std::min(before, behind);
    if (least < 0) throw Refused(c10::str("pads=", pads, "; allowed: from 0 on"));
    even = even && before == behind;
    out.both.push_back(least);
    out.more.insert(out.more.begin(), {before - least, behind - least});
  }
  if (even) out.more.clear();
  return out;
}
Dims sides(const Call& call) { return padding_of(call, call.integers("pads").size() / 2).more; }

kernels::Convolution geometry(const Call& call, size_t axes, bool transposed = false) {
  call.only("data_format", axes == 2 ? "NCHW" : "NCDHW");
  return {spatial(call, axes, "strides", 1),        padding_of(call, axes).both,
          spatial(call, axes, "dilations", 1),      transposed,
          spatial(call, axes, "output_padding", 0), call.knows("groups") ? call.integer("groups") : 1};
}

// What a filter gives of x.
Shape convolved(const Call& call, const kernels::Convolution& g, const Shape& x, const Shape& filter,
                const Dim& in_channels) {
  const size_t axes = g.stride.size();
  const Padding padding = padding_of(call, axes);
  if (!x || !filter) return std::nullopt;
  const auto shown = [](const Shape& shape) {
    std::string out;
    for (const Dim& dim : *shape) out += (out.empty() ? "" : ", ") + (dim.known() ? std::to_string(dim.size()) : "?");
    return "[" + out + "]";
  };
  if (x->size() != axes + 2 || filter->size() != axes + 2 || (*x)[1] != in_channels || g.groups < 1 ||
      (*filter)[0] % g.groups != 0 || *std::min_element(g.stride.begin(), g.stride.end()) < 1 ||
      *std::min_element(g.dilation.begin(), g.dilation.end()) < 1)
    throw Refused(c10::str("a filter ", shown(filter), " with ", g.groups, " groups, strides ", g.stride,
                           " and dilations ", g.dilation, " does not fit ", shown(x)));
  Sizes out = {(*x)[0], (*filter)[0]};
  for (size_t i = 0; i < axes; ++i) {
    const Dim reach = ((*filter)[i + 2] - 1) * g.dilation[i] + 1;
    const Dim room = (*x)[i + 2] + padding.total(i) - reach;
    if (room < 0 || reach < 1) throw Refused("a filter " + shown(filter) + " is larger than " + shown(x));
    out.push_back(room / g.stride[i] + 1);
  }
  return out;
}
constexpr const char* kConvolved = "is not what the filter gives of the input";
void bias_fits(const Call& s, size_t bias, const Dim& channels) {
  if (s.has(bias)) require_shape(s, bias, known({channels}), "has to be a number for each channel of the result");
}
Dim channels_taken(const Shape& filter, int64_t groups) {
  return filter && filter->size() > 1 ? (*filter)[1] * groups : unknown;
}

template <size_t axes>
void forward_rule(Shaper& s) {
  require_same_dtype(s, 0, 2);
  const auto g = geometry(s, axes);
  const Shape filter = s.shape(1), out = convolved(s, g, s.shape(0), filter, channels_taken(filter, g.groups));
  bias_fits(s, s.knows("round_mode") ? 3 : 2, out ? (*out)[1] : unknown);
  s.out(s.knows("dtype") ? int32_t(s.integer("dtype")) : s.dtype(0), out);
  if (s.knows("round_mode") && s.complete())
    kernels::check_quantized(s[0], s[1], s[2], s[4], false, s.integer("offset_x"), s.text("round_mode"));
}

at::Tensor quantized(const Args& a) {
  return kernels::quantized_convolution(kernels::padded(a[0], sides(a)), a[1], a[3], a[2], geometry(a, 2))
      .to(a.out_dtype());
}

// The result's shape, which is one of the three, is an input of its own: where it stands, what is convolved, the filter
// and what comes of it.
template <size_t axes, size_t given, size_t of, size_t filter, size_t result>
void shape_is_given(Shaper& s) {
  const auto g = geometry(s, axes);
  if (s.has(4)) throw Refused("offset_w is not simulated");  // the gradients have three inputs
  const Shape told = shape_from(s, given);
  const auto shape_of = [&](size_t input) { return input == given ? told : s.shape(input); };
  const Shape by = shape_of(filter), small = shape_of(result);
  require_shape(s, result, convolved(s, g, shape_of(of), by, channels_taken(by, g.groups)), kConvolved);
  if (filter == 2) bias_fits(s, 3, channels_taken(by, g.groups));
  for (size_t i = 0; filter == 2 && told && by && small && i < axes; ++i) {
    const Dim rest = (*told)[i + 2] + padding_of(s, axes).total(i) - ((*by)[i + 2] - 1) * g.dilation[i] - 1 -
                     ((*small)[i + 2] - 1) * g.stride[i];
    if (rest != g.output_padding[i] || rest < 0)
      throw Refused(c10::str("output_padding ", g.output_padding, " does not give the sizes of input_size"));
  }
  s.out(s.dtype(given == 0 ? 1 : 0), told);
}

// ---- of each channel by itself: the filter is (1, channels of the result, height, width) ---------------------------
kernels::Convolution depthwise(const Call& call, int64_t channels) {
  auto g = geometry(call, 2);
  g.groups = channels;
  return g;
}
Shape of_channels(const Call& s, const kernels::Convolution& g, const Shape& x, Shape filter) {
  if (!x || !filter) return std::nullopt;
  if (x->size() != 4 || filter->size() != 4 || (*filter)[0] != 1 || (*filter)[1] % (*x)[1] != 0)
    throw Refused("a filter " + s.describe(1) + " does not fit the channels of its images");
  std::swap((*filter)[0], (*filter)[1]);
  return convolved(s, g, x, filter, (*x)[1]);
}
void depthwise_rule(Shaper& s) {
  require_same_dtype(s, 0, 2);
  if (s.has(3)) throw Refused("offset_w is not simulated");
  const auto g = depthwise(s, 1);
  const Shape x = s.shape(0), filter = s.shape(1);
  if (!x || !filter) return s.out(s.dtype(0), std::nullopt);
  s.out(s.dtype(0), of_channels(s, g, x, filter));
}
void depthwise_input_rule(Shaper& s) {
  const Shape told = shape_from(s, 0);
  require_shape(s, 2, of_channels(s, depthwise(s, 1), told, s.shape(1)), kConvolved);
  s.out(s.dtype(1), told);
}
// It lies as the filter does, and may be described with the channels in front.
void depthwise_filter_rule(Shaper& s) { s.out(s.dtype(0), all_unknown(shape_from(s, 1))); }
at::Tensor depthwise_filter(const Args& a) {
  const Dims size = a.need(1);
  return kernels::convolution_backward_weight(a[2], kernels::padded(a[0], sides(a)),
                                              {size.at(1), size.at(0), size.at(2), size.at(3)},
                                              depthwise(a, a[0].size(1)))
      .reshape(a.output(0).sizes());
}

// ---- samples of a deformable convolution, whose channels lie last ---------------------------------------------------
bool samples_behind(const Call& call) {
  const std::string format = call.text("data_format");
  if (format != "NHWC" && format != "NCHW") throw Refused("data_format='" + format + "' is not simulated");
  return format == "NHWC";
}
// Of any rule or kernel here the channels lie last.
Shape images(const Call& call, size_t input) {
  Shape x = call.shape(input);
  if (!x || x->size() != 4 || samples_behind(call)) return x;
  return known({(*x)[0], (*x)[2], (*x)[3], (*x)[1]});
}
at::Tensor images(const Args& a, size_t input) {
  const at::Tensor x = a[input];
  return samples_behind(a) ? x : x.permute({0, 2, 3, 1}).contiguous();
}
at::Tensor lie_again(const Args& a, const at::Tensor& x) { return samples_behind(a) ? x : x.permute({0, 3, 1, 2}); }
kernels::DeformableConvolution sampling(const Call& call) {
  call.only("modulated", 1.0);
  const Dims kernel = call.integers("ksize"), pads = call.integers("pads");
  if (kernel.size() != 2 || pads.size() != 4)
    throw Refused(c10::str("ksize=", kernel, " and pads=", pads, "; two and four numbers"));
  const auto over_planes = [&](const char* attr) -> Dims {
    const Dims all = call.integers(attr);
    const size_t first = samples_behind(call) ? 1 : 2;
    if (all.size() != 4 || all[0] != 1 || all[first == 1 ? 3 : 1] != 1 || all[first] < 1 || all[first + 1] < 1)
      throw Refused(c10::str(attr, "=", all, "; allowed: two above 0, and 1 for batch and channels"));
    return {1, 1, all[first], all[first + 1]};
  };
  return {kernel, over_planes("strides"), pads, over_planes("dilations"), 1, call.integer("deformable_groups")};
}
// x (n, h, w, c) and offsets (n, h', w', 3 · groups · kernel), of which come (n, h' · rows, w' · columns, c).
Shape sample_shape(const Shaper& s, size_t x_at) {
  const auto how = sampling(s);
  const Shape x = images(s, x_at), offsets = images(s, x_at + 1);
  if (!x || !offsets) return std::nullopt;
  if (x->size() != 4 || offsets->size() != 4 || how.offset_groups < 1 || (*x)[3] % how.offset_groups != 0 ||
      (*x)[0] != (*offsets)[0])
    throw Refused("offsets " + s.describe(x_at + 1) + " do not fit " + s.describe(x_at));
  const auto steps = [&](size_t axis) {
    const Dim reach = (how.kernel[axis] - 1) * how.dilation[axis + 2] + 1;
    return ((*x)[axis + 1] + how.padding[2 * axis] + how.padding[2 * axis + 1] - reach) / how.stride[axis + 2] + 1;
  };
  const Dim height = steps(0), width = steps(1);
  if (height != (*offsets)[1] || width != (*offsets)[2] ||
      (*offsets)[3] != 3 * how.offset_groups * how.kernel[0] * how.kernel[1])
    throw Refused("offsets " + s.describe(x_at + 1) + " do not fit " + s.describe(x_at));
  return known({(*x)[0], height * how.kernel[0], width * how.kernel[1], (*x)[3]});
}
void samples_rule(Shaper& s) {
  require_same_dtype(s, 0, 2);
  Shape out = sample_shape(s, 0);
  if (out && !samples_behind(s)) out = known({(*out)[0], (*out)[3], (*out)[1], (*out)[2]});
  s.out(s.dtype(0), out);
}
void samples_grad_rule(Shaper& s) {
  require_same_dtype(s, 0, 3);
  const Shape samples = sample_shape(s, 1), grad = images(s, 0);
  if (samples && grad)
    for (size_t i = 0; i < 4; ++i)
      if (grad->size() != 4 || (*grad)[i] != (*samples)[i])
        throw Refused("a gradient " + s.describe(0) + " does not fit offsets " + s.describe(2));
  s.out(0, s.dtype(1), s.shape(1));
  s.out(1, s.dtype(2), s.shape(2));
}
Results samples_grad(const Args& a) {
  auto [x, offsets] = kernels::deformed_samples_backward(images(a, 0), images(a, 1), images(a, 2), sampling(a));
  return {lie_again(a, x), lie_again(a, offsets)};
}

}  // namespace

#define DEPTHWISE "strides:ListInt dilations:ListInt={1,1,1,1} pads:ListInt data_format:String=NHWC"
#define SAMPLES                                                                                     \
  "strides:ListInt pads:ListInt ksize:ListInt dilations:ListInt={1,1,1,1} data_format:String=NCHW " \
  "deformable_groups:Int=1 modulated:Bool=true"
#define PLANE "strides:ListInt pads:ListInt dilations:ListInt={1,1,1,1} groups:Int=1 data_format:String=NHWC"
#define VOLUME "strides:ListInt pads:ListInt dilations:ListInt={1,1,1,1,1} groups:Int=1 data_format:String=NDHWC"
const Family conv_rows = {
    ROW(Conv2D, "x filter bias? offset_w? -> y | " PLANE " offset_x:Int=0", forward_rule<2>,
        kernels::convolution(kernels::padded(a[0], sides(a)), a[1], a[2], geometry(a, 2))),
    ROW(QuantConv2D, "x filter scale bias? offset? -> y | dtype:Int " PLANE " offset_x:Int=0 round_mode:String=rint",
        forward_rule<2>, quantized(a)),
    ROW(Conv3D, "x filter bias? offset_w? -> y | " VOLUME " offset_x:Int=0", forward_rule<3>,
        kernels::convolution(kernels::padded(a[0], sides(a)), a[1], a[2], geometry(a, 3))),
    ROW(Conv2DTranspose,
        "input_size x filter bias? offset_w? -> y | " PLANE " output_padding:ListInt={0,0,0,0} offset_x:Int=0",
        (shape_is_given<2, 0, 0, 2, 1>),
        kernels::unpadded(kernels::convolution(a[1], a[2], a[3], geometry(a, 2, true)), sides(a))),
    ROW(Conv3DTranspose,
        "input_size x filter bias? offset_w? -> y | " VOLUME " output_padding:ListInt={0,0,0,0,0} offset_x:Int=0",
        (shape_is_given<3, 0, 0, 2, 1>),
        kernels::unpadded(kernels::convolution(a[1], a[2], a[3], geometry(a, 3, true)), sides(a))),
    ROW(DepthwiseConv2D, "x filter bias? offset_w? -> y | " DEPTHWISE " offset_x:Int=0", depthwise_rule,
        kernels::convolution(kernels::padded(a[0], sides(a)), a[1].transpose(0, 1), a[2], depthwise(a, a[0].size(1)))),
    ROW(DepthwiseConv2DBackpropInput, "input_size filter out_backprop -> input_grad | " DEPTHWISE, depthwise_input_rule,
        kernels::convolution_backward_input_padded(a[2], a.output(0).sizes(), a[1].transpose(0, 1),
                                                   depthwise(a, a.output(0).size(1)), sides(a))),
    ROW(DepthwiseConv2DBackpropFilter, "input filter_size out_backprop -> filter_grad | " DEPTHWISE,
        depthwise_filter_rule, depthwise_filter(a)),
    ROW(Conv2DBackpropInput, "input_size filter out_backprop -> y | " PLANE, (shape_is_given<2, 0, 0, 1, 2>),
        kernels::convolution_backward_input_padded(a[2], a.output(0).sizes(), a[1], geometry(a, 2), sides(a))),
    ROW(Conv3DBackpropInput, "input_size filter out_backprop -> y | " VOLUME, (shape_is_given<3, 0, 0, 1, 2>),
        kernels::convolution_backward_input_padded(a[2], a.output(0).sizes(), a[1], geometry(a, 3), sides(a))),
    ROW(Conv2DBackpropFilter, "x filter_size out_backprop -> y | " PLANE, (shape_is_given<2, 1, 0, 1, 2>),
        kernels::convolution_backward_weight(a[2], kernels::padded(a[0], sides(a)), a.output(0).sizes(),
                                             geometry(a, 2))),
    ROW(Conv3DBackpropFilter, "x filter_size out_backprop -> y | " VOLUME, (shape_is_given<3, 1, 0, 1, 2>),
        kernels::convolution_backward_weight(a[2], kernels::padded(a[0], sides(a)), a.output(0).sizes(),
                                             geometry(a, 3))),
    {"Conv2DBackpropInputD", "filter out_backprop -> y | input_size:ListInt " PLANE, AsInputs{"Conv2DBackpropInput"}},
    {"Conv3DBackpropInputD", "filter out_backprop -> y | input_size:ListInt " VOLUME, AsInputs{"Conv3DBackpropInput"}},
    {"Conv2DBackpropFilterD", "x out_backprop -> y | filter_size:ListInt " PLANE,
     AsInputs{"Conv2DBackpropFilter", kFloat}},
    {"Conv3DBackpropFilterD", "x out_backprop -> y | filter_size:ListInt " VOLUME,
     AsInputs{"Conv3DBackpropFilter", kFloat}},
    {"Conv2DTransposeD",
     "x filter bias? offset_w? -> y | input_size:ListInt " PLANE " output_padding:ListInt={0,0,0,0} offset_x:Int=0",
     AsInputs{"Conv2DTranspose"}},
    {"Conv3DTransposeD",
     "x filter bias? offset_w? -> y | input_size:ListInt " VOLUME " output_padding:ListInt={0,0,0,0,0} offset_x:Int=0",
     AsInputs{"Conv3DTranspose"}},
    ROW(DeformableOffsets, "x offsets -> y | " SAMPLES, samples_rule,
        lie_again(a, kernels::deformed_samples(images(a, 0), images(a, 1), sampling(a)))),
    {"DeformableOffsetsGrad", "grad x offsets -> grad_x grad_offsets | " SAMPLES, samples_grad_rule, samples_grad},
};

}  // namespace sim::ge_table
