"""aclnnStridedSlice and its masks against what the same entries name in Python."""

import random

import numpy
import pytest
import torch
from interfaces import Refused, aclnn, graph

VALUES = numpy.arange(5 * 3 * 4 * 2).reshape(5, 3, 4, 2)


def described(index: list) -> tuple:
    """The lists and masks for an index of Python's: slices, numbers, None and one ellipsis."""
    begin, end, strides, masks = [], [], [], [0] * 5
    for i, one in enumerate(index):
        first, last, step = 7, -3, 1  # what a mask makes meaningless
        if one is Ellipsis:
            masks[2] |= 1 << i
        elif one is None:
            masks[3] |= 1 << i
        elif isinstance(one, int):
            first, masks[4] = one, masks[4] | 1 << i
        else:
            first, last, step = (first, last, one.step or 1)
            if one.start is None:
                masks[0] |= 1 << i
            else:
                first = one.start
            if one.stop is None:
                masks[1] |= 1 << i
            else:
                last = one.stop
        begin.append(first), end.append(last), strides.append(step)
    return begin, end, strides, *masks


def sliced(index: list) -> numpy.ndarray:
    wanted = VALUES[tuple(index)]
    out = torch.full(wanted.shape, -1, dtype=torch.int64)
    aclnn("aclnnStridedSlice", torch.from_numpy(VALUES), *described(index), out)
    return out.numpy()


def drawn(draw: random.Random) -> list:
    def place() -> int | None:
        return draw.choice([None, draw.randint(-7, 7)])

    index: list = []
    for size in VALUES.shape[: draw.randint(0, 4)]:
        index.append(
            draw.randrange(-size, size)
            if draw.random() < 0.2
            else slice(place(), place(), draw.choice([1, 2, 3, -1, -2]))
        )
    for one in (None, Ellipsis, None):
        if draw.random() < 0.4:
            index.insert(draw.randint(0, len(index)) if one is None else len(index), one)
    return index


def test_any_index_is_what_python_takes() -> None:
    draw = random.Random(0)
    for _ in range(400):
        index = drawn(draw)
        assert (sliced(index) == VALUES[tuple(index)]).all(), index


def test_an_ellipsis_in_the_middle_and_behind_all_dimensions() -> None:
    for index in ([0, ..., 1], [slice(None, None, -1), ..., None, slice(1)], [1, 1, 1, ..., 1], [..., 0, None, 0]):
        assert (sliced(index) == VALUES[tuple(index)]).all(), index


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (([0], [1], [0], 0, 0, 0, 0, 0), r"strides\[0\] is 0"),
        (([0], [1], [-1], 0, 0, 0, 0, 1), "is positive"),
        (([5], [6], [1], 0, 0, 0, 0, 1), r"begin\[0\] is 5 for 5 elements"),
        (([0, 0], [1, 1], [1, 1], 0, 0, 3, 0, 0), "2 bits; allowed: one"),
        (([0] * 5, [1] * 5, [1] * 5, 0, 0, 0, 0, 0), "5 entries for a tensor of 4 dimensions"),
        (([0], [1, 1], [1], 0, 0, 0, 0, 0), "begin has 1 entries, end 2, strides 1"),
        (([0], [1], [1], 0, 0, 0, 0, 0), "CheckShape failed"),
    ],
)
def test_what_names_no_slice_is_refused(arguments: tuple, why: str) -> None:
    with pytest.raises(Refused, match=f"161002: .*{why}"):
        aclnn("aclnnStridedSlice", torch.from_numpy(VALUES), *arguments, torch.zeros(9, dtype=torch.int64))


def test_an_axis_of_a_tensor_without_dimensions_is_refused() -> None:
    place = torch.tensor([0])
    with pytest.raises(Refused, match="tensor has no dimensions"):
        graph("StridedSliceV2", torch.tensor(1.0), place, place + 1, place, None)


INDICES = pytest.mark.parametrize(
    "index", [[slice(1, None), slice(0, 3, 2)], [slice(None), slice(3, None, -1)], [1, None, slice(None)]], ids=str
)


def placed(index: list, whole: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, list, dict[str, int]]:
    """Numbers for a slice, and the whole with them in it; the slice as lists and as masks."""
    expected = whole.clone()
    part = expected.numpy()[tuple(index)]
    numbers = torch.arange(1.0, 1 + part.size).reshape(part.shape)
    part[...] = numbers.numpy()
    *lists, begin, end, ellipsis, new, shrink = described(index)
    masks = {"begin_mask": begin, "end_mask": end, "ellipsis_mask": ellipsis}
    return numbers, expected, lists, {**masks, "new_axis_mask": new, "shrink_axis_mask": shrink}


@INDICES
def test_the_gradient_of_a_slice(index: list) -> None:
    gradient, expected, lists, masks = placed(index, torch.zeros(5, 4))
    inputs = (torch.tensor(values) for values in ([5, 4], *lists))
    (got,) = graph("StridedSliceGrad", *inputs, gradient, **masks)
    assert torch.equal(got, expected)


@INDICES
def test_a_slice_that_is_assigned(index: list) -> None:
    whole = torch.full((5, 4), -1.0)
    numbers, expected, lists, masks = placed(index, whole)
    (got,) = graph("StridedSliceAssign", whole, *map(torch.tensor, lists), numbers, **masks)
    assert torch.equal(got, expected)
    begin, end, strides = lists
    (got,) = graph("StridedSliceAssignD", whole, numbers, begin=begin, end=end, strides=strides, **masks)
    assert torch.equal(got, expected)


def test_what_is_assigned_has_the_slices_shape() -> None:
    whole, one = torch.zeros(5, 4), torch.tensor([1])
    with pytest.raises(Refused, match=r"float32\[4\] has to have the shape of the slice"):
        graph("StridedSliceAssign", whole, one, one + 1, one, torch.zeros(4))
    with pytest.raises(Refused, match=r"input 4 is float16.*; allowed: float32"):
        graph("StridedSliceAssign", whole, one, one + 1, one, torch.zeros(1, 4).half())
