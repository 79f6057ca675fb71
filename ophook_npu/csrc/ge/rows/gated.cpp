// Gated units: a half of the input times a function of the other.
#include "ge/rows/rows.h"
#include "kernels/activation.h"
#include "kernels/gated.h"

namespace sim::ge_table {
namespace {

Shape half_of(const Shaper& s) {
  Shape shape = s.shape(0);
  if (shape) {
    Dim& dim = (*shape)[static_cast<size_t>(wrap(s.integer("dim"), rank_of(shape)))];
    if (dim % 2 != 0) throw Refused("it halves an even dimension, its input is " + s.describe(0));
    dim = dim / 2;
  }
  return shape;
}
void halved(Shaper& s) { s.out(s.dtype(0), half_of(s)); }

void like_second(Shaper& s) { s.out(s.dtype(1), s.shape(1)); }

// y = x * gelu(gate) and the gelu; the gate is the second half, or the first with activate_left.
void geglu_rule(Shaper& s) {
  for (size_t i : {0, 1}) s.out(i, s.dtype(0), half_of(s));
}

Results geglu(const Args& a) {
  auto [y, gelu] = kernels::geglu(a[0], a.integer("dim"), a.integer("approximate"), a.flag("activate_left"));
  return {y, gelu};
}

}  // namespace

const Family gated_rows = {
    ROW(SwiGlu, "x -> y | dim:Int=-1", halved, kernels::swiglu(a[0], a.integer("dim"))),
    ROW(SwiGluGrad, "y_grad x -> y | dim:Int=-1", like_second, kernels::swiglu_backward(a[0], a[1], a.integer("dim"))),
    ROW(GLU, "x -> y | dim:Int=-1", halved, kernels::glu(a[0], a.integer("dim"))),
    ROW(GLUGrad, "y_grad x -> x_grad | dim:Int=-1", like_second, kernels::glu_backward(a[0], a[1], a.integer("dim"))),
    {"GeGluV2", "x -> y gelu | dim:Int=-1 approximate:Int=1 activate_left:Bool=false", geglu_rule, geglu},
};

}  // namespace sim::ge_table
