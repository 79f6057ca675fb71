"""What is predicted is what runs, and running under the trace changes nothing: in all the odd corners of torch."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint

from ophook_npu import dispatch


class Pass(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


class Wrapper(torch.Tensor):
    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, dtype=inner.dtype, device=inner.device, requires_grad=inner.requires_grad
        )

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        args, kwargs = pytree.tree_map_only(Wrapper, lambda w: w.inner, (args, kwargs or {}))
        return pytree.tree_map_only(torch.Tensor, Wrapper, func(*args, **kwargs))


class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a.exp()

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0].exp()


torch.manual_seed(0)
y = torch.randn(3, 3)
c = torch.randn(3, 3, dtype=torch.complex64)
image, filters = torch.randn(1, 3, 8, 8), torch.randn(4, 3, 3, 3)
quantized = torch.quantize_per_tensor(y, 0.1, 0, torch.quint8)
sparse = torch.eye(3).to_sparse()
with torch.inference_mode():
    born_in_inference = torch.ones(1, 3, 8, 8), torch.ones(4, 3, 3, 3), torch.ones(3, 3)
linear = nn.Linear(3, 2)
frozen = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(1)).eval()


def gradient(function):
    def run():
        x = y.clone().requires_grad_()
        return torch.autograd.grad(function(x).sum(), x)

    return run


def under(context, function):
    def run():
        with context():
            return function()

    return run


def views_written_through():
    a = y.clone()
    a.view(-1)[:2].add_(1)
    a.t().mul_(2)
    a[0].zero_()
    a[a > 0] = 2.0
    a[1:, None] = 3
    return a


def forward_mode():
    with forward_ad.dual_level():
        return forward_ad.unpack_dual((forward_ad.make_dual(y, torch.ones_like(y)) @ y).relu())


def per_sample_gradients():
    def loss(parameters, sample):
        return torch.func.functional_call(linear, parameters, (sample,)).sum()

    return torch.vmap(torch.func.grad(loss), in_dims=(None, 0))(dict(linear.named_parameters()), y)


def faked():
    with FakeTensorMode() as mode:
        a = mode.from_tensor(image)
        return F.conv2d(a, mode.from_tensor(filters)).relu().sum()


def compiled():
    torch._dynamo.reset()
    return torch.compile(lambda a: (a.sin() @ a).relu().sum(), backend="aot_eager")(y)


def exported():
    class Model(nn.Module):
        def forward(self, a):
            return (a.sin() @ a).relu()

    return torch.export.export(Model(), (y,)).module()(y)


def jagged():
    nested = torch.nested.nested_tensor([y, y[:2]], layout=torch.jagged)
    return (nested.sin() + 1).values()


def gradient_of_a_subclass():
    x = Wrapper(y.clone().requires_grad_())
    (x @ x).sum().backward()
    return x.grad.inner


SITUATIONS = {
    "views": views_written_through,
    "conv2d of inference tensors": lambda: F.conv2d(*born_in_inference[:2]),
    "conv2d of ordinary tensors": under(torch.inference_mode, lambda: F.conv2d(image, filters)),
    "in-place number, inference mode": under(torch.inference_mode, lambda: y.clone().add_(1).div_(3)),
    "inference tensors": lambda: (born_in_inference[2] @ born_in_inference[2] + 1).relu_().view(-1),
    "a frozen network": under(torch.inference_mode, lambda: frozen(image)),
    "no_grad": under(torch.no_grad, lambda: linear(y)),
    "autocast": under(lambda: torch.autocast("cpu"), lambda: F.linear(y, y).softmax(-1).sum()),
    "gradient": gradient(lambda x: x @ x),
    "gradient of a gradient": gradient(lambda x: torch.autograd.grad((x**3).sum(), x, create_graph=True)[0]),
    "checkpoint": gradient(lambda x: checkpoint(lambda a: a.sin() @ a, x, use_reentrant=False)),
    "autograd.Function": gradient(Exp.apply),
    "forward-mode gradient": forward_mode,
    "vmap": lambda: torch.vmap(lambda row: F.linear(row, y))(y),
    "vmap of vmap": lambda: torch.vmap(torch.vmap(torch.mul))(y, y),
    "vmap, in place": lambda: torch.vmap(lambda row: row.clone().add_(1).view(-1))(y),
    "vmap without a batching rule": lambda: torch.vmap(lambda row: torch.nan_to_num(row).cumprod(0))(y),
    "func.grad": lambda: torch.func.grad(lambda a: (a.sin() * a).sum())(y),
    "func.jvp": lambda: torch.func.jvp(torch.sin, (y,), (y,)),
    "func.jacfwd": lambda: torch.func.jacfwd(lambda row: row.sin().sum())(y[0]),
    "per-sample gradients": per_sample_gradients,
    "functionalize": lambda: torch.func.functionalize(lambda a: a.clone().view(-1).add_(1))(y),
    "quantized": lambda: [q.dequantize() for q in (quantized.clone().view(-1), torch.cat([quantized, quantized]))],
    "sparse": lambda: (sparse @ y, (sparse * 2).to_dense(), (sparse + sparse).to_dense()),
    "sparse from parts": lambda: torch.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], (2, 2)).to_dense(),
    "sparse gradient": lambda: F.embedding(torch.tensor([1, 2]), y.clone().requires_grad_(), sparse=True),
    "sparse rows": lambda: y.to_sparse_csr() @ y,
    "mkldnn": lambda: y.to_mkldnn().to_dense(),
    "conjugate bit": lambda: (c.conj() @ c, c.conj().real, (c.conj() + c).resolve_conj(), c.mH @ c),
    "negative bit": lambda: (c.conj().imag + 1, c.conj().imag.view(-1)),
    "zero tensor": lambda: (torch._efficientzerotensor((3, 3)) + y, torch._efficientzerotensor((3, 3)) * y),
    "meta": lambda: F.conv2d(image.to("meta"), filters.to("meta")).view(-1).add_(1),
    "fake": faked,
    "traced by make_fx": lambda: make_fx(lambda a: (a.sin() @ a).relu(), tracing_mode="symbolic")(y)(y),
    "traced by jit": lambda: torch.jit.trace(lambda a: a.sin() @ a, y)(y),
    "compiled": compiled,
    "exported": exported,
    "subclass": lambda: (Wrapper(y) @ Wrapper(y)).inner,
    "subclass, gradient": gradient_of_a_subclass,
    "nested": jagged,
    "mode around vmap": under(Pass, lambda: torch.vmap(torch.func.grad(lambda row: row.sin().sum()))(y)),
    "generator": lambda: torch.randn(3, generator=torch.Generator().manual_seed(0)),
    "out": lambda: torch.add(y, y, out=torch.empty(3, 3)),
    "lists": lambda: (torch.cat([y, y]), torch.einsum("ij,jk", y, y), torch._foreach_add([y, y], 1)),
    "numbers": lambda: (1 + y, y**2, 2 - y, y.sum().item(), torch.tensor(3) * 2, torch.result_type(y, 1)),
}


@pytest.fixture(autouse=True)
def _torch_as_found():
    guard = torch._C._EnablePythonDispatcher
    found = torch._ops.OpOverload._get_dispatch, guard.__init__, guard.__exit__
    yield
    assert (torch._ops.OpOverload._get_dispatch, guard.__init__, guard.__exit__) == found
    assert not torch._C._dispatch_tls_is_dispatch_key_included(torch._C.DispatchKey.PythonDispatcher)


def plain(result):
    leaves = [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]
    return [leaf.shape if leaf.is_meta or type(leaf) is not torch.Tensor else leaf.detach() for leaf in leaves]


@pytest.mark.parametrize("name", SITUATIONS)
def test_the_kernels_predicted_are_those_that_run(name):
    run = SITUATIONS[name]
    expected = plain(run())
    found = dispatch.explain(run)
    assert found.error is None, found.error
    assert found.agrees, [(s.op, s.key, s.considered) for s in found.steps if s.how == "unexplained"]
    given = plain(found.result)
    assert len(given) == len(expected) > 0
    for a, b in zip(given, expected, strict=True):
        assert torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b


def test_an_undefined_tensor_brings_the_key_that_explains_the_kernel():
    found = dispatch.explain(F.conv2d, *born_in_inference[:2])
    step = next(step for step in found.steps if step.op == "aten::convolution")
    # The operands have no autograd key; the bias that is not there, an undefined tensor, does.
    assert step.key == "AutogradOther" and "AutogradOther" in step.args["bias"]
    assert "AutogradCPU" not in step.args["input"]


def test_operators_made_in_python_run_their_own_kernels():
    @torch.library.custom_op("situationtest::double", mutates_args=())
    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    double.register_fake(torch.empty_like)
    double.register_autograd(lambda ctx, grad: grad * 2)
    x = y.clone().requires_grad_()
    found = dispatch.explain(lambda: torch.autograd.grad(double(x).sum(), x)[0])
    assert found.agrees and torch.equal(found.result, torch.full((3, 3), 2.0))
    table = dispatch.table("situationtest::double")
    # Both registrations are on one line of torch: only the kind tells which alias each belongs to.
    assert (table["CPU"].source, table["AutogradCPU"].source) == ("CompositeExplicitAutograd", "Autograd")


def test_numbers_promote_as_they_do_without_the_trace():
    small = torch.ones((), dtype=torch.int32)
    for run in (lambda: small * 2, lambda: small * 2.5, lambda: sparse * 2, lambda: (sparse * 2.5).to_dense()):
        assert dispatch.explain(run).result.dtype == run().dtype
