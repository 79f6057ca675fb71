// is computed in float over (batch, heads, sequence, depth), whatever the layout and dtype of the caller's tensors.
#include "kernels/attention.h"

#include <ATen/Parallel.h>

#include "kernels/hifloat8.h"
#include "kernels/loops.h"
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
  at::Tensor weight, max, sum, lost;  // weights that divided by their sum are the probabilities; what the sink gets
};

static at::Tensor not_zero(const at::Tensor& sum) { return sum.masked_fill(at::eq(sum, 0), 1); }

// Each row's run(its numbers, how many, its number), in several threads where there are.
template <typename F>
void each_row(const at::Tensor& rows, F run) {
  const int64_t count = rows.size(-1);
  float* all = rows.mutable_data_ptr<float>();
  at::parallel_for(0, count ? rows.numel() / count : 0, std::max<int64_t>(1, (1 << 14) / std::max<int64_t>(1, count)),
                   [&](int64_t first, int64_t last) {
                     for (int64_t row = first; row < last; ++row) run(all + row * count, count, row);
                   });
}

// `out`: of hidden(). The maximum and the sum are those of the forward, where they are given. The scores lie in `room`,
// which each part of the rows uses again: fresh memory for each takes a tenth of the time.
Scores weights_of(at::Tensor& room, const Heads& heads, const at::Tensor& pse, const at::Tensor& out,
                  const Settings& how, const at::Tensor& known_max = {}, const at::Tensor& known_sum = {}) {
  const bool scaled_late = given(pse) && how.pse_type == 1;
  auto query = heads.query.flatten(0, 1);
  if (how.scale != 1 && !scaled_late) query = query.mul(how.scale);  // fewer numbers than the scores
  const auto key = for_all_heads(heads.key, heads.query.size(1)).flatten(0, 1);
  const int64_t count = query.size(0) * query.size(1) * key.size(1);
  if (!room.defined() || room.numel() < count) room = at::empty({count}, at::kFloat);
  auto scores = room.narrow(0, 0, count).view({query.size(0), query.size(1), key.size(1)});
  at::bmm_out(scores, query, key.transpose(-1, -2));
  scores = scores.view({heads.query.size(0), heads.query.size(1), query.size(1), key.size(1)});
  if (given(pse)) scores.add_(wide(pse));
  if (how.scale != 1 && scaled_late) scores.mul_(how.scale);
  constexpr float kHidden = -std::numeric_limits<float>::max();
  if (out.defined()) scores.masked_fill_(out, kHidden);
  Dims of_rows = scores.sizes().vec();
  of_rows.back() = 1;
  // Nothing says whether the statistics of the device hold the sink; its backward gets those of its own forward.
  auto sink = given(how.sink) ? wide(how.sink).reshape({1, -1, 1, 1}) : at::Tensor();
  at::Tensor max = known_max;
  if (!given(known_max)) {
    max = at::empty(of_rows, at::kFloat);
    float* tops = max.mutable_data_ptr<float>();
    each_row(scores, [&](float* row, int64_t count, int64_t i) { tops[i] = loops::largest(row, count); });
    if (sink.defined()) max = at::maximum(max, sink);
  }
  const at::Tensor tops = max.expand(of_rows).to(at::kFloat).contiguous();
  at::Tensor sum = at::empty(of_rows, at::kFloat);
  std::atomic<bool> blind{false};
  each_row(scores, [&](float* row, int64_t count, int64_t i) {
    const float top = tops.const_data_ptr<float>()[i];
    sum.mutable_data_ptr<float>()[i] = loops::raised(row, count, top);
    if (top <= kHidden) blind = true;
  });
  if (out.defined() && blind) {  // a query that sees no key gets zeros
    scores.masked_fill_(out, 0);
    sum = scores.sum(-1, true);
  }
  at::Tensor lost;
  if (given(known_sum)) sum = known_sum;
  if (sink.defined()) {
    lost = at::exp(at::sub(sink, max));
    if (!given(known_sum)) sum = at::add(sum, lost);
    lost = at::div(lost, sum);
  }
  return {scores, max, sum, lost};
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

// The scores of long sequences do not fit into memory, and those of short ones not into a core's cache: run(first,
// count) gets as many rows of queries at a time as do, and no fewer than a product of matrices is fast with. What is
// itself as large as the scores fits already: with it, all are one part.
constexpr int64_t kCached = int64_t(1) << 20;
template <typename F>
void each_rows(const Heads& heads, bool whole, F run) {
  constexpr int64_t kMost = int64_t(1) << 24, kFast = 32;
  const int64_t queries = heads.query.size(2);
  const int64_t of_row = std::max<int64_t>(1, heads.query.size(0) * heads.query.size(1) * heads.key.size(2));
  const int64_t cached = std::max(kFast, kCached * at::get_num_threads() / of_row);
  const int64_t most = std::max<int64_t>(1, whole ? queries : std::min(cached, kMost / of_row));
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

at::Tensor joined(const Tensors& rows) { return rows.size() == 1 ? rows[0] : at::concat(rows, 2); }

// Rounded after multiplication with a scale, and over that again.
at::Tensor through_8_bits(const at::Tensor& x, const at::Tensor& scale, at::ScalarType type) {
  if (!given(scale)) return x;
  const auto y = x.mul(scale);
  const bool hifloat8 = type == at::kFloat;
  return (hifloat8 ? from_hifloat8(to_hifloat8(y)) : mx::stepped(y, at::empty({0}, type)).to(at::kFloat)).div_(scale);
}

static Heads heads_of(const Inputs& in) { return heads_of(in.query, in.key, in.value, in.layout, in.heads); }

// What the forward gave, over (batch, heads, sequence, …).
struct Forward {
  at::Tensor max, sum, out;
};

static Forward attend_heads(at::Tensor& room, const Heads& all, const at::Tensor& pse, const at::Tensor& out,
                            const at::Tensor& kept, const Settings& how) {
  // Where the probabilities themselves are nobody's business, what is divided is the result, which is smaller.
  const bool as_sums = !kept.defined() && how.weight_steps <= 0 && !given(how.weight_scale);
  Tensors max, sum, result;
  each_rows(all, given(pse) || kept.defined(), [&](int64_t first, int64_t count) {
    const auto scores = weights_of(room, rows_of(all, first, count), pse, rows_of(out, first, count), how);
    max.push_back(scores.max), sum.push_back(scores.sum);
    if (as_sums) return result.push_back(at::matmul(scores.weight, all.value).div_(not_zero(scores.sum)));
    auto probability = scores.weight.div_(not_zero(scores.sum));
    if (how.weight_steps > 0) probability = probability.mul(how.weight_steps).round().clamp(-128, 127);
    const auto weight = through_8_bits(probability, how.weight_scale, how.small);
    result.push_back(at::matmul(drop(weight, kept, how.keep), all.value));
  });
  return {joined(max), joined(sum), joined(result)};
}

Forward attend(const Heads& heads, const at::Tensor& pse, const at::Tensor& mask, const at::Tensor& kept,
               const Settings& how) {
  const auto out = hidden(mask, how, heads.query.size(0), heads.query.size(2), heads.key.size(2));
  const int64_t count = heads.query.size(1);
  const Heads all{heads.query, for_all_heads(heads.key, count), for_all_heads(heads.value, count)};
  const int64_t of_head = std::max<int64_t>(1, all.query.size(0) * all.query.size(2) * all.key.size(2));
  const int64_t most = std::max<int64_t>(1, kCached * at::get_num_threads() / of_head);
  // A few heads at a time: each part of the queries would prepare the keys of all heads anew for its product.
  const bool apart = !given(pse) && !kept.defined() && !given(how.sink) && !given(how.weight_scale);
  at::Tensor room;
  if (!apart || most >= count) return attend_heads(room, all, pse, out, kept, how);
  Tensors max, sum, result;
  for (int64_t first = 0; first < count; first += most) {
    const auto some = [&](const at::Tensor& x) {
      const bool has_heads = given(x) && x.dim() > 2 && x.size(-3) > 1;
      return has_heads ? x.narrow(-3, first, std::min(most, count - first)) : x;
    };
    const Forward part =
        attend_heads(room, {some(all.query), some(all.key), some(all.value)}, pse, some(out), kept, how);
    max.push_back(part.max), sum.push_back(part.sum), result.push_back(part.out);
  }
  return {at::concat(max, 1), at::concat(sum, 1), at::concat(result, 1)};
}

Gradients rows_backward(at::Tensor& room, const at::Tensor& grad, const Heads& heads, const at::Tensor& pse,
                        const at::Tensor& out, const at::Tensor& kept, const Settings& how, const Forward& forward) {
  const auto [weights, max, sum, lost] = weights_of(room, heads, pse, out, how, forward.max, forward.sum);
  const at::Tensor probability = weights.div_(not_zero(sum));
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
  at::Tensor room;
  each_rows(heads, given(pse) || kept.defined(), [&](int64_t first, int64_t count) {
    const auto rows = [&](const at::Tensor& x) { return rows_of(x, first, count); };
    const auto part = rows_backward(room, rows(grad), rows_of(heads, first, count), pse, rows(out), kept, how,
                                    {rows(forward.max), rows(forward.sum), rows(forward.out)});
    queries.push_back(part.query);
    if (first == 0) return void(sums = part);
    sums.key.add_(part.key), sums.value.add_(part.value);
    if (sums.sink.defined()) sums.sink.add_(part.sink);
  });
  sums.query = joined(queries);
  return sums;
}

// What is added to the scores (batch or 1, heads, queries, keys): the caller's, or made of slopes.
at::Tensor position_encoding(const Inputs& in, const Heads& heads, const Settings& how) {
  if (how.pse_type < 2) return in.pse;
  const auto places = [](const at::Tensor& x, const Dims& start) {
    return at::arange(x.size(2), at::kFloat).add_(start.empty() ? 0 : start[0]);
  };
  auto distance = at::sub(places(heads.query, how.query_start).unsqueeze(1), places(heads.key, how.key_start)).abs_();
  if (how.pse_type == 3) distance.sqrt_();
  return at::mul(wide(in.pse).neg().reshape({-1, heads.query.size(1), 1, 1}), distance);
}

void forward(const Inputs& in, const Settings& how, const Outputs& to) {
  auto split = heads_of(in);
  const auto result = attend(split, position_encoding(in, split, how), in.mask, kept_of(in.drop_mask, split), how);
  write(to.out, join_heads(result.out, in.layout));
  write_statistics(to.max, result.max);
  write_statistics(to.sum, result.sum);
}

void backward(const Inputs& in, const Settings& how, const at::Tensor& grad, const Gradients& to) {
  auto split = heads_of(in);
  auto rows =
      split_heads(grad, in.layout, divided(grad.size(-1), in.layout == "BSH" || in.layout == "SBH" ? in.heads : 1));
  Forward forward;
  if (given(how.max) && given(how.sum)) forward = {how.max.narrow(-1, 0, 1), how.sum.narrow(-1, 0, 1), {}};
  if (given(how.out)) forward.out = split_heads(how.out, in.layout, rows.size(-1));
  auto grads = attend_backward(rows, split, position_encoding(in, split, how), in.mask, kept_of(in.drop_mask, split),
                               how, forward);
  write(to.query, join_heads(grads.query, in.layout));
  write(to.key, join_heads(grads.key, in.layout));
  write(to.value, join_heads(grads.value, in.layout));
  if (given(in.pse) && how.pse_type < 2) write_asked(to.pse, grads.pse);  // slopes are not learned
  if (given(how.sink)) write_asked(to.sink, grads.sink);
}

at::Tensor sequence(const at::Tensor& x, int64_t first, int64_t length) {
  return wide(x.narrow(0, first, length)).transpose(0, 1).unsqueeze(0);
}
void write_rows(const at::Tensor& to, int64_t first, int64_t length, const at::Tensor& x) {
  write(to.narrow(0, first, length), x.squeeze(0).transpose(0, 1));
}

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

// Layout TND: sequences of different lengths one behind the other; the lengths arrive as their running sum.
struct OneSequence {
  int64_t query, queries, key, keys;  // where its rows begin, and how many there are
  Heads heads;
  at::Tensor kept;
  Settings how;
};
template <typename F>
void each_sequence(const Inputs& in, const Settings& how, F run) {
  int64_t bits = 0;
  for (size_t i = 0; i < in.query_ends.size(); ++i) {
    const int64_t queries = length_of(in.query_ends, i), keys = length_of(in.key_ends, i);
    const int64_t q = in.query_ends[i] - queries, k = in.key_ends[i] - keys;
    if (queries && keys)
      run(OneSequence{q, queries, k, keys,
                      Heads{sequence(in.query, q, queries), sequence(in.key, k, keys), sequence(in.value, k, keys)},
                      kept_of(in.drop_mask, bits, {1, in.heads, queries, keys}),
                      of_sequence(how, i, in.query_ends.size())});
    bits += in.heads * queries * keys;
  }
}

// The statistics of one sequence, (N, S, 8).
at::Tensor statistics_of(const at::Tensor& all, int64_t heads, int64_t first, int64_t length, bool by_rows) {
  if (by_rows) return all.narrow(0, first, length).transpose(0, 1);
  return all.view({-1, all.size(2)}).narrow(0, heads * first, heads * length).view({heads, length, all.size(2)});
}

void forward_by_sequence(const Inputs& in, const Settings& how, const Outputs& to) {
  to.out.zero_();  // a sequence without keys
  each_sequence(in, how, [&](const OneSequence& one) {
    const auto result = attend(one.heads, {}, in.mask, one.kept, one.how);
    write_rows(to.out, one.query, one.queries, result.out);
    for (const auto& [all, own] : {std::pair(to.max, result.max), std::pair(to.sum, result.sum)})
      if (given(all))
        write_statistics(statistics_of(all, in.heads, one.query, one.queries, how.by_rows), own.squeeze(0));
  });
}

void backward_by_sequence(const Inputs& in, const Settings& how, const at::Tensor& grad, const Gradients& to) {
  for (const at::Tensor& each : {to.query, to.key, to.value}) each.zero_();  // a sequence without queries or keys
  auto to_sink = at::zeros({in.heads}, at::kFloat);
  each_sequence(in, how, [&](const OneSequence& one) {
    Forward forward;
    if (given(how.max) && given(how.sum)) {
      auto first = [&](const at::Tensor& all) {
        return statistics_of(all, in.heads, one.query, one.queries, how.by_rows).narrow(-1, 0, 1).unsqueeze(0);
      };
      forward = {first(how.max), first(how.sum), {}};
    }
    if (given(how.out)) forward.out = sequence(how.out, one.query, one.queries);
    auto grads =
        attend_backward(sequence(grad, one.query, one.queries), one.heads, {}, in.mask, one.kept, one.how, forward);
    write_rows(to.query, one.query, one.queries, grads.query);
    write_rows(to.key, one.key, one.keys, grads.key);
    write_rows(to.value, one.key, one.keys, grads.value);
    if (grads.sink.defined()) to_sink.add_(grads.sink);
  });
  if (given(how.sink)) write_asked(to.sink, to_sink);
}

// The newest form takes any layout, and draws the dropout mask itself where none is given.
at::Tensor drawn(const Inputs& in, int64_t scores, double keep) {
  if (given(in.drop_mask) || keep >= 1) return in.drop_mask;
  auto mask = at::empty({(scores + 7) / 8}, at::kByte);
  pack_bits(mask, draw_kept(scores, keep, in.seed, in.offset));
  return mask;
}

at::Tensor whole_depth(const at::Tensor& x, const at::Tensor& rope) {
  return given(rope) ? at::concat({x, rope}, -1) : x;
}

// The same with the whole depth, and the dropout mask that counts.
Inputs whole_inputs(const Inputs& in, const Settings& how) {
  Inputs whole = in;
  whole.query = whole_depth(in.query, how.query_rope), whole.key = whole_depth(in.key, how.key_rope);
  whole.drop_mask = drawn(whole, scores_of(in), how.keep);
  return whole;
}

void forward_any(const Inputs& in, const Settings& how, const Outputs& to) {
  const Inputs whole = whole_inputs(in, how);
  in.layout == "TND" ? forward_by_sequence(whole, how, to) : forward(whole, how, to);
}

void backward_any(const Inputs& in, const Settings& how, const at::Tensor& grad, const Gradients& to) {
  const Inputs whole = whole_inputs(in, how);
  const bool ropes = given(how.query_rope);
  Gradients of_whole = to;
  if (ropes) {
    of_whole.query = at::empty(whole.query.sizes(), at::kFloat);
    of_whole.key = at::empty(whole.key.sizes(), at::kFloat);
  }
  in.layout == "TND" ? backward_by_sequence(whole, how, grad, of_whole) : backward(whole, how, grad, of_whole);
  if (!ropes) return;
  for (const auto& [all, own, rope] :
       {std::tuple(of_whole.query, to.query, to.query_rope), std::tuple(of_whole.key, to.key, to.key_rope)}) {
    write(own, all.narrow(-1, 0, own.size(-1)));
    write(rope, all.narrow(-1, own.size(-1), all.size(-1) - own.size(-1)));
  }
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

void check_by_blocks(const Inputs& in, const BlockScales& scales, const Settings& how, const Outputs& to) {
  known_layout(in.layout, {"BSND"});
  check(in, how, to.out);
  scale_of_blocks("dScaleQ", scales.query, in.query, scales.of_query);
  scale_of_blocks("dScaleK", scales.key, in.key, scales.of_key);
  scale_of_blocks("dScaleV", scales.value, in.value, scales.of_value);
  float_of("pScale", how.weight_scale, {1});
  float_of("softmaxMax", to.max, {in.query.size(0), in.heads, in.query.size(1), 1});
  float_of("softmaxSum", to.sum, {in.query.size(0), in.heads, in.query.size(1), 1});
}

void check_backward_by_blocks(const Inputs& in, const BlockScales& scales, const Settings& how, const at::Tensor& grad,
                              int64_t dtype, const Gradients& to) {
  check_by_blocks(in, scales, how, {how.max, how.sum, how.out});
  SIM_CHECK(in.key.size(2) == in.heads && in.query.size(3) == 128 && in.value.sizes() == in.key.sizes(), "query ",
            in.query.sizes(), ", key ", in.key.sizes(), " and value ", in.value.sizes(),
            "; allowed: as many heads, depth 128");
  like(grad, in.query), same_dtype({in.query, grad});
  scale_of_blocks("dScaleDy", scales.grad, grad, scales.of_query);
  float_of("dsScale", how.gradient_scale, {1});
  SIM_CHECK(dtype == 0 || dtype == 1, "outDtype ", dtype, "; allowed: 0 (FLOAT16), 1 (BFLOAT16)");
  like(to.query, in.query), like(to.key, in.key), like(to.value, in.value);
  for (const at::Tensor& each : {to.query, to.key, to.value})
    of_dtype("dqOut, dkOut or dvOut", each, {dtype == 0 ? at::kHalf : at::kBFloat16});
}

static Inputs of_scales(const Inputs& in, const BlockScales& scales) {
  Inputs whole = in;
  whole.query = times_scales(in.query, scales.query, scales.of_query);
  whole.key = times_scales(in.key, scales.key, scales.of_key);
  whole.value = times_scales(in.value, scales.value, scales.of_value);
  return whole;
}

void forward_by_blocks(const Inputs& in, const BlockScales& scales, const Settings& how, const Outputs& to) {
  forward(of_scales(in, scales), how, to);
}

void backward_by_blocks(const Inputs& in, const BlockScales& scales, const Settings& how, const at::Tensor& grad,
                        const Gradients& to) {
  backward(of_scales(in, scales), how, times_scales(grad, scales.grad, scales.of_query), to);
}

}  // namespace sim::attention
