#include "kernels/diagonals.h"

namespace sim::kernels {

// f(part of the row, diagonal of x)
template <typename F>
static void each_diagonal(const at::Tensor& packed, const at::Tensor& x, const Diagonals& of, F f) {
  for (int64_t place = of.high; place >= of.low; --place) {
    const at::Tensor row = of.count() == 1 ? packed : packed.select(-2, of.high - place);
    const at::Tensor diagonal = x.diagonal(place, -2, -1);
    const bool left = (place >= 0 && of.upper_at_the_left) || (place <= 0 && of.lower_at_the_left);
    const int64_t length = diagonal.size(-1);
    f(row.narrow(-1, left ? 0 : row.size(-1) - length, length), diagonal);
  }
}

at::Tensor diagonals_of(const at::Tensor& x, const Diagonals& of, const at::Tensor& padding) {
  Dims sizes(x.sizes().begin(), x.sizes().end() - 2);
  if (of.count() > 1) sizes.push_back(of.count());
  sizes.push_back(std::min(x.size(-2) + std::min<int64_t>(of.high, 0), x.size(-1) - std::max<int64_t>(of.low, 0)));
  at::Tensor packed = padding.defined() ? padding.reshape({}).expand(sizes).clone() : at::zeros(sizes, x.options());
  each_diagonal(packed, x, of, [](const at::Tensor& row, const at::Tensor& diagonal) { row.copy_(diagonal); });
  return packed;
}

at::Tensor with_diagonals(const at::Tensor& x, const at::Tensor& packed, const Diagonals& of) {
  at::Tensor out = x.clone(at::MemoryFormat::Contiguous);
  each_diagonal(packed, out, of, [](const at::Tensor& row, const at::Tensor& diagonal) { diagonal.copy_(row); });
  return out;
}

at::Tensor matrix_of(at::IntArrayRef sizes, const at::Tensor& packed, const Diagonals& of, const at::Tensor& padding) {
  const at::Tensor around = padding.defined() ? padding.reshape({}) : at::zeros({}, packed.options());
  return with_diagonals(around.expand(sizes), packed, of);
}
at::Tensor adjoint(const at::Tensor& x, const Dims& order) { return at::permute(x, order).conj().resolve_conj(); }
std::pair<at::Tensor, at::Tensor> eigen_of_symmetric(const at::Tensor& x, bool vectors) {
  if (!vectors) return {at::linalg_eigvalsh(x), {}};
  const auto [values, columns] = at::linalg_eigh(x);
  return {values, columns};
}

at::Tensor band_of(const at::Tensor& x, int64_t lower, int64_t upper) {
  at::Tensor out = lower < 0 ? x : at::triu(x, -lower);
  return upper < 0 ? out : at::tril(out, upper);
}

at::Tensor solved_of_three(const at::Tensor& diagonals, const at::Tensor& rhs) {
  const int64_t size = diagonals.size(-1), beside = std::max<int64_t>(size - 1, 0);
  const at::Tensor above = diagonals.select(-2, 0).narrow(-1, 0, beside), on = diagonals.select(-2, 1),
                   below = diagonals.select(-2, 2).narrow(-1, size - beside, beside);
  at::Tensor matrix = at::diag_embed(on);
  if (beside) matrix = matrix + at::diag_embed(above, 1) + at::diag_embed(below, -1);
  return at::linalg_solve(matrix, rhs);
}

std::pair<at::Tensor, at::Tensor> factors_and_rows(const at::Tensor& x) {
  const auto [factors, pivots] = at::linalg_lu_factor(x);
  const at::Tensor permutation = std::get<0>(at::lu_unpack(factors, pivots, /*unpack_data=*/false));
  return {factors, at::argmax(at::real(permutation), -2)};
}

at::Tensor sparse_product(const at::Tensor& places, const at::Tensor& numbers, const Dims& sizes, const at::Tensor& x,
                          bool turn, bool turn_x) {
  const at::Tensor there = places.select(1, 0).to(at::kLong) * sizes[1] + places.select(1, 1).to(at::kLong);
  const at::Tensor whole =
      at::zeros({sizes[0] * sizes[1]}, numbers.options()).index_add_(0, there, numbers).view(sizes);
  const auto adjoint = [](const at::Tensor& of, bool asked) { return asked ? of.mH().resolve_conj() : of; };
  return at::matmul(wide(adjoint(whole, turn)), wide(adjoint(x, turn_x)));
}

at::Tensor digits_of(const at::Tensor& numbers, const at::Tensor& bases) {
  const bool fits = at::gt(bases, 0).all().item<bool>() && at::ge(numbers, 0).all().item<bool>() &&
                    at::lt(numbers, at::prod(bases)).all().item<bool>();
  SIM_CHECK(fits, "an index is outside the dimensions");
  Tensors rows(size_t(bases.numel()));
  at::Tensor rest = numbers;
  for (size_t i = rows.size(); i-- > 0; rest = at::div(rest, bases[int64_t(i)], "floor"))
    rows[i] = at::remainder(rest, bases[int64_t(i)]);
  return at::stack(rows);
}

}  // namespace sim::kernels
