"""SoftMax, LayerNorm, sums, TopK and transposes of matrices against torch, with the tiling of the host's functions."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from ophook_npu import kernel
from ophook_npu.errors import OphookError

PROJECT = Path(__file__).parent / "advanced"
SPACE = 8192
SOFTMAX, LOG_SOFTMAX, LAYER_NORM, RMS_NORM, SUMS, TOP_K, TRANSPOSE, BLOCKS, NHWC, FLASH = range(10)
TYPES = pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)


def run(x: torch.Tensor, function: int, k: int = 1) -> tuple[torch.Tensor, ...]:
    advanced = kernel.load(PROJECT, strict=False, on_wait=True)
    generator = torch.Generator().manual_seed(1)
    gamma, beta = (torch.randn(x.shape[1], generator=generator).to(x.dtype) for _ in range(2))
    count = SPACE // x.element_size()
    results = advanced(x, gamma, beta, function=function, k=k, outputs=[(count,)] * 3 + [(SPACE // 4,)])
    findings = [f for f in advanced.findings if f.severity != "note"]
    assert not findings, [str(f) for f in findings]
    return (*results, gamma, beta)


def rows(values: torch.Tensor, x: torch.Tensor, width: int | None = None) -> torch.Tensor:
    """The rows of a result, each in whole blocks of 32 bytes."""
    width = width or x.shape[1]
    unit = 32 // values.element_size()
    padded = -(-width // unit) * unit
    return values[: x.shape[0] * padded].reshape(x.shape[0], padded)[:, :width]


def close(found: torch.Tensor, wanted: torch.Tensor) -> None:
    bound = 3e-3 if found.dtype == torch.float16 else 1e-5
    torch.testing.assert_close(found, wanted.to(found.dtype), rtol=bound, atol=bound)


def matrix(count: int, width: int, dtype: torch.dtype) -> torch.Tensor:
    return torch.randn(count, width, generator=torch.Generator().manual_seed(width)).to(dtype)


@TYPES
@pytest.mark.parametrize(("count", "width"), [(8, 64), (5, 37), (1, 3)])
def test_rows(count: int, width: int, dtype: torch.dtype) -> None:
    x = matrix(count, width, dtype)
    wide = x.float()
    y, total, most, *_ = run(x, SOFTMAX)
    close(rows(y, x), wide.softmax(-1))
    unit = 32 // x.element_size()
    close(rows(most, x, unit), wide.max(-1, keepdim=True).values.expand(-1, unit))
    close(rows(total, x, unit), (wide - wide.max(-1, keepdim=True).values).exp().sum(-1, keepdim=True).expand(-1, unit))
    close(rows(run(x, LOG_SOFTMAX)[0], x), wide.log_softmax(-1) / math.log(10))
    y, mean, variance, _, gamma, beta = run(x, LAYER_NORM)
    close(rows(y, x), torch.nn.functional.layer_norm(wide, (width,), gamma.float(), beta.float(), 1e-3))
    close(mean[:count], wide.mean(-1))
    close(variance[:count], wide.var(-1, unbiased=False))
    y, *_, gamma, _ = run(x, RMS_NORM)
    close(rows(y, x), wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-3) * gamma.float())
    columns, sums, largest, *_ = run(x, SUMS)
    close(sums[:count], wide.sum(-1))
    close(largest[:count], wide.max(-1).values)
    if dtype == torch.float32:  # it has no half
        close(columns[:width], wide.sum(0))


@TYPES
def test_rows_in_two_parts(dtype: torch.dtype) -> None:
    """Softmax of the whole row from its halves, as attention over tiles does it."""
    x = matrix(8, 64, dtype)
    wide = x.float()
    y, p, most, *_ = run(x, FLASH)
    right, left, unit = y[:256].reshape(8, 32), y[1024:1280].reshape(8, 32), 32 // x.element_size()
    total, change = (p[at : at + 8 * unit].reshape(8, unit) for at in (0, 1024))
    largest = wide.max(-1, keepdim=True).values
    close(most[: 8 * unit].reshape(8, unit), largest.expand(-1, unit))
    close(total, (wide - largest).exp().sum(-1, keepdim=True).expand(-1, unit))
    close(change, (wide[:, :32].max(-1, keepdim=True).values - largest).exp().expand(-1, unit))
    together = torch.cat([left.float() * change[:, :1].float(), right.float()], 1) / total[:, :1].float()
    close(together.to(dtype), wide.softmax(-1))


@TYPES
@pytest.mark.parametrize(("count", "width", "k"), [(4, 64, 5), (1, 32, 32), (7, 96, 16)])
def test_top_k(count: int, width: int, k: int, dtype: torch.dtype) -> None:
    x = matrix(count, width, dtype)
    x[0, 1] = x[0, 0]  # of equal values the first place comes first
    values, _, _, places, *_ = run(x, TOP_K, k)
    wanted, order = torch.sort(x, dim=-1, descending=True, stable=True)
    assert torch.equal(rows(values, x, k), wanted[:, :k])
    assert torch.equal(rows(places, x, k).long(), order[:, :k])


@TYPES
def test_transposes(dtype: torch.dtype) -> None:
    x = matrix(16, 48, dtype)
    for function in (TRANSPOSE, BLOCKS, NHWC):
        assert torch.equal(run(x, function)[0][: x.numel()].reshape(48, 16), x.t())
    x = matrix(48, 32, dtype)
    assert torch.equal(run(x, TRANSPOSE)[0][: x.numel()].reshape(32, 48), x.t())
    with pytest.raises(AssertionError, match="multiples of 16"):
        run(matrix(33, 32, dtype), TRANSPOSE)


def test_tiling_that_cannot_be() -> None:
    with pytest.raises(Exception, match="refuses the call"):
        run(matrix(2, 40, torch.float32), TOP_K, 4)  # rows must be multiples of 32
    with pytest.raises(Exception, match="refuses the call"):
        run(matrix(2, 64, torch.float32), TOP_K, 65)


def test_a_required_attribute_that_is_missing_is_told_with_where_to_give_it() -> None:
    advanced, x = kernel.load(PROJECT), torch.ones(8, 64)
    told = r"attribute function is not given; allowed: a value of type Int, .*inputs\.py"
    with pytest.raises(OphookError, match=told):
        advanced(x, x[0], x[0])
