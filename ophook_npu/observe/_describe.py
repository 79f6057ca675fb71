"""Calls in words and plain data: arguments, signatures, sizes, places in the user's code."""

from __future__ import annotations

import functools
import sysconfig
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.nn.parameter import UninitializedTensorMixin  # type: ignore[attr-defined]

from ophook_npu.hooks import Call, _compat
from ophook_npu.hooks._tracing import is_ragged

# Frames from here are not the user's: what they do is torch's, the interpreter's or this package's business.
_FRAMEWORK = (
    torch.__path__[0],
    __file__.removesuffix("observe/_describe.py"),
    sysconfig.get_path("stdlib") + "/",
    "<frozen ",
)


def brief(value: Any) -> str:
    """``Tensor(device=cpu, dtype=torch.float32, shape=(3, 3), requires_grad=False)``; other values as ``repr``."""
    if isinstance(value, torch.Tensor):
        return (
            f"Tensor(device={value.device}, dtype={value.dtype}, shape={_sizes(value)}, "
            f"requires_grad={value.requires_grad})"
        )
    if isinstance(value, (list, tuple)) and any(isinstance(v, torch.Tensor) for v in value):
        return "[" + ", ".join(map(brief, value)) + "]"
    return repr(value)


def is_shaped(value: Any) -> bool:
    """Whether it is a tensor; those of lazy modules and nested ones, which raise where they are asked for a shape,
    count as none."""
    return isinstance(value, torch.Tensor) and not (isinstance(value, UninitializedTensorMixin) or is_ragged(value))


def _sizes(tensor: torch.Tensor) -> tuple[Any, ...] | None:
    return tuple(tensor.shape) if is_shaped(tensor) else None


def plain(value: Any) -> Any:
    """Like :func:`brief`, as data for JSON."""
    if isinstance(value, torch.Tensor):
        return {
            "device": str(value.device),
            "dtype": str(value.dtype).removeprefix("torch."),
            "shape": [size if isinstance(size, int) else str(size) for size in _sizes(value) or ()],
            "requires_grad": value.requires_grad,
        }
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


def tensors(*values: Any) -> Iterator[torch.Tensor]:
    """The tensors among values and the lists among them."""
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from tensors(*value)


def is_real(tensor: torch.Tensor) -> bool:
    """Whether a tensor has values: not on meta, not a fake or functional tensor of a tracer, not a subclass without,
    not of what is recorded now as a graph of the device, not without its memory, as FSDP leaves parameters, not nested,
    not of a type that is only stored."""
    return (
        type(tensor) in (torch.Tensor, torch.nn.Parameter)
        and not tensor.is_nested
        and tensor.device.type != "meta"
        and has_memory(tensor)
        and (tensor.is_quantized or _is_number(tensor.dtype))
        and not is_recorded(tensor)
    )


def has_memory(tensor: torch.Tensor) -> bool:
    """Whether its elements, if it has any, are somewhere; to read them elsewhere ends the process."""
    if tensor.layout is not torch.strided:
        return True
    try:
        return tensor.data_ptr() != 0 or tensor.numel() == 0 or tensor._is_zerotensor()
    except RuntimeError:  # a wrapper of a tracer
        return False


def is_recorded(tensor: torch.Tensor) -> bool:
    """Whether calls on the tensor's device are recorded now: to read it, or to wait for it, ends the recording."""
    return not tensor.is_cpu and _recording()()


@functools.cache
def _recording() -> Callable[[], bool]:
    return _compat.recording() or (lambda: False)


@functools.cache
def _is_number(dtype: torch.dtype) -> bool:
    """Whether torch reads the values of a type; ``bits8`` and ``uint4`` it only stores."""
    try:
        torch.empty(1, dtype=dtype).to(torch.complex128 if dtype.is_complex else torch.float64)
    except NotImplementedError:
        return False
    return True


def hinted(part: Any) -> Any:
    """A shape, or what holds shapes, with a tracer's examples in place of its variables, which are no keys of a
    dictionary; 0 where it has none."""
    if isinstance(part, torch.SymInt):
        return part if part.node.is_nested_int() else part.node.hint or 0
    return type(part)(map(hinted, part)) if isinstance(part, (torch.Size, tuple)) else part


def is_framework(file: str) -> bool:
    """Whether a frame of this file is torch's, the interpreter's or this package's."""
    return file.startswith(_FRAMEWORK)


def user_stack(call: Call, limit: int | None = None) -> list[traceback.FrameSummary]:
    """The frames of ``call.stack()`` that are the user's, outermost first. ``limit`` keeps the innermost."""
    frames = [f for f in call.stack() if not is_framework(f.filename)]
    return frames[-limit:] if limit else frames


def size(count: float) -> str:
    """Bytes as people read them."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(count) < 1024 or unit == "GiB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    raise AssertionError


def columns(rows: list[list[str]], right: frozenset[int] = frozenset()) -> str:
    """Rows as text in columns; the columns in ``right`` are set flush right."""
    if not rows:
        return ""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
