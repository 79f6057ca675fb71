"""Types of the graph engine that draw: shapes, ranges and distributions, and the same again for the same seeds. Which
numbers a device draws is not known.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import interfaces
import numpy as np
import offline
import pytest
import torch
from onnx import TensorProto

from ophook_npu.sim.atc.__main__ import om_of
from ophook_npu.sim.atc.ge_graph import Graph, Tensor, TypeAttribute

SIZES = torch.tensor([40, 50])


def drawn(of: str, *inputs: Any, **attributes: Any) -> list[torch.Tensor]:
    """What is drawn with seeds; the same again, and something else with others or without."""
    first, again, other, own, own_again = (
        interfaces.graph(of, *inputs, **seeds, **attributes)
        for seeds in ({"seed": 3}, {"seed": 3}, {"seed": 4}, {}, {})
    )
    assert all(map(torch.equal, first, again))
    for one, two in ((first, other), (own, own_again), (first, own)):
        assert not all(map(torch.equal, one, two))
    return first


@pytest.mark.parametrize("dtype", [0, 1, 11])
def test_uniform_and_normal(dtype: int) -> None:
    (x,) = drawn("RandomUniform", SIZES, dtype=dtype)
    assert x.dtype == interfaces.DTYPES[dtype] and list(x.shape) == [40, 50]
    assert x.min() >= 0 and x.max() < 1 and abs(x.double().mean() - 0.5) < 0.05
    (x,) = drawn("RandomStandardNormal", SIZES.int(), dtype=dtype)
    assert x.dtype == interfaces.DTYPES[dtype] and abs(x.double().mean()) < 0.1 and abs(x.double().std() - 1) < 0.1
    (x,) = drawn("TruncatedNormal", SIZES, dtype=dtype)
    assert x.abs().max() <= 2 and abs(x.double().mean()) < 0.1 and 0.8 < x.double().std() < 0.95


def test_chances_of_each_element() -> None:
    chances, seed, none = torch.tensor([[0.0], [1.0], [0.5]]).expand(3, 900).contiguous(), *torch.tensor([[7], [0]])
    (x,) = interfaces.graph("StatelessBernoulliV2", chances, seed, none)
    assert x.dtype == torch.float32 and not x[0].any() and x[1].all() and abs(x[2].mean() - 0.5) < 0.1
    assert x[2].unique().tolist() == [0, 1]
    # The same again by a seed, other numbers at another place and by -1, the device's own.
    again, moved, own, own_again = (
        interfaces.graph("StatelessBernoulliV2", chances, one, at, dtype=12)[0]
        for one, at in ((seed, none), (seed, none + 4), (none - 1, none), (none - 1, none))
    )
    assert again.dtype == torch.bool and torch.equal(again, x.bool())
    assert not torch.equal(again, moved) and not torch.equal(own, own_again)


def test_whole_numbers_between_two() -> None:
    for dtype in (torch.int32, torch.int64):
        (x,) = drawn("RandomUniformInt", SIZES, torch.tensor([-2], dtype=dtype), torch.tensor([3], dtype=dtype))
        assert x.dtype == dtype and x.unique().tolist() == [-2, -1, 0, 1, 2]


def test_truncated_normal_of_each_batch() -> None:
    mean, std, least, most = (torch.tensor(one) for one in ([0.0, 50.0], [1.0], [-1.0, 40.0], [0.5, 51.0]))
    (x,) = drawn("ParameterizedTruncatedNormal", torch.tensor([2, 500]), mean, std, least, most)
    assert x[0].min() >= -1 and x[0].max() <= 0.5 and x[0].std() > 0.2
    assert x[1].min() >= 45 and x[1].max() <= 51 and abs(x[1].mean() - 49.7) < 0.2


def test_gamma_and_poisson_for_each_parameter() -> None:
    (x,) = drawn("RandomGamma", torch.tensor([2000]), torch.tensor([0.5, 4.0]))
    assert list(x.shape) == [2000, 2] and x.min() >= 0
    torch.testing.assert_close(x.mean(0), torch.tensor([0.5, 4.0]), rtol=0.1, atol=0.05)
    for dtype in (0, 9):
        (x,) = drawn("RandomPoisson", torch.tensor([2000]), torch.tensor([[0.5], [4.0]]), dtype=dtype)
        assert x.dtype == interfaces.DTYPES[dtype] and list(x.shape) == [2000, 2, 1]
        torch.testing.assert_close(x.double().mean(0).flatten().float(), torch.tensor([0.5, 4.0]), rtol=0.1, atol=0.05)
    (x,) = drawn("Poisson", torch.tensor([[0.0, 3.0]]).expand(500, 2).contiguous())
    assert not x[:, 0].any() and abs(x[:, 1].mean() - 3) < 0.3 and torch.equal(x, x.round())


def test_classes_come_as_often_as_their_weights_say() -> None:
    logits = torch.tensor([[1.0, 2.0, 1.0], [0.0, 1.0, 0.0]]).log()
    (x,) = drawn("Multinomial", logits, torch.tensor([2000]).int())
    assert x.dtype == torch.int64 and list(x.shape) == [2, 2000]
    torch.testing.assert_close(x[0].bincount() / 2000, torch.tensor([0.25, 0.5, 0.25]), rtol=0.1, atol=0.02)
    assert (x[1] == 1).all()
    assert interfaces.graph("Multinomial", logits, torch.tensor([2]).int(), dtype=3)[0].dtype == torch.int32


def test_shuffled_rows_are_the_same_rows() -> None:
    x = torch.arange(60.0).view(20, 3)
    (got,) = drawn("RandomShuffle", x)
    assert torch.equal(got[got[:, 0].argsort()], x)


def test_masks_keep_as_many_as_told() -> None:
    (bits,) = drawn("DropOutGenMask", SIZES, torch.tensor([0.75]))
    assert bits.dtype == torch.uint8 and bits.numel() == 256  # 2,000 bits, filled up to blocks of 128
    x = torch.ones(40, 50)
    (y,) = interfaces.graph("DropOutDoMask", x, bits, torch.tensor([0.75]))
    assert abs((y != 0).float().mean() - 0.75) < 0.05
    torch.testing.assert_close(y[y != 0].unique(), torch.tensor([1 / 0.75]))
    (flags,) = drawn("DropOutGenMaskV4", SIZES, torch.tensor([0.75]))
    assert flags.dtype == torch.bool and abs(flags.float().mean() - 0.75) < 0.05


def test_permutations_and_masks_by_attributes() -> None:
    (x,) = interfaces.graph("Randperm", n=50, dtype=3)
    assert x.dtype == torch.int32 and sorted(x.tolist()) == list(range(50)) != x.tolist()
    (x,) = interfaces.graph("DropOutDoMaskV3D", torch.ones(2, 2), torch.tensor([1, 0, 1, 1]).byte(), keep_prob=0.5)
    assert x.tolist() == [[2, 0], [2, 2]]


ONE, SEVEN = torch.tensor([1]), torch.tensor([7])


@pytest.mark.parametrize(
    ("of", "behind", "attributes", "fits"),
    [
        ("StatelessRandomUniformInt", (ONE, SEVEN), {}, lambda x: x.unique().tolist() == [1, 2, 3, 4, 5, 6]),
        ("StatelessRandomUniformIntV2", (ONE, SEVEN), {}, lambda x: x.unique().tolist() == [1, 2, 3, 4, 5, 6]),
        ("StatelessTruncatedNormalV2", (), {}, lambda x: x.abs().max() <= 2 and 0.8 < x.std() < 0.95),
        ("StatelessRandomGammaV2", (torch.full((50,), 4.0),), {}, lambda x: 3.8 < x.mean() < 4.2 and x.min() > 0),
        ("StatelessRandomPoisson", (SEVEN.float(),), {"dtype": 9}, lambda x: 6.8 < x.double().mean() < 7.2),
    ],
)
def test_seeds_that_are_inputs_give_the_same_again(of: str, behind: Any, attributes: Any, fits: Any) -> None:
    def made(*seeds: int) -> torch.Tensor:
        by = (
            [torch.tensor([one]) for one in (*seeds, 1)]
            if of.endswith(("IntV2", "NormalV2"))
            else [torch.tensor(seeds)]
        )
        return interfaces.graph(of, SIZES, *by, *behind, **attributes)[0]

    x = made(3, 5)
    assert list(x.shape) == [40, 50] and fits(x) and torch.equal(x, made(3, 5))
    assert not torch.equal(x, made(4, 5)) and not torch.equal(x, made(3, 6))


def test_classes_by_seeds_that_are_inputs() -> None:
    logits, seeds = torch.tensor([[1.0, 3.0]]).log(), torch.tensor([3, 5])
    (x,) = interfaces.graph("StatelessMultinomial", logits, torch.tensor([2000]).int(), seeds, output_dtype=3)
    assert x.dtype == torch.int32 and abs(x.double().mean() - 0.75) < 0.03
    assert torch.equal(x, interfaces.graph("StatelessMultinomial", logits, torch.tensor([2000]).int(), seeds)[0].int())


@pytest.mark.parametrize("of", ["UniformCandidateSampler", "LogUniformCandidateSampler"])
def test_candidates_and_how_often_they_are_expected(of: str) -> None:
    truth, many = torch.tensor([[0, 7], [3, 1]]), 1000
    classes, of_true, of_drawn = drawn(of, truth, num_true=2, num_sampled=many, unique=False, range_max=10)
    chance = torch.full((10,), 0.1)
    if of.startswith("Log"):
        ranks = torch.arange(10.0)
        chance = ((ranks + 2) / (ranks + 1)).log() / torch.tensor(11.0).log()
    torch.testing.assert_close(classes.bincount(minlength=10) / many, chance, rtol=0.2, atol=0.02)
    torch.testing.assert_close(of_true, many * chance[truth])
    torch.testing.assert_close(of_drawn, many * chance[classes])
    # All of them, each once.
    classes, of_true, _ = interfaces.graph(of, truth, num_true=2, num_sampled=10, unique=True, range_max=10)
    assert sorted(classes.tolist()) == list(range(10)) and of_true.max() <= 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: drawn("RandomUniform", SIZES, dtype=3), "dtype=3; allowed: 0 (float32), 1 (float16), 11 (float64)"),
        (lambda: drawn("RandomUniformInt", SIZES, SIZES[:1], SIZES[:1]), "no number from 40 on and below 40"),
        (lambda: drawn("RandomGamma", SIZES, SIZES), "input 1 is int64[2]; allowed: float32, float16, float64"),
        (lambda: interfaces.graph("StatelessRandomPoisson", SIZES, SIZES[:1], SIZES, dtype=0), "has to be two seeds"),
        (lambda: drawn("DropOutGenMaskV4", SIZES, torch.ones(1), dtype=30), "dtype=30 is not simulated"),
        (
            lambda: drawn("UniformCandidateSampler", SIZES[None], num_true=2, num_sampled=9, unique=True, range_max=8),
            "num_sampled=9 of range_max=8",
        ),
    ],
)
def test_what_does_not_fit_is_refused(call: Any, message: str) -> None:
    with pytest.raises(interfaces.Refused) as refused:
        call()
    assert message in str(refused.value)


def test_each_run_draws_anew(tmp_path: Path) -> None:
    """Whatever is known of what it draws before the graph runs: it is no constant."""
    graph = Graph()
    x = graph.data("x", TensorProto.FLOAT, (64,), 0)
    shape = graph.const("shape", np.array([64]))
    drawn = graph.node("drawn", "RandomStandardNormal", [shape], 0, {"dtype": TypeAttribute(0)})
    y = graph.node("y", "Add", [x, Tensor(drawn, 0, TensorProto.FLOAT, (64,))], 0, {})
    model = tmp_path / "noise.om"
    model.write_bytes(om_of(graph.message("noise", [(Tensor(y, 0, TensorProto.FLOAT, (64,)), "y")]), []))
    with offline.loaded(str(model)) as noise:
        zeros = np.zeros(64, np.float32)
        assert not np.array_equal(noise.run(zeros)[0], noise.run(zeros)[0])
