// Out of tree only: gives the kernel of AddCustomKernelNpuApi.cpp its name npu::npu_add_custom.
// The CPU, meta and autograd implementations are Python's; see ophook_npu/ops/add_custom.py.

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

namespace op_api {
at::Tensor npu_add_custom(const at::Tensor& x, const at::Tensor& y);
}

namespace {

constexpr const char* kSchema = "npu_add_custom(Tensor x, Tensor y) -> Tensor";
const c10::OperatorName kName("npu::npu_add_custom", "");

} // namespace

// A torch_npu that was built with the operator in tree, or Python loaded earlier, has the schema: a second definition of
// it raises, so this library joins in. Another signature under this name is refused by torch when the kernel registers.
TORCH_LIBRARY_FRAGMENT(npu, m)
{
    if (!c10::Dispatcher::singleton().findSchema(kName).has_value()) {
        m.def(kSchema);
    }
}

TORCH_LIBRARY_IMPL(npu, PrivateUse1, m)
{
    m.impl("npu_add_custom", TORCH_FN(op_api::npu_add_custom));
}
