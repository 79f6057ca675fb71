"""Hooks inside compiled functions: dynamo, pattern_rewrite, custom_op, swap; each with interpreters and with
Inductor."""

from __future__ import annotations

import pytest
import torch
from test_contract import is_replaced, numpy_mm

import ophook_npu
from ophook_npu import OphookError
from ophook_npu.hooks import _compat

BACKENDS = ("eager", "aot_eager", "inductor")


@pytest.fixture(autouse=True)
def _fresh_dynamo():
    torch._dynamo.reset()
    found = torch._dynamo.eval_frame._callback_from_stance
    yield
    assert torch._dynamo.eval_frame._callback_from_stance is found


@pytest.fixture
def xw():
    torch.manual_seed(0)
    return torch.randn(4, 5, requires_grad=True), torch.randn(5, 6, requires_grad=True)


@pytest.mark.parametrize("backend", BACKENDS)
def test_dynamo_sees_forward_and_backward_of_a_warm_function(backend, xw):
    x, w = xw
    f = torch.compile(lambda a, b: torch.relu(a @ b * 2) + 1, backend=backend, fullgraph=True)
    want = torch.autograd.grad(f(x, w).sum(), [x, w])
    phases = []
    with ophook_npu.hook("aten::mm", before=lambda c: phases.append(c.phase), via="dynamo") as h:
        got = torch.autograd.grad(f(x, w).sum(), [x, w])
    assert phases == ["forward", "backward", "backward"]
    for g, w_ in zip(got, want, strict=True):
        torch.testing.assert_close(g, w_)
    with ophook_npu.hook("aten::mm", replace=numpy_mm, via="dynamo"):
        assert is_replaced(f(x, w))
    assert not is_replaced(f(x, w))
    assert h.hits == 3


def test_dynamo_keeps_the_functions_own_compiler_and_compiles_once(xw):
    graphs = []

    def backend(gm, inputs):
        graphs.append(gm)
        return gm.forward

    f = torch.compile(lambda a, b: a @ b, backend=backend)
    x, w = (t.detach() for t in xw)
    f(x, w)
    h = ophook_npu.hook("aten::mm", replace=numpy_mm, via="dynamo")
    for _ in range(3):
        with h:
            assert is_replaced(f(x, w))
        assert not is_replaced(f(x, w))
    assert len(graphs) == 2
    (called,) = [str(n.target) for n in graphs[1].graph.nodes if n.op == "call_function"]
    assert called.startswith("ophook.aten_mm_")


def test_own_backend_obeys_the_switch_at_run_time(xw):
    x, w = (t.detach() for t in xw)
    h = ophook_npu.hook("aten::mm", replace=numpy_mm, via="dynamo")
    f = torch.compile(lambda a, b: a @ b, backend=h.backend("aot_eager"))
    assert not is_replaced(f(x, w))
    h.enable()
    assert is_replaced(f(x, w))
    h.disable()
    assert not is_replaced(f(x, w))
    with pytest.raises(OphookError, match="does not work on graphs"):
        ophook_npu.hook("aten::mm", before=print).backend("eager")
    with pytest.raises(OphookError, match="unknown compiler backend 'inducter'"):
        h.backend("inducter")


def test_two_graph_hooks_and_an_eager_one_compose(xw):
    x, w = (t.detach() for t in xw)
    f = torch.compile(lambda a, b: torch.relu(a @ b), backend="aot_eager")
    native = f(x, w)
    mm = ophook_npu.hook("aten::mm", replace=lambda a, b: ophook_npu.original()(a, b) + 10, via="dynamo")
    relu = ophook_npu.hook("aten::relu", replace=lambda a: ophook_npu.original()(a) * 2, via="dynamo")
    with mm, relu:
        torch.testing.assert_close(f(x, w), torch.relu(x @ w + 10) * 2)
        with ophook_npu.hook("aten::mm", before=lambda c: None) as eager:
            assert torch.equal(f(x, w), native)
        assert eager.hits == 1
        assert "run eagerly" in next(iter(mm.misses))
        mm.disable()
        torch.testing.assert_close(f(x, w), torch.relu(x @ w) * 2)


def rms_norm(x, w, eps=1e-6):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * w


class Norms(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.rand(5))
        self.linear = torch.nn.Linear(5, 5)

    def forward(self, x):
        return rms_norm(self.linear(rms_norm(x, self.w)), self.w)


def fused(x, w):
    return torch.nn.functional.rms_norm(x, (5,), w, 1e-6)


@pytest.mark.parametrize("backend", BACKENDS)
def test_pattern_rms_norm_forward_and_its_gradient(backend, xw):
    model, x = Norms(), xw[0]
    compiled = torch.compile(model, backend=backend, fullgraph=True)
    want = compiled(x)
    grads = torch.autograd.grad(want.sum(), list(model.parameters()))
    with ophook_npu.hook(rms_norm, replace=fused, via="pattern_rewrite") as h:
        got = compiled(x)
        new = torch.autograd.grad(got.sum(), list(model.parameters()))
    assert h.hits == 2
    assert torch.allclose(got, want, atol=1e-5)
    for g, w in zip(new, grads, strict=True):
        assert torch.allclose(g, w, atol=1e-4)
    compiled(x)
    assert h.hits == 2


def test_pattern_leaves_sizes_as_static_or_dynamic_as_they_were():
    from torch._dynamo.backends.common import aot_autograd

    sizes = []

    def compiler(gm, inputs):
        sizes.append([list(i.shape) for i in inputs if isinstance(i, torch.Tensor)])
        return _compat.boxed(gm.forward)

    model = Norms()
    for dynamic in (False, True):
        sizes.clear()
        torch._dynamo.reset()
        compiled = torch.compile(model, backend=aot_autograd(fw_compiler=compiler), fullgraph=True)
        with torch.no_grad(), ophook_npu.hook(rms_norm, replace=fused, via="pattern_rewrite") as h:
            for rows in (3, 4) if dynamic else (3,):
                x = torch.rand(rows, 5)
                if dynamic:
                    torch._dynamo.mark_dynamic(x, 0)
                assert torch.allclose(compiled(x), model(x), atol=1e-5)
        assert h.hits == 2 * (1 + dynamic)
        flat = [size for shapes in sizes for shape in shapes for size in shape]
        assert len(sizes) == 1 and any(isinstance(size, torch.SymInt) for size in flat) == dynamic, sizes


@pytest.mark.parametrize("level", ["forward", "aot"])
def test_pattern_whose_number_is_a_variable_of_the_program(level):
    """dynamic=True makes inputs of floats; where one was the pattern's number it is guarded, not missed."""

    def shifted(x, eps=1e-6):
        return torch.rsqrt(x + eps)

    compiled = torch.compile(shifted, backend="aot_eager", dynamic=True, fullgraph=True)
    pattern = lambda x: torch.rsqrt(x + 1e-6)  # noqa: E731
    with ophook_npu.hook(pattern, replace=lambda x: x * 0 + 1000, via="pattern_rewrite", level=level) as h:
        assert is_replaced(compiled(torch.rand(3) + 1)) and is_replaced(compiled(torch.rand(4) + 1))
        assert h.hits == 2
        assert torch.allclose(compiled(torch.zeros(2), 0.25), torch.full((2,), 2.0))
        assert is_replaced(compiled(torch.rand(4) + 1))
    assert h.hits == 3


def test_recompilation_under_a_hook_has_a_limit_of_its_own_and_tells_when_it_is_reached():
    f = torch.compile(lambda a, b: a @ b, backend="aot_eager", dynamic=False)
    h = ophook_npu.hook("aten::mm", replace=numpy_mm, via="dynamo")

    def replaced(*sizes):
        return [is_replaced(f(torch.ones(n, n), torch.ones(n, n))) for n in sizes]

    with torch._dynamo.config.patch(recompile_limit=2):
        assert replaced(2, 3, 4) == [False] * 3  # torch.compile has given it up
        with h:
            assert replaced(2, 3) == [True] * 2
            with pytest.warns(ophook_npu.MissWarning, match="reached its limit of compilations of <lambda>"):
                assert replaced(4) == [False]
            assert replaced(2, 5) == [True, False]
        assert sum(h.misses.values()) == 1
        assert replaced(2, 3, 4) == [False] * 3
        with ophook_npu.hook("aten::mm", replace=numpy_mm, via="dynamo", on_miss="raise"):
            assert replaced(2, 3) == [True] * 2
            with pytest.raises(OphookError, match="recompile_limit"):
                replaced(4)


def test_pattern_in_the_backward_graph(xw):
    f = torch.compile(lambda x: torch.relu(x).sum(), backend="aot_eager")
    pattern = lambda g, o: torch.ops.aten.threshold_backward(g, o, 0)  # noqa: E731
    with ophook_npu.hook(pattern, replace=lambda g, o: g * 1000, via="pattern_rewrite", level="aot") as h:
        (grad,) = torch.autograd.grad(f(xw[0]), [xw[0]])
    assert h.hits == 1
    assert grad.unique().tolist() == [1000.0]


def test_pattern_add_after_mul_becomes_a_custom_operator():
    with torch.library._scoped_library("ophook_test", "FRAGMENT") as lib:
        lib.define("fma(Tensor a, Tensor b, Tensor c) -> Tensor")
        lib.impl("fma", lambda a, b, c: a * b + c, "CompositeExplicitAutograd")
        torch.library.register_fake("ophook_test::fma", lambda a, b, c: torch.empty_like(a), lib=lib)
        graphs = []

        def backend(gm, inputs):
            graphs.append([str(n.target) for n in gm.graph.nodes if n.op == "call_function"])
            return gm.forward

        f = torch.compile(lambda a, b: a * b + b + (b * a + a), backend=backend)
        a, b = torch.rand(3), torch.rand(3)
        op = torch.ops.ophook_test.fma
        with ophook_npu.hook(lambda x, y, z: x * y + z, replace=op, via="pattern_rewrite") as h:
            torch.testing.assert_close(f(a, b), a * b + b + (b * a + a))
        assert h.hits == 2
        assert graphs[-1].count("ophook_test.fma.default") == 2
        assert "aten.mul.Tensor" not in graphs[-1]
        h.remove()


def test_pattern_in_one_graph_module():
    gm = torch.fx.symbolic_trace(lambda x, y: torch.relu(x * y + x))
    x, y = torch.rand(3), torch.rand(3)
    before = gm.code
    with ophook_npu.hook(
        lambda a, b, c: a * b + c, replace=lambda a, b, c: a + 100, via="pattern_rewrite", graph=gm
    ) as h:
        assert torch.equal(gm(x, y), x + 100)
    assert h.hits == 1
    assert gm.code == before
    torch.testing.assert_close(gm(x, y), torch.relu(x * y + x))


def test_pattern_finds_swapped_operands_and_keeps_values_that_are_used_elsewhere():
    pattern, x = (lambda a, b, c: a * b + c), torch.rand(3)
    swapped = torch.fx.symbolic_trace(lambda x, y: x + y * 3)
    with ophook_npu.hook(pattern, replace=lambda a, b, c: a + b * 10 + c * 100, via="pattern_rewrite", graph=swapped):
        torch.testing.assert_close(swapped(x, x), x + 30 + x * 100)
    shared = torch.fx.symbolic_trace(lambda x: (lambda m: (m + x, m))(x * x))
    with ophook_npu.hook(pattern, replace=lambda a, b, c: a, via="pattern_rewrite", graph=shared) as h:
        torch.testing.assert_close(shared(x)[0], x * x + x)
    assert h.hits == 0


def test_pattern_refusals():
    with pytest.raises(OphookError, match="can be replaced, not observed"):
        ophook_npu.hook(rms_norm, before=print)
    with pytest.raises(OphookError, match="the pattern does not run on"):
        ophook_npu.hook(lambda a: a.view(7, 9), replace=torch.relu)
    with pytest.raises(OphookError, match="returns one value that it computes"):
        ophook_npu.hook(lambda a: (a + 1, a * 2), replace=torch.relu)
    with pytest.raises(OphookError, match=r"wants an fx\.GraphModule"):
        ophook_npu.hook(rms_norm, replace=fused, graph=torch.nn.Linear(2, 2))


@pytest.mark.parametrize("via", ["dispatch_mode", "impl_override"])
def test_on_miss_ignore_leaves_compiled_code_alone_and_sees_inductors_mm_out(via):
    x, w = torch.randn(64, 64), torch.randn(64, 64)
    f = torch.compile(lambda a, b: torch.relu(a @ b))
    f(x, w)
    names = []
    with ophook_npu.hook(["aten::mm", "aten::relu"], before=lambda c: names.append(c.name), via=via, on_miss="ignore"):
        f(x, w)
    assert names == ["aten::mm.out"]  # the kernel Inductor calls; relu is part of its own code


@pytest.mark.parametrize("backend", BACKENDS)
def test_custom_op_inside_and_warm(backend, xw):
    x, w = xw
    f = torch.compile(lambda a, b: torch.relu(torch.mm(a, b)), backend=backend, fullgraph=True)
    want = torch.autograd.grad(f(x, w).sum(), [x, w])
    with ophook_npu.hook("aten::mm", replace=lambda a, b: ophook_npu.original()(a, b), via="custom_op") as h:
        got = torch.autograd.grad(f(x, w).sum(), [x, w])
    assert h.hits == 1
    for g, w_ in zip(got, want, strict=True):
        torch.testing.assert_close(g, w_)
    with ophook_npu.hook("aten::mm", replace=numpy_mm, via="custom_op"):
        assert is_replaced(torch.mm(x, w)) and is_replaced(x.mm(w))
        assert is_replaced(torch.vmap(torch.mm)(x.expand(2, 4, 5), w.expand(2, 5, 6)))
    assert not is_replaced(f(x, w))


def test_custom_op_leaves_other_overloads_and_nests_in_any_order():
    x = torch.ones(3)

    def adding(target, amount):
        return ophook_npu.hook(target, replace=lambda a, b: ophook_npu.original()(a, b) + amount, via="custom_op")

    tensors, everything = adding("aten::add.Tensor", 10), adding("aten::add", 100)
    with tensors:
        assert torch.equal(torch.add(x, x), torch.full((3,), 12.0))
        assert torch.equal(torch.add(x, 1), torch.full((3,), 2.0))  # add.Scalar when called by that packet
        with everything:
            assert torch.equal(torch.add(x, x), torch.full((3,), 112.0))
            assert torch.equal(torch.add(x, x, out=torch.empty(3)), torch.full((3,), 2.0))
            f = torch.compile(lambda a: torch.add(a, a), backend="aot_eager", fullgraph=True)
            assert torch.equal(f(x), torch.full((3,), 112.0))
            tensors.disable()
            assert torch.equal(torch.add(x, x), torch.full((3,), 102.0))
            assert torch.equal(f(x), torch.full((3,), 102.0))
        tensors.enable()
    assert torch.equal(f(x), torch.full((3,), 2.0))
    assert torch.overrides._get_current_function_mode_stack() == []


def test_graph_hook_and_custom_op_on_the_same_operator(xw):
    x, w = (t.detach() for t in xw)
    f = torch.compile(lambda a, b: torch.mm(a, b), backend="eager")
    native = f(x, w)
    by_name = ophook_npu.hook("aten::mm", replace=lambda a, b: ophook_npu.original()(a, b) + 1, via="custom_op")
    in_graph = [
        ophook_npu.hook("aten::mm", replace=lambda a, b, n=n: ophook_npu.original()(a, b) + n, via="dynamo")
        for n in (10, 100)
    ]
    with by_name, in_graph[0], in_graph[1]:
        torch.testing.assert_close(f(x, w), native + 111)
    eager = ophook_npu.hook("aten::mm", replace=lambda a, b: ophook_npu.original()(a, b) + 1000, via="dispatch_mode")
    with by_name, eager:
        torch.testing.assert_close(torch.mm(x, w), native + 1001)


class Adds(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

    def forward(self, x):
        y = torch.relu(self.a(x)) + self.b(x)
        y = torch.add(y + 1, x, alpha=2)
        y += x
        return y


@pytest.fixture
def add_custom():
    calls = []
    with torch.library._scoped_library("ophook_test", "FRAGMENT") as lib:
        lib.define("add_custom(Tensor x, Tensor y) -> Tensor")

        def implementation(x, y):
            calls.append(1)
            return x + y + 1000  # calls the operator it stands in for

        lib.impl("add_custom", implementation, "CompositeExplicitAutograd")
        torch.library.register_fake("ophook_test::add_custom", lambda x, y: torch.empty_like(x + y), lib=lib)
        operator = torch.ops.ophook_test.add_custom
        operator.calls = calls
        yield operator
        ophook_npu.hooks.purge()


def test_swap_eager(add_custom):
    model, x = Adds(), torch.randn(3, 4)
    want = model(x)
    swapped = ophook_npu.swap(model, "aten::add", add_custom)
    y = swapped(x)
    assert torch.allclose(y - want, torch.full_like(y, 1000), atol=1e-2)
    y.sum().backward()
    assert model.a.weight.grad is not None
    assert (swapped.eager, swapped.compiled, len(add_custom.calls)) == (1, 0, 1)
    assert swapped.missed == {
        "aten::add.Tensor with a Python number for 'other'": 1,
        "aten::add.Tensor with alpha=2": 1,
        "aten::add_.Tensor writes into an argument": 1,
    }
    assert swapped.report().splitlines()[:2] == [
        "aten::add → ophook_test::add_custom",
        "  replaced  1 call in eager mode, 0 calls in compiled code",
    ]
    assert torch.equal(model(x), want)
    swapped.remove()


@pytest.mark.parametrize("backend", BACKENDS)
def test_swap_compiled(add_custom, backend):
    model, x = Adds(), torch.randn(3, 4)
    compiled = torch.compile(model, backend=backend, fullgraph=True)
    want = compiled(x)
    with ophook_npu.swap("aten::add", add_custom) as s:
        y = compiled(x)
        y.sum().backward()
        compiled(x)
    assert torch.allclose(y - want, torch.full_like(y, 2000), atol=1e-2)  # += is an add in a functional graph
    assert (s.eager, s.compiled, len(add_custom.calls)) == (0, 4, 4)
    assert s.missed == {  # places, each once, however often and in whatever way the graph runs
        "aten::add.Tensor with a Python number for 'other' (a place in a compiled graph)": 1,
        "aten::add.Tensor with alpha=2 (a place in a compiled graph)": 1,
    }
    torch.testing.assert_close(compiled(x), want)
    s.remove()


@pytest.mark.parametrize("backend", BACKENDS)
def test_swap_asks_when_in_compiled_code_too(add_custom, backend):
    compiled = torch.compile(lambda x, y: x + y, backend=backend, dynamic=True)
    small, large = torch.ones(2), torch.ones(30)
    asked = []

    def when(call):
        asked.append(call.args[0].numel())
        return asked[-1] > 10

    with ophook_npu.swap("aten::add", add_custom, when=when) as s:
        assert is_replaced(compiled(large, large))
        assert torch.equal(compiled(small, small), small * 2)
        assert is_replaced(large + large) and torch.equal(small + small, small * 2)
    assert asked == [30, 2, 30, 2]
    assert (s.eager, s.compiled) == (1, 1)
    assert s.missed == {"when= said no to aten::add.Tensor": 1, "when= said no to aten::add.Tensor in compiled code": 1}
    assert torch.equal(compiled(large, large), large * 2)
    s.remove()


def test_swap_refusals(add_custom):
    with pytest.raises(OphookError, match="not an operator"):
        ophook_npu.swap("aten::add", lambda a, b: a)
    with pytest.raises(OphookError, match="cannot be called like it"):
        ophook_npu.swap("aten::relu", add_custom)
    with pytest.raises(OphookError, match="without an operator"):
        ophook_npu.swap(Adds(), add_custom)
    with pytest.raises(OphookError, match="made without a model"):
        ophook_npu.swap("aten::add", add_custom)(1)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_a_number_in_a_tensors_place(backend: str) -> None:
    torch._dynamo.reset()
    seen: list[str] = []
    x = torch.arange(3)
    compiled = torch.compile(lambda x: (x.cos() + 1) * 2.5, backend=backend)
    with ophook_npu.hook("aten::*", before=lambda call: seen.append(str(call.op)), via="dynamo"):
        got = compiled(x)
    torch.testing.assert_close(got, (x.cos() + 1) * 2.5)  # dtype too: a number is no 0-d tensor when types are promoted
    assert {"aten.add.Tensor", "aten.mul.Tensor"} <= set(seen), seen
