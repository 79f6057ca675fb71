#include "kernels/random.h"

#include "kernels/activation.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/PhiloxRNGEngine.h>

namespace sim::kernels {

at::Generator generator(uint64_t seed, uint64_t offset) {
  at::Philox4_32 engine(seed, 0, offset);
  const uint64_t high = engine();
  return at::detail::createCPUGenerator(high << 32 | engine());
}

at::Generator own_generator() { return at::detail::createCPUGenerator(c10::detail::getNonDeterministicRandom()); }

DrawnPlaces draw_places(const at::Tensor& mask, int64_t count, const at::Generator& by) {
  const at::Tensor all = at::nonzero(mask);
  const int64_t taken = std::min(count, all.size(0));
  const at::Tensor order = at::argsort(at::rand({all.size(0)}, by, at::kFloat), -1, true).narrow(0, 0, taken);
  const at::Tensor places = at::zeros({count, mask.dim()}, at::kInt);
  places.narrow(0, 0, taken).copy_(all.index_select(0, order));
  return {places, at::arange(count).lt(taken)};
}

at::Tensor draw_kept(int64_t elements, double keep_probability, uint64_t seed, uint64_t offset) {
  return at::empty({elements}, at::kBool).bernoulli_(keep_probability, generator(seed, offset));
}

static void holds(const at::Tensor& mask, int64_t bits) {
  SIM_CHECK(mask.is_contiguous() && mask.numel() >= (bits + 7) / 8, "a mask of shape ", mask.sizes(), " does not hold ",
            bits, " bits");
}

void pack_bits(const at::Tensor& mask, const at::Tensor& kept) {
  holds(mask, kept.numel());
  auto bits = mask.mutable_data_ptr<uint8_t>();
  auto flags = kept.const_data_ptr<bool>();
  std::fill_n(bits, mask.numel(), 0);
  for (int64_t i = 0; i < kept.numel(); ++i) bits[i / 8] |= uint8_t(flags[i]) << (i % 8);
}

at::Tensor unpack_bits(const at::Tensor& mask, int64_t first, int64_t elements) {
  holds(mask, first + elements);
  auto kept = at::empty({elements}, at::kBool);
  auto flags = kept.mutable_data_ptr<bool>();
  auto bits = mask.const_data_ptr<uint8_t>();
  for (int64_t i = 0; i < elements; ++i) flags[i] = bits[(first + i) / 8] >> ((first + i) % 8) & 1;
  return kept;
}

at::Tensor dropped(const at::Tensor& x, const at::Tensor& kept, double keep_probability) {
  const at::Tensor flags = kept.reshape(x.sizes()).to(at::kBool);
  return keep_probability > 0 ? at::where(flags, at::div(wide(x), keep_probability), 0) : at::zeros_like(x);
}

SoftmaxDropout softmax_dropout(const at::Tensor& x, const at::Tensor& y, const Dropout& by, double alpha, int64_t dim) {
  const at::Tensor softmax = at::softmax(at::add(wide(x), wide(y), alpha), dim);
  return {softmax, dropped(softmax, by.kept, by.keep_probability)};
}
at::Tensor softmax_dropout_backward(const at::Tensor& grad, const at::Tensor& softmax, const Dropout& by, double alpha,
                                    int64_t dim) {
  return at::mul(softmax_backward(dropped(wide(grad), by.kept, by.keep_probability), wide(softmax), dim), alpha);
}

at::Tensor draw_bytes(at::IntArrayRef sizes, double keep_probability, uint64_t seed, uint64_t offset) {
  return draw_kept(c10::multiply_integers(sizes), keep_probability, seed, offset).to(at::kByte).reshape(sizes);
}

void draw_normal(const at::Tensor& out, double mean, double std, const at::Generator& random) {
  const auto type = at::isIntegralType(out.scalar_type(), true) ? at::kFloat : wide(out).scalar_type();
  out.copy_(at::empty(out.sizes(), type).normal_(mean, std, random));
}

void draw_normal(const at::Tensor& out, const at::Tensor& mean, const at::Tensor& std, const at::Generator& random) {
  auto draw = at::empty(out.sizes(), wide(out).scalar_type()).normal_(0, 1, random);
  write(out, at::add(at::mul(draw, std), mean));
}

static double largest_of(at::ScalarType type) {
  switch (type) {
    case at::kHalf: return std::numeric_limits<c10::Half>::max();
    case at::kBFloat16: return std::numeric_limits<c10::BFloat16>::max();
    case at::kDouble: return std::numeric_limits<double>::max();
    default: return std::numeric_limits<float>::max();
  }
}

void draw_uniform(const at::Tensor& out, double from, double to, const at::Generator& random) {
  const double largest = largest_of(out.scalar_type());
  if (at::isFloatingType(out.scalar_type()) && from >= -largest && to <= largest && to - from <= largest)
    out.uniform_(from, to, random);
  else
    out.copy_(at::empty(out.sizes(), out.scalar_type() == at::kDouble ? at::kDouble : at::kFloat)
                  .uniform_(0, 1, random)
                  .mul(to - from)
                  .add(from));
}

void draw_exponential(const at::Tensor& out, double lambda, const at::Generator& random) {
  out.copy_(at::empty(out.sizes(), wide(out).scalar_type()).exponential_(lambda, random));
}

at::Tensor draw_bernoulli(const at::Tensor& p, at::IntArrayRef sizes, const at::Generator& random) {
  return at::bernoulli(wide(p).to(at::kFloat).expand(sizes), random);
}

at::Tensor masked_scaled(const at::Tensor& x, const at::Tensor& mask, double scale) {
  return at::mul(at::mul(wide(x), mask.reshape(x.sizes())), scale);
}

void leaked(const at::Tensor& out, const at::Tensor& self, const at::Tensor& noise, const at::Scalar& lower,
            const at::Scalar& upper, bool training, const at::Generator& by) {
  const at::Tensor x = wide(self);
  at::Tensor wide_noise = noise.to(x.scalar_type()).contiguous();
  // There may be more noise than numbers.
  at::Tensor used = training ? wide_noise.view(-1).narrow(0, 0, x.numel()).view(x.sizes()) : wide_noise;
  write(out, at::rrelu_with_noise(x, used, lower, upper, training, by));
  if (!wide_noise.is_same(noise)) noise.copy_(wide_noise);
}

void drawn(const at::Tensor& self, int64_t from, int64_t to, const at::Generator& by) {
  const at::Tensor numbers = self.is_complex() ? at::empty(self.sizes(), at::kDouble) : self;
  numbers.random_(from, std::optional<int64_t>(to), by);
  if (self.is_complex()) self.copy_(numbers);
}

}  // namespace sim::kernels
