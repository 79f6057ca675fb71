#include "kernels/block_attention.h"

#include "kernels/pattern.h"

#include <limits>

#include "kernels/attention.h"

namespace sim::block_attention {

// ---- a mask of blocks -----------------------------------------------------------------------------------------------
// The longest sequence. Those of TND are all of x together, and no other is longer than the batches of x are.
static int64_t longest_of(const Dims& lengths, const at::Tensor& x, bool tokens) {
  int64_t all = 0, longest = 0;
  for (const int64_t length : lengths) {
    SIM_CHECK(length >= 0, "a sequence of ", length, " tokens");
    all += length, longest = std::max(longest, length);
  }
  if (tokens) SIM_CHECK(all == x.size(0), "sequences of ", all, " tokens in all, there are ", x.size(0));
  else SIM_CHECK(longest <= x.size(2), "a sequence of ", longest, " tokens, there are ", x.size(2));
  return tokens ? longest : x.size(2);
}

void check(const Blocks& blocks, const std::string& key_layout, int64_t key_heads, int64_t mask_kind,
           const at::Tensor& out) {
  const auto& [query, key, value, mask, block, lengths, key_lengths, layout, scale] = blocks;
  const bool tokens = layout == "TND";
  SIM_CHECK((tokens || layout == "BNSD") && key_layout == layout, "layouts ", layout, " and ", key_layout,
            "; allowed: TND and TND, BNSD and BNSD");
  refuse_unless_zero(mask_kind, "maskType");
  of_dtype("query", query, {at::kHalf, at::kBFloat16});
  same_dtype({query, key, value, out});
  SIM_CHECK(query.dim() == (tokens ? 3 : 4) && key.dim() == query.dim() && mask.dim() == 4 && block.size() >= 2 &&
                block[0] > 0 && block[1] > 0,
            "query and key as ", layout, ", a mask of four dimensions and a block of two sizes expected, got ",
            query.sizes(), ", ", key.sizes(), " and ", mask.sizes());
  of_dtype("blockSparseMask", mask, {at::kChar, at::kBool, at::kByte});
  SIM_CHECK(block[1] % 128 == 0, "blockShapeY ", block[1], "; allowed: multiples of 128");
  SIM_CHECK(key.size(1) == key_heads && remainder_of(query.size(1), key_heads) == 0 && mask.size(1) == query.size(1),
            "query ", query.sizes(), ", key ", key.sizes(), " and mask ", mask.sizes(), " for ", key_heads,
            " heads of keys");
  SIM_CHECK(lengths.size() == key_lengths.size() && (!tokens || !lengths.empty()),
            "actual_seq_lengths of queries and of keys go together, and with TND");
  SIM_CHECK(lengths.empty() || int64_t(lengths.size()) == mask.size(0), lengths.size(), " lengths for ", mask.size(0),
            " sequences");
  like(value, key);
  like(out, query);
  SIM_CHECK(query.size(-1) == key.size(-1) && (tokens || query.size(0) == key.size(0)), "query ", query.sizes(),
            " and key ", key.sizes(), " are of one depth, and of one batch");
  const auto blocks_of = [](int64_t length, int64_t size) { return (length + size - 1) / size; };
  shape(mask, {tokens ? int64_t(lengths.size()) : query.size(0), query.size(1),
               blocks_of(longest_of(lengths, query, tokens), block[0]),
               blocks_of(longest_of(key_lengths, key, tokens), block[1])});
}

void log_sum_like(const at::Tensor& query, const at::Tensor& log_sum) { shapes<"*rows _ -> *rows 1">(query, log_sum); }

template <typename F>
static void each_sequence(const Blocks& blocks, F run) {
  int64_t first = 0, first_key = 0;
  for (int64_t item = 0; item < blocks.mask.size(0); ++item) {
    const int64_t queries = blocks.lengths.empty() ? blocks.query.size(2) : blocks.lengths[size_t(item)];
    const int64_t keys = blocks.key_lengths.empty() ? blocks.key.size(2) : blocks.key_lengths[size_t(item)];
    const auto part = [&](int64_t begin, int64_t count) {
      return [=, tokens = blocks.layout == "TND"](const at::Tensor& x) {  // (1, heads, length, depth)
        return (tokens ? x.narrow(0, begin, count).transpose(0, 1) : x[item].narrow(1, 0, count)).unsqueeze(0);
      };
    };
    const auto spread = [](const at::Tensor& x, int64_t dim, int64_t size, int64_t count) {
      return x.repeat_interleave(size, dim).narrow(dim, 0, count);
    };
    const at::Tensor hidden =
        spread(spread(blocks.mask.narrow(0, item, 1).eq(0), 2, blocks.shape[0], queries), 3, blocks.shape[1], keys);
    if (queries && keys) run(part(first, queries), part(first_key, keys), hidden);
    first += queries, first_key += keys;
  }
}

void attend(const Blocks& blocks, const at::Tensor& out, const at::Tensor& log_sum) {
  out.zero_();
  if (given(log_sum)) log_sum.zero_();
  each_sequence(blocks, [&](auto own, auto of_keys, const at::Tensor& hidden) {
    const at::Tensor queries = own(blocks.query);
    const at::Tensor top = at::empty({1, queries.size(1), queries.size(2), 1}, at::kFloat), sum = at::empty_like(top);
    attention::forward({.query = queries,
                        .key = of_keys(blocks.key),
                        .value = of_keys(blocks.value),
                        .layout = "BNSD",
                        .heads = queries.size(1),
                        .mask = hidden},
                       {.scale = blocks.scale}, {.max = top, .sum = sum, .out = own(out)});
    if (given(log_sum)) own(log_sum).copy_(sum.log().add(top));
  });
}

void backward(const Blocks& blocks, const at::Tensor& grad, const at::Tensor& out, const at::Tensor& log_sum,
              const Gradients& to) {
  for (const at::Tensor& each : {to.query, to.key, to.value}) each.zero_();
  each_sequence(blocks, [&](auto own, auto of_keys, const at::Tensor& hidden) {
    const at::Tensor queries = own(blocks.query), top = own(log_sum).contiguous();
    const attention::Settings how{.scale = blocks.scale, .max = top, .sum = at::ones_like(top), .out = own(out)};
    attention::backward({.query = queries,
                         .key = of_keys(blocks.key),
                         .value = of_keys(blocks.value),
                         .layout = "BNSD",
                         .heads = queries.size(1),
                         .mask = hidden},
                        how, own(grad), {.query = own(to.query), .key = of_keys(to.key), .value = of_keys(to.value)});
  });
}

// ---- Floyd's --------------------------------------------------------------------------------------------------------
void check(const Pairs& in, const at::Tensor& out) {
  of_dtype("query", in.query, {at::kHalf, at::kBFloat16});
  same_dtype({in.query, in.first_key, in.first_value, in.second_key, in.second_value, out});
  shapes<"b heads i k d, b heads i j d, b heads j k d, b heads i j d, b heads j k d, b 1 i 1 j? -> b heads i k d">(
      in.query, in.first_key, in.second_key, in.first_value, in.second_value, given(in.mask) ? in.mask : at::Tensor(),
      out);
}

void statistics_like(const Pairs& in, const at::Tensor& top, const at::Tensor& sum) {
  shapes<"*rows _ -> *rows 8, *rows 8">(in.query, top, sum);
}

// Of (…, i, k, depth) and (…, j, k, depth), for each k: (…, i, k, j).
static at::Tensor by_second(const at::Tensor& x, const at::Tensor& second) {
  return at::matmul(x.transpose(2, 3), second.transpose(2, 3).transpose(3, 4)).transpose(2, 3);
}

static at::Tensor scores_of(const Pairs& in) {
  const at::Tensor query = wide(in.query);
  const at::Tensor score =
      at::matmul(query, wide(in.first_key).transpose(3, 4)).add(by_second(query, wide(in.second_key))).mul(in.scale);
  if (!given(in.mask)) return score;
  return score.masked_fill(in.mask.to(at::kBool), -std::numeric_limits<double>::infinity());
}

// Sums over j of (…, i, k, j) with values of both.
static at::Tensor weighted(const at::Tensor& weight, const at::Tensor& first, const at::Tensor& second) {
  return at::matmul(weight, first).add(at::matmul(weight.transpose(2, 3), second.transpose(2, 3)).transpose(2, 3));
}

Tensors attend(const Pairs& in) {
  const at::Tensor score = scores_of(in);
  at::Tensor top = score.amax(-1, true);
  top = top.masked_fill(top.isinf(), 0);  // a pair without any j
  const at::Tensor weight = score.sub(top).exp(), sum = weight.sum(-1, true);
  return {top, sum, weighted(weight.div(sum.masked_fill(sum.eq(0), 1)), wide(in.first_value), wide(in.second_value))};
}

Tensors backward(const Pairs& in, const at::Tensor& grad, const at::Tensor& top, const at::Tensor& sum,
                 const at::Tensor& out) {
  const auto first = [](const at::Tensor& statistic) { return statistic.narrow(-1, 0, 1); };
  const at::Tensor whole = first(sum);
  const at::Tensor weight = scores_of(in).sub(first(top)).exp().div(whole.masked_fill(whole.eq(0), 1));
  const at::Tensor to = wide(grad), query = wide(in.query);
  const at::Tensor to_weight =
      at::matmul(to, wide(in.first_value).transpose(3, 4)).add(by_second(to, wide(in.second_value)));
  const at::Tensor common = to.mul(wide(out)).sum(-1, true);
  const at::Tensor to_score = to_weight.sub(common).mul(weight).mul(in.scale);
  // (…, i, k, j) with (…, i, k, depth): summed over k for (i, j), over i for (j, k)
  const auto to_first = [](const at::Tensor& x, const at::Tensor& y) { return at::matmul(x.transpose(3, 4), y); };
  const auto to_second = [](const at::Tensor& x, const at::Tensor& y) {
    return at::matmul(x.permute({0, 1, 3, 4, 2}), y.transpose(2, 3)).transpose(2, 3);
  };
  return {weighted(to_score, wide(in.first_key), wide(in.second_key)), to_first(to_score, query), to_first(weight, to),
          to_second(to_score, query), to_second(weight, to)};
}

}  // namespace sim::block_attention
