"""Functions that CANN's example programs call: each against its documented formula, written out here in float64."""

from __future__ import annotations

import math

import pytest
import torch
from interfaces import Refused, aclnn
from torch.nn import functional
from values import close, gradients, real, situ, steps_close, whole


# ---- gated units -------------------------------------------------------------------------------------------------
def clipped(x: torch.Tensor, *, dim: int, interleaved: bool) -> torch.Tensor:
    rows = x.reshape(math.prod(x.shape[: dim % x.dim()]), -1)
    gate, value = (rows[:, ::2], rows[:, 1::2]) if interleaved else rows.chunk(2, -1)
    gate, value = gate.clamp(max=0.8), value.clamp(-0.8, 0.8)
    return gate * torch.sigmoid(1.7 * gate) * (value + 1)


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize(("shape", "dim"), [([3, 4, 6], 1), ([3, 4, 6], 2), ([4, 3], 0), ([6], -1)])
def test_clipped_swiglu(interleaved: bool, shape: list[int], dim: int) -> None:
    x, settings, shape = real(*shape), (dim, 1.7, 0.8, 1.0, interleaved), [*shape]
    shape[dim] //= 2
    out, grad = torch.zeros(shape), real(*shape, seed=1)
    aclnn("aclnnClippedSwiglu", x, None, *settings, out)
    close(out, clipped(x.double(), dim=dim, interleaved=interleaved))
    (want,) = gradients(lambda x: clipped(x, dim=dim, interleaved=interleaved).reshape(shape), x, grad=grad)
    back = torch.zeros_like(x)
    aclnn("aclnnClippedSwigluGrad", grad, x, None, *settings, back)
    close(back, want)


def test_clipped_swiglu_of_nothing() -> None:
    out = torch.zeros(0)
    aclnn("aclnnClippedSwiglu", torch.zeros(0), None, -1, 1.702, 7.0, 1.0, True, out)
    assert out.shape == (0,)


def test_clipped_swiglu_of_the_rows_that_groups_have() -> None:
    x, groups, settings = real(5, 6), torch.tensor([2, 1]), (1, 1.7, 0.8, 1.0, False)
    out, grad, back = torch.full((5, 3), 7.0), real(5, 3, seed=1), torch.full((5, 6), 7.0)
    aclnn("aclnnClippedSwiglu", x, groups, *settings, out)
    close(out[:3], clipped(x.double(), dim=1, interleaved=False)[:3])
    assert (out[3:] == 7).all()
    aclnn("aclnnClippedSwigluGrad", grad, x, groups, *settings, back)
    (want,) = gradients(lambda x: clipped(x, dim=1, interleaved=False), x, grad=grad)
    close(back[:3], want[:3])
    assert (back[3:] == 0).all()


@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("linear", [0.0, 2.0])
def test_situ_glu(left: bool, linear: float) -> None:
    x, out, grad, back = real(4, 6), torch.zeros(4, 3), real(4, 3, seed=1), torch.zeros(4, 6)
    aclnn("aclnnSituGlu", x, -1, 1.5, linear, left, out)
    close(out, situ(x.double(), linear=linear, left=left))
    aclnn("aclnnSituGluGrad", grad, x, -1, 1.5, linear, left, back)
    close(back, gradients(lambda x: situ(x, linear=linear, left=left), x, grad=grad)[0])


def test_halves_multiplied() -> None:
    x, out = real(4, 6), torch.zeros(4, 3)
    aclnn("aclnnFatreluMul", x, torch.tensor([0.3]), out)
    left, right = x.double().chunk(2, -1)
    close(out, torch.where(left < 0.3, 0.0, left) * right)
    gelu, grad, back = torch.zeros(4, 3), real(4, 3, seed=1), torch.zeros(4, 6)
    aclnn("aclnnGeGlu", x, -1, 1, out, gelu)
    close(gelu, functional.gelu(right, approximate="tanh"))
    close(out, left * functional.gelu(right, approximate="tanh"))
    aclnn("aclnnGeGluBackward", grad, x, gelu, -1, 1, back)
    (want,) = gradients(
        lambda x: x.chunk(2, -1)[0] * functional.gelu(x.chunk(2, -1)[1], approximate="tanh"), x, grad=grad
    )
    close(back, want)


def test_modulate() -> None:
    x, scale, shift, out = real(2, 3, 4), real(2, 4, seed=1), real(2, 1, 4, seed=2), torch.zeros(2, 3, 4)
    aclnn("aclnnModulate", x, scale, shift, out)
    close(out, x.double() * (1 + scale.double()[:, None]) + shift)
    with pytest.raises(Refused, match="given both"):
        aclnn("aclnnModulate", x, None, shift, out)
    grad, to_x, to_scale, to_shift = real(2, 3, 4, seed=3), torch.zeros(2, 3, 4), torch.zeros(2, 4), torch.zeros(2, 4)
    aclnn("aclnnModulateBackward", grad, x, scale, scale, to_x, to_scale, to_shift)
    close(to_x, grad.double() * scale[:, None])
    close(to_scale, (grad.double() * x).sum(1))
    close(to_shift, grad.double().sum(1))


def test_softmax_cross_entropy() -> None:
    x, labels = real(4, 5), functional.softmax(real(4, 5, seed=1), -1)
    loss, back = torch.zeros(4), torch.zeros(4, 5)
    aclnn("aclnnSoftmaxCrossEntropyWithLogits", x, labels, loss, back)
    close(loss, functional.cross_entropy(x.double(), labels.double(), reduction="none"))
    close(back, functional.softmax(x.double(), -1) - labels)


# ---- normalizations ----------------------------------------------------------------------------------------------
def ada(x: torch.Tensor, scale: torch.Tensor, shift: torch.Tensor, weight, bias) -> torch.Tensor:
    return functional.layer_norm(x, x.shape[-1:], weight, bias, 1e-5) * (1 + scale[:, None]) + shift[:, None]


def test_ada_layer_norm() -> None:
    given = (x, scale, shift, weight, bias) = (
        real(2, 3, 8), real(2, 8, seed=1), real(2, 8, seed=2), real(8, seed=3), real(8, seed=4))  # fmt: skip
    out, mean, rstd = torch.zeros_like(x), torch.zeros(2, 3, 1), torch.zeros(2, 3, 1)
    want = ada(*(one.double() for one in given))
    aclnn("aclnnAdaLayerNorm", x, scale, shift[:, None], weight, bias, 1e-5, out)
    close(out, want)
    aclnn("aclnnAdaLayerNormV2", *given, 1e-5, out, mean, rstd)
    close(out, want)
    close(mean, x.double().mean(-1))
    grad = real(2, 3, 8, seed=5)
    outs = [torch.zeros_like(one) for one in given]
    aclnn("aclnnAdaLayerNormBackward", grad, x, [8], rstd, mean, scale, shift, weight, bias, *outs)
    for got, expected in zip(outs, gradients(ada, *given, grad=grad), strict=True):
        close(got, expected, 1e-3)
    smooth, half = real(8, seed=6).abs() + 0.1, torch.bfloat16
    low = [one.to(half) for one in given]
    quantized, factor = torch.zeros(2, 3, 8, dtype=torch.int8), torch.zeros(2, 3)
    aclnn("aclnnAdaLayerNormQuant", *low, smooth.to(half), 1e-5, "dynamic", quantized, factor, None)
    value = ada(*(one.double() for one in low)) * smooth.to(half)
    close(factor, value.abs().amax(-1) / 127, 1e-3)
    steps_close(quantized, value / factor.double()[..., None])


def test_norms_that_end_in_whole_numbers() -> None:
    x, gamma, beta = real(3, 8).half(), real(1, 8, seed=1).half(), real(1, 8, seed=2).half()
    scale, zero = torch.tensor([0.05]).half(), torch.tensor([3], dtype=torch.int8)
    out = torch.zeros(3, 8, dtype=torch.int8)
    normal = functional.layer_norm(x.double(), [8], gamma.double().flatten(), beta.double().flatten(), 1e-5)
    aclnn("aclnnLayerNormQuant", x, gamma, beta, scale, zero, 0, 1e-5, out, torch.zeros(3))
    steps_close(out, normal / scale.double() + 3)
    with pytest.raises(Refused, match=r"quantMode is 1; .* allows 0 "):
        aclnn("aclnnLayerNormQuant", x, gamma, beta, scale, zero, 1, 1e-5, out, torch.zeros(3))
    rms = x.double() / (x.double().square().mean(-1, keepdim=True) + 1e-5).sqrt() * gamma.double() + beta.double()
    aclnn("aclnnRmsNormQuant", x, gamma.flatten(), beta.flatten(), scale, zero, 1e-5, out)
    steps_close(out, rms / scale.double() + 3)
    factor = torch.zeros(3)
    aclnn("aclnnRmsNormDynamicQuant", x, gamma.flatten(), None, beta.flatten(), 1e-5, 2, out, factor)
    close(factor, rms.abs().amax(-1) / 127, 1e-3)
    steps_close(out, rms / factor.double()[:, None])
    other = real(3, 8, seed=3).half()
    total, second, factors = torch.zeros(3, 8).half(), torch.zeros(3, 8, dtype=torch.int8), torch.zeros(3)
    smooth = (real(8, seed=4).abs() + 0.5).half()
    aclnn(
        "aclnnAddRmsNormDynamicQuant",
        x,
        other,
        gamma.flatten(),
        smooth,
        None,
        1e-5,
        out,
        second,
        total,
        factor,
        factors,
    )
    both = x.double() + other.double()
    value = both / (both.square().mean(-1, keepdim=True) + 1e-5).sqrt() * gamma.double() * smooth.double()
    close(total, both, 1e-2)
    steps_close(out, value / factor.double()[:, None])
    again, unused = torch.zeros(3, 8).half(), torch.zeros(3)
    quant_zero = zero.half()
    aclnn("aclnnAddLayerNormQuantV2", x, other, gamma, beta, None, scale, None, quant_zero, None, "static", 1e-5, True,
          False, out, second, total.zero_(), again, unused, unused)  # fmt: skip
    close(total, both, 1e-2)
    normal = functional.layer_norm(both, [8], gamma.double().flatten(), beta.double().flatten(), 1e-5)
    close(again, normal, 1e-2)
    steps_close(out, normal * scale.double() + 3)


def test_norms_of_channels() -> None:
    x, gamma, beta = real(2, 4, 3, 3), real(4, seed=1), real(4, seed=2)
    out, mean, rstd = torch.zeros_like(x), torch.zeros(2, 2), torch.zeros(2, 2)
    want = functional.group_norm(x.double(), 2, gamma.double(), beta.double(), 1e-5)
    for silu in (True, False):
        aclnn("aclnnGroupNormSiluV2", x, gamma, beta, 2, 1e-5, silu, out, mean, rstd)
        close(out, functional.silu(want) if silu else want)
    close(mean, x.double().reshape(2, 2, -1).mean(-1))
    low, scale = [one.half() for one in (x, gamma, beta)], torch.tensor([0.02, 0.03, 0.04, 0.05])
    steps = torch.zeros(2, 4, 3, 3, dtype=torch.int8)
    aclnn("aclnnGroupNormSiluQuant", *low, scale, 2, 1e-5, True, steps, mean.half(), rstd.half())
    want = functional.silu(functional.group_norm(low[0].double(), 2, low[1].double(), low[2].double(), 1e-5))
    steps_close(steps, want / scale.double()[:, None, None])
    values, var = whole(2, 4, 3, 3), real(4, seed=3).abs() + 0.1
    aclnn("aclnnQuantizedBatchNorm", values, mean[0].repeat(2), var, 0.1, 2, 0.05, -3, gamma, beta, 1e-5, steps)
    value = (values.double() - 2) * 0.1 - mean[0].repeat(2).double()[:, None, None]
    value = value / (var.double() + 1e-5).sqrt()[:, None, None] * gamma[:, None, None] + beta[:, None, None]
    steps_close(steps, value / 0.05 - 3)


def test_fast_batch_norm_backward() -> None:
    x, weight, grad = real(3, 4, 2, 2), real(4, seed=1), real(3, 4, 2, 2, seed=2)
    mean, rstd = x.mean((0, 2, 3)), (x.var((0, 2, 3), unbiased=False) + 1e-5).rsqrt()
    bias, outs = torch.zeros(4), [torch.zeros_like(x), torch.zeros(4), torch.zeros(4)]
    aclnn("aclnnFastBatchNormBackward", grad, x, weight, mean, rstd, mean, rstd, True, 1e-5, [True] * 3, 0, *outs)
    want = gradients(lambda x, w, b: functional.batch_norm(x, None, None, w, b, True), x, weight, bias, grad=grad)
    for got, expected in zip(outs, want, strict=True):
        close(got, expected, 1e-3)


def test_layer_norm_by_mode() -> None:
    x, weight, out, mean, rstd = real(3, 8), real(8, seed=1), torch.zeros(3, 8), torch.zeros(3, 1), torch.zeros(3, 1)
    aclnn("aclnnLayerNormWithImplMode", x, [8], weight, None, 1e-5, out, mean, rstd, 1)
    close(out, functional.layer_norm(x.double(), [8], weight.double(), None, 1e-5))


# ---- places --------------------------------------------------------------------------------------------------------
def test_slices_taken_and_put() -> None:
    x, index = real(4, 5), torch.tensor([[3, 0], [1, 1]])
    out = torch.zeros(2, 2, 5)
    aclnn("aclnnGatherV2", x, 0, index, out)
    assert torch.equal(out, x[index])
    out = torch.zeros(4, 2, 2)
    aclnn("aclnnGatherV2", x, 1, index, out)
    assert torch.equal(out, x[:, index])
    updates, put = real(2, 5, seed=1), torch.zeros(4, 5)
    aclnn("aclnnScatterNd", x, torch.tensor([[2], [0]]), updates, put)
    want = x.clone()
    want[[2, 0]] = updates
    assert torch.equal(put, want)
    for indices in (torch.tensor([2, 2]), torch.tensor([[2], [2]])):
        total = x.clone()
        aclnn("aclnnTfScatterAdd", total, indices, updates)
        want = x.clone()
        want[2] += updates.sum(0)
        close(total, want)
    with pytest.raises(Refused, match="updates"):
        aclnn("aclnnTfScatterAdd", x.clone(), torch.tensor([2, 2]), real(3, 5))
    permuted = torch.zeros(5, dtype=torch.int32)
    order, starts, ends = ([1, 0], [0, 3, 5], [0, 2, 5])
    given = (torch.tensor(one, dtype=torch.int32) for one in (order, starts, ends))
    aclnn("aclnnExpandIntoJaggedPermute", *given, 5, permuted)
    assert permuted.tolist() == [3, 4, 0, 1, 2]


def test_a_list_of_tensors_updated_each_at_its_place() -> None:
    tensors = [torch.zeros(2, 6, 3) for _ in range(2)]
    updates = real(2, 2, 2, 3)
    aclnn("aclnnScatterList", tensors, torch.tensor([1, 4]), updates, None, "update", -2)
    assert torch.equal(tensors[0][:, 1:3], updates[0]) and torch.equal(tensors[1][:, 4:6], updates[1])
    assert tensors[0][:, 3:].abs().sum() == 0
    part = [torch.zeros(2, 6, 3) for _ in range(2)]
    mask = torch.tensor([1, 0], dtype=torch.uint8)
    aclnn("aclnnScatterList", part, torch.tensor([[1, 1], [4, 1]]), updates, mask, "update", -2)
    assert torch.equal(part[0][:, 1], updates[0][:, 0]) and part[0][:, 2:].abs().sum() == 0
    assert part[1].abs().sum() == 0


@pytest.mark.parametrize("dims", [2, 3])
def test_max_unpool_backward(dims: int) -> None:
    x = real(1, 2, *[4] * dims)
    pool = functional.max_pool2d if dims == 2 else functional.max_pool3d
    small, found = pool(x, 2, return_indices=True)
    unpool = functional.max_unpool2d if dims == 2 else functional.max_unpool3d
    grad, out = real(1, 2, *[4] * dims, seed=1), torch.zeros_like(small)
    extra = ([2] * 3, [0] * 3) if dims == 3 else ()
    aclnn(f"aclnnMaxUnpool{dims}dBackward", grad, small, found, [4] * dims, *extra, out)
    close(out, gradients(lambda x: unpool(x, found, 2), small, grad=grad)[0])


def test_chamfer_distance_backward() -> None:
    a, b = real(2, 4, 2), real(2, 3, 2, seed=1)

    def distances(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return (a[:, :, None] - b[:, None]).square().sum(-1).min(2)

    def both(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.cat([distances(a, b).values, distances(b, a).values], 1)

    grad, outs = real(2, 7, seed=2), [torch.zeros_like(a), torch.zeros_like(b)]
    near = [distances(*pair).indices.int() for pair in ((a, b), (b, a))]
    aclnn("aclnnChamferDistanceBackward", a, b, *near, grad[:, :4].contiguous(), grad[:, 4:].contiguous(), *outs)
    for got, want in zip(outs, gradients(both, a, b, grad=grad), strict=True):
        close(got, want)


# ---- products, pools, lists ------------------------------------------------------------------------------------------
def test_products() -> None:
    a, b, c, out = real(3, 4), real(5, 4, seed=1), real(3, 5, seed=2), torch.zeros(3, 5)
    aclnn("aclnnGemm", a, b, c, 0.5, 2.0, 0, 1, out, 0)
    close(out, 0.5 * a.double() @ b.double().T + 2 * c)
    aclnn("aclnnEinsum", [a, b], "ij,kj->ik", out)
    close(out, a.double() @ b.double().T)
    scalars, lists = torch.tensor([0.5, -2.0]), [[real(3, seed=i), real(2, 2, seed=i + 1)] for i in (3, 5, 7)]
    for name, how in (("mul", torch.mul), ("div", torch.div)):
        outs = [torch.zeros(3), torch.zeros(2, 2)]
        aclnn(f"aclnnForeachAddc{name}List", *lists, scalars, outs)
        for i, got in enumerate(outs):
            x, y, z = (one[i].double() for one in lists)
            close(got, x + scalars[i] * how(y, z))


@pytest.mark.parametrize("pads, ceil", [([1, 0, 1, 1], 0), ([1, 1], 1), ([], 1)])
def test_max_pool(pads: list[int], ceil: int) -> None:
    x = real(1, 2, 5, 6)
    top, left, bottom, right = pads if len(pads) == 4 else pads * 2 or [0] * 4
    sizes = []
    for size, before, after in ((5, top, bottom), (6, left, right)):
        count = (math.ceil if ceil else math.floor)((size + before + after - 2) / 2) + 1
        sizes.append(count - (ceil and (count - 1) * 2 >= size + before))
    out, want = torch.zeros(1, 2, *sizes), torch.full((1, 2, *sizes), -torch.inf)
    for i in range(sizes[0]):
        for j in range(sizes[1]):
            rows, columns = (
                slice(max(0, 2 * at - before), 2 * at - before + 2) for at, before in ((i, top), (j, left))
            )
            want[..., i, j] = x[..., rows, columns].amax((-2, -1))
    aclnn("aclnnMaxPool", x, [2, 2], [2, 2], 0, pads, [1], ceil, out)
    assert torch.equal(out, want)


# ---- optimizers, recurrent layers ------------------------------------------------------------------------------------
@pytest.mark.parametrize("amsgrad", [False, True])
def test_fused_adamw(amsgrad: bool) -> None:
    state = [[real(3, seed=i), real(2, 2, seed=i + 1)] for i in (0, 2, 4)]
    state.append([one.abs() for one in (real(3, seed=6), real(2, 2, seed=7))])
    largest = [torch.full((3,), 5.0), torch.zeros(2, 2)]
    before = [[one.double() for one in each] for each in state]
    steps = [torch.tensor([3.0]), torch.tensor([3.0])]
    settings = (0.1, 0.9, 0.99, 0.01, 1e-8, amsgrad, False)
    aclnn("aclnnFusedAdamw", *state, largest, steps, None, None, *settings)
    for i, (p, g, m, v) in enumerate(zip(*before, strict=True)):
        m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
        bound = v / (1 - 0.99**3)
        if amsgrad:
            bound = torch.maximum(bound, torch.tensor([5.0, 0.0])[i].double())
            close(largest[i], bound)
        close(state[0][i], p - 0.1 * (m / (1 - 0.9**3)) / (bound.sqrt() + 1e-8) - 0.1 * 0.01 * p)
        close(state[2][i], m)
        close(state[3][i], v)
    kept = [one.clone() for one in state[0]]
    aclnn("aclnnFusedAdamw", *state, largest, steps, None, torch.tensor([1.0]), *settings)
    assert all(torch.equal(a, b) for a, b in zip(kept, state[0], strict=True)), "an infinity was found"


@pytest.mark.parametrize("mode, correct", [(0, True), (1, False)])
def test_ema_adam(mode: int, correct: bool) -> None:
    g, p, m, s = (real(4, seed=i) for i in range(4))
    v = real(4, seed=4).abs()
    old = [one.double() for one in (g, p, m, v, s)]
    aclnn("aclnnApplyFusedEmaAdam", g, p, m, v, s, torch.tensor([2]), 0.1, 0.5, 0.9, 0.99, 1e-6, mode, correct, 0.05)
    grad, parameter, first, second, slow = old
    grad = grad + 0.05 * parameter if mode == 0 else grad
    first, second = 0.9 * first + 0.1 * grad, 0.99 * second + 0.01 * grad * grad
    scale1, scale2 = (1 - 0.9**2, 1 - 0.99**2) if correct else (1, 1)
    update = first / scale1 / ((second / scale2).sqrt() + 1e-6) + (0.05 * parameter if mode == 1 else 0)
    after = parameter - 0.1 * update
    for got, want in ((p, after), (m, first), (v, second), (s, 0.5 * slow + 0.5 * after)):
        close(got, want)


def test_a_step_of_an_lstm() -> None:
    gates, hidden, cx, bias = real(2, 12), real(2, 12, seed=1), real(2, 3, seed=2), real(12, seed=3)

    def step(gates: torch.Tensor, cx: torch.Tensor, bias: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        i, g, f, o = (gates + hidden.double() + bias).chunk(4, -1)
        cy = torch.sigmoid(f) * cx + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(cy), cy

    hy, cy, storage = torch.zeros(2, 3), torch.zeros(2, 3), torch.zeros(2, 12)
    aclnn("aclnnThnnFusedLstmCell", gates, hidden, cx, bias, torch.zeros(12), hy, cy, storage)
    for got, want in zip((hy, cy), step(gates.double(), cx.double(), bias.double()), strict=True):
        close(got, want)
    grad = real(2, 6, seed=4)
    outs = [torch.zeros(2, 12), torch.zeros(2, 3), torch.zeros(12)]
    halves = [one.contiguous() for one in grad.chunk(2, -1)]
    aclnn("aclnnThnnFusedLstmCellBackward", *halves, cx, cy, storage, True, *outs)
    for got, want in zip(outs, gradients(lambda *x: torch.cat(step(*x), -1), gates, cx, bias, grad=grad), strict=True):
        close(got, want)


@pytest.mark.parametrize("has_bias, both_ways, batch_first", [(True, True, False), (False, False, True)])
def test_gru(has_bias: bool, both_ways: bool, batch_first: bool) -> None:
    torch.manual_seed(0)
    layer = torch.nn.GRU(3, 4, 2, has_bias, batch_first=batch_first, bidirectional=both_ways)
    ways, x = 2 if both_ways else 1, real(5, 2, 3)
    x = x.transpose(0, 1).contiguous() if batch_first else x
    start = real(2 * ways, 2, 4, seed=1)
    parameters = [one.detach() for one in layer.parameters()]
    out, last = torch.zeros(*x.shape[:2], 4 * ways), torch.zeros(2 * ways, 2, 4)
    gates = [[torch.zeros(5, 2, 4) for _ in range(2 * ways)] for _ in range(5)]
    settings = (has_bias, 2, 0.0, True, both_ways, batch_first)
    aclnn("aclnnGRU", x, parameters, start, None, *settings, out, last, *gates)
    want, want_last = layer.double()(x.double(), start.double())
    close(out, want.detach())
    close(last, want_last.detach())
    r, z, n, hn, h = (each[0] for each in gates)
    close(h, (1 - z) * n + z * torch.cat([start[:1], h[:-1]]))
    first = (x.transpose(0, 1) if batch_first else x) @ parameters[0].T
    first = first + parameters[2] if has_bias else first
    close(n, torch.tanh(first[..., 8:] + r * hn))


@pytest.mark.parametrize("has_bias, both_ways, batch_first", [(True, True, False), (False, False, True)])
def test_lstm(has_bias: bool, both_ways: bool, batch_first: bool) -> None:
    """Forward and backward: the second from what the first left in its lists."""
    torch.manual_seed(0)
    layer = torch.nn.LSTM(3, 4, 2, has_bias, batch_first=batch_first, bidirectional=both_ways)
    ways, x = 2 if both_ways else 1, real(5, 2, 3)
    x = x.transpose(0, 1).contiguous() if batch_first else x
    start = [real(2 * ways, 2, 4, seed=seed) for seed in (1, 2)]
    parameters = [one.detach().clone() for one in layer.parameters()]
    out, last, cell = torch.zeros(*x.shape[:2], 4 * ways), torch.zeros(2 * ways, 2, 4), torch.zeros(2 * ways, 2, 4)
    saved = [[torch.zeros(5, 2, 4) for _ in range(2 * ways)] for _ in range(7)]
    settings = (has_bias, 2, 0.0, True, both_ways, batch_first)
    aclnn("aclnnLSTM", x, parameters, start, None, *settings, out, last, cell, *saved)
    leaves = [x.double().requires_grad_(), *(one.double().requires_grad_() for one in start)]
    whole_output, states = layer.double()(leaves[0], tuple(leaves[1:]))
    results = [whole_output, *states]
    for got, want in zip((out, last, cell), results, strict=True):
        close(got, want.detach())
    i, g, f, o, h, c, bounded = (each[0] for each in saved)
    close(c, f * torch.cat([start[1][:1], c[:-1]]) + i * g)
    close(h, o * bounded)
    grads = [real(*one.shape, seed=seed) for one, seed in zip(results, (3, 4, 5), strict=True)]
    torch.autograd.backward(results, [one.double() for one in grads])
    back = [torch.zeros_like(x), torch.zeros_like(start[0]), torch.zeros_like(start[1])]
    slopes = [torch.zeros_like(one) for one in parameters]
    flags = [True] * 4
    aclnn("aclnnLstmBackward", x, start, parameters, *grads, *saved, None, *settings, flags, *back, slopes)
    for got, leaf in zip((*back, *slopes), (*leaves, *layer.parameters()), strict=True):
        close(got, leaf.grad, 1e-3)


@pytest.mark.parametrize("both_ways", [False, True])
def test_lstm_of_different_lengths(both_ways: bool) -> None:
    """Steps after a sequence's end give 0 and keep its state; rows of the input lie as in (time, batch, features)."""
    torch.manual_seed(0)
    lengths, ways = [5, 3, 1], 2 if both_ways else 1
    layer = torch.nn.LSTM(3, 4, bidirectional=both_ways)
    x, start = real(5, 3, 3), [real(ways, 3, 4, seed=seed) for seed in (1, 2)]
    sizes = torch.tensor([3, 2, 2, 1, 1])
    parameters = [one.detach().clone() for one in layer.parameters()]
    out, last, cell = torch.full((5, 3, 4 * ways), 7.0), torch.zeros(ways, 3, 4), torch.zeros(ways, 3, 4)
    saved = [[torch.zeros(5, 3, 4) for _ in range(ways)] for _ in range(7)]
    settings = (True, 1, 0.0, True, both_ways, False)
    rows = x.reshape(15, 3)
    aclnn("aclnnLSTM", rows, parameters, start, sizes, *settings, out, last, cell, *saved)
    leaves = [x.double().requires_grad_(), *(one.double().requires_grad_() for one in start)]
    packed = torch.nn.utils.rnn.pack_padded_sequence(leaves[0], lengths)
    whole_output, states = layer.double()(packed, tuple(leaves[1:]))
    results = [torch.nn.utils.rnn.pad_packed_sequence(whole_output)[0], *states]
    for got, want in zip((out, last, cell), results, strict=True):
        close(got, want.detach())
    grads = [real(*one.shape, seed=seed) for one, seed in zip(results, (3, 4, 5), strict=True)]
    torch.autograd.backward(results, [one.double() for one in grads])
    back = [torch.zeros_like(rows), torch.zeros_like(start[0]), torch.zeros_like(start[1])]
    slopes = [torch.zeros_like(one) for one in parameters]
    grads[0] = grads[0].reshape(15, 4 * ways)
    aclnn("aclnnLstmBackward", rows, start, parameters, *grads, *saved, sizes, *settings, [True] * 4, *back, slopes)
    for got, leaf in zip((*back, *slopes), (*leaves, *layer.parameters()), strict=True):
        close(got, leaf.grad.reshape(got.shape), 1e-3)

    with pytest.raises(Refused, match=r"input of shape \[15, 3\] with 4 batchSizes.*time_step \* batch_size"):
        aclnn("aclnnLSTM", rows, parameters, start, sizes[:4], *settings, out, last, cell, *saved)
