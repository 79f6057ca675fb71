// Products of matrices and of batches of them.
#include "ge/rows/rows.h"
#include "kernels/matmul.h"
#include "kernels/reduce.h"

namespace sim::ge_table {
namespace {

[[noreturn]] void mismatch(const Call& call) {
  throw Refused("the inner dimensions of its inputs differ: " + call.describe(0) + " and " + call.describe(1));
}

void bias_fits(Shaper& s, const Dim& columns) {
  if (!s.has(2)) return;
  Shape bias = s.shape(2);
  if (bias && (bias->empty() || bias->back() != columns))
    throw Refused("its bias " + s.describe(2) + " does not fit the columns of " + s.describe(0) + " by " +
                  s.describe(1));
}

// The matrix dimensions of both inputs after transposition, for 2-D and for batches.
Shape product(Shaper& s, const char* first, const char* second) {
  require_same_dtype(s, 0, 2);
  Shape a = s.shape(0), b = s.shape(1);
  if (!a || !b) return std::nullopt;
  if (a->size() < 2 || b->size() < 2)
    throw Refused("it multiplies matrices, not " + s.describe(0) + " and " + s.describe(1));
  auto rows_a = s.flag(first) ? a->size() - 1 : a->size() - 2;
  auto inner_a = s.flag(first) ? a->size() - 2 : a->size() - 1;
  auto inner_b = s.flag(second) ? b->size() - 1 : b->size() - 2;
  auto columns_b = s.flag(second) ? b->size() - 2 : b->size() - 1;
  if ((*a)[inner_a] != (*b)[inner_b]) mismatch(s);
  Shape batch_a = Sizes(a->begin(), a->last(2)), batch_b = Sizes(b->begin(), b->last(2));
  Shape out = broadcast_shapes(batch_a, batch_b, s);
  out->push_back((*a)[rows_a]);
  out->push_back((*b)[columns_b]);
  bias_fits(s, out->back());
  return out;
}

void matmul_shape(Shaper& s) {
  for (size_t i = 0; i < 2; ++i)
    if (s.shape(i) && s.shape(i)->size() != 2)
      throw Refused("it multiplies matrices, input " + std::to_string(i) + " is " + s.describe(i));
  s.out(s.dtype(0), product(s, "transpose_x1", "transpose_x2"));
}

void batch_shape(Shaper& s) { s.out(s.dtype(0), product(s, "adj_x1", "adj_x2")); }

at::Tensor matmul(const Args& a) {
  return kernels::product_of(a[0], a[1], a[2], a.flag("transpose_x1"), a.flag("transpose_x2"));
}
at::Tensor batch_matmul(const Args& a) {
  return kernels::product_of(a[0], a[1], a[2], a.flag("adj_x1"), a.flag("adj_x2"));
}

void cdist_grad_rule(Shaper& s) {
  Shape shape = s.shape(1);
  if (shape && shape->size() < 3) throw Refused("its inputs are (…, rows, rows, columns), not " + s.describe(1));
  if (shape) shape->erase(rank_of(shape) - 2);
  s.out(s.dtype(1), shape);
}

}  // namespace

const Family matmul_rows = {
    ROW(MatMul, "x1 x2 bias? -> y | transpose_x1:Bool=false transpose_x2:Bool=false", matmul_shape, matmul(a)),
    ROW(MatMulV2, "x1 x2 bias? offset_w? -> y | transpose_x1:Bool=false transpose_x2:Bool=false offset_x:Int=0",
        matmul_shape, matmul(a)),
    ROW(BatchMatMul, "x1 x2 -> y | adj_x1:Bool=false adj_x2:Bool=false", batch_shape, batch_matmul(a)),
    ROW(BatchMatMulV2, "x1 x2 bias? offset_w? -> y | adj_x1:Bool=false adj_x2:Bool=false offset_x:Int=0", batch_shape,
        batch_matmul(a)),
    ROW(CdistGrad, "grad x1 x2 cdist -> y | p:Float=2.0", cdist_grad_rule,
        kernels::spread_distances_backward(a[0], a[1], a[2], a[3], a.real("p"))),
};

}  // namespace sim::ge_table
