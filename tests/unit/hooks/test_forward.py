"""Hooks on modules and ops.modules.replace share one stack for each forward, so they may be undone in any order."""

from __future__ import annotations

import dataclasses
import gc
import itertools
import weakref
from collections.abc import Callable

import pytest
import torch

import ophook_npu
from ophook_npu.hooks import _forward
from ophook_npu.ops.modules import replace


def times_ten(module: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x) * 10


def times_hundred(module: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x) * 100


def plus_one(x: torch.Tensor) -> torch.Tensor:
    return ophook_npu.original()(x) + 1


X = torch.ones(2)


def test_two_replacements_undone_in_the_order_they_came() -> None:
    model = torch.nn.Sequential(torch.nn.ReLU())
    first = replace(model, {"ReLU": times_ten})
    second = replace(model, {"ReLU": times_hundred})
    assert model(X).tolist() == [100, 100]
    first.restore()
    assert model(X).tolist() == [100, 100]
    second.restore()
    assert model(X).tolist() == [1, 1]
    assert "forward" not in vars(model[0])
    first.restore()
    assert model(X).tolist() == [1, 1]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
@pytest.mark.parametrize("own_forward", [False, True])
def test_hooks_and_replacements_in_any_order(order: tuple[int, ...], own_forward: bool) -> None:
    model = torch.nn.Sequential(torch.nn.ReLU())
    if own_forward:
        model[0].forward = lambda x: x + 2
    found = vars(model[0]).get("forward")
    of_class = torch.nn.ReLU.__dict__["forward"]
    native = model(X).tolist()[0]

    def on_class() -> Callable[[], object]:
        return ophook_npu.hook(torch.nn.ReLU, replace=plus_one).enable().disable

    def on_module() -> Callable[[], object]:
        return ophook_npu.hook(model[0], replace=plus_one).enable().disable

    undo = [replace(model, {"ReLU": times_ten}).restore, on_module(), on_class()]
    # The class's hook sees calls that reach the class's forward: not those of a module with a forward of its own.
    wanted = {(): 11, (0,): native + 1 + (not own_forward), (1,): 10, (2,): 11}
    wanted |= {(0, 1): native + (not own_forward), (0, 2): native + 1, (1, 2): 10, (0, 1, 2): native}
    for position in range(4):
        assert model(X).tolist()[0] == wanted[tuple(sorted(order[:position]))]
        if position < 3:
            undo[order[position]]()
    assert vars(model[0]).get("forward") is found
    assert torch.nn.ReLU.__dict__["forward"] is of_class
    assert not _forward._stacks


def test_a_model_thrown_away_while_replaced_is_let_go() -> None:
    model = torch.nn.Sequential(torch.nn.ReLU())
    there = weakref.ref(model[0])
    replace(model, {"ReLU": times_ten})
    del model
    gc.collect()
    assert there() is None and not _forward._stacks


def test_a_module_without_a_hash() -> None:
    @dataclasses.dataclass
    class Plain(torch.nn.Module):
        scale: float = 2.0

        def __post_init__(self) -> None:
            super().__init__()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * self.scale

    module = Plain()
    with ophook_npu.hook(module, replace=plus_one):
        assert module(X).tolist() == [3, 3]
    assert module(X).tolist() == [2, 2]


def test_what_somebody_else_put_on_top_stays() -> None:
    module = torch.nn.ReLU()
    hooked = ophook_npu.hook(module, replace=plus_one).enable()
    inner = module.forward
    module.forward = lambda x: inner(x) * 5
    with pytest.warns(RuntimeWarning, match=r"\[forward of ReLU\] something else replaced it"):
        hooked.disable()
    assert module(X).tolist() == [10, 10]
