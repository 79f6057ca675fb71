// Matrix products, linear algebra, norms and distances.
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

// A batch of one goes with any batch.
void batch_product(at::Tensor& out, const at::Tensor& a, const at::Tensor& b) {
  if (a.dim() == 3 && b.dim() == 3 && a.size(0) == b.size(0)) at::bmm_out(out, a, b);
  else write(out, at::matmul(a, b));
}

void outer(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b) {
  SIM_CHECK(a.dim() == 1 && b.dim() == 1, "vectors expected, got ", a.sizes(), " and ", b.sizes());
  shape(out, {a.size(0), b.size(0)});
}

void must_be_square(const at::Tensor& self) {
  SIM_CHECK(self.dim() >= 2 && self.size(-1) == self.size(-2), "square matrices expected, got ", self.sizes());
}

// CANN numbers the modes; in mode "r" there is no Q.
void qr(const at::Tensor& self, int64_t mode, const at::Tensor& q, const at::Tensor& r) {
  static constexpr const char* kModes[] = {"reduced", "complete", "r"};
  auto [some_q, some_r] = at::linalg_qr(self, kModes[mode]);
  if (mode != 2) write(q, some_q);
  write(r, some_r);
}

void svd(const at::Tensor& self, bool full, bool vectors, const at::Tensor& s, const at::Tensor& u,
         const at::Tensor& v) {
  if (!vectors) return write(s, at::linalg_svdvals(self));
  auto [some_u, some_s, some_vh] = at::linalg_svd(self, full);
  write({u, s, v}, std::make_tuple(some_u, some_s, some_vh.mH()));
}

// ATen renormalizes by positive norms only.
at::Tensor renormalized(const at::Tensor& self, const at::Scalar& p, int64_t dim, const at::Scalar& max) {
  if (p.toDouble() > 0) return at::renorm(self, p, dim, max);
  Dims others;
  for (int64_t i = 0; i < self.dim(); ++i)
    if (i != wrap(dim, self)) others.push_back(i);
  auto norm = at::linalg_vector_norm(wide(self), p, others, true);
  auto factor = at::mul(at::reciprocal(at::add(norm, 1e-7)), max).masked_fill(at::le(norm, max), 1);
  return at::mul(wide(self), factor);
}

void transposed_product(const at::Tensor& x, const at::Tensor& y, const at::Tensor& bias, const at::Tensor& scale,
                        at::IntArrayRef perm_x, at::IntArrayRef perm_y, at::IntArrayRef perm_out, int64_t split,
                        const at::Tensor& out) {
  SIM_CHECK(!scale.defined() && split == 1, "scale and batch_split_factor are not simulated");
  auto result = at::bmm(wide(x.permute(perm_x)), wide(y.permute(perm_y)));
  if (bias.defined()) result = at::add(result, bias);
  write(out, result.permute(perm_out));
}

}  // namespace

// products
ACLNN(Mm, (In, self, In, mat2, Out, out, Cube, mode), matrix(out, self, mat2), at::mm_out(out, self, mat2))
ACLNN(Matmul, (In, self, In, mat2, Out, out, Cube, mode), when_run(), write(out, at::matmul(self, mat2)))
ACLNN(BatchMatMul, (In, self, In, mat2, Out, out, Cube, mode), matrix(out, self, mat2), batch_product(out, self, mat2))
ACLNN(MatmulWeightNz, (In, self, In, mat2, Out, out, Cube, mode), matrix(out, self, mat2),
      write(out, at::matmul(self, mat2)))
ACLNN(BatchMatMulWeightNz, (In, self, In, mat2, Out, out, Cube, mode), matrix(out, self, mat2),
      batch_product(out, self, mat2))
ACLNN(Mv, (In, self, In, vec, Out, out, Cube, mode), vector_product(out, self, vec), at::mv_out(out, self, vec))
ACLNN(Dot, (In, self, In, other, Out, out), (not_complex(self), one_element(out)), write(out, at::dot(self, other)))
ACLNN(Addmm, (In, self, In, mat1, In, mat2, Num, beta, Num, alpha, Out, out, Cube, mode),
      (matrix(out, mat1, mat2), into(out, {self})), at::addmm_out(out, self, mat1, mat2, beta, alpha))
ACLNN(Baddbmm, (In, self, In, mat1, In, mat2, Num, beta, Num, alpha, Out, out, Cube, mode),
      (matrix(out, mat1, mat2), into(out, {self})), at::baddbmm_out(out, self, mat1, mat2, beta, alpha))
ACLNN(Addbmm, (In, self, In, mat1, In, mat2, Num, beta, Num, alpha, Out, out, Cube, mode),
      (batch_sum(out, mat1, mat2), into(out, {self})), write(out, at::addbmm(self, mat1, mat2, beta, alpha)))
ACLNN(InplaceBaddbmm, (Ref, self, In, mat1, In, mat2, Num, beta, Num, alpha, Cube, mode), matrix(self, mat1, mat2),
      self.baddbmm_(mat1, mat2, beta, alpha))
ACLNN(InplaceAddbmm, (Ref, self, In, mat1, In, mat2, Num, beta, Num, alpha, Cube, mode), batch_sum(self, mat1, mat2),
      self.copy_(at::addbmm(self, mat1, mat2, beta, alpha)))
ACLNN(Addmv, (In, self, In, mat, In, vec, Num, alpha, Num, beta, Out, out, Cube, mode),
      (vector_product(out, mat, vec), into(out, {self})), write(out, at::addmv(self, mat, vec, beta, alpha)))
ACLNN(Addr, (In, self, In, a, In, b, Num, beta, Num, alpha, Out, out), (outer(out, a, b), into(out, {self})),
      write(out, at::addr(self, a, b, beta, alpha)))
ACLNN(InplaceAddr, (Ref, self, In, a, In, b, Num, beta, Num, alpha), outer(self, a, b), self.addr_(a, b, beta, alpha))
ACLNN(InplaceAddmm, (Ref, self, In, mat1, In, mat2, Num, beta, Num, alpha, Cube, mode), matrix(self, mat1, mat2),
      self.addmm_(mat1, mat2, beta, alpha))
ACLNN(TransposeBatchMatMul,
      (In, x, In, y, In, bias, In, scale, Ints, perm_x, Ints, perm_y, Ints, perm_out, Cube, mode, int64_t, split, Out,
       out),
      when_run(), transposed_product(x, y, bias, scale, perm_x, perm_y, perm_out, split, out))
ACLNN(TransposeBatchMatMulWeightNz,
      (In, x, In, y, In, bias, In, scale, Ints, perm_x, Ints, perm_y, Ints, perm_out, Cube, mode, int32_t, split, Out,
       out),
      when_run(), transposed_product(x, y, bias, scale, perm_x, perm_y, perm_out, split, out))
ACLNN(LinalgCross, (In, self, In, other, int64_t, dim, Out, out), broadcast(out, {self, other}),
      at::linalg_cross_out(out, self, other, dim))

// factorizations and solvers
ACLNN(LinalgCholesky, (In, self, bool, upper, Out, out), (must_be_square(self), like(out, self)),
      write(out, at::linalg_cholesky(self, upper)))
ACLNN(LinalgQr, (In, self, int64_t, mode, Out, q, Out, r),
      SIM_CHECK(mode >= 0 && mode <= 2, "mode ", mode, "; allowed: 0 (reduced), 1 (complete), 2 (r)"),
      qr(self, mode, q, r))
ACLNN(Svd, (In, self, bool, full, bool, vectors, Out, s, Out, u, Out, v), when_run(), svd(self, full, vectors, s, u, v))
ACLNN(Inverse, (In, self, Out, out), (must_be_square(self), like(out, self)), write(out, at::inverse(wide(self))))
ACLNN(Slogdet, (In, self, Out, sign, Out, log), must_be_square(self), write({sign, log}, at::linalg_slogdet(self)))
ACLNN(TriangularSolve, (In, self, In, a, bool, upper, bool, transpose, bool, unitriangular, Out, x, Out, m),
      like(x, self), write({x, m}, at::triangular_solve(self, a, upper, transpose, unitriangular)))
ACLNN(Trace, (In, self, Out, out), shape(out, {}), write(out, at::trace(self)))

// norms and distances
ACLNN(Renorm, (In, self, Num, p, int64_t, dim, Num, max, Out, out), like(out, self),
      write(out, renormalized(self, p, dim, max)))
ACLNN(InplaceRenorm, (Ref, self, Num, p, int64_t, dim, Num, max), when_run(),
      write(self, renormalized(self, p, dim, max)))
ACLNN(Cdist, (In, x, In, y, float, p, int64_t, mode, Out, out), when_run(), write(out, at::cdist(wide(x), wide(y), p)))
ACLNN(CdistBackward, (In, grad, In, x, In, y, In, distance, float, p, Out, out), when_run(),
      write(out, at::_cdist_backward(wide(grad).contiguous(), wide(x).contiguous(), wide(y).contiguous(), p,
                                     wide(distance).contiguous())))
ACLNN(Pdist, (In, self, float, p, Out, out), when_run(), write(out, at::pdist(wide(self), p)))
