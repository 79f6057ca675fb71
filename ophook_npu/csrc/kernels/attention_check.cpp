// What is wrong with a call of fused attention for training, before it runs: CANN's tiling looks at the same.
#include "kernels/attention.h"

namespace sim::attention {

namespace {

bool joined(const std::string& layout) { return layout == "BSH" || layout == "SBH"; }

// Sequences that lie one behind the other are of one batch.
struct Axes {
  int64_t batch, heads, length, depth;
};
Axes axes_of(const at::Tensor& x, const std::string& layout, int64_t heads) {
  const auto size = x.sizes();
  if (layout == "BNSD") return {size[0], size[1], size[2], size[3]};
  if (layout == "BSND") return {size[0], size[2], size[1], size[3]};
  if (layout == "TND") return {1, size[1], size[0], size[2]};
  const bool rows_first = layout == "SBH";
  return {size[rows_first], heads, size[!rows_first], divided(size[2], heads)};
}

struct AllAxes {
  Axes query, key, value;
};
AllAxes axes_of(const Inputs& in) {
  const Axes query = axes_of(in.query, in.layout, in.heads);
  const int64_t key_heads = joined(in.layout) ? divided(in.key.size(-1), query.depth) : 0;
  return {query, axes_of(in.key, in.layout, key_heads), axes_of(in.value, in.layout, key_heads)};
}

void check_axes(const Inputs& in) {
  const auto [query, key, value] = axes_of(in);
  const auto whole = [](const Axes& of, const at::Tensor& x) { return of.heads * of.depth == x.size(-1); };
  SIM_CHECK(!joined(in.layout) || (whole(query, in.query) && whole(key, in.key) && whole(value, in.value)), "query ",
            in.query.sizes(), ", key ", in.key.sizes(), " and value ", in.value.sizes(), " are not of whole heads, of ",
            in.heads, " heads of the query");
  SIM_CHECK(key.batch == query.batch && key.depth == query.depth && remainder_of(query.heads, key.heads) == 0, "query ",
            in.query.sizes(), " and key ", in.key.sizes(), " in layout ", in.layout,
            "; expected: one batch and depth, and heads of the query for each of the key");
  SIM_CHECK(
      value.batch == key.batch && value.heads == key.heads && value.length == key.length && value.depth <= key.depth,
      "key ", in.key.sizes(), " and value ", in.value.sizes(), " in layout ", in.layout,
      "; expected: the same but for the depth, of which the value has no more");
}

// A mask has a place for each query and each key, and the same for all batches or heads or for each; modes that only
// name a mask's shape take one of fixed size.
void check_mask(const Inputs& in, int64_t mode) {
  if (!given(in.mask)) return;
  auto [query, key, value] = axes_of(in);
  const bool tokens = in.layout == "TND";
  const int64_t most = tokens ? 8 : 6;
  SIM_CHECK(mode >= 0 && mode <= most, "sparse mode ", mode, " is not simulated; allowed: 0 to ", most);
  const bool fixed = mode >= 2 && mode != 5;
  if (tokens) query.length = longest_of(in.query_ends), key.length = longest_of(in.key_ends);
  const auto size = in.mask.sizes();
  const size_t rank = size.size();
  // Of mode 6, CANN's tiling takes 3072 rows alone; the mask of the others does as well, which nothing looks at here.
  if (fixed) query.length = mode == 6 && rank >= 2 && size[rank - 2] != 2048 ? 3072 : 2048, key.length = 2048;
  bool fits = (rank == 2 || rank == 4) && size[rank - 2] == query.length && size[rank - 1] == key.length;
  if (fits && rank == 4)
    fits = size[1] == 1 ? size[0] == 1 || size[0] == query.batch : size[0] == query.batch && size[1] == query.heads;
  SIM_CHECK(fits, "attenMask has shape ", size, " in sparse mode ", mode, "; expected: (", query.length, ", ",
            key.length, "), or with ", query.batch, " or 1 batches and ", query.heads, " or 1 heads before these");
}

void check_slopes(const Inputs& in, const Settings& how) {
  const auto [query, key, value] = axes_of(in);
  SIM_CHECK(given(in.pse), "pse type ", how.pse_type, " takes slopes");
  of_dtype("slopes", in.pse, {at::kFloat});
  SIM_CHECK(
      in.pse.sizes() == at::IntArrayRef({query.heads}) || in.pse.sizes() == at::IntArrayRef({query.batch, query.heads}),
      "slopes of shape ", in.pse.sizes(), "; expected: (", query.heads, ") or (", query.batch, ", ", query.heads, ")");
  SIM_CHECK(query.length == key.length, "pse type ", how.pse_type, " takes as many queries as keys, not ", query.length,
            " and ", key.length);
  SIM_CHECK(how.query_start.size() <= 1 && how.key_start.size() <= 1, "qStartIdx and kvStartIdx have one number");
}

void check_position_encoding(const Inputs& in, const Settings& how) {
  if (how.pse_type > 1) return check_slopes(in, how);
  if (!given(in.pse) || in.layout == "TND") return;
  const auto [query, key, value] = axes_of(in);
  const auto size = in.pse.sizes();
  SIM_CHECK(size.size() == 4 && (size[0] == 1 || size[0] == query.batch) && size[1] == query.heads &&
                (size[2] == 1 || size[2] == query.length) && size[3] == key.length,
            "a position encoding of shape ", size, "; expected: (", query.batch, " or 1, ", query.heads, ", ",
            query.length, " or 1, ", key.length, ")");
}

// Eight times the maximum, or the sum, of each head and token: (B, N, S, 8), or (T, N, 8) in layout TND. Where these do
// not lie as the query does, pages also call their shape (N, T, 8).
void statistics_like(const Inputs& in, const Settings& how, const at::Tensor& statistics) {
  if (!given(statistics)) return;
  const Axes query = axes_of(in.query, in.layout, in.heads);
  if (in.layout != "TND") return shape(statistics, {query.batch, query.heads, query.length, 8});
  const Dims turned{query.heads, query.length, 8};
  if (how.by_rows || statistics.sizes() != turned) shape(statistics, {query.length, query.heads, 8});
}

// The query's shape, with the depth of the values.
Dims result_sizes(const Inputs& in) {
  Dims sizes(in.query.sizes().begin(), in.query.sizes().end());
  sizes.back() = axes_of(in).value.depth * (joined(in.layout) ? in.heads : 1);
  return sizes;
}

// An output for the gradient of what is not there is not looked at.
void gradient_like(const at::Tensor& grad, const at::Tensor& of) {
  if (given(grad) && given(of)) like(grad, of);
}

}  // namespace

void known_layout(const std::string& layout, std::initializer_list<const char*> known) {
  for (const char* name : known)
    if (layout == name) return;
  SIM_CHECK(false, "layout ", layout, " is not simulated for this operator");
}

void check_ends(const char* name, const Dims& ends, const at::Tensor& x) {
  int64_t all = 0;
  for (size_t i = 0; i < ends.size(); ++i) {
    SIM_CHECK(ends[i] >= 0, name, "[", i, "] is ", ends[i]);
    all += length_of(ends, i);
  }
  SIM_CHECK(all <= x.size(0), name, " are of ", all, " tokens, there are ", x.size(0));
}

int64_t longest_of(const Dims& ends) {
  int64_t longest = 0;
  for (size_t i = 0; i < ends.size(); ++i) longest = std::max(longest, length_of(ends, i));
  return longest;
}

int64_t length_of(const Dims& ends, size_t i) { return std::max<int64_t>(0, ends[i] - (i ? ends[i - 1] : 0)); }

int64_t scores_of(const Inputs& in) {
  const auto [query, key, value] = axes_of(in);
  if (in.layout != "TND") return query.batch * query.heads * query.length * key.length;
  int64_t count = 0;
  for (size_t i = 0; i < in.query_ends.size(); ++i)
    count += query.heads * length_of(in.query_ends, i) * length_of(in.key_ends, i);
  return count;
}

void check_forward(const Inputs& in, const Settings& how, const Outputs& to, bool by_sequence) {
  check(in, how, to.out, by_sequence);
  for (const at::Tensor& each : {to.max, to.sum}) statistics_like(in, how, each);
}

void check_backward(const Inputs& in, const Settings& how, const at::Tensor& grad, const Gradients& to,
                    bool by_sequence) {
  check_forward(in, how, {how.max, how.sum, given(how.out) ? how.out : at::Tensor()}, by_sequence);
  shape(grad, result_sizes(in));
  like(to.query, in.query), like(to.key, in.key), like(to.value, in.value);
  gradient_like(to.pse, in.pse), gradient_like(to.sink, how.sink);
  gradient_like(to.query_rope, how.query_rope), gradient_like(to.key_rope, how.key_rope);
}

void check(const Inputs& in, const Settings& how, const at::Tensor& out, bool by_sequence) {
  if (by_sequence) known_layout(in.layout, {"TND"});
  else known_layout(in.layout, {"BNSD", "BSND", "BSH", "SBH"});
  same_dtype({in.query, in.key, in.value});
  SIM_CHECK(in.query.dim() == in.key.dim() && in.heads > 0, "query ", in.query.sizes(), " and key ", in.key.sizes(),
            " do not fit ", in.heads, " heads");
  SIM_CHECK(how.keep > 0 && how.keep <= 1, "keep probability ", how.keep, "; allowed: above 0, up to 1");
  SIM_CHECK(how.pse_type >= 0 && how.pse_type <= (by_sequence ? 1 : 3), "pse type ", how.pse_type,
            " is not simulated in layout ", in.layout);
  SIM_CHECK(in.query.dim() == int64_t(in.layout.size()) && in.value.dim() == in.query.dim(), "layout ", in.layout,
            ", query ", in.query.sizes(), " and value ", in.value.sizes());
  SIM_CHECK(axes_of(in.query, in.layout, in.heads).heads == in.heads, "query ", in.query.sizes(), " in layout ",
            in.layout, " does not have ", in.heads, " heads");
  check_axes(in);
  if (by_sequence) {
    SIM_CHECK(in.query_ends.size() == in.key_ends.size(), in.query_ends.size(), " sequences of queries, ",
              in.key_ends.size(), " of keys");
    check_ends("actualSeqQLen", in.query_ends, in.query), check_ends("actualSeqKvLen", in.key_ends, in.key);
  }
  check_mask(in, how.sparse_mode), check_position_encoding(in, how);
  SIM_CHECK(!given(in.drop_mask) || in.drop_mask.numel() >= (scores_of(in) + 7) / 8, "a mask of shape ",
            in.drop_mask.sizes(), " does not hold ", scores_of(in), " bits");
  shape(out, result_sizes(in));
  if (given(how.sink)) shape(how.sink, {in.heads});
  SIM_CHECK(given(how.query_rope) == given(how.key_rope), "query_rope and key_rope go together");
  if (!given(how.query_rope)) return;
  known_layout(in.layout, {"BNSD", "BSND", "TND"});
  same_dtype({in.query, how.query_rope, how.key_rope});
  const size_t rows = size_t(in.query.dim() - 1);
  SIM_CHECK(how.query_rope.dim() == in.query.dim() && how.key_rope.dim() == in.key.dim() &&
                how.query_rope.sizes().slice(0, rows) == in.query.sizes().slice(0, rows) &&
                how.key_rope.sizes().slice(0, rows) == in.key.sizes().slice(0, rows) &&
                how.query_rope.size(-1) == how.key_rope.size(-1),
            "query_rope ", how.query_rope.sizes(), " and key_rope ", how.key_rope.sizes(), " for query ",
            in.query.sizes(), " and key ", in.key.sizes());
}

void check_any(const Inputs& in, const Settings& how, const at::Tensor& out) {
  check(in, how, out, in.layout == "TND");
  check_pse(in.pse, in.layout);
}

void check_pse(const at::Tensor& pse, const std::string& layout) {
  if (layout == "TND") refuse_if_given({pse}, "a position encoding in layout TND");
}

}  // namespace sim::attention
