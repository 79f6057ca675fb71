// Activations and softmax, with their gradients.
#include "ge/rows/rows.h"
#include "kernels/activation.h"

namespace sim::ge_table {
namespace {

int64_t only_axis(const Call& a, const char* attr = "axes") {
  Dims axes = a.integers(attr);
  if (axes.size() != 1) throw Refused("softmax over " + std::to_string(axes.size()) + " axes is not simulated");
  return axes[0];
}

void softmax_shape(Shaper& s) {
  Shape shape = s.shape(0);
  for (int64_t axis : s.integers("axes"))
    if (shape) wrap(axis, static_cast<int64_t>(shape->size()));
  only_axis(s);
  s.out(s.knows("half_to_float") && s.flag("half_to_float") ? static_cast<int32_t>(kFloat) : s.dtype(0), shape);
}

void prelu_grad_rule(Shaper& s) {
  s.match(pattern<"*x, *x, *_ -> *x">);
  const Dim numbers = numbers_in(s, 2);
  if (const Shape x = s.shape(1); numbers != 1 && x && (x->size() < 2 || (*x)[1] != numbers))
    throw Refused("weights " + s.describe(2) + " for " + s.describe(1) + "; one, or one for each channel");
  s.out(0, s.dtype(1), s.shape(1));
  s.out(1, s.dtype(2), s.shape(2));
}

Results prelu_grad(const Args& a) {
  auto [x, weight] = kernels::prelu_backward(a[0], a[1], a[2]);
  return {x, weight.reshape(a[2].sizes())};
}

void threshold_rule(Shaper& s) {
  one_number(s, 1, 3);
  same(s);
}
template <void (*rule)(Shaper&)>
void gelu_rule(Shaper& s) {
  if (const std::string how = s.text("approximate"); how != "none" && how != "tanh")
    throw Refused("approximate='" + how + "'; allowed: none, tanh");
  rule(s);
}

// A gradient and what it is of.
void two_alike(Shaper& s) { s.out(pattern<"*s, *s -> *s">); }
void three_alike(Shaper& s) { s.out(pattern<"*s, *s, *s -> *s">); }

int64_t channels_of(const Call& call) { return call.text("data_format").starts_with("NC") ? 1 : -1; }
void bias_rule(Shaper& s) {
  const Shape x = s.shape(0);
  require_same_dtype(s, 0, 2);
  if (x && x->size() < 2) throw Refused("it adds to channels, its input is " + s.describe(0));
  if (x) require_shape(s, 1, known({(*x)[size_t(wrap(channels_of(s), rank_of(x)))]}), "is not one for each channel");
  same(s);
}
void bias_grad_rule(Shaper& s) {
  const Shape x = s.shape(0);
  s.out(s.dtype(0), known({x ? (*x)[size_t(wrap(channels_of(s), rank_of(x)))] : unknown}));
}

}  // namespace

#define UNARY "x -> y"
const Family nn_rows = {
    ROW(Relu, UNARY, same, at::relu(a[0])),
    ROW(Relu6, UNARY, same, at::clamp(a[0], 0, 6)),
    ROW(Relu6Grad, "gradients features -> backprops", two_alike, at::hardtanh_backward(a[0], a[1], 0, 6)),
    ROW(Sigmoid, UNARY, same, at::sigmoid(a[0])),
    ROW(Gelu, UNARY, same, kernels::gelu(a[0], "tanh")),  // GE's Gelu is the tanh form, whatever torch was asked for
    ROW(GeluV2, "x -> y | approximate:String=none", gelu_rule<same>, kernels::gelu(a[0], a.text("approximate"))),
    ROW(Swish, "x -> y | scale:Float=1.0", same, kernels::swish(a[0], a.real("scale"))),
    ROW(Elu, "x -> y | alpha:Float=1.0 scale:Float=1.0 input_scale:Float=1.0", same,
        at::elu(a[0], a.real("alpha"), a.real("scale"), a.real("input_scale"))),
    ROW(LeakyRelu, "x -> y | negative_slope:Float=0.0", same, at::leaky_relu(a[0], a.real("negative_slope"))),
    ROW(HardSwish, UNARY, same, at::hardswish(a[0])),
    ROW(Mish, UNARY, same, at::mish(a[0])),
    ROW(SoftplusV2, "x -> y | beta:Float=1.0 threshold:Float=20.0", same,
        at::softplus(a[0], a.real("beta"), a.real("threshold"))),
    ROW(Softsign, UNARY, floating, kernels::softsign(a[0])),
    ROW(HardMax, "x -> y | axis:Int=-1", along_axis, kernels::hard_max(a[0], a.integer("axis"))),
    ROW(ReluGrad, "gradients features -> backprops", broadcast, at::threshold_backward(a[0], a[1], 0)),
    ROW(ThresholdGradV2D, "gradients features -> backprops | threshold:Float", broadcast,
        at::threshold_backward(a[0], a[1], a.real("threshold"))),
    ROW(SigmoidGrad, "y dy -> z | complex_conj:Bool=false", broadcast, at::sigmoid_backward(a[1], a[0])),
    ROW(TanhGrad, "y dy -> z | complex_conj:Bool=false", broadcast, at::tanh_backward(a[1], a[0])),
    ROW(GeluGrad, "dy x y -> z", three_alike, kernels::gelu_backward(a[0], a[1], "tanh")),
    ROW(GeluGradV2, "dy x -> z | approximate:String=none", gelu_rule<broadcast>,
        kernels::gelu_backward(a[0], a[1], a.text("approximate"))),
    ROW(SwishGrad, "grad x y -> grad_x | scale:Float=1.0", three_alike,
        kernels::swish_backward(a[0], a[1], a.real("scale"))),
    ROW(HardSwishGrad, "grad x -> y", two_alike, at::hardswish_backward(a[0], a[1])),
    ROW(HardtanhGrad, "result grad -> y | min_val:Float=-1.0 max_val:Float=1.0", two_alike,
        at::hardtanh_backward(a[1], a[0], a.real("min_val"), a.real("max_val"))),
    ROW(HardShrink, "input_x -> output_y | lambd:Float=0.5", same, at::hardshrink(a[0], a.real("lambd"))),
    ROW(HardShrinkGrad, "gradients features -> backprops | lambd:Float=0.5", two_alike,
        at::hardshrink_backward(a[0], a[1], a.real("lambd"))),
    ROW(HardSigmoid, "input_x -> output_y | alpha:Float=0.16666666 beta:Float=0.5", same,
        kernels::hard_sigmoid(a[0], a.real("alpha"), a.real("beta"))),
    ROW(HardSigmoidGrad, "grads input_x -> y | alpha:Float=0.16666666 beta:Float=0.5", two_alike,
        kernels::hard_sigmoid_backward(a[0], a[1], a.real("alpha"), a.real("beta"))),
    ROW(MishGrad, "grad x tanhx? -> x_grad", (pattern<"*x, *x, *x? -> *x">), at::mish_backward(a[0], a[1])),
    ROW(ThresholdV2, "x threshold value? -> y", threshold_rule, kernels::thresholded(a[0], a[1], a[2])),
    ROW(LeakyReluGrad, "gradients features -> backprops | negative_slope:Float=0.0", broadcast,
        at::leaky_relu_backward(a[0], a[1], a.real("negative_slope"), false)),
    ROW(EluGradV2,
        "grads activations -> y | alpha:Float=1.0 scale:Float=1.0 input_scale:Float=1.0 is_result:Bool=false",
        broadcast,
        at::elu_backward(a[0], a.real("alpha"), a.real("scale"), a.real("input_scale"), a.flag("is_result"), a[1])),
    ROW(LogSigmoid, UNARY, same, at::log_sigmoid(a[0])),
    ROW(LogSigmoidGrad, "grads features -> backprops", broadcast, kernels::log_sigmoid_backward(a[0], a[1])),
    {"PReluGrad", "grads features weights -> dx da", prelu_grad_rule, prelu_grad},
    ROW(FastGelu, UNARY, same, kernels::fast_gelu(a[0])),
    ROW(FastGeluGrad, "dy x -> z", broadcast, kernels::fast_gelu_backward(a[0], a[1])),
    ROW(Tanh, UNARY, floating, at::tanh(a[0])),

    ROW(SoftmaxV2, "x -> y | axes:ListInt={-1} half_to_float:Bool=false", softmax_shape,
        kernels::softmax(a[0], only_axis(a), a.out_dtype())),
    ROW(LogSoftmaxV2, "logits -> logsoftmax | axes:ListInt={-1}", softmax_shape,
        kernels::log_softmax(a[0], only_axis(a), a[0].scalar_type())),
    ROW(SoftmaxGrad, "softmax grad_softmax -> grad_x | axes:ListInt={-1}", two_alike,
        kernels::softmax_backward(a[1], a[0], only_axis(a))),
    ROW(LogSoftmaxGrad, "grad x -> y | axis:ListInt={-1}", two_alike,
        kernels::log_softmax_backward(a[0], a[1], only_axis(a, "axis"))),

    ROW(BiasAdd, "x bias -> y | data_format:String=NHWC", bias_rule,
        at::add(a[0], along(a[1], a[0], wrap(channels_of(a), a[0].dim())))),
    ROW(BiasAddGrad, "x -> y | data_format:String=NHWC", bias_grad_rule,
        at::sum(wide(a[0]), all_but(a[0], channels_of(a)))),
    ROW(Threshold, "x -> y | threshold:Float=0.0", (one_of<kHalf, kFloat, kBfloat16>),
        at::gt(a[0], a.real("threshold")).to(a.out_dtype())),
};

}  // namespace sim::ge_table
