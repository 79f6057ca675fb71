"""Figures of large results in one pass: as ATen has them, for every number of 16 bits and whatever the length."""

from __future__ import annotations

import pytest
import torch

from ophook_npu import native
from ophook_npu.errors import OphookError
from ophook_npu.observe import _figures
from ophook_npu.observe._numbers import error
from ophook_npu.observe.digest import _sums, _sums_by_blocks

DTYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("more", [0, 1, 271, 272 * 5 + 19])
def test_sums_are_those_of_float64(dtype: torch.dtype, more: int) -> None:
    values = torch.randn(_figures.LARGE + more, generator=torch.Generator().manual_seed(more)).to(dtype)
    found = _figures.sums(values)
    assert found is not None
    wide = values.double()
    squares, total, weighted = (wide * wide).sum(), wide.sum(), (wide * (torch.arange(wide.numel()) % 17)).sum()
    torch.testing.assert_close(found, [squares.item(), total.item(), weighted.item()], rtol=1e-10, atol=1e-7)
    torch.testing.assert_close(found, _sums_by_blocks(values), rtol=1e-10, atol=1e-8)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_distance_is_the_largest_difference(dtype: torch.dtype) -> None:
    given = torch.randn(_figures.LARGE + 7, generator=torch.Generator().manual_seed(1)).to(dtype)
    wanted = given.double()
    assert _figures.distance(given, wanted) == [0.0, wanted.abs().max().item()]
    for place in (3, given.numel() - 1):
        other = wanted.clone()
        other[place] -= 20
        assert _figures.distance(given, other) == [
            (given[place].double() - other[place]).abs().item(),
            other.abs().max().item(),
        ]


def test_what_is_transposed_alike_lies_alike() -> None:
    given = torch.randn(4, 300, 200).permute(2, 0, 1)
    wanted = given.double()
    wanted[3, 2, 1] += 7
    assert wanted.stride() == given.stride()
    expected = [(given.double() - wanted).abs().max().item(), wanted.abs().max().item()]
    assert _figures.distance(given, wanted) == expected


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_every_number_of_16_bits_is_read_right(dtype: torch.dtype) -> None:
    every = torch.arange(1 << 16, dtype=torch.int32).to(torch.int16).view(dtype)
    finite = torch.where(every.isfinite(), every, torch.ones((), dtype=dtype))
    assert _figures.distance(finite, finite.double()) == [0.0, finite.double().abs().max().item()]
    for odd in (float("inf"), float("-inf"), float("nan")):
        given = finite.clone()
        given[5] = odd
        found = _figures.distance(given, finite.double())
        assert found is not None and all(figure != figure for figure in found)
        assert error(given, given.double()) == (0.0, finite.double().abs().max().item())


def test_what_lies_otherwise_is_left_to_aten() -> None:
    square = torch.randn(300, 300)
    assert _figures.sums(square.t()) is None
    assert _figures.sums(square.flatten()[:100]) is None
    assert _figures.sums(square.to(torch.int64)) is None
    assert _figures.distance(square, square) is None  # the reference is not float64
    assert _figures.distance(square.t(), square.double().t().contiguous()) is None
    assert error(square.t(), square.double().t().contiguous()) == (0.0, square.double().abs().max().item())


def test_without_a_compiler_the_figures_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    values = torch.randn(_figures.LARGE)
    with_compiler = _sums(values)

    def no_compiler(soname: str) -> None:
        raise OphookError("compiler", "none")

    monkeypatch.setattr(native, "library", no_compiler)
    _figures._library.cache_clear()
    try:
        assert _figures.sums(values) is None
        torch.testing.assert_close(_sums(values), with_compiler, rtol=1e-10, atol=1e-10)
    finally:
        _figures._library.cache_clear()
