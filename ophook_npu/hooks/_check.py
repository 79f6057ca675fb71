"""Is what a replacement returned what the operator's schema and its meta kernel promise?"""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch._ops import OpOverload
from torch.utils import _pytree as pytree

from ophook_npu.errors import OphookError
from ophook_npu.hooks._tracing import computes_by_itself, is_ragged
from ophook_npu.plural import counted


@dataclass(frozen=True)
class Promise:
    """What an operator returns for arguments of given shapes, dtypes and devices.

    Attributes:
        results: (shape, dtype, device) for each result, with ``None`` for what cannot be known beforehand.
        shares: names of the arguments whose memory the result shares, whatever the schema says of it.
    """

    results: list[Any]
    shares: frozenset[str] = frozenset()


class ResultCheck:
    """Compares a replacement's results with the operator's own promise: number, type, shape, dtype, device, aliasing.

    The promise comes from the operator's meta kernel, which costs about a hundred µs; so a call with arguments of known
    shapes, dtypes and devices is compared with the remembered promise, unless ``always``. Operators without a meta
    kernel or with a shape that depends on data are checked for what their schema alone says.
    """

    def __init__(self, label: str, *, always: bool = False) -> None:
        self._label = label
        self._always = always
        self._known: dict[Any, Promise] = {}

    def promise(self, op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Promise:
        """What ``op`` returns for these arguments, if they have not been written into yet."""
        key = None if self._always else _signature(op, args, kwargs)
        promise = self._known.get(key) if key is not None else None
        if promise is None:
            promise = _promise(op, args, kwargs)
            if key is not None:
                self._known[key] = promise
        return promise

    def __call__(
        self,
        op: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        result: Any,
        own: Sequence[Any] = (),
        promise: Promise | None = None,
    ) -> None:
        """Compares ``result`` with what was promised.

        Args:
            own: what the operator itself returned to the replacement, if it returns several values; meta kernels do
                not always keep their word, so what is passed on unchanged is right.
            promise: what :meth:`promise` said before the call, if the operator :func:`reshapes_argument`.

        Raises:
            OphookError: the result is not what the operator returns.
        """
        if not isinstance(op, OpOverload) or _is_tracing(result):
            return
        if promise is None:
            promise = self.promise(op, args, kwargs)
        problem = _compare(op, promise.results, result, own) or _aliasing(op, args, kwargs, result, promise)
        if problem:
            raise OphookError(
                f"hook {self._label}",
                f"the replacement of {op._name} broke its contract: {problem}",
                allowed=str(op._schema),
                todo="return what the operator returns, or pass check='off' if the difference is meant",
            )


@functools.cache
def returns_several(op: OpOverload) -> bool:
    return len(op._schema.returns) > 1


@functools.cache
def reshapes_argument(op: OpOverload) -> bool:
    """Whether the operator gives its argument itself another shape (``unsqueeze_``); afterwards the arguments no longer
    tell what it had to return."""
    return torch.Tag.inplace_view in op.tags


def _is_tracing(result: Any) -> bool:
    tensors = [r for r in (result if isinstance(result, (tuple, list)) else (result,)) if isinstance(r, torch.Tensor)]
    return any(isinstance(t, torch._subclasses.FakeTensor) or torch._is_functional_tensor(t) for t in tensors)


def _signature(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    try:
        key = (op, tuple(map(_leaf, args)), tuple((name, _leaf(value)) for name, value in kwargs.items()))
        hash(key)
    except TypeError:
        return None
    return key


def _leaf(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return (None if is_ragged(value) else value.shape, value.dtype, value.device)
    if isinstance(value, (list, tuple)):
        return tuple(map(_leaf, value))
    return (type(value), value)


# torch keeps "inside a dispatch mode" in process-wide flags, which modes of several threads would leave set.
_one_mode_at_a_time = threading.RLock()


def _promise(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Promise:
    from torch._subclasses.fake_tensor import FakeTensorMode

    unknown = [(None, None, None)] * len(op._schema.returns)
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    try:
        # The running dispatch modes would take the fake calls for the program's own.
        with _one_mode_at_a_time, torch.utils._python_dispatch._disable_current_modes(), torch.no_grad(), mode:
            fake_args, fake_kwargs = pytree.tree_map_only(
                torch.Tensor, lambda t: mode.from_tensor(t.detach(), static_shapes=True), (args, kwargs)
            )
            results = op(*fake_args, **fake_kwargs)
            shares = _sharing(op, fake_args, fake_kwargs, results)
    except Exception:
        # No meta kernel, data-dependent shape, sparse or quantized arguments: the schema is all there is to hold on to.
        return Promise(unknown)
    leaves = results if isinstance(results, (tuple, list)) else (results,)
    return Promise(
        [(r.shape, r.dtype, r.device) if isinstance(r, torch.Tensor) else (None, None, None) for r in leaves], shares
    )


def _sharing(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> frozenset[str]:
    """The arguments whose memory ``result`` shares, found on fake tensors, whose storages have no address."""
    if not isinstance(result, torch.Tensor) or result.layout != torch.strided:
        return frozenset()
    storage = result.untyped_storage()._cdata
    return frozenset(
        name
        for name, value in _by_name(op, args, kwargs).items()
        if isinstance(value, torch.Tensor)
        and value.layout == torch.strided
        and value.untyped_storage()._cdata == storage
    )


def _by_name(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    names = [a.name for a in op._schema.arguments if not a.kwarg_only]
    return dict(zip(names, args, strict=False)) | kwargs


def _compare(op: OpOverload, promise: list[Any], result: Any, own: Sequence[Any]) -> str | None:
    returns = op._schema.returns
    if len(returns) == 1 and str(returns[0].type) == "Tensor":
        leaves: Any = (result,)
    elif not returns:
        return None if result is None else f"returned {type(result).__name__} where the operator returns nothing"
    else:
        leaves = result if isinstance(result, (tuple, list)) else (result,)
    if len(returns) > 1 and len(leaves) != len(returns):
        return f"returned {counted(len(leaves), 'value')} where the operator returns {len(returns)}"
    for index, (leaf, (shape, dtype, device)) in enumerate(zip(leaves, promise, strict=False)):
        if any(isinstance(o, (tuple, list)) and index < len(o) and o[index] is leaf for o in own):
            continue
        which = f"result {index} " if len(leaves) > 1 else ""
        is_tensor = len(returns) == 1 or str(returns[index].type) == "Tensor"
        if leaf is None and len(returns) > 1 and (shape is None or shape.numel() == 0):
            continue  # kernels return nothing for results that their arguments leave out
        if (
            is_tensor
            and not isinstance(leaf, torch.Tensor)
            and "Tensor" in str(returns[0 if len(returns) == 1 else index].type)
        ):
            return f"{which}is a {type(leaf).__name__}, the operator returns a Tensor"
        if not isinstance(leaf, torch.Tensor):
            continue
        if shape is not None and leaf.shape != shape:
            return f"{which}has shape {tuple(leaf.shape)}, the operator returns {tuple(shape)}"
        if dtype is not None and leaf.dtype != dtype:
            return f"{which}has dtype {leaf.dtype}, the operator returns {dtype}"
        if device is not None and leaf.device.type != device.type:
            return f"{which}is on {leaf.device}, the operator returns it on {device}"
    return None


def _aliasing(
    op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any, promise: Promise
) -> str | None:
    """In-place and out operators return the very argument; operators without alias annotation return fresh memory,
    except those whose own meta kernel does not (``_unsafe_view``)."""
    schema = op._schema
    if len(schema.returns) != 1 or not isinstance(result, torch.Tensor):
        return None
    values = _by_name(op, args, kwargs)
    info = schema.returns[0].alias_info
    if info is not None and info.is_write:
        written = [a.name for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write]
        if written and written[0] in values and result is not values[written[0]]:
            return f"must return its argument {written[0]!r} itself"
    elif info is None and _has_address(result):
        for name, value in values.items():
            if name in promise.shares:
                continue
            if isinstance(value, torch.Tensor) and _has_address(value) and _same_memory(result, value):
                return f"the result shares memory with argument {name!r}; return a copy"
    return None


def _has_address(tensor: torch.Tensor) -> bool:
    return tensor.layout == torch.strided and not computes_by_itself(tensor)


def _same_memory(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a is b:
        return True
    pointer = a.untyped_storage().data_ptr()
    return pointer != 0 and pointer == b.untyped_storage().data_ptr()
