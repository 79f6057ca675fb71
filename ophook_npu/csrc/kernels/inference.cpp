#include "kernels/inference.h"

#include <limits>

namespace sim::inference {

using namespace sim::attention;

// The layouts of the queries and of the result, which the device names together.
struct Layouts {
  std::string in, out;
};

static Layouts layouts_of(const std::string& name) {
  const auto bar = name.find('_');
  Layouts result{name.substr(0, bar), bar == std::string::npos ? name : name.substr(bar + 1)};
  for (const std::string& each : {result.in, result.out})
    SIM_CHECK(each == "BSH" || each == "BSND" || each == "BNSD" || each == "TND" || each == "NTD", "layout ", name,
              " is not simulated");
  return result;
}

static bool packed_sequences(const std::string& layout) { return layout == "TND" || layout == "NTD"; }

// A sequence as (heads, length, depth): of batch `item`, or from row `start` on where sequences lie one behind the
// other.
static at::Tensor sequence(const at::Tensor& x, const std::string& layout, int64_t heads, int64_t item, int64_t start,
                           int64_t length) {
  if (layout == "TND") return x.narrow(0, start, length).transpose(0, 1);
  if (layout == "NTD") return x.narrow(1, start, length);
  if (layout == "BNSD") return x[item].narrow(1, 0, length);
  if (layout == "BSND") return x[item].narrow(0, 0, length).transpose(0, 1);
  return x[item].narrow(0, 0, length).unflatten(-1, {heads, -1}).transpose(0, 1);
}

// Pages are (rows, heads * depth) or (heads, rows, depth).
static at::Tensor from_pages(const at::Tensor& cache, const at::Tensor& pages, int64_t heads, int64_t length) {
  const int64_t rows = cache.size(-2);
  auto used = cache.index_select(0, pages.narrow(0, 0, divided(length + rows - 1, rows)).to(at::kLong));
  if (cache.dim() == 4) return used.transpose(0, 1).flatten(1, 2).narrow(1, 0, length);
  return used.flatten(0, 1).narrow(0, 0, length).unflatten(-1, {heads, -1}).transpose(0, 1);
}

// The part of a mask, or of a position encoding, for one sequence, as (1, 1 or heads, queries, keys). A mask of two
// dimensions is for all sequences, or has a row for each that has one query.
static at::Tensor mask_of(const at::Tensor& mask, int64_t item, int64_t batch, int64_t queries, int64_t keys) {
  auto part = mask;
  if (part.dim() == 2 && queries == 1 && part.size(0) == batch) part = part.unsqueeze(1);
  if (part.dim() == 2) part = part.unsqueeze(0);
  part = part[part.size(0) == 1 ? 0 : item];
  if (part.dim() == 2) part = part.unsqueeze(0);
  return part.narrow(1, 0, queries).narrow(2, 0, keys).unsqueeze(0);
}

// Without lengths every sequence is whole; one behind the other they arrive as their running sum.
static int64_t length_of(const Dims& lengths, bool running, int64_t item, int64_t all) {
  if (lengths.empty()) return all;
  if (running) return lengths[item] - (item ? lengths[item - 1] : 0);
  return lengths.size() == 1 ? lengths[0] : lengths.at(item);
}

// Sparse mode 0 has a band only where there is a mask. One that no pair of tokens lies outside of is none.
static void check_band(const at::Tensor& mask, int64_t queries, int64_t keys, const Settings& how) {
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

void attend_sequences(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                      const at::Tensor& query_rope, const at::Tensor& key_rope, const at::Tensor& pse,
                      const at::Tensor& mask, const std::string& layout, const Dims& query_lengths,
                      const Dims& key_lengths, const at::Tensor& pages, int64_t heads, int64_t key_heads,
                      const Settings& how, const at::Tensor& out, const at::Tensor& log_sum) {
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
      auto shift = given(pse) ? mask_of(pse, item, batch, queries, keys) : pse;
      auto top = at::empty({1, heads, queries, 1}, at::kFloat), sum = at::empty_like(top);
      forward(q.unsqueeze(0), k.unsqueeze(0), kept(value).unsqueeze(0), shift, {}, part, "BNSD", heads, how, top, sum,
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

// ---- logits: the k largest, and of these the most probable that together reach p; the others become -inf -----------
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

}  // namespace sim::inference
