"""Formulas of the pages of ops-nn and ops-cv; formulas.py says how they are read."""

from __future__ import annotations

import torch
from formulas import EPS, FLOAT, OUT, Drawn, Out, Tensor, Written, half, positive, row, sigmoid, x
from formulas import _is as formula

INT = Out(torch.int32)
INDICES = Drawn((3,), value=1, dtype=torch.int32)  # all of them name row 1

# ---- lists in place --------------------------------------------------------------------------------------------------
ONE = Drawn((1,), value=0.5, dtype=torch.float32)
formula("ForeachLogInplace", Written(positive, listed=True))(torch.log)
formula("ForeachACosInplace", Written(Drawn(value=0.25), listed=True))(torch.acos)
formula("ForeachMulListInplace", Written(listed=True), [x])(lambda a, b: a * b[0])
formula("ForeachDivListInplace", Written(listed=True), [positive])(lambda a, b: a / b[0])
formula("ForeachMulScalarInplace", Written(listed=True), ONE)(lambda a, s: a * s)
formula("ForeachSubScalarInplace", Written(listed=True), ONE)(lambda a, s: a - s)
formula("ForeachAddListInplace", Written(listed=True), [x], ONE)(lambda a, b, s: a + s * b[0])
formula("ForeachSubListInplace", Written(listed=True), [x], ONE)(lambda a, b, s: a - s * b[0])


# ---- rows and slices by index ----------------------------------------------------------------------------------------
def _rows(combine):  # type: ignore[no-untyped-def]
    def of(a: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
        result = a.clone()
        for place, update in zip(indices.long(), updates, strict=True):
            result[place] = combine(result[place], update)
        return result

    return of


_UPDATES = Drawn((3, 8), positive=True)
formula("ScatterMul", Written(), INDICES, _UPDATES, False)(_rows(lambda a, b: a * b))
formula("ScatterDiv", Written(), INDICES, _UPDATES, False)(_rows(lambda a, b: a / b))
formula("ScatterMax", Written(), INDICES, _UPDATES, False)(_rows(torch.maximum))
formula("ScatterMin", Written(), INDICES, _UPDATES, False)(_rows(torch.minimum))
_PLACES = Drawn((2, 2), value=1, dtype=torch.int64)
formula("GatherNd", Drawn((2, 3, 4)), _PLACES, False, OUT)(lambda a, _: torch.stack([a[1, 1], a[1, 1]]))

# ---- losses ----------------------------------------------------------------------------------------------------------
formula("MseLossOut", x, row, 2, OUT)(lambda a, b: ((a - b) ** 2).sum(0))


@formula("BinaryCrossEntropyWithLogitsTargetBackward", x, x, positive, row, Drawn((8,), positive=True), 1, OUT)
def _(g: Tensor, a: Tensor, target: Tensor, weight: Tensor, pos_weight: Tensor) -> Tensor:
    s = sigmoid(a)
    return g * weight * -(pos_weight * torch.log(s) - torch.log(1 - s)) / a.numel()


@formula("CrossEntropySumExpAndIndexLogit", Drawn((4, 16)), Drawn((4,), value=35, dtype=torch.int32), Drawn((4,)), 32,
         48, FLOAT, FLOAT, FLOAT, INT, INT)  # fmt: skip
def _(logits: Tensor, target: Tensor, top: Tensor) -> tuple[Tensor, ...]:
    shifted = logits - top[:, None]
    return shifted[:, 3], shifted.exp().sum(-1), shifted.exp(), target - 32, torch.zeros(4).double()


# ---- gated units -----------------------------------------------------------------------------------------------------
@formula("ClippedSwigluV2", x, None, -1, 1.702, 0.75, 1.0, False, 1, OUT)
def _(a: Tensor) -> Tensor:
    gate, value = a[:, :4], a[:, 4:].clamp(-0.75, 0.75)
    return (gate * sigmoid(gate)).clamp(max=0.75) * value


@formula("SwigluGroup", x, Drawn((6,), value=0.5, dtype=torch.float32), None, 0.75, OUT)
def _(a: Tensor, weight: Tensor) -> Tensor:
    gate, value = a[:, :4].clamp(max=0.75), a[:, 4:].clamp(-0.75, 0.75)
    return gate * sigmoid(gate) * value * weight[:, None]


@formula("SwigluGroupGrad", half, x, None, None, None, 0.0, OUT, None)
def _(g: Tensor, a: Tensor) -> Tensor:
    gate, value = a[:, :4], a[:, 4:]
    s = sigmoid(gate)
    return torch.cat([g * value * s * (1 + gate * (1 - s)), g * gate * s], -1)


# ---- products --------------------------------------------------------------------------------------------------------
_WHOLE = Drawn((4, 32), value=3, dtype=torch.int8), Drawn((32, 8), value=3, dtype=torch.int8)
formula("QuantMatmul", *_WHOLE, None, 0.5, Out(torch.float16))(lambda a, b: (a @ b) * 0.5)


@formula("MatmulEmuSplitWeight", Drawn((4, 8)), Drawn((8, 8)), Drawn((8, 8)), FLOAT, 0.00390625, 0)
def _(a: Tensor, high: Tensor, low: Tensor) -> Tensor:
    return a @ high + (a @ low) / 256


# ---- images ----------------------------------------------------------------------------------------------------------
_IMAGE = Drawn((1, 2, 2, 3))
formula("Resize", _IMAGE, [1.0, 1.0, 2.0, 2.0], "nearest", OUT)(
    lambda a: a.repeat_interleave(2, 2).repeat_interleave(2, 3)
)


@formula("ThreeInterpolateBackward", Drawn((1, 2, 4)), Drawn((1, 4, 3), value=2, dtype=torch.int32), Drawn((1, 4, 3)),
         5, OUT)  # fmt: skip
def _(g: Tensor, _: Tensor, weight: Tensor) -> Tensor:
    result = torch.zeros(1, 2, 5, dtype=g.dtype)
    result[..., 2] = (g * weight.sum(-1)[:, None]).sum(-1)
    return result


_REGION = Drawn((1, 5), value=0)
formula("RoiAlignV2", Drawn((1, 2, 4, 4)), _REGION, 1, 1, 1.0, 1, False, OUT)(
    # a region of one pixel at least, whose middle is half a pixel from the first
    lambda a, _: a[:, :, :2, :2].mean((2, 3), keepdim=True)
)
formula("RoiAlign", Drawn((1, 2, 4, 4)), Drawn((1, 4), value=0), Drawn((1,), value=0, dtype=torch.int32), "avg", 1, 1,
        1, 1.0, OUT)(lambda a, *_: a[:, :, :2, :2].mean((2, 3), keepdim=True))  # fmt: skip


# ---- activations, losses and what goes back from them ----------------------------------------------------------------
formula("AddRelu", x, row, 0.5, OUT)(lambda a, b: torch.clamp_min(a + 0.5 * b, 0))
formula("InplaceHardsigmoid", Written())(lambda a: torch.clamp(a / 6 + 0.5, 0, 1))
formula("KlDivBackward", x, x, x, 0, True, OUT)(lambda g, _, target: -g * torch.exp(target))
formula("KlDivTargetBackward", x, x, positive, 0, False, OUT)(lambda g, a, target: g * (torch.log(target) + 1 - a))
formula("BinaryCrossEntropyWithLogitsBackward", x, x, x, positive, positive, 0, OUT)(
    lambda g, a, t, weight, more: g * weight * ((t * (more - 1) + 1) * sigmoid(a) - t * more)
)
_MASK = torch.arange(128).reshape(1, 1, 4, 32) % 3 == 0


@formula("ScaledMaskedSoftmax", Drawn((1, 2, 4, 32)), _MASK, 0.5, False, OUT)
def _(a: Tensor) -> Tensor:
    powers = torch.where(_MASK, 0, torch.exp(0.5 * a))
    return powers / powers.sum(-1, keepdim=True)


# ---- norms, sums, pooling --------------------------------------------------------------------------------------------
@formula("FastLayerNorm", x, [8], row, row, EPS, OUT, FLOAT, FLOAT)
def _(a: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, ...]:
    mean = a.sum(1, keepdim=True) / 8
    rstd = 1 / torch.sqrt(((a - mean) ** 2).sum(1, keepdim=True) / 8 + EPS)
    return (a - mean) * rstd * weight + bias, mean, rstd


@formula("InplaceAddRmsNorm", Written(), Written(), row, EPS, FLOAT)
def _(a: Tensor, b: Tensor, gamma: Tensor) -> tuple[Tensor, ...]:
    both = a + b
    rstd = 1 / torch.sqrt((both * both).sum(1, keepdim=True) / 8 + EPS)
    return both * rstd * gamma, both, rstd


@formula("GroupNormSwish", Drawn((2, 4, 5)), Drawn((4,)), Drawn((4,)), 2, "NCHW", EPS, True, 1.5, OUT, OUT, OUT)
def _(a: Tensor, gamma: Tensor, beta: Tensor) -> tuple[Tensor, ...]:
    groups = a.reshape(2, 2, 10)
    mean = groups.sum(-1) / 10
    rstd = 1 / torch.sqrt(((groups - mean[..., None]) ** 2).sum(-1) / 10 + EPS)
    normal = ((groups - mean[..., None]) * rstd[..., None]).reshape(2, 4, 5) * gamma[:, None] + beta[:, None]
    return normal * sigmoid(1.5 * normal), mean, rstd


@formula("DeepNormGrad", x, x, x, row, Drawn((6, 1)), Drawn((6, 1), positive=True), 0.75, OUT, OUT, FLOAT,
         FLOAT)  # fmt: skip
def _(g: Tensor, a: Tensor, gx: Tensor, gamma: Tensor, mean: Tensor, rstd: Tensor) -> tuple[Tensor, ...]:
    first, second = g * gamma, 0.75 * a + gx - mean
    by_variance = -(first * second * rstd**3).sum(1, keepdim=True) / 8
    by_mean = -(first * rstd).sum(1, keepdim=True) / 8
    result = first * rstd + by_variance * second + by_mean
    return 0.75 * result, result, g.sum(0), (g * rstd * second).sum(0)


formula("ConvTbc", Drawn((5, 2, 3)), Drawn((3, 3, 4)), Drawn((4,)), 1, OUT, 0)(
    lambda a, weight, bias: (
        sum(
            torch.einsum(
                "tbi,io->tbo", torch.cat([a.new_zeros(1, 2, 3), a, a.new_zeros(1, 2, 3)])[k : k + 5], weight[k]
            )
            for k in range(3)
        )
        + bias
    )
)
formula("BatchNormElemt", Drawn((2, 3, 4)), *[Drawn((3,))] * 3, Drawn((3,), positive=True), EPS, OUT)(
    lambda a, weight, bias, mean, invstd: (a - mean[:, None]) * invstd[:, None] * weight[:, None] + bias[:, None]
)
formula("Addmv", Drawn((6,)), half, Drawn((4,)), 1.5, 0.5, OUT, 0)(
    lambda a, matrix, vector: 0.5 * a + 1.5 * (matrix * vector).sum(1)
)
formula("AvgPool3d", Drawn((1, 2, 3, 4, 4)), [2, 2, 2], [1, 2, 2], [0, 0, 0], False, True, 0, OUT)(
    lambda a: torch.stack([a[:, :, i : i + 2].reshape(1, 2, 2, 2, 2, 2, 2).mean((2, 4, 6)) for i in (0, 1)], 2)
)


# An image of 3 by 4 as 5 by 6: where each row and each column comes from, with factors that the sizes do not give.
def _resampled(count: int, size: int, factor: float) -> Tensor:
    weights = torch.zeros(count, size, dtype=torch.float64)
    for i in range(count):
        at = max(0.0, (i + 0.5) / factor - 0.5)
        low, part = int(at), at - int(at)
        weights[i, min(low, size - 1)] += 1 - part
        weights[i, min(low + 1, size - 1)] += part
    return weights


formula("UpsampleBilinear2dBackwardV2", Drawn((1, 2, 5, 6)), [5, 6], [1, 2, 3, 4], False, 1.5, 2.0, OUT)(
    lambda g: torch.einsum("nchw,hi,wj->ncij", g, _resampled(5, 3, 1.5), _resampled(6, 4, 2.0))
)
formula("EluBackward", x, 1.25, 1.5, 0.75, False, x, OUT)(
    lambda g, a: g * torch.where(a > 0, 1.5, 1.5 * 1.25 * 0.75 * torch.exp(0.75 * a))
)

_HEADS = Drawn((1, 2, 4, 8))


@formula("FlashAttentionScoreGradV2", _HEADS, _HEADS, _HEADS, _HEADS, *[None] * 11, 0.5, 1.0, 65536, 65536, 2, "BNSD",
         0, 0, 1, OUT, OUT, OUT, None)  # fmt: skip
def _(q: Tensor, k: Tensor, v: Tensor, g: Tensor) -> tuple[Tensor, ...]:
    scores = torch.exp(0.5 * torch.einsum("bnid,bnjd->bnij", q, k))
    part = scores / scores.sum(-1, keepdim=True)
    of_part = torch.einsum("bnid,bnjd->bnij", g, v)
    of_scores = 0.5 * part * (of_part - (part * of_part).sum(-1, keepdim=True))
    into = "bnij,bnjd->bnid"
    return (torch.einsum(into, of_scores, k), torch.einsum(into, of_scores.mT, q), torch.einsum(into, part.mT, g))


_TABLES, _LENGTHS = torch.tensor([2, 0, 1], dtype=torch.int32), torch.tensor([0, 4, 6], dtype=torch.int32)
_ENDS = torch.tensor([0, 2, 6, 8], dtype=torch.int32)
formula("ExpandIntoJaggedPermute", _TABLES, _LENGTHS, _ENDS, 8, INT)(
    lambda: torch.tensor([6.0, 7, 0, 1, 2, 3, 4, 5])  # tables 2, 0 and 1 from 6, 0 and 4
)


# Rounded results and factors of each row; bits.
@formula("AdaLayerNormQuant", Drawn((2, 3, 16)), Drawn((2, 1, 16)), Drawn((2, 1, 16)), Drawn((16,)), Drawn((16,)),
         Drawn((16,), positive=True), EPS, "dynamic", Out(torch.int8), FLOAT, None)  # fmt: skip
def _(a: Tensor, scale: Tensor, shift: Tensor, weight: Tensor, bias: Tensor, smooth: Tensor) -> tuple[Tensor, ...]:
    middle = a - a.mean(-1, keepdim=True)
    normal = middle / torch.sqrt((middle**2).mean(-1, keepdim=True) + EPS) * weight + bias
    y = (normal * (1 + scale) + shift) * smooth
    factor = y.abs().amax(-1) / 127
    return torch.round(y / factor[..., None]), factor


_SCALES, _OFFSETS = torch.tensor([0.1, 1.7, 3e-5, 2.0]), torch.tensor([3.5, -300.0, 2.5, -1.0])


@formula("TransQuantParamV2", _SCALES, _OFFSETS, Out(torch.int64))
def _() -> Tensor:
    bits = [one & 0xFFFFE000 | 1 << 46 for one in _SCALES.view(torch.int32).tolist()]
    whole = (4, -256, 2, -1)  # rounded to even, between -256 and 255
    return torch.tensor(
        [one & 0x4000FFFFFFFF | (offset & 0x1FF) << 37 for one, offset in zip(bits, whole, strict=True)]
    )
