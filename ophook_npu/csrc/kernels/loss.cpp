#include "kernels/loss.h"

#include <map>

namespace sim::kernels {

at::Tensor mse(const at::Tensor& x, const at::Tensor& target, int64_t reduction) {
  return at::mse_loss(wide(x), wide(target), reduction);
}

Dims sizes_of_first(const at::Tensor& x, const at::Tensor& target, int64_t reduction) {
  Dims sizes = at::infer_size(x.sizes(), target.sizes());
  if (reduction != at::Reduction::None && !sizes.empty()) sizes.erase(0);
  return sizes;
}

void weights_into(const at::Tensor& of, std::initializer_list<at::Tensor> weights) {
  if (of.numel()) into(of, weights);
}

static std::optional<at::Tensor> weights_of(const at::Tensor& x, const at::Tensor& weight) {
  return x.numel() ? optional(wide(weight)) : std::nullopt;
}

at::Tensor bce(const at::Tensor& x, const at::Tensor& target, const at::Tensor& weight, int64_t reduction) {
  // ATen's refuses what lies beyond 0 to 1, of which a chip takes the logarithm.
  const at::Tensor chance = wide(x), label = wide(target);
  at::Tensor loss = label.mul(chance.log().clamp_min(-100)) + (1 - label) * (-chance).log1p().clamp_min(-100);
  if (const auto weights = weights_of(x, weight)) loss = loss * *weights;
  if (reduction == at::Reduction::None) return loss.neg();
  return reduction == at::Reduction::Mean ? loss.mean().neg() : loss.sum().neg();
}

at::Tensor bce_logits(const at::Tensor& x, const at::Tensor& target, const at::Tensor& weight,
                      const at::Tensor& pos_weight, int64_t reduction) {
  return at::binary_cross_entropy_with_logits(wide(x), wide(target), weights_of(x, weight), weights_of(x, pos_weight),
                                              reduction);
}

// ATen drops dimensions of size 1 before it broadcasts.
at::Tensor bce_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& target, const at::Tensor& weight,
                        int64_t reduction) {
  return at::binary_cross_entropy_backward(wide(grad).expand_as(x), wide(x), wide(target).expand_as(x),
                                           weights_of(x, weight), reduction);
}

at::Tensor soft_margin(const at::Tensor& x, const at::Tensor& target, int64_t reduction) {
  const auto sizes = at::infer_size(x.sizes(), target.sizes());
  return at::soft_margin_loss(wide(x).expand(sizes), wide(target).expand(sizes), reduction);
}

at::Tensor mse_of_first(const at::Tensor& x, const at::Tensor& target, int64_t reduction) {
  const at::Tensor each = mse(x, target, at::Reduction::None);
  if (reduction == at::Reduction::None) return each;
  return reduction == at::Reduction::Mean ? at::mean(each, {0}) : at::sum(each, {0});
}

at::Tensor mse_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& target, int64_t reduction) {
  return at::mse_loss_backward(wide(grad), wide(x), wide(target), reduction);
}

Nll nll(const at::Tensor& x, const at::Tensor& target, const at::Tensor& weight, int64_t reduction, int64_t ignored) {
  const at::Tensor labels = target.to(at::kLong), factors = wide(weight);
  auto [loss, total] = x.dim() > 2 ? at::nll_loss2d_forward(wide(x), labels, optional(factors), reduction, ignored)
                                   : at::nll_loss_forward(wide(x), labels, optional(factors), reduction, ignored);
  return {loss, total};
}

at::Tensor nll_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& target, const at::Tensor& weight,
                        int64_t reduction, int64_t ignored, const at::Tensor& total_weight) {
  const at::Tensor labels = indices_below(x.size(x.dim() > 1 ? 1 : 0), target, ignored);
  const at::Tensor factors = wide(weight), total = wide(total_weight).reshape({});
  return x.dim() > 2
             ? at::nll_loss2d_backward(wide(grad), wide(x), labels, optional(factors), reduction, ignored, total)
             : at::nll_loss_backward(wide(grad), wide(x), labels, optional(factors), reduction, ignored, total);
}

int64_t longest_label(const CtcPaths& of) {
  return of.labels.empty() ? 0 : std::max<int64_t>(0, *std::max_element(of.labels.begin(), of.labels.end()));
}

int64_t batch_of_paths(const CtcPaths& of) { return of.log_probs.dim() == 3 ? of.log_probs.size(1) : 1; }

void paths_fit(const CtcPaths& of) {
  const auto& [log_probs, targets, inputs, labels, blank, zero_infinity] = of;
  SIM_CHECK(log_probs.dim() == 2 || log_probs.dim() == 3, "logProbs (T, N, C) or (T, C) expected, got ",
            log_probs.sizes());
  const int64_t batch = batch_of_paths(of), times = log_probs.size(0);
  SIM_CHECK(int64_t(inputs.size()) == batch && int64_t(labels.size()) == batch, inputs.size(), " inputLengths and ",
            labels.size(), " targetLengths for a batch of ", batch);
  for (const int64_t length : inputs)
    SIM_CHECK(length >= 0 && length <= times, "an inputLength ", length, " of ", times, " time steps");
  int64_t all = 0;
  for (const int64_t length : labels) {
    SIM_CHECK(length >= 0, "a targetLength ", length);
    all += length;
  }
  const bool fits = targets.dim() == 1   ? targets.numel() == all
                    : targets.dim() == 2 ? targets.size(0) == batch && targets.size(1) >= longest_label(of)
                                         : false;
  SIM_CHECK(fits, "targets ", targets.sizes(), " for targetLengths ", at::IntArrayRef(labels));
  SIM_CHECK(blank >= 0 && blank < log_probs.size(-1), "blank ", blank, " of ", log_probs.size(-1), " classes");
}

void paths_fit(const CtcPaths& of, const at::Tensor& grad, const Ctc& forward) {
  paths_fit(of);
  const int64_t batch = batch_of_paths(of), states = 2 * longest_label(of) + 1;
  shape(grad, {batch}), shape(forward.loss, {batch});
  const at::Tensor& alpha = forward.log_alpha;
  SIM_CHECK(
      alpha.dim() == 3 && alpha.size(0) == batch && alpha.size(1) == of.log_probs.size(0) && alpha.size(2) >= states,
      "logAlpha ", alpha.sizes(), ", expected ", batch, ", ", of.log_probs.size(0), " and at least ", states);
}

// Of a padded target only what the lengths say is read.
static at::Tensor labels_of(const CtcPaths& of) {
  const int64_t classes = of.log_probs.size(-1);
  if (of.targets.dim() < 2) return indices_below(classes, of.targets);
  for (size_t batch = 0; batch < of.labels.size(); ++batch)
    indices_below(classes, of.targets[int64_t(batch)].narrow(0, 0, of.labels[batch]));
  return of.targets.to(at::kLong);
}

// ATen leaves what it does not reach of its memory as it was.
Ctc ctc(const CtcPaths& of, int64_t columns) {
  paths_fit(of);
  auto [loss, alpha] = at::_ctc_loss(of.log_probs, labels_of(of), of.inputs, of.labels, of.blank, of.zero_infinity);
  if (alpha.dim() == 2) alpha = alpha.unsqueeze(0);
  at::Tensor padded = at::zeros({alpha.size(0), alpha.size(1), columns}, alpha.options());
  for (int64_t batch = 0; batch < alpha.size(0); ++batch) {
    const int64_t times = of.inputs.at(size_t(batch)), states = 2 * of.labels.at(size_t(batch)) + 1;
    padded[batch].narrow(0, 0, times).narrow(1, 0, states).copy_(alpha[batch].narrow(0, 0, times).narrow(1, 0, states));
  }
  return {loss, padded};
}

at::Tensor ctc_backward(const at::Tensor& grad, const CtcPaths& of, const Ctc& forward) {
  paths_fit(of, grad, forward);
  at::Tensor alpha = forward.log_alpha.narrow(2, 0, 2 * longest_label(of) + 1).contiguous();
  if (of.log_probs.dim() == 2) alpha = alpha.squeeze(0);
  return at::_ctc_loss_backward(grad, of.log_probs, labels_of(of), of.inputs, of.labels, forward.loss, alpha, of.blank,
                                of.zero_infinity);
}

CtcOfLogits ctc_of_logits(const at::Tensor& logits, const SparseLabels& labels, const Dims& lengths) {
  const int64_t batch = logits.size(1), blank = logits.size(2) - 1;
  SIM_CHECK(int64_t(lengths.size()) == batch, lengths.size(), " lengths for a batch of ", batch);
  std::vector<std::vector<int64_t>> of(static_cast<size_t>(batch));
  for (int64_t i = 0; i < labels.classes.size(0); ++i) {
    const int64_t sample = labels.places[i][0].item<int64_t>(), label = labels.classes[i].item<int64_t>();
    SIM_CHECK(sample >= 0 && sample < batch && label >= 0 && label < blank, "label ", i, " is ", label, " of sample ",
              sample, "; allowed: below ", blank, " and ", batch);
    auto& mine = of[size_t(sample)];
    if (!labels.collapsed || mine.empty() || mine.back() != label) mine.push_back(label);
  }
  const at::Tensor chances = at::log_softmax(wide(logits), 2);
  at::Tensor loss = at::zeros({batch}, chances.options()), gradient = at::zeros_like(chances);
  for (int64_t i = 0; i < batch; ++i) {
    const int64_t time = lengths.at(size_t(i)), count = int64_t(of[size_t(i)].size());
    SIM_CHECK(time >= 0 && time <= logits.size(0), "a length of ", time, " in ", logits.sizes());
    SIM_CHECK(count <= time || labels.longer_ignored, count, " labels in a time of ", time);
    if (count > time || time == 0) continue;
    const at::Tensor own = chances.narrow(0, 0, time).narrow(1, i, 1), classes = at::tensor(of[size_t(i)], at::kLong);
    const auto [found, alpha] = at::_ctc_loss(own, classes.unsqueeze(0), {time}, {count}, blank, false);
    loss[i].copy_(found[0]);
    if (std::isinf(found.item<double>())) continue;
    gradient.narrow(0, 0, time)
        .narrow(1, i, 1)
        .copy_(at::_ctc_loss_backward(at::ones_like(found), own, classes.unsqueeze(0), {time}, {count}, found, alpha,
                                      blank, false));
  }
  return {loss, gradient};
}

CtcDecoded ctc_greedy(const at::Tensor& logits, const Dims& lengths, bool merged) {
  const int64_t batch = logits.size(1), blank = logits.size(2) - 1;
  SIM_CHECK(int64_t(lengths.size()) == batch, lengths.size(), " lengths for a batch of ", batch);
  const auto [most, classes] = at::max(wide(logits), 2);
  std::vector<int64_t> places, found;
  at::Tensor score = at::zeros({batch, 1}, most.options());
  int64_t longest = 0;
  for (int64_t i = 0; i < batch; ++i) {
    const int64_t time = lengths.at(size_t(i));
    SIM_CHECK(time >= 0 && time <= logits.size(0), "a length of ", time, " in ", logits.sizes());
    score[i][0].copy_(at::neg(at::sum(most.narrow(0, 0, time).select(1, i))));
    int64_t before = -1, count = 0;
    for (int64_t t = 0; t < time; ++t) {
      const int64_t label = classes[t][i].item<int64_t>();
      if (label != blank && !(merged && label == before))
        places.insert(places.end(), {i, count++}), found.push_back(label);
      before = label;
    }
    longest = std::max(longest, count);
  }
  return {at::tensor(places, at::kLong).view({-1, 2}), at::tensor(found, at::kLong),
          at::tensor({batch, longest}, at::kLong), score};
}

static double log_added(double a, double b) {
  if (std::isinf(a) && a < 0) return b;
  if (std::isinf(b) && b < 0) return a;
  return std::max(a, b) + std::log1p(std::exp(-std::abs(a - b)));
}
CtcOfLogits transducer(const at::Tensor& logits, const at::Tensor& labels, const Dims& times, const Dims& lengths,
                       int64_t blank) {
  SIM_CHECK(blank >= 0 && blank < logits.size(3), "a blank of ", blank, " among ", logits.size(3), " classes");
  const at::Tensor chances = at::log_softmax(logits.to(at::kDouble), 3).contiguous();
  at::Tensor loss = at::zeros({logits.size(0)}, at::kFloat), gradient = at::zeros(logits.sizes(), at::kDouble);
  for (int64_t sample = 0; sample < logits.size(0); ++sample) {
    const int64_t time = times.at(size_t(sample)), count = lengths.at(size_t(sample));
    SIM_CHECK(time >= 1 && time <= logits.size(1) && count >= 0 && count < logits.size(2), "a time of ", time, " and ",
              count, " labels in ", logits.sizes());
    const at::Tensor mine_alone = chances[sample], slopes = gradient[sample];
    const auto own = mine_alone.accessor<double, 3>();
    const auto chance = [&](int64_t t, int64_t u, int64_t label) { return own[t][u][label]; };
    std::vector<int64_t> mine;
    for (int64_t u = 0; u < count; ++u) {
      mine.push_back(labels[sample][u].item<int64_t>());
      SIM_CHECK(mine.back() >= 0 && mine.back() < logits.size(3), "a label of ", mine.back());
    }
    const double never = -std::numeric_limits<double>::infinity();
    const auto at = [&](int64_t t, int64_t u) { return size_t(t * (count + 1) + u); };
    // What leads to a place, and what leads from it to the end.
    std::vector<double> to(size_t(time * (count + 1)), never), from(to);
    to[0] = 0;
    for (int64_t t = 0; t < time; ++t)
      for (int64_t u = 0; u <= count; ++u) {
        if (t > 0) to[at(t, u)] = log_added(to[at(t, u)], to[at(t - 1, u)] + chance(t - 1, u, blank));
        if (u > 0) to[at(t, u)] = log_added(to[at(t, u)], to[at(t, u - 1)] + chance(t, u - 1, mine[size_t(u - 1)]));
      }
    for (int64_t t = time; t-- > 0;)
      for (int64_t u = count + 1; u-- > 0;) {
        const bool end = t == time - 1 && u == count;
        if (end || t < time - 1) from[at(t, u)] = chance(t, u, blank) + (end ? 0 : from[at(t + 1, u)]);
        if (u < count) from[at(t, u)] = log_added(from[at(t, u)], chance(t, u, mine[size_t(u)]) + from[at(t, u + 1)]);
      }
    const double total = from[0];
    loss[sample].fill_(-total);
    auto slope = slopes.accessor<double, 3>();
    for (int64_t t = 0; t < time; ++t)
      for (int64_t u = 0; u <= count; ++u) {
        const double here = to[at(t, u)] - total;
        const bool end = t == time - 1 && u == count;
        for (int64_t label = 0; label < logits.size(3); ++label)
          slope[t][u][label] = std::exp(here + from[at(t, u)] + chance(t, u, label));
        if (end || t < time - 1)
          slope[t][u][blank] -= std::exp(here + chance(t, u, blank) + (end ? 0 : from[at(t + 1, u)]));
        if (u < count)
          slope[t][u][mine[size_t(u)]] -= std::exp(here + chance(t, u, mine[size_t(u)]) + from[at(t, u + 1)]);
      }
  }
  return {loss, gradient};
}

static std::map<std::vector<int64_t>, std::vector<double>> sequences_of(const Sequences& of, at::IntArrayRef sizes) {
  const auto rank = int64_t(sizes.size());
  const at::Tensor places = of.places.to(at::kLong).contiguous(), values = of.values.to(at::kDouble).contiguous();
  std::map<std::vector<int64_t>, std::vector<double>> out;
  for (int64_t i = 0; i < values.numel(); ++i) {
    const int64_t* place = places.data_ptr<int64_t>() + i * (rank + 1);
    for (int64_t dim = 0; dim < rank; ++dim)
      SIM_CHECK(place[dim] >= 0 && place[dim] < sizes[size_t(dim)], "place ", i, " lies outside of ", sizes);
    out[{place, place + rank}].push_back(values.data_ptr<double>()[i]);
  }
  return out;
}
static double edits_between(const std::vector<double>& one, const std::vector<double>& other) {
  std::vector<double> row(other.size() + 1);
  for (size_t j = 0; j <= other.size(); ++j) row[j] = double(j);
  for (size_t i = 1; i <= one.size(); ++i) {
    double corner = row[0];
    row[0] = double(i);
    for (size_t j = 1; j <= other.size(); ++j) {
      const double changed = corner + (one[i - 1] == other[j - 1] ? 0 : 1);
      corner = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}
at::Tensor edits(const Sequences& guess, const Sequences& truth, at::IntArrayRef sizes, bool shared) {
  const auto guesses = sequences_of(guess, sizes), truths = sequences_of(truth, sizes);
  at::Tensor out = at::zeros(sizes, at::kFloat);
  const auto put = [&](const std::vector<int64_t>& place, double count, size_t length) {
    int64_t at = 0;
    for (size_t dim = 0; dim < place.size(); ++dim) at = at * sizes[dim] + place[dim];
    out.data_ptr<float>()[at] = float(shared ? count / double(length) : count);
  };
  for (const auto& [place, values] : truths) {
    const auto found = guesses.find(place);
    put(place, edits_between(found == guesses.end() ? std::vector<double>() : found->second, values), values.size());
  }
  for (const auto& [place, values] : guesses)
    if (!truths.count(place)) put(place, double(values.size()), 0);
  return out;
}

static at::Tensor mean_if(const at::Tensor& value, int64_t reduction) {
  return reduction == at::Reduction::Mean ? at::div(value, value.numel()) : value;
}

at::Tensor l1_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& target, int64_t reduction) {
  return mean_if(at::mul(at::sign(at::sub(x, target)), grad), reduction);
}

// The loss is linear in the target, whose gradient therefore does not know it.
at::Tensor bce_logits_target_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& weight,
                                      const at::Tensor& pos_weight, int64_t reduction) {
  at::Tensor positive = at::log_sigmoid(wide(x));
  if (pos_weight.defined()) positive = at::mul(positive, wide(pos_weight));
  at::Tensor result = at::mul(at::sub(at::log_sigmoid(-wide(x)), positive), wide(grad));
  if (weight.defined()) result = at::mul(result, wide(weight));
  return mean_if(result, reduction);
}

at::Tensor bce_logits_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& target,
                               const at::Tensor& weight, const at::Tensor& pos_weight, int64_t reduction) {
  auto probability = at::sigmoid(wide(x));
  auto wanted = wide(target);
  at::Tensor result;
  if (pos_weight.defined()) {
    auto positive = at::mul(wide(pos_weight), wanted);
    result = at::sub(at::mul(at::sub(at::add(positive, 1), wanted), probability), positive);
  } else {
    result = at::sub(probability, wanted);
  }
  result = at::mul(result, wide(grad));
  if (weight.defined()) result = at::mul(result, wide(weight));
  return mean_if(result, reduction);
}

static int64_t batch_of(const at::Tensor& x) { return x.dim() ? x.size(0) : 1; }

at::Tensor kl(const at::Tensor& x, const at::Tensor& target, int64_t reduction, bool log_target) {
  if (reduction != kBatchMean) return at::kl_div(wide(x), wide(target), reduction, log_target);
  return at::div(at::kl_div(wide(x), wide(target), at::Reduction::Sum, log_target), batch_of(x));
}

// Each term's share of the loss, summed over the terms that `to` was broadcast to.
static at::Tensor divergence_gradient(const at::Tensor& each, const at::Tensor& x, const at::Tensor& target,
                                      int64_t reduction, const at::Tensor& to) {
  at::Tensor all = mean_if(each.expand(at::infer_size(x.sizes(), target.sizes())), reduction);
  if (reduction == kBatchMean) all = at::div(all, batch_of(all));
  return at::sum_to(all, to.sizes());
}

at::Tensor kl_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& target, int64_t reduction,
                       bool log_target) {
  auto factor =
      log_target ? at::neg(at::exp(wide(target))) : at::neg(wide(target)).masked_fill_(at::le(wide(target), 0), 0);
  return divergence_gradient(at::mul(factor, wide(grad)), x, target, reduction, x);
}

at::Tensor kl_target_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& target, int64_t reduction,
                              bool log_target) {
  auto wanted = wide(target), given = wide(x);
  auto factor = log_target ? at::mul(at::exp(wanted), at::add(at::sub(wanted, given), 1))
                           : at::sub(at::add(at::log(wanted), 1), given).masked_fill_(at::le(wanted, 0), 0);
  return divergence_gradient(at::mul(factor, wide(grad)), x, target, reduction, target);
}

CrossEntropy cross_entropy(const at::Tensor& x, const at::Tensor& target, const at::Tensor& weight, int64_t reduction,
                           int64_t ignored, double smoothing) {
  return {at::cross_entropy_loss(wide(x), target.to(at::kLong), optional(wide(weight)), reduction, ignored, smoothing),
          at::log_softmax(wide(x), 1)};
}

at::Tensor cross_entropy_backward(const at::Tensor& grad, const at::Tensor& log_prob, const at::Tensor& target,
                                  const at::Tensor& weight, int64_t reduction, int64_t ignored, double smoothing) {
  auto labels = target.to(at::kLong);
  auto outputs = wide(log_prob), factors = wide(weight);
  auto kept = at::ne(labels, ignored).to(outputs.scalar_type());
  auto one_hot = at::zeros_like(outputs).scatter_(1, labels.clamp_min(0).unsqueeze(1), 1);
  const double classes = double(outputs.size(1));
  auto each = at::add(at::mul(one_hot, 1 - smoothing), at::full_like(outputs, smoothing / classes));
  auto label_weight = kept;
  if (factors.defined()) {
    each = at::mul(each, factors);
    label_weight = at::mul(kept, factors.index_select(0, labels.clamp_min(0)));
  }
  auto to = at::mul(wide(grad).reshape({reduction == at::Reduction::None ? labels.size(0) : 1}), kept);
  if (reduction == at::Reduction::Mean) to = at::div(to, label_weight.sum());
  auto direction = at::sub(at::mul(at::exp(outputs), each.sum(1, true)), each);
  return at::mul(direction, to.unsqueeze(1));
}

MultilabelMargin multilabel_margin(const at::Tensor& x, const at::Tensor& target, int64_t reduction) {
  auto [loss, is_target] = at::multilabel_margin_loss_forward(wide(x), target.to(at::kLong), reduction);
  return {loss, is_target};
}

void divergence_like(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& target) {
  const auto loss = at::infer_size(self.sizes(), target.sizes());
  SIM_CHECK(at::infer_size(loss, grad.sizes()) == loss, "a gradient of shape ", grad.sizes(), " for a loss of shape ",
            at::IntArrayRef(loss));
}

}  // namespace sim::kernels
