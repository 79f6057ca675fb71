// Operators over lists of tensors, as torch's optimizers call them. In place, the output list is the input list.
#include "opapi/aclnn.h"

#include <ATen/ops/add.h>
#include <ATen/ops/addcdiv.h>
#include <ATen/ops/addcmul.h>
#include <ATen/ops/div.h>
#include <ATen/ops/lerp.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/sub.h>

using namespace sim::aclnn;

namespace {

// Each output has the shape of its input.
void alike(const std::vector<at::Tensor>& out, const std::vector<at::Tensor>& in) {
  TORCH_CHECK(out.size() == in.size(), "the lists have ", in.size(), " inputs and ", out.size(), " outputs");
  for (size_t i = 0; i < in.size(); ++i) like(out[i], in[i]);
}

template <typename F>
void each(std::vector<at::Tensor>& out, F compute) {
  for (size_t i = 0; i < out.size(); ++i) out[i].copy_(compute(i));
}

}  // namespace

#define EACH(...) each(out, [&](size_t i) { return __VA_ARGS__; })

// clang-format off
ACLNN(ForeachAddScalarV2,     (List,x, Num,scalar, List,out),                 alike(out, x), EACH(at::add(x[i], scalar)))
ACLNN(ForeachSubScalarV2,     (List,x, Num,scalar, List,out),                 alike(out, x), EACH(at::sub(x[i], scalar)))
ACLNN(ForeachMulScalarV2,     (List,x, Num,scalar, List,out),                 alike(out, x), EACH(at::mul(x[i], scalar)))
ACLNN(ForeachDivScalarV2,     (List,x, Num,scalar, List,out),                 alike(out, x), EACH(at::div(x[i], scalar)))
ACLNN(ForeachAddListV2,       (List,x, List,y, Num,alpha, List,out),          alike(out, x), EACH(at::add(x[i], y[i], alpha)))
ACLNN(ForeachSubListV2,       (List,x, List,y, Num,alpha, List,out),          alike(out, x), EACH(at::sub(x[i], y[i], alpha)))
ACLNN(ForeachMulList,         (List,x, List,y, List,out),                     alike(out, x), EACH(at::mul(x[i], y[i])))
ACLNN(ForeachDivList,         (List,x, List,y, List,out),                     alike(out, x), EACH(at::div(x[i], y[i])))
ACLNN(ForeachDivScalarList,   (List,x, Nums,scalars, List,out),               alike(out, x), EACH(at::div(x[i], scalars[i])))
ACLNN(ForeachSqrt,            (List,x, List,out),                             alike(out, x), EACH(at::sqrt(x[i])))
ACLNN(ForeachLerpScalar,      (List,x, List,y, Num,weight, List,out),         alike(out, x), EACH(at::lerp(x[i], y[i], weight)))
ACLNN(ForeachAddcmulScalarV2, (List,x, List,y, List,z, Num,scalar, List,out), alike(out, x), EACH(at::addcmul(x[i], y[i], z[i], scalar)))
ACLNN(ForeachAddcdivScalarV2, (List,x, List,y, List,z, Num,scalar, List,out), alike(out, x), EACH(at::addcdiv(x[i], y[i], z[i], scalar)))
ACLNN(ForeachAddcdivScalarList, (List,x, List,y, List,z, Nums,scalars, List,out), alike(out, x), EACH(at::addcdiv(x[i], y[i], z[i], scalars[i])))
// clang-format on
