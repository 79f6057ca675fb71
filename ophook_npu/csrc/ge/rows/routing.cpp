// Mixture of experts: which experts each token goes to.
#include "kernels/routing.h"

#include "ge/rows/rows.h"

namespace sim::ge_table {
namespace {

void gating_softmax_rule(Shaper& s) {
  Shape chosen = s.shape(0);
  const int64_t k = s.integer("k");
  if (chosen) {
    if (chosen->empty()) throw Refused("its x has no experts, it is " + s.describe(0));
    int64_t& experts = chosen->back();
    if (k < 1 || (experts >= 0 && k > experts))
      throw Refused("k " + std::to_string(k) + " of the experts of " + s.describe(0));
    experts = k;
  }
  s.out(0, s.dtype(0), chosen);
  for (size_t i : {1, 2}) s.out(i, kInt32, chosen);
}

Results gating_softmax(const Args& a) {
  const Tensors found = routing::gating_softmax(a[0], a[1], a.integer("k"), false);
  return {found[0], found[1], routing::numbers_of_choices(a.output(2).sizes())};
}

const Family routing_rows = {
    {"MoeGatingTopKSoftmax", "x finished? -> y expert_idx row_idx | k:Int", gating_softmax_rule, gating_softmax},
};

}  // namespace
}  // namespace sim::ge_table
