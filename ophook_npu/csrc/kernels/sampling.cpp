#include "kernels/sampling.h"

#include <cmath>
#include <random>
#include <set>

namespace sim::kernels {

at::Tensor uniform_of(at::IntArrayRef sizes, at::ScalarType dtype, const at::Generator& by) {
  return at::rand(sizes, by, at::TensorOptions().dtype(dtype));
}

at::Tensor uniform_between(at::IntArrayRef sizes, const at::Tensor& from, const at::Tensor& to,
                           const at::Generator& by) {
  const int64_t least = from.item<int64_t>(), end = to.item<int64_t>();
  SIM_CHECK(least < end, "there is no number from ", least, " on and below ", end);
  return at::empty(sizes, from.options()).random_(least, end, by);
}

// By the inverse of the distribution, where the chances of all below are as told.
static at::Tensor normal_at(const at::Tensor& chance) { return at::erfinv(chance * 2 - 1) * std::sqrt(2.0); }
static at::Tensor chance_below(const at::Tensor& x) { return (at::erf(x / std::sqrt(2.0)) + 1) / 2; }

at::Tensor truncated_normal(at::IntArrayRef sizes, const at::Generator& by) {
  const auto number = [](double value) { return at::full({}, value, at::kDouble); };
  return truncated_normal(sizes, {number(0), number(1), number(-2), number(2)}, by);
}

at::Tensor truncated_normal(at::IntArrayRef sizes, const TruncatedNormal& of, const at::Generator& by) {
  Dims of_batch(sizes.size(), 1);
  if (!of_batch.empty()) of_batch[0] = -1;
  const auto each = [&](const at::Tensor& one) { return one.to(at::kDouble).reshape(of_batch); };
  const at::Tensor mean = each(of.mean), std = each(of.std), least = each(of.least), most = each(of.most);
  const at::Tensor first = chance_below((least - mean) / std), last = chance_below((most - mean) / std);
  const at::Tensor drawn = normal_at(first + (last - first) * at::rand(sizes, by, at::kDouble));
  return at::minimum(at::maximum(drawn * std + mean, least), most);
}

// For each number of the parameter, as many times as `sizes` say, a number of this distribution.
template <typename Distribution>
static at::Tensor samples(at::IntArrayRef sizes, const at::Tensor& parameter, const at::Generator& by) {
  Dims all = sizes.vec();
  all.insert(all.end(), parameter.sizes().begin(), parameter.sizes().end());
  const at::Tensor of = parameter.to(at::kDouble).expand(all).contiguous(), out = at::empty(all, at::kDouble);
  std::mt19937_64 engine(uint64_t(at::empty({}, at::kLong).random_(by).item<int64_t>()));
  for (int64_t i = 0; i < out.numel(); ++i) {
    const double own = of.const_data_ptr<double>()[i];
    SIM_CHECK(own >= 0, "a parameter of a distribution is ", own, "; allowed: 0 or more");
    out.mutable_data_ptr<double>()[i] = own > 0 ? double(Distribution(own)(engine)) : 0;
  }
  return out;
}

at::Tensor gamma_samples(at::IntArrayRef sizes, const at::Tensor& alpha, const at::Generator& by) {
  return samples<std::gamma_distribution<double>>(sizes, alpha, by);
}

at::Tensor poisson_samples(at::IntArrayRef sizes, const at::Tensor& rate, const at::Generator& by) {
  return samples<std::poisson_distribution<int64_t>>(sizes, rate, by);
}

at::Tensor gamma_samples_of(at::IntArrayRef sizes, const at::Tensor& alpha, const at::Generator& by) {
  return gamma_samples({}, alpha.expand(sizes), by);
}

at::Tensor poisson_samples_of(at::IntArrayRef sizes, const at::Tensor& rate, const at::Generator& by) {
  return poisson_samples({}, rate.expand(sizes), by);
}

at::Tensor classes_of(const at::Tensor& logits, int64_t samples, const at::Generator& by) {
  return at::multinomial(at::softmax(logits.to(at::kDouble), 1), samples, /*replacement=*/true, by);
}

at::Tensor permutation(int64_t count, const at::Generator& by) { return at::randperm(count, by, at::kLong); }

at::Tensor shuffled(const at::Tensor& x, const at::Generator& by) {
  return x.dim() ? x.index_select(0, permutation(x.size(0), by)) : x;
}

at::Tensor kept(at::IntArrayRef sizes, double probability, const at::Generator& by) {
  return at::empty(sizes, at::kBool).bernoulli_(probability, by);
}

DrawnCandidates candidates(const at::Tensor& truth, const Candidates& how, const at::Generator& by) {
  SIM_CHECK(!how.once || how.count <= how.range, how.count, " different classes of ", how.range);
  const double whole = std::log1p(double(how.range));
  std::vector<int64_t> found;
  std::set<int64_t> before;
  int64_t tries = 0;
  while (int64_t(found.size()) < how.count) {
    const double chance = at::rand({}, by, at::kDouble).item<double>();
    const double drawn = how.rare ? std::expm1(chance * whole) : chance * double(how.range);
    const int64_t one = std::min(int64_t(drawn), how.range - 1);
    ++tries;
    if (!how.once || before.insert(one).second) found.push_back(one);
  }
  const auto expected = [&](const at::Tensor& classes) {
    const at::Tensor ranks = classes.to(at::kDouble);
    const at::Tensor chance =
        how.rare ? ((ranks + 2) / (ranks + 1)).log() / whole : at::full_like(ranks, 1 / double(how.range));
    return (how.once ? -at::expm1(at::log1p(-chance) * tries) : chance * how.count).to(at::kFloat);
  };
  const at::Tensor classes = at::tensor(found, at::kLong);
  return {classes, expected(truth), expected(classes)};
}

}  // namespace sim::kernels
