"""Formulas of the pages of ops-nn and ops-cv; formulas.py says how they are read."""

from __future__ import annotations

import torch
from formulas import FLOAT, OUT, Drawn, Out, Tensor, Written, half, positive, row, sigmoid, x
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
