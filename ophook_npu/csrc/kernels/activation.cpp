#include "kernels/activation.h"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>

#include "kernels/loops.h"

namespace sim::kernels {

static constexpr double kFastGelu = 1.702;

at::Tensor fast_gelu(const at::Tensor& x) { return swish(x, kFastGelu); }

at::Tensor fast_gelu_backward(const at::Tensor& grad, const at::Tensor& x) {
  return swish_backward(grad, x, kFastGelu);
}

at::Tensor swish(const at::Tensor& x, double scale) {
  return scale == 1 ? at::silu(wide(x)) : at::mul(wide(x), at::sigmoid(at::mul(wide(x), scale)));
}

// With s = scale x it is silu(s) / scale, and its slope that of silu at s.
at::Tensor swish_backward(const at::Tensor& grad, const at::Tensor& x, double scale) {
  return at::silu_backward(wide(grad), scale == 1 ? wide(x) : at::mul(wide(x), scale));
}

// Of the numbers that loops are for, as they lie there.
static bool has_loop(const std::string& approximate, std::initializer_list<at::Tensor> tensors) {
  const at::ScalarType type = tensors.begin()->scalar_type();
  bool fits = approximate == "tanh" && (type == at::kFloat || type == at::kHalf || type == at::kBFloat16);
  for (const at::Tensor& each : tensors)
    fits = fits && each.scalar_type() == type && each.is_contiguous() && each.sizes() == tensors.begin()->sizes();
  return fits;
}
template <typename F>
static void each_part(const at::Tensor& out, F run) {
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, out.scalar_type(), "a loop", [&] {
    if constexpr (!std::is_same_v<scalar_t, double>)
      at::parallel_for(0, out.numel(), 1 << 15,
                       [&](int64_t begin, int64_t end) { run(scalar_t(), begin, end - begin); });
  });
}

void gelu_into(const at::Tensor& out, const at::Tensor& x, const std::string& approximate) {
  if (!has_loop(approximate, {out, x})) return write(out, gelu(x, approximate));
  each_part(out, [&]<typename Number>(Number, int64_t first, int64_t count) {
    loops::gelu(x.const_data_ptr<Number>() + first, out.mutable_data_ptr<Number>() + first, count);
  });
}
at::Tensor gelu(const at::Tensor& x, const std::string& approximate) {
  const at::Tensor from = x.contiguous();
  if (!has_loop(approximate, {from})) return at::gelu(x, approximate);
  const at::Tensor y = at::empty_like(from);
  gelu_into(y, from, approximate);
  return y;
}

void of_gelu(const std::string& approximate) {
  SIM_CHECK(approximate == "none" || approximate == "tanh", "approximate '", approximate, "'; allowed: none, tanh");
}

void gelu_backward_into(const at::Tensor& out, const at::Tensor& grad, const at::Tensor& x,
                        const std::string& approximate) {
  if (!has_loop(approximate, {out, grad, x})) return write(out, gelu_backward(grad, x, approximate));
  each_part(out, [&]<typename Number>(Number, int64_t first, int64_t count) {
    loops::gelu_backward(grad.const_data_ptr<Number>() + first, x.const_data_ptr<Number>() + first,
                         out.mutable_data_ptr<Number>() + first, count);
  });
}
at::Tensor gelu_backward(const at::Tensor& grad, const at::Tensor& x, const std::string& approximate) {
  const at::Tensor upstream = grad.contiguous(), from = x.contiguous();
  if (!has_loop(approximate, {upstream, from})) return at::gelu_backward(grad, x, approximate);
  const at::Tensor to_x = at::empty_like(from);
  gelu_backward_into(to_x, upstream, from, approximate);
  return to_x;
}

at::Tensor log_sigmoid_backward(const at::Tensor& grad, const at::Tensor& x) {
  return at::mul(wide(grad), at::sigmoid(at::neg(wide(x))));
}

static at::Tensor line(const at::Tensor& x, double slope, double shift) {
  const at::Tensor numbers = at::isIntegralType(x.scalar_type(), true) ? x.to(at::kFloat) : wide(x);
  return at::add(at::mul(numbers, slope), shift);
}

at::Tensor biased_leaky_relu(const at::Tensor& x, const at::Tensor& bias, double slope, double scale) {
  return at::leaky_relu(wide(x) + wide(bias), slope) * scale;
}
at::Tensor biased_leaky_relu_backward(const at::Tensor& grad, const at::Tensor& y, double slope, double scale) {
  return at::leaky_relu_backward(wide(grad), wide(y), slope, false) * scale;
}
at::Tensor hard_sigmoid(const at::Tensor& x, double slope, double shift) {
  return line(x, slope, shift).clamp_(0, 1).to(x.scalar_type());
}

at::Tensor hard_sigmoid_backward(const at::Tensor& grad, const at::Tensor& x, double slope, double shift) {
  const at::Tensor y = line(x, slope, shift);
  return at::where(at::logical_and(y.gt(0), y.lt(1)), at::mul(wide(grad), slope), 0);
}

// Shaped to broadcast over x, in the weight's own type.
static at::Tensor for_channels(const at::Tensor& weight, const at::Tensor& x) {
  if (!x.dim()) return weight.reshape({});
  return along(weight, x, x.dim() < 2 ? 0 : 1).to(weight.scalar_type());
}

at::Tensor prelu(const at::Tensor& x, const at::Tensor& weight) {
  return at::_prelu_kernel(x, weight.dim() == x.dim() ? weight : for_channels(weight, x));
}

PreluGradients prelu_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& weight) {
  const at::Tensor slope = for_channels(weight, x);
  auto [to_x, to_weight] = at::_prelu_kernel_backward(grad, x, slope.expand_as(x));
  return {to_x, to_weight.sum_to_size(slope.sizes())};
}

void known_activation(const std::string& name) {
  const bool known = name == "relu" || name == "gelu" || name == "gelu_tanh" || name == "fastgelu" || name == "silu";
  SIM_CHECK(known, "activation ", name, " is not simulated; allowed: relu, gelu, gelu_tanh, fastgelu, silu");
}

at::Tensor activated(const at::Tensor& x, const std::string& name) {
  known_activation(name);
  if (name == "relu") return at::relu(x);
  if (name == "silu") return at::silu(x);
  return name == "fastgelu" ? fast_gelu(x) : at::gelu(x, name == "gelu_tanh" ? "tanh" : "none");
}

struct Halves {
  at::Tensor first, second;
};
static Halves halves(const at::Tensor& x, int64_t dim) {
  Tensors parts = at::chunk(wide(x), 2, dim);
  return {parts[0], parts[1]};
}

static const char* approximation(int64_t mode) { return mode == 1 ? "tanh" : "none"; }

at::Tensor glu(const at::Tensor& x, int64_t dim) { return at::glu(wide(x), dim); }

at::Tensor glu_backward(const at::Tensor& grad, const at::Tensor& x, int64_t dim) {
  return at::glu_backward(wide(grad), wide(x), dim);
}

at::Tensor swiglu(const at::Tensor& x, int64_t dim) {
  const auto [gate, value] = halves(x, dim);
  return at::mul(at::silu(gate), value);
}

at::Tensor swiglu_backward(const at::Tensor& grad, const at::Tensor& x, int64_t dim) {
  const auto [gate, value] = halves(x, dim);
  const at::Tensor to = wide(grad);
  return at::concat({at::silu_backward(at::mul(to, value), gate), at::mul(to, at::silu(gate))}, dim);
}

at::Tensor gelu_mul(const at::Tensor& x, const std::string& approximate) {
  const auto [gate, value] = halves(x, -1);
  return at::mul(at::gelu(gate, approximate), value);
}

GeGlu geglu(const at::Tensor& x, int64_t dim, int64_t mode, bool left) {
  const auto [first, second] = halves(x, dim);
  const at::Tensor gelu = at::gelu(left ? first : second, approximation(mode));
  return {at::mul(gelu, left ? second : first), gelu};
}

at::Tensor geglu_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& gelu, int64_t dim,
                          int64_t mode, bool left) {
  const auto [first, second] = halves(x, dim);
  const at::Tensor to = wide(grad);
  const at::Tensor to_gate =
      at::gelu_backward(at::mul(to, left ? second : first), left ? first : second, approximation(mode));
  const at::Tensor to_value = at::mul(to, wide(gelu));
  return left ? at::concat({to_gate, to_value}, dim) : at::concat({to_value, to_gate}, dim);
}

static bool is_last(const at::Tensor& x, int64_t dim) { return x.dim() && wrap(dim, x) == x.dim() - 1; }
static at::Tensor real(const at::Tensor& x, at::ScalarType otherwise) {
  return x.is_floating_point() ? wide(x) : x.to(otherwise);
}

// ATen's kernel for a row of Half or BFloat16 adds up in Float; that of the logarithm, and those of other dimensions,
// round on the way.
void softmax_into(const at::Tensor& out, const at::Tensor& x, int64_t dim) {
  if (out.scalar_type() == x.scalar_type() && (is_last(x, dim) || x.scalar_type() == at::kFloat))
    at::_softmax_out(const_cast<at::Tensor&>(out), x, dim, false);
  else out.copy_(at::softmax(real(x, out.scalar_type()), dim));
}
at::Tensor softmax(const at::Tensor& x, int64_t dim, at::ScalarType type) {
  const at::Tensor y = at::empty_like(x, type);
  softmax_into(y, x, dim);
  return y;
}

void log_softmax_into(const at::Tensor& out, const at::Tensor& x, int64_t dim) {
  out.copy_(at::log_softmax(real(x, out.scalar_type()), dim));
}
at::Tensor log_softmax(const at::Tensor& x, int64_t dim, at::ScalarType type) {
  const at::Tensor y = at::empty_like(x, type);
  log_softmax_into(y, x, dim);
  return y;
}

void softmax_backward_into(const at::Tensor& out, const at::Tensor& grad, const at::Tensor& y, int64_t dim) {
  const at::ScalarType type = y.scalar_type();
  if (out.scalar_type() == type && grad.scalar_type() == type && (is_last(y, dim) || type == at::kFloat))
    at::_softmax_backward_data_out(const_cast<at::Tensor&>(out), grad, y, dim, type);
  else out.copy_(softmax_backward(grad, y, dim));
}

at::Tensor softmax_backward(const at::Tensor& grad, const at::Tensor& y, int64_t dim) {
  return at::_softmax_backward_data(wide(grad), wide(y), dim, wide(y).scalar_type());
}

at::Tensor log_softmax_backward(const at::Tensor& grad, const at::Tensor& y, int64_t dim) {
  return at::_log_softmax_backward_data(wide(grad), wide(y), dim, wide(y).scalar_type());
}

static at::Tensor left_out(const at::Tensor& scores, const at::Tensor& mask, bool triangle) {
  return triangle ? at::ones_like(scores, at::kBool).triu(1) : mask.to(at::kBool);
}

at::Tensor masked_softmax(const at::Tensor& x, const at::Tensor& mask, double scale, bool triangle) {
  const at::Tensor scores = at::mul(wide(x), scale);
  return at::softmax(scores.masked_fill(left_out(scores, mask, triangle), -10000.0), -1);
}

at::Tensor masked_softmax_backward(const at::Tensor& grad, const at::Tensor& y, const at::Tensor& mask, double scale,
                                   bool triangle) {
  const at::Tensor result = at::_softmax_backward_data(wide(grad), wide(y), -1, at::kFloat).mul_(scale);
  return result.masked_fill_(left_out(result, mask, triangle), 0);
}

at::Tensor thresholded(const at::Tensor& x, const at::Tensor& threshold, const at::Tensor& value) {
  return at::threshold(x, number_of(threshold), value.defined() ? number_of(value) : at::Scalar(0));
}

at::Tensor shrunk(const at::Tensor& x, const at::Scalar& lambda, const at::Scalar& bias) {
  return at::where(x.lt(-lambda), x.add(bias), at::where(x.gt(lambda), x.sub(bias), at::zeros_like(x)));
}

at::Tensor softsign(const at::Tensor& x) { return at::div(wide(x), at::abs(wide(x)) + 1); }

at::Tensor hard_max(const at::Tensor& x, int64_t dim) {
  return at::zeros_like(x).scatter_(dim, at::argmax(x, dim, true), 1);
}

at::Tensor squared_relu(const at::Tensor& x) { return at::relu(wide(x)).square(); }

// Below 0 the derivative is y + scale * alpha.
at::Tensor selu_backward(const at::Tensor& grad, const at::Tensor& y) {
  return at::elu_backward(grad, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946, 1, true, y);
}

}  // namespace sim::kernels
