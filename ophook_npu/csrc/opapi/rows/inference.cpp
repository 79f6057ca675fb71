// Inference of language models: attention of sequences of different lengths, padded or one behind the other, with keys
// that lie in pages; the pages themselves; the choice among the next tokens.

#include "kernels/attention.h"
#include "kernels/rotary.h"
#include "opapi/aclnn.h"

using namespace sim::aclnn;
using namespace sim::attention;

namespace {

// The layouts of the queries and of the result, which the device names together.
struct Layouts {
  std::string in, out;
};

Layouts layouts_of(const std::string& name) {
  const auto bar = name.find('_');
  Layouts result{name.substr(0, bar), bar == std::string::npos ? name : name.substr(bar + 1)};
  for (const std::string& each : {result.in, result.out})
    SIM_CHECK(each == "BSH" || each == "BSND" || each == "BNSD" || each == "TND" || each == "NTD", "layout ", name,
              " is not simulated");
  return result;
}

bool packed_sequences(const std::string& layout) { return layout == "TND" || layout == "NTD"; }

// A sequence as (heads, length, depth): of batch `item`, or from row `start` on where sequences lie one behind the
// other.
at::Tensor sequence(const at::Tensor& x, const std::string& layout, int64_t heads, int64_t item, int64_t start,
                    int64_t length) {
  if (layout == "TND") return x.narrow(0, start, length).transpose(0, 1);
  if (layout == "NTD") return x.narrow(1, start, length);
  if (layout == "BNSD") return x[item].narrow(1, 0, length);
  if (layout == "BSND") return x[item].narrow(0, 0, length).transpose(0, 1);
  return x[item].narrow(0, 0, length).unflatten(-1, {heads, -1}).transpose(0, 1);
}

// Pages are (rows, heads * depth) or (heads, rows, depth).
at::Tensor from_pages(const at::Tensor& cache, const at::Tensor& pages, int64_t heads, int64_t length) {
  const int64_t rows = cache.size(-2);
  auto used = cache.index_select(0, pages.narrow(0, 0, divided(length + rows - 1, rows)).to(at::kLong));
  if (cache.dim() == 4) return used.transpose(0, 1).flatten(1, 2).narrow(1, 0, length);
  return used.flatten(0, 1).narrow(0, 0, length).unflatten(-1, {heads, -1}).transpose(0, 1);
}

// The part of a mask for one sequence, as (1, 1 or heads, queries, keys). A mask of two dimensions is for all
// sequences, or has a row for each that has one query.
at::Tensor mask_of(const at::Tensor& mask, int64_t item, int64_t batch, int64_t queries, int64_t keys) {
  auto part = mask;
  if (part.dim() == 2 && queries == 1 && part.size(0) == batch) part = part.unsqueeze(1);
  if (part.dim() == 2) part = part.unsqueeze(0);
  part = part[part.size(0) == 1 ? 0 : item];
  if (part.dim() == 2) part = part.unsqueeze(0);
  return part.narrow(1, 0, queries).narrow(2, 0, keys).unsqueeze(0);
}

// Without lengths every sequence is whole; one behind the other they arrive as their running sum.
int64_t length_of(const Dims& lengths, bool running, int64_t item, int64_t all) {
  if (lengths.empty()) return all;
  if (running) return lengths[item] - (item ? lengths[item - 1] : 0);
  return lengths.size() == 1 ? lengths[0] : lengths.at(item);
}

// Sparse mode 0 has a band only where there is a mask. One that no pair of tokens lies outside of is none.
void check_band(const at::Tensor& mask, int64_t queries, int64_t keys, const Settings& how) {
  if (how.sparse_mode != 0 || !given(mask)) return;
  const int64_t longest = std::max(queries, keys);
  SIM_CHECK(how.before >= longest && how.after >= longest, "pre_tokens ", how.before, " and next_tokens ", how.after,
            " in sparse mode 0 with a mask, of ", queries, " queries and ", keys, " keys, are not simulated");
}

void check_inference(const at::Tensor& query, const Tensors& keys, const Tensors& values, const std::string& layout,
                     const Dims& query_lengths, const Dims& key_lengths, const at::Tensor& pages,
                     const at::Tensor& mask, int64_t heads, int64_t key_heads, const Settings& how) {
  const auto in = layouts_of(layout).in;
  const bool running = packed_sequences(in);
  SIM_CHECK(keys.size() == 1 && values.size() == 1, "a list of ", keys.size(), " keys is not simulated");
  same_dtype({query, keys[0], values[0]});
  SIM_CHECK(heads > 0 && heads % (key_heads ? key_heads : heads) == 0, heads, " heads of queries, ", key_heads,
            " of keys");
  SIM_CHECK(!running || !query_lengths.empty(), "layout ", layout, " needs actual_seq_lengths");
  const int64_t batch = running ? int64_t(query_lengths.size()) : query.size(0);
  for (const auto* lengths : {&query_lengths, &key_lengths})
    SIM_CHECK(lengths->empty() || int64_t(lengths->size()) == batch || (lengths->size() == 1 && !running),
              lengths->size(), " lengths for ", batch, " sequences");
  const int64_t row = running ? (in == "NTD") : in == "BNSD" ? 2 : 1;
  check_band(mask, query.size(row),
             key_lengths.empty() ? keys[0].size(row) : *std::max_element(key_lengths.begin(), key_lengths.end()), how);
  SIM_CHECK(how.sparse_mode >= 0 && how.sparse_mode <= 4, "sparse mode ", how.sparse_mode, " is not simulated");
  if (!given(pages)) {
    SIM_CHECK(keys[0].dim() == query.dim(), "query ", query.sizes(), " and key ", keys[0].sizes());
    SIM_CHECK(!running || !key_lengths.empty(), "layout ", layout, " needs actual_seq_lengths_kv");
    return;
  }
  SIM_CHECK(pages.dim() == 2 && pages.size(0) == batch, "block_table ", pages.sizes(), " for ", batch, " sequences");
  SIM_CHECK(keys[0].dim() == 3 || keys[0].dim() == 4, "pages of shape ", keys[0].sizes(), " are not simulated");
  SIM_CHECK(!key_lengths.empty(), "paged keys need actual_seq_lengths_kv");
}

void inference(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const at::Tensor& query_rope,
               const at::Tensor& key_rope, const at::Tensor& mask, const std::string& layout, const Dims& query_lengths,
               const Dims& key_lengths, const at::Tensor& pages, int64_t heads, int64_t key_heads, const Settings& how,
               const at::Tensor& out, const at::Tensor& log_sum) {
  const auto [in, to] = layouts_of(layout);
  const bool running = packed_sequences(in), paged = given(pages), fixed_mask = how.sparse_mode >= 2;
  key_heads = key_heads ? key_heads : heads;
  const int64_t batch = running ? int64_t(query_lengths.size()) : query.size(0), row = in == "BNSD" ? 2 : 1;
  out.zero_();
  if (given(log_sum)) log_sum.zero_();
  int64_t first = 0, first_key = 0;
  for (int64_t item = 0; item < batch; ++item) {
    const int64_t queries = length_of(query_lengths, running, item, running ? 0 : query.size(row));
    const int64_t keys = length_of(key_lengths, running && !paged, item, running || paged ? 0 : key.size(row));
    auto own = [&](const at::Tensor& all) { return sequence(all, in, heads, item, first, queries); };
    auto kept = [&](const at::Tensor& all) {
      return paged ? from_pages(all, pages[item], key_heads, keys)
                   : sequence(all, in, key_heads, item, first_key, keys);
    };
    if (queries && keys) {
      auto q = own(query), k = kept(key);
      if (given(query_rope)) q = at::cat({q, own(query_rope)}, -1), k = at::cat({k, kept(key_rope)}, -1);
      auto part = given(mask) && !fixed_mask ? mask_of(mask, item, batch, queries, keys) : mask;
      auto top = at::empty({1, heads, queries, 1}, at::kFloat), sum = at::empty_like(top);
      forward(q.unsqueeze(0), k.unsqueeze(0), kept(value).unsqueeze(0), {}, {}, part, "BNSD", heads, how, top, sum,
              sequence(out, to, heads, item, first, queries).unsqueeze(0));
      if (given(log_sum))
        sequence(log_sum, running ? "TND" : "BNSD", heads, item, first, queries).copy_(sum.log().add(top)[0]);
    }
    first += queries;
    first_key += keys;
  }
}

// ---- pages ---------------------------------------------------------------------------------------------------------
void check_paging(const at::Tensor& key, const at::Tensor& cache, const at::Tensor& slots, const std::string& mode) {
  SIM_CHECK(mode.empty() || mode == "Norm", "cache_mode ", mode, " is not simulated; allowed: Norm");
  SIM_CHECK(key.dim() == 3 && cache.dim() == 4 && slots.dim() == 1 && slots.size(0) == key.size(0),
            "key (tokens, heads, depth), a cache of pages and a slot for each token expected, got ", key.sizes(), ", ",
            cache.sizes(), " and ", slots.sizes());
  SIM_CHECK(cache.size(2) == key.size(1) && cache.size(3) == key.size(2) && cache.is_contiguous(), "pages (rows, ",
            key.size(1), ", ", key.size(2), ") without gaps expected, got ", cache.sizes(), " with strides ",
            cache.strides());
}

void into_pages(const at::Tensor& cache, const at::Tensor& slots, const at::Tensor& rows) {
  cache.view({-1, rows.size(1), rows.size(2)}).index_copy_(0, slots.to(at::kLong), rows);
}

// ---- logits: the k largest, and of these the most probable that together reach p; the others become -inf
// ------------------
void check_logits(const at::Tensor& logits, const at::Tensor& p, const at::Tensor& k, const at::Tensor& out) {
  SIM_CHECK(logits.dim() == 2, "logits (rows, tokens) expected, got ", logits.sizes());
  for (const at::Tensor& each : {p, k})
    if (each.defined()) shape(each, {logits.size(0)});
  like(out, logits);
}

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

}  // namespace

#define INFERENCE \
  Settings { .scale = scale, .before = before, .after = after, .sparse_mode = sparse_mode }
ACLNN(FusedInferAttentionScoreV3,
      (In, query, List, keys, List, values, In, pse, In, mask, Ints, query_lengths, Ints, key_lengths, In, a, In, b, In,
       c, In, d, In, e, In, f, In, g, In, pages, In, query_padding, In, key_padding, In, h, In, i, In, j, In, k, In,
       key_prefix, In, value_prefix, Ints, prefix, In, query_rope, In, key_rope, In, l, int64_t, heads, double, scale,
       int64_t, before, int64_t, after, Text, layout, int64_t, key_heads, int64_t, sparse_mode, int64_t, precision,
       int64_t, block_size, int64_t, antiquant_mode, bool, log_sum_too, int64_t, key_mode, int64_t, value_mode, Out,
       out, Out, log_sum),
      (refuse_if_given({a, b, c, d, e, f, g, h, i, j, k, l}, "quantized attention"),
       refuse_if_given({pse, query_padding, key_padding, key_prefix, value_prefix},
                       "pse_shift, padding on the left or a shared prefix"),
       check_inference(query, keys, values, layout, query_lengths, key_lengths, pages, mask, heads, key_heads,
                       INFERENCE)),
      inference(query, keys[0], values[0], query_rope, key_rope, mask, layout, query_lengths, key_lengths, pages, heads,
                key_heads, INFERENCE, out, log_sum_too ? log_sum : at::Tensor()))
ACLNN(FusedInferAttentionScoreV4,
      (In, query, List, keys, List, values, In, pse, In, mask, Ints, query_lengths, Ints, key_lengths, In, a, In, b, In,
       c, In, d, In, e, In, f, In, g, In, pages, In, query_padding, In, key_padding, In, h, In, i, In, j, In, k, In,
       key_prefix, In, value_prefix, Ints, prefix, In, query_rope, In, key_rope, In, l, In, m, In, sink, int64_t, heads,
       double, scale, int64_t, before, int64_t, after, Text, layout, int64_t, key_heads, int64_t, sparse_mode, int64_t,
       precision, int64_t, block_size, int64_t, antiquant_mode, bool, log_sum_too, int64_t, key_mode, int64_t,
       value_mode, int64_t, query_mode, Out, out, Out, log_sum),
      (refuse_if_given({a, b, c, d, e, f, g, h, i, j, k, l, m}, "quantized attention"),
       refuse_if_given({pse, query_padding, key_padding, key_prefix, value_prefix, sink},
                       "pse_shift, padding on the left, a shared prefix or a sink"),
       check_inference(query, keys, values, layout, query_lengths, key_lengths, pages, mask, heads, key_heads,
                       INFERENCE)),
      inference(query, keys[0], values[0], query_rope, key_rope, mask, layout, query_lengths, key_lengths, pages, heads,
                key_heads, INFERENCE, out, log_sum_too ? log_sum : at::Tensor()))
ACLNN(ScatterPaKvCache,
      (In, key, Ref, key_cache, In, slots, In, value, Ref, value_cache, In, lengths, In, offsets, In, sequence_lengths,
       Text, mode, Text, scatter_mode, Ints, strides, Ints, starts),
      (refuse_if_given({lengths, offsets, sequence_lengths}, "a compressed cache"),
       check_paging(key, key_cache, slots, mode), check_paging(value, value_cache, slots, mode)),
      (into_pages(key_cache, slots, key), into_pages(value_cache, slots, value)))
ACLNN(InterleaveRope, (In, x, In, cos, In, sin, Out, out), like(out, x), write(out, interleaved_rotary(x, cos, sin)))
ACLNN(ApplyTopKTopP, (In, logits, In, p, In, k, Out, out), check_logits(logits, p, k, out),
      write(out, likely(logits, p, k)))
