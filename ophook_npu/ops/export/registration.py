"""Registration out of tree: the schema, the kernel and, for the gradient "grad", autograd in C++."""

from __future__ import annotations

from ophook_npu.ops.declare import Operator
from ophook_npu.ops.export.cpp import kernel_file, parameters, prototype, require, result_type

_REGISTER = """\
// Out of tree only: gives the kernel of {kernel} its name {qualname}.
{why}
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

namespace op_api {{
{prototype};
}}

namespace {{

constexpr const char* kSchema = "{schema}";
const c10::OperatorName kName("{qualname}", "");

{autograd}}} // namespace

// A torch_npu that was built with the operator in tree, or Python loaded earlier, has the schema: a second definition
// raises, so this library joins in. Another signature under this name ends the process when the kernel registers, as
// nothing can be raised through dlopen: ophook_npu.ops.register compares first, so do so before loading it by hand.
TORCH_LIBRARY_FRAGMENT({namespace}, m)
{{
    if (!c10::Dispatcher::singleton().findSchema(kName).has_value()) {{
        m.def(kSchema);
    }}
}}

TORCH_LIBRARY_IMPL({namespace}, PrivateUse1, m)
{{
    m.impl("{name}", TORCH_FN(op_api::{name}));
}}
"""

_AUTOGRAD = """\
{result} call_below_autograd({parameters})
{{
    static auto op = c10::Dispatcher::singleton()
        .findSchemaOrThrow("{qualname}", "")
        .typed<{result}({types})>();
    const at::AutoDispatchBelowADInplaceOrView below;
    return op.call({names});
}}

// The gradient of {each} is the output's, summed over the dimensions that this input was broadcast along.
struct {type}Grad : torch::autograd::Function<{type}Grad> {{
    static {result} forward(torch::autograd::AutogradContext* ctx, {parameters})
    {{
{saved}        return call_below_autograd({names});
    }}

    static torch::autograd::variable_list backward(
        torch::autograd::AutogradContext* ctx, const torch::autograd::variable_list& grads)
    {{
        torch::autograd::variable_list result({count});
        const char* names[] = {{{strings}}};
        for (size_t i = 0; i < {count}; ++i) {{
            if (grads[0].defined() && ctx->needs_input_grad(i)) {{
                result[i] = grads[0].sum_to_size_symint(ctx->saved_data[names[i]].toSymIntVector());
            }}
        }}
        return result;
    }}
}};

{result} {name}_autograd({parameters})
{{
    if (at::GradMode::is_enabled() && ({requires})) {{
        return {type}Grad::apply({names});
    }}
    return call_below_autograd({names});
}}

"""


def registration(op: Operator) -> str:
    """``extension/register.cpp``: the schema, the kernel and, for the gradient "grad", autograd in C++."""
    require(op)
    autograd, why, tail = "", "", ""
    if cpp_autograd(op):
        autograd = _autograd(op)
        why = (
            "// The gradient on the NPU is here too, because a Python one costs more than the operator; "
            "elsewhere it is\n// Python's, and so are the CPU and the fake implementation.\n"
        )
        tail = (
            f"\nTORCH_LIBRARY_IMPL({op.namespace}, AutogradPrivateUse1, m)\n{{\n"
            f'    m.impl("{op.name}", TORCH_FN({op.name}_autograd));\n}}\n'
        )
    schema = op.schema.split("::", 1)[1].replace("\\", "\\\\").replace('"', '\\"')
    text = _REGISTER.format(
        kernel=kernel_file(op), qualname=op.qualname, prototype=prototype(op), autograd=autograd, why=why,
        schema=schema, namespace=op.namespace, name=op.name,
    )  # fmt: skip
    return text + tail


def cpp_autograd(op: Operator) -> bool:
    return bool(op.derivatives) and set(op.derivatives) == {a.name for a in op.arguments} and len(op.outputs) == 1


def _autograd(op: Operator) -> str:
    names = [a.name for a in op.arguments]
    return _AUTOGRAD.format(
        result=result_type(op),
        parameters=", ".join(parameters(op)),
        types=", ".join(p.rsplit(" ", 1)[0] for p in parameters(op)),
        qualname=op.qualname,
        name=op.name,
        names=", ".join(names),
        each="the input" if len(names) == 1 else "either input" if len(names) == 2 else "each input",
        type=op.ge,
        saved="".join(f'        ctx->saved_data["{n}"] = {n}.sym_sizes().vec();\n' for n in names),
        count=len(names),
        strings=", ".join(f'"{n}"' for n in names),
        requires=" || ".join(f"{n}.requires_grad()" for n in names),
    )
