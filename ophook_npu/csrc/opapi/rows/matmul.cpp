// Matrix products, linear algebra, norms and distances.
#include "kernels/matmul.h"
#include "kernels/reduce.h"
#include "opapi/aclnn.h"
#include "opapi/rules.h"

using namespace sim::aclnn;
using sim::shapes, sim::kernels::distances_like;

namespace {

// Matrices, batches of them, and vectors, which stand for a row on the left and a column on the right.
void any_product(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b) {
  SIM_CHECK(a.dim() && b.dim(), "vectors or matrices expected, got ", a.sizes(), " and ", b.sizes());
  if (a.dim() > 1 && b.dim() > 1) return matrix(out, a, b);
  SIM_CHECK(a.size(-1) == b.size(std::max<int64_t>(b.dim() - 2, 0)), "the inner dimensions of ", a.sizes(), " and ",
            b.sizes(), " differ");
  Dims sizes = (a.dim() > 1 ? a : b).sizes().vec();
  sizes.erase(int64_t(sizes.size()) - (a.dim() > 1 || b.dim() == 1 ? 1 : 2));
  sizes.empty() ? one_element(out) : shape(out, sizes);
}

void permuted_like(const at::Tensor& x, const at::Tensor& y, const at::Tensor& bias, const at::Tensor& scale,
                   const Dims& perm_x, const Dims& perm_y, const Dims& perm_out, int64_t mode, int64_t split,
                   const at::Tensor& out) {
  SIM_CHECK(!scale.defined() && split == 1, "scale and batch_split_factor are not simulated");
  SIM_CHECK(!bias.defined(), "bias has to be null");
  const Dims kept{0, 1, 2}, batch_second{1, 0, 2}, turned{0, 2, 1};
  SIM_CHECK(
      (perm_x == kept || perm_x == batch_second) && (perm_y == kept || perm_y == turned) && perm_out == batch_second,
      "permX1 ", perm_x, ", permX2 ", perm_y, " and permY ", perm_out,
      "; allowed: [0, 1, 2] or [1, 0, 2], [0, 1, 2] or [0, 2, 1], [1, 0, 2]");
  const bool later = product_is("Ascend950");
  SIM_CHECK(!later || mode != -1, "cubeMathType -1; allowed on an Ascend950: 0 and more");
  SIM_CHECK(later || perm_y == kept || perm_x == batch_second, "permX2 ", perm_y, " with permX1 ", perm_x,
            "; allowed before Ascend950: with [1, 0, 2]");
  SIM_CHECK(
      x.dim() == 3 && y.dim() == 3 && x.size(perm_x[0]) == y.size(perm_y[0]) && x.size(perm_x[2]) == y.size(perm_y[1]),
      "batches of matrices expected, got ", x.sizes(), " in the order ", perm_x, " and ", y.sizes(), " in the order ",
      perm_y);
  constexpr int64_t kMost = 65535;
  SIM_CHECK(later || (y.size(perm_y[0]) <= kMost && y.size(perm_y[2]) <= kMost &&
                      (perm_x == batch_second || x.size(2) <= kMost)),
            "batches of matrices ", x.sizes(), " and ", y.sizes(), "; allowed before Ascend950: sizes up to ", kMost);
  const Dims product{x.size(perm_x[0]), x.size(perm_x[1]), y.size(perm_y[2])};
  shape(out, {product[size_t(perm_out[0])], product[size_t(perm_out[1])], product[size_t(perm_out[2])]});
}

void qr_like(const at::Tensor& self, int64_t mode, const at::Tensor& q, const at::Tensor& r) {
  SIM_CHECK(mode >= 0 && mode <= 2, "mode ", mode, "; allowed: 0 (reduced), 1 (complete), 2 (r)");
  const auto [m, n] = shapes<"*_ m n">(self);
  shapes<"*b m n -> *b m =k, *b k n">({mode == 1 ? m : std::min(m, n)}, self, mode == 2 ? at::Tensor() : q, r);
}

void svd_like(const at::Tensor& self, bool full, bool vectors, const at::Tensor& s, const at::Tensor& u,
              const at::Tensor& v) {
  const auto [m, n] = shapes<"*_ m n">(self);
  const int64_t k = std::min(m, n);
  shapes<"*b m n -> *b =k">({k}, self, s);
  if (vectors) shapes<"*b m n -> *b m =u, *b n =v">({full ? m : k, full ? n : k}, self, u, v);
}

// A number for each square matrix.
void of_each_matrix(const at::Tensor& self, std::initializer_list<at::Tensor> outs) {
  shapes<"*_ n n">(self);
  for (const at::Tensor& out : outs) self.dim() == 2 ? one_element(out) : shape(out, outer_sizes(self, 2));
}

// Truth values go with truth values alone, and whole numbers with whole ones.
void factors(const std::optional<at::Scalar>& beta, const std::optional<at::Scalar>& alpha,
             const std::vector<at::Tensor>& inputs) {
  const auto all = [&](auto holds) { return std::all_of(inputs.begin(), inputs.end(), holds); };
  const bool truth = all([](const at::Tensor& one) { return one.scalar_type() == at::kBool; });
  const bool whole = all([](const at::Tensor& one) { return at::isIntegralType(one.scalar_type(), true); });
  for (const auto& factor : {beta, alpha})
    if (factor)
      SIM_CHECK((truth || !factor->isBoolean()) && (!whole || !factor->isFloatingPoint()), "a factor of ",
                factor->type(), " for ", inputs.front().scalar_type());
}

void known_way(double p, int64_t mode) {
  SIM_CHECK(p != 2 || mode == 2, "compute_mode ", mode, " where p is 2; allowed: 2");
}

void crossed(const at::Tensor& out, const at::Tensor& self, const at::Tensor& other, int64_t dim) {
  broadcast(out, {self, other});
  SIM_CHECK(out.numel() == 0 || out.size(kernels::crossing(self, out.dim(), dim)) == 3,
            "vectors of three numbers along dimension ", dim, " expected, got ", self.sizes(), " and ", other.sizes());
}

void renormalizable(const at::Tensor& self, int64_t dim) {
  wrap(dim, self);
  SIM_CHECK(self.dim() >= 2, "two dimensions or more expected, got ", self.sizes());
}

void pairs_like(const at::Tensor& self, const at::Tensor& out) {
  const auto [points, columns] = shapes<"points columns">(self);
  shape(out, {points * std::max<int64_t>(points - 1, 0) / 2});
}

void write_qr(const at::Tensor& q, const at::Tensor& r, const kernels::Qr& result) {
  if (result.q.defined()) write(q, result.q);
  write(r, result.r);
}

void write_svd(const at::Tensor& s, const at::Tensor& u, const at::Tensor& v, const kernels::Svd& result) {
  write(s, result.s);
  if (result.u.defined()) write(u, result.u), write(v, result.v);
}

// Of a product without numbers CANN asks that the output has none, whatever its shape.
void general_product_like(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b, const at::Tensor& c) {
  const bool some = a.dim() != 2 || b.dim() != 2 || out.numel() || (a.size(0) && b.size(1));
  const at::Tensor product = some ? out : at::empty({a.size(0), b.size(1)}, out.options());
  matrix(product, a, b), into(product, {c});
}

}  // namespace

// products
ACLNN(Mm, (In, self, In, mat2, Out, out, Cube, mode), matrix(out, self, mat2), kernels::product_into(out, self, mat2))
ACLNN(Matmul, (In, self, In, mat2, Out, out, Cube, mode), any_product(out, self, mat2),
      write(out, kernels::batch_product(self, mat2)))
ACLNN(BatchMatMul, (In, self, In, mat2, Out, out, Cube, mode), matrix(out, self, mat2),
      write(out, kernels::batch_product(self, mat2)))
ACLNN(MatmulWeightNz, (In, self, In, mat2, Out, out, Cube, mode), matrix(out, self, mat2),
      write(out, kernels::batch_product(self, mat2)))
ACLNN(BatchMatMulWeightNz, (In, self, In, mat2, Out, out, Cube, mode), matrix(out, self, mat2),
      write(out, kernels::batch_product(self, mat2)))
ACLNN(Gemm, (In, a, In, b, In, c, float, alpha, float, beta, int64_t, turn_a, int64_t, turn_b, Out, out, Cube, mode),
      general_product_like(out, turn_a ? a.t() : a, turn_b ? b.t() : b, c),
      if (out.numel()) write(out, kernels::general_product(a, b, c, alpha, beta, turn_a, turn_b)))
ACLNN(Mv, (In, self, In, vec, Out, out, Cube, mode), , at::mv_out(out, self, vec))
ACLNN(Dot, (In, self, In, other, Out, out), (not_complex(self), shapes<"n, n ->">(self, other, out)),
      write(out, at::dot(self, other)))
ACLNN(Addmm, (In, self, In, mat1, In, mat2, Num, beta, Num, alpha, Out, out, Cube, mode),
      (matrix(out, mat1, mat2), into(out, {self})), kernels::sum_into(out, self, mat1, mat2, beta, alpha))
ACLNN(AddmmWeightNz, (In, self, In, mat1, In, mat2, Num, beta, Num, alpha, Out, out, Cube, mode),
      (matrix(out, mat1, mat2), into(out, {self})), kernels::sum_into(out, self, mat1, mat2, beta, alpha))
ACLNN(Baddbmm, (In, self, In, mat1, In, mat2, Num, beta, Num, alpha, Out, out, Cube, mode), into(out, {self}),
      kernels::sum_into(out, self, mat1, mat2, beta, alpha))
ACLNN(Addbmm, (In, self, In, mat1, In, mat2, Num, beta, Num, alpha, Out, out, Cube, mode),
      (shapes<"#b m k, #b k n -> m n">(mat1, mat2, out), into(out, {self})),
      write(out, kernels::plus_batches(self, mat1, mat2, beta, alpha)))
ACLNN(InplaceBaddbmm, (Ref, self, In, mat1, In, mat2, Num, beta, Num, alpha, Cube, mode), when_run(),
      kernels::sum_into(self, self, mat1, mat2, beta, alpha))
ACLNN(InplaceAddbmm, (Ref, self, In, mat1, In, mat2, Num, beta, Num, alpha, Cube, mode),
      shapes<"#b m k, #b k n -> m n">(mat1, mat2, self),
      write(self, kernels::plus_batches(self, mat1, mat2, beta, alpha)))
ACLNN(Addmv, (In, self, In, mat, In, vec, Num, alpha, Num, beta, Out, out, Cube, mode),
      (kept(out, self), shapes<"m k, k -> m">(mat, vec, out), into(out, {self})),
      write(out, kernels::vector_sum(self, mat, vec, beta, alpha)))
ACLNN(Addr, (In, self, In, a, In, b, MaybeNum, beta, MaybeNum, alpha, Out, out),
      (kept(out, self), shapes<"m, n -> m n">(a, b, out), into(out, {self}), factors(beta, alpha, {self, a, b})),
      write(out, at::addr(self, a, b, beta.value_or(1), alpha.value_or(1))))
ACLNN(Ger, (In, self, In, other, Out, out), , write(out, at::outer(self, other)))
ACLNN(InplaceAddr, (Ref, self, In, a, In, b, MaybeNum, beta, MaybeNum, alpha),
      (kept(self, a), shapes<"m, n -> m n">(a, b, self), factors(beta, alpha, {self, a, b})),
      self.addr_(a, b, beta.value_or(1), alpha.value_or(1)))
ACLNN(InplaceAddmm, (Ref, self, In, mat1, In, mat2, Num, beta, Num, alpha, Cube, mode), matrix(self, mat1, mat2),
      kernels::sum_into(self, self, mat1, mat2, beta, alpha))
ACLNN(TransposeBatchMatMul,
      (In, x, In, y, In, bias, In, scale, Ints, perm_x, Ints, perm_y, Ints, perm_out, Cube, mode, int64_t, split, Out,
       out),
      (kept(out, x), permuted_like(x, y, bias, scale, perm_x, perm_y, perm_out, mode, split, out)),
      write(out, kernels::permuted_product(x, y, perm_x, perm_y, perm_out)))
ACLNN(TransposeBatchMatMulWeightNz,
      (In, x, In, y, In, bias, In, scale, Ints, perm_x, Ints, perm_y, Ints, perm_out, Cube, mode, int32_t, split, Out,
       out),
      permuted_like(x, y, bias, scale, perm_x, perm_y, perm_out, mode, split, out);
      SIM_CHECK(y.size(1) != 1 && y.size(2) != 1, "x2 ", y.sizes(), "; no matrix of FRACTAL_NZ may have a size of 1"),
      write(out, kernels::permuted_product(x, y, perm_x, perm_y, perm_out)))
ACLNN(FusedMatmul, (In, x, In, y, In, bias, In, third, Text, then, Cube, mode, Out, out),
      kernels::product_then_like(x, y, bias, third, then, mode, out),
      write(out, kernels::product_then(x, y, bias, third, then, mode)))
ACLNN(MatmulEmuSplitWeight, (In, x, In, high, In, low, Out, out, float, low_scale, int8_t, dtype),
      SIM_CHECK(dtype == 0 && low_scale == 1.0f / 256, "yDtype ", int(dtype), " and wLowScale ", low_scale,
                "; allowed: 0, 1/256");
      like(low, high); matrix(out, x, high), write(out, kernels::split_product(x, high, low, low_scale)))
#define LORA {NAMED(y, x), .b = weight_b, NAMED(indices), .a = weight_a, NAMED(layer, offset, size)}
ACLNN(AddLora,
      (In, y, In, x, In, weight_b, In, indices, In, weight_a, int64_t, layer, double, scale, int64_t, offset, int64_t,
       size, Out, out),
      kernels::lora_like(LORA, out), write(out, kernels::with_lora(LORA, scale)))
ACLNN(LinalgCross, (In, self, In, other, int64_t, dim, Out, out),
      (crossed(out, self, other, dim), promoted(out, {self, other})),
      out.numel() ? write(out, kernels::crossed(self, other, dim)) : void())

// factorizations and solvers
ACLNN(LinalgCholesky, (In, self, bool, upper, Out, out), (shapes<"*b n n -> *b n n">(self, out)),
      write(out, at::linalg_cholesky(self, upper)))
ACLNN(LinalgQr, (In, self, int64_t, mode, Out, q, Out, r), (kept(r, self), qr_like(self, mode, q, r));
      SIM_CHECK_DTYPE(mode == 2 || q.is_complex() || !self.is_complex(), "q is ", q.scalar_type(), " for ",
                      self.scalar_type()),
      write_qr(q, r, kernels::qr(self, mode)))
ACLNN(Qr, (In, self, bool, some, Out, q, Out, r), (kept(q, self), kept(r, self), qr_like(self, some ? 0 : 1, q, r)),
      write_qr(q, r, kernels::qr(self, some ? 0 : 1)))
ACLNN(Svd, (In, self, bool, full, bool, vectors, Out, s, Out, u, Out, v), svd_like(self, full, vectors, s, u, v),
      write_svd(s, u, v, kernels::svd(self, full, vectors)))
ACLNN(Inverse, (In, self, Out, out), (kept(out, self), shapes<"*b n n -> *b n n">(self, out)),
      write(out, at::inverse(wide(self))))
// Of matrices without elements nothing is written: the first phase ends where self is empty, in CANN's
// aclnn_slogdet.cpp and aclnn_logdet.cpp.
ACLNN(Slogdet, (In, self, Out, sign, Out, log), (kept(sign, self), of_each_matrix(self, {sign, log})),
      self.numel() ? write({sign, log}, at::linalg_slogdet(self)) : void())
ACLNN(Logdet, (In, self, Out, out), of_each_matrix(self, {out}), self.numel() ? write(out, at::logdet(self)) : void())
// a x = self, for batches that are broadcast; m: a with its batch so.
ACLNN(TriangularSolve, (In, self, In, a, bool, upper, bool, transpose, bool, unitriangular, Out, x, Out, m),
      (shapes<"*#b n m, *#b n n -> *#b n m, *#b n n">(self, a, x, m)),
      write({x, m}, at::triangular_solve(self, a, upper, transpose, unitriangular)))
ACLNN(Trace, (In, self, Out, out), (kept(out, self), shape(out, {})), write(out, at::trace(self)))

// norms and distances
ACLNN(Renorm, (In, self, Num, p, int64_t, dim, Num, max, Out, out), renormalizable(self, dim),
      write(out, kernels::renormalized(self, p, dim, max)))
ACLNN(InplaceRenorm, (Ref, self, Num, p, int64_t, dim, Num, max), renormalizable(self, dim),
      write(self, kernels::renormalized(self, p, dim, max)))
ACLNN(Cdist, (In, x, In, y, float, p, int64_t, mode, Out, out), (known_way(p, mode), distances_like(x, y, out)),
      write(out, at::cdist(wide(x), wide(y), p)))
ACLNN(CdistBackward, (In, grad, In, x, In, y, In, distance, float, p, Out, out), distances_like(x, y, distance),
      write(out, kernels::distances_backward(grad, x, y, distance, p)))
ACLNN(PdistForward, (In, self, Num, p, Out, out), pairs_like(self, out),
      write(out, at::pdist(wide(self), p.toDouble())))
ACLNN(Pdist, (In, self, float, p, Out, out), pairs_like(self, out), write(out, at::pdist(wide(self), p)))
