"""The gradient against finite differences."""

from __future__ import annotations

import warnings
from typing import Any

import torch

from ophook_npu.ops.check.outcome import Failure, NotHere, call, shown
from ophook_npu.ops.declare import Operator
from ophook_npu.plural import counted

_LARGEST = 512  # elements of all arguments together: finite differences cost one call for each


def gradient(op: Operator) -> str:
    """`torch.autograd.gradcheck`, in double where the operator takes double, in float with wider steps elsewhere."""
    if not op.derivatives and op.backward is None:
        raise NotHere("no gradient is declared")
    tried = 0
    for args in op.examples():
        wanted = [isinstance(a, torch.Tensor) and a.requires_grad for a in args]
        size = sum(a.numel() for a in args if isinstance(a, torch.Tensor))
        if not any(wanted) or size > _LARGEST:
            continue
        for dtype in (torch.float64, torch.float32):
            given = [_as(a, dtype, grad) for a, grad in zip(args, wanted, strict=True)]
            try:
                call(op, op.packet, given)
            except RuntimeError:
                continue
            _gradcheck(op, given, dtype)
            tried += 1
            break
    if not tried:
        raise Failure(
            f"no example asks for a gradient with at most {_LARGEST} elements; add one with requires_grad=True"
        )
    return f"{counted(tried, 'set of arguments', 'sets of arguments')} against finite differences"


def _as(value: Any, dtype: torch.dtype, grad: bool) -> Any:
    if not isinstance(value, torch.Tensor) or not value.is_floating_point():
        return value
    return value.detach().to(dtype).requires_grad_(grad)


def _gradcheck(op: Operator, args: list[Any], dtype: torch.dtype) -> None:
    steps: dict[str, float] = {} if dtype == torch.float64 else {"eps": 1e-2, "atol": 2e-2, "rtol": 2e-2}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Input #.*requires gradient and is not a double precision")
        try:
            torch.autograd.gradcheck(lambda *given: call(op, op.packet, given), args, **steps)  # type: ignore[arg-type]
        except Exception as error:
            text = " ".join(str(error).split())
            raise Failure(f"gradcheck on ({shown(args)}): {text[:1000]}") from error
