// Out of tree only: gives the kernel of AddCustomKernelNpuApi.cpp its name npu::npu_add_custom.
// The gradient on the NPU is here too, because a Python one costs more than the operator; elsewhere it is
// Python's, and so are the CPU and the fake implementation.

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

namespace op_api {
at::Tensor npu_add_custom(const at::Tensor& x, const at::Tensor& y);
}

namespace {

constexpr const char* kSchema = "npu_add_custom(Tensor x, Tensor y) -> Tensor";
const c10::OperatorName kName("npu::npu_add_custom", "");

at::Tensor call_below_autograd(const at::Tensor& x, const at::Tensor& y)
{
    static auto op = c10::Dispatcher::singleton()
        .findSchemaOrThrow("npu::npu_add_custom", "")
        .typed<at::Tensor(const at::Tensor&, const at::Tensor&)>();
    const at::AutoDispatchBelowADInplaceOrView below;
    return op.call(x, y);
}

// The gradient of either input is the output's, summed over the dimensions that this input was broadcast along.
struct AddCustomGrad : torch::autograd::Function<AddCustomGrad> {
    static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& x, const at::Tensor& y)
    {
        ctx->saved_data["x"] = x.sym_sizes().vec();
        ctx->saved_data["y"] = y.sym_sizes().vec();
        return call_below_autograd(x, y);
    }

    static torch::autograd::variable_list backward(
        torch::autograd::AutogradContext* ctx, const torch::autograd::variable_list& grads)
    {
        torch::autograd::variable_list result(2);
        const char* names[] = {"x", "y"};
        for (size_t i = 0; i < 2; ++i) {
            if (grads[0].defined() && ctx->needs_input_grad(i)) {
                result[i] = grads[0].sum_to_size_symint(ctx->saved_data[names[i]].toSymIntVector());
            }
        }
        return result;
    }
};

at::Tensor npu_add_custom_autograd(const at::Tensor& x, const at::Tensor& y)
{
    if (at::GradMode::is_enabled() && (x.requires_grad() || y.requires_grad())) {
        return AddCustomGrad::apply(x, y);
    }
    return call_below_autograd(x, y);
}

} // namespace

// A torch_npu that was built with the operator in tree, or Python loaded earlier, has the schema: a second definition
// raises, so this library joins in. Another signature under this name ends the process when the kernel registers, as
// nothing can be raised through dlopen: ophook_npu.ops.register compares first, so do so before loading it by hand.
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

TORCH_LIBRARY_IMPL(npu, AutogradPrivateUse1, m)
{
    m.impl("npu_add_custom", TORCH_FN(npu_add_custom_autograd));
}
