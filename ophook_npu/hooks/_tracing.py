"""Whether a tracer records this thread's calls, and tensors that are no plain ones."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import torch
from torch._C import _TorchDispatchModeKey as Key
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils import _pytree as pytree

_FUNCTIONS = (types.FunctionType, types.MethodType, functools.partial, torch.nn.Module)
_PROXY, _FUNCTIONAL, _FAKE = Key.PROXY, Key.FUNCTIONAL, Key.FAKE
_mode = torch._C._get_dispatch_mode


def is_traced() -> bool:
    """Whether ``make_fx``, ``torch.export`` or AOTAutograd traces here: below a hook's mode, so what a hook calls is
    traced, too."""
    # Spelled out: observers ask for each call.
    return _mode(_PROXY) is not None or _mode(_FUNCTIONAL) is not None or _mode(_FAKE) is not None


def entering(mode: Any, values: Any) -> Any:
    """What a higher-order operator is given (``cond``, ``flex_attention``), with functions that run under ``mode``,
    which torch takes off for the operator itself. A tracer needs the functions as they are."""

    def inside(function: Any) -> Callable[..., Any]:
        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            with mode:
                return function(*args, **kwargs)

        return run

    return values if is_traced() else pytree.tree_map_only(_FUNCTIONS, inside, values)


def is_ragged(tensor: torch.Tensor) -> bool:
    """Whether it is a nested tensor of the strided layout, as the fast path of nn.TransformerEncoder makes: it raises
    where it is asked for a shape or strides."""
    return tensor.is_nested and tensor.layout is torch.strided


def has_nested(value: Any) -> bool:
    """Whether an argument is a nested tensor, or has one in its list: composite operators have kernels of their own for
    these, which do not call the operators that they are else made of."""
    many = value if isinstance(value, (list, tuple)) else (value,)
    return any(isinstance(one, torch.Tensor) and one.is_nested for one in many)


def computes_by_itself(tensor: Any) -> bool:
    """Whether the tensor's class runs operators itself, as DTensor does: its memory is that of the tensors in it."""
    own = type(tensor).__torch_dispatch__
    return own is not torch._C._disabled_torch_dispatch_impl and not isinstance(tensor, FakeTensor)
