// RmsNormCustom of the vendor package "ophook", for the simulator. Statistics in float, whatever the data's dtype.

#include "opapi/aclnn.h"

using namespace sim::aclnn;

namespace {

void check_rms_norm(const at::Tensor& x, const at::Tensor& gamma, const at::Tensor& y, const at::Tensor& rstd) {
  SIM_CHECK(x.defined() && gamma.defined() && y.defined() && rstd.defined(), "x, gamma, y and rstd must be given");
  of_dtype("x", x, {at::kHalf, at::kFloat, at::kBFloat16});
  same_dtype({x, gamma, y});
  of_dtype("rstd", rstd, {at::kFloat});
  SIM_CHECK(x.dim() > 0, "x has no dimension to normalize");
  shape(gamma, {x.size(-1)});
  like(y, x);
  reduced(rstd, x, {-1}, true);
}

void run(const at::Tensor& x, const at::Tensor& gamma, double epsilon, const at::Tensor& y, const at::Tensor& rstd) {
  auto wide_x = wide(x);
  auto factor = at::rsqrt(at::add(at::mean(at::square(wide_x), {-1}, true), epsilon));
  write(y, at::mul(at::mul(wide_x, factor), wide(gamma)));
  write(rstd, factor);
}

}  // namespace

// clang-format off
ACLNN(RmsNormCustom, (In,x, In,gamma, double,epsilon, Out,y, Out,rstd), check_rms_norm(x, gamma, y, rstd), run(x, gamma, epsilon, y, rstd))
// clang-format on
