#include <limits>

#include "kernels/inference.h"

namespace sim::inference {

// ---- logits: the k largest, and of these the most probable that together reach p; the others become -inf -----------
at::Tensor likely(const at::Tensor& logits, const at::Tensor& p, const at::Tensor& k) {
  const double none = -std::numeric_limits<double>::infinity();
  auto [sorted, places] = at::sort(wide(logits), /*stable=*/true, -1, /*descending=*/false);
  if (k.defined())
    sorted =
        sorted.masked_fill(sorted.lt(sorted.gather(1, k.to(at::kLong).neg().add(logits.size(1)).unsqueeze(1))), none);
  if (p.defined()) {
    auto dropped = at::softmax(sorted, -1).cumsum(-1).le(wide(p).neg().add(1).unsqueeze(1));
    dropped.select(1, -1).fill_(false);
    sorted = sorted.masked_fill(dropped, none);
  }
  return at::empty_like(sorted).scatter_(1, places, sorted);
}

void check_sampling(const at::Tensor& logits, const at::Tensor& k, const at::Tensor& p, const at::Tensor& q,
                    const at::Tensor& min_p, const Sampling& how) {
  SIM_CHECK(logits.dim() == 2 && logits.size(1) > 0 && logits.size(1) <= 1 << 20, "logits ", logits.sizes(),
            "; (batch, vocabulary) is expected, with at most 1048576 words");
  shape(k, {logits.size(0)});
  shape(p, {logits.size(0)});
  same_dtype({logits, p});
  if (q.defined()) like(q, logits);
  if (min_p.defined()) {
    SIM_CHECK(min_p.numel() == logits.size(0), "minPs ", min_p.sizes(), " for ", logits.size(0), " rows");
    same_dtype({logits, min_p});
  }
  SIM_CHECK(how.most >= 1 && how.most <= 1024, "ksMax ", how.most, "; 1 to 1024 are allowed");
  SIM_CHECK(!how.candidates || !q.defined(), "q is of no use where candidates are asked for");
}

// Of candidates there is no token, and of a token no candidates.
void sampled_like(const at::Tensor& logits, bool candidates, bool logits_too, const Sampled& outs) {
  if (candidates) return like(outs.index, logits), like(outs.probability, logits);
  shape(outs.token, {logits.size(0)});
  if (logits_too) like(outs.logits, logits);
}

// What is left of one row: probabilities, in descending order unless nothing was asked of it, and their places.
static std::pair<at::Tensor, at::Tensor> left_of(const at::Tensor& row, int64_t k, double p, double min_p,
                                                 const Sampling& how) {
  const int64_t most = std::min({(how.most + 7) / 8 * 8, int64_t(1024), row.numel()});
  const bool by_k = k >= 1 && k <= most, by_p = p < 1;
  auto probabilities = [&](const at::Tensor& values) { return how.normalize ? at::softmax(values, 0) : values; };
  if (!by_k && !by_p && min_p < 1) {
    auto all = probabilities(row);
    auto places = at::arange(row.numel());
    if (min_p <= 0) return {all, places};
    auto kept = all.ge(all.max().mul(min_p)).nonzero().squeeze(1);
    return {indexed(all, {kept}), kept};
  }
  auto [sorted, places] = at::sort(row, /*stable=*/true, 0, /*descending=*/true);
  if (by_k) sorted = sorted.narrow(0, 0, k), places = places.narrow(0, 0, k);
  auto left = probabilities(sorted);
  auto keep = [&](int64_t count) { left = left.narrow(0, 0, count), places = places.narrow(0, 0, count); };
  if (by_p && p <= 0) {
    keep(1);
    if (how.normalize) left = at::ones_like(left);
  } else if (by_p) {
    keep(std::max<int64_t>(left.cumsum(0).sub(left).lt(p).sum().item<int64_t>(), 1));
  }
  if (min_p >= 1) keep(1);
  else if (min_p > 0) keep(left.ge(left[0].mul(min_p)).sum().item<int64_t>());
  return {left, places};
}

Sampled sampled(const at::Tensor& given, const at::Tensor& k, const at::Tensor& p, const at::Tensor& q,
                const at::Tensor& min_p, const Sampling& how) {
  const auto logits = wide(given).contiguous(), ks = k.to(at::kLong), ps = wide(p).to(at::kDouble);
  const auto least = min_p.defined() ? wide(min_p).to(at::kDouble).flatten() : at::Tensor();
  const double none = how.normalize ? -std::numeric_limits<double>::infinity() : 0;
  Sampled result{at::zeros({logits.size(0)}, at::kLong), at::full_like(logits, none),
                 at::zeros(logits.sizes(), at::kLong), at::zeros_like(logits)};
  for (int64_t i = 0; i < logits.size(0); ++i) {
    auto [left, places] = left_of(logits[i], ks[i].item<int64_t>(), ps[i].item<double>(),
                                  least.defined() ? least[i].item<double>() : -1, how);
    result.logits[i].index_copy_(0, places, indexed(logits[i], {places}));
    if (how.candidates) {
      result.index[i].narrow(0, 0, places.numel()).copy_(places);
      result.probability[i].narrow(0, 0, left.numel()).copy_(left);
      continue;
    }
    if (q.defined()) left = left.div(q[i].narrow(0, 0, left.numel()).add(how.eps));
    result.token[i].copy_(places[left.argmax(0).item<int64_t>()]);
  }
  return result;
}

void check_step(const Step& of, const at::Tensor& sampled, const at::Tensor& pages, int64_t sequences, int64_t queries,
                int64_t block) {
  SIM_CHECK(block > 0 && queries > 0 && sequences > queries, "numSeqs ", sequences, ", numQueries ", queries,
            ", blockSize ", block, "; all are above 0, and numSeqs is above numQueries");
  for (const at::Tensor* each : {&of.tokens, &of.positions, &of.lengths, &of.slots})
    SIM_CHECK(each->numel() == sequences, "a tensor ", each->sizes(), " for numSeqs ", sequences);
  shape(sampled, {queries, 1});
  SIM_CHECK(pages.dim() == 2 && pages.size(0) == sequences, "blockTables ", pages.sizes(), " for numSeqs ", sequences);
}

// The page adds the row to the page's number, not to its place, and so does op-plugin's test.
void advance(const Step& of, const at::Tensor& sampled, const at::Tensor& pages, int64_t sequences, int64_t queries,
             int64_t block, int64_t cores) {
  const auto table = pages.flatten();
  for (int64_t i = queries; i < sequences; i += cores) {
    of.tokens.flatten()[i].zero_();
    of.positions.flatten()[i].zero_();
    of.slots.flatten()[i].fill_(-1);
  }
  for (int64_t i = 0; i < queries; ++i) {
    const auto position = of.lengths.flatten()[i].item<int64_t>();
    SIM_CHECK(position >= 0 && position / block < table.numel(), "seqLens[", i, "] is ", position, "; ", table.numel(),
              " pages of ", block, " are there");
    of.tokens.flatten()[i].copy_(sampled[i][0]);
    of.positions.flatten()[i].fill_(position);
    of.lengths.flatten()[i].fill_(position + 1);
    const auto page = table[position / block].item<int64_t>() + pages.stride(0) * i;
    of.slots.flatten()[i].fill_(page * block + position % block);
  }
}

void check_guesses(const Step& of, const at::Tensor& sampled, const at::Tensor& pages, const at::Tensor& guessed,
                   const at::Tensor& accepted, int64_t sequences, int64_t queries, int64_t block) {
  SIM_CHECK(block > 0 && sequences > 0 && sequences == queries, "numSeqs ", sequences, ", numQueries ", queries,
            ", blockSize ", block, "; all are above 0, and the first two are one");
  SIM_CHECK(guessed.dim() == 2 && guessed.size(0) == sequences, "specToken ", guessed.sizes(), " for numSeqs ",
            sequences);
  shape(accepted, {sequences});
  const int64_t each = 1 + guessed.size(1);
  for (const at::Tensor* all : {&of.tokens, &of.positions, &of.lengths, &of.slots})
    SIM_CHECK(all->numel() == sequences * each, "a tensor ", all->sizes(), " for ", sequences, " sequences of ", each,
              " tokens");
  SIM_CHECK(sampled.dim() == 2 && sampled.size(0) == sequences, "sampledTokenIds ", sampled.sizes(), " for numSeqs ",
            sequences);
  SIM_CHECK(pages.dim() == 2 && pages.size(0) == sequences, "blockTables ", pages.sizes(), " for numSeqs ", sequences);
}

void advance_by_guesses(const Step& of, const at::Tensor& sampled, const at::Tensor& pages, const at::Tensor& guessed,
                        const at::Tensor& accepted, int64_t block) {
  const int64_t sequences = guessed.size(0), each = 1 + guessed.size(1);
  auto rows = [&](const at::Tensor& tensor) { return tensor.view({sequences, each}); };
  const auto positions = rows(of.positions).add(accepted.unsqueeze(1)).add(1);
  const auto page = at::floor_divide(positions, block);
  SIM_CHECK(page.ge(0).all().item<bool>() && page.lt(pages.size(1)).all().item<bool>(), "a position leaves the ",
            pages.size(1), " pages of ", block, " that a sequence has");
  rows(of.positions).copy_(positions);
  rows(of.lengths).copy_(positions.add(1));
  // The last token of a row stands before its first -1.
  const auto ended = at::constant_pad_nd(sampled, {0, 1}, -1);
  const auto places = at::arange(ended.size(1)).expand_as(ended);
  const auto last = places.masked_fill(ended.ne(ended.amin(1, true)), ended.size(1)).amin(1).sub(1).clamp_min(0);
  rows(of.tokens).select(1, 0).copy_(sampled.gather(1, last.unsqueeze(1)).squeeze(1));
  rows(of.tokens).narrow(1, 1, each - 1).copy_(guessed);
  rows(of.slots).copy_(pages.gather(1, page).mul(block).add(at::remainder(positions, block)));
}

}  // namespace sim::inference
