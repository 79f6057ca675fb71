"""What `Digest` and `Compare` read off large results, in one pass of our own C++."""

from __future__ import annotations

import contextlib
import ctypes
import functools

import torch

from ophook_npu import native
from ophook_npu.errors import OphookError

LARGE = 1 << 16
"""Elements from which on it pays; a program of small tensors needs no compiler."""
_NAMES = {torch.float64: "float64", torch.float32: "float32", torch.float16: "float16", torch.bfloat16: "bfloat16"}


@functools.cache
def _library() -> ctypes.CDLL | None:
    with contextlib.suppress(OphookError):  # no compiler: ATen has the same figures, in more time
        return ctypes.CDLL(str(native.library("libophook_figures.so")))
    return None


def _found(kind: str, count: int, first: torch.Tensor, *others: torch.Tensor) -> list[float] | None:
    every = (first, *others)
    if first.numel() < LARGE or first.dtype not in _NAMES:
        return None
    if any(not t.is_cpu or t.is_neg() or not t.is_contiguous() for t in every):
        return None
    library = _library()
    if library is None:
        return None
    out = (ctypes.c_double * count)()
    places = [ctypes.c_void_p(tensor.data_ptr()) for tensor in every]
    getattr(library, f"{kind}_{_NAMES[first.dtype]}")(*places, ctypes.c_int64(first.numel()), out)
    return list(out)


def sums(values: torch.Tensor) -> list[float] | None:
    """The sum of squares, the sum, and the sum with the weights 0, 1 … 16, 0 …, all of them in float64; ``None`` where
    this is not for ``values``.
    """
    return _found("sums", 3, values)


def distance(given: torch.Tensor, wanted: torch.Tensor) -> list[float] | None:
    """The largest difference to ``wanted``, which is float64, and its largest magnitude; NaN where something is not
    finite, and ``None`` where this is not for them.
    """
    if wanted.dtype != torch.float64 or given.shape != wanted.shape:
        return None
    if given.numel() >= LARGE and not given.is_contiguous() and given.stride() == wanted.stride():
        # What is transposed alike lies alike.
        order = sorted(range(given.dim()), key=given.stride, reverse=True)
        given, wanted = given.permute(order), wanted.permute(order)
    return _found("distance", 2, given, wanted)
