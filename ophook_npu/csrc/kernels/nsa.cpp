#include "kernels/nsa.h"

#include "kernels/pattern.h"

#include <limits>

#include "kernels/attention.h"
#include "kernels/sparse_attention.h"

namespace sim::nsa {

// ---- compression ---------------------------------------------------------------------------------------------------
static int64_t windows_of(int64_t length, const Windows& windows) {
  return length < windows.size ? 0 : divided(length - windows.size, windows.stride) + 1;
}

static void check_windows(const at::Tensor& x, const at::Tensor& weight, const Windows& windows) {
  same_dtype({x, weight});
  SIM_CHECK(windows.size > 0 && windows.stride > 0 && windows.size % 16 == 0 && windows.stride % 16 == 0 &&
                windows.size >= windows.stride,
            "compressBlockSize ", windows.size, " and compressStride ", windows.stride,
            "; allowed: multiples of 16, the second not above the first");
}

void compressed_like(const at::Tensor& x, const at::Tensor& weight, const Dims& ends, const std::string& layout,
                     const Windows& windows, int64_t kind, const at::Tensor& out) {
  SIM_CHECK(layout == "TND", "layout '", layout, "'; allowed: TND");
  refuse_unless_zero(kind, "actSeqLenType");
  check_windows(x, weight, windows);
  const auto [tokens, heads, depth, size] = shapes<"tokens heads depth, =size heads">({windows.size}, x, weight);
  SIM_CHECK(!ends.empty() && std::is_sorted(ends.begin(), ends.end()) && ends.front() >= 0 && ends.back() == tokens,
            "actSeqLen that ends at ", tokens, " expected");
  int64_t count = 0, first = 0;
  for (const int64_t end : ends) count += windows_of(end - first, windows), first = end;
  shape(out, {count, heads, depth});
}

// Each window of a sequence: (windows, heads, depth, size).
static at::Tensor unfolded(const at::Tensor& x, int64_t first, int64_t count, const Windows& windows) {
  return x.narrow(0, first, (count - 1) * windows.stride + windows.size).unfold(0, windows.size, windows.stride);
}

template <typename F>
static void each_sequence(const Dims& ends, const Windows& windows, F run) {
  int64_t first = 0, place = 0;
  for (const int64_t end : ends) {
    if (const int64_t count = windows_of(end - first, windows)) run(first, place, count), place += count;
    first = end;
  }
}

at::Tensor compressed(const at::Tensor& x, const at::Tensor& weight, const Dims& ends, const Windows& windows) {
  Tensors parts{at::empty({0, x.size(1), x.size(2)}, at::kFloat)};
  const at::Tensor factors = wide(weight).t().unsqueeze(1);  // (heads, 1, size)
  each_sequence(ends, windows, [&](int64_t first, int64_t, int64_t count) {
    parts.push_back(unfolded(wide(x), first, count, windows).mul(factors).sum(-1));
  });
  return at::concat(parts);
}

Tensors compressed_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& weight, const Dims& ends,
                            const Windows& windows) {
  const at::Tensor to_x = at::zeros(x.sizes(), at::kFloat), to_weight = at::zeros(weight.sizes(), at::kFloat);
  const at::Tensor factors = wide(weight).unsqueeze(-1);  // (size, heads, 1)
  each_sequence(ends, windows, [&](int64_t first, int64_t place, int64_t count) {
    const at::Tensor own = wide(grad.narrow(0, place, count));
    to_weight.add_(unfolded(wide(x), first, count, windows).mul(own.unsqueeze(-1)).sum(at::IntArrayRef{0, 2}).t());
    for (int64_t i = 0; i < count; ++i)
      to_x.narrow(0, first + i * windows.stride, windows.size).add_(factors.mul(own[i]));
  });
  return {to_x, to_weight};
}

void cached_like(const Caching& of, const std::string& layout, int64_t kind) {
  SIM_CHECK(of.pages.defined() || layout == "TND", "layout '", layout, "'; allowed: TND");
  SIM_CHECK(kind == 1, "actSeqLenType ", kind, "; allowed: 1");
  check_windows(of.x, of.weight, of.windows);
  same_dtype({of.x, of.cache});
  shapes<"*_ heads depth, =size heads, _ heads depth, =sequences, sequences _?">(
      {of.windows.size, int64_t(of.lengths.size())}, of.x, of.weight, of.cache, of.slots, of.pages);
  SIM_CHECK(of.x.dim() == (of.pages.defined() ? 4 : 3) && of.cache.is_contiguous(), "input ", of.x.sizes(),
            " and outputCache ", of.cache.sizes(), ", ", of.cache.is_contiguous() ? "" : "not ",
            "contiguous, do not go together");
}

void compress_into(const Caching& of) {
  int64_t start = 0;
  for (size_t item = 0; item < of.lengths.size(); ++item) {
    const int64_t length = of.lengths[item], first = length - of.windows.size;
    if (first >= 0 && first % of.windows.stride == 0) {
      const at::Tensor token = at::arange(first, length, at::kLong);
      at::Tensor own;
      if (of.pages.defined()) {
        const int64_t size = of.x.size(1);
        const at::Tensor page = of.pages[int64_t(item)].to(at::kLong).index_select(0, token.div(size, "floor"));
        own = indexed(of.x, {page, token.remainder(size)});
      } else {
        own = of.x.index_select(0, token.add(start));
      }
      of.cache[of.slots[int64_t(item)].item<int64_t>()].copy_(wide(own).mul(wide(of.weight).unsqueeze(-1)).sum(0));
    }
    start += length;
  }
}

// ---- attention to what was compressed -------------------------------------------------------------------------------
static void check_choice(const Choice& choice) {
  const auto& [windows, block, count] = choice;
  SIM_CHECK(windows.size > 0 && windows.stride > 0 && block >= windows.size && windows.size >= windows.stride &&
                windows.size % 16 == 0 && windows.stride % 16 == 0 && block % windows.stride == 0 && count > 0,
            "compressBlockSize ", windows.size, ", compressStride ", windows.stride, ", selectBlockSize ", block,
            " and selectBlockCount ", count, " do not go together");
}

void compressed_attention_like(const Compressed& of, int64_t heads, const std::string& layout, int64_t sparse_mode,
                               const Chosen& to) {
  attention::check_forward({.query = of.query,
                            .key = of.key,
                            .value = of.value,
                            .layout = layout,
                            .heads = heads,
                            .mask = of.mask,
                            .query_ends = of.ends,
                            .key_ends = of.key_ends},
                           {.sparse_mode = sparse_mode, .by_rows = true}, {.max = to.top, .sum = to.sum, .out = to.out},
                           true);
  check_choice(of.choice);
  SIM_CHECK(!of.ends.empty() && of.ends.size() == of.key_ends.size() && of.ends.size() == of.block_ends.size(),
            "lengths of ", of.ends.size(), " sequences of queries, ", of.key_ends.size(), " of compressed keys and ",
            of.block_ends.size(), " of blocks");
  SIM_CHECK(of.query.size(1) == heads && remainder_of(heads, of.key.size(1)) == 0, "query ", of.query.sizes(),
            " and key ", of.key.sizes(), " for ", heads, " heads");
  SIM_CHECK(!given(of.mask) || of.mask.dim() == 2, "a mask of two dimensions expected, got ", of.mask.sizes());
  if (given(of.always)) shape(of.always, {attention::longest_of(of.ends), attention::longest_of(of.block_ends)});
  for (size_t i = 0; i < of.block_ends.size(); ++i)
    SIM_CHECK(!attention::length_of(of.ends, i) || attention::length_of(of.block_ends, i) >= of.choice.count,
              "selectBlockCount ", of.choice.count, " of ", attention::length_of(of.block_ends, i), " blocks");
  shape(to.chosen, {of.query.size(0), of.key.size(1), of.choice.count});
}

// The weight of each block of keys, of (heads, queries, compressed keys). The page counts blocks from 1, as what CANN's
// users compare with does: block j has what the windows weigh that lie in it, each as often as it covers a stride.
static at::Tensor weights_of_blocks(const at::Tensor& probability, int64_t blocks, const Choice& choice) {
  const int64_t strides = choice.block / choice.windows.stride, overlap = choice.windows.size / choice.windows.stride;
  const int64_t keys = probability.size(-1);
  const at::Tensor all = at::zeros({probability.size(0), probability.size(1), blocks}, at::kFloat);
  for (int64_t block = 0; block < blocks; ++block)
    for (int64_t m = 0; m < strides; ++m)
      for (int64_t n = 0; n < overlap; ++n)
        if (const int64_t at = strides * (block + 1) - m - n; at >= 0 && at < keys)
          all.select(2, block).add_(probability.select(2, at));
  return all;
}

static at::Tensor heaviest(const at::Tensor& weights, int64_t count) {
  return std::get<1>(at::sort(weights, /*stable=*/true, -1, /*descending=*/true)).narrow(-1, 0, count);
}

void compressed_attention(const Compressed& of, double scale, const Chosen& to) {
  const int64_t heads = of.query.size(1), key_heads = of.key.size(1), each = divided(heads, key_heads);
  attention::forward_by_sequence({.query = of.query,
                                  .key = of.key,
                                  .value = of.value,
                                  .heads = heads,
                                  .mask = of.mask,
                                  .query_ends = of.ends,
                                  .key_ends = of.key_ends},
                                 {.scale = scale}, {.max = to.top, .sum = to.sum, .out = to.out});
  for (size_t i = 0; i < of.ends.size(); ++i) {
    const auto length = [&](const Dims& all) { return attention::length_of(all, i); };
    const int64_t queries = length(of.ends), keys = length(of.key_ends), blocks = length(of.block_ends);
    if (!queries) continue;
    const auto part = [&](const at::Tensor& x, const Dims& all, int64_t count) {
      return wide(x.narrow(0, all[i] - count, count)).transpose(0, 1);
    };
    at::Tensor score = at::matmul(part(of.query, of.ends, queries),
                                  part(of.key, of.key_ends, keys).repeat_interleave(each, 0).transpose(1, 2))
                           .mul(scale);
    if (given(of.mask)) {
      const double none = -std::numeric_limits<double>::infinity();
      score = score.masked_fill(of.mask.narrow(0, 0, queries).narrow(1, 0, keys).to(at::kBool), none);
    }
    const at::Tensor probability = score.softmax(-1).nan_to_num(0);
    at::Tensor weights =
        weights_of_blocks(probability, blocks, of.choice).reshape({key_heads, each, queries, blocks}).sum(1);
    if (given(of.always))
      weights = weights.masked_fill(of.always.narrow(0, 0, queries).narrow(1, 0, blocks).to(at::kBool),
                                    std::numeric_limits<double>::infinity());
    to.chosen.narrow(0, of.ends[i] - queries, queries).copy_(heaviest(weights, of.choice.count).transpose(0, 1));
  }
}

// Pages (pages, rows, heads * depth) or (pages, rows, heads, depth).
static int64_t depth_in_pages(const at::Tensor& x, int64_t heads) {
  SIM_CHECK((x.dim() == 3 && x.size(2) % heads == 0) || (x.dim() == 4 && x.size(2) == heads), "pages (pages, rows, ",
            heads, " * depth) or (pages, rows, ", heads, ", depth) expected, got ", x.sizes());
  return x.dim() == 3 ? x.size(2) / heads : x.size(3);
}

void one_token_like(const OneToken& of, const Dims& query_lengths, int64_t heads, const std::string& layout,
                    const at::Tensor& out) {
  SIM_CHECK(layout == "TND" || layout == "BSND" || layout == "BSH", "layout '", layout, "'; allowed: TND, BSND");
  const bool tokens = layout == "TND";
  SIM_CHECK(of.query.dim() == (tokens || layout == "BSH" ? 3 : 4), "query as ", layout, " expected, got ",
            of.query.sizes());
  SIM_CHECK(heads > 0 && of.key_heads > 0 && heads % of.key_heads == 0, heads, " heads of queries, ", of.key_heads,
            " of keys");
  if (layout != "BSH")
    SIM_CHECK(of.query.size(-2) == heads, "query of ", heads, " heads expected, got ", of.query.sizes());
  SIM_CHECK(of.pages.defined() && of.pages.dim() == 2 && of.pages.size(0) == int64_t(of.lengths.size()) &&
                of.pages.size(0) == of.query.size(0),
            "a block table, a length of keys and a token for each of ", of.query.size(0), " sequences expected");
  SIM_CHECK(tokens || of.query.size(1) == 1, "queries of ", of.query.size(1), " tokens are not simulated; allowed: 1");
  for (size_t i = 0; i < query_lengths.size(); ++i) {
    const int64_t own = query_lengths[i] - (tokens && i && query_lengths[i] > 1 ? query_lengths[i - 1] : 0);
    SIM_CHECK(own == 1, "queries of ", own, " tokens are not simulated; allowed: 1");
  }
  const int64_t depth = depth_in_pages(of.value, of.key_heads), parts = layout == "BSH" ? heads : 1;
  SIM_CHECK(of.query.size(-1) == parts * depth_in_pages(of.key, of.key_heads) && of.value.dim() == of.key.dim() &&
                of.value.sizes().slice(0, 2) == of.key.sizes().slice(0, 2),
            "query ", of.query.sizes(), ", key ", of.key.sizes(), " and value ", of.value.sizes(),
            "; expected: the query's depth in the key, and the key's pages in the value");
  for (const int64_t length : of.lengths)
    SIM_CHECK(length >= 0 && length <= of.pages.size(1) * of.key.size(1), "a sequence of ", length,
              " keys for a block table ", of.pages.sizes(), " of pages of ", of.key.size(1));
  shapes<"*rows _ -> *rows =width">({layout == "BSH" ? heads * depth : depth}, of.query, out);
}

static int64_t blocks_of(int64_t keys, const Choice& choice) {
  const int64_t reach = (keys - 1) * choice.windows.stride + choice.windows.size;
  return divided(reach + choice.block - 1, choice.block);
}

void check_choice_of_one(const OneToken& of, const at::Tensor& mask, const at::Tensor& always, const Choice& choice,
                         const at::Tensor& chosen) {
  refuse_if_given({mask, always}, "a mask for one token");
  check_choice(choice);
  SIM_CHECK(of.key.dim() == 3, "key (pages, rows, heads * depth) expected, got ", of.key.sizes());
  for (const int64_t length : of.lengths)
    SIM_CHECK(length > 0 && choice.count >= 3 && choice.count <= blocks_of(length, choice), "selectBlockCount ",
              choice.count, " of ", blocks_of(length, choice), " blocks; allowed: 3 up to all");
  shapes<"*rows _ _ -> *rows =heads =count">({of.key_heads, choice.count}, of.query, chosen);
}

// (keys, heads, depth)
static at::Tensor from_pages(const at::Tensor& cache, const at::Tensor& pages, int64_t heads, int64_t count) {
  const at::Tensor token = at::arange(count, at::kLong);
  const at::Tensor page = pages.to(at::kLong).index_select(0, token.div(cache.size(1), "floor"));
  return wide(indexed(cache, {page, token.remainder(cache.size(1))})).reshape({count, heads, -1});
}

void compressed_attention_of_one(const OneToken& of, double scale, const Choice& choice, const at::Tensor& out,
                                 const at::Tensor& chosen) {
  const int64_t count = int64_t(of.lengths.size());
  const at::Tensor queries = wide(of.query).reshape({count, of.key_heads, -1, of.key.size(2) / of.key_heads});
  const at::Tensor outs =
      at::empty({count, of.key_heads, queries.size(2), of.value.size(2) / of.key_heads}, at::kFloat);
  const at::Tensor all_chosen = at::empty({count, of.key_heads, choice.count}, at::kInt);
  for (int64_t item = 0; item < count; ++item) {
    const int64_t keys = of.lengths[size_t(item)], blocks = blocks_of(keys, choice);
    const at::Tensor k = from_pages(of.key, of.pages[item], of.key_heads, keys).permute({1, 2, 0});
    const at::Tensor v = from_pages(of.value, of.pages[item], of.key_heads, keys).transpose(0, 1);
    const at::Tensor probability = at::matmul(queries[item], k).mul(scale).softmax(-1);  // (key heads, each, keys)
    outs[item].copy_(at::matmul(probability, v));
    const at::Tensor weights = weights_of_blocks(probability, blocks, choice).sum(1);
    // The first block and the last two are always there, in this order before the others: what op-plugin's own test
    // compares with, as no page says it.
    const at::Tensor middle = heaviest(weights.narrow(1, 1, blocks - 3), choice.count - 3).add(1);
    const at::Tensor fixed = at::tensor({int64_t(0), blocks - 2, blocks - 1}, at::kLong).expand({of.key_heads, 3});
    all_chosen[item].copy_(at::concat({fixed, middle}, 1));
  }
  write(out, outs.reshape(out.sizes()));
  write(chosen, all_chosen.reshape(chosen.sizes()));
}

// ---- attention to blocks that were chosen ---------------------------------------------------------------------------
void backward_like(const transformer::Selection& of, const transformer::Attended& forward, const at::Tensor& grad,
                   const Gradients& to) {
  for (const at::Tensor& each : {forward.out, grad})
    shape(each, {of.query.size(0), of.query.size(1), of.value.size(2)});
  transformer::statistics_like(of.query, forward);
  like(to.query, of.query), like(to.key, of.key), like(to.value, of.value);
}

void attend_backward(const transformer::Selection& of, const transformer::Attended& forward, const at::Tensor& grad_out,
                     double scale, const Gradients& to) {
  const at::Tensor to_key = at::zeros(of.key.sizes(), at::kFloat), to_value = at::zeros(of.value.sizes(), at::kFloat);
  const auto of_heads = [&](const at::Tensor& x, int64_t token) {
    return wide(x[token]).unflatten(0, {of.key.size(1), -1});
  };
  for (int64_t token = 0; token < of.query.size(0); ++token) {
    const transformer::Seen seen = transformer::seen_by(token, of, scale);
    const at::Tensor grad = of_heads(grad_out, token);
    const auto statistic = [&](const at::Tensor& x) { return of_heads(x, token).narrow(-1, 0, 1); };
    const at::Tensor probability = seen.scores.sub(statistic(forward.top)).exp().div(statistic(forward.sum));
    const at::Tensor common = grad.mul(of_heads(forward.out, token)).sum(-1, true);
    const at::Tensor to_score =
        at::matmul(grad, seen.value.transpose(1, 2)).sub(common).mul(probability).mul(scale);  // (heads, each, keys)
    to.query[token].copy_(at::matmul(to_score, seen.key).flatten(0, 1));
    put_at(to_key, {seen.rows, seen.heads}, at::matmul(to_score.transpose(1, 2), seen.query), /*accumulate=*/true);
    put_at(to_value, {seen.rows, seen.heads}, at::matmul(probability.transpose(1, 2), grad), /*accumulate=*/true);
  }
  write_each({to.key, to.value}, {to_key, to_value});
}

void chosen_of_one_like(const OneToken& of, const at::Tensor& chosen, int64_t count, int64_t block_size) {
  SIM_CHECK(block_size > 0, "selectBlockSize ", block_size, "; allowed: above 0");
  counted("topkIndices", chosen, {of.query.size(0), of.key_heads, count});
}

void attend_of_one(const OneToken& of, const at::Tensor& chosen, double scale, int64_t block_size,
                   const at::Tensor& out) {
  const int64_t count = int64_t(of.lengths.size());
  const auto cache = [&](const at::Tensor& x) { return x.reshape({x.size(0), x.size(1), of.key_heads, -1}); };
  const at::Tensor keys = cache(of.key), values = cache(of.value);
  const at::Tensor own = of.query.reshape({count, 1, -1, keys.size(3)});
  const at::Tensor blocks = chosen.reshape({count, 1, of.key_heads, -1}), nothing;
  const at::Tensor length = at::tensor(of.lengths, at::kLong);
  const std::string of_queries = "BSND", of_keys = "PA_BSND";
  const sparse_attention::Layout layout{of_queries, of_keys, nothing, length, of.pages, sparse_attention::kAll};
  write(out, sparse_attention::attend(layout, {own, keys, values, blocks, nothing, nothing}, scale, block_size)
                 .out.reshape(out.sizes()));
}

}  // namespace sim::nsa
