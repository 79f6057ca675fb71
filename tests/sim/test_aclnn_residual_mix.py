"""Hyper-connections: against the formulas in float64, and gradients by torch's autograd."""

from __future__ import annotations

import pytest
import torch
from interfaces import Refused, aclnn, rules_of
from values import close, gradients, real

BF16 = torch.bfloat16
LEAD = pytest.mark.parametrize("lead", [(5,), (2, 3)], ids=["tokens", "batches"])


def mixed(x, phi, alpha, bias, gamma, norm_eps: float, eps: float) -> list[torch.Tensor]:
    """What the layer reads, the weights of its result and of the streams; the norm, the products, the first weights."""
    n, dim = x.shape[-2:]
    flat = x.flatten(-2)
    norm = 1 / (flat.pow(2).sum(-1) / (n * dim) + norm_eps).sqrt()
    products = torch.einsum("...k,rk->...r", flat * gamma.flatten(), phi)
    pre, post, res = (norm[..., None] * products).split([n, n, phi.shape[0] - 2 * n], -1)
    weights = torch.sigmoid(alpha[0] * pre + bias[:n]) + eps
    layer = torch.einsum("...n,...nd->...d", weights, x)
    gate = 2 * torch.sigmoid(alpha[1] * post + bias[n : 2 * n])
    streams = (alpha[2] * res + bias[2 * n :]).unflatten(-1, (n, n)) if len(alpha) == 3 else res
    return [layer, gate, streams, norm, products, weights]


def inputs(lead: tuple[int, ...], n: int, dim: int, rows: int) -> list[torch.Tensor]:
    return [
        real(*lead, n, dim, dtype=BF16), real(rows, n * dim, seed=1) / (n * dim) ** 0.5,
        real(3 if rows > 2 * n else 2, seed=2), real(rows, seed=3), real(n, dim, seed=4),
    ]  # fmt: skip


@LEAD
@pytest.mark.parametrize("version", ["", "V2"])
@pytest.mark.parametrize("three", [True, False])
def test_mixing(lead: tuple[int, ...], version: str, three: bool) -> None:
    n, dim = 4, 32
    x, *rest = inputs(lead, n, dim, 2 * n + n * n * three)
    want = mixed(*(one.double() for one in (x, *rest)), 1e-3, 1e-2)
    outs = [torch.zeros(one.shape) for one in want]
    outs[0] = outs[0].to(BF16)
    if not three:
        outs[2], want[2] = torch.ones(1), torch.zeros(1)
    settings = (1e-3, 1e-2) + ((1,) if version else ())
    aclnn(f"aclnnMhcPre{version}", x, *rest, *settings, *outs)
    for got, one in zip(outs, want, strict=True):  # HF32 has ten bits
        close(got, one, 1e-2 if got.dtype == BF16 or version else 1e-4)
    if version:
        exact = [torch.zeros_like(one) for one in outs]
        aclnn("aclnnMhcPreV2", x, *rest, 1e-3, 1e-2, 0, *exact)
        close(exact[4], want[4])
        assert not torch.equal(exact[4], outs[4])
        with pytest.raises(Refused, match="innerPrecise 2; allowed: 0, 1"):
            aclnn("aclnnMhcPreV2", x, *rest, 1e-3, 1e-2, 2, *exact)
    some = [torch.zeros_like(one) for one in outs[:3]]
    aclnn(f"aclnnMhcPre{version}", x, *rest[:3], None, *settings, *some, None, None, None)
    plain = mixed(*(one.double() for one in (x, *rest[:3], torch.ones(n, dim))), 1e-3, 1e-2)
    close(some[0], plain[0], 1e-2)
    for wrong, message in (
        ([x.float(), *rest], "x"),
        ([x[..., :3, :].contiguous(), *rest], "3 streams; allowed: 4, 6, 8"),
        ([x, rest[0][1:], *rest[1:]], "161002"),
    ):
        with pytest.raises(Refused, match=message):
            aclnn(f"aclnnMhcPre{version}", *wrong, *settings, *outs)
    with pytest.raises(Refused, match="all given, or none"):
        aclnn(f"aclnnMhcPre{version}", x, *rest, *settings, *outs[:5], None)


@LEAD
@pytest.mark.parametrize(("version", "full"), [("", True), ("V2", True), ("", False)])
def test_gradients_of_mixing(lead: tuple[int, ...], version: str, full: bool) -> None:
    n, dim = 4, 16
    x, phi, alpha, bias, gamma = inputs(lead, n, dim, 2 * n + n * n)
    grads = [real(*lead, dim, seed=5, dtype=BF16), real(*lead, n, seed=6), real(*lead, n, n, seed=7)]
    more = real(*lead, n, dim, seed=8, dtype=BF16)
    leaves = [one.double().requires_grad_() for one in (x, phi, alpha, bias, gamma if full else torch.ones(n, dim))]
    results = mixed(*leaves, 1e-3, 1e-2)
    torch.autograd.backward(results[:3], [one.double() for one in grads])
    _, gate, _, norm, products, weights = (one.detach().float() for one in results)
    outs = [torch.zeros_like(one) for one in (x, phi, alpha, bias, gamma)]
    aclnn(
        f"aclnnMhcPreBackward{version}", x, phi, alpha, *grads, norm, products, weights, gate,
        gamma if full else None, more if full else None, 1e-2, *((0,) if version else ()), *outs,
    )  # fmt: skip
    wants = [leaf.grad for leaf in leaves]
    if full:
        wants[0] = wants[0] + more.double()
    else:
        wants[4] = torch.zeros(n, dim)
    for got, want in zip(outs, wants, strict=True):
        scale = want.abs().max().clamp_min(1)
        close(got / scale, want / scale, 1e-2 if got.dtype == BF16 else 1e-4)


def connected(x, res, layer, post) -> torch.Tensor:
    kept = torch.einsum("...ij,...id->...jd", res, x) if res is not None else x
    return kept + torch.einsum("...j,...d->...jd", post, layer)


@LEAD
@pytest.mark.parametrize("dtype", [torch.float16, BF16], ids=str)
def test_connection_and_its_gradients(lead: tuple[int, ...], dtype: torch.dtype) -> None:
    n, dim = 6, 16
    x, layer = real(*lead, n, dim, dtype=dtype), real(*lead, dim, seed=1, dtype=dtype)
    res, post, out = real(*lead, n, n, seed=2), real(*lead, n, seed=3), torch.zeros_like(x)
    aclnn("aclnnMhcPost", x, res, layer, post, out)
    close(out, connected(x.double(), res.double(), layer.double(), post.double()), 2e-2)
    with rules_of("Ascend950"):  # where hRes may be null
        aclnn("aclnnMhcPost", x, None, layer, post, out)
    close(out, connected(x.double(), None, layer.double(), post.double()), 2e-2)
    grad = real(*lead, n, dim, seed=4, dtype=dtype)
    outs = [torch.zeros_like(one) for one in (x, res, layer, post)]
    aclnn("aclnnMhcPostBackward", grad, x, res, layer, post, *outs)
    for got, want in zip(outs, gradients(connected, x, res, layer, post, grad=grad), strict=True):
        close(got, want, 1e-4 if got.dtype == torch.float32 else 2e-2)
    aclnn("aclnnMhcPostBackward", grad, x, None, layer, post, *outs)
    assert torch.equal(outs[0], grad) and not outs[1].any()
    with pytest.raises(Refused, match="161002"):
        aclnn("aclnnMhcPost", x, res[..., :5], layer, post, out)
    with pytest.raises(Refused, match="161002"):
        aclnn("aclnnMhcPost", x, res, layer.float(), post, out)


def normalized(x: torch.Tensor, eps: float, iterations: int) -> torch.Tensor:
    y = x.softmax(-1) + eps
    for i in range(iterations):
        if i:
            y = y / (y.sum(-1, keepdim=True) + eps)
        y = y / (y.sum(-2, keepdim=True) + eps)
    return y


@pytest.mark.parametrize(("lead", "n"), [((5,), 4), ((2, 70), 6), ((130,), 8)])
def test_sinkhorn_and_its_gradient(lead: tuple[int, ...], n: int) -> None:
    """More than 64 tokens: a core has several."""
    eps, iterations = 1e-6, 5
    x, grad = real(*lead, n, n), real(*lead, n, n, seed=1)
    tokens = x.numel() // (n * n)
    out = torch.zeros_like(x)
    aclnn("aclnnMhcSinkhorn", x, eps, iterations, out, None, None)
    close(out, normalized(x.double(), eps, iterations))
    norms, sums = torch.full((2 * iterations * tokens * n * 8,), 7.0), torch.full((2 * iterations * tokens * 8,), 7.0)
    again = torch.zeros_like(x)
    aclnn("aclnnMhcSinkhorn", x, eps, iterations, again, norms, sums)
    assert torch.equal(out, again)
    each = -(-tokens // 64)  # as one of 64 cores has them: each step (n, its tokens, 8), then the next
    first = norms[: 2 * iterations * n * each * 8].reshape(2 * iterations, n, each, 8)
    close(first[-1, :, :, :n].transpose(0, 1), normalized(x.double(), eps, iterations).reshape(-1, n, n)[:each])
    assert not first[..., n:].any()
    (want,) = gradients(lambda x: normalized(x, eps, iterations), x, grad=grad)
    back = torch.zeros_like(x)
    aclnn("aclnnMhcSinkhornBackward", grad, norms, sums, back)
    close(back, want)
    with pytest.raises(Refused, match="normOut and sumOut have"):
        aclnn("aclnnMhcSinkhornBackward", grad, norms[:-8], sums, back)
    with pytest.raises(Refused, match=r"numIters is 0; .* allows at least 1 and at most 100 "):
        aclnn("aclnnMhcSinkhorn", x, eps, 0, out, None, None)
    with pytest.raises(Refused, match="both given, or none"):
        aclnn("aclnnMhcSinkhorn", x, eps, iterations, out, norms, None)


def test_steps_of_a_core_that_takes_several_passes_are_refused() -> None:
    tokens, n = 64 * 117, 8
    x, norms, sums = torch.zeros(tokens, n, n), torch.zeros(2 * tokens * n * 8), torch.zeros(2 * tokens * 8)
    with pytest.raises(Refused, match="several passes are not simulated"):
        aclnn("aclnnMhcSinkhorn", x, 1e-6, 1, torch.zeros_like(x), norms, sums)


PROGRAM = """
import torch, torch_npu
make = torch.Generator().manual_seed(0)
def real(*shape): return torch.randn(*shape, generator=make)
n, dim, rows = 4, 16, 24
x = real(5, n, dim).bfloat16()
phi, alpha, bias, gamma = real(rows, n * dim) / 8, real(3), real(rows), real(n, dim)
on_npu = [one.npu() for one in (x, phi, alpha, bias)]
layer, post, res, norm, products, weights = torch_npu.npu_mhc_pre(*on_npu, gamma=gamma.npu(), out_flag=1)
leaves = [one.double().requires_grad_() for one in (x, phi, alpha, bias, gamma)]
flat = leaves[0].flatten(-2)
of_phi = (flat * leaves[4].flatten()) @ leaves[1].t() * torch.rsqrt(flat.square().mean(-1, True) + 1e-6)
scaled = of_phi * leaves[2].repeat_interleave(torch.tensor([n, n, n * n])) + leaves[3]
pre = scaled[:, :n].sigmoid() + 1e-6
want = [(pre[..., None] * leaves[0]).sum(-2), 2 * scaled[:, n : 2 * n].sigmoid()]
want.append(scaled[:, 2 * n :].unflatten(1, (n, n)))
for got, one in zip((layer, post, res), want):
    torch.testing.assert_close(got.cpu().double(), one.detach(), rtol=1e-2, atol=1e-2)
grads = [real(5, dim).bfloat16(), real(5, n), real(5, n, n)]
torch.autograd.backward(want, [one.double() for one in grads])
for precise in (0, 1):
    got = torch_npu.npu_mhc_pre_backward(
        *on_npu[:3], *(one.npu() for one in grads), norm, products, weights, post, gamma=gamma.npu(), hc_eps=1e-6,
        inner_precise=precise)
    for mine, leaf in zip(got, leaves):
        torch.testing.assert_close(mine.cpu().double(), leaf.grad, rtol=2e-2, atol=5e-2)
y = torch_npu.npu_mhc_post(x.npu(), res, layer, post)
theirs = torch.einsum("tij,tid->tjd", want[2], x.double()) + want[1][..., None] * want[0][:, None]
torch.testing.assert_close(y.cpu().double(), theirs.detach(), rtol=5e-2, atol=5e-2)
z = real(3, 4, 4)
out, norms, sums = torch_npu.npu_mhc_sinkhorn(z.npu(), out_flag=1)
leaf = z.double().requires_grad_()
value = leaf.softmax(-1) + 1e-6
for i in range(20):
    if i: value = value / (value.sum(-1, keepdim=True) + 1e-6)
    value = value / (value.sum(-2, keepdim=True) + 1e-6)
torch.testing.assert_close(out.cpu().double(), value.detach(), rtol=1e-4, atol=1e-5)
grad = real(3, 4, 4)
value.backward(grad.double())
back = torch_npu.npu_mhc_sinkhorn_backward(grad.npu(), norms, sums)
torch.testing.assert_close(back.cpu().double(), leaf.grad, rtol=1e-3, atol=1e-5)
print("done")
"""


def test_through_torch_npu(run_sim) -> None:
    """In a process of its own: torch_npu asks for CANN 9.0."""
    done = run_sim(PROGRAM, "--cann", "9.0.0")
    assert done.stdout.strip() == "done", done.stderr
