"""Hooks and observers under parts of torch that call operators in ways of their own: each program gives what it gives
without them, and what it calls is seen.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

import ophook_npu
from ophook_npu import observe

X = torch.arange(20.0).reshape(4, 5) / 10
Z = torch.complex(X, X + 1)


def model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 6), nn.GELU(), nn.LayerNorm(6), nn.Linear(6, 2))


def hessian() -> Any:
    return torch.func.hessian(lambda x: (x * x.sin()).sum())(X[0])  # with tangents that are zero without memory


def conjugate() -> Any:
    return Z.conj() @ Z.mT, Z.conj().imag @ X.mT, Z.conj().imag * 2


def export() -> Any:
    rows = torch.export.Dim("rows")
    return torch.export.export(model(), (X,), dynamic_shapes=({0: rows},), strict=False).module()(X)


def higher_order() -> Any:
    ops = torch.ops.higher_order
    chosen = ops.cond(torch.tensor(True), lambda x: [x * 2], lambda x: [x * 3], (X,))
    return chosen, ops.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (torch.tensor(0), X), ())


def flex_attention() -> Any:
    from torch.nn.attention.flex_attention import flex_attention

    q = X[None, None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of running it uncompiled
        return flex_attention(q, q, q, score_mod=lambda score, *_: score * 0.5)


def traced() -> Any:
    graph = make_fx(lambda x: x * x + 1)(X)
    assert len(graph.graph.nodes) == 4  # nothing of an observer's
    return graph(X)


def subclass() -> Any:
    from torch.testing._internal.two_tensor import TwoTensor

    two = TwoTensor(X, X * 2)
    product = two * two
    return product.a, product.b


def jagged() -> Any:
    rows = [torch.ones(2, 3), torch.ones(4, 3) * 2]
    nested = torch.nested.nested_tensor(rows, layout=torch.jagged)
    return (nested * nested).sum(-1).values()


def lazy() -> Any:
    layer = nn.LazyLinear(3)
    layer(X)
    for parameter in layer.parameters():
        nn.init.constant_(parameter, 0.5)
    return layer(X) * 2


def quantized() -> Any:
    return torch.quantize_per_tensor(X, 0.1, 0, torch.qint8).dequantize() * 2


def freed() -> Any:
    x = torch.ones(3)
    x.untyped_storage().resize_(0)  # as FSDP leaves a parameter between two uses
    return list(x.view(3, 1).detach().shape)


def forward_mode() -> Any:
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(X, torch.ones_like(X))
        return forward_ad.unpack_dual(dual * dual).tangent


def gradient() -> Any:
    return torch.func.grad(lambda x: F.mse_loss(x * x, x))(X)


PROGRAMS: dict[str, Callable[[], Any]] = {
    function.__name__: function
    for function in (
        *(hessian, conjugate, export, higher_order, flex_attention, traced, subclass, jagged, lazy, quantized),
        *(freed, forward_mode, gradient),
    )
}
if not hasattr(TorchDispatchMode, "supports_higher_order_operators"):  # torch 2.7 has them refused under any mode
    del PROGRAMS["higher_order"], PROGRAMS["flex_attention"]


def read(call: Any) -> None:
    for value in pytree.tree_leaves(call.result):
        if type(value) is torch.Tensor and value.layout == torch.strided and not value.is_meta:
            value.abs().sum().item() if not value.is_quantized else value.int_repr()


def multiplied(x: Any, y: Any) -> Any:
    return x * y


def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a.unsqueeze(-1) * b.unsqueeze(0)).sum(1)


WATCHERS: dict[str, Callable[[Path], Any]] = {
    "Stats": lambda _: observe.Stats(),
    "Profile": lambda _: observe.Profile(),
    "Log": lambda folder: observe.Log(to=folder / "log.json"),
    "Trace": lambda _: observe.Trace(),
    "Validate": lambda _: observe.Validate(mode="raise"),
    "Compare": lambda _: observe.Compare(),
    "Digest": lambda _: observe.Digest(),
    "Capture": lambda folder: observe.Capture(folder / "calls"),
    "Port": lambda _: observe.Port(),
    "a hook that reads": lambda _: ophook_npu.hook("aten::sin", after=read),
    **{
        f"mul by {via}": lambda _, via=via: ophook_npu.hook("aten::mul", replace=multiplied, via=via)
        for via in ("dispatch_mode", "impl_override", "dynamo", "custom_op")
    },
    **{
        f"mm by {via}": lambda _, via=via: ophook_npu.hook("aten::mm", replace=product, via=via)
        for via in ("dispatch_mode", "impl_override")
    },
}


@functools.cache
def result(program: str) -> Any:
    return PROGRAMS[program]()


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("watcher", WATCHERS)
def test_a_program_gives_what_it_gives_unwatched(program: str, watcher: str, tmp_path: Path) -> None:
    want = result(program)
    with WATCHERS[watcher](tmp_path):
        got = PROGRAMS[program]()
    torch.testing.assert_close(got, want)


@pytest.mark.parametrize(
    "program, op, calls", [("higher_order", "aten::mul.Tensor", 4), ("flex_attention", "aten::mul.Tensor", 1)]
)
def test_what_a_higher_order_operator_calls_is_seen(program: str, op: str, calls: int) -> None:
    if program not in PROGRAMS:
        pytest.skip("this torch has no such operators under a mode")
    with observe.Stats() as stats:
        PROGRAMS[program]()
    assert stats.by_operator[op]["calls"] >= calls, stats.by_operator


def test_a_handler_reads_what_a_conjugate_stands_for() -> None:
    sums: list[complex] = []
    with ophook_npu.hook("aten::_conj", after=lambda call: sums.append(call.result.sum().item()), via="dispatch_mode"):
        torch.tensor([1 + 2j, 3 - 1j]).conj()
    assert sums == [4 - 1j]


def test_sizes_that_a_tracer_leaves_open_are_its_examples() -> None:
    with observe.Stats() as stats, observe.Profile() as profile:
        export()
    assert any("4x5" in shapes for entry in stats.by_operator.values() for shapes in entry["shapes"])
    assert "aten::" in profile.report()


@pytest.mark.parametrize(
    "program, said", [("subclass", "with a TwoTensor"), ("gradient", "forward mode"), ("forward_mode", "forward mode")]
)
def test_a_custom_operator_says_where_it_cannot_stand_in(program: str, said: str) -> None:
    with ophook_npu.hook("aten::mul", replace=multiplied, via="custom_op") as hook:
        PROGRAMS[program]()
    assert any(said in miss for miss in hook.misses), hook.misses
