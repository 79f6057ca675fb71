"""C++ names and types of a declaration, and what of it has a form in C++."""

from __future__ import annotations

import torch

from ophook_npu.errors import OphookError
from ophook_npu.ops.declare import Operator, written

SCALAR_TYPES = {
    torch.float16: "Half", torch.float32: "Float", torch.bfloat16: "BFloat16", torch.float64: "Double",
    torch.int8: "Char", torch.uint8: "Byte", torch.int16: "Short", torch.int32: "Int", torch.int64: "Long",
    torch.bool: "Bool",
}  # fmt: skip
# Not bool[]: torch's dispatcher calls no C++ kernel with one.
_PARAMETERS = {
    "Tensor": "const at::Tensor& {}", "Optional[Tensor]": "const c10::optional<at::Tensor>& {}",
    "List[Tensor]": "at::TensorList {}", "int": "int64_t {}", "float": "double {}", "bool": "bool {}",
    "str": "c10::string_view {}", "number": "const at::Scalar& {}", "ScalarType": "at::ScalarType {}",
    "List[int]": "at::IntArrayRef {}", "List[float]": "at::ArrayRef<double> {}",
}  # fmt: skip


def kernel_file(op: Operator) -> str:
    """The kernel's file name, as op-plugin names its files."""
    return f"{op.ge}KernelNpuApi.cpp"


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


def require(op: Operator) -> None:
    """Raises OphookError where the declaration has something that has no form in C++."""
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
            raise OphookError(
                where, f"argument {a.name} is {written(kind)}", allowed=", ".join(map(written, _PARAMETERS))
            )


def type_of(op: Operator, name: str) -> str:
    return str(op.argument(name).real_type)
