"""The NPU kernel in C++, and its registration out of tree, from a declaration.

Every line that depends on the declaration is here; what is fixed is text. The kernel checks what
`ophook_npu.ops._checks`
checks, in the same words.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from ophook_npu.errors import OphookError
from ophook_npu.ops._checks import listed, shapes_allowed
from ophook_npu.ops.declare import Operator
from ophook_npu.ops.rules import Broadcast, Divided, Reduced, Rule, Same

_SCALAR_TYPES = {
    torch.float16: "Half", torch.float32: "Float", torch.bfloat16: "BFloat16", torch.float64: "Double", torch.int8: "Char",  # noqa: E501
    torch.uint8: "Byte", torch.int16: "Short", torch.int32: "Int", torch.int64: "Long", torch.bool: "Bool",
}  # fmt: skip
_PARAMETERS = {
    "Tensor": "const at::Tensor& {}", "Optional[Tensor]": "const c10::optional<at::Tensor>& {}",
    "List[Tensor]": "at::TensorList {}", "int": "int64_t {}", "float": "double {}", "bool": "bool {}",
    "str": "c10::string_view {}", "number": "const at::Scalar& {}", "ScalarType": "at::ScalarType {}",
    "List[int]": "at::IntArrayRef {}", "List[bool]": "at::ArrayRef<bool> {}",
}  # fmt: skip

_KERNEL = """\
// {signature}: {summary}, computed by {aclnn}.
//
{contract}
//
// Made by `ophook-npu op export {qualname}` from the operator's declaration. One source, two builds:
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

#include <ATen/ATen.h>
#include <ATen/ExpandUtils.h>
#include <c10/core/DeviceGuard.h>

#ifdef OPHOOK_OUT_OF_TREE
#include "extension/aclnn_once.h"
// The in-tree macro needs symbols that libtorch_npu.so keeps to itself; this one needs exported symbols only.
#define OPHOOK_EXEC_ACLNN EXEC_NPU_CMD_EXT
namespace op_api {{
{prototype};
}}
#else
#include "op_plugin/OpApiInterface.h"
#include "op_plugin/utils/op_api_common.h"
#define OPHOOK_EXEC_ACLNN EXEC_NPU_CMD
#endif

namespace op_api {{
namespace {{

{helpers}}} // namespace

{prototype}
{{
{body}}}

}} // namespace op_api

#undef OPHOOK_EXEC_ACLNN
"""

_LIMIT = """\
constexpr int64_t kMaxElements = {limit};

// Not numel(): the product of a broadcast shape may pass 2^63.
bool fits_kernel(at::IntArrayRef sizes)
{{
    if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) {{
        return true;
    }}
    int64_t room = kMaxElements;
    for (int64_t extent : sizes) {{
        room /= extent;
    }}
    return room > 0;
}}

void check_elements(const char* name, at::IntArrayRef sizes)
{{
    TORCH_CHECK(fits_kernel(sizes), "[{op}] ", name, " has shape ", sizes, ", more than ", kMaxElements,
        " elements; allowed: at most that many; next: split the tensor");
}}

"""

_IS_ONE_OF = """\
bool is_one_of(at::ScalarType dtype, std::initializer_list<at::ScalarType> allowed)
{
    return std::find(allowed.begin(), allowed.end(), dtype) != allowed.end();
}

"""

_BROADCAST = """\
at::DimVector broadcast_sizes(const char* x_name, at::IntArrayRef x, const char* y_name, at::IntArrayRef y)
{{
    for (size_t back = 1; back <= std::min(x.size(), y.size()); ++back) {{
        const int64_t x_size = x[x.size() - back];
        const int64_t y_size = y[y.size() - back];
        TORCH_CHECK(x_size == y_size || x_size == 1 || y_size == 1, "[{op}] ", x_name, " has shape ", x, ", ",
            y_name, " has shape ", y, ", which do not broadcast: dimension -", back, " is ", x_size, " and ", y_size,
            "; allowed: equal sizes, or one of them 1");
    }}
    return at::infer_size_dimvector(x, y);
}}

"""

_ALONG = """\
int64_t checked_dim(const char* name, const at::Tensor& tensor, int64_t dim)
{{
    TORCH_CHECK(dim >= -tensor.dim() && dim < tensor.dim(), "[{op}] ", name, " has ", tensor.dim(),
        " dimensions, there is no dimension ", dim, "; allowed: ", -tensor.dim(), " to ", tensor.dim() - 1);
    return dim < 0 ? dim + tensor.dim() : dim;
}}

"""

_REDUCED = """\
at::DimVector reduced_sizes(const char* name, const at::Tensor& tensor, int64_t dim)
{{
    at::DimVector sizes(tensor.sizes());
    sizes[checked_dim(name, tensor, dim)] = 1;
    return sizes;
}}

"""

_DIVIDED = """\
at::DimVector divided_sizes(const char* name, const at::Tensor& tensor, int64_t dim, int64_t by)
{{
    at::DimVector sizes(tensor.sizes());
    int64_t& extent = sizes[checked_dim(name, tensor, dim)];
    TORCH_CHECK(extent % by == 0, "[{op}] ", name, " has ", extent, " elements along dimension ", dim,
        "; allowed: a multiple of ", by);
    extent /= by;
    return sizes;
}}

"""

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


def out_of_tree(op: Operator) -> dict[str, str]:
    """Path -> text of what the NPU kernel outside torch_npu is built from.

    Raises:
        OphookError: as `kernel`.
    """
    return {
        kernel_file(op): kernel(op),
        "extension/register.cpp": registration(op),
        "extension/aclnn_once.h": Path(__file__).with_name("aclnn_once.h").read_text(encoding="utf-8"),
    }


def kernel_file(op: Operator) -> str:
    """The kernel's file name, as op-plugin names its files."""
    return f"{op.ge}KernelNpuApi.cpp"


def kernel(op: Operator) -> str:
    """The kernel.

    Raises:
        OphookError: there is no aclnn function, a shape has no named rule, or an argument's type has no C++ form.
    """
    _require(op)
    return _KERNEL.format(
        signature=op.schema.split("::", 1)[1],
        qualname=op.qualname,
        summary=op.summary or op.name,
        aclnn=op.aclnn_name,
        contract=_contract(op),
        prototype=prototype(op),
        helpers=_helpers(op),
        body=_body(op),
    )


def registration(op: Operator) -> str:
    """``extension/register.cpp``: the schema, the kernel and, for the gradient "grad", autograd in C++."""
    _require(op)
    autograd, why, tail = "", "", ""
    if cpp_autograd(op):
        autograd = _autograd(op)
        why = (
            "// The gradient on the NPU is here too, because a Python one costs more than the operator; elsewhere it is\n"  # noqa: E501
            "// Python's, and so are the CPU and the fake implementation.\n"
        )
        tail = (
            f"\nTORCH_LIBRARY_IMPL({op.namespace}, AutogradPrivateUse1, m)\n{{\n"
            f'    m.impl("{op.name}", TORCH_FN({op.name}_autograd));\n}}\n'
        )
    text = _REGISTER.format(
        kernel=kernel_file(op), qualname=op.qualname, prototype=prototype(op), autograd=autograd, why=why,
        schema=op.schema.split("::", 1)[1].replace("\\", "\\\\").replace('"', '\\"'), namespace=op.namespace, name=op.name,  # noqa: E501
    )  # fmt: skip
    return text + tail


def cpp_autograd(op: Operator) -> bool:
    return bool(op.derivatives) and set(op.derivatives) == {a.name for a in op.arguments} and len(op.outputs) == 1


def prototype(op: Operator) -> str:
    return f"{result_type(op)} {op.name}({', '.join(parameters(op))})"


def result_type(op: Operator) -> str:
    count = len(op.outputs)
    if count == 0:
        return "void"
    return "at::Tensor" if count == 1 else f"std::tuple<{', '.join(['at::Tensor'] * count)}>"


def parameters(op: Operator) -> list[str]:
    return [
        f"at::Tensor& {a.name}" if a.name in op.mutated else _PARAMETERS[str(a.real_type)].format(a.name)
        for a in op.arguments
    ]


def _require(op: Operator) -> None:
    where = f"op export {op.qualname}"
    if op.ge is None:
        raise OphookError(where, "it has no GE type and no aclnn function", allowed="ge='SomeType' in its declaration")
    for name, rule in op.outputs.items():
        if rule is None:
            raise OphookError(
                where, f"the shape of {name} is a Python function, which has no C++ form",
                allowed="same_as, broadcast, reduced, divided", todo="say the shape with one of them in outputs=",
            )  # fmt: skip
    for a in op.arguments:
        kind = str(a.real_type)
        if kind not in _PARAMETERS or (a.name in op.mutated and kind != "Tensor"):
            raise OphookError(where, f"argument {a.name} is {kind}", allowed=", ".join(_PARAMETERS))


def _contract(op: Operator) -> str:
    lines = []
    for group, allowed in op.dtypes.items():
        names = group.split()
        text = " or ".join(
            [", ".join(_short(d) for d in allowed[:-1]), _short(allowed[-1])]
            if len(allowed) > 1
            else [_short(allowed[0])]
        )
        lines.append((", ".join(names), text + (", one dtype for all of them" if len(names) > 1 else "")))
    for name, rule in op.outputs.items():
        assert rule is not None
        lines.append(
            (name, f"{_said(rule)}; {_short(rule.dtype) if rule.dtype else f'the dtype of {rule.of[0]}'}, contiguous")
        )
    for name in op.mutated:
        lines.append((name, "written to in place"))
    if op.max_elements:
        lines.append(("each", f"at most {op.max_elements} elements"))
    width = max(len(left) for left, _ in lines)
    return "\n".join(f"//   {left:<{width}}  {right}" for left, right in lines)


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.").replace("bfloat", "bf").replace("float", "fp")


def _said(rule: Rule) -> str:
    match rule:
        case Same():
            return f"the shape of {rule.of[0]}"
        case Broadcast():
            return f"what {listed(rule.of)} broadcast to"
        case Reduced():
            return f"the shape of {rule.of[0]} with 1 along dimension {rule.dim}"
        case Divided():
            return f"the shape of {rule.of[0]} with 1/{rule.by} of dimension {rule.dim}"
    raise AssertionError(rule)


def _helpers(op: Operator) -> str:
    rules = [rule for rule in op.outputs.values() if rule is not None]
    text = ""
    if op.max_elements is not None:
        is_int_max = op.max_elements == 2**31 - 1
        text += _LIMIT.format(
            limit="std::numeric_limits<int32_t>::max()" if is_int_max else op.max_elements, op=op.name
        )
    if any(isinstance(rule, Broadcast) for rule in rules):
        text += _BROADCAST.format(op=op.name)
    if any(isinstance(rule, (Reduced, Divided)) for rule in rules):
        text += _ALONG.format(op=op.name)
    if any(isinstance(rule, Reduced) for rule in rules):
        text += _REDUCED.format(op=op.name)
    if any(isinstance(rule, Divided) for rule in rules):
        text += _DIVIDED.format(op=op.name)
    if op.dtypes:
        text += _IS_ONE_OF
    return text + _check_function(op)


def _kind(op: Operator, name: str) -> str:
    return str(op.argument(name).real_type)


def _each(op: Operator, name: str, lines: list[str], label: str = "") -> list[str]:
    """``lines`` about ``{t}``, for a tensor, an optional one where it is given, or each one of a list."""
    kind = _kind(op, name)
    if kind == "Tensor":
        return [line.format(t=name) for line in lines]
    if kind == "Optional[Tensor]":
        inner = [f"    {line.format(t=f'{name}.value()')}" for line in lines]
        return [f"if ({name}.has_value() && {name}->defined()) {{", *inner, "}"]
    inner = [f"    {line.format(t='one')}" for line in lines]
    return [f"for (const at::Tensor& one : {name}) {{", *inner, "}"]


def _first(op: Operator, names: Any) -> str:
    """A tensor that is always there; the others are compared with it."""
    found = [name for name in names if _kind(op, name) == "Tensor"]
    if not found:
        raise OphookError(
            f"op export {op.qualname}",
            f"none of {', '.join(names)} is a plain Tensor",
            allowed="one that is always given",
        )
    return found[0]


def _check_function(op: Operator) -> str:
    lines: list[str] = []
    first = _first(op, op.tensors)
    together = "both" if len(op.tensors) == 2 else "all"
    for name in op.tensors:
        if name != first:
            lines += _each(op, name, [
                f'TORCH_CHECK({first}.device() == {{t}}.device(), "[{op.name}] {first} is on ", {first}.device(),',
                f'    ", {name} is on ", {{t}}.device(), "; allowed: {together} on one device; next: move one of them with .to()");',  # noqa: E501
            ])  # fmt: skip
    lines += [
        f'TORCH_CHECK({first}.device().type() == c10::DeviceType::PrivateUse1, "[{op.name}] {first} is on ",',
        f'    {first}.device(), "; allowed: npu");',
    ]
    for group, allowed in op.dtypes.items():
        names = group.split()
        lead = _first(op, names) if any(_kind(op, n) == "Tensor" for n in names) else None
        together = "both" if len(names) == 2 else "all"
        kinds = ", ".join(_SCALAR_TYPES[d] for d in allowed)
        for name in names:
            if lead is not None and name != lead:
                lines += _each(op, name, [
                    f'TORCH_CHECK({lead}.scalar_type() == {{t}}.scalar_type(), "[{op.name}] {lead} has dtype ",',
                    f'    {lead}.scalar_type(), ", {name} has dtype ", {{t}}.scalar_type(),',
                    f'    "; allowed: one dtype for {together}; next: convert one of them with .to()");',
                ])  # fmt: skip
        verb = "has" if len(names) == 1 else "have"
        for name in [lead] if lead is not None else names:
            scalar_types = ", ".join(f"at::k{_SCALAR_TYPES[d]}" for d in allowed)
            lines += _each(op, name, [
                f"TORCH_CHECK(is_one_of({{t}}.scalar_type(), {{{{{scalar_types}}}}}),",
                f'    "[{op.name}] {listed(names)} {verb} dtype ", {{t}}.scalar_type(), "; allowed: {kinds}");',
            ])  # fmt: skip
    if op.shapes:
        lines += _shape_lines(op)
    if op.max_elements is not None:
        for name in op.tensors:
            lines += _each(op, name, [f'check_elements("{name}", {{t}}.sizes());'])
    tensors = ", ".join(p.replace("at::Tensor& ", "const at::Tensor& ", 1) if p.startswith("at::") else p
                        for a, p in zip(op.arguments, parameters(op), strict=True) if a.name in op.tensors)  # fmt: skip
    body = "".join(f"    {line}\n" for line in lines)
    return f"void check_arguments({tensors})\n{{\n{body}}}\n\n"


def _shape_lines(op: Operator) -> list[str]:
    """One condition over all shapes: ranks first, then every name that stands twice."""
    conditions: list[str] = []
    seen: dict[str, str] = {}
    equal: list[str] = []
    for name, pattern in op.shapes.items():
        words = pattern.split()
        dots = "..." in words
        conditions.append(f"{name}.dim() >= {len(words) - 1}" if dots else f"{name}.dim() == {len(words)}")
        before = words.index("...") if dots else len(words)
        for i, word in enumerate(words):
            if word == "...":
                size = f"{name}.sizes().slice({before}, {name}.dim() - {len(words) - 1})"
            else:
                size = f"{name}.size({i if i < before else i - len(words)})"
            if word in seen:
                equal.append(f"{seen[word]} == {size}")
            else:
                seen[word] = size
    shapes = ', "'.join(f', {name} has shape ", {name}.sizes()' for name in op.shapes)[2:]
    first, *others = [*conditions, *equal]
    return [
        f"TORCH_CHECK({first}",
        *(f"    && {condition}" for condition in others[:-1]),
        *([f"    && {others[-1]},"] if others else []),
        f'    "[{op.name}] {shapes},',
        f'    "; allowed: {shapes_allowed(op)}");',
    ]


def _size(op: Operator, rule: Rule) -> str:
    first = rule.of[0]
    match rule:
        case Same():
            return f"at::DimVector({first}.sizes())"
        case Broadcast():
            text, label = f"{first}.sizes()", first
            for name in rule.of[1:]:
                text = f'broadcast_sizes("{label}", {text}, "{name}", {name}.sizes())'
                label += f" and {name}"
            return text
        case Reduced():
            return f'reduced_sizes("{first}", {first}, {rule.dim})'
        case Divided():
            return f'divided_sizes("{first}", {first}, {rule.dim}, {rule.by})'
    raise AssertionError(rule)


def _body(op: Operator) -> str:
    first = _first(op, op.tensors)
    lines = [f"check_arguments({', '.join(op.tensors)});"]
    for name, rule in op.outputs.items():
        assert rule is not None
        lines.append(f"const at::DimVector {name}_size = {_size(op, rule)};")
        if op.max_elements is not None:
            lines.append(f'check_elements("{"the result" if len(op.outputs) == 1 else name}", {name}_size);')
    lines.append(f"const c10::OptionalDeviceGuard guard(at::device_of({first}));")
    for name, rule in op.outputs.items():
        assert rule is not None
        options = f"{rule.of[0]}.options()"
        if rule.dtype is not None:
            options += f".dtype(at::k{_SCALAR_TYPES[rule.dtype]})"
        lines.append(f"at::Tensor {name} = at::empty({name}_size, {options});")
    written = [*op.outputs, *op.mutated]
    result = ", ".join(op.outputs)
    if len(op.outputs) > 1:
        result = f"std::make_tuple({result})"
    done = f"return {result};" if result else "return;"
    lines += [
        "// Nothing to compute; operator libraries differ in whether they accept an empty tensor.",
        f"if ({' && '.join(f'{name}.numel() == 0' for name in written)}) {{",
        f"    {done}",
        "}",
    ]
    attributes = []
    for name in op.ge_attributes.values():
        if _kind(op, name) == "str":
            lines.append(f"const std::string {name}_text({name});")
            lines.append(f"char* {name}_chars = const_cast<char*>({name}_text.c_str());")
            attributes.append(f"{name}_chars")
        else:
            attributes.append(name)
    # Strides travel with the aclTensors: the operator takes strided and broadcasting inputs as they are.
    arguments = [*op.tensors, *attributes, *op.outputs]
    lines.append("// Strides travel with the aclTensors: the operator takes strided inputs as they are.")
    lines.append(f"OPHOOK_EXEC_ACLNN({op.aclnn_name}, {', '.join(arguments)});")
    if result:
        lines.append(done)
    return "".join(f"    {line}\n" for line in lines)


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
