"""Graphs that torchair compiles, executed by the graph engine, against the same program on the CPU."""

import copy
import gc
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
import torchair
from torch import nn

BACKEND = torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())


def randn(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape) + len(shape)))


def randint(low: int, high: int, *shape: int) -> torch.Tensor:
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(high))


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.qkv, self.out = nn.LayerNorm(8), nn.Linear(8, 24), nn.Linear(8, 8)
        self.up, self.down = nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = (t.view(batch, length, 2, 4).transpose(1, 2) for t in self.qkv(self.norm(x)).split(8, -1))
        weights = torch.softmax(q @ k.transpose(-1, -2) / 2.0, -1)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(x), approximate="tanh"))


a, b = randn(4, 8), randn(4, 8) + 0.1
PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[torch.Tensor, ...]]] = {
    "add": (lambda x, y: x + y, (a, b)),
    "add with alpha": (lambda x, y: torch.add(x, y, alpha=2.5), (a, b)),
    "broadcast": (lambda x, y: x * y - 2, (a, randn(8))),
    "divide": (lambda x, y: x / y, (a, b)),
    "fp16": (lambda x, y: x + y * 3, (a.half(), b.half())),
    "bf16 matmul": (lambda x, y: torch.relu(x @ y), (a.bfloat16(), randn(8, 3).bfloat16())),
    "int64": (lambda x, y: (x // y, x % y, x + y), (randint(1, 9, 4, 8), randint(1, 7, 4, 8))),
    "comparison": (lambda x, y: (x > y, (x > 0) & (y > 0), torch.where(x > y, x, y)), (a, b)),
    "unary": (lambda x: (torch.exp(x), torch.rsqrt(x.abs() + 1), torch.tanh(x), torch.sigmoid(x), F.silu(x)), (a,)),
    "cast": (lambda x: x.half().float() + x.int(), (a,)),
    "mm": (torch.mm, (a, randn(8, 3))),
    "addmm": (torch.addmm, (randn(3), a, randn(8, 3))),
    "bmm": (torch.bmm, (randn(4, 3, 8), randn(4, 8, 3))),
    "linear": (nn.Linear(8, 6), (randn(2, 4, 8),)),
    "sum": (lambda x: (x.sum(), x.sum(1), x.mean(0, keepdim=True)), (a,)),
    "extremes": (lambda x: (x.max(1), x.argmax(1), x.topk(3)), (a,)),
    "softmax": (lambda x: (torch.softmax(x, -1), torch.log_softmax(x, 0)), (a,)),
    "layer norm": (nn.LayerNorm(8), (a,)),
    "losses": (lambda x, t: (F.cross_entropy(x, t), F.mse_loss(x, x * 2)), (a, randint(0, 8, 4))),
    "reshape": (lambda x: (x.reshape(-1, 4) * 2, x.view(x.size(0), 2, 4) + 1, x.unsqueeze(1).expand(-1, 3, -1)), (a,)),
    "transpose": (lambda x: (x.t().contiguous(), x.permute(1, 0) + 1), (a,)),
    "join": (lambda x, y: (torch.cat([x, y], 1), torch.stack([x, y], 1)), (a, b)),
    "split": (lambda x: torch.split(x, [3, 5], 1), (a,)),
    "slice": (lambda x: (x[1:3, ::2] + 1, x[:, 2] + 1), (a,)),
    "index": (lambda x, i: (x.index_select(0, i), x.gather(1, i.view(2, 1))), (a, torch.tensor([0, 2]))),
    "embedding": (nn.Embedding(10, 8), (randint(0, 10, 4, 5),)),
    "made in the graph": (
        lambda x: x + torch.arange(8, device=x.device) + torch.full((8,), 3.0, device=x.device),
        (a,),
    ),
    "pad, triangle, cumulative sum": (lambda x: (F.pad(x, (1, 2)), torch.tril(x), x.cumsum(1), x.flip(0)), (a,)),
    "sizes as numbers": (lambda x: x * x.size(0) + x.numel(), (a,)),
    "input passed through": (lambda x: (x, x + 1), (a,)),
    "one result twice": (lambda x: (x * 2, x * 2, (x * 2) + 1), (a,)),
    "zero elements": (lambda x: (x + 1, x.sum()), (torch.empty(0, 8),)),
    "0-d": (lambda x, y: x + y, (torch.tensor(2.0), torch.tensor(3.0))),
    "attention block": (Attention(), (randn(4, 3, 8),)),
}
ISSUE_481 = pytest.mark.torch_npu("2.13", "torchair makes a MatMul of more than two dimensions (its issue 481)")


def compiled(function: Callable[..., Any], dynamic: bool) -> Callable[..., Any]:
    torch._dynamo.reset()
    return torch.compile(function, backend=BACKEND, fullgraph=True, dynamic=dynamic)


def flat(result: Any) -> list[torch.Tensor]:
    if isinstance(result, torch.Tensor):
        return [result]
    return [tensor for part in result for tensor in flat(part)]


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=ISSUE_481 if name == "attention block" else ()) for name in PROGRAMS]
)
def test_equals_the_cpu(name: str, dynamic: bool) -> None:
    function, inputs = PROGRAMS[name]
    on_npu = copy.deepcopy(function).npu() if isinstance(function, nn.Module) else function
    graph = compiled(on_npu, dynamic)
    with torch.no_grad():
        expected = flat(function(*inputs))
        for _ in range(2):  # the second run reuses the compiled graph and its memory
            results = flat(graph(*(tensor.npu() for tensor in inputs)))
            assert [(r.device.type, r.shape, r.dtype) for r in results] == [("npu", e.shape, e.dtype) for e in expected]
            for result, reference in zip(results, expected, strict=True):
                torch.testing.assert_close(result.cpu(), reference, rtol=1.3e-6, atol=1e-5)


def test_a_dynamic_graph_serves_all_sizes() -> None:
    torch._dynamo.utils.counters.clear()
    graph = compiled(lambda x, y: torch.softmax(x @ y, -1).sum(0).reshape(-1, 2), dynamic=True)
    for rows in (3, 17, 256, 4):
        x, y = randn(rows, 8), randn(8, 6)
        torch.testing.assert_close(graph(x.npu(), y.npu()).cpu(), torch.softmax(x @ y, -1).sum(0).reshape(-1, 2))
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1


def test_a_dynamic_graph_gives_what_the_host_computes() -> None:
    """Shapes and what is made of them are known before the device starts."""

    def made(t: torch.Tensor) -> list[torch.Tensor]:
        n = t.shape[0]
        return [t + 1, torch.arange(n, device=t.device), torch.full((n,), n, device=t.device), t.new_ones(2, 3)]

    for where in ("npu", "cpu"):
        graph = compiled(made, dynamic=True)
        for rows in (3, 5, 2000):  # the last is larger than what the host computes
            results = flat(graph(torch.zeros(rows, 2).to(where)))
            for result, expected in zip(results, made(torch.zeros(rows, 2)), strict=True):
                assert result.dtype == expected.dtype and torch.equal(result.cpu(), expected)
    only = compiled(lambda t: (torch.full((2, 3), 5.0, device=t.device), t.new_ones(4)), dynamic=True)
    full, ones = flat(only(torch.zeros(3).npu()))
    assert torch.equal(full.cpu(), torch.full((2, 3), 5.0)) and torch.equal(ones.cpu(), torch.ones(4))


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_norms_and_deviations(dynamic: bool) -> None:
    norm, x = torch.linalg.vector_norm, randn(4, 8)
    functions: list[Callable[[torch.Tensor], list[torch.Tensor]]] = [
        lambda x: [norm(x), norm(x, 2, 1), norm(x, 2, (0, 1)), norm(x, 3, None, True), norm(x, 0.5, 1, True)],
        lambda x: [norm(x, float("inf")), norm(x, float("inf"), 1), norm(x, float("inf"), None, True)],
        lambda x: [norm(x, float("-inf")), norm(x, float("-inf"), 1), norm(x, float("-inf"), 0, True)],
        lambda x: [torch.std(x), torch.std(x, None, keepdim=True), torch.std(x, 1), torch.std(x, (0, 1))],
    ]
    for function in functions:
        for result, expected in zip(compiled(function, dynamic)(x.npu()), function(x), strict=True):
            torch.testing.assert_close(result.cpu(), expected)


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_what_an_operator_does_not_take_is_refused(dynamic: bool) -> None:
    with pytest.raises(RuntimeError, match=r"\(Erf\): its input must be a floating-point number, it is int64\[-?\d\]"):
        compiled(torch.erf, dynamic)(torch.arange(3).npu())
    with pytest.raises(RuntimeError, match=r"\(GatherV2\): it gathers along an axis, its input x is float32\[\]"):
        compiled(lambda x, i: torch.index_select(x, 0, i), dynamic)(torch.tensor(1.0).npu(), torch.tensor([0]).npu())


def test_a_graph_that_is_gone_ends_no_process(run_sim) -> None:
    """The engine gives memory back when the kernels in the queue are done with it, and the check of order knows."""
    code = """
import torch, torch_npu, torchair
from torchair.core._backend import finalize_graph_engine
x = torch.full((1024, 1024), 0.25).npu()
graph = torch.compile(lambda x: x @ x @ x @ x + torch.tensor([1.5]).npu() + torch.arange(x.shape[0], device=x.device),
                      backend=torchair.get_npu_backend(), dynamic=True)
results = [graph(x) for _ in range(6)]
finalize_graph_engine()
results += [graph(x) for _ in range(6)]
print({result[0, 0].item() for result in results})
for _ in range(6):
    graph(x)  # nobody keeps the result
torch.npu.synchronize()
"""
    done = run_sim(code, anew=True, OPHOOK_SIM_CHECK_ORDER="1", TASK_QUEUE_ENABLE="0")
    assert done.stdout.split() == [f"{{{2.0**22 + 1.5}}}"], done.stdout + done.stderr
    assert done.returncode == 0 and "nothing orders them" not in done.stderr, done.stderr


def test_inputs_that_the_program_writes() -> None:
    def accumulate(total: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        total.add_(x)
        return total * 2

    graph = compiled(accumulate, dynamic=False)
    total, reference = torch.zeros(4, 8).npu(), torch.zeros(4, 8)
    for step in range(3):
        x = randn(4, 8) + step
        torch.testing.assert_close(graph(total, x.npu()).cpu(), accumulate(reference, x))
        torch.testing.assert_close(total.cpu(), reference)


def test_training_has_the_cpus_losses() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.LayerNorm(32), nn.Linear(32, 8))
    x, target = randn(64, 16), randint(0, 8, 64)

    def train(net: nn.Module, x: torch.Tensor, target: torch.Tensor, compile_it: bool) -> list[float]:
        def loss_of(x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
            return F.cross_entropy(net(x), target)

        step = compiled(loss_of, dynamic=False) if compile_it else loss_of
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        losses = []
        for _ in range(20):
            optimizer.zero_grad()
            loss = step(x, target)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    on_npu = train(copy.deepcopy(model).npu(), x.npu(), target.npu(), compile_it=True)
    on_cpu = train(model, x, target, compile_it=False)
    assert on_cpu[-1] < 0.8 * on_cpu[0]
    assert on_npu == pytest.approx(on_cpu, rel=1e-6)


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_memory_of_a_graph_comes_back(dynamic: bool) -> None:
    graph = compiled(lambda x: torch.relu(x @ x) @ x + x, dynamic)
    x = randn(256, 256).npu()
    graph(x)
    torch.npu.synchronize()
    gc.collect()
    before = torch.npu.memory_allocated()
    one = torch.empty_like(x)
    size_of_one = torch.npu.memory_allocated() - before
    del one
    for _ in range(20):
        result = graph(x)
    torch.npu.synchronize()
    assert torch.npu.memory_allocated() - before == size_of_one
    del result
    gc.collect()
    assert torch.npu.memory_allocated() == before


def test_results_of_earlier_runs_are_not_overwritten() -> None:
    graph = compiled(lambda x: (x + 1) * 2, dynamic=False)
    inputs = [randn(64, 64) + step for step in range(5)]
    results = [graph(x.npu()) for x in inputs]
    for x, result in zip(inputs, results, strict=True):
        torch.testing.assert_close(result.cpu(), (x + 1) * 2)


def test_a_graph_on_a_side_stream_is_ordered_with_its_neighbours() -> None:
    graph = compiled(lambda x: torch.relu(x @ x), dynamic=False)
    stream = torch.npu.Stream()
    with torch.npu.stream(stream):
        x = torch.full((128, 128), 0.5).npu()
        x.mul_(2)
        y = graph(x)
        z = y + 1
    stream.synchronize()
    torch.testing.assert_close(z.cpu(), torch.full((128, 128), 129.0))
