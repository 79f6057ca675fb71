"""Lets hooks see an operator under vmap, where its batching rule would turn it into another one (mm into bmm).

A kernel at the batching key runs the operator once for each element of the batch, below vmap, where the hook's own
mechanism meets it. It is switched by the same list of handlers as any other kernel of this package.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import torch
from torch._functorch.autograd_function import custom_function_call_vmap_helper
from torch._functorch.pyfunctorch import retrieve_current_functorch_interpreter
from torch._ops import OpOverload
from torch.utils import _pytree as pytree

from ophook_npu.hooks import _compat, _trampoline
from ophook_npu.hooks._handler import Handler
from ophook_npu.hooks._trampoline import Trampoline
from ophook_npu.hooks.targets import is_composite

_PLACE = "FuncTorchBatched"
_KEY = torch._C.DispatchKey.FuncTorchBatched
_MOST = 32


def install(undo: contextlib.ExitStack, targets: tuple[OpOverload, ...], handler: Handler) -> None:
    """Makes ``handler``'s operators run slice by slice under vmap, until ``undo`` is closed.

    Left alone: operators whose batching rule calls the operator itself (pointwise ones), those that write into an
    argument, and everything when the hook is aimed at so many operators that what the rule calls is a target as
    well.
    Before torch 2.9 they stay slice by slice until :func:`ophook_npu.hooks.purge`: the batching rule cannot be called.
    """
    if handler.on_miss == "ignore" or len(targets) > _MOST:
        return
    for op in targets:
        if _can_batch(op):
            _trampoline.add(op, _PLACE, _run_slices, _KEY, handler)
            undo.callback(_trampoline.drop, op, _PLACE, _KEY, handler)


def _can_batch(op: OpOverload) -> bool:
    returns = op._schema.returns
    return (
        torch.Tag.pointwise not in op.tags
        and not op._schema.is_mutable
        and bool(returns)
        and all(str(r.type) == "Tensor" and r.alias_info is None for r in returns)
        and not is_composite(op)
    )


def _run_slices(trampoline: Trampoline) -> Callable[..., Any]:
    op = trampoline.op
    kernel = _compat.kernel(op, _PLACE)

    def slices(info: Any, in_dims: Any, *args: Any, **kwargs: Any) -> Any:
        values, spec = pytree.tree_flatten(args)
        dims = pytree.tree_leaves(in_dims, is_leaf=lambda d: d is None)
        moved = [v if d is None else v.movedim(d, 0) for v, d in zip(values, dims, strict=True)]
        results = [
            op(
                *pytree.tree_unflatten([v if d is None else v[i] for v, d in zip(moved, dims, strict=True)], spec),
                **kwargs,
            )
            for i in range(info.batch_size)
        ]
        if isinstance(results[0], tuple):
            return tuple(torch.stack(column) for column in zip(*results, strict=True)), (0,) * len(results[0])
        return torch.stack(results), 0

    def body(keyset: Any, *args: Any, **kwargs: Any) -> Any:
        handlers = trampoline.handlers.get(_KEY)
        if kernel is not None and (handlers is None or _compat.is_compiling_here()):
            return kernel(keyset, *args, **kwargs)
        for handler in handlers or ():
            if handler.on_miss != "handle":
                handler.miss(
                    f"vmap's batching rule of {op._name} would run another operator; running it slice by slice"
                )
        interpreter: Any = retrieve_current_functorch_interpreter()
        return custom_function_call_vmap_helper(interpreter, slices, op, *args, **kwargs)

    return body
