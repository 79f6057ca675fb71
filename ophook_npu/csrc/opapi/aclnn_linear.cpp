// Matrix products and reductions.
#include "opapi/aclnn.h"

using namespace sim::aclnn;

namespace {

// dtype is the type to sum in; the caller's output already has it.
at::Tensor sum(const at::Tensor& self, at::IntArrayRef dims, bool keep_dims, const at::Tensor& out) {
  return at::sum(self, dims, keep_dims, out.scalar_type());
}

}  // namespace

// clang-format off
// reduction: the Nth dimensions that `dims` names; all of them where it is empty
ACLNN(ReduceSum, (In,self, Ints,dims, bool,keep_dims, Dtype,dtype, Out,out), reduced(out, self, dims, keep_dims), write(out, sum(self, dims, keep_dims, out)))
ACLNN(Mean,      (In,self, Ints,dims, bool,keep_dims, Dtype,dtype, Out,out), reduced(out, self, dims, keep_dims), write(out, at::mean(self, dims, keep_dims, out.scalar_type())))
ACLNN(Amax,      (In,self, Ints,dims, bool,keep_dims, Out,out),              reduced(out, self, dims, keep_dims), write(out, at::amax(self, dims, keep_dims)))
ACLNN(Amin,      (In,self, Ints,dims, bool,keep_dims, Out,out),              reduced(out, self, dims, keep_dims), write(out, at::amin(self, dims, keep_dims)))
ACLNN(Max,       (In,self, Out,out),                                         shape(out, {}),                      write(out, at::max(self)))
ACLNN(Min,       (In,self, Out,out),                                         shape(out, {}),                      write(out, at::min(self)))
ACLNN(All,       (In,self, Ints,dims, bool,keep_dims, Out,out),              reduced(out, self, dims, keep_dims), write(out, at::all(self, dims, keep_dims)))
ACLNN(Any,       (In,self, Ints,dims, bool,keep_dims, Out,out),              reduced(out, self, dims, keep_dims), write(out, at::any(self, dims, keep_dims)))

// matrix products
ACLNN(Mm,          (In,self, In,mat2, Out,out, Cube,mode),                                matrix(out, self, mat2), at::mm_out(out, self, mat2))
ACLNN(Matmul,      (In,self, In,mat2, Out,out, Cube,mode),                                when_run(),              write(out, at::matmul(self, mat2)))
ACLNN(BatchMatMul, (In,self, In,mat2, Out,out, Cube,mode),                                matrix(out, self, mat2), at::bmm_out(out, self, mat2))
ACLNN(Addmm,       (In,self, In,mat1, In,mat2, Num,beta, Num,alpha, Out,out, Cube,mode),  (matrix(out, mat1, mat2), into(out, {self})), at::addmm_out(out, self, mat1, mat2, beta, alpha))
ACLNN(Baddbmm,     (In,self, In,mat1, In,mat2, Num,beta, Num,alpha, Out,out, Cube,mode),  (matrix(out, mat1, mat2), into(out, {self})), at::baddbmm_out(out, self, mat1, mat2, beta, alpha))
// clang-format on
