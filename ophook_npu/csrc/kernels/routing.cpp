#include "kernels/routing.h"

#include "kernels/pattern.h"

#include <limits>

#include "kernels/quant.h"

namespace sim::routing {

using namespace sim::quant;

// ---- choice --------------------------------------------------------------------------------------------------------
// Of equal values the first comes first.
static at::Tensor first_of(const at::Tensor& values, int64_t count) {
  return at::argsort(values, /*stable=*/true, -1, /*descending=*/true).narrow(-1, 0, count);
}

void gating(const at::Tensor& x, const at::Tensor& bias, const Gating& how) {
  SIM_CHECK(x.dim() == 2, "x (rows, experts) expected, got ", x.sizes());
  if (bias.defined()) shape(bias, {x.size(1)});
  SIM_CHECK(how.groups >= 1 && x.size(1) % how.groups == 0, "group_count ", how.groups, " for ", x.size(1), " experts");
  SIM_CHECK(how.groups_kept >= 1 && how.groups_kept <= how.groups, "k_group ", how.groups_kept, " of group_count ",
            how.groups);
  SIM_CHECK(how.k >= 1 && how.k <= x.size(1) / how.groups * how.groups_kept, "k ", how.k, "; allowed: 1 to ",
            x.size(1) / how.groups * how.groups_kept);
  SIM_CHECK(how.mode == 0 || how.mode == 1, "group_select_mode ", how.mode,
            "; allowed: 0 (largest), 1 (sum of the two largest)");
  SIM_CHECK(how.mode == 0 || x.size(1) / how.groups > 1, "group_select_mode 1 needs two experts a group");
  SIM_CHECK(how.renorm == 0, "renorm ", how.renorm, " is not simulated; allowed: 0");
  SIM_CHECK(how.norm == 0 || how.norm == 1, "norm_type ", how.norm, "; allowed: 0 (softmax), 1 (sigmoid)");
}

static at::Tensor weights_of(const at::Tensor& x, bool sigmoid) {
  return sigmoid ? at::sigmoid(wide(x)) : at::softmax(wide(x), -1);
}

static Tensors chosen_of(const at::Tensor& weights, const at::Tensor& chosen, const Gating& how) {
  auto kept = weights.gather(1, chosen);
  if (how.norm == 1) kept = kept.div(kept.sum(-1, true).add(how.eps));
  return {kept.mul(how.factor), chosen, weights};
}

Tensors gating_top_k(const at::Tensor& x, const at::Tensor& bias, const Gating& how) {
  auto weights = weights_of(x, how.norm == 1);
  auto rank = bias.defined() ? weights.add(wide(bias)) : weights;
  if (how.groups > 1) {
    auto grouped = rank.reshape({x.size(0), how.groups, -1});
    auto score = how.mode == 0 ? grouped.amax(-1) : std::get<0>(grouped.topk(2)).sum(-1);
    auto dropped = at::full({x.size(0), how.groups}, true, score.options().dtype(at::kBool))
                       .scatter_(1, first_of(score, how.groups_kept), false);
    rank = grouped.masked_fill(dropped.unsqueeze(-1), -std::numeric_limits<double>::infinity()).reshape(x.sizes());
  }
  return chosen_of(weights, first_of(rank, how.k), how);
}

void looked_up_like(const at::Tensor& x, const at::Tensor& numbers, const at::Tensor& table, int64_t k) {
  SIM_CHECK(numbers.defined() == table.defined(), "inputIds and tid2eid go together");
  if (!numbers.defined()) return;
  shape(numbers, {x.size(0)});
  SIM_CHECK(table.dim() == 2 && table.size(1) == k, "tid2eid (numbers, ", k, ") expected, got ", table.sizes());
}

Tensors gating_looked_up(const at::Tensor& x, const at::Tensor& numbers, const at::Tensor& table, const Gating& how) {
  const at::Tensor rows = numbers.to(at::kLong);
  SIM_CHECK(rows.ge(0).logical_and(rows.lt(table.size(0))).all().item<bool>(), "inputIds beyond ", table.size(0),
            " rows of tid2eid");
  const at::Tensor chosen = table.index_select(0, rows).to(at::kLong);
  SIM_CHECK(chosen.ge(0).logical_and(chosen.lt(x.size(1))).all().item<bool>(), "tid2eid has others than ", x.size(1),
            " experts");
  return chosen_of(weights_of(x, how.norm == 1), chosen, how);
}

void gating_backward_like(const at::Tensor& all, const at::Tensor& grad, const at::Tensor& chosen, int64_t renorm,
                          int64_t norm, const at::Tensor& out) {
  SIM_CHECK(norm == 1 && renorm == 0, "normType ", norm, " and renorm ", renorm, "; allowed: 1 (sigmoid) and 0");
  const auto [rows, experts, k] = shapes<"rows experts, rows k, rows k -> rows experts">(all, grad, chosen, out);
  SIM_CHECK(experts >= 2 && experts <= 2048 && k <= experts, k, " of ", experts,
            " experts; allowed: 2 to 2048, and no more choices");
}

at::Tensor gating_backward(const at::Tensor& all, const at::Tensor& grad, const at::Tensor& chosen, double factor,
                           double eps) {
  const at::Tensor place = chosen.to(at::kLong), kept = all.gather(1, place), to = wide(grad).mul(factor);
  const at::Tensor sum = kept.sum(-1, true).add(eps);
  const at::Tensor of_kept = to.sub(to.mul(kept).sum(-1, true).div(sum)).div(sum);
  return at::zeros_like(all).scatter_add(1, place, of_kept.mul(kept).mul(kept.neg().add(1)));
}

// A finished row goes to the expert behind the last.
static at::Tensor unless_finished(const at::Tensor& chosen, const at::Tensor& finished, int64_t experts) {
  return finished.defined() ? chosen.masked_fill(finished.unsqueeze(-1), experts) : chosen;
}

void chosen_like(const at::Tensor& x, int64_t k, std::initializer_list<at::Tensor> outs) {
  SIM_CHECK(k >= 0 && k <= x.size(-1), "k ", k, " of ", x.size(-1), " experts");
  for (const at::Tensor& each : outs) shapes<"*rows _ -> *rows =k">({k}, x, each);
}

Tensors gating_softmax(const at::Tensor& x, const at::Tensor& finished, int64_t k, bool late) {
  auto weights = at::softmax(wide(x), -1);
  auto chosen = first_of(late ? wide(x) : weights, k);
  auto kept = late ? at::softmax(wide(x).gather(-1, chosen), -1) : weights.gather(-1, chosen);
  return {kept, unless_finished(chosen, finished, x.size(-1)), weights};
}

at::Tensor numbers_of_choices(at::IntArrayRef sizes) {
  const int64_t all = c10::multiply_integers(sizes);
  return at::arange(all, at::kInt).reshape({sizes.back(), -1}).t().reshape(sizes);
}

at::Tensor ends_of_experts(const at::Tensor& sorted, int64_t experts) {
  return at::searchsorted(sorted, at::arange(experts, sorted.options()), /*out_int32=*/false, /*right=*/true);
}

// ---- rows in the order of the experts ------------------------------------------------------------------------------
void routed(const at::Tensor& x, const at::Tensor& expert_idx) { shapes<"rows hidden, rows k">(x, expert_idx); }

Tensors init_routing(const at::Tensor& x, const at::Tensor& row_idx, const at::Tensor& expert_idx, int64_t active) {
  auto flat = expert_idx.flatten();
  auto order = at::argsort(flat, true, 0, false);
  auto from = row_idx.flatten().to(at::kLong).index_select(0, order);
  const int64_t rows = std::min(active, x.size(0)) * expert_idx.size(1);
  return {x.index_select(0, from.narrow(0, 0, rows).remainder(x.size(0))),
          at::empty_like(from).scatter_(0, from, at::arange(from.numel(), from.options())),
          flat.index_select(0, order)};
}

struct Routing {
  at::Tensor order;    // of all choices; the active ones first, by expert
  at::Tensor experts;  // of the active ones, from 0
  int64_t active;
  at::Tensor counts;  // of each expert
};

static Routing route(const at::Tensor& expert_idx, int64_t first, int64_t last) {
  auto flat = expert_idx.flatten().to(at::kLong);
  flat = flat.masked_fill(flat.lt(first), std::numeric_limits<int32_t>::max());
  auto order = at::argsort(flat, true, 0, false);
  auto experts = flat.index_select(0, order);
  const int64_t active = experts.lt(last).sum().item<int64_t>();
  experts = experts.narrow(0, 0, active).sub(first);
  return {order, experts, active, at::bincount(experts, {}, last - first)};
}

// With a capacity every expert has that many rows, filled up with zeros; what comes later is dropped. Gives for each
// active choice its row, -1 for a dropped one.
static at::Tensor rows_within(const Routing& routing, int64_t capacity) {
  auto starts = routing.counts.cumsum(0).sub(routing.counts);
  auto rank = at::arange(routing.active, at::kLong).sub(starts.index_select(0, routing.experts));
  return routing.experts.mul(capacity).add(rank).masked_fill_(rank.ge(capacity), -1);
}

// What is only moved, as bytes where a number has no more of them: ATen moves no rows of its smaller types.
static at::Tensor raw(const at::Tensor& tensor) { return tensor.element_size() == 1 ? tensor.view(at::kByte) : tensor; }

static void move_rows(const Choices& of, const Routing& routing, bool by_row, const Routed& out) {
  // Of the depth of x, or of its words.
  auto all_rows = out.rows.reshape({-1, out.rows.size(-1)});
  const int64_t capacity = of.pad ? of.capacity : 0;

  auto order = routing.order.narrow(0, 0, routing.active), experts = routing.experts;
  auto to = capacity ? rows_within(routing, capacity) : at::arange(routing.active, at::kLong);
  if (by_row) {
    write(out.places, routing.order.to(out.places.scalar_type()));
  } else {
    out.places.fill_(-1);
    out.places.scatter_(0, order, to.to(out.places.scalar_type()));
  }
  auto moved = (to.ge(0).logical_and(to.lt(all_rows.size(0)))).nonzero().squeeze(1);
  order = order.index_select(0, moved);
  experts = experts.index_select(0, moved);
  to = to.index_select(0, moved);
  auto tokens = order.div(of.expert_idx.size(1), "floor");
  if (capacity) all_rows.zero_();
  if (capacity && out.scale.defined()) out.scale.zero_();
  if (of.quantization == kNone) {
    raw(all_rows).index_copy_(0, to, raw(of.x).index_select(0, tokens));
    if (of.scale.defined() && out.scale.defined())
      raw(out.scale).index_copy_(0, to, raw(of.scale).index_select(0, tokens));
  } else {
    auto value = wide(of.x).index_select(0, tokens);
    if (of.quantization == kStatic) {
      value = value.mul(of.scale.reshape({-1})[0]).add(of.offset.reshape({-1})[0]);
    } else {
      if (of.scale.defined()) value = value.mul(of.scale.size(0) == 1 ? of.scale : of.scale.index_select(0, experts));
      auto result = symmetric(value, largest(all_rows));
      value = result.value;
      out.scale.index_copy_(0, to, result.scale);
    }
    all_rows.index_copy_(0, to, saturated(value, all_rows));
  }
  if (!all_rows.is_alias_of(out.rows)) out.rows.copy_(all_rows.reshape(out.rows.sizes()));
}

void route_like(const Choices& of, const Routed& to) {
  routed(of.x, of.expert_idx);
  SIM_CHECK(of.pad == 0 || of.pad == 1, "drop_pad_mode ", of.pad, "; allowed: 0, 1");
  SIM_CHECK(of.pad == 0 || (of.capacity > 0 && of.experts > 0),
            "drop_pad_mode 1 needs expert_capacity and expert_num, got ", of.capacity, " and ", of.experts);
  SIM_CHECK((of.quantization >= kNone && of.quantization <= kDynamic) || of.quantization == kDynamic4, "quant_mode ",
            of.quantization, " is not simulated; allowed: -1 (none), 0 (static), 1 (dynamic), 13 (dynamic, of 4 bits)");
  SIM_CHECK(of.quantization != kStatic || (of.scale.defined() && of.offset.defined()),
            "static quantization needs scale and offset");
  SIM_CHECK(of.quantization == kNone || of.x.scalar_type() != at::kChar, "x of int8 cannot be quantized");
  SIM_CHECK(of.quantization != kDynamic4 || of.pad == 0, "quant_mode 13 with drop_pad_mode ", of.pad, "; allowed: 0");
  shape(to.places, {of.expert_idx.numel()});
  const int64_t all = of.expert_idx.numel(), count = of.pad          ? of.experts * of.capacity
                                                     : of.active > 0 ? std::min(of.active, all)
                                                                     : all;
  const int64_t columns = of.quantization == kDynamic4 ? divided(of.x.size(1), 8) : of.x.size(1);
  of.pad ? shape(to.rows, {of.experts, of.capacity, columns}) : shape(to.rows, {count, columns});
  // Pages have the scales of rows also as (rows, 1).
  if (of.quantization == kDynamic || of.quantization == kDynamic4) counted("expandedScaleOut", to.scale, {count});
  else idle(to.scale, {count});
  if (of.quantization == kNone) same_dtype({of.x, to.rows});
  if (of.quantization == kStatic || of.quantization == kDynamic) {
    of_dtype("expandedXOut", to.rows, {at::kChar});
    if (of.quantization == kDynamic && to.scale.defined()) of_dtype("expandedScaleOut", to.scale, {at::kFloat});
  }
  if (of.quantization == kDynamic4) {
    of_dtype("x", of.x, {at::kFloat, at::kBFloat16});
    of_dtype("expandedXOut", to.rows, {at::kInt});
    refuse_if_given({of.offset}, "offset");
  }
}

void counts_like(int64_t kind, int64_t experts, const Dims& range, const at::Tensor& counts) {
  SIM_CHECK(kind >= 0 && kind <= 2, "the kind of counts is ", kind, "; allowed: 0 (sums), 1 (counts), 2 (pairs)");
  if (kind == 2) shape(counts, {experts, 2});
  else shape(counts, {range.empty() ? experts : range[1] - range[0]});
}

// Kinds: sums up to each expert, counts, or rows of an expert and its count for those that have any.
static void write_counts(const Routing& routing, int64_t kind, int64_t first, const at::Tensor& out) {
  if (!out.defined()) return;
  if (kind < 2) return write(out, (kind == 0 ? routing.counts.cumsum(0) : routing.counts).to(out.scalar_type()));
  auto some = routing.counts.nonzero().squeeze(1);
  out.zero_();
  out.narrow(0, 0, some.numel()).select(1, 0).copy_(some.add(first));
  out.narrow(0, 0, some.numel()).select(1, 1).copy_(routing.counts.index_select(0, some));
}

void init_routing_v3(const Choices& of, int64_t kind, bool counts_asked, const Dims& range, bool by_row,
                     const Routed& to, const at::Tensor& counts) {
  const int64_t first = range.empty() ? 0 : range[0], last = range.empty() ? of.experts : range[1];
  auto routing = route(of.expert_idx, first, last);
  move_rows(of, routing, by_row, to);
  if (counts_asked) write_counts(routing, kind, first, counts);
}

void init_routing_v2(const Choices& of, int64_t counts_kind, bool before_asked, const Routed& to,
                     const at::Tensor& counts, const at::Tensor& before) {
  const int64_t last = of.experts ? of.experts : of.expert_idx.numel() ? of.expert_idx.max().item<int64_t>() + 1 : 0;
  auto routing = route(of.expert_idx, 0, last);
  move_rows(of, routing, false, to);
  if (counts_kind && !of.pad) write_counts(routing, counts_kind - 1, 0, counts);
  if (before_asked && of.pad) write_counts(routing, 1, 0, before);
}

// ---- and back ------------------------------------------------------------------------------------------------------
void finalized_like(const Results& of, const at::Tensor& out) {
  SIM_CHECK(of.mode >= 0 && of.mode <= 3, "drop_pad_mode ", of.mode, "; allowed: 0 to 3");
  SIM_CHECK(!of.bias.defined() || of.experts.defined(), "a bias needs the experts of the rows");
  SIM_CHECK(of.k > 0, "k ", of.k, "; allowed: 1 or more");
  SIM_CHECK(of.rows.dim() == (of.mode % 2 ? 3 : 2), "expandedX ", of.rows.sizes(), " with drop_pad_mode ", of.mode,
            "; 2 dimensions go with 0 and 2, 3 with 1 and 3");
  const int64_t k = of.scales.defined() ? of.scales.size(1) : of.k;
  SIM_CHECK(remainder_of(of.places.numel(), k) == 0, of.places.numel(), " rows for ", k, " experts of each token");
  const int64_t tokens = of.places.numel() / k;
  shape(out, {tokens, of.rows.size(-1)});
  for (const at::Tensor& skip : {of.skip1, of.skip2}) like(skip, out);
  shape(of.scales, {tokens, k}), shape(of.experts, {tokens, k});
}

at::Tensor in_steps(const at::Tensor& x, double scale, double offset) {
  return wide(x).mul(scale).add(offset).round().clamp(-128, 127).to(at::kChar);
}

void init_backward_like(const at::Tensor& grad, const at::Tensor& places, int64_t k, int64_t drop, int64_t active,
                        const at::Tensor& out) {
  SIM_CHECK((drop == 0 && grad.dim() == 2) || (drop == 1 && grad.dim() == 3), "a gradient of shape ", grad.sizes(),
            " with dropPadMode ", drop, "; 2 dimensions go with 0, 3 with 1");
  SIM_CHECK(places.dim() == 1 && remainder_of(places.numel(), k) == 0, "expandedRowIdx ", places.sizes(), " for topK ",
            k);
  SIM_CHECK(drop || grad.size(0) == (active > 0 ? std::min(active, places.numel()) : places.numel()), grad.size(0),
            " rows of the gradient for ", places.numel(), " choices and activeNum ", active);
  shape(out, {places.numel() / k, grad.size(-1)});
}

// Rows in the order of the choices; zeros for those that were dropped.
static at::Tensor of_choices(const at::Tensor& rows, const at::Tensor& places) {
  const at::Tensor all = wide(rows).reshape({-1, rows.size(-1)}), at = places.flatten().to(at::kLong);
  const at::Tensor there = at::logical_and(at.ge(0), at.lt(all.size(0)));
  return all.index_select(0, at.masked_fill(there.logical_not(), 0)).mul(there.unsqueeze(1));
}

at::Tensor init_backward(const at::Tensor& grad, const at::Tensor& places, int64_t k) {
  return of_choices(grad, places).reshape({-1, k, grad.size(-1)}).sum(1);
}

void finalize_backward_like(const at::Tensor& grad, const Finalized& of, const at::Tensor& out,
                            const at::Tensor& out_scales) {
  SIM_CHECK(grad.dim() == 2 && of.places.dim() == 1, "gradY ", grad.sizes(), " and expandedRowIdx ", of.places.sizes(),
            "; 2 dimensions and 1 expected");
  SIM_CHECK(of.places.numel() == grad.size(0) * (of.scales.defined() ? of.scales.size(-1) : 1), of.places.numel(),
            " choices for ", grad.size(0), " tokens");
  SIM_CHECK((out.dim() == 2 || out.dim() == 3) && out.size(-1) == grad.size(1), "gradExpandedXOut ", out.sizes(),
            " for gradY ", grad.sizes());
  if (!of.scales.defined()) return;
  shape(of.scales, {grad.size(0), of.scales.size(-1)}), like(out_scales, of.scales);
  SIM_CHECK(of.rows.defined(), "scalesOptional needs expandedXOptional");
  like(out, of.rows);
  if (of.bias.defined()) like(of.experts, of.scales);
}

Tensors finalize_backward(const at::Tensor& grad, const Finalized& of, at::IntArrayRef sizes) {
  at::Tensor each = wide(grad), of_scales;
  if (of.scales.defined()) {
    const int64_t k = of.scales.size(1);
    at::Tensor values = of_choices(of.rows, of.places);
    if (of.bias.defined()) values = values.add(wide(of.bias).index_select(0, of.experts.flatten().to(at::kLong)));
    each = each.repeat_interleave(k, 0);
    of_scales = values.mul(each).sum(1).reshape(of.scales.sizes());
    each = each.mul(wide(of.scales).reshape({-1, 1}));
  }
  const at::Tensor out = at::zeros(sizes, each.options()).reshape({-1, grad.size(1)}), at = of.places.to(at::kLong);
  const at::Tensor there = at::logical_and(at.ge(0), at.lt(out.size(0))).nonzero().squeeze(1);
  out.index_copy_(0, at.index_select(0, there), each.index_select(0, there));
  return {out.reshape(sizes), of_scales};
}

at::Tensor finalize(const Results& of) {
  const int64_t k = of.scales.defined() ? of.scales.size(1) : of.k, tokens = divided(of.places.numel(), k);
  auto place = of.places.to(at::kLong);
  place = of.mode >= 2 ? place.reshape({tokens, k}) : place.reshape({k, tokens}).t();
  auto kept = place.ge(0).unsqueeze(-1);
  auto value = wide(of.rows)
                   .reshape({-1, of.rows.size(-1)})
                   .index_select(0, place.clamp_min(0).flatten())
                   .reshape({tokens, k, -1})
                   .mul(kept);
  if (of.bias.defined())
    value = value.add(wide(of.bias).index_select(0, of.experts.flatten().to(at::kLong)).reshape({tokens, k, -1}));
  if (of.scales.defined()) value = value.mul(wide(of.scales).unsqueeze(-1));
  value = value.sum(1);
  for (const at::Tensor& skip : {of.skip1, of.skip2})
    if (skip.defined()) value = value.add(wide(skip));
  return value;
}

// ---- copies of experts ---------------------------------------------------------------------------------------------
void balanced_like(const Balance& of, const at::Tensor& out, const at::Tensor& out_active) {
  SIM_CHECK(of.experts.dim() == 2 && of.experts.size(0) <= 512 && of.experts.size(1) <= 16,
            "expertIds (up to 512 tokens, up to 16) expected, got ", of.experts.sizes());
  SIM_CHECK(of.table.dim() == 2 && of.table.size(0) <= 1024 && of.table.size(1) >= 2,
            "eplbTable (up to 1024 experts, 2 or more) expected, got ", of.table.sizes());
  SIM_CHECK(of.mode == 0 || of.mode == 1, "balanceMode ", of.mode, "; allowed: 0 (by rank), 1 (by token)");
  SIM_CHECK(of.mode == 1 || (of.ranks >= 2 && of.ranks <= 768 && of.rank >= 0 && of.rank < of.ranks), "localRankId ",
            of.rank, " of worldSize ", of.ranks, "; allowed: 0 to below worldSize, and 2 to 768");
  SIM_CHECK(of.mode == 1 || of.table.size(1) <= of.ranks + 1, "eplbTable ", of.table.sizes(), " for ", of.ranks,
            " devices");
  like(out, of.experts), same_dtype({out, of.experts});
  SIM_CHECK(of.scales.defined() == of.threshold.defined(), "expertScales and pruningThreshold go together");
  SIM_CHECK(!of.active.defined() || of.scales.defined(), "activeMask needs expertScales and pruningThreshold");
  if (!of.scales.defined()) return;
  like(of.scales, of.experts), shape(of.active, {of.experts.size(0)}), like(out_active, of.experts);
  SIM_CHECK(of.threshold.numel() == of.experts.size(1) && of.threshold.dim() <= 2, "pruningThreshold (",
            of.experts.size(1), ") expected, got ", of.threshold.sizes());
}

at::Tensor balanced(const Balance& of) {
  const at::Tensor ids = of.experts.to(at::kLong);
  SIM_CHECK(ids.ge(0).logical_and(ids.lt(of.table.size(0))).all().item<bool>(), "expertIds beyond ", of.table.size(0),
            " experts of eplbTable");
  const at::Tensor rows = of.table.index_select(0, ids.flatten()).to(at::kLong), copies = rows.select(1, 0);
  SIM_CHECK(copies.ge(1).logical_and(copies.lt(of.table.size(1))).all().item<bool>(), "eplbTable ", of.table.sizes(),
            " has a number of copies that it has no columns for");
  // By rank each copy has as many devices as another, the last one fewer; by token they take turns.
  const at::Tensor place =
      of.mode == 0 ? at::full_like(copies, of.rank)
                         .div(at::full_like(copies, of.ranks).add(copies).sub(1).div(copies, "floor"), "floor")
                   : at::arange(ids.size(0), at::kLong).repeat_interleave(ids.size(1)).remainder(copies);
  return rows.gather(1, place.add(1).unsqueeze(1)).reshape(of.experts.sizes());
}

// What is below its part of the sum of all is left out: the page's text and op-plugin's test have it so, the page's
// formula has the comparison turned over.
at::Tensor kept_choices(const Balance& of) {
  const at::Tensor values = wide(of.scales);
  const at::Tensor kept = values.ge(values.sum(1, true).mul(of.threshold.reshape({1, -1})));
  return of.active.defined() ? kept.logical_and(of.active.unsqueeze(1)) : kept;
}

// ---- from the order of the devices that sent them ------------------------------------------------------------------
void re_routed(const at::Tensor& tokens, const at::Tensor& counts, const at::Tensor& scales, int64_t kind,
               int64_t index_kind, const ReRouted& to) {
  SIM_CHECK(counts.dim() == 2, "expert_token_num_per_rank (ranks, experts) expected, got ", counts.sizes());
  SIM_CHECK(kind == 1, "expert_token_num_type ", kind, " is not simulated; allowed: 1");
  SIM_CHECK(index_kind == 0, "idx_type ", index_kind, " is not simulated; allowed: 0");
  like(to.rows, tokens);
  if (scales.defined()) like(to.scales, scales);
  else idle(to.scales, {tokens.size(0)});
  shape(to.places, {tokens.size(0)}), shape(to.counts, {counts.size(1)});
}

Tensors re_route(const at::Tensor& tokens, const at::Tensor& counts, const at::Tensor& scales) {
  auto sizes = counts.to(at::kLong).contiguous();
  const int64_t all = sizes.sum().item<int64_t>();
  SIM_CHECK(all == tokens.size(0), "expert_token_num_per_rank has ", all, " tokens, there are ", tokens.size(0));
  auto starts = sizes.flatten().cumsum(0).sub(sizes.flatten()).reshape(sizes.sizes());
  // Which pair of rank and expert each row belongs to, in the new order, and its place among theirs.
  auto by_expert = sizes.t().flatten();
  auto first = starts.t().flatten().repeat_interleave(by_expert);
  auto before = by_expert.cumsum(0).sub(by_expert).repeat_interleave(by_expert);
  auto from = at::arange(all, at::kLong).sub(before).add(first);
  auto moved = [&](const at::Tensor& rows) { return raw(rows).index_select(0, from).view(rows.scalar_type()); };
  return {moved(tokens), scales.defined() ? moved(scales) : at::Tensor(), from, sizes.sum(0)};
}

}  // namespace sim::routing
