#include "kernels/expert_exchange.h"

#include "kernels/groups.h"
#include "kernels/norm.h"
#include "kernels/quant.h"
#include "kernels/routing.h"

namespace sim::expert_exchange {

// ---- what must hold ------------------------------------------------------------------------------------------------
void layout_like(const Layout& layout, const Devices& devices, int64_t tp_ranks, int64_t shard_type,
                 const std::string& algorithm) {
  SIM_CHECK(layout.ranks == devices.ranks() && layout.rank == devices.rank(), "epWorldSize ", layout.ranks,
            " and epRankId ", layout.rank, ": this is device ", devices.rank(), " of ", devices.ranks(), " of groupEp");
  SIM_CHECK(tp_ranks == 0 || tp_ranks == 1, "tpWorldSize ", tp_ranks, " is not simulated; allowed: 0, 1");
  SIM_CHECK(shard_type == 0, "expertShardType ", shard_type, "; allowed: 0");
  SIM_CHECK(algorithm.empty() || algorithm == "fullmesh" || algorithm == "hierarchy" || algorithm == "fullmesh_v1" ||
                algorithm == "fullmesh_v2",
            "commAlg '", algorithm, "'; allowed: '', fullmesh, fullmesh_v1, fullmesh_v2, hierarchy");
  SIM_CHECK(layout.shared_ranks >= 0 && layout.shared_ranks < layout.ranks, "sharedExpertRankNum ", layout.shared_ranks,
            " of ", layout.ranks, " devices");
  SIM_CHECK(layout.shared_ranks ? layout.shared == 1 : layout.shared == 0 || layout.shared == 1, "sharedExpertNum ",
            layout.shared, " on ", layout.shared_ranks,
            " devices is not simulated; allowed: 1, and 0 where no device has one");
  SIM_CHECK(layout.experts > 0 && remainder_of(layout.experts, layout.ranks - layout.shared_ranks) == 0,
            "moeExpertNum ", layout.experts, " on ", layout.ranks - layout.shared_ranks, " devices");
  SIM_CHECK(layout.zeros >= 0 && layout.copies >= 0 && layout.constants >= 0,
            "a number of experts without a network is negative");
}

static void choices_like(const Layout& layout, const Tokens& tokens) {
  SIM_CHECK(tokens.experts.dim() == 2, "expertIds (tokens, k) expected, got ", tokens.experts.sizes());
  const int64_t k = tokens.experts.size(1);
  SIM_CHECK(k > 0 && k <= 16 && k <= layout.all(), k, " experts of a token; allowed: 1 to ",
            std::min<int64_t>(16, layout.all()));
  if (!tokens.active.defined()) return;
  SIM_CHECK(
      tokens.active.sizes() == tokens.experts.sizes() || tokens.active.sizes() == tokens.experts.sizes().slice(0, 1),
      "xActiveMask for ", tokens.experts.sizes(), " expected, got ", tokens.active.sizes());
}

static void weights_like(const at::Tensor& weights, const Tokens& tokens) {
  SIM_CHECK(weights.sizes() == tokens.experts.sizes(), "expertScales of ", weights.sizes(), " for expertIds of ",
            tokens.experts.sizes());
}

void tokens_like(const Layout& layout, const Tokens& tokens, const std::string& algorithm) {
  choices_like(layout, tokens);
  of_dtype("x", tokens.x, {at::kHalf, at::kBFloat16});
  SIM_CHECK(tokens.x.dim() == 2 && tokens.x.size(0) == tokens.experts.size(0), "x (tokens, hidden) and expertIds ",
            tokens.experts.sizes(), " expected, got ", tokens.x.sizes());
  const int64_t count = tokens.x.size(0), width = tokens.x.size(1);
  const bool by_server = algorithm == "hierarchy";
  if (on_product("Ascend910B"))
    SIM_CHECK(count > 0 && count <= (by_server ? 512 : 256) && width > 0 && width <= (by_server ? 10240 : 7168) &&
                  width % 32 == 0,
              "x ", tokens.x.sizes(), "; Ascend910B allows 1 to ", by_server ? 512 : 256, " tokens of at most ",
              by_server ? 10240 : 7168, " numbers, a multiple of 32");
  if (on_product("Ascend910_93"))
    SIM_CHECK(count > 0 && count <= 512 && width >= 1024 && width <= 8192, "x ", tokens.x.sizes(),
              "; Ascend910_93 allows 1 to 512 tokens of 1024 to 8192 numbers");
}

void dispatch_like(const Layout& layout, const Sending& of, int64_t global_tokens, const Received& out) {
  SIM_CHECK(of.quantization == kNone || of.quantization == kDynamic, "quantMode ", of.quantization,
            " is not simulated; allowed: 0 (none), 2 (dynamic)");
  SIM_CHECK(of.counts_kind == 0 || of.counts_kind == 1, "expertTokenNumsType ", of.counts_kind, "; allowed: 0, 1");
  of_dtype("expandX", out.rows, {of.quantization == kNone ? of.tokens.x.scalar_type() : at::kChar});
  const int64_t count = of.tokens.x.size(0), k = of.tokens.experts.size(1), width = of.tokens.x.size(1);
  SIM_CHECK(of.quantization == kDynamic || !of.scales.defined(), "scales go with quantMode 2");
  if (of.scales.defined()) of_dtype("scales", of.scales, {at::kFloat});
  shape(of.scales, {layout.experts + (layout.shared_ranks ? layout.shared : 0), width});
  if (of.weights.defined()) weights_like(of.weights, of.tokens);
  SIM_CHECK(global_tokens == 0 ||
                (remainder_of(global_tokens, layout.ranks) == 0 && divided(global_tokens, layout.ranks) >= count),
            "globalBs ", global_tokens, " for ", layout.ranks, " devices, this one with ", count, " tokens");
  const int64_t most = layout.rank < layout.shared_ranks
                           ? 0  // as many devices as there are to a copy; counted when the rows are there
                           : (global_tokens ? global_tokens : count * layout.ranks) * std::min(layout.on_each(), k);
  // Each is at least so large; the graph engine makes them so.
  idle(out.rows, {most, width}), idle(out.row_scale, {of.quantization == kDynamic ? most : 1});
  idle(out.ends, {layout.here() * layout.ranks}), idle(out.weights, {of.weights.defined() ? most : 1});
  idle(out.sources, {of.by_row ? std::max(count * k, 128 * most) : count * k});
  SIM_CHECK(out.rows.dim() == 2 && out.rows.size(0) >= most && out.rows.size(1) == width, "expandX (", most,
            " or more, ", width, ") expected, got ", out.rows.sizes());
  shape(out.expert_counts, {layout.here()});
  SIM_CHECK(out.ends.dim() == 1 && out.ends.size(0) >= layout.here() * layout.ranks, "epRecvCounts (",
            layout.here() * layout.ranks, ") expected, got ", out.ends.sizes());
  SIM_CHECK(out.sources.dim() == 1 && out.sources.size(0) >= (of.by_row ? 3 * out.rows.size(0) : count * k),
            of.by_row ? "assistInfoForCombine" : "expandIdx", " with ", of.by_row ? 128 * out.rows.size(0) : count * k,
            " numbers expected, got ", out.sources.sizes());
}

void combine_like(const Layout& layout, const Returning& of, int64_t quantization, const at::Tensor& out) {
  choices_like(layout, of.tokens);
  const at::Tensor& x = of.tokens.x;
  SIM_CHECK(x.dim() == 2, "expandX (rows, hidden) expected, got ", x.sizes());
  const int64_t count = of.tokens.experts.size(0), width = x.size(1);
  SIM_CHECK(quantization == kNone, "commQuantMode ", quantization, " is not simulated; allowed: 0");
  weights_like(of.weights, of.tokens);
  shape(out, {count, width});
  SIM_CHECK(of.ends.dim() == 1 && of.ends.size(0) >= layout.here() * layout.ranks, "epSendCounts (",
            layout.here() * layout.ranks, ") expected, got ", of.ends.sizes());
  SIM_CHECK(
      of.sources.dim() == 1 && of.sources.size(0) >= (of.by_row ? 3 * x.size(0) : count * of.tokens.experts.size(1)),
      of.by_row ? "assistInfoForCombine" : "expandIdx", " of ", of.sources.size(0), " numbers for expandX ", x.sizes());
  if (of.shared.defined()) {
    same_dtype({of.shared, x});
    SIM_CHECK(of.shared.numel() == out.numel() && of.shared.size(-1) == width, "sharedExpertX ", of.shared.sizes(),
              " for ", out.sizes());
  }
  SIM_CHECK(!(layout.copies || layout.constants) || of.special.x.defined(), "copies of tokens need oriX");
  if (of.special.x.defined()) like(of.special.x, out), same_dtype({of.special.x, x});
  if (!layout.constants) return;
  for (const at::Tensor& each : {of.special.alpha, of.special.beta, of.special.value}) {
    SIM_CHECK(each.defined(), "constant experts need constExpertAlpha1, constExpertAlpha2 and constExpertV");
    // With a norm behind it the pages have one factor an expert.
    if (each.is_same(of.special.value) || each.dim() != 1) shape(each, {layout.constants, width});
    else shape(each, {layout.constants});
    same_dtype({each, x});
  }
}

// ---- choices -------------------------------------------------------------------------------------------------------
// What this device sends: to the shared expert first, then by expert, for each in the order of the tokens.
struct Choices {
  at::Tensor token, choice, expert;  // of what is routed; choice: a number below k
  at::Tensor counts;                 // by expert
  at::Tensor shared;                 // the tokens for the shared expert
  Dims to_ranks;                     // rows for each device
  at::Tensor counts_for_ranks;       // of each device's experts, device by device
  Dims experts_of_ranks;
};

static Choices choices_of(const Layout& layout, const Tokens& tokens) {
  const int64_t k = tokens.experts.size(1);
  const at::Tensor ids = tokens.experts.to(at::kLong).contiguous();
  SIM_CHECK(!ids.numel() || (ids.min().item<int64_t>() >= 0 && ids.max().item<int64_t>() < layout.all()),
            "expertIds from ", ids.min().item<int64_t>(), " to ", ids.max().item<int64_t>(), " of ", layout.all(),
            " experts");
  at::Tensor active = at::ones_like(ids, at::kBool);
  if (tokens.active.defined())
    active = tokens.active.dim() == 1 ? tokens.active.unsqueeze(1).expand_as(ids) : tokens.active;
  const at::Tensor flat = active.logical_and(ids.lt(layout.experts)).flatten().nonzero().squeeze(1);
  const at::Tensor of = ids.flatten().index_select(0, flat);
  const at::Tensor order = at::argsort(of, true, 0, false);
  const at::Tensor sorted = flat.index_select(0, order);
  Choices made{sorted.div(k, "floor"),
               sorted.remainder(k),
               of.index_select(0, order),
               at::bincount(of, {}, layout.experts),
               {},
               {},
               {},
               {}};
  made.shared = layout.shared_ranks ? active.any(1).nonzero().squeeze(1) : at::empty({0}, at::kLong);
  Tensors counts;
  for (int64_t rank = 0; rank < layout.ranks; ++rank) {
    const bool has_shared = rank < layout.shared_ranks;
    counts.push_back(has_shared
                         ? at::full({1}, rank == layout.shared_rank() ? made.shared.numel() : 0, at::kLong)
                         : made.counts.narrow(0, (rank - layout.shared_ranks) * layout.on_each(), layout.on_each()));
    made.to_ranks.push_back(counts.back().sum().item<int64_t>());
    made.experts_of_ranks.push_back(counts.back().numel());
  }
  made.counts_for_ranks = at::concat(counts);
  return made;
}

// Where each row of what came, by device and expert, is by expert and device.
static at::Tensor by_expert(const at::Tensor& counts) {
  const at::Tensor rows = at::empty({counts.sum().item<int64_t>(), 0});
  return routing::re_route(rows, counts, {})[2];
}

static void fill_first(const at::Tensor& out, const at::Tensor& value, const char* name) {
  SIM_CHECK(value.size(0) <= out.size(0), value.size(0), " rows came, ", name, " has ", out.size(0));
  out.narrow(0, 0, value.size(0)).copy_(value);
}

// ---- there ---------------------------------------------------------------------------------------------------------
void dispatch(Devices& devices, const Layout& layout, const Sending& of, const Received& out) {
  const Choices choices = choices_of(layout, of.tokens);
  const at::Tensor token = at::concat({choices.shared, choices.token});
  const at::Tensor counts =
      devices.exchange(choices.counts_for_ranks, choices.experts_of_ranks, Dims(size_t(layout.ranks), layout.here()))
          .reshape({layout.ranks, layout.here()});
  const Dims from_ranks = groups::numbers(counts.sum(1));
  const at::Tensor order = by_expert(counts);
  const auto moved = [&](const at::Tensor& rows) {
    return devices.exchange(rows, choices.to_ranks, from_ranks).index_select(0, order);
  };

  at::Tensor rows = of.tokens.x.index_select(0, token);
  if (of.quantization == kDynamic) {
    rows = wide(rows);
    if (of.scales.defined()) {
      const int64_t first = layout.shared_ranks ? layout.shared : 0;
      rows =
          rows.mul(of.scales.index_select(0, at::concat({at::zeros_like(choices.shared), choices.expert.add(first)})));
    }
    const quant::Dynamic result = quant::symmetric(rows, 127);
    rows = quant::saturated(result.value, out.rows);
    fill_first(out.row_scale, moved(result.scale), "dynamicScales");
  }
  fill_first(out.rows, moved(rows), "expandX");

  const int64_t k = of.tokens.experts.size(1);
  out.sources.zero_();
  if (of.by_row) {
    const at::Tensor choice = at::concat({at::full_like(choices.shared, k), choices.choice});
    const at::Tensor source = at::stack({at::full_like(token, layout.rank), token, choice}, 1).to(at::kInt);
    fill_first(out.sources, moved(source).flatten(), "assistInfoForCombine");
  } else {
    const at::Tensor starts = choices.counts.cumsum(0).sub(choices.counts).index_select(0, choices.expert);
    const at::Tensor place = at::arange(choices.expert.numel(), at::kLong).sub(starts);
    out.sources.scatter_(0, choices.token.mul(k).add(choices.choice), place.to(at::kInt));
  }
  const at::Tensor each = counts.sum(0);
  out.expert_counts.copy_(of.counts_kind == 0 ? each.cumsum(0) : each);
  out.ends.zero_();
  fill_first(out.ends, counts.t().flatten().cumsum(0), "epRecvCounts");
  if (of.weights.defined() && out.weights.defined()) {
    const at::Tensor routed = of.weights.flatten().index_select(0, choices.token.mul(k).add(choices.choice));
    fill_first(out.weights, moved(at::concat({at::ones({choices.shared.numel()}), routed})), "expandScales");
  }
}

// ---- and back ------------------------------------------------------------------------------------------------------
static at::Tensor without_network(const Layout& layout, const at::Tensor& ids, const Special& special,
                                  const at::Tensor& weights) {
  at::Tensor factor = weights.mul(ids.ge(layout.experts + layout.zeros)).mul(ids.lt(layout.all() - layout.constants));
  at::Tensor sum = wide(special.x).mul(factor.sum(1, true));
  for (int64_t i = 0; i < layout.constants; ++i) {
    factor = weights.mul(ids.eq(layout.all() - layout.constants + i)).sum(1, true);
    const at::Tensor value =
        wide(special.x).mul(wide(special.alpha[i])).add(wide(special.beta[i]).mul(wide(special.value[i])));
    sum = sum.add(value.mul(factor));
  }
  return sum;
}

at::Tensor combine(Devices& devices, const Layout& layout, const Returning& of) {
  const Choices choices = choices_of(layout, of.tokens);
  const int64_t count = of.tokens.experts.size(0), k = of.tokens.experts.size(1), width = of.tokens.x.size(1);
  const at::Tensor last = of.ends.narrow(0, 0, layout.here() * layout.ranks).to(at::kLong);
  const at::Tensor counts =
      at::diff(last, 1, 0, at::zeros({1}, at::kLong)).reshape({layout.here(), layout.ranks}).t().contiguous();
  SIM_CHECK(counts.min().item<int64_t>() >= 0 && last[-1].item<int64_t>() <= of.tokens.x.size(0),
            "epSendCounts are no sums of numbers of the ", of.tokens.x.size(0), " rows of expandX");
  const Dims to_ranks = groups::numbers(counts.sum(1));
  const at::Tensor order = at::argsort(by_expert(counts), true, 0, false);
  const auto moved = [&](const at::Tensor& rows) {
    return devices.exchange(rows.index_select(0, order), to_ranks, choices.to_ranks);
  };

  const at::Tensor rows = wide(moved(of.tokens.x));
  at::Tensor token = at::concat({choices.shared, choices.token});
  at::Tensor choice = at::concat({at::full_like(choices.shared, k), choices.choice});
  if (of.by_row) {
    const at::Tensor source = moved(of.sources.narrow(0, 0, 3 * order.numel()).reshape({-1, 3})).to(at::kLong);
    token = source.select(1, 1), choice = source.select(1, 2);
    SIM_CHECK(source.select(1, 0).eq(layout.rank).all().item<bool>() && token.ge(0).all().item<bool>() &&
                  token.lt(count).all().item<bool>() && choice.ge(0).all().item<bool>() &&
                  choice.le(k).all().item<bool>(),
              "assistInfoForCombine is not what MoeDistributeDispatch gave");
  }
  at::Tensor all = at::zeros({count, k + 1, width});
  put_at(all, {token, choice}, rows);
  if (!of.by_row && choices.token.numel()) {
    // What came of an expert is in the order of the tokens; expandIdx says which of it a choice is.
    const at::Tensor starts = choices.counts.cumsum(0).sub(choices.counts).index_select(0, choices.expert);
    const at::Tensor place =
        of.sources.to(at::kLong).index_select(0, choices.token.mul(k).add(choices.choice)).add(starts);
    SIM_CHECK(place.ge(0).all().item<bool>() && place.lt(choices.token.numel()).all().item<bool>(),
              "expandIdx is not what MoeDistributeDispatch gave");
    put_at(all, {choices.token, choices.choice},
           rows.narrow(0, choices.shared.numel(), choices.token.numel()).index_select(0, place));
  }
  const at::Tensor factors = at::concat({of.weights, at::ones({count, 1})}, 1).unsqueeze(2);
  at::Tensor sum = all.mul(factors).sum(1);
  if (layout.copies || layout.constants)
    sum = sum.add(without_network(layout, of.tokens.experts.to(at::kLong), of.special, of.weights));
  return of.shared.defined() ? sum.add(wide(of.shared).reshape({count, width})) : sum;
}

void normalized_like(const at::Tensor& rest, const at::Tensor& gamma, int64_t tokens, int64_t width,
                     const at::Tensor& out, const at::Tensor& rstd, const at::Tensor& sum) {
  shape(rest, {tokens, 1, width}), shape(gamma, {width}), like(out, rest), like(sum, rest);
  shape(rstd, {tokens, 1, 1});
  of_dtype("rstdOut", rstd, {at::kFloat});
  same_dtype({rest, gamma, out, sum});
}

Tensors normalized(const at::Tensor& combined, const at::Tensor& rest, const at::Tensor& gamma, double eps) {
  const auto result = kernels::add_rms_norm(combined.unsqueeze(1), rest, gamma, eps);
  return {result.y, result.rstd, result.sum};
}

// ---- none goes on before all have come -----------------------------------------------------------------------------
void barrier_like(const Devices& devices, int64_t ranks) {
  SIM_CHECK(ranks == devices.ranks() && ranks >= 2 && ranks <= 384, "worldSize ", ranks, " for a group of ",
            devices.ranks(), " devices; allowed: 2 to 384");
}

void wait_for_all(Devices& devices) { devices.sum(at::zeros({1})); }

}  // namespace sim::expert_exchange
