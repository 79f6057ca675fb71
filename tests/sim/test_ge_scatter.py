"""Types of the graph engine that put updates to places, by rows and by slices, that work by segment, and that find
something in lists: against torch, whose indices name the same places.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import interfaces
import pytest
import torch


@pytest.fixture(autouse=True)
def _same_numbers() -> None:
    torch.manual_seed(0)


def real(*sizes: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return (4 * torch.randn(*sizes)).round().to(dtype)


ROWS: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "Add": torch.add,
    "Sub": torch.sub,
    "Mul": torch.mul,
    "Div": lambda x, y: torch.div(x, y, rounding_mode=None if x.is_floating_point() else "trunc"),
    "Max": torch.maximum,
    "Min": torch.minimum,
    "Update": lambda _, y: y,
}


def one_by_one(how: str, x: torch.Tensor, places: torch.Tensor, updates: torch.Tensor) -> torch.Tensor:
    """Each place (the last dimension of `places`) of x combined with its update, one after the other."""
    out, depth = x.clone(), places.shape[-1]
    flat = updates.reshape(-1, *x.shape[depth:])
    for place, update in zip(places.reshape(-1, depth).tolist(), flat, strict=True):
        out[tuple(place)] = ROWS[how](out[tuple(place)], update)
    return out


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int32, torch.int8])
@pytest.mark.parametrize("how", [how for how in ROWS if how != "Update"])
def test_rows_are_combined_one_after_the_other(how: str, dtype: torch.dtype) -> None:
    x, places = real(5, 3, dtype=dtype), torch.tensor([[4, 0], [4, 2]])
    updates = real(2, 2, 3, dtype=dtype).abs() + 1
    (got,) = interfaces.graph(f"Scatter{how}", x, places.int(), updates)
    torch.testing.assert_close(got, one_by_one(how, x, places[..., None], updates), rtol=2e-3, atol=1e-3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int32])
@pytest.mark.parametrize(
    "of",
    ["ScatterNdAdd", "ScatterNdSub", "ScatterNdMax", "ScatterNdMin", "ScatterNdUpdate", "ScatterNonAliasingAdd",
     *(f"TensorScatter{how}" for how in ("Add", "Sub", "Max", "Min", "Update"))],
)  # fmt: skip
@pytest.mark.parametrize("places", [[[4], [0]], [[4, 1], [0, 2]], [[[4, 1]], [[0, 2]]]], ids=str)
def test_slices_are_combined_in_place_and_in_a_copy(of: str, places: Any, dtype: torch.dtype) -> None:
    x, by = real(5, 3, 2, dtype=dtype), torch.tensor(places)
    before = x.clone()
    updates = real(*by.shape[:-1], *x.shape[by.shape[-1] :], dtype=dtype)
    (got,) = interfaces.graph(of, x, by, updates)
    how = next(how for how in ROWS if of.endswith(how))
    assert torch.equal(got, one_by_one(how, before, by, updates))


def test_a_slice_that_stands_twice_gets_both() -> None:
    places, x = torch.tensor([[1], [1]]), torch.tensor([[1.0, 2.0], [10.0, 20.0]])
    for got in (
        interfaces.graph("ScatterNd", places, x, torch.tensor([3, 2])),
        interfaces.graph("ScatterNdD", places, x, shape=[3, 2]),
    ):
        assert got[0].tolist() == [[0, 0], [11, 22], [0, 0]]


@pytest.mark.parametrize("how", ["Add", "Sub", "Update"])
def test_rows_of_a_list_of_indices(how: str) -> None:
    x, v, places = real(5, 3), real(2, 3), torch.tensor([4, 1])
    expected = one_by_one(how, x, places[:, None], v)
    assert torch.equal(interfaces.graph(f"Inplace{how}", x, places.int(), v)[0], expected)
    assert torch.equal(interfaces.graph(f"Inplace{how}D", x, v, indices=[4, 1])[0], expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int32])
def test_what_is_assigned_to(dtype: torch.dtype) -> None:
    x, v = real(3, 4, dtype=dtype), real(3, 4, dtype=dtype)
    assert torch.equal(interfaces.graph("AssignAdd", x, v)[0], x + v)
    assert torch.equal(interfaces.graph("AssignSub", x, v[:1])[0], x - v[:1])


NEUTRAL = {"Sum": ("sum", 0), "Prod": ("prod", 1), "Max": ("amax", "min"), "Min": ("amin", "max")}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int32])
@pytest.mark.parametrize("how", NEUTRAL)
def test_segments_leave_out_what_is_below_zero(how: str, dtype: torch.dtype) -> None:
    x, ids = real(2, 3, 4, dtype=dtype), torch.tensor([[0, 3, 0], [-1, 2, 3]])
    reduction, empty = NEUTRAL[how]
    limits = torch.finfo(dtype) if dtype.is_floating_point else torch.iinfo(dtype)
    start = torch.full((5, 4), getattr(limits, empty) if isinstance(empty, str) else empty, dtype=dtype)
    kept = ids.flatten() >= 0
    places = ids.flatten()[kept, None].expand(-1, 4)
    expected = start.scatter_reduce(0, places, x.flatten(0, 1)[kept], reduction)
    (by_input,) = interfaces.graph(f"UnsortedSegment{how}", x, ids, torch.tensor([5]))
    (by_attribute,) = interfaces.graph(f"UnsortedSegment{how}D", x, ids.int(), num_segments=5)
    torch.testing.assert_close(by_input, expected, rtol=2e-3, atol=1e-3)
    assert torch.equal(by_input, by_attribute)


# ---- what is found ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int32, torch.int64])
def test_unique_keeps_the_order(dtype: torch.dtype) -> None:
    x = torch.tensor([5, 2, 5, 9, 2, 7], dtype=dtype)
    values, which = interfaces.graph("Unique", x)
    assert values.tolist() == [5, 2, 9, 7] and values.dtype == dtype
    assert which.tolist() == [0, 1, 0, 2, 1, 3] and which.dtype == torch.int32
    *same, counts = interfaces.graph("UniqueWithCounts", x, out_idx=9)
    assert [one.tolist() for one in same] == [values.tolist(), which.tolist()] and same[1].dtype == torch.int64
    assert counts.tolist() == [2, 2, 1, 1]
    if dtype != torch.float16:
        padded, which = interfaces.graph("UniqueWithPad", x, torch.tensor([8], dtype=dtype))
        assert padded.tolist() == [5, 2, 9, 7, 8, 8] and which.tolist() == [0, 1, 0, 2, 1, 3]


def test_difference_of_lists() -> None:
    rest, places = interfaces.graph("ListDiff", torch.tensor([1, 2, 3, 2, 6]), torch.tensor([3, 1]))
    assert (rest.tolist(), places.tolist()) == ([2, 2, 6], [1, 3, 4])


def test_accidental_hits_are_in_the_order_of_the_classes() -> None:
    classes, drawn = torch.tensor([[1, 2], [0, 4], [3, 3]]), torch.tensor([0, 1, 2, 3, 4])
    rows, places, weights = interfaces.graph("ComputeAccidentalHits", classes, drawn, num_true=2)
    assert rows.tolist() == [0, 0, 1, 1, 2, 2] and places.tolist() == [1, 2, 0, 4, 3, 3]
    assert weights.tolist() == [torch.finfo(torch.float32).min] * 6


def test_in_top_k_counts_what_is_greater() -> None:
    x = torch.tensor([[1.0, 8.0, 5.0, 2.0, 7.0], [4.0, 9.0, 3.0, 5.0, 9.0], [1.0, 2.0, float("nan"), 0.0, 0.0]])
    for got in (
        interfaces.graph("InTopKD", x, torch.tensor([4, 1, 1]), k=2),
        interfaces.graph("InTopK", x, torch.tensor([4, 4, 0]), torch.tensor([2])),
        interfaces.graph("InTopKV2", x, torch.tensor([4, 4, 9]).int(), torch.tensor([2])),
    ):
        assert got[0].tolist() == [True, True, False]
    assert interfaces.graph("InTopKD", x, torch.tensor([2, 0, 0]), k=2)[0].tolist() == [False] * 3


def test_lookup_in_a_part_of_a_table() -> None:
    table = torch.arange(8.0).view(4, 2)
    (got,) = interfaces.graph("EmbeddingLookup", table, torch.tensor([[5, 2], [8, 4]]).int(), torch.tensor([4]))
    assert got.tolist() == [[[2, 3], [0, 0]], [[0, 0], [0, 1]]]


def test_buckets() -> None:
    x = torch.tensor([[-5, 10000], [150, 10], [5, 100]])
    (got,) = interfaces.graph("Bucketize", x, boundaries=[0.0, 10.0, 100.0])
    assert got.tolist() == [[0, 3], [3, 2], [1, 3]] and got.dtype == torch.int32
    (got,) = interfaces.graph("Bucketize", x.float(), boundaries=[0.0, 10.0, 100.0], right=False, dtype=9)
    assert got.tolist() == [[0, 3], [3, 1], [1, 2]] and got.dtype == torch.int64


# ---- what does not fit -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("of", "tensors", "message"),
    [
        ("ScatterAdd", "real(5, 3), [4], real(2, 3)", "updates float32[2, 3] for slices of float32[5, 3]"),
        ("ScatterAdd", "real(5, 3), [4], real(1, 3).int()", "int32[1, 3] are not of the type of float32"),
        ("ScatterAdd", "real(5, 3).double(), [4], real(1, 3).double()", "input 0 is float64[5, 3]; allowed: float16, "),
        ("ScatterNdSub", "real(5, 3), [[4, 1]], real(1, 3)", "has to be the slices that the indices name"),
        ("ScatterNdSub", "real(5, 3), [[4, 1, 1]], real(1)", "int64[1, 3] names more dimensions than there are"),
        ("TensorScatterAdd", "real(5, 3), real(1, 1), real(1, 3)", "input 1 is float32[1, 1]; allowed: int32, int64"),
        ("UnsortedSegmentSum", "real(5, 3), [1, 2], [3]", "do not fit"),
        ("UnsortedSegmentSum", "real(2, 3), [1, 3], [3]", "segment 3 of 3"),
        ("AssignAdd", "real(3), real(2, 3)", "float32[2, 3] is larger than float32[3]"),
        ("Unique", "real(2, 3)", "it takes a list, its input is float32[2, 3]"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(of: str, tensors: str, message: str) -> None:
    given = eval(f"[{tensors}]")
    with pytest.raises(interfaces.Refused) as refused:
        interfaces.graph(of, *(torch.tensor(one) if isinstance(one, list) else one for one in given))
    assert message in str(refused.value)
