"""How far two tensors are apart, and how far they may be."""

from __future__ import annotations

import math

import torch

from ophook_npu.observe import _figures

# dtype of the result -> (atol, rtol): an error may be atol + rtol * the largest magnitude in the reference's result.
# Measured against the largest element, since a sum's small elements carry the rounding of its large terms.
TOLERANCES: dict[torch.dtype, tuple[float, float]] = {
    torch.float64: (1e-10, 1e-9),
    torch.float32: (1e-5, 1e-4),
    torch.float16: (1e-3, 4e-3),
    torch.bfloat16: (1e-2, 2e-2),
    torch.complex128: (1e-10, 1e-9),
    torch.complex64: (1e-5, 1e-4),
}


def dense(tensor: torch.Tensor) -> torch.Tensor:
    tensor = tensor.detach().resolve_conj().resolve_neg()
    return tensor if tensor.layout == torch.strided else tensor.to_dense()


def error(a: torch.Tensor, b: torch.Tensor) -> tuple[float, float]:
    """The largest error, and the reference's largest finite magnitude. Equal infinities or NaNs are no error."""
    found = _figures.distance(a, b)
    if found and math.isfinite(found[0]):
        return found[0], found[1]
    wide = torch.complex128 if b.is_complex() else torch.float64
    y = b.to(wide)
    # New memory of this size costs more than the arithmetic, so the difference is made in place and has no magnitude
    # made of it.
    difference = a.to(wide, copy=True).sub_(y)
    largest, size = _magnitude(difference), _magnitude(y)
    if math.isfinite(largest) and math.isfinite(size):
        return largest, size
    x = a.to(wide)
    # The reference may be finite where the dtype cannot be: what rounds to infinity is right to be infinite.
    same = (x == y) | (x.isnan() & y.isnan()) | (x == b.to(a.dtype).to(wide))
    error = torch.where(same, torch.zeros((), dtype=wide), x - y).abs()
    finite = y.abs()[torch.isfinite(y)]
    size = float(finite.max()) if finite.numel() else 0.0
    largest = float(error.max())
    return (math.inf if math.isnan(largest) else largest), size


def _magnitude(values: torch.Tensor) -> float:
    """The largest magnitude; NaN if there is one."""
    if values.is_complex():
        return values.abs().max().item()
    low, high = values.aminmax()
    return abs(max(-low.item(), high.item()))


def cosine(a: torch.Tensor, b: torch.Tensor) -> float:
    wide = torch.complex128 if b.is_complex() else torch.float64
    x, y = a.to(wide).flatten(), b.to(wide).flatten()
    product = float(x.norm() * y.norm())
    if not math.isfinite(product):
        return math.nan
    return float((x * y.conj()).sum().real) / product if product else 1.0


_INTEGERS = {
    torch.float64: torch.int64,
    torch.float32: torch.int32,
    torch.float16: torch.int16,
    torch.bfloat16: torch.int16,
}


def ulp(a: torch.Tensor, b: torch.Tensor) -> float:
    integer = _INTEGERS.get(a.dtype)
    if integer is None:
        return math.nan

    def ordered(tensor: torch.Tensor) -> torch.Tensor:
        # Floats as integers in the order of their values: negative ones count down from zero.
        bits = tensor.contiguous().view(integer).to(torch.int64)
        return torch.where(bits < 0, torch.iinfo(integer).min - bits, bits)

    rounded = b.to(a.dtype)
    finite = torch.isfinite(a) & torch.isfinite(rounded)
    return float((ordered(a) - ordered(rounded)).abs()[finite].max()) if bool(finite.any()) else 0.0
