// libcust_opapi.so of the vendor package "ophook": what the AddCustom operator project (op_plugin_patch/ascendc) installs
// on an Ascend host, for the simulator. torch_npu finds it the way it finds any custom operator library.

#include "opapi/aclnn.h"

using namespace sim::aclnn;

namespace {

// What the project's op_host accepts: the same dtypes, broadcasting shapes, sizes that 32 bits can count.
void check_add(const at::Tensor& x, const at::Tensor& y, const at::Tensor& z) {
  SIM_CHECK(x.defined() && y.defined() && z.defined(), "x, y and z must be given");
  of_dtype("x", x, {at::kHalf, at::kFloat, at::kBFloat16, at::kInt});
  same_dtype({x, y, z});
  broadcast(z, {x, y});
  SIM_CHECK(z.numel() <= INT32_MAX, "z has ", z.numel(), " elements; allowed: at most ", INT32_MAX);
}

}  // namespace

// clang-format off
ACLNN(AddCustom, (In,x, In,y, Out,z), check_add(x, y, z), at::add_out(z, x, y))
// clang-format on
