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

void probability(double p) { SIM_CHECK(p >= 0 && p <= 1, "probability ", p, "; allowed: 0 to 1"); }

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

// normal_ and uniform_ in float for half types: one rounding, as on the device. normal_ for integers as well.
void normal(const at::Tensor& out, double mean, double std, const at::Generator& random) {
  const auto type = at::isIntegralType(out.scalar_type(), true) ? at::kFloat : wide(out).scalar_type();
  out.copy_(at::empty(out.sizes(), type).normal_(mean, std, random));
}

void normal(const at::Tensor& out, const at::Tensor& mean, const at::Tensor& std, uint64_t seed, uint64_t offset) {
  auto draw = at::empty(out.sizes(), wide(out).scalar_type()).normal_(0, 1, generator(seed, offset));
  write(out, at::add(at::mul(draw, std), mean));
}

void bernoulli(const at::Tensor& self, const at::Tensor& p, uint64_t seed, uint64_t offset) {
  self.copy_(at::bernoulli(wide(p).to(at::kFloat).expand_as(self), generator(seed, offset)));
}

void exponential(const at::Tensor& self, double lambda, uint64_t seed, uint64_t offset) {
  self.copy_(at::empty(self.sizes(), wide(self).scalar_type()).exponential_(lambda, generator(seed, offset)));
}

at::Tensor multinomial(const at::Tensor& self, int64_t samples, bool replacement, const at::Generator& random) {
  return at::multinomial(wide(self), samples, replacement, random);
}

void rrelu(const at::Tensor& self, const at::Tensor& noise, const at::Scalar& lower, const at::Scalar& upper,
           bool training, uint64_t seed, uint64_t offset, const at::Tensor& out) {
  write(out,
        at::rrelu_with_noise(self, const_cast<at::Tensor&>(noise), lower, upper, training, generator(seed, offset)));
}

at::Tensor number(double value) { return at::scalar_tensor(value, at::kFloat); }

}  // namespace

ACLNN(InplaceNormal, (Ref, self, float, mean, float, std, int64_t, seed, int64_t, offset), when_run(),
      normal(self, mean, std, generator(seed, offset)))
ACLNN(InplaceNormalTensor, (Ref, self, float, mean, float, std, In, seed, In, offset, uint64_t, shift), when_run(),
      normal(self, mean, std, captured(seed, offset, shift)))
ACLNN(NormalFloatFloat, (float, mean, float, std, int64_t, seed, int64_t, offset, Out, out), when_run(),
      normal(out, mean, std, generator(seed, offset)))
ACLNN(NormalFloatTensor, (float, mean, In, std, int64_t, seed, int64_t, offset, Out, out), like(out, std),
      normal(out, number(mean), std, seed, offset))
ACLNN(NormalTensorFloat, (In, mean, float, std, int64_t, seed, int64_t, offset, Out, out), like(out, mean),
      normal(out, mean, number(std), seed, offset))
ACLNN(NormalTensorTensor, (In, mean, In, std, int64_t, seed, int64_t, offset, Out, out), broadcast(out, {mean, std}),
      normal(out, mean, std, seed, offset))
ACLNN(InplaceUniform, (Ref, self, double, from, double, to, uint64_t, seed, uint64_t, offset), when_run(),
      self.uniform_(from, to, generator(seed, offset)))
ACLNN(InplaceUniformTensor, (Ref, self, double, from, double, to, In, seed, In, offset, uint64_t, shift), when_run(),
      self.uniform_(from, to, captured(seed, offset, shift)))
ACLNN(InplaceRandom, (Ref, self, int64_t, from, int64_t, to, int64_t, seed, int64_t, offset),
      SIM_CHECK(from < to, "from ", from, " is not below to ", to),
      self.random_(from, std::optional<int64_t>(to), generator(seed, offset)))
ACLNN(InplaceRandomTensor, (Ref, self, int64_t, from, int64_t, to, In, seed, In, offset, uint64_t, shift),
      SIM_CHECK(from < to, "from ", from, " is not below to ", to),
      self.random_(from, std::optional<int64_t>(to), captured(seed, offset, shift)))
ACLNN(InplaceRandomWithoutFromTo, (Ref, self, int64_t, seed, int64_t, offset), when_run(),
      self.random_(generator(seed, offset)))
ACLNN(InplaceRandomWithoutFromToTensor, (Ref, self, In, seed, In, offset, uint64_t, shift), when_run(),
      self.random_(captured(seed, offset, shift)))
ACLNN(InplaceBernoulli, (Ref, self, Num, p, int64_t, seed, int64_t, offset), probability(p.toDouble()),
      self.bernoulli_(p.toDouble(), generator(seed, offset)))
ACLNN(InplaceBernoulliTensor, (Ref, self, In, p, int64_t, seed, int64_t, offset), into(self, {p}),
      bernoulli(self, p, seed, offset))
ACLNN(SimThreadExponential, (Ref, self, int64_t, count, double, lambda, int64_t, seed, int64_t, offset), when_run(),
      exponential(self, lambda, seed, offset))
ACLNN(Multinomial, (In, self, int64_t, samples, bool, replacement, int64_t, seed, int64_t, offset, Out, out),
      when_run(), write(out, multinomial(self, samples, replacement, generator(seed, offset))))
ACLNN(MultinomialTensor,
      (In, self, int64_t, samples, bool, replacement, In, seed, In, offset, uint64_t, shift, Out, out), when_run(),
      write(out, multinomial(self, samples, replacement, captured(seed, offset, shift))))
ACLNN(Randperm, (int64_t, n, int64_t, seed, int64_t, offset, Out, out), shape(out, {n}),
      write(out, at::randperm(n, generator(seed, offset))))
ACLNN(RReluWithNoise,
      (In, self, Ref, noise, Num, lower, Num, upper, bool, training, int64_t, seed, int64_t, offset, Out, out),
      like(out, self), rrelu(self, noise, lower, upper, training, seed, offset, out))
ACLNN(InplaceRReluWithNoise,
      (Ref, self, Ref, noise, Num, lower, Num, upper, bool, training, int64_t, seed, int64_t, offset),
      like(noise, self), rrelu(self, noise, lower, upper, training, seed, offset, self))

// dropout; p is the probability to drop
ACLNN(DropoutGenMask, (Ints, sizes, double, p, int64_t, seed, int64_t, offset, Out, mask),
      (probability(p), room_for(mask, c10::multiply_integers(sizes))), gen_mask(sizes, p, seed, offset, mask))
ACLNN(DropoutGenMaskV2, (Ints, sizes, double, p, int64_t, seed, int64_t, offset, Dtype, dtype, Out, mask),
      (probability(p), room_for(mask, c10::multiply_integers(sizes))), gen_mask(sizes, p, seed, offset, mask))
ACLNN(DropoutGenMaskV2Tensor, (Ints, sizes, double, p, In, seed, In, offset, uint64_t, shift, Dtype, dtype, Out, mask),
      (probability(p), room_for(mask, c10::multiply_integers(sizes))),
      gen_mask(sizes, p, seed.item<int64_t>(), offset.item<int64_t>() + shift, mask))
ACLNN(DropoutDoMask, (In, self, In, mask, double, p, Out, out),
      (probability(p), like(out, self), room_for(mask, self.numel())), write(out, dropped(self, mask, p)))
ACLNN(DropoutV3, (In, self, In, noise_shape, double, p, int64_t, seed, int64_t, offset, Out, out, Out, mask),
      (probability(p), like(out, self), room_for(mask, self.numel())), dropout(self, p, seed, offset, out, mask))
ACLNN(DropoutV3Tensor,
      (In, self, In, noise_shape, double, p, In, seed, In, offset, uint64_t, shift, Out, out, Out, mask),
      (probability(p), like(out, self), room_for(mask, self.numel())),
      dropout(self, p, seed.item<int64_t>(), offset.item<int64_t>() + shift, out, mask))
ACLNN(DropoutV3Grad, (In, grad, In, mask, double, scale, Out, out), (like(out, grad), room_for(mask, grad.numel())),
      write_each({out},
                 {at::mul(wide(grad), kernels::unpack_bits(mask, 0, grad.numel()).reshape(grad.sizes())).mul(scale)}))
ACLNN(MaskedScale, (In, self, In, mask, float, scale, Out, out), (like(out, self), like(mask, self)),
      write(out, at::mul(at::mul(self, mask), scale)))
