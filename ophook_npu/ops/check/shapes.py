"""The fake implementation against the real one, over arguments made from the examples; and the table of dtypes."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from ophook_npu.ops.check.outcome import Failure, call, copied, map_tensors, results, shown
from ophook_npu.ops.declare import Operator
from ophook_npu.plural import counted

_LARGEST = 1 << 16


def fake(op: Operator) -> str:
    """Same shapes, dtypes and strides; and what one refuses the other refuses."""
    agreed = refused = 0
    for args in variants(op):
        plain = copied(args)
        with FakeTensorMode() as mode:
            pretended: Any
            try:
                given = [map_tensors(a, mode.from_tensor) for a in plain]
                pretended = results(call(op, op.packet, given))
            except Exception as error:
                pretended = error
        real: Any
        try:
            real = results(call(op, op.packet, copied(args)))
        except Exception as error:
            real = error
        _agree(op, args, pretended, real)
        if isinstance(real, Exception):
            refused += 1
        else:
            agreed += 1
    return f"agree for {counted(agreed, 'set of arguments', 'sets of arguments')}, both refuse {refused}"


def _agree(op: Operator, args: Sequence[Any], pretended: Any, real: Any) -> None:
    if isinstance(real, Exception) and isinstance(pretended, Exception):
        return
    if isinstance(pretended, Exception):
        raise Failure(f"fake refuses ({shown(args)}), which runs: {pretended}")
    if isinstance(real, Exception):
        if isinstance(real, (IndexError, ValueError)):
            return  # for values, which a fake tensor does not have
        raise Failure(f"fake accepts ({shown(args)}), which raises: {real}")
    for name, one, other in zip(op.outputs, pretended, real, strict=True):
        if one.shape != other.shape or one.dtype != other.dtype:
            raise Failure(f"fake gives {name} as {shown([one])}, the kernel {shown([other])}, for ({shown(args)})")
        if other.numel() > 1 and one.stride() != other.stride():
            raise Failure(
                f"fake gives {name} strides {list(one.stride())}, the kernel {list(other.stride())}, "
                f"for ({shown(args)})"
            )


def variants(op: Operator) -> Iterator[tuple[Any, ...]]:
    """The examples; and each with other sizes everywhere at once, with one size changed, and with other strides."""
    for args in op.examples():
        plain = copied(args)
        if sum(t.numel() for t in plain if isinstance(t, torch.Tensor)) > _LARGEST:
            yield plain
            continue
        yield plain
        yield tuple(map_tensors(list(plain), _strided))
        sizes = sorted({s for t in plain if isinstance(t, torch.Tensor) for s in t.shape})
        for size in sizes:
            for other in {0, 1, 2 * size, size + 1} - {size}:
                yield tuple(map_tensors(list(plain), functools.partial(_resized, size=size, other=other)))
        for i, value in enumerate(plain):
            if not isinstance(value, torch.Tensor):
                continue
            for dim in range(value.dim()):
                for other in {0, 1, value.shape[dim] + 1} - {value.shape[dim]}:
                    shape = [*value.shape[:dim], other, *value.shape[dim + 1 :]]
                    yield (*plain[:i], _filled(value, shape), *plain[i + 1 :])
            yield (*plain[:i], _filled(value, [2, *value.shape]), *plain[i + 1 :])
            if value.dim():
                yield (*plain[:i], _filled(value, []), *plain[i + 1 :])


def _strided(tensor: torch.Tensor) -> torch.Tensor:
    if not tensor.dim():
        return tensor
    return torch.stack([tensor, tensor], -1)[..., 0]


def _resized(tensor: torch.Tensor, size: int, other: int) -> torch.Tensor:
    return _filled(tensor, [other if s == size else s for s in tensor.shape])


def _filled(tensor: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
    if tensor.dtype.is_floating_point:
        return torch.randn(list(shape)).to(tensor.dtype)
    low = int(tensor.min()) if tensor.numel() else 0
    # Counting up from the least: indices stay distinct.
    count = torch.Size(shape).numel()
    return (torch.arange(count) % 100 + low).to(tensor.dtype).reshape(list(shape))


def dtypes(op: Operator) -> str:
    """Every dtype declared runs; every other is refused, by the operator's name."""
    if not op.dtypes:
        return "any dtype: none is declared"
    told = []
    every = [torch.float16, torch.float32, torch.bfloat16, torch.float64, torch.int8, torch.uint8, torch.int16,
             torch.int32, torch.int64, torch.bool]  # fmt: skip
    for group, allowed in op.dtypes.items():
        names = group.split()
        for dtype in every:
            args = [
                _cast(value, dtype) if a.name in names else value
                for a, value in zip(op.arguments, copied(op.examples()[0]), strict=False)
            ]
            try:
                call(op, op.packet, args)
            except Exception as error:
                if dtype in allowed:
                    raise Failure(f"{group} may have dtype {dtype}, which raises: {error}") from error
                if f"[{op.name}]" not in str(error):
                    raise Failure(
                        f"dtype {dtype} of {group} is refused without the operator's name: {error}"
                    ) from error
            else:
                if dtype not in allowed:
                    raise Failure(f"{group} runs with dtype {dtype}, which is not declared")
        told.append(f"{group}: {', '.join(str(d).removeprefix('torch.') for d in allowed)}")
    return "; ".join(told)


def _cast(value: Any, dtype: torch.dtype) -> Any:
    return map_tensors(value, lambda t: t.to(dtype))
