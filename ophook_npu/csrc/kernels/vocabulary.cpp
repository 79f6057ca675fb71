#include "kernels/vocabulary.h"

#include "kernels/pattern.h"

namespace sim::vocabulary {

// Which targets another device has: a bit each, the first in the highest bit; bits behind the last are set.
static at::Tensor weights_of_bits() { return at::tensor({128, 64, 32, 16, 8, 4, 2, 1}, at::kByte); }
static at::Tensor packed(const at::Tensor& flags) {
  at::Tensor whole = at::ones({(flags.numel() + 7) / 8 * 8}, at::kByte);
  whole.narrow(0, 0, flags.numel()).copy_(flags);
  return (whole.reshape({-1, 8}) * weights_of_bits()).sum(1).to(at::kByte);
}
static at::Tensor unpacked(const at::Tensor& bits, int64_t count) {
  return bits.unsqueeze(1).bitwise_and(weights_of_bits()).ne(0).flatten().narrow(0, 0, count);
}

void multiplies(const at::Tensor& input, const at::Tensor& weight) {
  shapes<"batch hidden, slice hidden">(input, weight);
  of_dtype("input", input, {at::kHalf, at::kBFloat16});
}

void no_smoothing(double smoothing) { SIM_CHECK(smoothing == 0, "label_smoothing ", smoothing, "; allowed: 0"); }

void indices(int64_t first, int64_t last) {
  SIM_CHECK(first >= 0 && last >= first, "indices ", first, " to ", last, "; allowed: from 0 upwards");
}

// A bit, or a bool, for each of the batch, and both statistics of it where they are used.
void enough_saved(const Saved& by, int64_t batch) {
  const bool bools = by.mask.scalar_type() == at::kBool;
  SIM_CHECK(bools ? by.mask.numel() == batch : by.mask.numel() * 8 >= batch, "target_mask ", by.mask.sizes(), " of ",
            bools ? "BOOL" : "bits", " for a batch of ", batch);
  SIM_CHECK(by.softmax.defined() || (by.max.defined() && by.sum.defined()),
            "either softmax, or logits_max and sum_exp_logits, must be there");
  if (!by.softmax.defined()) shape(by.max, {batch}), shape(by.sum, {batch});
}

static at::Tensor logits_of(const at::Tensor& input, const at::Tensor& weight) {
  return at::matmul(wide(input), wide(weight).t());
}

void max_sum_like(const Targets& of, const MaxSum& to) {
  const int64_t batch = of.input.size(0);
  for (const at::Tensor& each : {of.target, to.max, to.sum, to.predicted, to.masked_target}) shape(each, {batch});
  shape(to.mask, {(batch + 7) / 8});
  asked({to.logits}, {batch, of.weight.size(0)});
}

void max_sum(const Targets& of, int64_t first, int64_t last, const MaxSum& to) {
  at::Tensor all = logits_of(of.input, of.weight), most = std::get<0>(all.max(1)), less = all - most.unsqueeze(1);
  at::Tensor elsewhere = of.target.lt(first) | of.target.gt(last);
  at::Tensor row = at::where(elsewhere, 0, of.target - first);
  write(to.max, most);
  write(to.sum, less.exp().sum(1));
  write(to.predicted, at::where(elsewhere, 0, less.gather(1, row.to(at::kLong).unsqueeze(1)).squeeze(1)));
  write(to.mask, packed(elsewhere));
  write(to.masked_target, row);
  write_asked(to.logits, all);
}

at::Tensor cross_entropy(const at::Tensor& sum, const at::Tensor& predicted) { return at::log(sum) - predicted; }

at::Tensor probabilities(const at::Tensor& logits, const at::Tensor& max, const at::Tensor& sum) {
  return at::exp(wide(logits) - max.unsqueeze(1)) / sum.unsqueeze(1);
}

void loss_grad(const at::Tensor& grad, const at::Tensor& input, const at::Tensor& weight, const Saved& by,
               const at::Tensor& input_grad, const at::Tensor& weight_grad) {
  at::Tensor d = by.softmax.defined() ? by.softmax.clone() : probabilities(logits_of(input, weight), by.max, by.sum);
  int64_t batch = d.size(0);
  at::Tensor here = unpacked(by.mask, batch).logical_not().to(d.scalar_type()),
             place = by.masked_target.to(at::kLong).unsqueeze(1);
  d.scatter_add_(1, place, -here.unsqueeze(1));
  d = d * grad.unsqueeze(1);
  write(input_grad, at::matmul(d, wide(weight)));
  write(weight_grad, at::matmul(d.t(), wide(input)));
}

void slice_like(const at::Tensor& logits, const at::Tensor& target, const at::Tensor& max, int64_t first, int64_t last,
                std::initializer_list<at::Tensor> outs) {
  SIM_CHECK(logits.dim() == 2 || logits.dim() == 3, "logits of 2 or 3 dimensions expected, got ", logits.sizes());
  SIM_CHECK(first >= 0 && last - first == logits.size(-1), "a slice from ", first, " to ", last, " of ",
            logits.size(-1), " logits");
  shape(target, outer_sizes(logits)), like(max, target);
  for (const at::Tensor& out : outs) like(out, &out == outs.begin() + 2 ? logits : target);
}

Tensors of_slice(const at::Tensor& logits, const at::Tensor& target, const at::Tensor& max, int64_t first,
                 int64_t last) {
  const at::Tensor shifted = wide(logits) - wide(max).unsqueeze(-1), label = target.to(at::kLong);
  const at::Tensor outside = at::logical_or(label.lt(first), label.ge(last));
  const at::Tensor place = label.sub(first).masked_fill(outside, 0), exps = at::exp(shifted);
  return {shifted.gather(-1, place.unsqueeze(-1)).squeeze(-1).masked_fill(outside, 0), exps.sum(-1), exps, place,
          outside.to(at::kInt)};
}

}  // namespace sim::vocabulary
