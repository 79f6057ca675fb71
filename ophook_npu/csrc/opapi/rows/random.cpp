// Random operators. Those named …Tensor read seed and offset from device memory when they run: captured graphs use
// them.
#include "opapi/aclnn.h"

#include "kernels/random.h"

using namespace sim::aclnn;
using sim::kernels::generator;

namespace {

void room_for(const at::Tensor& mask, int64_t elements) {
  SIM_CHECK(mask.scalar_type() == at::kByte && mask.is_contiguous() && mask.numel() * 8 >= elements,
            "a contiguous uint8 mask of at least ", elements, " bits expected, got ", mask.scalar_type(), " ",
            mask.sizes());
}

int64_t bytes_of_mask(int64_t elements) { return (elements + 127) / 128 * 16; }

// The whole of a mask, a multiple of 128 bits.
void whole_mask(const at::Tensor& mask, int64_t elements) {
  room_for(mask, elements);
  SIM_CHECK(mask.numel() == bytes_of_mask(elements), "a mask of shape ", mask.sizes(), " for ", elements, " elements");
}

// The same; where nothing or all is kept it is not looked at.
void mask_of(const at::Tensor& mask, const at::Tensor& self, double p) {
  room_for(mask, self.numel());
  if (p != 0 && p != 1) whole_mask(mask, self.numel());
}

void below(int64_t from, int64_t to) { SIM_CHECK(from < to, "from ", from, " is not below to ", to); }

void interval(double from, double to) { SIM_CHECK(from <= to, "from ", from, " is above to ", to); }

void enough_noise(const at::Tensor& self, const at::Tensor& noise, bool training) {
  SIM_CHECK(!training || self.numel() <= noise.numel(), "noise of shape ", noise.sizes(), " for ", self.sizes());
}

void grad_scale(double scale) { SIM_CHECK(scale == 0 || scale >= 1, "scale ", scale, "; allowed: 0, 1 and more"); }

void probability(double p) { SIM_CHECK(p >= 0 && p <= 1, "probability ", p, "; allowed: 0 to 1"); }

void samples_of(const at::Tensor& self, int64_t samples, const at::Tensor& out) {
  SIM_CHECK(self.dim() == 1 || self.dim() == 2, "weights of one or two dimensions expected, got ", self.sizes());
  self.dim() == 1 ? shape(out, {samples}) : shape(out, {self.size(0), samples});
}

void captured_numbers(const at::Tensor& seed, const at::Tensor& offset) {
  a_number("seed", seed), a_number("offset", offset);
}

at::Generator captured(const at::Tensor& seed, const at::Tensor& offset, uint64_t offset_in_graph) {
  return generator(seed.item<int64_t>(), offset.item<int64_t>() + offset_in_graph);
}

void gen_mask(const Dims& sizes, double drop, uint64_t seed, uint64_t offset, const at::Tensor& mask) {
  kernels::pack_bits(mask, kernels::draw_kept(c10::multiply_integers(sizes), 1 - drop, seed, offset));
}

at::Tensor dropped(const at::Tensor& self, const at::Tensor& mask, double drop) {
  return kernels::dropped(self, kernels::unpack_bits(mask, 0, self.numel()), 1 - drop);
}

void dropout(const at::Tensor& self, double drop, uint64_t seed, uint64_t offset, const at::Tensor& out,
             const at::Tensor& mask) {
  gen_mask(self.sizes().vec(), drop, seed, offset, mask);
  write(out, dropped(self, mask, drop));
}

void deviation(float std) { SIM_CHECK(!(std < 0), "std is ", std, "; allowed: 0 and more"); }

}  // namespace

// By numbers, and by what lies on the device when a captured graph runs.
#define SEEDED(Op, number, check, run, ...)                                                                        \
  ACLNN(Op, (__VA_ARGS__, number, seed, number, offset), check, const auto by = generator(seed, offset); run)      \
  ACLNN(Op##Tensor, (__VA_ARGS__, In, seed, In, offset, uint64_t, shift), (check, captured_numbers(seed, offset)), \
        const auto by = captured(seed, offset, shift);                                                             \
        run)
SEEDED(InplaceNormal, int64_t, deviation(std), kernels::draw_normal(self, mean, std, by), Out, self, float, mean, float,
       std)
SEEDED(InplaceUniform, uint64_t, interval(from, to), kernels::draw_uniform(self, from, to, by), Out, self, double, from,
       double, to)
SEEDED(InplaceRandom, int64_t, below(from, to), kernels::drawn(self, from, to, by), Out, self, int64_t, from, int64_t,
       to)
SEEDED(InplaceRandomWithoutFromTo, int64_t, when_run(), self.random_(by), Out, self)
ACLNN(NormalFloatFloat, (float, mean, float, std, int64_t, seed, int64_t, offset, Out, out), when_run(),
      kernels::draw_normal(out, mean, std, generator(seed, offset)))
ACLNN(NormalFloatTensor, (float, mean, In, std, int64_t, seed, int64_t, offset, Out, out), ,
      kernels::draw_normal(out, at::scalar_tensor(mean, at::kFloat), std, generator(seed, offset)))
ACLNN(NormalTensorFloat, (In, mean, float, std, int64_t, seed, int64_t, offset, Out, out), ,
      kernels::draw_normal(out, mean, at::scalar_tensor(std, at::kFloat), generator(seed, offset)))
ACLNN(NormalTensorTensor, (In, mean, In, std, int64_t, seed, int64_t, offset, Out, out), ,
      kernels::draw_normal(out, mean, std, generator(seed, offset)))
ACLNN(InplaceBernoulli, (Out, self, Num, p, int64_t, seed, int64_t, offset), probability(p.toDouble()),
      self.bernoulli_(p.toDouble(), generator(seed, offset)))
ACLNN(InplaceBernoulliTensor, (Out, self, In, p, int64_t, seed, int64_t, offset), into(self, {p}),
      self.copy_(kernels::draw_bernoulli(p, self.sizes(), generator(seed, offset))))
ACLNN(Bernoulli, (In, self, Num, p, int64_t, seed, int64_t, offset, Out, out), probability(p.toDouble()),
      out.bernoulli_(p.toDouble(), generator(seed, offset)))
ACLNN(BernoulliTensor, (In, self, In, p, int64_t, seed, int64_t, offset, Out, out), into(self, {p}),
      write(out, kernels::draw_bernoulli(p, out.sizes(), generator(seed, offset)).to(out.scalar_type())))
ACLNN(SimThreadExponential, (Out, self, int64_t, count, double, lambda, int64_t, seed, int64_t, offset), when_run(),
      kernels::draw_exponential(self, lambda, generator(seed, offset)))
ACLNN(Multinomial, (In, self, int64_t, samples, bool, replacement, int64_t, seed, int64_t, offset, Out, out),
      samples_of(self, samples, out),
      write(out, at::multinomial(wide(self), samples, replacement, generator(seed, offset))))
ACLNN(MultinomialTensor,
      (In, self, int64_t, samples, bool, replacement, In, seed, In, offset, uint64_t, shift, Out, out),
      (samples_of(self, samples, out), captured_numbers(seed, offset)),
      write(out, at::multinomial(wide(self), samples, replacement, captured(seed, offset, shift))))
ACLNN(Randperm, (int64_t, n, int64_t, seed, int64_t, offset, Out, out), shape(out, {n}),
      write(out, at::randperm(n, generator(seed, offset))))
ACLNN(RReluWithNoise,
      (In, self, Ref, noise, Num, lower, Num, upper, bool, training, int64_t, seed, int64_t, offset, Out, out),
      enough_noise(self, noise, training),
      kernels::leaked(out, self, noise, lower, upper, training, generator(seed, offset)))
ACLNN(InplaceRReluWithNoise,
      (Ref, self, Ref, noise, Num, lower, Num, upper, bool, training, int64_t, seed, int64_t, offset),
      like(noise, self), kernels::leaked(self, self, noise, lower, upper, training, generator(seed, offset)))

// dropout; p is the probability to drop
ACLNN(DropoutGenMask, (Ints, sizes, double, p, int64_t, seed, int64_t, offset, Out, mask),
      (probability(p), whole_mask(mask, c10::multiply_integers(sizes))), gen_mask(sizes, p, seed, offset, mask))
ACLNN(DropoutGenMaskV2, (Ints, sizes, double, p, int64_t, seed, int64_t, offset, Dtype, dtype, Out, mask),
      (probability(p), whole_mask(mask, c10::multiply_integers(sizes))), gen_mask(sizes, p, seed, offset, mask))
ACLNN(DropoutGenMaskV2Tensor, (Ints, sizes, double, p, In, seed, In, offset, uint64_t, shift, Dtype, dtype, Out, mask),
      (probability(p), whole_mask(mask, c10::multiply_integers(sizes)), captured_numbers(seed, offset)),
      gen_mask(sizes, p, seed.item<int64_t>(), offset.item<int64_t>() + shift, mask))
ACLNN(DropoutDoMask, (In, self, In, mask, double, p, Out, out),
      (probability(p), room_for(mask, 8 * bytes_of_mask(self.numel()))), write(out, dropped(self, mask, p)))
ACLNN(Dropout, (In, self, double, p, bool, training, int64_t, seed, int64_t, offset, Out, out, Out, mask),
      (kept(out, self), probability(p), whole_mask(mask, self.numel())),
      training&& p != 0 ? dropout(self, p, seed, offset, out, mask) : write(out, self))
ACLNN(DropoutBackward, (In, grad, In, mask, double, scale, Out, out),
      (kept(out, grad), grad_scale(scale), whole_mask(mask, grad.numel())),
      write(out, scale == 1 ? grad : kernels::masked_scaled(grad, kernels::unpack_bits(mask, 0, grad.numel()), scale)))
ACLNN(DropoutV3, (In, self, In, noise_shape, double, p, int64_t, seed, int64_t, offset, Out, out, Out, mask),
      (probability(p), mask_of(mask, self, p)), dropout(self, p, seed, offset, out, mask))
ACLNN(DropoutV3Tensor,
      (In, self, In, noise_shape, double, p, In, seed, In, offset, uint64_t, shift, Out, out, Out, mask),
      (probability(p), like(out, self), mask_of(mask, self, p)),
      dropout(self, p, seed.item<int64_t>(), offset.item<int64_t>() + shift, out, mask))
ACLNN(DropoutV3Grad, (In, grad, In, mask, double, scale, Out, out), whole_mask(mask, grad.numel()),
      write(out, kernels::masked_scaled(grad, kernels::unpack_bits(mask, 0, grad.numel()), scale)))
ACLNN(MaskedScale, (In, self, In, mask, float, scale, Out, out), ,
      write(out, kernels::masked_scaled(self, mask, scale)))
