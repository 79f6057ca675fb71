"""A captured call as JSON and tensors: written from a call, checked when read, turned into Python source.

Captures are made to be exchanged, so :func:`read` believes nothing of one: what it gives holds numbers, tensors,
constants of torch out of a list, and an operator that is registered here and touches no file.
"""

from __future__ import annotations

import dataclasses
import functools
import keyword
import math
import re
from pathlib import Path
from typing import Any

import torch

from ophook_npu import untrusted
from ophook_npu.errors import OphookError
from ophook_npu.plural import counted
from ophook_npu.untrusted import Wrong

FORMAT = 1
_FIELDS = ("format", "op", "args", "kwargs", "result", "phase", "module", "node", "stack", "torch")
_NAME = re.compile(r"([A-Za-z_]\w*)::([A-Za-z_]\w*)(?:\.([A-Za-z_]\w*))?", re.ASCII)
_DEVICE = re.compile(r"[a-z][a-z0-9_]*(:[0-9]{1,4})?", re.ASCII)
_DEPTH = 8  # of lists in lists: no schema of torch has more than three
_KINDS = (torch.dtype, torch.layout, torch.memory_format)
_CONSTANTS = {str(value): value for value in vars(torch).values() if isinstance(value, _KINDS)}
# Operators that open a file by the name they are given, or load code, whatever their arguments are called.
_TOUCHING = frozenset({"aten::from_file", "debugprims::load_tensor"})
_FILES = ("file", "filename", "path")
_SIZES = ("size", "sizes", "shape", "output_size", "repeats")
_MOST = 1 << 30  # bytes that a result may have anyway, and times the bytes of the capture itself
_TIMES = 64


@dataclasses.dataclass(frozen=True)
class Captured:
    """A capture that was checked: ``record`` as in the file, and what it stands for."""

    record: dict[str, Any]
    operator: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    expected: Any


def encode(value: Any, stored: dict[str, torch.Tensor]) -> Any:
    """``value`` as plain data; its tensors go to ``stored``. TypeError where it has no plain form."""
    if isinstance(value, torch.Tensor):
        if not _is_stored(value.dtype):
            raise TypeError(f"safetensors stores no {str(value.dtype).removeprefix('torch.')}")
        name = f"t{len(stored)}"
        plain = value.detach().resolve_conj().resolve_neg()
        # Dense memory in the order of the strides, so that the layout comes back with the values.
        strides = plain.stride()
        order = sorted(range(plain.dim()), key=lambda d: (-strides[d], d))
        stored[name] = plain.permute(order).contiguous().cpu().clone()
        return {"tensor": name, "order": order, "device": str(value.device)}
    if isinstance(value, (list, tuple)):
        return [encode(v, stored) for v in value]
    if isinstance(value, (*_KINDS, torch.device)):
        return {"torch": str(value)}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"an argument of type {type(value).__name__} has no plain form")


def read(path: Path, device: torch.device) -> Captured:
    """The capture in ``path`` and its tensors, on ``device``; ``expected`` stays on the CPU.

    Raises:
        OphookError: no capture of this format, an operator that is not registered here or opens files, or results of
            a size that has nothing to do with the capture's.
    """
    record = untrusted.json_file(path, "replay", todo="write one with ophook-npu capture")
    if isinstance(record, dict) and record.get("format") != FORMAT:
        raise OphookError("replay", f"{path} has format {record.get('format')!r:.80}", allowed=f"format {FORMAT}")
    stored = _load(path.with_suffix(".safetensors"))
    try:
        _check(record, stored)
        operator = _operator(record["op"])
        args = tuple(_decode(value, stored, device) for value in record["args"])
        kwargs = {name: _decode(value, stored, device) for name, value in record["kwargs"].items()}
        _check_arguments(operator, args, kwargs)
        _check_size(operator, args, kwargs, sum(t.numel() * t.element_size() for t in stored.values()))
    except Wrong as error:
        raise OphookError("replay", f"{path}: {error}", todo="write one with ophook-npu capture") from error
    expected = _decode(record["result"], stored, torch.device("cpu"))
    return Captured(record, operator, args, kwargs, expected)


@functools.cache
def _is_stored(dtype: torch.dtype) -> bool:
    try:
        safetensors().save({"none": torch.empty(0, dtype=dtype)})
    except KeyError:
        return False
    return True


def safetensors() -> Any:
    try:
        import safetensors.torch
    except ImportError as error:
        raise OphookError("capture", "safetensors is not installed", todo="pip install safetensors") from error
    return safetensors.torch


def _load(path: Path) -> dict[str, torch.Tensor]:
    # Of a regular file the format holds no more than there are bytes: its reader compares shapes, offsets and length.
    if not path.is_file():
        raise OphookError("replay", f"{path} is missing", todo="a capture is two files: bring both")
    try:
        found: dict[str, torch.Tensor] = safetensors().load_file(path, device="cpu")
        return found
    except OphookError:
        raise
    except Exception as error:  # safetensors_rust's own type, and OSError and ValueError
        raise OphookError("replay", f"{path} holds no tensors: {error}", todo="capture the call again") from error


def _check(record: Any, stored: dict[str, torch.Tensor]) -> None:
    untrusted.fields(record, "the capture", _FIELDS)
    if not _NAME.fullmatch(untrusted.text(record["op"], "op")):
        untrusted.refuse("op", record["op"], "an operator's name, such as aten::add.Tensor")
    for index, value in enumerate(untrusted.items(record["args"], "args", 1000)):
        _check_value(value, f"args[{index}]", stored)
    for name, value in untrusted.fields(record["kwargs"], "kwargs", (), record["kwargs"]).items():
        _check_value(value, f"kwargs.{untrusted.identifier(name, 'a name in kwargs')}", stored)
    _check_value(record["result"], "result", stored)
    untrusted.one_of(record["phase"], "phase", ("forward", "backward"))
    for name in ("module", "node"):
        if record[name] is not None:
            untrusted.text(record[name], name)
    for frame in untrusted.items(record["stack"], "stack", 10_000):
        untrusted.text(frame, "a frame of the stack")
    untrusted.text(record["torch"], "torch", 256)


def _check_value(value: Any, name: str, stored: dict[str, torch.Tensor], depth: int = 0) -> None:
    """That :func:`_decode` and :func:`source` can take ``value``."""
    if depth > _DEPTH:
        raise Wrong(f"{name} is nested too deep")
    if isinstance(value, list):
        for part in untrusted.items(value, name):
            _check_value(part, name, stored, depth + 1)
    elif isinstance(value, str):
        untrusted.text(value, name)
    elif isinstance(value, float):
        if not math.isfinite(value):
            untrusted.refuse(name, value, 'a finite number; others are written {"float": "nan"}')
    elif isinstance(value, dict):
        _check_special(value, name, stored)
    elif value is not None and not isinstance(value, bool):
        untrusted.integer(value, name)


def _check_special(value: dict[str, Any], name: str, stored: dict[str, torch.Tensor]) -> None:
    if "tensor" in value:
        untrusted.fields(value, name, ("tensor", "order", "device"))
        tensor = stored.get(untrusted.text(value["tensor"], f"{name}.tensor", 256))
        if tensor is None:
            untrusted.refuse(f"{name}.tensor", value["tensor"], "a tensor in the safetensors file")
        order = [untrusted.integer(d, f"{name}.order", 0, 63) for d in untrusted.items(value["order"], "order", 64)]
        if sorted(order) != list(range(tensor.dim())):
            raise Wrong(f"{name}.order is no order of the {tensor.dim()} dimensions")
        _check_device(value["device"], f"{name}.device")
    elif "float" in value:
        untrusted.one_of(untrusted.fields(value, name, ("float",))["float"], name, ("nan", "inf", "-inf"))
    elif "complex" in value:
        parts = untrusted.items(untrusted.fields(value, name, ("complex",))["complex"], name, 2)
        if [untrusted.number(part, name) for part in parts] == [] or len(parts) != 2:
            raise Wrong(f"{name} is a complex number of {counted(len(parts), 'part')}")
    else:
        text = untrusted.text(untrusted.fields(value, name, ("torch",))["torch"], name, 64)
        if text not in _CONSTANTS:
            _check_device(text, name)


def _check_device(value: Any, name: str) -> None:
    if not isinstance(value, str) or not _DEVICE.fullmatch(value):
        untrusted.refuse(name, value, "a dtype, layout or memory format of this torch, or a device such as npu:0")


def _decode(value: Any, stored: dict[str, torch.Tensor], device: torch.device) -> Any:
    if isinstance(value, list):
        return [_decode(v, stored, device) for v in value]
    if not isinstance(value, dict):
        return value
    if "tensor" in value:
        return stored[value["tensor"]].to(device).permute(_back(value["order"]))
    if "float" in value:
        return float(value["float"])
    if "complex" in value:
        return complex(*value["complex"])
    # A device among the arguments says where to make something: where the replay runs.
    return _CONSTANTS.get(value["torch"], device)


def _back(order: list[int]) -> list[int]:
    return [order.index(d) for d in range(len(order))]


# ---- the operator ----------------------------------------------------------------------------------------------------


def _operator(name: str) -> Any:
    from ophook_npu.hooks import targets

    # TorchScript has operators of its own (aten::save writes a file), which the dispatcher does not list.
    if name.removesuffix(".default") not in targets.all_names():
        near = "import what registers it first, or check its name"
        raise OphookError(f"replay {name}", "no such operator is registered", todo=near)
    operator = targets.resolve(name if "." in name else name + ".default").ops[0]
    if name.split(".")[0] in _TOUCHING or any(a.name in _FILES for a in operator._schema.arguments):
        raise Wrong(f"op is {name!r}, which opens a file by name: it is not run for others")
    return operator


def _check_arguments(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Against the operator's schema: torch ends the process for some integers in the place of a dtype."""
    arguments = operator._schema.arguments
    by_name = {argument.name: argument for argument in arguments}
    if len(args) > len(arguments):
        raise Wrong(f"{counted(len(args), 'argument')}, and {operator} takes {len(arguments)}")
    for name in kwargs:
        if name not in by_name:
            untrusted.refuse("a name in kwargs", name, f"an argument of {operator}")
    for name, value in [*zip(by_name, args, strict=False), *kwargs.items()]:
        kind = str(by_name[name].real_type)
        if not _fits(value, kind):
            untrusted.refuse(name, value, kind)


_NUMBERS = (bool, int, float, complex)
_TYPES: dict[str, tuple[type, ...]] = {
    "Tensor": (torch.Tensor, *_NUMBERS), "number": (torch.Tensor, *_NUMBERS), "int": (int,), "float": (int, float),
    "bool": (bool,), "str": (str,), "ScalarType": (torch.dtype,), "Layout": (torch.layout,),
    "MemoryFormat": (torch.memory_format,), "Device": (torch.device,),
}  # fmt: skip


def _fits(value: Any, kind: str) -> bool:
    if kind.startswith("Optional["):
        return value is None or _fits(value, kind[9:-1])
    if kind.startswith("List["):
        return all(_fits(v, kind[5:-1]) for v in value) if isinstance(value, list) else _fits(value, kind[5:-1])
    return isinstance(value, _TYPES.get(kind, ()))


def _check_size(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any], held: int) -> None:
    """A few bytes can ask for a result that fills the machine. What torch works out without memory is looked at."""
    names = [argument.name for argument in operator._schema.arguments]
    for name, value in [*zip(names, args, strict=False), *kwargs.items()]:
        if name in _SIZES and isinstance(value, list) and all(type(v) is int for v in value):
            _check_bytes(f"{name} asks for {value!s:.80}, so", math.prod(map(abs, value)), held)
    for shape, count in _result_sizes(operator, args, kwargs):
        _check_bytes(f"a result of shape {shape!s:.80} would have", count, held)


def _check_bytes(what: str, count: int, held: int) -> None:
    if count > max(_MOST, _TIMES * held):
        raise Wrong(f"{what} {count} bytes or more, and the capture holds {held}")


def _result_sizes(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[tuple[tuple[int, ...], int]]:
    """Shape and bytes of each result, as far as torch knows them without running the operator."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.utils import _pytree as pytree

    try:
        with FakeTensorMode() as mode:
            fake_args, fake_kwargs = pytree.tree_map_only(torch.Tensor, mode.from_tensor, (args, kwargs))
            results = pytree.tree_leaves(operator(*fake_args, **fake_kwargs))
    except (RuntimeError, NotImplementedError, TypeError, ValueError, IndexError, AssertionError):
        return []  # no shapes without data, or arguments that it will refuse when it runs
    found = [t for t in results if isinstance(t, torch.Tensor)]
    return [(tuple(map(int, t.shape)), math.prod(map(int, t.shape)) * t.element_size()) for t in found]


# ---- Python ----------------------------------------------------------------------------------------------------------


def source(value: Any) -> str:
    """Python that makes what a checked part of a record stands for, given the tensors as ``t`` and ``DEVICE``."""
    if isinstance(value, list):
        return "[" + ", ".join(map(source, value)) + "]"
    if not isinstance(value, dict):
        return repr(value)
    if "tensor" in value:
        back = _back(value["order"])
        return f"t[{value['tensor']!r}]" + ("" if back == sorted(back) else f".permute({back})")
    if "float" in value:
        return f"float({value['float']!r})"
    if "complex" in value:
        return f"complex({', '.join(f'float({str(float(part))!r})' for part in value['complex'])})"
    return value["torch"] if value["torch"] in _CONSTANTS else "torch.device(DEVICE)"


def call_source(record: dict[str, Any]) -> str:
    """Python that calls the operator of a checked record."""
    match = _NAME.fullmatch(record["op"])
    assert match is not None
    called = "torch.ops"
    for part in (match[1], match[2], match[3] or "default"):
        called = f"getattr({called}, {part!r})" if keyword.iskeyword(part) else f"{called}.{part}"
    given = [source(value) for value in record["args"]]
    given += [f"{name}={source(v)}" for name, v in record["kwargs"].items() if not keyword.iskeyword(name)]
    # torch's schemas know arguments called `from`.
    given += [f"**{{{name!r}: {source(v)}}}" for name, v in record["kwargs"].items() if keyword.iskeyword(name)]
    return f"{called}({', '.join(given)})"


def base_name(record: dict[str, Any]) -> str:
    """The operator's name without namespace and overload."""
    match = _NAME.fullmatch(record["op"])
    assert match is not None
    return match[2].strip("_") or "operator"
