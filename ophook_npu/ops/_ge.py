"""torchair's converter of a declared operator: its node in Ascend's graph engine."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from typing import Any

import torch

from ophook_npu.errors import OphookError
from ophook_npu.ops._checks import tensors_of
from ophook_npu.ops.declare import ATTRIBUTE_TYPES, Operator

_PYTHON = {
    "Int": (int,), "Float": (float, int), "Bool": (bool,), "Str": (str,), "DataType": (torch.dtype,),
    "ListInt": (int,), "ListFloat": (float, int), "ListBool": (bool,),
}  # fmt: skip


def register_converter(op: Operator, torchair: Any) -> None:
    """Tell torchair how ``op`` becomes a GE node. Shapes may be dynamic: they come from the prototype's inference.

    Raises:
        OphookError: the declaration names no GE type.
    """
    if op.ge is None:
        raise OphookError(op.qualname, "it has no GE operator type", allowed="ge='SomeType' in its declaration")

    def convert(*args: Any, meta_outputs: Any = None, **kwargs: Any) -> Any:
        from torchair import ge  # older torchair does not load it with the package

        values = op.bind(args, kwargs)
        # A result is written in place where GE's output has the input's name.
        outputs = list(op.mutated) if op.mutated else list(op.outputs)
        node = ge.custom_op(
            op.ge,
            inputs={name: values[name] for name in op.tensors},
            outputs=outputs,
            attrs={attribute: _attribute(op, ge, attribute, values) for attribute in op.ge_attributes},
        )
        if op.mutated:
            from torchair.ge._ge_graph import dont_prune_me

            # To torch it returns one thing, None. torchair finds the arguments' new values by their outputs' names.
            node = node if len(outputs) == 1 else node[0]
            dont_prune_me(node)  # nothing reads it when it is called for its effect only
        return node

    converter = torchair.register_fx_node_ge_converter(op.packet.default)(convert)
    # The name "torchair" is a proxy that may not be usable yet; torchair's own modules are there.
    fx2ge = sys.modules[type(converter).__module__]
    cases = supported_cases(op, sys.modules[fx2ge.Support.__module__])
    if cases:
        fx2ge.declare_supported(cases)(converter)


def supported_cases(op: Operator, declaration: Any) -> list[Any]:
    """What torchair's converters declare for its own tests: the examples, and the first one in every declared dtype.

    Args:
        op: the operator.
        declaration: the module ``torchair._ge_concrete_graph.supported_declaration``.
    """
    types = {
        torch.float32: declaration.F32, torch.float16: declaration.F16, torch.bfloat16: declaration.BF16,
        torch.float64: declaration.F64, torch.int8: declaration.I8, torch.uint8: declaration.U8,
        torch.int16: declaration.I16, torch.int32: declaration.I32, torch.int64: declaration.I64,
        torch.bool: declaration.BOOL, torch.complex64: declaration.C64,
    }  # fmt: skip

    def spec(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [spec(item) for item in value]
        if not isinstance(value, torch.Tensor):
            return value
        if value.dim() and (value.is_floating_point() or not value.numel()):
            return types[value.dtype](*value.shape)
        return declaration.T(value.tolist(), dtype=value.dtype)  # for indices and the like not any number will do

    names = [(a.name, a.kwarg_only) for a in op.arguments]
    cases = []
    try:
        for args in case_arguments(op):
            specs = [(name, keyword, spec(value)) for (name, keyword), value in zip(names, args, strict=False)]
            positional = [value for _, keyword, value in specs if not keyword]
            cases.append(declaration.Support(*positional, **{name: value for name, keyword, value in specs if keyword}))
    except Exception as error:  # the user's function: it must not break the import of torchair
        warnings.warn(f"[{op.name}] examples() raised {type(error).__name__}: {error}", RuntimeWarning, stacklevel=2)
    return cases


def case_arguments(op: Operator) -> Iterator[tuple[Any, ...]]:
    """Sets of arguments: the examples, then the first of them in the dtypes that none of them has."""
    with torch.random.fork_rng(devices=[]):
        examples = list(op.examples())
    yield from examples
    names = [a.name for a in op.arguments]
    for group, allowed in op.dtypes.items():
        members = [names.index(name) for name in group.split()]
        seen = {tensor.dtype for args in examples for i in members if i < len(args) for tensor in tensors_of(args[i])}
        for dtype in allowed if examples else ():
            if dtype not in seen:
                yield tuple(_as(value, dtype) if i in members else value for i, value in enumerate(examples[0]))


def _as(value: Any, dtype: torch.dtype) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().to(dtype)
    return [_as(item, dtype) for item in value] if isinstance(value, (list, tuple)) else value


def attribute_type(op: Operator, attribute: str) -> str:
    return ATTRIBUTE_TYPES[str(op.argument(op.ge_attributes[attribute]).real_type)]


def _attribute(op: Operator, ge: Any, attribute: str, values: dict[str, Any]) -> Any:
    kind, value = attribute_type(op, attribute), values[op.ge_attributes[attribute]]
    items = value if kind.startswith("List") and isinstance(value, (list, tuple)) else [value]
    if not all(isinstance(item, _PYTHON[kind]) for item in items):
        raise RuntimeError(
            f"[{op.name}] GE attribute {attribute} is {type(value).__name__} {value!r}; allowed: {kind}, known when "
            "the graph is compiled; next: pass a constant, or compile with dynamic=False"
        )
    if kind == "Float":
        value = float(value)  # of a Scalar that is a whole number or a bool
    if kind == "DataType":
        from torchair.ge._ge_graph import torch_type_to_ge_type

        value = torch_type_to_ge_type(value)
    return getattr(ge.attr, kind)(value)
