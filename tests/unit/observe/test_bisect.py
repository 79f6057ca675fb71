"""Bisect finds planted culprits, alone and together."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ophook_npu import OphookError, original
from ophook_npu.observe.bisect import bisect, minimal, on

OPS = (
    "aten::sin",
    "aten::cos",
    "aten::tanh",
    "aten::exp",
    "aten::sigmoid",
    "aten::neg",
    "aten::abs",
    "aten::erf",
    "aten::mm",
)


def program():
    x = torch.linspace(-1, 1, 16).reshape(4, 4)
    total = x @ x
    for name in ("sin", "cos", "tanh", "exp", "sigmoid", "neg", "abs", "erf"):
        total = total + getattr(x, name)()
    return total


def right(result):
    return torch.allclose(result, EXPECTED, atol=1e-4)


EXPECTED = program()


def good(*args):
    return original()(*args)


def bad(*args):
    return original()(*args) + 0.01


@pytest.mark.parametrize("via", ["dispatch_mode", "impl_override"])
def test_two_planted_culprits(via):
    replacements = {op: bad if op in ("aten::tanh", "aten::mm") else good for op in OPS}
    said = []
    found = bisect(program, right, replacements, via=via, progress=said.append)
    assert sorted(found.guilty) == ["aten::mm", "aten::tanh"]
    assert found.runs == len(said) <= 20 and str(found).startswith("guilty: aten::")
    assert right(program())


def test_culprits_that_are_wrong_only_together():
    flags = []

    def half(name):
        def replacement(*args):
            flags.append(name)
            return original()(*args)

        return replacement

    def fresh():
        flags.clear()
        return program()

    replacements = {op: half(op) for op in OPS}
    found = bisect(fresh, lambda _: not {"aten::sin", "aten::erf"} <= set(flags), replacements)
    assert sorted(found.guilty) == ["aten::erf", "aten::sin"]


def test_nothing_to_find_is_said():
    with pytest.raises(OphookError, match="passes with all 9 replacements"):
        bisect(program, right, dict.fromkeys(OPS, good))
    with pytest.raises(OphookError, match="fails although nothing is replaced"):
        bisect(program, lambda result: False, dict.fromkeys(OPS, good))


def test_an_exception_of_the_program_leaves_no_hook():
    def crash():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        bisect(crash, right, dict.fromkeys(OPS, bad))
    assert right(program())


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40), st.data())
def test_minimal_is_exact(count, data):
    culprits = data.draw(st.sets(st.integers(0, count - 1), min_size=1, max_size=4))
    assert set(minimal(list(range(count)), lambda items: culprits <= set(items))) == culprits


def test_moving_an_operator_elsewhere():
    x = torch.ones(3)
    from ophook_npu import hook

    with hook("aten::add_.Tensor", replace=on("cpu", torch.ops.aten.add_.Tensor)) as moved:
        y = x.add_(1)
    assert moved.hits == 1 and y is x and torch.equal(x, torch.full((3,), 2.0))


def test_an_operator_that_cannot_be_moved_is_named():
    from ophook_npu import hook

    library = torch.library.Library("bisected", "DEF")
    library.define("at_home(Tensor x) -> Tensor")
    library.impl("at_home", lambda x: x + 1, "CPU")
    op = torch.ops.bisected.at_home
    with hook("bisected::at_home", replace=on("meta", op.default)) as moved:
        with pytest.warns(UserWarning, match=r"bisected.at_home.default has no kernel on meta .* guilty or not"):
            result = op(torch.zeros(2))
    assert moved.hits == 1 and torch.equal(result, torch.ones(2))
