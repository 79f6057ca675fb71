"""Calls in words and plain data: arguments, signatures, sizes, places in the user's code."""

from __future__ import annotations

import sysconfig
import traceback
from collections.abc import Iterator
from typing import Any

import torch

from ophook_npu.hooks import Call

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
            f"Tensor(device={value.device}, dtype={value.dtype}, shape={tuple(value.shape)}, "
            f"requires_grad={value.requires_grad})"
        )
    if isinstance(value, (list, tuple)) and any(isinstance(v, torch.Tensor) for v in value):
        return "[" + ", ".join(map(brief, value)) + "]"
    return repr(value)


def plain(value: Any) -> Any:
    """Like :func:`brief`, as data for JSON."""
    if isinstance(value, torch.Tensor):
        return {
            "device": str(value.device),
            "dtype": str(value.dtype).removeprefix("torch."),
            "shape": list(value.shape),
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
    """Whether a tensor has values: not on meta, not a fake or functional tensor of a tracer, not a subclass without."""
    return type(tensor) in (torch.Tensor, torch.nn.Parameter) and tensor.device.type != "meta"


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
