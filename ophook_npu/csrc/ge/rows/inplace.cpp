// Rows of the first dimension that a list of indices names, and whole tensors, changed where they are.
#include "ge/rows/rows.h"
#include "kernels/scatter.h"

namespace sim::ge_table {
namespace {

void listed_rows(Shaper& s) {
  require_type(s, 1, {kInt32, kInt64});
  if (s.dtype(2) != s.dtype(0)) throw Refused("its rows " + s.describe(2) + " are not of the type of " + s.describe(0));
  s.match(pattern<"n *rest, i, i *rest -> n">);
  same(s);
}
// x and rows for indices that are an attribute.
void rows_by_attribute(Shaper& s) {
  require_type(s, 0, {kFloat, kHalf, kInt32});
  require_same_dtype(s, 0, 2);
  s.match(pattern<"n *rest, i *rest -> n *rest">);
  if (const Shape v = s.shape(1); v && (*v)[0] != Dim(int64_t(s.integers("indices").size())))
    throw Refused(s.describe(1) + " has to have a row for each of the indices");
  if (const Shape x = s.shape(0))
    for (const int64_t index : s.integers("indices"))
      if (index < 0 || (*x)[0] < Dim(index + 1))
        throw Refused("index " + std::to_string(index) + " of the rows of " + s.describe(0));
  same(s);
}
void added_in_place(Shaper& s) {
  require_same_dtype(s, 0, 2);
  within_first(s, 1, 2);
  same(s);
}

at::Tensor indices_of(const Args& a) { return at::tensor(a.integers("indices"), at::kLong).unsqueeze(-1); }

}  // namespace

const Family inplace_rows = {
    ROW(InplaceUpdate, "x indices v -> y", listed_rows, kernels::scattered_slices(a[0], a[1].unsqueeze(-1), a[2])),
    ROW(InplaceAdd, "x indices v -> y", listed_rows, kernels::added_slices(a[0], a[1].unsqueeze(-1), a[2])),
    ROW(InplaceSub, "x indices v -> y", listed_rows, kernels::subtracted_slices(a[0], a[1].unsqueeze(-1), a[2])),
    ROW(InplaceUpdateD, "x v -> y | indices:ListInt", rows_by_attribute,
        kernels::scattered_slices(a[0], indices_of(a), a[1])),
    ROW(InplaceAddD, "x v -> y | indices:ListInt", rows_by_attribute, kernels::added_slices(a[0], indices_of(a), a[1])),
    ROW(InplaceSubD, "x v -> y | indices:ListInt", rows_by_attribute,
        kernels::subtracted_slices(a[0], indices_of(a), a[1])),
    ROW(AssignAdd, "ref value -> ref | use_locking:Bool=false", added_in_place, at::add(a[0], a[1])),
    ROW(AssignSub, "var value -> var | use_locking:Bool=false", added_in_place, at::sub(a[0], a[1])),
};

}  // namespace sim::ge_table
