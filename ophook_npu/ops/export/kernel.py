"""The NPU kernel in C++ from a declaration: what depends on it is made here, what is fixed is text."""

from __future__ import annotations

import torch

from ophook_npu.ops._checks import listed
from ophook_npu.ops.declare import Operator
from ophook_npu.ops.export.cpp import SCALAR_TYPES, prototype, require, type_of
from ophook_npu.ops.export.kernel_checks import check_function, first_tensor
from ophook_npu.ops.rules import Broadcast, Divided, Reduced, Rule, Same

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
#include <vector>

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

{conversions}namespace op_api {{
namespace {{

{helpers}}} // namespace

{prototype}
{{
{body}}}

}} // namespace op_api

#undef OPHOOK_EXEC_ACLNN
"""

_RELEASE_FLOATS = """\
// torch_npu gives aclnn no list of floats: what releases one is here, what makes one is below (Floats). Calls find both
// by the arguments' types. Remove them when torch_npu converts at::ArrayRef<double>.
template <>
inline void Release<aclFloatArray*>(aclFloatArray* list)
{
    static const auto destroy = GET_OP_API_FUNC(aclDestroyFloatArray);
    if (destroy != nullptr) {
        destroy(list);
    }
}

"""

_FLOATS = """\
struct Floats {
    explicit Floats(at::ArrayRef<double> list) : values(list.begin(), list.end()) {}
    std::vector<float> values;
};

aclFloatArray* ConvertType(const Floats& list)
{
    static const auto create = GET_OP_API_FUNC(aclCreateFloatArray);
    TORCH_CHECK(create != nullptr, "CANN has no aclCreateFloatArray");
    return create(list.values.data(), list.values.size());
}

[[maybe_unused]] aclFloatArray* ConvertTypeV2(const Floats& list)
{
    return ConvertType(list);
}

// Part of the key under which an executor is kept for the next call: the values, not where they lie.
[[maybe_unused]] void add_param_to_buf(const Floats& list)
{
    const size_t size = list.values.size();
    MEMCPY_TO_BUF(&size, sizeof(size));
    MEMCPY_TO_BUF(list.values.data(), size * sizeof(float));
}

[[maybe_unused]] void add_param_to_buf_v2(const Floats& list)
{
    add_param_to_buf(list);
}

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


def kernel(op: Operator) -> str:
    """The kernel.

    Raises:
        OphookError: there is no aclnn function, a shape has no named rule, or an argument's type has no C++ form.
    """
    require(op)
    return _KERNEL.format(
        signature=op.schema.split("::", 1)[1],
        qualname=op.qualname,
        summary=op.summary or op.name,
        aclnn=op.aclnn_name,
        contract=_contract(op),
        prototype=prototype(op),
        conversions=_RELEASE_FLOATS if _takes_floats(op) else "",
        helpers=_helpers(op),
        body=_body(op),
    )


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


def _takes_floats(op: Operator) -> bool:
    return any(type_of(op, name) == "List[float]" for name in op.ge_attributes.values())


def _helpers(op: Operator) -> str:
    rules = [rule for rule in op.outputs.values() if rule is not None]
    text = _FLOATS if _takes_floats(op) else ""
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
    return text + check_function(op)


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
    first = first_tensor(op, op.tensors)
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
            options += f".dtype(at::k{SCALAR_TYPES[rule.dtype]})"
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
        made, argument = _as_attribute(op, name)
        lines += made
        attributes.append(argument)
    # Strides travel with the aclTensors: the operator takes strided and broadcasting inputs as they are.
    arguments = [*op.tensors, *attributes, *op.outputs]
    lines.append("// Strides travel with the aclTensors: the operator takes strided inputs as they are.")
    lines.append(f"OPHOOK_EXEC_ACLNN({op.aclnn_name}, {', '.join(arguments)});")
    if result:
        lines.append(done)
    return "".join(f"    {line}\n" for line in lines)


def _as_attribute(op: Operator, name: str) -> tuple[list[str], str]:
    """What must stand before the call so that it can take the attribute, and what it takes."""
    match type_of(op, name):
        case "str":
            lines = [
                f"const std::string {name}_text({name});",
                f"char* {name}_chars = const_cast<char*>({name}_text.c_str());",
            ]
            return lines, f"{name}_chars"
        case "List[float]":
            return [f"const Floats {name}_floats({name});"], f"{name}_floats"
        case "number":
            lines = [
                f'TORCH_CHECK(!{name}.isComplex(), "[{op.name}] {name} is ", {name}, "; allowed: a real number");',
                f"const double {name}_value = {name}.toDouble();",
            ]
            return lines, f"{name}_value"
    return [], name
