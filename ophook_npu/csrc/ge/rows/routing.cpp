// Mixture of experts: which experts each token goes to.
#include "kernels/routing.h"

#include <array>

#include "ge/rows/rows.h"

namespace sim::ge_table {
namespace {

void gating_softmax_rule(Shaper& s) {
  Shape chosen = s.shape(0);
  const int64_t k = s.integer("k");
  if (chosen) {
    if (chosen->empty()) throw Refused("its x has no experts, it is " + s.describe(0));
    Dim& experts = chosen->back();
    if (k < 1 || k > experts) throw Refused("k " + std::to_string(k) + " of the experts of " + s.describe(0));
    experts = k;
  }
  s.out(0, s.dtype(0), chosen);
  for (size_t i : {1, 2}) s.out(i, kInt32, chosen);
}

Results gating_softmax(const Args& a) {
  const Tensors found = routing::gating_softmax(a[0], a[1], a.integer("k"), false);
  return {found[0], found[1], routing::numbers_of_choices(a.output(2).sizes())};
}

// ---- rows in the order of the experts, and back ---------------------------------------------------------------------
void init_rule(Shaper& s) {
  const Matched found = s.match(pattern<"rows columns, *_, choosing k">);
  for (size_t i : {1, 2})
    if (s.dtype(i) != kInt32) throw Refused("its row_idx and expert_idx are int32, not " + s.describe(i));
  const Dim rows = found[0], active = s.integer("active_num"), k = found[3], choices = found[2] * k;
  const Dim taken = active < rows ? active : rows.known() ? rows : unknown;
  s.out(0, s.dtype(0), known({taken * k, found[1]}));
  for (size_t i : {1, 2}) s.out(i, kInt32, known({choices}));
}
Results init(const Args& a) {
  routing::routed(a[0], a[2]);
  const Tensors found = routing::init_routing(a[0], a[1], a[2], a.integer("active_num"));
  return {found.begin(), found.end()};
}

// The inputs' places: rows, choices' places, skip1, skip2, bias, scales, experts.
using Places = std::array<size_t, 7>;
constexpr Places kFinal = {0, 5, 1, 2, 3, 4, 6}, kFinalV2 = {0, 1, 2, 3, 4, 5, 6};
int64_t mode_of(const Call& call) { return call.knows("drop_pad_mode") ? call.integer("drop_pad_mode") : 0; }
// torchair writes k for the prototype's K.
int64_t choices_of(const Call& call) {
  return call.knows("K") ? std::max(call.integer("K"), call.integer("k")) : int64_t{1};
}
template <const Places& port>
void final_rule(Shaper& s) {
  const Shape rows = s.shape(port[0]), places = s.shape(port[1]);
  const bool scaled = s.has(port[5]);
  const Shape scales = scaled ? s.shape(port[5]) : std::nullopt;
  if ((rows && rows->empty()) || (places && places->size() != 1) || (scales && scales->size() != 2))
    throw Refused(
        "rows (…, columns), places (choices) and scales (tokens, k) expected, not " + s.describe(port[0]) +
        (scaled ? ", " + s.describe(port[1]) + " and " + s.describe(port[5]) : " and " + s.describe(port[1])));
  const Dim choices = places ? (*places)[0] : unknown;
  s.out(s.dtype(port[0]),
        known({scaled ? (scales ? (*scales)[0] : unknown) : choices / choices_of(s), rows ? rows->back() : unknown}));
}
template <const Places& port>
at::Tensor finalized(const Args& a) {
  const routing::Results of{.rows = a[port[0]],
                            .places = a[port[1]],
                            .skip1 = a[port[2]],
                            .skip2 = a[port[3]],
                            .bias = a[port[4]],
                            .scales = a[port[5]],
                            .experts = a[port[6]],
                            .mode = mode_of(a),
                            .k = choices_of(a)};
  routing::finalized_like(of, a.output(0));
  return routing::finalize(of);
}
void ends_rule(Shaper& s) { s.out(kInt32, known({s.integer("num_experts")})); }

// ---- the choice by groups
// --------------------------------------------------------------------------------------------
void gating_rule(Shaper& s) {
  if (s.has(2) || s.has(3)) throw Refused("input_ids and tid2eid are not simulated");
  Shape chosen = s.shape(0);
  if (chosen && chosen->size() != 2) throw Refused("x (tokens, experts) expected, not " + s.describe(0));
  const int64_t k = s.integer("k");
  s.out(2, kFloat, chosen);
  if (chosen) {
    if (k < 1 || k > chosen->back()) throw Refused("k " + std::to_string(k) + " of the experts of " + s.describe(0));
    chosen->back() = k;
  }
  s.out(0, s.dtype(0), chosen);
  s.out(1, kInt32, chosen);
}
Results gating(const Args& a) {
  const routing::Gating how{.k = a.integer("k"),
                            .groups_kept = a.integer("k_group"),
                            .groups = a.integer("group_count"),
                            .mode = a.integer("group_select_mode"),
                            .renorm = a.integer("renorm"),
                            .norm = a.integer("norm_type"),
                            .factor = a.real("routed_scaling_factor"),
                            .eps = a.real("eps")};
  routing::gating(a[0], a[1], how);
  const Tensors found = routing::gating_top_k(a[0], a[1], how);
  return {found.begin(), found.end()};
}

const Family routing_rows = {
    {"MoeInitRouting", "x row_idx expert_idx -> expanded_x expanded_row_idx expanded_expert_idx | active_num:Int",
     init_rule, init},
    ROW(MoeFinalizeRouting, "expanded_x x1 x2? bias scales expanded_row_idx expanded_expert_idx -> y",
        final_rule<kFinal>, finalized<kFinal>(a)),
    ROW(MoeFinalizeRoutingV2,
        "expanded_x expanded_row_idx x1? x2? bias? scales? expert_idx? -> y | drop_pad_mode:Int=0 K:Int=1 k:Int=1",
        final_rule<kFinalV2>, finalized<kFinalV2>(a)),
    ROW(MoeComputeExpertTokens, "sorted_experts -> total_rows_before_expert | num_experts:Int", ends_rule,
        routing::ends_of_experts(a[0], a.integer("num_experts"))),
    {"MoeGatingTopK",
     "x bias? input_ids? tid2eid? -> y expert_idx y2 | k:Int k_group:Int=1 group_count:Int=1 group_select_mode:Int=0 "
     "renorm:Int=0 norm_type:Int=0 out_flag:Bool=false routed_scaling_factor:Float=1.0 eps:Float=1e-20",
     gating_rule, gating},
    {"MoeGatingTopKSoftmax", "x finished? -> y expert_idx row_idx | k:Int", gating_softmax_rule, gating_softmax},
};

}  // namespace
}  // namespace sim::ge_table
