"""Hooks on npu:0, real torch_npu over the simulated Ascend: aten::mm observed and replaced, forward and backward."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

import ophook_npu
from ophook_npu.hooks import _compat

EAGER = ("dispatch_mode", "impl_override", "backend")


class Product(nn.Module):
    def forward(self, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return torch.mm(x, w)


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.product = Product()

    def forward(self, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.product(x, w))


@pytest.fixture
def xw() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    x, w = (torch.randn(shape, generator=generator).npu().requires_grad_() for shape in ((3, 4), (4, 5)))
    return x, w


def step(model: Callable[..., torch.Tensor], xw: tuple[torch.Tensor, torch.Tensor]) -> list[torch.Tensor]:
    """Result and gradients, on the CPU."""
    y = model(*xw)
    return [t.detach().cpu() for t in (y, *torch.autograd.grad(y.square().sum(), xw))]


def doubled(xw: tuple[torch.Tensor, torch.Tensor]) -> list[torch.Tensor]:
    """What step gives if mm returns twice its product, in backward too."""
    x, w = (t.detach().cpu() for t in xw)
    y = torch.tanh(2 * x @ w)
    grad = 2 * y * (1 - y * y)
    return [y, 2 * grad @ w.t(), 2 * x.t() @ grad]


def tables() -> list[str]:
    return [
        torch._C._dispatch_dump_table(name) + torch._C._dispatch_dump(name) for name in ("aten::mm", "aten::mm.out")
    ]


@pytest.fixture(autouse=True)
def nothing_is_left(xw: tuple[torch.Tensor, torch.Tensor]):
    """The dispatch tables, the stance and the results after each test are those before it."""
    torch._dynamo.reset()
    ophook_npu.hooks.purge()
    before, stance, native = tables(), _compat.get_stance(), step(Model(), xw)
    yield
    torch._dynamo.reset()
    ophook_npu.hooks.purge()
    assert tables() == before
    assert _compat.get_stance() == stance and not _compat.modes()
    for got, want in zip(step(Model(), xw), native, strict=True):
        assert torch.equal(got, want)


@pytest.mark.parametrize("via", EAGER)
def test_observed_forward_and_backward(via: str, xw) -> None:
    seen = []
    want = step(Model(), xw)
    with ophook_npu.hook("aten::mm", before=lambda call: seen.append((call.phase, call.args[0].device.type)), via=via):
        got = step(Model(), xw)
    assert seen == [("forward", "npu"), ("backward", "npu"), ("backward", "npu")]
    assert all(torch.equal(g, w) for g, w in zip(got, want, strict=True))
    step(Model(), xw)
    assert len(seen) == 3


@pytest.mark.parametrize("via", EAGER)
def test_replaced_forward_and_backward(via: str, xw) -> None:
    with ophook_npu.hook("aten::mm", replace=lambda a, b: ophook_npu.original()(a, b) * 2, via=via) as h:
        got = step(Model(), xw)
    assert h.hits == 3
    torch.testing.assert_close(got, doubled(xw))


def test_replaced_by_numpy_on_the_host(xw) -> None:
    def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(2 * (a.cpu().numpy() @ b.cpu().numpy())).to(a.device)

    with ophook_npu.hook("aten::mm", replace=product, via="impl_override") as h:
        got = step(Model(), xw)
    assert h.hits == 3
    torch.testing.assert_close(got, doubled(xw))


def test_dynamo_forward_and_backward_of_a_warm_function(xw) -> None:
    compiled = torch.compile(Model(), backend="aot_eager", fullgraph=True)
    native = step(compiled, xw)
    seen = []
    with ophook_npu.hook("aten::mm", before=lambda call: seen.append(call.phase), via="dynamo"):
        observed = step(compiled, xw)
    assert len(seen) == 3
    assert all(torch.equal(g, w) for g, w in zip(observed, native, strict=True))
    with ophook_npu.hook("aten::mm", replace=lambda a, b: torch.mm(a, b) * 2, via="dynamo") as h:
        got = step(compiled, xw)
    assert h.hits == 3
    torch.testing.assert_close(got, doubled(xw))
    assert all(torch.equal(g, w) for g, w in zip(step(compiled, xw), native, strict=True))


@pytest.mark.parametrize("backend", ["aot_eager", "torchair", "npugraph_ex"])
def test_pattern_rewrite_brings_its_own_gradient(backend: str, xw) -> None:
    import torchair  # before npugraph_ex: torch_npu 2.13 cannot import them the other way round

    chosen = torchair.get_npu_backend(compiler_config=torchair.CompilerConfig()) if backend == "torchair" else backend
    compiled = torch.compile(Model(), backend=chosen, fullgraph=True)
    pattern = [torch.ones(3, 4), torch.ones(4, 5)]
    with ophook_npu.hook(
        lambda a, b: torch.mm(a, b), replace=lambda a, b: torch.mm(a, b) * 2, via="pattern_rewrite",
        example_inputs=pattern,
    ) as h:  # fmt: skip
        got = step(compiled, xw)
    assert h.hits == 1
    torch.testing.assert_close(got, doubled(xw))


def test_module_hook_brings_its_own_gradient(xw) -> None:
    model, seen = Model(), []
    native = step(model, xw)
    with ophook_npu.hook(model.product, after=lambda call: seen.append(call.phase), via="module_hook"):
        observed = step(model, xw)
    assert "forward" in seen
    assert all(torch.equal(g, w) for g, w in zip(observed, native, strict=True))
    with ophook_npu.hook(model.product, replace=lambda a, b: torch.mm(a, b) * 2, via="module_hook") as h:
        got = step(model, xw)
    assert h.hits == 1
    torch.testing.assert_close(got, doubled(xw))
    assert all(torch.equal(g, w) for g, w in zip(step(model, xw), native, strict=True))


def test_python_in_a_recorded_graph_warns() -> None:
    """npugraph_ex runs Python once, while it records; what is replayed has the operators only."""
    import torchair  # noqa: F401  # before npugraph_ex: torch_npu 2.13 cannot import them the other way round

    torch._dynamo.reset()
    calls = []

    def counting(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        calls.append(x.shape)
        return ophook_npu.original()(x, w) * 2

    x, w = torch.randn(3, 4).npu(), torch.randn(4, 5).npu()
    compiled = torch.compile(torch.mm, backend="npugraph_ex", dynamic=False)
    with ophook_npu.hook("aten::mm", replace=counting, via="dynamo"):
        with pytest.warns(UserWarning, match="being recorded into a graph: the hook runs now, and not at a replay"):
            results = [compiled(x, w).cpu() for _ in range(2)]
        recorded = len(calls)
        results += [compiled(x, w).cpu() for _ in range(3)]
    assert len(calls) == recorded, "replays ran Python"
    for result in results:
        torch.testing.assert_close(result, x.cpu() @ w.cpu() * 2)
    torch._dynamo.reset()
