"""Hooks and observers under parts of torch that call operators in ways of their own: each program gives what it gives
without them, and what it calls is seen.
"""

from __future__ import annotations

import functools
import threading
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


def masked_encoder() -> Any:
    """Its fast path packs what a mask leaves into a nested tensor of the strided layout, which has no shape."""
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=True).eval()
    mask = torch.tensor([[False] * 4, [False, False, True, True]])
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of nested tensors being a prototype
        rows = encoder(torch.arange(64.0).reshape(2, 4, 8) / 60, src_key_padding_mask=mask)
    return rows[~mask]  # what stands in the others, only the fast path says


def strided() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nested = torch.nested.nested_tensor([X[:2], X])
        products = torch.matmul(nested * nested, nested.transpose(1, 2)).unbind()
        return *products, torch.nested.to_padded_tensor(nested * 2, 0.0)


def jagged_layer() -> Any:
    rows = torch.nested.nested_tensor([X[:2], X], layout=torch.jagged, requires_grad=True)
    return F.linear(rows, X).values()


class Own(torch.Tensor):
    pass


def own_class() -> Any:
    return ((X * 2).as_subclass(Own) * 3).as_subclass(torch.Tensor)


def rare_types() -> Any:
    """Types with few kernels, or none that computes."""
    halves = Z.to(torch.complex32).clone()
    bits = torch.arange(4, dtype=torch.uint8).view(torch.bits8).clone()
    return torch.view_as_real(halves).float(), bits.view(torch.uint8), (Z.to(torch.complex128) * 2).abs()


def compiled() -> Any:
    torch._dynamo.reset()
    return torch.compile(lambda x: x * 2, backend="aot_eager")(X.clone().requires_grad_())


PROGRAMS: dict[str, Callable[[], Any]] = {
    function.__name__: function
    for function in (
        *(hessian, conjugate, export, higher_order, flex_attention, traced, subclass, jagged, lazy, quantized),
        *(freed, forward_mode, gradient, masked_encoder, strided, jagged_layer, own_class, rare_types, compiled),
    )
}
if not hasattr(TorchDispatchMode, "supports_higher_order_operators"):  # torch 2.7 has them refused under any mode
    del PROGRAMS["higher_order"], PROGRAMS["flex_attention"]


def read(call: Any) -> None:
    for value in pytree.tree_leaves(call.result):
        plain = type(value) is torch.Tensor and value.layout == torch.strided and not value.is_nested
        if plain and not value.is_meta and value.dtype not in (torch.complex32, torch.bits8, torch.bool):
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


def test_a_nan_in_a_nested_tensor_is_found_where_it_is_made() -> None:
    with warnings.catch_warnings(), observe.Validate(mode="record") as validate:
        warnings.simplefilter("ignore")
        nested = torch.nested.nested_tensor([X[:2], X])
        torch.nested.to_padded_tensor(nested.sub(nested).div(0), 0.0)
    assert [problem.op for problem in validate.problems] == ["aten::div.Tensor"], validate.problems
    assert validate.inherited == 1


def test_classes_are_made_and_numbers_compiled_beside_idle_kernels() -> None:
    """Kernels of ``impl_override`` stay in the dispatcher while other threads exist."""
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    try:
        with ophook_npu.hook(["aten::*", "prims::*"], before=lambda call: None, via="impl_override"):
            own_class()
        torch.testing.assert_close(own_class(), X * 6)
        with ophook_npu.hook("aten::mul", replace=multiplied, via="custom_op") as hook:
            got = compiled()
        assert hook.hits == 1
        torch.testing.assert_close(got, X * 2)
    finally:
        done.set()
        other.join()
        ophook_npu.hooks.purge()


def test_what_other_processes_take_part_in_is_not_run_again(tmp_path: Path) -> None:
    import torch.distributed as dist
    from torch.distributed import _functional_collectives as functional

    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        with observe.Compare() as compare:
            dist.all_reduce(X.clone())
            functional.all_reduce(X, "sum", dist.group.WORLD) * 2
    finally:
        dist.destroy_process_group()
    assert compare.skipped["runs with other processes"] == 2, compare.skipped


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
