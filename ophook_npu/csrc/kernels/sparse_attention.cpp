#include "kernels/sparse_attention.h"

#include <limits>

namespace sim::sparse_attention {

static constexpr double kNone = -std::numeric_limits<double>::infinity();

// ---- sequences -----------------------------------------------------------------------------------------------------
static Dims values_of(const at::Tensor& lengths) {
  const at::Tensor values = lengths.to(at::kLong).contiguous();
  return Dims(at::IntArrayRef(values.const_data_ptr<int64_t>(), size_t(values.numel())).vec());
}

struct Sequence {
  int64_t item, queries, first_query, keys, first_key;
};

static std::vector<Sequence> sequences_of(const Layout& layout, const at::Tensor& query, const at::Tensor& key) {
  const Dims queries = layout.query_lengths.defined() ? values_of(layout.query_lengths) : Dims{};
  const Dims keys = layout.key_lengths.defined() ? values_of(layout.key_lengths) : Dims{};
  const bool running = layout.query == "TND", running_keys = layout.key == "TND";
  std::vector<Sequence> all;
  const int64_t count = running ? int64_t(queries.size()) : query.size(0);
  for (int64_t i = 0; i < count; ++i) {
    Sequence one{i, query.size(1), 0, key.size(1), 0};
    if (running) one.first_query = i ? queries[size_t(i - 1)] : 0;
    if (!queries.empty()) one.queries = queries[size_t(i)] - one.first_query;
    if (running_keys) one.first_key = i ? keys[size_t(i - 1)] : 0;
    if (!keys.empty()) one.keys = keys[size_t(i)] - one.first_key;
    SIM_CHECK(one.queries >= 0 && one.keys >= 0 && one.first_query + one.queries <= query.size(running ? 0 : 1) &&
                  (layout.key == "PA_BSND" || one.first_key + one.keys <= key.size(running_keys ? 0 : 1)),
              "sequence ", i, " of ", one.queries, " queries and ", one.keys, " keys does not lie in query ",
              query.sizes(), " and key ", key.sizes());
    all.push_back(one);
  }
  return all;
}

// (queries, heads, depth)
static at::Tensor queries_of(const at::Tensor& x, const Layout& layout, const Sequence& one) {
  return (layout.query == "TND" ? x : x[one.item]).narrow(0, one.first_query, one.queries);
}

static at::Tensor keys_of(const at::Tensor& x, const Layout& layout, const Sequence& one) {
  if (layout.key != "PA_BSND") return (layout.key == "TND" ? x : x[one.item]).narrow(0, one.first_key, one.keys);
  const int64_t used = divided(one.keys + x.size(1) - 1, x.size(1));
  return x.index_select(0, layout.pages[one.item].narrow(0, 0, used).to(at::kLong))
      .flatten(0, 1)
      .narrow(0, 0, one.keys);
}

void layout_like(const Layout& layout, const at::Tensor& query, const at::Tensor& key, int64_t before, int64_t after) {
  SIM_CHECK(layout.query == "BSND" || layout.query == "TND", "layout_query '", layout.query, "'; allowed: BSND, TND");
  SIM_CHECK(layout.key == "PA_BSND" || layout.key == layout.query, "layout of keys '", layout.key,
            "'; allowed: PA_BSND, ", layout.query);
  SIM_CHECK(layout.mode == kAll || layout.mode == kCausal, "sparse_mode ", layout.mode, "; allowed: 0, 3");
  const int64_t all = std::numeric_limits<int64_t>::max();
  SIM_CHECK(before == all && after == all, "pre_tokens ", before, " and next_tokens ", after, "; allowed: ", all);
  for (const auto& [name, x, of] : {std::tuple("query", query, layout.query), std::tuple("key", key, layout.key)}) {
    of_dtype(name, x, {at::kHalf, at::kBFloat16});
    SIM_CHECK(x.dim() == (of == "TND" ? 3 : 4), name, " as ", of, " expected, got ", x.sizes());
  }
  SIM_CHECK(query.size(-1) == key.size(-1) && remainder_of(query.size(-2), key.size(-2)) == 0, "query ", query.sizes(),
            " does not go with key ", key.sizes());
  const bool paged = layout.key == "PA_BSND";
  SIM_CHECK(layout.query != "TND" || layout.query_lengths.defined(), "TND needs the lengths of the queries");
  SIM_CHECK(layout.key == "BSND" || layout.key_lengths.defined(), layout.key, " needs the lengths of the keys");
  SIM_CHECK(paged == layout.pages.defined(), "PA_BSND goes with a block_table");
  const int64_t sequences = layout.query == "TND" ? layout.query_lengths.numel() : query.size(0);
  for (const at::Tensor& lengths : {layout.query_lengths, layout.key_lengths}) {
    if (!lengths.defined()) continue;
    of_dtype("the lengths of sequences", lengths, {at::kInt});
    SIM_CHECK(lengths.dim() == 1 && lengths.size(0) == sequences, "lengths of ", sequences, " sequences expected, got ",
              lengths.sizes());
  }
  if (paged)
    SIM_CHECK(layout.pages.dim() == 2 && layout.pages.size(0) == sequences, "block_table for ", sequences,
              " sequences expected, got ", layout.pages.sizes());
}

// (queries, keys): which key comes too late for which query.
static at::Tensor too_late(int64_t queries, int64_t keys) {
  return at::ones({queries, keys}, at::kBool).triu(keys - queries + 1);
}

// ---- the choice ----------------------------------------------------------------------------------------------------
void chosen_like(const Layout& layout, const at::Tensor& query, const at::Tensor& key, const at::Tensor& weights,
                 int64_t count, bool values_asked, const at::Tensor& out) {
  SIM_CHECK(key.size(-2) == 1, "keys of ", key.size(-2), " heads; allowed: 1");
  SIM_CHECK(weights.sizes() == query.sizes().slice(0, size_t(query.dim() - 1)), "weights ", weights.sizes(),
            " for query ", query.sizes());
  SIM_CHECK((count >= 1 && count <= 2048) || (count <= 8192 && count % 1024 == 0 && count > 0), "sparse_count ", count,
            "; allowed: 1 to 2048, 3072, 4096, 5120, 6144, 7168, 8192");
  SIM_CHECK(!values_asked, "return_value is not simulated");
  at::DimVector sizes(query.sizes());
  sizes[sizes.size() - 2] = 1, sizes.back() = count;
  shape(out, sizes);
}

at::Tensor chosen_keys(const Layout& layout, const at::Tensor& query, const at::Tensor& key, const at::Tensor& weights,
                       int64_t count) {
  at::DimVector sizes(query.sizes());
  sizes[sizes.size() - 2] = 1, sizes.back() = count;
  const at::Tensor out = at::full(sizes, -1, at::kInt);
  for (const Sequence& one : sequences_of(layout, query, key)) {
    const at::Tensor keys = wide(keys_of(key, layout, one)).select(1, 0);
    const at::Tensor products = at::matmul(wide(queries_of(query, layout, one)), keys.t()).relu();
    at::Tensor score = products.mul(wide(queries_of(weights, layout, one)).unsqueeze(-1)).sum(1);
    if (layout.mode == kCausal) score = score.masked_fill(too_late(one.queries, one.keys), kNone);
    const int64_t kept = std::min(count, one.keys);
    const auto [sorted, order] = at::sort(score, /*stable=*/true, -1, /*descending=*/true);
    const at::Tensor best = order.narrow(1, 0, kept).masked_fill(sorted.narrow(1, 0, kept).eq(kNone), -1);
    queries_of(out, layout, one).select(1, 0).narrow(1, 0, kept).copy_(best);
  }
  return out;
}

// ---- attention -----------------------------------------------------------------------------------------------------
void attention_like(const Layout& layout, const Inputs& in, int64_t block, int64_t mode, const at::Tensor& out) {
  SIM_CHECK(mode == 0 || mode == 2, "attention_mode ", mode, "; allowed: 0, 2");
  SIM_CHECK(block > 0, "sparse_block_size ", block);
  SIM_CHECK(in.query_rope.defined() == in.key_rope.defined(), "query_rope and key_rope go together");
  SIM_CHECK(mode == 0 || in.query_rope.defined(), "attention_mode 2 needs query_rope and key_rope");
  of_dtype("sparse_indices", in.chosen, {at::kInt});
  same_dtype({in.query, in.key, in.value, out});
  SIM_CHECK(in.chosen.dim() == in.query.dim() && in.chosen.size(-2) == in.key.size(-2) &&
                in.chosen.sizes().slice(0, size_t(in.query.dim() - 2)) ==
                    in.query.sizes().slice(0, size_t(in.query.dim() - 2)),
            "sparse_indices ", in.chosen.sizes(), " for query ", in.query.sizes(), " and key ", in.key.sizes());
  at::DimVector sizes(in.query.sizes());
  sizes.back() = in.value.size(-1);
  shape(out, sizes);
  if (in.sinks.defined()) {
    of_dtype("sinks", in.sinks, {at::kFloat});
    shape(in.sinks, {in.query.size(-2)});
  }
}

// The keys of each query, and which of them are none: before the sequence's end, and in sight.
struct Chosen {
  at::Tensor keys, none;  // (queries, choices * block)
};

static Chosen keys_of_choices(const at::Tensor& chosen, const Sequence& one, int64_t first, int64_t block,
                              int64_t mode) {
  const at::Tensor numbers = chosen.to(at::kLong);
  const at::Tensor ended = numbers.lt(0).cumsum(1).gt(0);  // choices end with the first -1
  const int64_t blocks = divided(one.keys + block - 1, block);
  SIM_CHECK(!numbers.numel() || numbers.max().item<int64_t>() < blocks, "sparse_indices up to ",
            numbers.max().item<int64_t>(), " of ", blocks, " blocks of keys");
  const at::Tensor keys =
      numbers.masked_fill(ended, 0).unsqueeze(2).mul(block).add(at::arange(block, at::kLong)).flatten(1);
  at::Tensor end = at::full({numbers.size(0)}, one.keys, at::kLong);
  if (mode == kCausal) end = at::arange(numbers.size(0), at::kLong).add(first + one.keys - one.queries + 1);
  const at::Tensor none =
      keys.ge(one.keys).logical_or(keys.ge(end.unsqueeze(1))).logical_or(ended.repeat_interleave(block, 1));
  return {keys.masked_fill(none, 0), none};
}

Attention attend(const Layout& layout, const Inputs& in, double scale, int64_t block) {
  constexpr int64_t kAtOnce = 32;  // queries, each with its own keys
  const int64_t heads = in.key.size(-2), each = divided(in.query.size(-2), heads);
  at::DimVector sizes(in.query.sizes());
  sizes.back() = in.value.size(-1);
  const bool running = layout.query == "TND";
  const Dims of_scores =
      running ? Dims{heads, in.query.size(0), each} : Dims{in.query.size(0), heads, in.query.size(1), each};
  Attention made{at::zeros(sizes, at::kFloat), at::zeros(of_scores, at::kFloat), at::zeros(of_scores, at::kFloat)};
  for (const Sequence& one : sequences_of(layout, in.query, in.key)) {
    if (!one.keys) continue;
    const auto both = [&](const at::Tensor& x, const at::Tensor& rope, auto part) {
      const at::Tensor own = wide(part(x, layout, one));
      return rope.defined() ? at::cat({own, wide(part(rope, layout, one))}, -1) : own;
    };
    const at::Tensor query = both(in.query, in.query_rope, queries_of), key = both(in.key, in.key_rope, keys_of);
    const at::Tensor value = wide(keys_of(in.value, layout, one));
    const at::Tensor all_chosen = queries_of(in.chosen, layout, one), out = queries_of(made.out, layout, one);
    const int64_t parts = divided(one.queries + kAtOnce - 1, kAtOnce);
    for (int64_t part = 0; part < heads * parts; ++part) {
      const int64_t head = part / parts, first = part % parts * kAtOnce;
      const int64_t count = std::min(kAtOnce, one.queries - first);
      const Chosen chosen =
          keys_of_choices(all_chosen.select(1, head).narrow(0, first, count), one, first, block, layout.mode);
      const auto rows = [&](const at::Tensor& x) {
        return x.select(1, head).index_select(0, chosen.keys.flatten()).reshape({count, -1, x.size(2)});
      };
      const at::Tensor score =
          at::matmul(query.narrow(0, first, count).narrow(1, head * each, each), rows(key).transpose(1, 2))
              .mul(scale)
              .masked_fill(chosen.none.unsqueeze(1), kNone);  // (count, each, keys)
      const auto sinks = in.sinks.defined() ? in.sinks.narrow(0, head * each, each) : at::full({each}, kNone);
      at::Tensor largest = at::maximum(score.amax(-1), sinks);
      largest = largest.masked_fill(largest.eq(kNone), 0);  // a query without keys
      const at::Tensor powers = score.sub(largest.unsqueeze(-1)).exp();
      const at::Tensor sum = powers.sum(-1).add(sinks.sub(largest).exp());
      out.narrow(0, first, count)
          .narrow(1, head * each, each)
          .copy_(at::matmul(powers, rows(value)).div(sum.unsqueeze(-1)).nan_to_num(0));
      const auto place = [&](const at::Tensor& all) {
        return (running ? all[head] : all[one.item][head]).narrow(0, one.first_query + first, count);
      };
      place(made.largest).copy_(largest);
      place(made.sum).copy_(sum);
    }
  }
  return made;
}

// ---- parts of one softmax ------------------------------------------------------------------------------------------
void parts_like(const Tensors& log_sums, const Tensors& parts, int64_t kind, const at::Tensor& out,
                const at::Tensor& log_sum) {
  SIM_CHECK(kind == 0 || kind == 1, "update_type ", kind, "; allowed: 0, 1");
  SIM_CHECK(!parts.empty() && parts.size() <= 16 && parts.size() == log_sums.size(), parts.size(), " results and ",
            log_sums.size(), " lse; allowed: as many, 1 to 16");
  for (size_t i = 0; i < parts.size(); ++i) {
    of_dtype("lse", log_sums[i], {at::kFloat});
    of_dtype("local_out", parts[i], {at::kFloat, at::kHalf, at::kBFloat16});
    SIM_CHECK(parts[i].dim() == 2 && log_sums[i].dim() == 1 && parts[i].size(0) == log_sums[i].size(0), "local_out ",
              parts[i].sizes(), " with lse ", log_sums[i].sizes());
    same_dtype({parts[i], out});
    like(out, parts[i]);
  }
  const int64_t depth = out.size(1);
  SIM_CHECK(depth >= 8 && depth <= 512 && depth % 8 == 0, "head_dim ", depth, "; allowed: multiples of 8 up to 512");
  if (kind == 1) like(log_sum, log_sums[0]);
}

Tensors joined(const Tensors& log_sums, const Tensors& parts) {
  const at::Tensor all = at::stack(log_sums), log_sum = all.logsumexp(0);
  at::Tensor out = at::zeros(parts[0].sizes(), at::kFloat);
  for (size_t i = 0; i < parts.size(); ++i)
    out = out.add(wide(parts[i]).mul(log_sums[i].sub(log_sum).exp().unsqueeze(1)));
  return {out, log_sum};
}

}  // namespace sim::sparse_attention
