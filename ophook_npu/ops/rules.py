"""Shape rules by name: one statement from which the fake implementation, the C++ kernel and GE's inference are made.

A rule tells one result's shape and dtype from the arguments. What no named rule says is a Python function
(``Operator(fake=…)``): such an operator runs everywhere, but there is no C++ to export for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from ophook_npu.errors import OphookError
from ophook_npu.plural import counted


@dataclass(frozen=True)
class Rule:
    """``of``: the arguments that the shape is read from; the result has the first one's dtype and device, or
    ``dtype``."""

    of: tuple[str, ...]
    dtype: torch.dtype | None = None
    # Names in messages and exported comments.
    says: ClassVar[str] = ""

    def shape(self, operator: str, values: Mapping[str, Any]) -> Any:
        """The result's shape, symbolic sizes included. RuntimeError: the arguments have none together."""
        raise NotImplementedError

    def numbers(self) -> tuple[str, ...]:
        """The arguments other than tensors that the shape depends on."""
        return ()


@dataclass(frozen=True)
class Same(Rule):
    def shape(self, operator: str, values: Mapping[str, Any]) -> Any:
        return values[self.of[0]].shape


@dataclass(frozen=True)
class Broadcast(Rule):
    def shape(self, operator: str, values: Mapping[str, Any]) -> Any:
        shapes = [values[name].shape for name in self.of]
        if all(shape == shapes[0] for shape in shapes[1:]):
            return shapes[0]
        try:
            return torch.broadcast_shapes(*shapes)
        except RuntimeError:
            parts = ", ".join(f"{name} has shape {list(shape)}" for name, shape in zip(self.of, shapes, strict=True))
            raise RuntimeError(
                f"[{operator}] {parts}, which do not broadcast; allowed: equal sizes, or one of them 1"
            ) from None


@dataclass(frozen=True)
class _AlongDim(Rule):
    dim: int | str = -1  # a number, or the argument that holds it

    def numbers(self) -> tuple[str, ...]:
        return (self.dim,) if isinstance(self.dim, str) else ()

    def _at(self, operator: str, values: Mapping[str, Any]) -> tuple[list[Any], int]:
        shape = list(values[self.of[0]].shape)
        dim = values[self.dim] if isinstance(self.dim, str) else self.dim
        if not -len(shape) <= dim < len(shape):
            raise RuntimeError(
                f"[{operator}] {self.of[0]} has {counted(len(shape), 'dimension')}, there is no dimension {dim}; "
                + (f"allowed: {-len(shape)} to {len(shape) - 1}" if shape else "allowed: at least one dimension")
            )
        return shape, dim % len(shape)


@dataclass(frozen=True)
class Reduced(_AlongDim):
    def shape(self, operator: str, values: Mapping[str, Any]) -> Any:
        shape, dim = self._at(operator, values)
        shape[dim] = 1
        return shape


@dataclass(frozen=True)
class Divided(_AlongDim):
    by: int = 2

    def shape(self, operator: str, values: Mapping[str, Any]) -> Any:
        shape, dim = self._at(operator, values)
        if shape[dim] % self.by != 0:
            said = values[self.dim] if isinstance(self.dim, str) else self.dim
            raise RuntimeError(
                f"[{operator}] {self.of[0]} has {shape[dim]} elements along dimension {said}; "
                f"allowed: a multiple of {self.by}"
            )
        shape[dim] = shape[dim] // self.by
        return shape


def same_as(argument: str, *, dtype: torch.dtype | None = None) -> Rule:
    """The argument's shape."""
    return Same((argument,), dtype)


def broadcast(*arguments: str, dtype: torch.dtype | None = None) -> Rule:
    """What the arguments' shapes broadcast to."""
    if len(arguments) < 2:
        raise OphookError("broadcast", f"got {counted(len(arguments), 'argument')}", allowed="two or more names")
    return Broadcast(arguments, dtype)


def reduced(argument: str, dim: int | str = -1, *, dtype: torch.dtype | None = None) -> Rule:
    """The argument's shape with extent 1 along ``dim``, a number or the name of an int argument."""
    return Reduced((argument,), dtype, dim)


def divided(argument: str, by: int, dim: int | str = -1, *, dtype: torch.dtype | None = None) -> Rule:
    """The argument's shape with 1 / ``by`` of its extent along ``dim``, a number or the name of an int argument."""
    if by < 2:
        raise OphookError("divided", f"by={by}", allowed="2 or more")
    return Divided((argument,), dtype, dim, by)
