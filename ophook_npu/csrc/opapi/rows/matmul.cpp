// Matrix products, linear algebra, norms and distances.
#include "kernels/matmul.h"
#include "kernels/reduce.h"
#include "opapi/aclnn.h"

using namespace sim::aclnn;

namespace {

void vector_product(const at::Tensor& out, const at::Tensor& matrix, const at::Tensor& vector) {
  SIM_CHECK(matrix.dim() == 2 && vector.dim() == 1 && matrix.size(1) == vector.size(0),
            "a matrix and a vector expected, got ", matrix.sizes(), " and ", vector.sizes());
  shape(out, {matrix.size(0)});
}

void batch_sum(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b) {
  SIM_CHECK(a.dim() == 3 && b.dim() == 3 && a.size(0) == b.size(0) && a.size(2) == b.size(1),
            "batches of matrices expected, got ", a.sizes(), " and ", b.sizes());
  shape(out, {a.size(1), b.size(2)});
}

void outer(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b) {
  SIM_CHECK(a.dim() == 1 && b.dim() == 1, "vectors expected, got ", a.sizes(), " and ", b.sizes());
  shape(out, {a.size(0), b.size(0)});
}

void must_be_square(const at::Tensor& self) {
  SIM_CHECK(self.dim() >= 2 && self.size(-1) == self.size(-2), "square matrices expected, got ", self.sizes());
}

void plain_only(const at::Tensor& scale, int64_t split) {
  SIM_CHECK(!scale.defined() && split == 1, "scale and batch_split_factor are not simulated");
}

void write_qr(const at::Tensor& q, const at::Tensor& r, const kernels::Qr& result) {
  if (result.q.defined()) write(q, result.q);
  write(r, result.r);
}

void write_svd(const at::Tensor& s, const at::Tensor& u, const at::Tensor& v, const kernels::Svd& result) {
  write(s, result.s);
  if (result.u.defined()) write(u, result.u), write(v, result.v);
}

}  // namespace

// products
ACLNN(Mm, (In, self, In, mat2, Out, out, Cube, mode), matrix(out, self, mat2), kernels::product_into(out, self, mat2))
ACLNN(Matmul, (In, self, In, mat2, Out, out, Cube, mode), when_run(), write(out, kernels::batch_product(self, mat2)))
ACLNN(BatchMatMul, (In, self, In, mat2, Out, out, Cube, mode), matrix(out, self, mat2),
      write(out, kernels::batch_product(self, mat2)))
ACLNN(MatmulWeightNz, (In, self, In, mat2, Out, out, Cube, mode), matrix(out, self, mat2),
      write(out, kernels::batch_product(self, mat2)))
ACLNN(BatchMatMulWeightNz, (In, self, In, mat2, Out, out, Cube, mode), matrix(out, self, mat2),
      write(out, kernels::batch_product(self, mat2)))
ACLNN(Mv, (In, self, In, vec, Out, out, Cube, mode), vector_product(out, self, vec), at::mv_out(out, self, vec))
ACLNN(Dot, (In, self, In, other, Out, out), (not_complex(self), one_element(out)), write(out, at::dot(self, other)))
ACLNN(Addmm, (In, self, In, mat1, In, mat2, Num, beta, Num, alpha, Out, out, Cube, mode),
      (matrix(out, mat1, mat2), into(out, {self})), kernels::sum_into(out, self, mat1, mat2, beta, alpha))
ACLNN(AddmmWeightNz, (In, self, In, mat1, In, mat2, Num, beta, Num, alpha, Out, out, Cube, mode),
      (matrix(out, mat1, mat2), into(out, {self})), kernels::sum_into(out, self, mat1, mat2, beta, alpha))
ACLNN(Baddbmm, (In, self, In, mat1, In, mat2, Num, beta, Num, alpha, Out, out, Cube, mode),
      (matrix(out, mat1, mat2), into(out, {self})), kernels::sum_into(out, self, mat1, mat2, beta, alpha))
ACLNN(Addbmm, (In, self, In, mat1, In, mat2, Num, beta, Num, alpha, Out, out, Cube, mode),
      (batch_sum(out, mat1, mat2), into(out, {self})),
      write(out, at::addbmm(wide(self), wide(mat1), wide(mat2), beta, alpha)))
ACLNN(InplaceBaddbmm, (Ref, self, In, mat1, In, mat2, Num, beta, Num, alpha, Cube, mode), matrix(self, mat1, mat2),
      kernels::sum_into(self, self, mat1, mat2, beta, alpha))
ACLNN(InplaceAddbmm, (Ref, self, In, mat1, In, mat2, Num, beta, Num, alpha, Cube, mode), batch_sum(self, mat1, mat2),
      write(self, at::addbmm(wide(self), wide(mat1), wide(mat2), beta, alpha)))
ACLNN(Addmv, (In, self, In, mat, In, vec, Num, alpha, Num, beta, Out, out, Cube, mode),
      (vector_product(out, mat, vec), into(out, {self})), write(out, at::addmv(self, mat, vec, beta, alpha)))
ACLNN(Addr, (In, self, In, a, In, b, Num, beta, Num, alpha, Out, out), (outer(out, a, b), into(out, {self})),
      write(out, at::addr(self, a, b, beta, alpha)))
ACLNN(InplaceAddr, (Ref, self, In, a, In, b, Num, beta, Num, alpha), outer(self, a, b), self.addr_(a, b, beta, alpha))
ACLNN(InplaceAddmm, (Ref, self, In, mat1, In, mat2, Num, beta, Num, alpha, Cube, mode), matrix(self, mat1, mat2),
      kernels::sum_into(self, self, mat1, mat2, beta, alpha))
ACLNN(TransposeBatchMatMul,
      (In, x, In, y, In, bias, In, scale, Ints, perm_x, Ints, perm_y, Ints, perm_out, Cube, mode, int64_t, split, Out,
       out),
      plain_only(scale, split), write(out, kernels::permuted_product(x, y, bias, perm_x, perm_y, perm_out)))
ACLNN(TransposeBatchMatMulWeightNz,
      (In, x, In, y, In, bias, In, scale, Ints, perm_x, Ints, perm_y, Ints, perm_out, Cube, mode, int32_t, split, Out,
       out),
      plain_only(scale, split), write(out, kernels::permuted_product(x, y, bias, perm_x, perm_y, perm_out)))
ACLNN(FusedMatmul, (In, x, In, y, In, bias, In, third, Text, then, Cube, mode, Out, out),
      kernels::product_then_like(x, y, bias, third, then, mode, out),
      write(out, kernels::product_then(x, y, bias, third, then, mode)))
ACLNN(AddLora,
      (In, y, In, x, In, weight_b, In, indices, In, weight_a, int64_t, layer, double, scale, int64_t, offset, int64_t,
       size, Out, out),
      kernels::lora_like(y, x, weight_b, indices, weight_a, layer, offset, size, out),
      write(out, kernels::with_lora(y, x, weight_b, indices, weight_a, layer, scale, offset, size)))
ACLNN(LinalgCross, (In, self, In, other, int64_t, dim, Out, out), broadcast(out, {self, other}),
      at::linalg_cross_out(out, self, other, dim))

// factorizations and solvers
ACLNN(LinalgCholesky, (In, self, bool, upper, Out, out), (must_be_square(self), like(out, self)),
      write(out, at::linalg_cholesky(self, upper)))
ACLNN(LinalgQr, (In, self, int64_t, mode, Out, q, Out, r),
      SIM_CHECK(mode >= 0 && mode <= 2, "mode ", mode, "; allowed: 0 (reduced), 1 (complete), 2 (r)"),
      write_qr(q, r, kernels::qr(self, mode)))
ACLNN(Svd, (In, self, bool, full, bool, vectors, Out, s, Out, u, Out, v), when_run(),
      write_svd(s, u, v, kernels::svd(self, full, vectors)))
ACLNN(Inverse, (In, self, Out, out), (must_be_square(self), like(out, self)), write(out, at::inverse(wide(self))))
ACLNN(Slogdet, (In, self, Out, sign, Out, log), must_be_square(self), write({sign, log}, at::linalg_slogdet(self)))
ACLNN(TriangularSolve, (In, self, In, a, bool, upper, bool, transpose, bool, unitriangular, Out, x, Out, m),
      like(x, self), write({x, m}, at::triangular_solve(self, a, upper, transpose, unitriangular)))
ACLNN(Trace, (In, self, Out, out), shape(out, {}), write(out, at::trace(self)))

// norms and distances
ACLNN(Renorm, (In, self, Num, p, int64_t, dim, Num, max, Out, out), like(out, self),
      write(out, kernels::renormalized(self, p, dim, max)))
ACLNN(InplaceRenorm, (Ref, self, Num, p, int64_t, dim, Num, max), when_run(),
      write(self, kernels::renormalized(self, p, dim, max)))
ACLNN(Cdist, (In, x, In, y, float, p, int64_t, mode, Out, out), when_run(), write(out, at::cdist(wide(x), wide(y), p)))
ACLNN(CdistBackward, (In, grad, In, x, In, y, In, distance, float, p, Out, out), when_run(),
      write(out, kernels::distances_backward(grad, x, y, distance, p)))
ACLNN(Pdist, (In, self, float, p, Out, out), when_run(), write(out, at::pdist(wide(self), p)))
