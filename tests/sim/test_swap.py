"""The story: AddCustom in place of aten::add in a model that nobody edited, on npu, eager and compiled."""

import pytest
import torch
import torchair

import ophook_npu


class Residual(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.a(x)) + x
        return y + self.b(y)


@pytest.fixture
def model() -> Residual:
    torch.manual_seed(0)
    return Residual().npu()


@pytest.fixture
def op():
    return ophook_npu.ops.register("npu_add_custom")


def run_counted(call) -> tuple[torch.Tensor, int]:
    """The result of ``call`` and how often npu_add_custom's kernel was launched meanwhile."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        result = call()
    return result, sum(event.count for event in profiler.key_averages() if event.key == "npu::npu_add_custom")


def test_eager(model: Residual, op) -> None:
    x = torch.randn(4, 8, generator=torch.Generator().manual_seed(1)).npu()
    want = model(x)
    with ophook_npu.swap("aten::add", op) as swap:
        got, count = run_counted(lambda: model(x))
    torch.testing.assert_close(got.cpu(), want.cpu(), rtol=0, atol=0)
    assert count == 2, swap.report()
    _, after = run_counted(lambda: model(x))
    assert after == 0


def test_training_in_eager_mode(model: Residual, op) -> None:
    x = torch.randn(4, 8, generator=torch.Generator().manual_seed(1)).npu()
    model(x).sum().backward()
    want = [parameter.grad.cpu().clone() for parameter in model.parameters()]
    model.zero_grad()
    with ophook_npu.swap("aten::add", op):
        model(x).sum().backward()
    for parameter, gradient in zip(model.parameters(), want, strict=True):
        torch.testing.assert_close(parameter.grad.cpu(), gradient)


@pytest.mark.parametrize("backend", ["torchair", "npugraph_ex"])
def test_compiled(model: Residual, op, backend: str) -> None:
    torch._dynamo.reset()
    x = torch.randn(4, 8, generator=torch.Generator().manual_seed(1)).npu()
    with torch.no_grad():
        want = model(x)
        # torchair before npugraph_ex: torch_npu 2.13 cannot import them the other way round.
        chosen = (
            torchair.get_npu_backend(compiler_config=torchair.CompilerConfig()) if backend == "torchair" else backend
        )
        compiled = torch.compile(model, backend=chosen, fullgraph=True, dynamic=False)
        with ophook_npu.swap("aten::add", op) as swap:
            got = compiled(x)
            got = compiled(x)
        torch.testing.assert_close(got.cpu(), want.cpu())
    assert swap.compiled >= 2 and not swap.missed, swap.report()


def test_a_hook_neither_sees_nor_replaces_what_a_simulated_operator_does_inside(op) -> None:
    x = torch.ones(4).npu()
    calls = []
    hook = ophook_npu.hook("aten::add", before=lambda call: calls.append(call), via="impl_override")
    with hook:
        for _ in range(50):
            op(x, x)  # its kernel runs on the stream's thread
        torch.npu.synchronize()
        torch.npu.empty_cache()  # waits for the device without letting go of Python's lock
        assert (x + x).cpu().tolist() == [2.0] * 4
    assert len(calls) == 1, calls
