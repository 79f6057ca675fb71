// Convolutions over planes, (batch, channels, height, width), and volumes, with a depth before the height.
#include "ge/rows/rows.h"

namespace sim::ge_table {
namespace {

struct Geometry {
  Dims strides, pads, dilations, output_padding;
  int64_t groups;
};

Geometry geometry(const Call& call, size_t axes) {
  call.only("data_format", axes == 2 ? "NCHW" : "NCDHW");
  return {spatial(call, axes, "strides", 1), equal_pads(call, axes), spatial(call, axes, "dilations", 1),
          spatial(call, axes, "output_padding", 0), call.integer("groups")};
}

template <size_t axes>
void forward_rule(Shaper& s) {
  require_same_dtype(s, 0, 2);
  Geometry g = geometry(s, axes);
  Shape x = s.shape(0), filter = s.shape(1);
  if (!x || !filter) return s.out(s.dtype(0), std::nullopt);
  if (x->size() != axes + 2 || filter->size() != axes + 2 ||
      ((*x)[1] >= 0 && (*filter)[1] >= 0 && (*x)[1] != (*filter)[1] * g.groups))
    throw Refused("a filter " + s.describe(1) + " with " + std::to_string(g.groups) + " groups does not fit " +
                  s.describe(0));
  Dims out = {(*x)[0], (*filter)[0]};
  for (size_t i = 0; i < axes; ++i) {
    const int64_t size = (*x)[i + 2], kernel = (*filter)[i + 2];
    const bool known = size >= 0 && kernel >= 0;
    out.push_back(known ? divided(size + 2 * g.pads[i] - g.dilations[i] * (kernel - 1) - 1, g.strides[i]) + 1
                        : int64_t(ge_unknown_dim));
  }
  s.out(s.dtype(0), out);
}

at::Tensor convolve(const Args& a, size_t axes, size_t x, bool transposed) {
  Geometry g = geometry(a, axes);
  std::optional<at::Tensor> bias = a.has(x + 2) ? std::optional<at::Tensor>(wide(a[x + 2])) : std::nullopt;
  return at::convolution(wide(a[x]), wide(a[x + 1]), bias, g.strides, g.pads, g.dilations, transposed, g.output_padding,
                         g.groups);
}

// The result's shape is an input of its own.
template <size_t axes, size_t sizes, size_t dtype>
void shape_is_given(Shaper& s) {
  geometry(s, axes);
  s.out(s.dtype(dtype), shape_from(s, sizes));
}

at::Tensor backward(const Args& a, size_t axes, const at::Tensor& grad, const at::Tensor& x, const at::Tensor& filter,
                    bool of_input) {
  Geometry g = geometry(a, axes);
  auto grads = at::convolution_backward(wide(grad), wide(x), wide(filter), std::nullopt, g.strides, g.pads, g.dilations,
                                        false, Dims(axes, 0), g.groups, {of_input, !of_input, false});
  return of_input ? std::get<0>(grads) : std::get<1>(grads);
}
at::Tensor input_gradient(const Args& a, size_t axes) {
  return backward(a, axes, a[2], at::zeros(a.output(0).sizes()), a[1], true);
}
at::Tensor filter_gradient(const Args& a, size_t axes) {
  return backward(a, axes, a[2], a[0], at::zeros(a.output(0).sizes()), false);
}

}  // namespace

#define PLANE "strides:ListInt pads:ListInt dilations:ListInt={1,1,1,1} groups:Int=1 data_format:String=NHWC"
#define VOLUME "strides:ListInt pads:ListInt dilations:ListInt={1,1,1,1,1} groups:Int=1 data_format:String=NDHWC"
const Family conv_rows = {
    ROW(Conv2D, "x filter bias? offset_w? -> y | " PLANE " offset_x:Int=0", forward_rule<2>, convolve(a, 2, 0, false)),
    ROW(Conv3D, "x filter bias? offset_w? -> y | " VOLUME " offset_x:Int=0", forward_rule<3>, convolve(a, 3, 0, false)),
    ROW(Conv2DTranspose,
        "input_size x filter bias? offset_w? -> y | " PLANE " output_padding:ListInt={0,0,0,0} offset_x:Int=0",
        (shape_is_given<2, 0, 1>), convolve(a, 2, 1, true)),
    ROW(Conv2DBackpropInput, "input_size filter out_backprop -> y | " PLANE, (shape_is_given<2, 0, 1>),
        input_gradient(a, 2)),
    ROW(Conv3DBackpropInput, "input_size filter out_backprop -> y | " VOLUME, (shape_is_given<3, 0, 1>),
        input_gradient(a, 3)),
    ROW(Conv2DBackpropFilter, "x filter_size out_backprop -> y | " PLANE, (shape_is_given<2, 1, 0>),
        filter_gradient(a, 2)),
    ROW(Conv3DBackpropFilter, "x filter_size out_backprop -> y | " VOLUME, (shape_is_given<3, 1, 0>),
        filter_gradient(a, 3)),
};

}  // namespace sim::ge_table
