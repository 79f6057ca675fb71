// is computed in float over (batch, heads, sequence, depth), whatever the layout and dtype of the caller's tensors.
#define AT_PER_OPERATOR_HEADERS  // or ATen/ExpandUtils.h includes every operator
#include "kernels/attention.h"

#include <ATen/ExpandUtils.h>

#include "kernels/hifloat8.h"
#include "kernels/mx_quant.h"
#include "kernels/random.h"

namespace sim::attention {

using namespace sim::kernels;

struct Heads {
  at::Tensor query, key, value;  // (B, N, S, D) in float; key and value may have fewer heads
};

at::Tensor split_heads(const at::Tensor& tensor, const std::string& layout, int64_t depth) {
  auto x = wide(tensor);
  if (layout == "BNSD") return x;
  if (layout == "BSND") return x.transpose(1, 2);
  const int64_t heads = divided(x.size(-1), depth);
  if (layout == "BSH") return x.reshape({x.size(0), x.size(1), heads, depth}).transpose(1, 2);
  return x.reshape({x.size(0), x.size(1), heads, depth}).permute({1, 2, 0, 3});  // SBH
}

at::Tensor join_heads(const at::Tensor& x, const std::string& layout) {
  if (layout == "BNSD") return x;
  if (layout == "BSND") return x.transpose(1, 2);
  if (layout == "BSH") return x.transpose(1, 2).flatten(2);
  return x.permute({2, 0, 1, 3}).flatten(2);
}

void known_layout(const std::string& layout, std::initializer_list<const char*> known) {
  for (const char* name : known)
    if (layout == name) return;
  SIM_CHECK(false, "layout ", layout, " is not simulated for this operator");
}

int64_t depth_of(const at::Tensor& query, const std::string& layout, int64_t heads) {
  return layout == "BNSD" || layout == "BSND" ? query.size(-1) : divided(query.size(-1), heads);
}

Heads heads_of(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const std::string& layout,
               int64_t heads) {
  const int64_t depth = depth_of(query, layout, heads);
  auto keys = split_heads(key, layout, depth);
  const int64_t value_depth =
      layout == "BNSD" || layout == "BSND" ? value.size(-1) : divided(value.size(-1), keys.size(1));
  return {split_heads(query, layout, depth), keys, split_heads(value, layout, value_depth)};
}

// True where a score is left out; undefined where none is. Modes 2, 3, 4 and 6 get a mask of fixed size that only
// stands for the shape that the mode names.
at::Tensor hidden(const at::Tensor& mask, const Settings& how, int64_t batch, int64_t queries, int64_t keys) {
  if (!given(mask)) return {};
  auto row = at::arange(queries, at::kLong).unsqueeze(1), column = at::arange(keys, at::kLong);
  const int64_t shift = keys - queries;  // modes 3, 4 and 6 count from the lower right corner
  switch (how.sparse_mode) {
    case 0:
    case 1:
    case 5: {
      auto flags = mask.to(at::kBool);
      if (flags.size(-2) > queries) flags = flags.narrow(-2, 0, queries);  // made for the longest sequence, or padded
      if (flags.size(-1) > keys) flags = flags.narrow(-1, 0, keys);
      return flags.dim() == 3 ? flags.unsqueeze(1) : flags;
    }
    case 2: return at::gt(column, row);
    case 3: return at::gt(column, row.add(shift));
    case 4:
      return at::logical_or(at::gt(column, row.add(shift + how.after)), at::lt(column, row.add(shift - how.before)));
    case 6: {
      SIM_CHECK(int64_t(how.prefix.size()) == batch, "sparse mode 6 takes a prefix for each of ", batch, " batches");
      auto ends = at::tensor(how.prefix, at::kLong).reshape({batch, 1, 1, 1});
      return at::logical_and(at::gt(column, row.add(shift)), at::ge(column, ends));
    }
    default: SIM_CHECK(false, "sparse mode ", how.sparse_mode, " is not simulated");
  }
}

at::Tensor for_all_heads(const at::Tensor& x, int64_t heads) {
  return x.size(1) == heads ? x : x.repeat_interleave(divided(heads, x.size(1)), 1);
}

at::Tensor for_own_heads(const at::Tensor& grad, int64_t heads) {
  if (grad.size(1) == heads) return grad;
  return grad.reshape({grad.size(0), heads, divided(grad.size(1), heads), grad.size(2), grad.size(3)}).sum(2);
}

struct Scores {
  at::Tensor probability, max, sum, lost;  // the last: what the sink gets
};

// `out`: of hidden(). The maximum and the sum are those of the forward, where they are given.
Scores scores_of(const Heads& heads, const at::Tensor& pse, const at::Tensor& out, const Settings& how,
                 const at::Tensor& known_max = {}, const at::Tensor& known_sum = {}) {
  auto scores = at::matmul(heads.query, for_all_heads(heads.key, heads.query.size(1)).transpose(-1, -2));
  if (given(pse) && how.pse_type == 1) scores = at::add(scores, wide(pse));
  scores = at::mul(scores, how.scale);
  if (given(pse) && how.pse_type == 0) scores = at::add(scores, wide(pse));
  if (out.defined()) scores = scores.masked_fill(out, -std::numeric_limits<float>::max());
  // Nothing says whether the statistics of the device hold the sink; its backward gets those of its own forward.
  auto sink = given(how.sink) ? wide(how.sink).reshape({1, -1, 1, 1}) : at::Tensor();
  auto max = given(known_max) ? known_max : scores.amax(-1, true);
  if (sink.defined() && !given(known_max)) max = at::maximum(max, sink);
  auto weight = at::exp(at::sub(scores, max));
  if (out.defined()) weight = weight.masked_fill(out, 0);  // a query that sees no key gets zeros
  auto sum = given(known_sum) ? known_sum : weight.sum(-1, true);
  at::Tensor lost;
  if (sink.defined()) {
    lost = at::exp(at::sub(sink, max));
    if (!given(known_sum)) sum = at::add(sum, lost);
    lost = at::div(lost, sum);
  }
  return {at::div(weight, sum.masked_fill(at::eq(sum, 0), 1)), max, sum, lost};
}

at::Tensor kept_of(const at::Tensor& drop_mask, int64_t first, at::IntArrayRef sizes) {
  if (!given(drop_mask)) return {};
  return unpack_bits(drop_mask, first, c10::multiply_integers(sizes)).reshape(sizes);
}
at::Tensor kept_of(const at::Tensor& drop_mask, const Heads& heads) {
  const auto& query = heads.query;
  return kept_of(drop_mask, 0, {query.size(0), query.size(1), query.size(2), heads.key.size(2)});
}

at::Tensor drop(const at::Tensor& x, const at::Tensor& kept, double keep) {
  if (!kept.defined()) return x;
  return at::mul(x, kept).mul_(keep > 0 ? 1 / keep : 0);
}

// The device stores a row's maximum and sum eight times.
void write_statistics(const at::Tensor& out, const at::Tensor& value) {
  if (given(out)) write(out, value.expand(out.sizes()));
}

// The scores of long sequences do not fit into memory: run(first, count) gets as many rows of queries at a time as do.
// What is itself as large as the scores fits already: with it, all are one part.
template <typename F>
void each_rows(const Heads& heads, bool whole, F run) {
  constexpr int64_t kScores = int64_t(1) << 24;
  const int64_t queries = heads.query.size(2);
  const int64_t of_row = std::max<int64_t>(1, heads.query.size(0) * heads.query.size(1) * heads.key.size(2));
  const int64_t most = whole ? std::max<int64_t>(1, queries) : std::max<int64_t>(1, kScores / of_row);
  int64_t first = 0;
  do run(first, std::min(most, queries - first));
  while ((first += most) < queries);
}

// These rows of what has a row for each query, or one for all.
at::Tensor rows_of(const at::Tensor& x, int64_t first, int64_t count) {
  return given(x) && x.size(-2) > 1 ? x.narrow(-2, first, count) : x;
}
Heads rows_of(const Heads& heads, int64_t first, int64_t count) {
  return {rows_of(heads.query, first, count), heads.key, heads.value};
}

at::Tensor joined(const Tensors& rows) { return rows.size() == 1 ? rows[0] : at::cat(rows, 2); }

// Rounded after multiplication with a scale, and over that again.
at::Tensor through_8_bits(const at::Tensor& x, const at::Tensor& scale, at::ScalarType type) {
  if (!given(scale)) return x;
  const auto y = x.mul(scale);
  const bool hifloat8 = type == at::kFloat;
  return (hifloat8 ? from_hifloat8(to_hifloat8(y)) : mx::stepped(y, at::empty({0}, type)).to(at::kFloat)).div_(scale);
}

// What the forward gave, over (batch, heads, sequence, …).
struct Forward {
  at::Tensor max, sum, out;
};

Forward attend(const Heads& heads, const at::Tensor& pse, const at::Tensor& mask, const at::Tensor& kept,
               const Settings& how) {
  const auto out = hidden(mask, how, heads.query.size(0), heads.query.size(2), heads.key.size(2));
  const auto value = for_all_heads(heads.value, heads.query.size(1));
  Tensors max, sum, result;
  each_rows(heads, given(pse) || kept.defined(), [&](int64_t first, int64_t count) {
    auto scores = scores_of(rows_of(heads, first, count), pse, rows_of(out, first, count), how);
    if (how.weight_steps > 0) scores.probability = scores.probability.mul(how.weight_steps).round().clamp(-128, 127);
    const auto weight = through_8_bits(scores.probability, how.weight_scale, how.small);
    result.push_back(at::matmul(drop(weight, kept, how.keep), value));
    max.push_back(scores.max), sum.push_back(scores.sum);
  });
  return {joined(max), joined(sum), joined(result)};
}

struct Gradients {
  at::Tensor query, key, value, pse, sink;
};

Gradients rows_backward(const at::Tensor& grad, const Heads& heads, const at::Tensor& pse, const at::Tensor& out,
                        const at::Tensor& kept, const Settings& how, const Forward& forward) {
  const auto [probability, max, sum, lost] = scores_of(heads, pse, out, how, forward.max, forward.sum);
  const int64_t all = heads.query.size(1), own = heads.key.size(1);
  const auto weight = through_8_bits(probability, how.weight_scale, how.small);
  auto to_value = at::matmul(drop(weight, kept, how.keep).transpose(-1, -2), grad);
  auto to_probability = drop(at::matmul(grad, for_all_heads(heads.value, all).transpose(-1, -2)), kept, how.keep);
  auto common = (given(forward.out) ? at::mul(grad, forward.out) : at::mul(to_probability, probability)).sum(-1, true);
  auto to_scores = through_8_bits(at::mul(probability, at::sub(to_probability, common)), how.gradient_scale, how.small);
  auto to_product = at::mul(to_scores, how.scale);
  Gradients result{at::matmul(to_product, for_all_heads(heads.key, all)),
                   for_own_heads(at::matmul(to_product.transpose(-1, -2), heads.query), own),
                   for_own_heads(to_value, own),
                   {},
                   {}};
  if (lost.defined()) result.sink = at::mul(lost, common).neg().sum({0, 2, 3});
  if (given(pse)) result.pse = at::sum_to(how.pse_type == 1 ? to_product : to_scores, pse.sizes());
  return result;
}

Gradients attend_backward(const at::Tensor& grad, const Heads& heads, const at::Tensor& pse, const at::Tensor& mask,
                          const at::Tensor& kept, const Settings& how, const Forward& forward) {
  const auto out = hidden(mask, how, heads.query.size(0), heads.query.size(2), heads.key.size(2));
  Gradients sums;
  Tensors queries;
  each_rows(heads, given(pse) || kept.defined(), [&](int64_t first, int64_t count) {
    const auto rows = [&](const at::Tensor& x) { return rows_of(x, first, count); };
    const auto part = rows_backward(rows(grad), rows_of(heads, first, count), pse, rows(out), kept, how,
                                    {rows(forward.max), rows(forward.sum), rows(forward.out)});
    queries.push_back(part.query);
    if (first == 0) return void(sums = part);
    sums.key.add_(part.key), sums.value.add_(part.value);
    if (sums.sink.defined()) sums.sink.add_(part.sink);
  });
  sums.query = joined(queries);
  return sums;
}

// The query's shape, with the depth of the values.
Dims result_sizes(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const std::string& layout,
                  int64_t heads) {
  Dims sizes(query.sizes().begin(), query.sizes().end());
  const bool joined = layout == "BSH" || layout == "SBH";
  sizes.back() =
      joined ? heads * divided(value.size(-1), divided(key.size(-1), depth_of(query, layout, heads))) : value.size(-1);
  return sizes;
}

// Eight times the maximum, or the sum, of each head and token: (B, N, S, 8), or (T, N, 8) in layout TND. Where these do
// not lie as the query does, pages also call their shape (N, T, 8).
static void statistics_like(const at::Tensor& query, const std::string& layout, const Settings& how, int64_t heads,
                            const at::Tensor& statistics) {
  if (!given(statistics)) return;
  if (layout == "TND") {
    const Dims turned{heads, query.size(0), 8};
    if (how.by_rows || statistics.sizes() != turned) shape(statistics, {query.size(0), heads, 8});
  } else {
    const bool rows_first = layout == "SBH";
    shape(statistics, {query.size(rows_first), heads, query.size(rows_first ? 0 : layout == "BNSD" ? 2 : 1), 8});
  }
}

void check_forward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const std::string& layout,
                   int64_t heads, const Settings& how, const at::Tensor& max, const at::Tensor& sum,
                   const at::Tensor& out, bool by_sequence) {
  check(query, key, value, layout, heads, how, out, by_sequence);
  for (const at::Tensor& each : {max, sum}) statistics_like(query, layout, how, heads, each);
}

// An output for the gradient of what is not there is not looked at.
static void gradient_like(const at::Tensor& grad, const at::Tensor& of) {
  if (given(grad) && given(of)) like(grad, of);
}

void check_backward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const at::Tensor& grad,
                    const at::Tensor& pse, const std::string& layout, int64_t heads, const Settings& how,
                    const at::Tensor& grad_query, const at::Tensor& grad_key, const at::Tensor& grad_value,
                    const at::Tensor& grad_pse, const MoreGradients& more, bool by_sequence) {
  check_forward(query, key, value, layout, heads, how, how.max, how.sum, given(how.out) ? how.out : at::Tensor(),
                by_sequence);
  shape(grad, result_sizes(query, key, value, layout, heads));
  like(grad_query, query), like(grad_key, key), like(grad_value, value);
  gradient_like(grad_pse, pse), gradient_like(more.sink, how.sink);
  gradient_like(more.query_rope, how.query_rope), gradient_like(more.key_rope, how.key_rope);
}

void check(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const std::string& layout,
           int64_t heads, const Settings& how, const at::Tensor& out, bool by_sequence) {
  if (by_sequence) known_layout(layout, {"TND"});
  else known_layout(layout, {"BNSD", "BSND", "BSH", "SBH"});
  same_dtype({query, key, value});
  SIM_CHECK(query.dim() == key.dim() && heads > 0, "query ", query.sizes(), " and key ", key.sizes(), " do not fit ",
            heads, " heads");
  SIM_CHECK(how.keep > 0 && how.keep <= 1, "keep probability ", how.keep, "; allowed: above 0, up to 1");
  SIM_CHECK(how.pse_type == 0 || how.pse_type == 1, "pse type ", how.pse_type, " is not simulated");
  const bool joined = layout == "BSH" || layout == "SBH";
  SIM_CHECK(query.dim() == (joined || by_sequence ? 3 : 4) && value.dim() == query.dim(), "layout ", layout, ", query ",
            query.sizes(), " and value ", value.sizes());
  SIM_CHECK(joined || query.size(layout == "BNSD" || by_sequence ? 1 : 2) == heads, "query ", query.sizes(),
            " in layout ", layout, " does not have ", heads, " heads");
  shape(out, result_sizes(query, key, value, layout, heads));
  if (given(how.sink)) of_dtype("sink", how.sink, {at::kFloat}), shape(how.sink, {heads});
  SIM_CHECK(given(how.query_rope) == given(how.key_rope), "query_rope and key_rope go together");
  if (!given(how.query_rope)) return;
  known_layout(layout, {"BNSD", "BSND", "TND"});
  same_dtype({query, how.query_rope, how.key_rope});
  const size_t rows = size_t(query.dim() - 1);
  SIM_CHECK(how.query_rope.dim() == query.dim() && how.key_rope.dim() == key.dim() &&
                how.query_rope.sizes().slice(0, rows) == query.sizes().slice(0, rows) &&
                how.key_rope.sizes().slice(0, rows) == key.sizes().slice(0, rows) &&
                how.query_rope.size(-1) == how.key_rope.size(-1),
            "query_rope ", how.query_rope.sizes(), " and key_rope ", how.key_rope.sizes(), " for query ", query.sizes(),
            " and key ", key.sizes());
}

void forward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const at::Tensor& pse,
             const at::Tensor& drop_mask, const at::Tensor& mask, const std::string& layout, int64_t heads,
             const Settings& how, const at::Tensor& max, const at::Tensor& sum, const at::Tensor& out) {
  auto split = heads_of(query, key, value, layout, heads);
  const auto result = attend(split, pse, mask, kept_of(drop_mask, split), how);
  write(out, join_heads(result.out, layout));
  write_statistics(max, result.max);
  write_statistics(sum, result.sum);
}

void backward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const at::Tensor& grad,
              const at::Tensor& pse, const at::Tensor& drop_mask, const at::Tensor& mask, const std::string& layout,
              int64_t heads, const Settings& how, const at::Tensor& grad_query, const at::Tensor& grad_key,
              const at::Tensor& grad_value, const at::Tensor& grad_pse, const at::Tensor& grad_sink) {
  auto split = heads_of(query, key, value, layout, heads);
  auto to = split_heads(grad, layout, divided(grad.size(-1), layout == "BSH" || layout == "SBH" ? heads : 1));
  Forward forward;
  if (given(how.max) && given(how.sum)) forward = {how.max.narrow(-1, 0, 1), how.sum.narrow(-1, 0, 1), {}};
  if (given(how.out)) forward.out = split_heads(how.out, layout, to.size(-1));
  auto grads = attend_backward(to, split, pse, mask, kept_of(drop_mask, split), how, forward);
  write(grad_query, join_heads(grads.query, layout));
  write(grad_key, join_heads(grads.key, layout));
  write(grad_value, join_heads(grads.value, layout));
  if (given(pse)) write_asked(grad_pse, grads.pse);
  if (given(how.sink)) write_asked(grad_sink, grads.sink);
}

// Layout TND: sequences of different lengths one behind the other; the lengths arrive as their running sum.
template <typename F>
void each_sequence(const Dims& query_ends, const Dims& key_ends, int64_t heads, F run) {
  int64_t query = 0, key = 0, bits = 0;
  for (size_t i = 0; i < query_ends.size(); ++i) {
    const int64_t queries = query_ends[i] - query, keys = key_ends[i] - key;
    if (queries && keys) run(i, query, queries, key, keys, bits);
    bits += heads * queries * keys;
    query = query_ends[i];
    key = key_ends[i];
  }
}

at::Tensor sequence(const at::Tensor& x, int64_t first, int64_t length) {
  return wide(x.narrow(0, first, length)).transpose(0, 1).unsqueeze(0);
}
at::Tensor as_rows(const at::Tensor& x) { return x.squeeze(0).transpose(0, 1); }

// Where a long sequence was cut off (the last one in mode 7, the first one in mode 8) it is a band, the others are
// triangles.
Settings of_sequence(const Settings& how, size_t index, size_t count) {
  Settings own = how;
  if (how.sparse_mode == 7) own.sparse_mode = index + 1 == count ? 4 : 3;
  if (how.sparse_mode == 8) own.sparse_mode = index == 0 ? 4 : 2;
  if (how.sparse_mode == 6) {
    SIM_CHECK(how.prefix.size() == count, "sparse mode 6 takes a prefix for each of ", count, " sequences");
    own.prefix = {how.prefix[index]};
  }
  return own;
}

// The statistics of one sequence, (N, S, 8).
at::Tensor statistics_of(const at::Tensor& all, int64_t heads, int64_t first, int64_t length, bool by_rows) {
  if (by_rows) return all.narrow(0, first, length).transpose(0, 1);
  return all.view({-1, all.size(2)}).narrow(0, heads * first, heads * length).view({heads, length, all.size(2)});
}

void forward_by_sequence(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                         const at::Tensor& drop_mask, const at::Tensor& mask, const Dims& query_ends,
                         const Dims& key_ends, int64_t heads, const Settings& how, const at::Tensor& max,
                         const at::Tensor& sum, const at::Tensor& out) {
  out.zero_();  // a sequence without keys
  each_sequence(query_ends, key_ends, heads,
                [&](size_t i, int64_t q, int64_t queries, int64_t k, int64_t keys, int64_t bits) {
                  Heads split{sequence(query, q, queries), sequence(key, k, keys), sequence(value, k, keys)};
                  const auto result = attend(split, {}, mask, kept_of(drop_mask, bits, {1, heads, queries, keys}),
                                             of_sequence(how, i, query_ends.size()));
                  write(out.narrow(0, q, queries), as_rows(result.out));
                  if (given(max))
                    write_statistics(statistics_of(max, heads, q, queries, how.by_rows), result.max.squeeze(0));
                  if (given(sum))
                    write_statistics(statistics_of(sum, heads, q, queries, how.by_rows), result.sum.squeeze(0));
                });
}

void backward_by_sequence(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                          const at::Tensor& grad, const at::Tensor& drop_mask, const at::Tensor& mask,
                          const Dims& query_ends, const Dims& key_ends, int64_t heads, const Settings& how,
                          const at::Tensor& grad_query, const at::Tensor& grad_key, const at::Tensor& grad_value,
                          const at::Tensor& grad_sink) {
  for (const at::Tensor& to : {grad_query, grad_key, grad_value}) to.zero_();  // a sequence without queries or keys
  auto to_sink = at::zeros({heads}, at::kFloat);
  each_sequence(query_ends, key_ends, heads,
                [&](size_t i, int64_t q, int64_t queries, int64_t k, int64_t keys, int64_t bits) {
                  Heads split{sequence(query, q, queries), sequence(key, k, keys), sequence(value, k, keys)};
                  Forward forward;
                  if (given(how.max) && given(how.sum)) {
                    auto first = [&](const at::Tensor& all) {
                      return statistics_of(all, heads, q, queries, how.by_rows).narrow(-1, 0, 1).unsqueeze(0);
                    };
                    forward = {first(how.max), first(how.sum), {}};
                  }
                  if (given(how.out)) forward.out = sequence(how.out, q, queries);
                  auto grads = attend_backward(sequence(grad, q, queries), split, {}, mask,
                                               kept_of(drop_mask, bits, {1, heads, queries, keys}),
                                               of_sequence(how, i, query_ends.size()), forward);
                  write(grad_query.narrow(0, q, queries), as_rows(grads.query));
                  write(grad_key.narrow(0, k, keys), as_rows(grads.key));
                  write(grad_value.narrow(0, k, keys), as_rows(grads.value));
                  if (grads.sink.defined()) to_sink.add_(grads.sink);
                });
  if (given(how.sink)) write_asked(grad_sink, to_sink);
}

// The newest form takes any layout, and draws the dropout mask itself where none is given.
at::Tensor drawn(const at::Tensor& drop_mask, int64_t scores, double keep, int64_t seed, int64_t offset) {
  if (given(drop_mask) || keep >= 1) return drop_mask;
  auto mask = at::empty({(scores + 7) / 8}, at::kByte);
  pack_bits(mask, draw_kept(scores, keep, seed, offset));
  return mask;
}

int64_t scores_by_sequence(const Dims& query_ends, const Dims& key_ends, int64_t heads) {
  int64_t count = 0;
  for (size_t i = 0; i < query_ends.size(); ++i)
    count += heads * (query_ends[i] - (i ? query_ends[i - 1] : 0)) * (key_ends[i] - (i ? key_ends[i - 1] : 0));
  return count;
}

int64_t scores_of_batch(const at::Tensor& query, const at::Tensor& key, const std::string& layout, int64_t heads) {
  auto split = heads_of(query, key, key, layout, heads);
  return split.query.size(0) * heads * split.query.size(2) * split.key.size(2);
}

at::Tensor whole_depth(const at::Tensor& x, const at::Tensor& rope) { return given(rope) ? at::cat({x, rope}, -1) : x; }

void forward_any(const at::Tensor& own_query, const at::Tensor& own_key, const at::Tensor& value, const at::Tensor& pse,
                 const at::Tensor& drop_mask, const at::Tensor& mask, const std::string& layout, int64_t heads,
                 const Settings& how, const Dims& query_ends, const Dims& key_ends, int64_t seed, int64_t offset,
                 const at::Tensor& max, const at::Tensor& sum, const at::Tensor& out) {
  const auto query = whole_depth(own_query, how.query_rope), key = whole_depth(own_key, how.key_rope);
  if (layout == "TND") {
    auto kept = drawn(drop_mask, scores_by_sequence(query_ends, key_ends, heads), how.keep, seed, offset);
    forward_by_sequence(query, key, value, kept, mask, query_ends, key_ends, heads, how, max, sum, out);
  } else {
    auto kept = drawn(drop_mask, scores_of_batch(query, key, layout, heads), how.keep, seed, offset);
    forward(query, key, value, pse, kept, mask, layout, heads, how, max, sum, out);
  }
}

void backward_any(const at::Tensor& own_query, const at::Tensor& own_key, const at::Tensor& value,
                  const at::Tensor& grad, const at::Tensor& pse, const at::Tensor& drop_mask, const at::Tensor& mask,
                  const std::string& layout, int64_t heads, const Settings& how, const Dims& query_ends,
                  const Dims& key_ends, int64_t seed, int64_t offset, const at::Tensor& grad_query,
                  const at::Tensor& grad_key, const at::Tensor& grad_value, const at::Tensor& grad_pse,
                  const MoreGradients& more) {
  const auto query = whole_depth(own_query, how.query_rope), key = whole_depth(own_key, how.key_rope);
  const bool ropes = given(how.query_rope);
  const auto to_query = ropes ? at::empty(query.sizes(), at::kFloat) : grad_query,
             to_key = ropes ? at::empty(key.sizes(), at::kFloat) : grad_key;
  if (layout == "TND") {
    auto kept = drawn(drop_mask, scores_by_sequence(query_ends, key_ends, heads), how.keep, seed, offset);
    backward_by_sequence(query, key, value, grad, kept, mask, query_ends, key_ends, heads, how, to_query, to_key,
                         grad_value, more.sink);
  } else {
    auto kept = drawn(drop_mask, scores_of_batch(query, key, layout, heads), how.keep, seed, offset);
    backward(query, key, value, grad, pse, kept, mask, layout, heads, how, to_query, to_key, grad_value, grad_pse,
             more.sink);
  }
  if (!ropes) return;
  for (const auto& [all, own, rope] :
       {std::tuple(to_query, grad_query, more.query_rope), std::tuple(to_key, grad_key, more.key_rope)}) {
    write(own, all.narrow(-1, 0, own.size(-1)));
    write(rope, all.narrow(-1, own.size(-1), all.size(-1) - own.size(-1)));
  }
}

void check_any(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const at::Tensor& pse,
               const std::string& layout, int64_t heads, const Settings& how, const at::Tensor& out) {
  check(query, key, value, layout, heads, how, out, layout == "TND");
  check_pse(pse, layout);
}

void check_pse(const at::Tensor& pse, const std::string& layout) {
  if (layout == "TND") refuse_if_given({pse}, "a position encoding in layout TND");
}

void whole(const Dims& query_lengths, const Dims& key_lengths) {
  SIM_CHECK(query_lengths.empty() && key_lengths.empty(), "lengths of single sequences are not simulated");
}

void key_heads_fit(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const std::string& layout,
                   int64_t heads, int64_t key_heads) {
  const int64_t found = heads_of(query, key, value, layout, heads).key.size(1);
  SIM_CHECK(found == (key_heads ? key_heads : heads), "numKeyValueHeads is ", key_heads, ", the key has ", found,
            " heads of the query's depth");
}

// ---- numbers of HIFLOAT8 --------------------------------------------------------------------------------------------
void float_of(const char* name, const at::Tensor& x, at::IntArrayRef sizes) {
  of_dtype(name, x, {at::kFloat});
  SIM_CHECK(x.sizes() == sizes, name, " has shape ", x.sizes(), ", expected ", sizes);
}

static void scale_of_blocks(const char* name, const at::Tensor& scale, const at::Tensor& x, int64_t block) {
  float_of(name, scale, {x.size(0), x.size(2), (x.size(1) + block - 1) / block, 1});
}

// (B, S, N, D) as what it stands for.
static at::Tensor times_scales(const at::Tensor& x, const at::Tensor& scale, int64_t block) {
  return wide(x).mul(mx::spread(scale, 2, block, x.size(1)).transpose(1, 2));
}

void check_by_blocks(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const BlockScales& scales,
                     const std::string& layout, int64_t heads, const Settings& how, const at::Tensor& max,
                     const at::Tensor& sum, const at::Tensor& out) {
  known_layout(layout, {"BSND"});
  check(query, key, value, layout, heads, how, out);
  for (const at::Tensor& each : {query, key, value})
    SIM_CHECK(each.dim() == 4 && each.size(0) == query.size(0), "query ", query.sizes(), " and a key or value of ",
              each.sizes());
  SIM_CHECK(query.size(2) == heads, "headNum is ", heads, ", the query has ", query.size(2), " heads");
  SIM_CHECK(key.sizes().slice(0, 3) == value.sizes().slice(0, 3) && heads % key.size(2) == 0 &&
                query.size(3) == key.size(3) && key.size(3) >= value.size(3),
            "query ", query.sizes(), ", key ", key.sizes(), " and value ", value.sizes(), " do not fit");
  scale_of_blocks("dScaleQ", scales.query, query, scales.of_query);
  scale_of_blocks("dScaleK", scales.key, key, scales.of_key);
  scale_of_blocks("dScaleV", scales.value, value, scales.of_value);
  float_of("pScale", how.weight_scale, {1});
  float_of("softmaxMax", max, {query.size(0), heads, query.size(1), 1});
  float_of("softmaxSum", sum, {query.size(0), heads, query.size(1), 1});
}

void check_backward_by_blocks(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                              const at::Tensor& grad, const BlockScales& scales, const std::string& layout,
                              int64_t heads, const Settings& how, int64_t dtype, const at::Tensor& grad_query,
                              const at::Tensor& grad_key, const at::Tensor& grad_value) {
  check_by_blocks(query, key, value, scales, layout, heads, how, how.max, how.sum, how.out);
  SIM_CHECK(key.size(2) == heads && query.size(3) == 128 && value.sizes() == key.sizes(), "query ", query.sizes(),
            ", key ", key.sizes(), " and value ", value.sizes(), "; allowed: as many heads, depth 128");
  like(grad, query), same_dtype({query, grad});
  scale_of_blocks("dScaleDy", scales.grad, grad, scales.of_query);
  float_of("dsScale", how.gradient_scale, {1});
  SIM_CHECK(dtype == 0 || dtype == 1, "outDtype ", dtype, "; allowed: 0 (FLOAT16), 1 (BFLOAT16)");
  like(grad_query, query), like(grad_key, key), like(grad_value, value);
  for (const at::Tensor& each : {grad_query, grad_key, grad_value})
    of_dtype("dqOut, dkOut or dvOut", each, {dtype == 0 ? at::kHalf : at::kBFloat16});
}

void forward_by_blocks(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                       const BlockScales& scales, const std::string& layout, int64_t heads, const Settings& how,
                       const at::Tensor& max, const at::Tensor& sum, const at::Tensor& out) {
  forward(times_scales(query, scales.query, scales.of_query), times_scales(key, scales.key, scales.of_key),
          times_scales(value, scales.value, scales.of_value), {}, {}, {}, layout, heads, how, max, sum, out);
}

void backward_by_blocks(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const at::Tensor& grad,
                        const BlockScales& scales, const std::string& layout, int64_t heads, const Settings& how,
                        const at::Tensor& grad_query, const at::Tensor& grad_key, const at::Tensor& grad_value) {
  backward(times_scales(query, scales.query, scales.of_query), times_scales(key, scales.key, scales.of_key),
           times_scales(value, scales.value, scales.of_value), times_scales(grad, scales.grad, scales.of_query), {}, {},
           {}, layout, heads, how, grad_query, grad_key, grad_value, {});
}

// One new token: the mask has a row for each batch, and a batch of length n sees its first n keys.
void one_token(const at::Tensor& query, const Tensors& keys, const Tensors& values, const at::Tensor& pse,
               const at::Tensor& mask, const Dims& lengths, const std::string& layout, int64_t heads, double scale,
               const at::Tensor& out) {
  const auto split = heads_of(query, keys[0], values[0], layout, heads);
  const int64_t batch = split.query.size(0), count = split.key.size(2);
  auto unseen = at::zeros({batch, 1, 1, count}, at::kBool);
  if (given(mask)) unseen = at::logical_or(unseen, mask.to(at::kBool).reshape({-1, 1, 1, count}));
  if (!lengths.empty()) {
    SIM_CHECK(lengths.size() == 1 || int64_t(lengths.size()) == batch, lengths.size(), " lengths for ", batch,
              " batches");
    for (int64_t length : lengths) SIM_CHECK(length >= 0 && length <= count, "length ", length, " of ", count, " keys");
    unseen = at::logical_or(
        unseen, at::ge(at::arange(count, at::kLong), at::tensor(lengths, at::kLong).reshape({-1, 1, 1, 1})));
  }
  forward(query, keys[0], values[0], pse, {}, unseen, layout, heads, Settings{.scale = scale}, {}, {}, out);
}

void check_one_token(const at::Tensor& query, const Tensors& keys, const Tensors& values, const std::string& layout,
                     int64_t heads, int64_t key_heads, const at::Tensor& out) {
  SIM_CHECK(keys.size() == 1 && values.size() == 1, "a list of ", keys.size(), " keys is not simulated");
  check(query, keys[0], values[0], layout, heads, {}, out);
  const int64_t tokens = heads_of(query, keys[0], values[0], layout, heads).query.size(2);
  SIM_CHECK(tokens == 1, "the query has ", tokens, " tokens; allowed: 1");
  key_heads_fit(query, keys[0], values[0], layout, heads, key_heads);
}

}  // namespace sim::attention
