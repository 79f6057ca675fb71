#include "kernels/transformer.h"

#include "kernels/attention.h"
#include "kernels/pattern.h"

namespace sim::transformer {

// ---- attention over a ring of devices: two parts of the keys, each with the maximum and the sum of its softmax -----
void ring_parts(const RingPart& before, const RingPart& now, const std::string& layout,
                const std::string& softmax_layout, const RingPart& to) {
  SIM_CHECK(layout == "SBH" || layout == "TND", "input_layout ", layout, "; allowed: SBH, TND");
  const bool fits = layout == "SBH" ? softmax_layout.empty() || softmax_layout == "SBH" : softmax_layout == "TND";
  SIM_CHECK(fits, "input_softmax_layout '", softmax_layout, "' for input_layout ", layout,
            " is not simulated; allowed: the same layout");
  SIM_CHECK(before.out.dim() == 3 && before.top.dim() == (layout == "SBH" ? 4 : 3), "attention ", before.out.sizes(),
            " with softmax values ", before.top.sizes());
  for (const RingPart* each : {&now, &to}) like(each->out, before.out), like(each->top, before.top);
  for (const RingPart* each : {&before, &now, &to}) like(each->sum, before.top);
}

void ring_update(const RingPart& before, const RingPart& now, bool sbh, const RingPart& to) {
  auto top = at::maximum(before.top, now.top);
  auto before_share = before.top.sub(top).exp().mul(before.sum), now_share = now.top.sub(top).exp().mul(now.sum);
  auto sum = before_share.add(now_share);
  // The values of a head stand eight times: (batch, heads, sequence, 8) or (tokens, heads, 8).
  auto weighted = [&](const at::Tensor& part, const at::Tensor& share) {
    auto factor = share.div(sum).select(-1, 0);
    if (!sbh) return wide(part).mul(factor.unsqueeze(-1));
    auto heads = wide(part).unflatten(-1, {factor.size(1), -1});
    return heads.mul(factor.permute({2, 0, 1}).unsqueeze(-1)).flatten(-2);
  };
  write(to.out, weighted(before.out, before_share).add(weighted(now.out, now_share)).to(to.out.scalar_type()));
  write(to.top, top);
  write(to.sum, sum);
}

void three_parts(const at::Tensor& qkv, const at::Tensor& bias, int64_t heads,
                 std::initializer_list<at::Tensor> parts) {
  SIM_CHECK(heads > 0 && qkv.dim() == 3 && qkv.size(2) > 0 && qkv.size(2) % (3 * heads) == 0,
            "qkv (batch, tokens, 3 * heads * depth) expected, got ", qkv.sizes(), " for ", heads, " heads");
  shape(bias, {qkv.size(2)});
  for (const at::Tensor& each : parts) shape(each, {qkv.size(0), heads, qkv.size(1), qkv.size(2) / (3 * heads)});
}

// One mask for each window. Without its dimension the windows of each image follow each other.
static int64_t windows_of(const at::Tensor& self, const at::Tensor& mask) {
  if (self.dim() == 5) return self.size(1);
  const int64_t area = self.size(-2) * self.size(-1);
  return mask.defined() && area ? mask.numel() / area : 1;
}

void biased_like(const at::Tensor& self, const at::Tensor& mask, const at::Tensor& bias) {
  SIM_CHECK(self.dim() == 4 || self.dim() == 5, "x of 4 or 5 dimensions expected, got ", self.sizes());
  asked({bias}, self.sizes().slice(self.sizes().size() - 3));
  const int64_t windows = windows_of(self, mask);
  asked({mask}, {windows, self.size(-2), self.size(-1)});
  SIM_CHECK(windows && (self.dim() == 5 || self.size(0) % windows == 0), windows, " windows in x ", self.sizes());
}

at::Tensor biased_softmax(const at::Tensor& self, const at::Tensor& mask, const at::Tensor& bias, double scale) {
  const at::IntArrayRef image = self.sizes().slice(self.sizes().size() - 3);
  auto scores = wide(self).mul(scale).add(wide(bias).reshape(image));
  if (mask.defined()) {
    const int64_t windows = windows_of(self, mask);
    const int64_t images = self.dim() == 5 ? self.size(0) : divided(self.size(0), windows);
    scores = scores.reshape({images, windows, image[0], image[1], image[2]})
                 .add(wide(mask).reshape({windows, 1, image[1], image[2]}))
                 .view(self.sizes());
  }
  return at::softmax(scores, -1);
}

// ---- attention to the blocks of keys that were selected for each token: (tokens, key heads, blocks) ----------------
void selected(const Selection& of, const at::Tensor& mask, const std::string& layout, int64_t blocks,
              const at::Tensor& out) {
  SIM_CHECK(layout == "TND", "layout ", layout, "; allowed: TND");
  SIM_CHECK(!mask.defined() || !mask.numel() || mask.dim() == 2, "atten_mask ", mask.sizes(),
            "; allowed: two dimensions");
  SIM_CHECK(of.sparse_mode == 0 || of.sparse_mode == 2, "sparse_mode ", of.sparse_mode, "; allowed: 0, 2");
  const auto [tokens, heads, depth, keys, groups, width, each] =
      shapes<"tokens heads depth, keys groups depth, keys groups width, tokens groups =blocks -> tokens heads width">(
          {blocks}, of.query, of.key, of.value, of.chosen, out);
  SIM_CHECK(width <= depth, "a value of depth ", width, " for a key of depth ", depth);
  SIM_CHECK(remainder_of(heads, groups) == 0, heads, " heads of queries for ", groups, " of keys");
  SIM_CHECK(!of.ends.empty() && of.ends.size() == of.key_ends.size(), of.ends.size(), " lengths of queries, ",
            of.key_ends.size(), " of keys");
  attention::check_ends("actualSeqQLen", of.ends, of.query),
      attention::check_ends("actualSeqKvLen", of.key_ends, of.key);
  SIM_CHECK(std::is_sorted(of.ends.begin(), of.ends.end()) && of.ends.back() >= tokens, "actualSeqQLen ", of.ends,
            " for ", tokens, " tokens");
  for (int64_t end : of.key_ends)
    SIM_CHECK(remainder_of(end, of.block_size) == 0, "keys that end at ", end, ", within a block of ", of.block_size,
              ", are not simulated");
}

void statistics_like(const at::Tensor& query, const Attended& out) {
  for (const at::Tensor& each : {out.top, out.sum}) shape(each, {query.size(0), query.size(1), 8});
}

Seen seen_by(int64_t token, const Selection& of, double scale) {
  const size_t sequence = std::upper_bound(of.ends.begin(), of.ends.end(), token) - of.ends.begin();
  SIM_CHECK(sequence < of.ends.size(), "token ", token, " behind the last sequence");
  const int64_t first_query = sequence ? of.ends[sequence - 1] : 0, first = sequence ? of.key_ends[sequence - 1] : 0;
  Seen seen;
  seen.heads = at::arange(of.key.size(1), at::kLong).unsqueeze(1);
  seen.rows = of.chosen[token].to(at::kLong).mul(of.block_size).add(first).unsqueeze(-1);
  seen.rows = seen.rows.add(at::arange(of.block_size, at::kLong)).flatten(1);
  seen.query = wide(of.query[token]).unflatten(0, {of.key.size(1), -1});
  seen.key = wide(indexed(of.key, {seen.rows, seen.heads}));
  seen.value = wide(indexed(of.value, {seen.rows, seen.heads}));
  seen.scores = at::matmul(seen.query, seen.key.transpose(1, 2)).mul(scale);
  if (of.sparse_mode == 2) {
    const at::Tensor behind = seen.rows.gt(token - first_query + first).unsqueeze(1);
    seen.scores = seen.scores.masked_fill(behind, std::numeric_limits<float>::lowest());
  }
  return seen;
}

void attend_selected(const Selection& of, double scale, const Attended& to) {
  for (int64_t token = 0; token < of.query.size(0); ++token) {
    const Seen seen = seen_by(token, of, scale);
    auto highest = seen.scores.amax(-1, true);
    auto weights = seen.scores.sub(highest).exp();
    auto total = weights.sum(-1, true);
    auto result = at::matmul(wide(weights.div(total).to(of.value.scalar_type())), seen.value);
    to.out[token].copy_(result.flatten(0, 1));
    to.top[token].copy_(highest.flatten(0, 1).expand_as(to.top[token]));
    to.sum[token].copy_(total.flatten(0, 1).expand_as(to.sum[token]));
  }
}

}  // namespace sim::transformer
