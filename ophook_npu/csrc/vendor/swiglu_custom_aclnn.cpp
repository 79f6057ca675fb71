// SwigluCustom of the vendor package "ophook", for the simulator. Computed in float, whatever the data's dtype.

#include "opapi/aclnn.h"

using namespace sim::aclnn;

namespace {

void check_swiglu(const at::Tensor& x, int64_t dim, const at::Tensor& y) {
  SIM_CHECK(x.defined() && y.defined(), "x and y must be given");
  of_dtype("x", x, {at::kHalf, at::kFloat, at::kBFloat16});
  same_dtype({x, y});
  SIM_CHECK(dim >= -x.dim() && dim < x.dim(), "dim is ", dim, ", x has ", x.dim(), " dimensions");
  auto expected = x.sizes().vec();
  int64_t& extent = expected[dim < 0 ? dim + x.dim() : dim];
  SIM_CHECK(extent % 2 == 0, "x has ", extent, " elements along dimension ", dim, "; allowed: an even number");
  extent /= 2;
  shape(y, expected);
}

at::Tensor swiglu(const at::Tensor& x, int64_t dim) {
  auto halves = wide(x).chunk(2, dim);
  return at::mul(at::silu(halves[0]), halves[1]);
}

}  // namespace

// clang-format off
ACLNN(SwigluCustom, (In,x, int64_t,dim, Out,y), check_swiglu(x, dim, y), write(y, swiglu(x, dim)))
// clang-format on
