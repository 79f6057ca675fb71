#include "kernels/rotary.h"

#include "kernels/attention.h"
#include "kernels/pattern.h"

namespace sim::attention {

// Neighbours become halves.
static at::Tensor apart(const at::Tensor& x) { return x.unflatten(-1, {-1, 2}).transpose(-1, -2).flatten(-2); }
static at::Tensor together(const at::Tensor& x) { return x.unflatten(-1, {2, -1}).transpose(-1, -2).flatten(-2); }

at::Tensor rotated(const at::Tensor& x, int64_t mode) {
  if (mode == kHalves) {
    Tensors halves = at::chunk(x, 2, -1);
    return at::concat({at::neg(halves[1]), halves[0]}, -1);
  }
  if (mode == kQuarters) return rotated(x.unflatten(-1, {2, -1}), kHalves).flatten(-2);
  auto pairs = x.unflatten(-1, {-1, 2});
  return at::stack({at::neg(pairs.select(-1, 1)), pairs.select(-1, 0)}, -1).flatten(-2);
}

// The rotation's transpose.
at::Tensor rotated_back(const at::Tensor& x, int64_t mode) { return at::neg(rotated(x, mode)); }

void rotary_mode(int64_t mode, bool more) {
  SIM_CHECK(mode >= 0 && mode <= (more ? kNeighboursApart : kNeighbours), "mode ", mode, "; allowed: 0 (half), ",
            "1 (interleave)", more ? ", 2 (quarter), 3 (interleave-half)" : "");
}

void turnable(const at::Tensor& x, int64_t mode) {
  const int64_t parts = mode == kQuarters ? 4 : 2;
  SIM_CHECK(x.dim() && x.size(-1) % parts == 0, "the last dimension of ", x.sizes(), " is no multiple of ", parts);
}

at::Tensor rotary(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin, int64_t mode) {
  if (mode == kNeighboursApart) return interleaved_rotary(x, cos, sin);
  return at::add(at::mul(wide(x), wide(cos)), at::mul(rotated(wide(x), mode), wide(sin)));
}

at::Tensor rotary_by(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin, int64_t mode,
                     const at::Tensor& turn) {
  if (!turn.defined()) return rotary(x, cos, sin, mode);
  return at::add(at::mul(wide(x), wide(cos)), at::mul(at::matmul(wide(x), wide(turn)), wide(sin)));
}

at::Tensor interleaved_rotary(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin) {
  return rotary(apart(x), cos, sin, kHalves);
}

void rotary_backward_like(const at::Tensor& grad, const at::Tensor& cos, const at::Tensor& sin, const at::Tensor& x,
                          const at::Tensor& grad_cos, const at::Tensor& grad_sin) {
  if (!given(x)) return;
  like(x, grad);
  if (given(grad_cos)) like(grad_cos, cos);
  if (given(grad_sin)) like(grad_sin, sin);
}

void rotary_backward(const at::Tensor& grad, const at::Tensor& cos, const at::Tensor& sin, const at::Tensor& x,
                     int64_t mode, const at::Tensor& grad_x, const at::Tensor& grad_cos, const at::Tensor& grad_sin) {
  const bool halves = mode == kNeighboursApart;
  const int64_t turn = halves ? kHalves : mode;
  auto to = wide(grad);
  auto back = at::add(at::mul(to, wide(cos)), rotated_back(at::mul(to, wide(sin)), turn));
  write(grad_x, halves ? together(back) : back);
  if (!given(x)) return;
  auto from = halves ? apart(wide(x)) : wide(x);
  write_asked(grad_cos, at::sum_to(at::mul(to, from), cos.sizes()));
  write_asked(grad_sin, at::sum_to(at::mul(to, rotated(from, turn)), sin.sizes()));
}

// Layouts 1 to 4: BSND, SBND, BNSD, TND. Query and key differ in their heads alone; the angles have one for all of
// them.
void rotate_both_like(const at::Tensor& query, const at::Tensor& key, const at::Tensor& cos, const at::Tensor& sin,
                      int64_t layout, bool ascend950) {
  SIM_CHECK(layout == 1 || layout == 4 || (ascend950 && layout >= 1 && layout <= 4), "layout ", layout,
            "; allowed: 1 (BSND)", ascend950 ? ", 2 (SBND), 3 (BNSD)" : "", ", 4 (TND)");
  if (layout == 1) shapes<"b s _ d, b s _ d, #b s 1 _, #b s 1 _">(query, key, cos, sin);
  else if (layout == 2) shapes<"s b _ d, s b _ d, s #b 1 _, s #b 1 _">(query, key, cos, sin);
  else if (layout == 3) shapes<"b _ s d, b _ s d, #b 1 s _, #b 1 s _">(query, key, cos, sin);
  else shapes<"t _ d, t _ d, t 1 _, t 1 _">(query, key, cos, sin);
  like(sin, cos);
  const int64_t depth = query.size(-1), own = cos.size(-1);
  SIM_CHECK(ascend950 || cos.size(0) == query.size(0), "cos ", cos.sizes(), " for query ", query.sizes(),
            ", which has other batches");
  SIM_CHECK(own <= depth && (ascend950 || ((own == 64 || own == 128) && (depth == 64 || depth == 128))), "cos ",
            cos.sizes(), " for query ", query.sizes(), "; allowed: no greater depth",
            ascend950 ? "" : ", of 64 or 128");
  turnable(cos, kHalves);
}

// As much of the depth as the angles have turns.
void rotate_both(const at::Tensor& query, const at::Tensor& key, const at::Tensor& cos, const at::Tensor& sin,
                 const std::string& mode) {
  for (const at::Tensor& x : {query, key}) {
    const at::Tensor part = x.narrow(-1, 0, cos.size(-1));
    part.copy_(rotary(part, cos, sin, mode == "interleave"));
  }
}

}  // namespace sim::attention
