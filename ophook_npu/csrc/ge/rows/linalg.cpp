// Matrices: their diagonals, factors, and equations; sparse ones.
#include "ge/rows/rows.h"
#include "kernels/diagonals.h"

namespace sim::ge_table {
namespace {

#define LINEAR kFloat, kDouble, kComplex64, kComplex128

template <int32_t... types>
void square_of(Shaper& s) {
  require_type(s, 0, {types...});
  s.out(pattern<"*b n n -> *b n n">);
}
void equations(Shaper& s) {
  require_type(s, 0, {LINEAR});
  require_same_dtype(s, 0, 2);
  s.out(pattern<"*b n n, *b n m -> *b n m">);
}
void three_rule(Shaper& s) {
  require_type(s, 0, {LINEAR});
  require_same_dtype(s, 0, 2);
  if (!s.flag("partial_pivoting") && (s.dtype(0) == kComplex64 || s.dtype(0) == kComplex128))
    throw Refused("complex numbers without pivoting are not simulated");
  s.out(pattern<"*b 3 n, *b n m -> *b n m">);
}
void lu_rule(Shaper& s) {
  require_type(s, 0, {LINEAR});
  const Matched found = s.match(pattern<"*b n n -> *b n n, *b n">);
  s.out(0, s.dtype(0), found.result(1));
  s.out(1, static_cast<int32_t>(s.integer("output_idx_type")), found.result(2));
}
void eigen_rule(Shaper& s) {
  require_type(s, 0, {LINEAR});
  const Matched found = s.match(pattern<"*b n n -> *b n, *b n n">);
  s.out(0, s.dtype(0), found.result(1));
  s.out(1, s.dtype(0), s.flag("compute_v") ? found.result(2) : known({0}));
}
Results eigen(const Args& a) {
  const auto [values, vectors] = kernels::eigen_of_symmetric(a[0], a.flag("compute_v"));
  return vectors.defined() ? Results{values, vectors} : Results{values};
}
void band_rule(Shaper& s) {
  one_number(s, 1, 3);
  matrices(s);
}

// ---- diagonals ---------------------------------------------------------------------------------------------------
// The numbers of the lowest and the highest, where they are known; one alone stands for both.
std::optional<kernels::Diagonals> diagonals(const Call& call, size_t input) {
  kernels::Diagonals of;
  if (input < call.count()) {
    const Values k = call.values(input);
    if (!k) return std::nullopt;
    if (k->empty() || k->size() > 2 || k->front() > k->back())
      throw Refused(c10::str("k=", *k, "; one number, or two of which the second is not lower, expected"));
    of.low = k->front(), of.high = k->back();
  }
  // The versions before the third have them at the left.
  const std::string align = call.knows("align") ? call.text("align") : "LEFT_LEFT";
  if (align != "LEFT_RIGHT" && align != "RIGHT_LEFT" && align != "LEFT_LEFT" && align != "RIGHT_RIGHT")
    throw Refused("align='" + align + "'; allowed: LEFT_RIGHT, RIGHT_LEFT, LEFT_LEFT, RIGHT_RIGHT");
  of.upper_at_the_left = align.starts_with("LEFT");
  of.lower_at_the_left = align.ends_with("LEFT");
  return of;
}
// Whether they lie in the matrix, and how long the longest is.
Dim longest(const Dim& rows, const Dim& columns, const kernels::Diagonals& of) {
  if (!rows.known() || !columns.known()) return unknown;
  for (const int64_t place : {of.low, of.high})
    if (place && (place <= -rows.size() || place >= columns.size()))
      throw Refused(c10::str("diagonal ", place, " of ", rows.size(), " rows and ", columns.size(), " columns"));
  return std::min(rows.size() + std::min<int64_t>(of.high, 0), columns.size() - std::max<int64_t>(of.low, 0));
}
Shape packed_shape(const Shape& matrix, const std::optional<kernels::Diagonals>& of, const Call& call) {
  if (!matrix || !of) return std::nullopt;
  if (matrix->size() < 2) throw Refused("it takes matrices, its input is " + call.describe(0));
  Sizes sizes(matrix->begin(), matrix->end() - 2);
  if (of->count() > 1) sizes.push_back(of->count());
  sizes.push_back(longest((*matrix)[matrix->size() - 2], matrix->back(), *of));
  return sizes;
}
void padding_like(const Call& call, size_t input) {
  if (!call.has(input)) return;
  one_number(call, input, input + 1);
  if (call.dtype(input) != call.dtype(0))
    throw Refused("its padding is " + call.describe(input) + " beside " + call.describe(0));
}
void parts_rule(Shaper& s) {
  padding_like(s, 2);
  s.out(s.dtype(0), packed_shape(s.shape(0), diagonals(s, 1), s));
}
void put_rule(Shaper& s) {
  require_same_dtype(s, 0, 2);
  const Shape packed = packed_shape(s.shape(0), diagonals(s, 2), s);
  if (packed) require_shape(s, 1, packed, ("does not hold the diagonals of " + s.describe(0)).c_str());
  same(s);
}

// The sizes of the matrix: a number below 0, or none, is as few as its diagonals ask for.
Shape whole_shape(const Call& call) {
  const Shape packed = call.shape(0);
  const auto of = diagonals(call, 1);
  const auto told = [&](size_t input) {
    const Values found = input < call.count() ? call.values(input) : Values(Dims{-1});
    return found && !found->empty() ? std::optional(found->front()) : std::nullopt;
  };
  if (!packed || !of) return std::nullopt;
  const size_t own = of->count() > 1 ? 2 : 1;
  if (packed->size() < own || (own == 2 && (*packed)[packed->size() - 2] != of->count()))
    throw Refused(c10::str(call.describe(0), " does not hold ", of->count(), " diagonals"));
  Sizes sizes(packed->begin(), packed->end() - int64_t(own));
  const std::optional<int64_t> rows = told(2), columns = told(3);
  if (!rows || !columns || !packed->back().known()) {
    sizes.insert(sizes.end(), 2, unknown);
    return sizes;
  }
  const int64_t length = packed->back().size();
  const int64_t least_rows = length - std::min<int64_t>(of->high, 0);
  const int64_t least_columns = length + std::max<int64_t>(of->low, 0);
  const int64_t square = std::max(least_rows, least_columns);
  const int64_t height = *rows >= 0 ? *rows : *columns >= 0 ? least_rows : square;
  const int64_t width = *columns >= 0 ? *columns : *rows >= 0 ? least_columns : square;
  if (height < least_rows || width < least_columns || (height != least_rows && width != least_columns))
    throw Refused(c10::str(height, " rows and ", width, " columns do not fit the diagonals in ", call.describe(0)));
  sizes.push_back(height), sizes.push_back(width);
  return sizes;
}
void whole_rule(Shaper& s) {
  padding_like(s, 4);
  s.out(s.dtype(0), whole_shape(s));
}
at::Tensor whole(const Args& a) {
  return kernels::matrix_of(a.output(0).sizes(), a[0], *diagonals(a, 1), a.count() > 4 ? a[4] : at::Tensor());
}
at::Tensor packed(const Args& a) {
  return kernels::diagonals_of(a[0], *diagonals(a, 1), a.count() > 2 ? a[2] : at::Tensor());
}
at::Tensor replaced(const Args& a) { return kernels::with_diagonals(a[0], a[1], *diagonals(a, 2)); }

// ---- sparse ------------------------------------------------------------------------------------------------------
void sparse_rule(Shaper& s) {
  if (s.dtype(1) != s.dtype(3)) throw Refused("its numbers are " + s.describe(1) + " and " + s.describe(3));
  require_type(s, 0, {kInt32, kInt64});
  require_type(s, 2, {kInt64});
  s.match(pattern<"n 2, n, 2, a b -> n">);
  const Values sizes = s.values(2);
  const Shape x = s.shape(3);
  Dim rows = unknown, inner = unknown;
  if (sizes) {
    rows = sizes->at(s.flag("adjoint_a") ? 1 : 0);
    inner = sizes->at(s.flag("adjoint_a") ? 0 : 1);
  }
  Dim columns = unknown;
  if (x) {
    columns = (*x)[s.flag("adjoint_b") ? 0 : 1];
    if (const Dim height = (*x)[s.flag("adjoint_b") ? 1 : 0]; height != inner)
      throw Refused(c10::str("a matrix of the shape ", *sizes, " times ", s.describe(3)));
  }
  s.out(s.dtype(3), known({rows, columns}));
}
at::Tensor sparse(const Args& a) {
  return kernels::sparse_product(a[0], a[1], a.need(2), a[3], a.flag("adjoint_a"), a.flag("adjoint_b"));
}
void digits_rule(Shaper& s) {
  require_same_dtype(s, 0, 2);
  require_type(s, 0, {kInt32, kInt64});
  const Shape numbers = s.shape(0), bases = s.shape(1);
  if (bases && bases->size() != 1) throw Refused("dims is " + s.describe(1) + ", one dimension expected");
  if (!numbers) return s.out(s.dtype(0), std::nullopt);
  Sizes sizes = *numbers;
  sizes.insert(sizes.begin(), bases ? bases->front() : Dim(unknown));
  s.out(s.dtype(0), sizes);
}
void sorted_places_rule(Shaper& s) {
  require_same_dtype(s, 0, 2);
  s.match(pattern<"b n, b m -> b m">);
  const auto type = static_cast<int32_t>(s.integer("out_type"));
  if (type != kInt32 && type != kInt64) throw Refused("out_type is neither int32 nor int64");
  s.out(type, s.shape(1));
}

}  // namespace

#define ALIGN "align:String=RIGHT_LEFT"
const Family linalg_rows = {
    ROW(MatrixBandPart, "x num_lower num_upper -> y", band_rule,
        kernels::band_of(a[0], a.need(1).at(0), a.need(2).at(0))),
    ROW(MatrixDiag, "x -> y", whole_rule, whole(a)),
    ROW(MatrixDiagV2, "diagonal k num_rows num_cols padding_value -> output", whole_rule, whole(a)),
    ROW(MatrixDiagV3, "x k num_rows num_cols padding_value -> y | " ALIGN, whole_rule, whole(a)),
    ROW(MatrixDiagPart, "x -> y", parts_rule, kernels::diagonals_of(a[0], {}, {})),
    ROW(MatrixDiagPartV2, "input k padding_value -> diagonal", parts_rule, packed(a)),
    ROW(MatrixDiagPartV3, "x k padding_value -> y | " ALIGN, parts_rule, packed(a)),
    ROW(MatrixSetDiag, "x diagonal -> y", put_rule, kernels::with_diagonals(a[0], a[1], {})),
    ROW(MatrixSetDiagV2, "input diagonal k -> output", put_rule, replaced(a)),
    ROW(MatrixSetDiagV3, "input diagonal k -> output | " ALIGN, put_rule, replaced(a)),

    ROW(ConjugateTranspose, "x perm -> y", permuted, kernels::adjoint(a[0], a.need(1))),
    ROW(MatrixSolve, "matrix rhs -> y | adjoint:Bool=false", equations,
        at::linalg_solve(a.flag("adjoint") ? a[0].mH() : a[0], a[1])),
    ROW(TridiagonalSolve, "diagonals rhs -> y | partial_pivoting:Bool=true", three_rule,
        kernels::solved_of_three(a[0], a[1])),
    ROW(Cholesky, "x -> y", square_of<LINEAR>, at::linalg_cholesky(a[0])),
    EACH_OF(Lu, "input -> lu p | output_idx_type:Type", lu_rule, kernels::factors_and_rows(a[0])),
    {"SelfAdjointEig", "x -> eigen_value eigen_vector | compute_v:Bool=true", eigen_rule, eigen},
    ROW(Pinverse, "x -> y | rcond:Float=1e-15", (pattern<"*b m n -> *b n m">), at::pinverse(a[0], a.real("rcond"))),

    ROW(SparseTensorDenseMatMul, "x1_indices x1_values x1_shape x2 -> y | adjoint_a:Bool=false adjoint_b:Bool=false",
        sparse_rule, sparse(a)),
    ROW(UnravelIndex, "indices dims -> y", digits_rule, kernels::digits_of(a[0], a[1])),
    ROW(LowerBound, "sorted_x values -> y | out_type:Type=3", sorted_places_rule,
        at::searchsorted(a[0], a[1], a.out_dtype() == at::kInt, false)),
    ROW(UpperBound, "sorted_x values -> y | out_type:Type", sorted_places_rule,
        at::searchsorted(a[0], a[1], a.out_dtype() == at::kInt, true)),
};

}  // namespace sim::ge_table
