#include "kernels/causal_conv.h"

namespace sim::kernels {
namespace {

constexpr int64_t kWidth = 3, kBefore = kWidth - 1;

// (before and now, …, h) to (now, …, h), in float
at::Tensor convolved(const at::Tensor& padded, const at::Tensor& weight) {
  const int64_t count = padded.size(0) - kBefore;
  at::Tensor sum = wide(padded).narrow(0, 0, count) * wide(weight[0]);
  for (int64_t k = 1; k < kWidth; ++k) sum = sum + wide(padded).narrow(0, k, count) * wide(weight[k]);
  return sum;
}

at::Tensor chosen(const at::Tensor& values, const at::Tensor& mask) {
  return mask.defined() ? values * mask.t().unsqueeze(-1) : values;
}

void of_sequences(const at::Tensor& values, int64_t batches, const char* name) {
  if (!values.defined()) return;
  of_dtype(name, values, {at::kInt});
  SIM_CHECK(values.dim() == 1 && values.numel() == batches, name, " ", values.sizes(), " for ", batches, " sequences");
}

int64_t at_place(const at::Tensor& values, int64_t place) { return values[place].item().toLong(); }

}  // namespace

at::Tensor masked_causal_conv(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& mask) {
  return chosen(convolved(at::constant_pad_nd(x, {0, 0, 0, 0, kBefore, 0}), weight), mask);
}

CausalGradients masked_causal_conv_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& weight,
                                            const at::Tensor& mask) {
  const auto slope = chosen(wide(grad), mask);
  const auto padded = at::constant_pad_nd(wide(x), {0, 0, 0, 0, kBefore, 0});
  Tensors taps;
  for (int64_t k = 0; k < kWidth; ++k) taps.push_back((slope * padded.narrow(0, k, x.size(0))).sum(Dims{0, 1}));
  return {convolved(at::constant_pad_nd(slope, {0, 0, 0, 0, 0, kBefore}), weight.flip(0)), at::stack(taps)};
}

void cached_causal_like(const at::Tensor& x, const CachedConvolution& how, const at::Tensor& out) {
  of_dtype("x", x, {at::kHalf, at::kBFloat16});
  SIM_CHECK(x.dim() == 2 || x.dim() == 3, "x ", x.sizes(), "; two or three dimensions are expected");
  SIM_CHECK(x.dim() == 3 || how.starts.defined(), "tokens of all sequences need queryStartLoc");
  const int64_t channels = x.size(-1);
  shape(how.weight, {kWidth, channels});
  SIM_CHECK(how.states.dim() == 3 && how.states.size(1) >= kBefore && how.states.size(2) == channels, "convStates ",
            how.states.sizes(), "; (lines, ", kBefore, " or more, ", channels, ") are expected");
  like(out, x);
  same_dtype({x, how.weight, how.states, out});
  const int64_t batches = x.dim() == 3 ? x.size(0) : how.starts.numel() - 1;
  of_sequences(how.starts, batches + 1, "queryStartLoc");
  for (const auto& [values, name] :
       {std::pair{how.accepted, "numAcceptedTokens"}, std::pair{how.computed, "numComputedTokens"},
        std::pair{how.first_block, "blockIdxFirstScheduledToken"},
        std::pair{how.last_block, "blockIdxLastScheduledToken"}, std::pair{how.initial_block, "initialStateIdx"}})
    of_sequences(values, batches, name);
  const bool kept = how.lines.defined() && how.lines.dim() == 2;
  SIM_CHECK(how.lines.defined() || batches <= how.states.size(0), "convStates ", how.states.sizes(), " for ", batches,
            " sequences");
  if (how.lines.defined()) {
    of_dtype("cacheIndices", how.lines, {at::kInt});
    SIM_CHECK((kept || how.lines.dim() == 1) && how.lines.size(0) == batches, "cacheIndices ", how.lines.sizes(),
              " for ", batches, " sequences");
  }
  SIM_CHECK(!kept || (how.computed.defined() && how.first_block.defined() && how.last_block.defined() &&
                      how.initial_block.defined()),
            "cacheIndices of blocks need numComputedTokens, blockIdxFirstScheduledToken, blockIdxLastScheduledToken "
            "and initialStateIdx");
  SIM_CHECK(kept || !how.last_block.defined(), "blockIdxLastScheduledToken needs cacheIndices of blocks");
  SIM_CHECK(!kept || how.block >= 2, "blockSize ", how.block, "; 2 or more are allowed");
  SIM_CHECK(how.mode == 0 || how.mode == 1, "convMode ", how.mode, "; allowed: 0, 1");
  SIM_CHECK(how.mode == 0 || how.computed.defined(), "convMode 1 needs numComputedTokens");
}

void cached_causal_conv(const at::Tensor& x, const CachedConvolution& how, const at::Tensor& out) {
  const int64_t length = how.states.size(1), channels = x.size(-1), lines = how.states.size(0);
  const int64_t batches = x.dim() == 3 ? x.size(0) : how.starts.numel() - 1;
  const bool kept = how.lines.defined() && how.lines.dim() == 2;
  const auto line_of = [&](const at::Tensor& places, int64_t place) {
    SIM_CHECK(place >= 0 && place < places.numel(), "block ", place, " of ", places.numel());
    return at_place(places, place);
  };
  const auto state = [&](int64_t line) {
    SIM_CHECK(line >= 0 && line < lines, "line ", line, " of convStates, which has ", lines);
    return how.states[line];
  };
  for (int64_t batch = 0; batch < batches; ++batch) {
    const int64_t start = x.dim() == 3 ? 0 : at_place(how.starts, batch);
    const int64_t count = x.dim() == 3 ? x.size(1) : at_place(how.starts, batch + 1) - start;
    SIM_CHECK(start >= 0 && count >= 0 && (x.dim() == 3 || start + count <= x.size(0)), "sequence ", batch, " has ",
              count, " tokens from ", start, " on, x is ", x.sizes());
    SIM_CHECK(x.dim() == 2 || !how.starts.defined() || at_place(how.starts, batch + 1) == (batch + 1) * count,
              "queryStartLoc of sequences of ", count, " tokens each says ", at_place(how.starts, batch + 1));
    const auto mine = [&](const at::Tensor& of) { return (of.dim() == 3 ? of[batch] : of).narrow(0, start, count); };
    const at::Tensor now = mine(x).clone();
    const int64_t first = kept ? at_place(how.first_block, batch) : 0,
                  last = kept ? at_place(how.last_block, batch) : 0;
    const auto blocks = kept ? how.lines[batch] : at::Tensor();
    const auto own = [&] { return how.lines.defined() ? at_place(how.lines, batch) : batch; };
    const int64_t from = kept ? line_of(blocks, at_place(how.initial_block, batch)) : own();
    if (from == how.skipped) continue;
    const bool fresh = how.computed.defined() && at_place(how.computed, batch) == 0;
    int64_t offset = fresh ? 0 : length - kBefore;
    if (!fresh && how.accepted.defined()) offset = at_place(how.accepted, batch) - 1;
    SIM_CHECK(offset >= 0 && offset + kBefore <= length, "sequence ", batch, " continues ", offset + kBefore,
              " tokens, convStates keeps ", length);
    const auto before =
        fresh ? at::zeros({kBefore, channels}, x.options()) : state(from).narrow(0, 0, offset + kBefore);
    const auto all = at::concat({before, now});
    const int64_t stay = std::min(length, all.size(0));
    state(kept ? line_of(blocks, last) : from)
        .narrow(0, length - stay, stay)
        .copy_(all.narrow(0, all.size(0) - stay, stay));
    const auto padded = all.narrow(0, offset, kBefore + count);
    if (kept) {
      // Where blocks end within this sequence; each keeps what the one behind it continues.
      const int64_t end = remainder_of(count - how.block + at_place(how.computed, batch) % how.block, how.block);
      const int64_t past = (end + how.block) % how.block, full = count - past - (past == 0 ? how.block : 0);
      for (int64_t i = first; i < last; ++i) {
        const int64_t boundary = full - (last - i - 1) * how.block;
        SIM_CHECK(boundary >= 0 && boundary <= count, "block ", i, " of sequence ", batch, " ends at token ", boundary,
                  " of ", count);
        state(line_of(blocks, i)).narrow(0, length - kBefore, kBefore).copy_(padded.narrow(0, boundary, kBefore));
      }
    }
    auto result = convolved(padded, how.weight);
    if (how.mode == 1)
      result.narrow(0, 0, std::clamp<int64_t>(kBefore - at_place(how.computed, batch), 0, count)).zero_();
    mine(out).copy_(how.residual ? result + wide(now) : result);
  }
}

}  // namespace sim::kernels
