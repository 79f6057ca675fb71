// Convolutions over volumes, (batch, channels, depth, height, width).
#include "aclnn.h"
#include "ge_rows.h"

namespace sim::ge_table {
namespace {

using aclnn::wide;

// Attributes give 5 strides and dilations, of which the first two are 1, and paddings in front and behind of 3 axes.
struct Geometry {
  std::vector<int64_t> strides, pads, dilations;
  int64_t groups;
};

std::vector<int64_t> spatial(const Call& call, const char* attr) {
  std::vector<int64_t> all = call.integers(attr, {1, 1, 1, 1, 1});
  if (all.size() != 5 || all[0] != 1 || all[1] != 1) throw Refused(std::string(attr) + " must be (1, 1, depth, height, width)");
  return {all.begin() + 2, all.end()};
}

Geometry geometry(const Call& call) {
  call.only("data_format", "NCDHW");
  std::vector<int64_t> pads = call.integers("pads");
  if (pads.size() != 6) throw Refused("pads needs 6 values, it has " + std::to_string(pads.size()));
  for (size_t i = 0; i < 6; i += 2)
    if (pads[i] != pads[i + 1]) throw Refused("paddings that differ in front and behind are not simulated");
  return {spatial(call, "strides"), {pads[0], pads[2], pads[4]}, spatial(call, "dilations"), call.integer("groups", 1)};
}

void forward_rule(Shaper& s) {
  require_same_dtype(s, 0, 2);
  Geometry g = geometry(s);
  Shape x = s.shape(0), filter = s.shape(1);
  if (!x || !filter) return s.out(s.dtype(0), std::nullopt);
  if (x->size() != 5 || filter->size() != 5 || (*x)[1] != (*filter)[1] * g.groups)
    throw Refused("a filter " + s.describe(1) + " with " + std::to_string(g.groups) + " groups does not fit " + s.describe(0));
  std::vector<int64_t> out = {(*x)[0], (*filter)[0]};
  for (size_t i = 0; i < 3; ++i)
    out.push_back(((*x)[i + 2] + 2 * g.pads[i] - g.dilations[i] * ((*filter)[i + 2] - 1) - 1) / g.strides[i] + 1);
  s.out(s.dtype(0), out);
}

at::Tensor forward(const Args& a) {
  Geometry g = geometry(a);
  std::optional<at::Tensor> bias = a.has(2) ? std::optional<at::Tensor>(wide(a[2])) : std::nullopt;
  return at::convolution(wide(a[0]), wide(a[1]), bias, g.strides, g.pads, g.dilations, false, {0, 0, 0}, g.groups);
}

// The gradient's shape is an input of its own.
void backward_rule(Shaper& s, size_t sizes, size_t dtype) {
  geometry(s);
  s.out(s.dtype(dtype), shape_from(s, sizes));
}
void input_rule(Shaper& s) { backward_rule(s, 0, 1); }
void filter_rule(Shaper& s) { backward_rule(s, 1, 0); }

at::Tensor backward(const Args& a, const at::Tensor& grad, const at::Tensor& x, const at::Tensor& filter, bool of_input) {
  Geometry g = geometry(a);
  auto grads = at::convolution_backward(wide(grad), wide(x), wide(filter), std::nullopt, g.strides, g.pads, g.dilations, false, {0, 0, 0}, g.groups,
                                        {of_input, !of_input, false});
  return of_input ? std::get<0>(grads) : std::get<1>(grads);
}

}  // namespace

const Table& convolution_rows() {
#define GEOMETRY "strides:ListInt pads:ListInt dilations:ListInt={1,1,1,1,1} groups:Int=1 data_format:String=NDHWC"
  static const Table table = {
      ROW(Conv3D, "x filter bias? offset_w? -> y | " GEOMETRY " offset_x:Int=0", forward_rule, forward(a))
      ROW(Conv3DBackpropInput,  "input_size filter out_backprop -> y | " GEOMETRY, input_rule, backward(a, a[2], at::zeros(a.output(0).sizes()), a[1], true))
      ROW(Conv3DBackpropFilter, "x filter_size out_backprop -> y | " GEOMETRY, filter_rule, backward(a, a[2], a[0], at::zeros(a.output(0).sizes()), false))
  };
  return table;
}

}  // namespace sim::ge_table
