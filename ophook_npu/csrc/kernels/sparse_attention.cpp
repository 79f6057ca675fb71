#include "kernels/sparse_attention.h"

#include "kernels/groups.h"
#include "kernels/pattern.h"

#include <limits>

namespace sim::sparse_attention {

static constexpr double kNone = -std::numeric_limits<double>::infinity();

// ---- sequences -----------------------------------------------------------------------------------------------------
struct Sequence {
  int64_t item, queries, first_query, keys, first_key;
};

static std::vector<Sequence> sequences_of(const Layout& layout, const at::Tensor& query, const at::Tensor& key) {
  const Dims queries = groups::numbers(layout.query_lengths), keys = groups::numbers(layout.key_lengths);
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

at::Tensor as_lengths(const Dims& lengths) {
  return lengths.empty() ? at::Tensor() : at::tensor(lengths, at::kLong).to(at::kInt);
}

void layout_like(const Layout& layout, const at::Tensor& query, const at::Tensor& key, int64_t before, int64_t after,
                 std::initializer_list<at::ScalarType> query_types, std::initializer_list<at::ScalarType> key_types,
                 bool same_depth) {
  SIM_CHECK(layout.query == "BSND" || layout.query == "TND", "layout_query '", layout.query, "'; allowed: BSND, TND");
  SIM_CHECK(layout.key == "PA_BSND" || layout.key == layout.query, "layout of keys '", layout.key,
            "'; allowed: PA_BSND, ", layout.query);
  SIM_CHECK(layout.mode == kAll || layout.mode == kCausal, "sparse_mode ", layout.mode, "; allowed: 0, 3");
  const int64_t all = std::numeric_limits<int64_t>::max();
  const auto rows_of = [](const at::Tensor& x) {
    return x.dim() > 2 ? x.size(x.dim() - 3) : std::numeric_limits<int64_t>::max();
  };
  const int64_t rows = std::max(rows_of(query), rows_of(key));  // no sequence is longer: such a band is none
  SIM_CHECK((before == all && after == all) || (layout.key != "PA_BSND" && before >= rows && after >= rows),
            "pre_tokens ", before, " and next_tokens ", after, "; allowed: ", all);
  of_dtype("query", query, query_types);
  of_dtype("key", key, key_types);
  for (const auto& [name, x, of] : {std::tuple("query", query, layout.query), std::tuple("key", key, layout.key)}) {
    SIM_CHECK(x.dim() == (of == "TND" ? 3 : 4), name, " as ", of, " expected, got ", x.sizes());
  }
  SIM_CHECK((query.size(-1) == key.size(-1) || !same_depth) && remainder_of(query.size(-2), key.size(-2)) == 0,
            "query ", query.sizes(), " does not go with key ", key.sizes());
  const bool paged = layout.key == "PA_BSND";
  SIM_CHECK(layout.key != "BSND" || query.size(0) == key.size(0), "query ", query.sizes(), " and key ", key.sizes(),
            " are of one batch");
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
void chosen_like(const at::Tensor& query, const at::Tensor& key, const at::Tensor& weights, int64_t count,
                 bool values_asked, const at::Tensor& out) {
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

void scaled_like(const at::Tensor& query, const at::Tensor& key, const Scales& scales) {
  refuse_unless_zero(scales.query_mode, "query_quant_mode");
  refuse_unless_zero(scales.key_mode, "key_quant_mode");
  for (const auto& [name, scale, x] :
       {std::tuple("query_dequant_scale", scales.query, query), std::tuple("key_dequant_scale", scales.key, key)}) {
    of_dtype(name, scale, {at::kHalf, at::kFloat});
    shape(scale, x.sizes().slice(0, size_t(x.dim() - 1)));
  }
}

at::Tensor chosen_scaled_keys(const Layout& layout, const at::Tensor& query, const at::Tensor& key,
                              const at::Tensor& weights, const Scales& scales, int64_t count) {
  // In double, where products of whole numbers are exact: near ones are told apart as the device does.
  const auto whole = [](const at::Tensor& x, const at::Tensor& scale) {
    return x.to(at::kFloat).to(at::kDouble).mul(scale.to(at::kDouble).unsqueeze(-1));
  };
  return chosen_keys(layout, whole(query, scales.query), whole(key, scales.key), weights.to(at::kDouble), count);
}

// ---- attention -----------------------------------------------------------------------------------------------------
void attention_like(const Inputs& in, int64_t block, int64_t mode, const at::Tensor& out) {
  SIM_CHECK(mode == 0 || mode == 2, "attention_mode ", mode, "; allowed: 0, 2");
  SIM_CHECK(block > 0, "sparse_block_size ", block);
  SIM_CHECK(in.query_rope.defined() == in.key_rope.defined(), "query_rope and key_rope go together");
  SIM_CHECK(mode == 0 || in.query_rope.defined(), "attention_mode 2 needs query_rope and key_rope");
  of_dtype("sparse_indices", in.chosen, {at::kInt});
  same_dtype({in.query, in.key, in.value, out});
  shapes<
      "*tokens heads depth, *keys groups depth, *keys groups width, *tokens groups _, *tokens heads rope?, "
      "*keys groups rope?, heads? -> *tokens heads width">(in.query, in.key, in.value, in.chosen, in.query_rope,
                                                           in.key_rope, in.sinks, out);
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

// (queries, keys of each, depth) of (keys, depth)
static at::Tensor rows_at(const at::Tensor& all, const at::Tensor& keys) {
  return all.index_select(0, keys.flatten()).reshape({keys.size(0), keys.size(1), all.size(-1)});
}

// (queries, heads, keys of each)
static at::Tensor scores_of(const at::Tensor& query, const at::Tensor& key, double scale, const Chosen& chosen) {
  return at::matmul(query, key.transpose(1, 2)).mul(scale).masked_fill(chosen.none.unsqueeze(1), kNone);
}

static at::Tensor with_rope(const at::Tensor& x, const at::Tensor& rope) {
  return rope.defined() ? at::concat({wide(x), wide(rope)}, -1) : wide(x);
}

// A number for each query: (sequences, heads, queries, …) or (heads, queries, …).
static at::Tensor statistic_of(const at::Tensor& all, const Layout& layout, const Sequence& one, int64_t first,
                               int64_t count) {
  return (layout.query == "TND" ? all : all[one.item]).narrow(1, one.first_query + first, count);
}

static constexpr int64_t kQueriesAtOnce = 32;

// Some queries at a time, each of which has its own keys, by heads of keys: run(head, first, count).
template <typename F>
static void each_part(const Sequence& one, int64_t heads, F run) {
  for (int64_t head = 0; one.keys && head < heads; ++head)
    for (int64_t first = 0; first < one.queries; first += kQueriesAtOnce)
      run(head, first, std::min(kQueriesAtOnce, one.queries - first));
}

// Of each head of keys, for each query and each head of queries that is of it.
static Dims statistic_sizes(const Layout& layout, const at::Tensor& query, const at::Tensor& key) {
  const int64_t heads = key.size(-2), each = divided(query.size(-2), heads);
  if (layout.query == "TND") return {heads, query.size(0), each};
  return {query.size(0), heads, query.size(1), each};
}

void statistics_like(const Layout& layout, const Inputs& in, const at::Tensor& largest, const at::Tensor& sum) {
  const Dims sizes = statistic_sizes(layout, in.query, in.key);
  for (const at::Tensor& each : {largest, sum})
    if (layout.query == "TND" || each.numel() != c10::multiply_integers(sizes)) shape(each, sizes);
}

Attention attend(const Layout& layout, const Inputs& in, double scale, int64_t block) {
  const int64_t heads = in.key.size(-2), each = divided(in.query.size(-2), heads);
  at::DimVector sizes(in.query.sizes());
  sizes.back() = in.value.size(-1);
  const Dims of_scores = statistic_sizes(layout, in.query, in.key);
  Attention made{at::zeros(sizes, at::kFloat), at::zeros(of_scores, at::kFloat), at::zeros(of_scores, at::kFloat)};
  for (const Sequence& one : sequences_of(layout, in.query, in.key)) {
    if (!one.keys) continue;
    const auto both = [&](const at::Tensor& x, const at::Tensor& rope, auto part) {
      const at::Tensor own = wide(part(x, layout, one));
      return rope.defined() ? at::concat({own, wide(part(rope, layout, one))}, -1) : own;
    };
    const at::Tensor query = both(in.query, in.query_rope, queries_of), key = both(in.key, in.key_rope, keys_of);
    const at::Tensor value = wide(keys_of(in.value, layout, one));
    const at::Tensor all_chosen = queries_of(in.chosen, layout, one), out = queries_of(made.out, layout, one);
    each_part(one, heads, [&](int64_t head, int64_t first, int64_t count) {
      const Chosen chosen =
          keys_of_choices(all_chosen.select(1, head).narrow(0, first, count), one, first, block, layout.mode);
      const at::Tensor score = scores_of(query.narrow(0, first, count).narrow(1, head * each, each),
                                         rows_at(key.select(1, head), chosen.keys), scale, chosen);
      const auto sinks = in.sinks.defined() ? in.sinks.narrow(0, head * each, each) : at::full({each}, kNone);
      at::Tensor largest = at::maximum(score.amax(-1), sinks);
      largest = largest.masked_fill(largest.eq(kNone), 0);  // a query without keys
      const at::Tensor powers = score.sub(largest.unsqueeze(-1)).exp();
      const at::Tensor sum = powers.sum(-1).add(sinks.sub(largest).exp());
      out.narrow(0, first, count)
          .narrow(1, head * each, each)
          .copy_(at::matmul(powers, rows_at(value.select(1, head), chosen.keys)).div(sum.unsqueeze(-1)).nan_to_num(0));
      statistic_of(made.largest, layout, one, first, count)[head].copy_(largest);
      statistic_of(made.sum, layout, one, first, count)[head].copy_(sum);
    });
  }
  return made;
}

void packed_like(const Inputs& in, const Packing& packing, int64_t block, const at::Tensor& out) {
  SIM_CHECK(packing.key_mode == 2 && packing.value_mode == 2 && packing.attention_mode == 2 &&
                packing.scales_together == 1 && packing.tile == 128 && packing.rope == 64,
            "key_quant_mode ", packing.key_mode, ", value_quant_mode ", packing.value_mode, ", attention_mode ",
            packing.attention_mode, ", quant_scale_repo_mode ", packing.scales_together, ", tile_size ", packing.tile,
            " and rope_head_dim ", packing.rope, "; allowed: 2, 2, 2, 1, 128, 64");
  SIM_CHECK(block > 0, "sparse_block_size ", block);
  of_dtype("sparse_indices", in.chosen, {at::kInt});
  shapes<"*tokens heads 576, *_ 1 656, *tokens 1 _ -> *tokens heads 512">(in.query, in.key, in.chosen, out);
  same_dtype({in.query, out});
}

at::Tensor attend_packed(const Layout& layout, const Inputs& in, double scale, int64_t block) {
  const at::ScalarType dtype = in.query.scalar_type();
  const auto part = [&](int64_t first, int64_t bytes, at::ScalarType type) {
    return in.key.narrow(-1, first, bytes).contiguous().view(type);
  };
  const at::Tensor scales = part(640, 16, at::kFloat).repeat_interleave(128, -1);
  const at::Tensor value = in.key.narrow(-1, 0, 512).to(at::kFloat).mul(scales).to(dtype);
  const at::Tensor key = at::concat({value, part(512, 128, dtype)}, -1), none;
  return attend(layout, {in.query, key, value, in.chosen, none, none, in.sinks}, scale, block).out;
}

// ---- backward -------------------------------------------------------------------------------------------------------
// Adds rows (count, keys of each, depth) to the rows of `all` that they belong to.
static void add_rows(const at::Tensor& all, const at::Tensor& keys, const at::Tensor& rows) {
  all.index_add_(0, keys.flatten(), rows.flatten(0, 1));
}

Tensors attend_backward(const Layout& layout, const Inputs& in, const at::Tensor& grad, const at::Tensor& out,
                        const at::Tensor& largest, const at::Tensor& sum, double scale, int64_t block) {
  const int64_t heads = in.key.size(-2), each = divided(in.query.size(-2), heads), depth = in.query.size(-1);
  const bool ropes = in.query_rope.defined();
  const Dims of_scores = statistic_sizes(layout, in.query, in.key);
  const at::Tensor all_query = with_rope(in.query, in.query_rope), all_key = with_rope(in.key, in.key_rope);
  const at::Tensor to_query = at::zeros(all_query.sizes(), at::kFloat), to_key = at::zeros(all_key.sizes(), at::kFloat),
                   to_value = at::zeros(in.value.sizes(), at::kFloat);
  for (const Sequence& one : sequences_of(layout, in.query, in.key))
    each_part(one, heads, [&](int64_t head, int64_t first, int64_t count) {
      const auto own = [&](const at::Tensor& x) {
        return queries_of(x, layout, one).narrow(0, first, count).narrow(1, head * each, each);
      };
      const auto of_head = [&](const at::Tensor& x) { return keys_of(x, layout, one).select(1, head); };
      const Chosen chosen = keys_of_choices(queries_of(in.chosen, layout, one).select(1, head).narrow(0, first, count),
                                            one, first, block, layout.mode);
      const auto rows = [&](const at::Tensor& x) { return rows_at(wide(of_head(x)), chosen.keys); };
      const auto statistic = [&](const at::Tensor& any) {
        return statistic_of(any.reshape(of_scores), layout, one, first, count)[head].unsqueeze(-1);
      };
      const at::Tensor key = rows(all_key), value = rows(in.value), query = own(all_query), to = wide(own(grad));
      const at::Tensor total = statistic(sum);
      const at::Tensor probability =
          scores_of(query, key, scale, chosen).sub(statistic(largest)).exp().div(total.masked_fill(total.eq(0), 1));
      const at::Tensor common = to.mul(wide(own(out))).sum(-1, true);
      const at::Tensor to_score =
          at::matmul(to, value.transpose(1, 2)).sub(common).mul(probability).mul(scale);  // (count, each, keys)
      own(to_query).copy_(at::matmul(to_score, key));
      add_rows(of_head(to_key), chosen.keys, at::matmul(to_score.transpose(1, 2), query));
      add_rows(of_head(to_value), chosen.keys, at::matmul(probability.transpose(1, 2), to));
    });
  const auto rest = [&](const at::Tensor& x) { return x.narrow(-1, depth, x.size(-1) - depth); };
  return {to_query.narrow(-1, 0, depth), to_key.narrow(-1, 0, depth), to_value, ropes ? rest(to_query) : at::Tensor(),
          ropes ? rest(to_key) : at::Tensor()};
}

Tensors of_one(Tensors gradients) {
  gradients[1] = gradients[1].add(gradients[2]);
  gradients[2].reset();
  return gradients;
}

void scores_backward_like(const at::Tensor& query, const at::Tensor& key, const at::Tensor& weights,
                          const at::Tensor& grad, const at::Tensor& chosen, const Indexer& grads) {
  SIM_CHECK(key.size(-2) == 1, "keys of ", key.size(-2), " heads; allowed: 1");
  shape(weights, query.sizes().slice(0, size_t(query.dim() - 1)));
  of_dtype("sparse_indices", chosen, {at::kInt});
  SIM_CHECK(grad.numel() == chosen.numel() && chosen.dim() == query.dim() && chosen.size(-2) == 1, "dy ", grad.sizes(),
            " and sparse_indices ", chosen.sizes(), " for query ", query.sizes());
  like(grads.query, query), like(grads.key, key), like(grads.weights, weights);
}

struct ScoreGradients {
  at::Tensor query, key, weights;  // all of them, to which parts are added
};

static ScoreGradients no_gradients(const at::Tensor& query, const at::Tensor& key, const at::Tensor& weights) {
  return {at::zeros(query.sizes(), at::kFloat), at::zeros(key.sizes(), at::kFloat),
          at::zeros(weights.sizes(), at::kFloat)};
}

// Some queries of a sequence and the keys of each: the products, and what a gradient of the scores adds.
struct Scored {
  at::Tensor query, key, weights, product;  // (count, heads, depth), (count, keys, depth), (count, heads), (…, keys)
  at::Tensor score() const { return product.relu().mul(weights.unsqueeze(-1)).sum(1); }
};

static Scored scored(const Layout& layout, const Indexer& index, const Sequence& one, int64_t first,
                     const at::Tensor& keys) {
  const int64_t count = keys.size(0);
  const auto own = [&](const at::Tensor& x) { return wide(queries_of(x, layout, one).narrow(0, first, count)); };
  const at::Tensor all_keys = wide(keys_of(index.key, layout, one)).select(1, 0);
  Scored made{own(index.query), rows_at(all_keys, keys), own(index.weights), {}};
  made.product = at::matmul(made.query, made.key.transpose(1, 2));
  return made;
}

static void add_gradients(const ScoreGradients& all, const Layout& layout, const Sequence& one, int64_t first,
                          const at::Tensor& keys, const Scored& at, const at::Tensor& grad) {
  const int64_t count = keys.size(0);
  const auto own = [&](const at::Tensor& x) { return queries_of(x, layout, one).narrow(0, first, count); };
  const at::Tensor of_heads = grad.unsqueeze(1);  // (count, 1, keys)
  const at::Tensor to_product = of_heads.mul(at.weights.unsqueeze(-1)).mul(at.product.gt(0));
  own(all.weights).copy_(at.product.relu().mul(of_heads).sum(-1));
  own(all.query).copy_(at::matmul(to_product, at.key));
  add_rows(keys_of(all.key, layout, one).select(1, 0), keys, at::matmul(to_product.transpose(1, 2), at.query));
}

template <typename F>
static void each_part(const Layout& layout, const at::Tensor& query, const at::Tensor& key, F run) {
  for (const Sequence& one : sequences_of(layout, query, key))
    for (int64_t first = 0; one.keys && first < one.queries; first += kQueriesAtOnce)
      run(one, first, std::min(kQueriesAtOnce, one.queries - first));
}

Tensors scores_backward(const Layout& layout, const at::Tensor& query, const at::Tensor& key, const at::Tensor& weights,
                        const at::Tensor& grad, const at::Tensor& chosen) {
  const ScoreGradients all = no_gradients(query, key, weights);
  const at::Tensor grads = wide(grad).reshape(chosen.sizes());
  each_part(layout, query, key, [&](const Sequence& one, int64_t first, int64_t count) {
    const auto own = [&](const at::Tensor& x) {
      return queries_of(x, layout, one).narrow(0, first, count).select(1, 0);
    };
    const Chosen picked = keys_of_choices(own(chosen), one, first, 1, layout.mode);
    add_gradients(all, layout, one, first, picked.keys, scored(layout, {query, key, weights}, one, first, picked.keys),
                  own(grads).masked_fill(picked.none, 0));
  });
  return {all.query, all.key, all.weights};
}

// ---- the choice learns from the attention ---------------------------------------------------------------------------
void indexer_like(const Layout& layout, const Indexer& index) {
  SIM_CHECK(layout.mode == kCausal, "sparse_mode ", layout.mode, "; allowed: 3");
  SIM_CHECK(index.key.size(-2) == 1, "keys of ", index.key.size(-2), " heads; allowed: 1");
  of_dtype("weights", index.weights, {at::kHalf, at::kBFloat16, at::kFloat});
  shape(index.weights, index.query.sizes().slice(0, size_t(index.query.dim() - 1)));
  sequences_of(layout, index.query, index.key);  // the host has their lengths
}

// Every key for each query, and which are not in sight.
static Chosen all_keys(const Sequence& one, int64_t first, int64_t count) {
  return {at::arange(one.keys, at::kLong).expand({count, one.keys}),
          too_late(one.queries, one.keys).narrow(0, first, count)};
}

// One for each query.
static Dims log_sum_sizes(const Layout& layout, const at::Tensor& query) {
  return layout.query == "TND" ? Dims{1, query.size(0)} : Dims{query.size(0), 1, query.size(1)};
}

void log_sums_like(const Layout& layout, const Indexer& index, const at::Tensor& largest, const at::Tensor& sum) {
  const Dims sizes = log_sum_sizes(layout, index.query);
  shape(largest, sizes), shape(sum, sizes);
}

Tensors log_sums(const Layout& layout, const Indexer& index) {
  const Dims sizes = log_sum_sizes(layout, index.query);
  const at::Tensor largest = at::zeros(sizes, at::kFloat), sum = at::zeros(sizes, at::kFloat);
  each_part(layout, index.query, index.key, [&](const Sequence& one, int64_t first, int64_t count) {
    const Chosen keys = all_keys(one, first, count);
    const at::Tensor score = scored(layout, index, one, first, keys.keys).score().masked_fill(keys.none, kNone);
    const at::Tensor top = score.amax(-1);
    statistic_of(largest, layout, one, first, count)[0].copy_(top);
    statistic_of(sum, layout, one, first, count)[0].copy_(score.sub(top.unsqueeze(-1)).exp().sum(-1));
  });
  return {largest, sum};
}

void loss_like(const Layout& layout, const Indexer& index, const Attended& attended, const at::Tensor& chosen,
               const Indexer& grads, const at::Tensor& loss) {
  like(grads.query, index.query), like(grads.key, index.key), like(grads.weights, index.weights);
  indexer_like(layout, index);
  same_dtype({attended.query, attended.key, index.query, index.key});
  shapes<
      "*tokens heads depth, *keys groups depth, *tokens _ _, *keys _ _, *tokens heads rope?, *keys groups rope?, "
      "*tokens 1 _?">(attended.query, attended.key, index.query, index.key, attended.query_rope, attended.key_rope,
                      chosen);
  SIM_CHECK(remainder_of(attended.query.size(-2), attended.key.size(-2)) == 0, "query ", attended.query.sizes(),
            " and key ", attended.key.sizes());
  SIM_CHECK(attended.query_rope.defined() == attended.key_rope.defined(), "query_rope and key_rope go together");
  const Dims sizes = statistic_sizes(layout, attended.query, attended.key);
  for (const at::Tensor& statistic : {attended.largest, attended.sum}) shape(statistic, sizes);
  if (chosen.defined()) of_dtype("sparse_indices", chosen, {at::kInt});
  one_element(loss);
}

Tensors loss_backward(const Layout& layout, const Indexer& index, const Attended& attended, const at::Tensor& chosen,
                      const at::Tensor& largest, const at::Tensor& sum) {
  const int64_t heads = attended.key.size(-2), each = divided(attended.query.size(-2), heads);
  const at::Tensor all_query = with_rope(attended.query, attended.query_rope),
                   all_key = with_rope(attended.key, attended.key_rope);
  const ScoreGradients all = no_gradients(index.query, index.key, index.weights);
  const at::Tensor loss = at::zeros({1}, at::kFloat);
  each_part(layout, index.query, index.key, [&](const Sequence& one, int64_t first, int64_t count) {
    const Chosen keys = chosen.defined()
                            ? keys_of_choices(queries_of(chosen, layout, one).narrow(0, first, count).select(1, 0), one,
                                              first, 1, layout.mode)
                            : all_keys(one, first, count);
    at::Tensor attention = at::zeros(keys.keys.sizes(), at::kFloat);
    for (int64_t head = 0; head < heads; ++head) {
      const at::Tensor query = queries_of(all_query, layout, one).narrow(0, first, count).narrow(1, head * each, each);
      const at::Tensor key = rows_at(keys_of(all_key, layout, one).select(1, head), keys.keys);
      const auto statistic = [&](const at::Tensor& x) {
        return statistic_of(x, layout, one, first, count)[head].to(at::kFloat).unsqueeze(-1);
      };
      attention = attention.add(scores_of(query, key, attended.scale, keys)
                                    .sub(statistic(attended.largest))
                                    .exp()
                                    .div(statistic(attended.sum))
                                    .sum(1));
    }
    attention = attention.div(heads * each);
    const Scored at = scored(layout, index, one, first, keys.keys);
    const at::Tensor score = at.score().masked_fill(keys.none, kNone);
    at::Tensor guess;
    if (largest.defined()) {
      const auto statistic = [&](const at::Tensor& x) {
        return statistic_of(x, layout, one, first, count)[0].unsqueeze(-1);
      };
      guess = score.sub(statistic(largest)).exp().div(statistic(sum));
    } else {
      guess = score.softmax(-1).nan_to_num(0);
    }
    const double least = 1e-8;  // as op-plugin's own test has it under both logarithms
    loss.add_(attention.clamp_min(least).log().sub(guess.clamp_min(least).log()).mul(attention).sum());
    add_gradients(all, layout, one, first, keys.keys, at, guess.sub(attention));
  });
  return {all.query, all.key, all.weights, loss};
}

// ---- parts of one softmax ------------------------------------------------------------------------------------------
void parts_like(const Tensors& log_sums, const Tensors& parts, int64_t kind, size_t most, const at::Tensor& out,
                const at::Tensor& log_sum) {
  SIM_CHECK(!parts.empty() && parts.size() <= most && parts.size() == log_sums.size(), parts.size(), " results and ",
            log_sums.size(), " lse; allowed: as many, 1 to ", most);
  SIM_CHECK((kind == 1) == given(log_sum), "update_type ", kind, given(log_sum) ? " with" : " without", " lseOut");
  for (size_t i = 0; i < parts.size(); ++i) {
    SIM_CHECK(parts[i].dim() == 2 && log_sums[i].dim() == 1 && parts[i].size(0) == log_sums[i].size(0), "local_out ",
              parts[i].sizes(), " with lse ", log_sums[i].sizes());
    same_dtype({parts[i], out});
    like(out, parts[i]);
  }
  const int64_t depth = parts[0].size(1);
  SIM_CHECK(depth >= 8 && depth <= 512 && depth % 8 == 0, "head_dim ", depth, "; allowed: multiples of 8 up to 512");
  kind == 1 ? like(log_sum, log_sums[0]) : idle(log_sum, log_sums[0].sizes());
}

Tensors joined(const Tensors& log_sums, const Tensors& parts) {
  const at::Tensor all = at::stack(log_sums), log_sum = all.logsumexp(0);
  at::Tensor out = at::zeros(parts[0].sizes(), at::kFloat);
  for (size_t i = 0; i < parts.size(); ++i)
    out = out.add(wide(parts[i]).mul(log_sums[i].sub(log_sum).exp().unsqueeze(1)));
  return {out, log_sum};
}

}  // namespace sim::sparse_attention
