"""The contract of hook(), the same for the mechanisms that see operators in eager mode."""

from __future__ import annotations

import subprocess
import sys
import threading

import every_mechanism
import numpy as np
import pytest
import torch

import ophook_npu
from ophook_npu import OphookError
from ophook_npu.hooks import _choose, targets

IN_THIS_PROCESS = [via for via in _choose.MECHANISMS if via != "backend"]
EAGER = ("dispatch_mode", "impl_override")


def numpy_mm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """mm by numpy, off by 1000 so that a miss shows."""
    return torch.from_numpy(np.matmul(a.detach().numpy(), b.detach().numpy())) + 1000


def is_replaced(y: torch.Tensor) -> bool:
    return bool(y.detach().min() > 500)


@pytest.fixture(params=EAGER)
def via(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def ab() -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    return torch.randn(3, 4), torch.randn(4, 5)


def test_replace_and_restore(via, ab):
    a, b = ab
    h = ophook_npu.hook("aten::mm", replace=numpy_mm, via=via)
    native = a @ b
    with h:
        assert is_replaced(a @ b)
        assert is_replaced(torch.mm(a, b))
        assert is_replaced(torch.vmap(torch.mm)(a.expand(2, 3, 4), b.expand(2, 4, 5)))
        with torch.inference_mode():
            assert is_replaced(a @ b)
    assert h.hits == 5
    assert torch.equal(a @ b, native)
    h.remove()
    with pytest.raises(OphookError, match="it was removed"):
        h.enable()


def test_out_variant_gets_a_copy(via, ab):
    a, b = ab
    out = torch.zeros(3, 5)
    with ophook_npu.hook("aten::mm", replace=numpy_mm, via=via):
        assert torch.mm(a, b, out=out) is out
    assert is_replaced(out)


def test_gradient_is_the_operators_own(via, ab):
    a, b = (t.requires_grad_() for t in ab)
    (a @ b).sum().backward()
    grads = a.grad.clone(), b.grad.clone()
    a.grad = b.grad = None
    phases = []
    with ophook_npu.hook("aten::mm", replace=lambda x, y: ophook_npu.original()(x, y) + 1, via=via) as h:
        y = a @ b
    with ophook_npu.hook("aten::mm", before=lambda call: phases.append(call.phase), via=via):
        y.sum().backward()
    assert h.hits == 1
    assert phases == ["backward", "backward"]
    assert torch.equal(a.grad, grads[0]) and torch.equal(b.grad, grads[1])


def test_before_and_after_see_and_may_change_the_call(via, ab):
    a, b = ab
    seen = []

    def before(call):
        seen.append((call.name, len(call.args)))
        call.args = (call.args[0] * 2, call.args[1])
        call.state = "from before"

    def after(call):
        seen.append(call.state)
        call.result = -call.result

    with ophook_npu.hook("aten::mm", before=before, after=after, via=via):
        y = torch.mm(a, b)
    assert seen == [("aten::mm", 2), "from before"]
    torch.testing.assert_close(y, -2 * torch.mm(a, b))


def test_when_lets_calls_pass_uncounted(via, ab):
    a, b = ab
    with ophook_npu.hook("aten::mm", replace=numpy_mm, when=lambda c: c.args[0].shape[0] > 100, via=via) as h:
        assert not is_replaced(a @ b)
    assert h.hits == 0


def test_replacement_does_not_see_itself(via, ab):
    a, b = ab
    with ophook_npu.hook("aten::mm", replace=lambda x, y: torch.mm(x, y) + 1, via=via) as h:
        assert torch.allclose(torch.mm(a, b), targets.resolve("aten::mm").ops[0](a, b))
    assert h.hits == 2


def test_original_outside_a_replacement_is_refused():
    with pytest.raises(OphookError, match="outside a replacement"):
        ophook_npu.original("aten::mm")


def test_original_of_another_operator_is_refused(via, ab):
    def wrong(x, y):
        return ophook_npu.original("aten::add")(x, y)

    with (
        ophook_npu.hook("aten::mm", replace=wrong, via=via),
        pytest.raises(OphookError, match="not being replaced here"),
    ):
        torch.mm(*ab)


def test_nested_hooks_newest_first_and_each_reaches_the_next(via, ab):
    a, b = ab
    order = []

    def adding(name, amount):
        def replace(x, y):
            order.append(name)
            return ophook_npu.original("aten::mm")(x, y) + amount

        return ophook_npu.hook("aten::mm", replace=replace, via=via)

    with adding("outer", 1000), adding("inner", 10):
        y = torch.mm(a, b)
    assert order == ["inner", "outer"]
    torch.testing.assert_close(y, torch.mm(a, b) + 1010)


def test_out_of_order_disable(via, ab):
    a, b = ab
    first = ophook_npu.hook("aten::mm", replace=lambda x, y: ophook_npu.original()(x, y) + 1, via=via).enable()
    second = ophook_npu.hook("aten::mm", replace=lambda x, y: ophook_npu.original()(x, y) + 10, via=via).enable()
    first.disable()
    native = second.ops and (torch.mm(a, b) - 10)
    second.disable()
    assert torch.allclose(native, torch.mm(a, b), atol=1e-4)


def test_the_same_hook_nests_with_itself_and_is_reusable(via, ab):
    h = ophook_npu.hook("aten::mm", replace=numpy_mm, via=via)
    with h, h:
        assert is_replaced(torch.mm(*ab))
    assert not h.enabled
    with h:
        assert is_replaced(torch.mm(*ab))
    assert h.hits == 2


def test_decorator(via, ab):
    h = ophook_npu.hook("aten::mm", replace=numpy_mm, via=via)

    @h
    def run(a, b):
        """Doc."""
        return torch.mm(a, b)

    assert run.__doc__ == "Doc."
    assert is_replaced(run(*ab))
    assert not is_replaced(torch.mm(*ab))


def test_exception_in_replacement_leaves_nothing(via, ab):
    def broken(x, y):
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        with ophook_npu.hook("aten::mm", replace=broken, via=via):
            torch.mm(*ab)
    assert torch.mm(*ab).shape == (3, 5)


def test_numbers_for_tensor_arguments_promote_as_without_hook(via):
    values = [
        torch.ones(3, dtype=torch.float64), torch.ones(3), torch.ones(3, dtype=torch.half),
        torch.ones(3, dtype=torch.int32),
        torch.tensor(1.0), torch.tensor(1), torch.tensor(True), torch.ones(2, dtype=torch.bool),
    ]  # fmt: skip
    numbers = (1, 0.1, True, 2 + 1j)
    native = [x + n for x in values for n in numbers]
    with ophook_npu.hook("aten::add.Tensor", before=lambda call: None, via=via) as h:
        hooked = [x + n for x in values for n in numbers]
    assert h.hits == len(native)
    for got, want in zip(hooked, native, strict=True):
        assert got.dtype == want.dtype
        assert got.tolist() == want.tolist()


def test_wide_observer_sees_a_training_step_and_changes_nothing(via):
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(8, 2, dropout=0.0)
    x = torch.randn(2, 3, 8)
    want = torch.autograd.grad(layer(x).sum(), list(layer.parameters()))
    names: set[str] = set()
    with ophook_npu.hook("aten", before=lambda call: names.add(call.name), via=via):
        got = torch.autograd.grad(layer(x).sum(), list(layer.parameters()))
    assert {"aten::addmm", "aten::native_layer_norm", "aten::native_layer_norm_backward"} <= names
    for g, w in zip(got, want, strict=True):
        assert torch.equal(g, w)


def test_module_path_and_stack(via):
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Sequential(torch.nn.ReLU()))
    paths, stacks = [], []

    def before(call):
        paths.append((call.module_path, type(call.module).__name__))
        stacks.append(call.stack(limit=3))

    with ophook_npu.hook("aten::relu", before=before, via=via):
        model(torch.ones(2, 4))
        torch.relu(torch.ones(2))
    assert paths == [("1.0", "ReLU"), (None, "NoneType")]
    assert stacks[1][-1].filename == __file__
    assert "activation.py" in stacks[0][-2].filename or "functional.py" in stacks[0][-1].filename


def test_compiled_function_is_seen_warm_and_inside_and_not_poisoned(via, ab):
    a, b = ab
    torch._dynamo.reset()
    graphs = []

    def backend(gm, inputs):
        graphs.append(gm)
        return gm.forward

    f = torch.compile(lambda x, y: torch.mm(x, y) + 1, backend=backend, fullgraph=True)
    cold = torch.compile(lambda x, y: torch.mm(x, y) + 2, backend=backend, fullgraph=True)
    f(a, b)
    with ophook_npu.hook("aten::mm", replace=numpy_mm, via=via):
        assert is_replaced(f(a, b))
        assert is_replaced(cold(a, b))
    assert len(graphs) == 1
    assert not is_replaced(f(a, b))
    assert not is_replaced(cold(a, b))
    assert len(graphs) == 2  # the warm one was not compiled again, the cold one was


def test_on_miss_raise_refuses_a_compiled_function(via, ab):
    torch._dynamo.reset()
    f = torch.compile(lambda x, y: torch.mm(x, y), backend="eager")
    f(*ab)
    with ophook_npu.hook("aten::mm", replace=numpy_mm, via=via, on_miss="raise") as h:
        with pytest.raises(Exception, match=r"compiled by torch\.compile was called"):
            f(*ab)
    assert sum(h.misses.values()) == 1
    assert f(*ab).shape == (3, 5)


def test_on_miss_warn_says_so_once(via, ab):
    torch._dynamo.reset()
    f = torch.compile(lambda x, y: torch.mm(x, y), backend="eager")
    f(*ab)
    with ophook_npu.hook("aten::mm", replace=numpy_mm, via=via, on_miss="warn"):
        with pytest.warns(ophook_npu.MissWarning, match="would pass unseen"):
            assert is_replaced(f(*ab))


def test_arguments_the_replacement_does_not_take_pass_and_are_told(via):
    x = torch.ones(3)
    with ophook_npu.hook("aten::add.Tensor", replace=lambda a, b: torch.add(a, b) + 1000, via=via) as h:
        assert is_replaced(torch.add(x, x))
        assert not is_replaced(torch.add(x, x, alpha=2))
    assert h.hits == 1
    assert list(h.misses) == ["aten::add.Tensor was called with alpha, which the replacement does not take"]


def test_threads(ab):
    seen = {}
    for via in EAGER:
        with ophook_npu.hook("aten::mm", replace=numpy_mm, via=via):
            thread = threading.Thread(target=lambda via=via: seen.__setitem__(via, is_replaced(torch.mm(*ab))))
            thread.start()
            thread.join()
    assert seen == {"dispatch_mode": False, "impl_override": True}
    with pytest.raises(OphookError, match=r"threads .*belongs to one thread"):
        ophook_npu.hook("aten::mm", replace=numpy_mm, via="dispatch_mode", needs="threads")
    assert ophook_npu.hook("aten::mm", replace=numpy_mm, needs="threads").via == "impl_override"


def test_calls_from_many_threads_while_hooks_come_and_go(ab):
    stop = threading.Event()
    errors = []

    def work():
        while not stop.is_set():
            try:
                torch.mm(*ab)
            except Exception as error:
                errors.append(error)
                return

    h = ophook_npu.hook("aten::mm", replace=numpy_mm, via="impl_override").enable()
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(200):
        h.disable()
        h.enable()
    h.remove()
    stop.set()
    for thread in threads:
        thread.join()
    assert errors == []
    assert h.hits > 0


def test_other_threads_run_while_the_original_kernel_does(via):
    """The original runs without the GIL; a kernel that calls operators from its own worker threads depends on it."""
    a = torch.randn(700, 700)
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.wait(0.001):
            ticks.append(1)

    with ophook_npu.hook("aten::mm", before=lambda call: None, via=via):
        thread = threading.Thread(target=tick)
        thread.start()
        for _ in range(20):
            torch.mm(a, a)
        stop.set()
        thread.join()
    assert len(ticks) >= 10


def test_composite_operator(ab):
    x, weight = torch.randn(2, 4), torch.randn(3, 4, requires_grad=True)
    with pytest.raises(OphookError, match="is composite"):
        ophook_npu.hook("aten::linear", before=print, via="dispatch_mode")

    def doubled(x, w, b=None):
        return 2 * ophook_npu.original()(x, w, b)

    h = ophook_npu.hook("aten::linear", replace=doubled)
    assert h.via == "impl_override"
    native = torch.nn.functional.linear(x, weight)
    with h:
        y = torch.nn.functional.linear(x, weight)
        with torch.inference_mode():
            z = torch.nn.functional.linear(x, weight)
    torch.testing.assert_close(y, 2 * native)
    torch.testing.assert_close(z, 2 * native.detach())
    y.sum().backward()
    torch.testing.assert_close(weight.grad, 2 * x.sum(0).expand(3, 4))


@pytest.mark.parametrize(
    "target, message",
    [
        ("aten::mmm", r"no such operator is registered; allowed: aten::mm"),
        ("aten::add.Tensr", r"allowed: .*aten::add\.Tensor"),
        ("atn", "allowed: aten"),
        ("mm", r"allowed: .*aten::mm"),
        ("nowhere::op", "import what registers the namespace 'nowhere' first"),
        ("aten::*_no_such", "no such operator"),
        (3, "not something to hook"),
    ],
)
def test_unknown_targets_are_refused_with_near_matches(target, message):
    with pytest.raises(OphookError, match=message):
        ophook_npu.hook(target, before=print)


def test_a_target_of_npu_says_how_torch_npu_gets_in(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch_npu", raising=False)
    with pytest.raises(
        OphookError, match="import torch_npu first; on the command line, --device auto before the program"
    ):
        ophook_npu.hook("npu::no_such_operator", before=print)


def test_targets():
    resolve = targets.resolve
    mm = torch.ops.aten.mm
    assert resolve(mm.default).ops == (mm.default,)
    assert set(resolve(mm).ops) == set(resolve("aten::mm").ops) >= {mm.default, mm.out}
    assert resolve("aten::mm.default").ops == resolve("aten.mm.default").ops == (mm.default,)
    assert torch.ops.aten.add.Tensor in resolve(torch.Tag.pointwise).ops
    assert torch.ops.aten.relu.default in resolve(torch.ops.aten).ops
    assert {op._name.split(".")[0] for op in resolve("aten::native_layer_norm*").ops} == {
        "aten::native_layer_norm", "aten::native_layer_norm_backward"
    }  # fmt: skip
    assert resolve(["aten::mm.out", "aten::relu"]).ops[0] is mm.out


def test_wrong_signature_is_refused_before_any_tensor_exists():
    with pytest.raises(OphookError, match=r"cannot be called like aten::mm: .*allowed: aten::mm\(Tensor self"):
        ophook_npu.hook("aten::mm", replace=lambda a: a)
    with pytest.raises(OphookError, match="nothing to do"):
        ophook_npu.hook("aten::mm")
    with pytest.raises(OphookError, match="unknown mechanism 'dispach_mode', did you mean 'dispatch_mode'"):
        ophook_npu.hook("aten::mm", before=print, via="dispach_mode")
    with pytest.raises(OphookError, match="unknown need 'speed'"):
        ophook_npu.hook("aten::mm", before=print, needs="speed")


@pytest.mark.parametrize(
    "replace, message",
    [
        (lambda a, b: a, r"has shape \(3, 4\), the operator returns \(3, 5\)"),
        (lambda a, b: torch.zeros(3, 5, dtype=torch.float64), "has dtype torch.float64"),
        (lambda a, b: torch.zeros(3, 5, device="meta"), "is on meta"),
        (lambda a, b: 3.0, "is a float"),
        (lambda a, b: (a, b), "is a tuple"),
    ],
)
def test_results_are_checked(via, ab, replace, message):
    with ophook_npu.hook("aten::mm", replace=replace, via=via), pytest.raises(OphookError, match=message):
        torch.mm(*ab)


def test_results_that_nobody_asked_for_may_be_missing(via):
    x, w = torch.randn(1, 3, 8, 8), torch.randn(4, 3, 3, 3, requires_grad=True)

    def step():
        (to_w,) = torch.autograd.grad(torch.nn.functional.conv2d(x, w).sum(), w)
        return to_w

    wanted = step()
    with ophook_npu.hook("aten::convolution_backward", replace=lambda *a: ophook_npu.original()(*a), via=via) as hooked:
        assert torch.equal(step(), wanted)
    assert hooked.hits == 1
    forgets = ophook_npu.hook("aten::convolution_backward", replace=lambda *a: (None, None, None), via=via)
    with forgets, pytest.raises(OphookError, match="result 1 is a NoneType"):
        step()


def test_what_the_operator_itself_returned_may_be_passed_on(via):
    # A meta kernel that does not keep its word: of the second result it has the shape wrong.
    library = torch.library.Library("contract_test", "FRAGMENT")
    library.define("both(Tensor x) -> (Tensor, Tensor)")
    library.impl("both", lambda x: (x + 1, x.sum(0)), "CPU")
    library.impl("both", lambda x: (x + 1, x + 2), "Meta")
    x = torch.ones(3)
    try:
        with ophook_npu.hook("contract_test::both", replace=lambda x: ophook_npu.original()(x), via=via):
            torch.ops.contract_test.both(x)

        def half(x):
            first, second = ophook_npu.original()(x)
            return first * 2, second

        with ophook_npu.hook("contract_test::both", replace=half, via=via):
            assert torch.equal(torch.ops.contract_test.both(x)[0], torch.full((3,), 4.0))
        changed = ophook_npu.hook("contract_test::both", replace=lambda x: (x * 2, x.sum()), via=via)
        with changed, pytest.raises(OphookError, match=r"result 1 has shape \(\), the operator returns \(3,\)"):
            torch.ops.contract_test.both(x)
    finally:
        library._destroy()


def test_result_that_aliases_an_argument_is_refused(via):
    x = torch.ones(3)
    with ophook_npu.hook("aten::relu", replace=lambda a: a, via=via), pytest.raises(OphookError, match="shares memory"):
        torch.relu(x)
    with ophook_npu.hook("aten::relu", replace=lambda a: a, via=via, check="off"):
        assert torch.equal(torch.relu(x), x)


def test_foreign_dispatch_mode_above_ours_survives(ab):
    from torch.utils._python_dispatch import TorchDispatchMode

    class Foreign(TorchDispatchMode):
        count = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            Foreign.count += 1
            return func(*args, **(kwargs or {}))

    h = ophook_npu.hook("aten::mm", replace=numpy_mm, via="dispatch_mode").enable()
    with Foreign():
        assert is_replaced(torch.mm(*ab))
        h.disable()
        assert not is_replaced(torch.mm(*ab))
    assert Foreign.count >= 2


def test_an_operator_that_shares_memory_unannounced_may_be_passed_through(via):
    # _unsafe_view is declared without alias annotation, and returns a view all the same.
    x = torch.arange(6.0).reshape(2, 3)
    with ophook_npu.hook("aten::_unsafe_view", replace=lambda *a: ophook_npu.original()(*a), via=via) as h:
        y = torch.ops.aten._unsafe_view(x, [3, 2])
    assert h.hits == 1 and y.data_ptr() == x.data_ptr()


@pytest.mark.parametrize("check", ["new", "always"])
def test_an_operator_that_reshapes_its_argument_is_checked_by_what_it_was(via, check):
    x = torch.ones(2, 3)
    with ophook_npu.hook("aten::unsqueeze_", replace=lambda *a: ophook_npu.original()(*a), via=via, check=check) as h:
        assert x.unsqueeze_(0).shape == (1, 2, 3)
        assert x.unsqueeze_(0).shape == (1, 1, 2, 3)
    assert h.hits == 2
    with ophook_npu.hook("aten::unsqueeze_", replace=lambda a, dim: a, via=via, check=check):
        with pytest.raises(OphookError, match=r"has shape \(1, 1, 2, 3\), the operator returns \(1, 1, 1, 2, 3\)"):
            x.unsqueeze_(0)


def test_numbers_that_kernels_make_tensors_of(via):
    """In C++ ``remainder(x, Scalar)`` calls ``remainder.Tensor`` with a tensor, which Python gets as a number."""
    x, index = torch.arange(6.0).reshape(2, 3), torch.tensor([[-1, 0]])
    native = [torch.take_along_dim(x, index, 1), torch.ldexp(x, torch.tensor(2)), torch.linalg.det(x[:, :2])]
    with ophook_npu.hook("aten::*", replace=lambda *a, **k: ophook_npu.original()(*a, **k), via=via):
        got = [torch.take_along_dim(x, index, 1), torch.ldexp(x, torch.tensor(2)), torch.linalg.det(x[:, :2])]
    for value, wanted in zip(got, native, strict=True):
        torch.testing.assert_close(value, wanted)


def test_parameters_and_fake_tensors_can_be_made_under_a_wide_hook_and_after_it(via):
    from torch._subclasses.fake_tensor import FakeTensorMode

    def make():
        with FakeTensorMode():
            assert torch.ones(2).shape == (2,)
        return torch.nn.Linear(2, 2)(torch.ones(1, 2)).shape

    with ophook_npu.hook("aten::*", before=lambda call: None, via=via):
        assert make() == (1, 2)
    assert make() == (1, 2)  # the kernels of impl_override are still in the dispatcher


def test_detach_has_no_python_kernel():
    with pytest.raises(OphookError, match="torch gives what it returns another class"):
        ophook_npu.hook("aten::detach", before=print, via="impl_override")
    wide = ophook_npu.hook(["aten::detach", "aten::mm.default"], before=print, via="impl_override")
    assert "aten::detach is left out" in wide.why


@pytest.mark.parametrize("mechanism", IN_THIS_PROCESS)
def test_what_every_mechanism_promises(mechanism):
    every_mechanism.check(mechanism)


def test_what_the_backend_mechanism_promises():
    """In a process of its own: a PrivateUse1 device cannot be unregistered."""
    command = [sys.executable, every_mechanism.__file__, "backend"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr


def test_the_original_runs_in_the_grad_mode_of_the_program(via):
    """A replacement runs without; but kernels ask for it, to keep more for backward."""
    seen = []

    def replace(x):
        seen.append(torch.is_grad_enabled())
        return ophook_npu.original()(x)

    library = torch.library.Library("contract_test", "FRAGMENT")
    library.define("mode(Tensor x) -> Tensor")
    library.impl("mode", lambda x: seen.append(torch.is_grad_enabled()) or x + 1, "CPU")
    try:
        with ophook_npu.hook("contract_test::mode", replace=replace, via=via, check="off"):
            torch.ops.contract_test.mode(torch.ones(1))
            with torch.no_grad():
                torch.ops.contract_test.mode(torch.ones(1))
    finally:
        library._destroy()
    assert seen == [False, True, False, False]


def test_a_kernel_that_keeps_its_indices_in_grad_mode_only():
    """Without them the backward of _sparse_mm_reduce_impl reads what is not there, and ends the process."""
    a = torch.eye(3).to_sparse_csr().requires_grad_()
    b = torch.rand(3, 2, requires_grad=True)
    wanted = torch.autograd.grad(torch.sparse.mm(a, b, "amax").sum(), b)
    target, replace = "aten::_sparse_mm_reduce_impl", lambda *args: ophook_npu.original()(*args)
    with ophook_npu.hook(target, replace=replace, via="dispatch_mode") as h:
        out = torch.sparse.mm(a, b, "amax")
    assert h.hits == 1
    torch.testing.assert_close(torch.autograd.grad(out.sum(), b), wanted)
