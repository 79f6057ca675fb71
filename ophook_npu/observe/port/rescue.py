"""What a device refuses is run on the CPU, so that one run of the report finds all that would stop the program."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._pytree import tree_map

_SIGNS = ("[simulated Ascend]", "ERR0", "EZ", "aclnn", "call acl", "not support")
_OWN = "is not implemented by the simulator"
_OTHER = ("not simulated", "does not simulate", "not in libopapi.so")


def is_refusal(error: BaseException) -> bool:
    """Whether the device, or torch_npu for it, refused; other errors are the program's."""
    text = str(error)
    return any(sign in text for sign in _SIGNS)


def is_simulator(text: str) -> bool:
    """Whether it was the simulator's own limit, which says nothing about a device."""
    return _OWN in text or any(sign in text for sign in _OTHER)


def mixes(args: Any, kwargs: Any) -> bool:
    """Whether float64 and float32 meet in a call: torch_npu gave one of them, where the program asked for float64."""
    return {torch.float32, torch.float64} <= {one.dtype for one in _tensors(args, kwargs) if one.dim() > 0}


def apart(args: Any, kwargs: Any) -> bool:
    """Whether some tensors lie in host memory and some on the device."""
    return len({one.is_cpu for one in _tensors(args, kwargs) if one.dim() > 0}) > 1


class _Narrow(torch.autograd.Function):
    """float64 as float32, whose gradient is float64 again: torch_npu's own cast would leave it in float32."""

    @staticmethod
    def forward(ctx: Any, wide: torch.Tensor) -> torch.Tensor:
        return wide.to(torch.float32)

    @staticmethod
    def backward(ctx: Any, narrow: torch.Tensor) -> torch.Tensor:
        return _wide(narrow)


def _wide(narrow: torch.Tensor) -> torch.Tensor:
    """In float64, where it is: a device's casts give float32."""
    return narrow.cpu().double().to(narrow.device)


def as_on_device(args: Any, kwargs: Any) -> Any:
    """The arguments as torch_npu would have made them: on the device, and in float32 where they are in float64."""
    device = next(one.device for one in _tensors(args, kwargs) if not one.is_cpu)

    narrow: Any = _Narrow.apply

    def made(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        there = value.to(device)
        return narrow(there) if value.dtype is torch.float64 else there

    return tree_map(made, (args, kwargs))


def on_cpu(op: Any, args: Any, kwargs: Any, error: BaseException) -> Any:
    """The result of ``op`` by the CPU, on the device that its arguments are on, or that it was asked for on. Where
    float64 and float32 meet, in float64. Where the CPU has no kernel (``matmul_backward``, which is torch_npu's
    only), by the device, in float32.

    Raises:
        BaseException: ``error``, if none of them can do it.
    """
    named = [value for value in kwargs.values() if isinstance(value, torch.device)]
    devices = [t.device for t in _tensors(args, kwargs)] + named
    device = next((one for one in devices if one.type != "cpu"), None)
    widens = mixes(args, kwargs)
    moved: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def down(value: Any) -> Any:
        if isinstance(value, torch.device):
            return torch.device("cpu")
        if isinstance(value, torch.Tensor) and value.device.type != "cpu":
            if id(value) not in moved:
                copy = value.cpu()
                moved[id(value)] = value, copy.double() if widens and copy.dtype is torch.float32 else copy
            return moved[id(value)][1]
        return value

    try:
        result = op(*tree_map(down, args), **tree_map(down, kwargs))
    except NotImplementedError:
        if device is None or torch.float64 not in {one.dtype for one in _tensors(args, kwargs)}:
            raise error from None
        args, kwargs = as_on_device(args, kwargs)
        try:
            result = op(*args, **kwargs)
        except Exception:
            raise error from None
        return tree_map(
            lambda one: _wide(one) if isinstance(one, torch.Tensor) and one.is_floating_point() else one, result
        )
    except Exception:
        raise error from None
    back = {id(copy): given for given, copy in moved.values()}
    if getattr(getattr(op, "_schema", None), "is_mutable", False):
        for given, copy in moved.values():
            if given.shape == copy.shape:
                given.copy_(copy)

    def up(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return back.get(id(value), value if device is None else value.to(device))
        return value

    return tree_map(up, result)


def _tensors(args: Any, kwargs: Any) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []
    tree_map(lambda v: found.append(v) if isinstance(v, torch.Tensor) else None, (args, kwargs))
    return found
