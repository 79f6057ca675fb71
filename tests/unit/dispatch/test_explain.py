"""What the trace says ran is what runs: against torch's profiler, against results, against hand-made kernels."""

from __future__ import annotations

import threading

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from ophook_npu import OphookError, dispatch, hook, original


class Pass(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


@pytest.fixture(autouse=True)
def _torch_as_found():
    found = torch._ops.OpOverload._get_dispatch
    FakeTensorMode.cache_clear()  # a fake result that is remembered needs no meta kernel
    yield
    assert torch._ops.OpOverload._get_dispatch is found
    assert not torch._C._dispatch_tls_is_dispatch_key_included(torch._C.DispatchKey.PythonDispatcher)


def keys(explanation):
    return [key for _, key in explanation.chain]


x = torch.randn(3, 3, requires_grad=True)
y = torch.randn(3, 3)


def test_add_with_gradient():
    found = dispatch.explain(torch.add, x, y)
    assert found.agrees and found.op == "aten::add.Tensor"
    assert keys(found) == ["AutogradCPU", "CPU"]
    assert found.args["self"] == ("AutocastCPU", "AutogradCPU", "ADInplaceOrView", "CPU")
    assert "BackendSelect" in found.include and "AutocastCPU" in found.exclude
    assert found.steps[0].note == "records AddBackward0"
    assert torch.equal(found.result, x + y) and found.result.grad_fn is not None
    text = str(found)
    assert "self brings AutocastCPU, AutogradCPU, ADInplaceOrView, CPU" in text
    assert "each of the 2 kernels is the one that key sets and table predict" in text


@pytest.mark.parametrize(
    ("situation", "op", "chain"),
    [
        ("", "aten::mm", ["AutogradCPU", "CPU"]),
        ("inference", "aten::mm", ["CPU"]),
        ("inference_mode", "aten::add_.Tensor", ["ADInplaceOrView", "CPU"]),
        ("meta", "aten::mm", ["AutogradMeta", "Meta"]),
        ("autocast", "aten::mm", ["AutocastCPU", "AutogradCPU", "CPU"]),
        ("mode", "aten::mm", ["PythonTLSSnapshot", "AutogradCPU", "Python", "CPU"]),
        ("fake", "aten::mm", ["PythonTLSSnapshot", "AutogradCPU", "Python", "Meta"]),
        ("vmap", "aten::sin", ["FuncTorchDynamicLayerFrontMode", "FuncTorchBatched", "FuncTorchDynamicLayerBackMode"]),
        ("conj", "aten::sin", ["AutogradCPU", "Conjugate", "CPU"]),
        ("neg", "aten::sin", ["AutogradCPU", "Negative", "CPU"]),
        ("sparse", "aten::mm", ["AutogradCPU", "SparseCPU"]),
        ("", "aten::empty.memory_format", ["BackendSelect"]),
    ],
)
def test_situations(situation, op, chain):
    found = dispatch.why(op, situation)
    assert found.error is None and found.agrees, str(found)
    assert keys(found)[: len(chain)] == chain


def test_linear_is_taken_apart_only_above_autograd():
    found = dispatch.explain(nn.functional.linear, y, x, torch.ones(3))
    assert keys(found) == ["AutogradCPU"]
    assert found.steps[0].row.kind == "composite implicit"
    assert "aten::addmm" in {step.op for step in found.steps if step.depth == 1}


def test_mode_is_named():
    with Pass():
        found = dispatch.explain(torch.mm, x, y)
    assert found.modes == ["Pass"]
    assert "calls Pass.__torch_dispatch__" in str(found)


def program(name):
    torch.manual_seed(0)
    if name == "scalar":
        return lambda: (y + 1) * 2.5 * True
    if name == "backward":
        return lambda: (torch.mm(x, y).relu() + 1).sum().backward()
    if name == "transformer":
        layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1)
        data = torch.randn(4, 2, 16)
        return lambda: layer(data).sum().backward()
    if name == "vmap":
        return lambda: torch.vmap(torch.func.grad(lambda a: (a.sin() * a).sum()))(y)
    if name == "hessian":
        return lambda: torch.func.hessian(lambda a: (a**3).sum())(y[0])
    if name == "conv":
        layer = nn.Conv2d(3, 4, 3)
        return lambda: layer(torch.ones(1, 3, 8, 8)).sum().backward()
    if name == "lstm":
        layer = nn.LSTM(3, 4)
        return lambda: layer(y)[0].sum().backward()
    return lambda: y[y > 0].nonzero().view(-1).tolist()


PROGRAMS = ("scalar", "backward", "transformer", "vmap", "hessian", "conv", "lstm", "index")


@pytest.mark.parametrize("name", PROGRAMS)
def test_calls_are_those_that_the_profiler_sees_without_the_trace(name):
    run = program(name)
    run()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        run()
    # profile.events() folds an operator that calls one of the same name; the raw events do not.
    events = profile.profiler.kineto_results.events()
    bare = [event.name() for event in events if "::" in event.name() and event.name().islower()]
    with dispatch.trace() as watched:
        run()
    seen = [step.op.split(".")[0] for step in watched.calls]
    assert sorted(seen) == sorted(bare)
    assert [step for step in watched.steps if step.how == "unexplained"] == []


def test_results_and_gradients_are_untouched():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1)
    data = torch.randn(4, 2, 16)

    def step():
        torch.manual_seed(1)
        layer.zero_grad()
        loss = layer(data).square().mean()
        loss.backward()
        return [loss.detach(), *(p.grad.clone() for p in layer.parameters())]

    expected = step()
    found = dispatch.explain(step)
    assert found.agrees
    assert all(torch.equal(a, b) for a, b in zip(found.result, expected, strict=True))


def test_kernels_written_here_are_reached_at_the_key_that_is_told():
    reached = []
    library = torch.library.Library("explaintest", "DEF")
    library.define("f(Tensor x) -> Tensor")

    def kernel(key):
        def run(x):
            reached.append(key)
            if key == "AutogradCPU":
                with torch._C._AutoDispatchBelowAutograd():
                    return torch.ops.explaintest.f(x)
            return x.clone()

        return run

    for key in ("AutogradCPU", "CPU", "Meta"):
        library.impl("f", kernel(key), key)
    try:
        found = dispatch.explain(torch.ops.explaintest.f, x)
        assert found.agrees
        assert [s.key for s in found.steps if s.op == "explaintest::f"] == reached == ["AutogradCPU", "CPU"]
        reached.clear()
        assert dispatch.explain(torch.ops.explaintest.f, y).agrees and reached == ["AutogradCPU", "CPU"]
        reached.clear()
        with torch.inference_mode():
            found = dispatch.explain(torch.ops.explaintest.f, torch.ones(2))
        assert [s.key for s in found.steps if s.op == "explaintest::f"] == reached == ["CPU"]
    finally:
        library._destroy()


def test_a_wrong_prediction_is_not_called_agreement():
    found = dispatch.explain(torch.add, x, y)
    found.steps[0].how = "unexplained"
    assert not found.agrees and "1 of 2 kernels are not the ones" in str(found)


def test_error_is_told_not_raised():
    found = dispatch.explain(torch.mm, x, torch.ones(2, 2))
    assert found.error.startswith("RuntimeError: mat1 and mat2 shapes")
    assert [s.error is not None for s in found.steps] == [True, True]


def test_traces_do_not_nest_and_leave_after_an_exception():
    with pytest.raises(ZeroDivisionError), dispatch.trace():
        raise ZeroDivisionError
    with dispatch.trace(), pytest.raises(OphookError, match="another trace is running"), dispatch.trace():
        pass


def test_answers_remembered_by_torch_do_not_hide_calls():
    from torch._dispatch.python import enable_python_dispatcher

    with enable_python_dispatcher():
        torch.add(y, y)
    assert dispatch.explain(torch.add, y, y).agrees


def test_kernels_below_that_of_a_hook_are_seen():
    over = threading.Event()
    other = threading.Thread(target=over.wait)
    other.start()  # while it lives, the kernel of the hook stays when the hook is off
    try:
        with hook("aten::mm", replace=lambda a, b: original()(a, b), via="impl_override") as on:
            found = dispatch.explain(torch.mm, x, y)
            assert keys(found) == ["AutogradCPU", "BackendSelect", "CPU"] and found.agrees, str(found)
        assert on.hits == 1
        for function in (torch.mm, torch.vmap(torch.mm, (None, 0))):
            found = dispatch.explain(function, x, y if function is torch.mm else torch.stack([y, y]))
            assert found.agrees, str(found)
            assert {"BackendSelect", "CPU"} <= {s.key for s in found.steps if s.op in ("aten::mm", "aten::bmm")}
    finally:
        over.set()
        other.join()


def test_absent_device_is_computed_and_said_so():
    found = dispatch.why("aten::add", "cuda, requires_grad" if not torch.cuda.is_available() else "xpu, requires_grad")
    assert not found.ran and not found.agrees and found.steps == []
    assert found.considered[0] in ("AutogradCUDA", "AutogradXPU")
    assert "nothing ran: there is no" in str(found)


def test_words_and_arguments():
    with pytest.raises(OphookError, match="unknown word 'vmp', did you mean 'vmap'"):
        dispatch.why("aten::mm", "vmp")
    with pytest.raises(OphookError, match="cannot read"):
        dispatch.why("aten::mm", "", "q7[2]")
    found = dispatch.why("aten::add", "requires_grad", "f64[2,3], f64[3], alpha=2")
    assert found.result.shape == (2, 3) and found.result.dtype == torch.float64


@pytest.mark.parametrize(
    "op", ["aten::convolution", "aten::embedding", "aten::cat", "aten::gather", "aten::native_layer_norm"]
)
def test_examples_are_found_by_trying(op):
    found = dispatch.why(op, "requires_grad")
    assert found.error is None and found.agrees, str(found)
