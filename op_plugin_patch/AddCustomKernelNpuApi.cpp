// npu_add_custom(Tensor x, Tensor y) -> Tensor: z = x + y with broadcasting, computed by aclnnAddCustom.
//
//   x, y  fp16, fp32, bf16 or int32, one dtype for all of them
//   z     what x and y broadcast to; the dtype of x, contiguous
//   each  at most 2147483647 elements
//
// Made by `ophook-npu op export npu::npu_add_custom` from the operator's declaration. One source, two builds:
//   in tree      copied to op_plugin/ops/opapi, compiled as part of torch_npu
//   out of tree  -DOPHOOK_OUT_OF_TREE: compiled against an installed torch_npu; extension/register.cpp registers it
//
// All arguments are checked here because a failure inside the operator library comes late: with the task queue on, an
// error of the second phase is raised by some later call.

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/ExpandUtils.h>
#include <c10/core/DeviceGuard.h>

#ifdef OPHOOK_OUT_OF_TREE
#include "extension/aclnn_once.h"
// The in-tree macro needs symbols that libtorch_npu.so keeps to itself; this one needs exported symbols only.
#define OPHOOK_EXEC_ACLNN EXEC_NPU_CMD_EXT
namespace op_api {
at::Tensor npu_add_custom(const at::Tensor& x, const at::Tensor& y);
}
#else
#include "op_plugin/OpApiInterface.h"
#include "op_plugin/utils/op_api_common.h"
#define OPHOOK_EXEC_ACLNN EXEC_NPU_CMD
#endif

namespace op_api {
namespace {

constexpr int64_t kMaxElements = std::numeric_limits<int32_t>::max();

// Not numel(): the product of a broadcast shape may pass 2^63.
bool fits_kernel(at::IntArrayRef sizes)
{
    if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) {
        return true;
    }
    int64_t room = kMaxElements;
    for (int64_t extent : sizes) {
        room /= extent;
    }
    return room > 0;
}

void check_elements(const char* name, at::IntArrayRef sizes)
{
    TORCH_CHECK(fits_kernel(sizes), "[npu_add_custom] ", name, " has shape ", sizes, ", more than ", kMaxElements,
        " elements; allowed: at most that many; next: split the tensor");
}

at::DimVector broadcast_sizes(const char* x_name, at::IntArrayRef x, const char* y_name, at::IntArrayRef y)
{
    for (size_t back = 1; back <= std::min(x.size(), y.size()); ++back) {
        const int64_t x_size = x[x.size() - back];
        const int64_t y_size = y[y.size() - back];
        TORCH_CHECK(x_size == y_size || x_size == 1 || y_size == 1, "[npu_add_custom] ", x_name, " has shape ", x, ", ",
            y_name, " has shape ", y, ", which do not broadcast: dimension -", back, " is ", x_size, " and ", y_size,
            "; allowed: equal sizes, or one of them 1");
    }
    return at::infer_size_dimvector(x, y);
}

bool is_one_of(at::ScalarType dtype, std::initializer_list<at::ScalarType> allowed)
{
    return std::find(allowed.begin(), allowed.end(), dtype) != allowed.end();
}

void check_arguments(const at::Tensor& x, const at::Tensor& y)
{
    TORCH_CHECK(x.device() == y.device(), "[npu_add_custom] x is on ", x.device(),
        ", y is on ", y.device(), "; allowed: both on one device; next: move one of them with .to()");
    TORCH_CHECK(x.device().type() == c10::DeviceType::PrivateUse1, "[npu_add_custom] x is on ",
        x.device(), "; allowed: npu");
    TORCH_CHECK(x.scalar_type() == y.scalar_type(), "[npu_add_custom] x has dtype ",
        x.scalar_type(), ", y has dtype ", y.scalar_type(),
        "; allowed: one dtype for both; next: convert one of them with .to()");
    TORCH_CHECK(is_one_of(x.scalar_type(), {at::kHalf, at::kFloat, at::kBFloat16, at::kInt}),
        "[npu_add_custom] x and y have dtype ", x.scalar_type(), "; allowed: Half, Float, BFloat16, Int");
    check_elements("x", x.sizes());
    check_elements("y", y.sizes());
}

} // namespace

at::Tensor npu_add_custom(const at::Tensor& x, const at::Tensor& y)
{
    check_arguments(x, y);
    const at::DimVector z_size = broadcast_sizes("x", x.sizes(), "y", y.sizes());
    check_elements("the result", z_size);
    const c10::OptionalDeviceGuard guard(at::device_of(x));
    at::Tensor z = at::empty(z_size, x.options());
    // Nothing to compute; operator libraries differ in whether they accept an empty tensor.
    if (z.numel() == 0) {
        return z;
    }
    // Strides travel with the aclTensors: the operator takes strided inputs as they are.
    OPHOOK_EXEC_ACLNN(aclnnAddCustom, x, y, z);
    return z;
}

} // namespace op_api

#undef OPHOOK_EXEC_ACLNN
