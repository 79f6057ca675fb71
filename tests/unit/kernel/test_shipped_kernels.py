"""The kernels of the operators that ship, against their CPU implementations: tails, several cores, rows that are longer
than the local memory, and nothing at all.
"""

from __future__ import annotations

import pytest
import torch

from ophook_npu import kernel
from ophook_npu.ops import declaration
from ophook_npu.sim.build import CSRC

PROJECT = CSRC / "vendor"
FLOATS = (torch.float32, torch.float16, torch.bfloat16)
CLOSE = {torch.float32: (1e-4, 1e-5), torch.float16: (2e-3, 1e-3), torch.bfloat16: (1.6e-2, 1e-2)}


def load(type_: str, **settings: object) -> kernel.Kernel:
    return kernel.load(PROJECT, type_, **settings)


def assert_close(found: torch.Tensor, wanted: torch.Tensor) -> None:
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    relative, absolute = CLOSE[found.dtype]
    torch.testing.assert_close(found, wanted, rtol=relative, atol=absolute, equal_nan=True)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("shape", [(3, 257), (2, 5, 96), (50, 1), (2, 20_001), (0, 8), (3, 0)], ids=str)
def test_rms_norm(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    norm = load("RmsNormCustom")
    x, gamma = torch.randn(shape).to(dtype), torch.randn(shape[-1]).to(dtype)
    y, rstd = norm(x, gamma, epsilon=1e-5)
    wanted_y, wanted_rstd = declaration("npu_rms_norm_custom").cpu(x, gamma, 1e-5)
    assert_close(y, wanted_y)
    assert_close(rstd, wanted_rstd)
    assert not norm.findings, [str(f) for f in norm.findings]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize(("shape", "dim"), [((3, 514), -1), ((4, 6, 33), 1), ((2, 90_002), 1), ((2,), 0), ((5, 0), 1)])
def test_swiglu(shape: tuple[int, ...], dim: int, dtype: torch.dtype) -> None:
    swiglu = load("SwigluCustom")
    x = (torch.randn(shape) * 4).to(dtype)
    assert_close(swiglu(x, dim=dim), declaration("npu_swiglu_custom").cpu(x, dim))
    assert not swiglu.findings, [str(f) for f in swiglu.findings]


@pytest.mark.parametrize("dtype", [*FLOATS, torch.int32], ids=str)
@pytest.mark.parametrize("index", [torch.int32, torch.int64], ids=str)
def test_cache_update(dtype: torch.dtype, index: torch.dtype) -> None:
    update = load("CacheUpdateCustom")
    for row in [(), (1,), (7, 3), (128,), (60_001,)]:
        cache, rows = torch.zeros(9, *row).to(dtype), torch.randperm(9)[:5].to(index)
        updates = (torch.randn(5, *row) * 100).to(dtype)
        wanted = cache.clone()
        declaration("npu_cache_update_custom").cpu(wanted, rows, updates)
        update(cache, rows, updates)
        assert torch.equal(cache, wanted)
        assert not update.findings, [str(f) for f in update.findings]


def test_an_index_outside_the_cache_is_found() -> None:
    update = load("CacheUpdateCustom")
    update(torch.zeros(4, 2), torch.tensor([4]), torch.ones(1, 2))
    assert [f.kind for f in update.findings] == ["assertion"]


@pytest.mark.parametrize("cores", [1, 3])
def test_copies_that_take_effect_late_give_the_same(cores: int) -> None:
    x, gamma = torch.randn(7, 300), torch.randn(300)
    norm = load("RmsNormCustom", on_wait=True, cores=cores)
    assert_close(norm(x, gamma)[0], declaration("npu_rms_norm_custom").cpu(x, gamma)[0])
    swiglu = load("SwigluCustom", on_wait=True, cores=cores)
    assert_close(swiglu(x), declaration("npu_swiglu_custom").cpu(x))
    assert not norm.findings and not swiglu.findings
