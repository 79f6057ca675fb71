"""What a check can say, and what all checks need: arguments to run with, and comparison."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch

from ophook_npu.ops.declare import Operator
from ophook_npu.plural import counted


@dataclass(frozen=True)
class Outcome:
    check: str
    status: Literal["pass", "fail", "not here"]
    reason: str


class Failure(Exception):
    """What disagrees with what, and for which arguments."""


class NotHere(Exception):
    """The check needs something that is not on this machine, or that the operator does not have."""


def map_tensors(value: Any, function: Callable[[torch.Tensor], Any]) -> Any:
    if isinstance(value, torch.Tensor):
        return function(value)
    if isinstance(value, (list, tuple)):
        return type(value)(map_tensors(item, function) for item in value)
    if isinstance(value, dict):
        return {key: map_tensors(item, function) for key, item in value.items()}
    return value


def copied(args: Sequence[Any], device: str = "cpu") -> tuple[Any, ...]:
    """Copies without history, of the same strides on the CPU."""

    def copy(tensor: torch.Tensor) -> torch.Tensor:
        tensor = tensor.detach()
        return tensor.clone(memory_format=torch.preserve_format) if device == "cpu" else tensor.to(device)

    return tuple(map_tensors(list(args), copy))


def call(op: Operator, function: Callable[..., Any], args: Sequence[Any]) -> Any:
    """Calls with the arguments in the schema's order; those that it wants by keyword, by keyword."""
    names = [a.name for a in op.arguments]
    keywords = {a.name for a in op.arguments if a.kwarg_only}
    given = list(zip(names[: len(args)], args, strict=True))  # Dynamo of torch 2.8 takes equal lengths only
    return function(
        *(value for name, value in given if name not in keywords),
        **{name: value for name, value in given if name in keywords},
    )


def results(value: Any) -> list[torch.Tensor]:
    if value is None:
        return []
    return [value] if isinstance(value, torch.Tensor) else list(value)


def shown(args: Sequence[Any]) -> str:
    """``float32[2, 3], float32[3], 1e-06``"""

    def one(value: Any) -> str:
        if isinstance(value, torch.Tensor):
            return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
        if isinstance(value, (list, tuple)):
            return "[" + ", ".join(map(one, value)) + "]"
        return repr(value)

    return ", ".join(map(one, args))


def compare(op: Operator, what: str, got: Any, expected: Any, args: Sequence[Any], *, tolerance: float = 1.0) -> None:
    """Raises Failure where results differ in number, shape, dtype, or value beyond what the dtype rounds to."""
    ours, theirs = results(got), results(expected)
    if len(ours) != len(theirs):
        raise Failure(f"{what} gives {counted(len(ours), 'result')} instead of {len(theirs)} for ({shown(args)})")
    names = list(op.outputs) if len(op.outputs) == len(theirs) else [f"result {i}" for i in range(len(theirs))]
    for name, one, other in zip(names, ours, theirs, strict=True):
        one, other = one.detach().cpu(), other.detach().cpu()
        if one.shape != other.shape or one.dtype != other.dtype:
            raise Failure(f"{what} gives {name} as {shown([one])} instead of {shown([other])} for ({shown(args)})")
        rtol, atol = _tolerance(one.dtype)
        try:
            torch.testing.assert_close(one, other, rtol=rtol * tolerance, atol=atol * tolerance, equal_nan=True)
        except AssertionError as error:
            reason = " ".join(str(error).split())
            raise Failure(f"{what} gives another {name} for ({shown(args)}): {reason}") from None


def _tolerance(dtype: torch.dtype) -> tuple[float, float]:
    if not dtype.is_floating_point:
        return 0.0, 0.0
    eps = torch.finfo(dtype).eps
    return 16 * eps, 16 * eps
