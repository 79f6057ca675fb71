"""Formulas of ops-math's pages; formulas.py says how they are read."""

from __future__ import annotations

import math

import torch
from formulas import BOOL, OUT, Drawn, Out, Tensor, Written, half, positive, row, x
from formulas import _is as formula

VOLUME = Drawn((2, 3, 4, 5))
BYTES, LONG = Out(torch.uint8), Out(torch.int64)


# ---- one operand -----------------------------------------------------------------------------------------------------
formula("Square", x, OUT)(lambda a: a * a)
formula("Real", x, OUT)(lambda a: a)
formula("Log2", positive, OUT)(lambda a: torch.log(a) / math.log(2))
formula("GtScalar", x, 0.25, BOOL)(lambda a: (a - 0.25 > 0).double())
formula("InplaceSubs", Written(), 1.5, 0.5)(lambda a: a - 0.5 * 1.5)
formula("IsInf", x, BOOL)(lambda a: (a.abs() == math.inf).double())
# What both are of a positive number is the limit of a product; sums over it stand for the function itself.
formula("Lgamma", positive, OUT)(lambda a: _stirling(a + 30) - sum(torch.log(a + k) for k in range(30)))
formula("Digamma", positive, OUT)(lambda a: _psi(a + 30) - sum(1 / (a + k) for k in range(30)))


def _stirling(a: Tensor) -> Tensor:
    return (a - 0.5) * torch.log(a) - a + 0.5 * math.log(2 * math.pi) + 1 / (12 * a) - 1 / (360 * a**3)


def _psi(a: Tensor) -> Tensor:
    return torch.log(a) - 1 / (2 * a) - 1 / (12 * a**2) + 1 / (120 * a**4)


# ---- several operands ------------------------------------------------------------------------------------------------
formula("Xlog1py", x, positive, OUT)(lambda a, b: a * torch.log(1 + b))
formula("InplaceXLogYTensor", Written(), positive)(lambda a, b: a * torch.log(b))
formula("InplaceAddV3", 1.5, Written(), 0.5)(lambda a: 1.5 + 0.5 * a)
formula("Neg", x, OUT)(lambda a: 0 - a)
formula("ClampMin", x, 0.25, OUT)(lambda a: torch.where(a > 0.25, a, 0.25))
formula("InplaceHardtanh", Written(), -0.5, 0.75)(lambda a: torch.where(a < -0.5, -0.5, torch.where(a > 0.75, 0.75, a)))
formula("InplaceGtScalar", Written(), 0.25)(lambda a: (a - 0.25 > 0).double())
formula("InplaceDiv", Written(), positive)(lambda a, b: a * (1 / b))
formula("InplaceTril", Written(), -1)(lambda a: torch.stack([line * (torch.arange(8) < i) for i, line in enumerate(a)]))
formula("FmodScalar", x, 0.75, OUT)(lambda a: a - torch.trunc(a / 0.75) * 0.75)
formula("RemainderScalarTensor", 1.75, positive, OUT)(lambda b: 1.75 - torch.floor(1.75 / b) * b)
formula("DivMods", x, 0.5, 2, OUT)(lambda a: torch.floor(a / 0.5))
formula("FloorDivides", x, -0.5, OUT)(lambda a: torch.floor(a / -0.5))
formula("LinalgCross", Drawn((4, 3)), Drawn((4, 3)), 1, OUT)(
    lambda a, b: a[:, [1, 2, 0]] * b[:, [2, 0, 1]] - a[:, [2, 0, 1]] * b[:, [1, 2, 0]]
)
formula("InplaceClampMinTensor", Written(), row)(lambda a, least: torch.where(a > least, a, least.expand_as(a)))
_FLAGS, _OTHERS = torch.tensor([[0, 0, 3, -1]], dtype=torch.int32), torch.tensor([[0], [5]], dtype=torch.int32)
formula("LogicalAnd", _FLAGS, _OTHERS, BOOL)(lambda: torch.tensor([[0.0, 0, 0, 0], [0, 0, 1, 1]]))
formula("AddN", [x, x, x], OUT)(lambda all_: all_[0] + all_[1] + all_[2])
formula("Sum", [x, row, x], OUT)(lambda all_: all_[0] + all_[1] + all_[2])
formula("MaxN", [x, row, x], OUT)(lambda all_: torch.where(all_[0] > all_[1], all_[0], all_[1]).maximum(all_[2]))
formula("MinN", [x, row, x], OUT)(lambda all_: torch.where(all_[0] < all_[1], all_[0], all_[1]).minimum(all_[2]))
formula("Scale", VOLUME, Drawn((3, 4)), Drawn((3, 4)), 1, 2, True, OUT)(
    lambda a, scale, bias: a * scale[None, :, :, None] + bias[None, :, :, None]
)
formula("Ger", row, Drawn((6,)), OUT)(lambda a, b: a[:, None] * b[None, :])

# ---- reductions and running sums -------------------------------------------------------------------------------------
formula("MaxV2", VOLUME, [1, -1], True, False, OUT)(lambda a: a.amax((1, 3), keepdim=True))
formula("MeanV2", VOLUME, [1, -1], False, False, OUT)(lambda a: a.sum((1, 3)) / 15)
formula("ReduceLogSum", positive, [0], False, False, OUT)(lambda a: torch.log(a.sum(0)))


@formula("Var", x, [1], True, False, OUT)
def _(a: Tensor) -> Tensor:
    return ((a - a.mean(1, keepdim=True)) ** 2).sum(1) / 7


@formula("BatchNormStats", VOLUME, 1e-5, Out(torch.float32), Out(torch.float32))
def _(a: Tensor) -> tuple[Tensor, ...]:
    mean = a.sum((0, 2, 3)) / 40
    return mean, 1 / torch.sqrt(((a - mean[:, None, None]) ** 2).sum((0, 2, 3)) / 40 + 1e-5)


@formula("Renorm", x, 2.0, 0, 1.5, OUT)
def _(a: Tensor) -> Tensor:
    norm = torch.sqrt((a * a).sum(1, keepdim=True))
    return torch.where(norm > 1.5, a * 1.5 / (norm + 1e-7), a)


# A scale that has grown as often as it may, and would not be finite: it stays, and its count begins anew.
_LARGE, _GROWN, _NONE = torch.tensor([3e38]), torch.tensor([1], dtype=torch.int32), torch.tensor([0.0])
formula("AmpUpdateScale", _LARGE, _GROWN, _NONE, 2.0, 0.5, 2, Out(torch.float32), Out(torch.int32))(
    lambda: (_LARGE.double(), _NONE.double())
)
formula("Aminmax", VOLUME, [1, 3], True, OUT, OUT)(lambda a: (-((-a).amax((1, 3), True)), a.amax((1, 3), True)))
formula("Histc", x, 4, -1.0, 1.0, OUT)(
    lambda a: torch.stack([((a >= low) & (a < low + 0.5)).sum() for low in (-1, -0.5, 0, 0.5)]).double()
)
formula("GlobalAveragePool", VOLUME, OUT)(lambda a: a.sum((2, 3), keepdim=True) / 20)
formula("GlobalMaxPool", VOLUME, OUT)(lambda a: a.amax((2, 3), keepdim=True))
formula("CumsumV2", x, 1, True, True, OUT)(lambda a: torch.stack([a[:, j + 1 :].sum(1) for j in range(8)], 1))
formula("InplaceCumprod", Written(), 1)(lambda a: torch.stack([a[:, : j + 1].prod(1) for j in range(8)], 1))
_GROUPS = Drawn((3,), value=2, dtype=torch.int64)
formula("GroupedBiasAddGrad", Drawn((3, 4, 8)), None, OUT)(lambda g: g.sum(1))
formula("GroupedBiasAddGradV2", x, _GROUPS, 1, OUT)(lambda g, _: torch.stack([g[i : i + 2].sum(0) for i in (0, 2, 4)]))


def _segments(a: Tensor) -> Tensor:
    size = a.shape[-1]
    result = torch.zeros(*a.shape, size, dtype=a.dtype)
    for i in range(size):
        for j in range(i + 1):
            result[..., i, j] = torch.exp(a[..., j + 1 : i + 1].sum(-1))
    return result


_SMALL = Drawn((2, 2, 4))
formula("ExpSegsum", _SMALL, OUT)(_segments)


@formula("ExpSegsumBackward", Drawn((2, 2, 4, 4)), Drawn((2, 2, 4, 4)), OUT)
def _(g: Tensor, y: Tensor) -> Tensor:
    # x[k] is in the sums of all i and j with j < k <= i
    product = g * y
    return torch.stack([product[..., k:, :k].sum((-1, -2)) for k in range(4)], -1)


@formula("Sinkhorn", half, 0.0001, OUT)
def _(cost: Tensor) -> Tensor:
    weights, columns = torch.exp(cost), torch.ones(4, dtype=cost.dtype)
    change = 1e9
    while change > 0.0001:
        rows = 1 / (6 * ((columns * weights).sum(1) + 1e-8))
        before, columns = columns, 1 / (4 * ((rows[:, None] * weights).sum(0) + 1e-8))
        change = float((before - columns).abs().mean())
    return columns * weights * rows[:, None]


# ---- the same elements elsewhere -------------------------------------------------------------------------------------
formula("Expand", row, [3, 8], OUT)(lambda a: torch.stack([a, a, a]))
formula("Flatten", VOLUME, 2, OUT)(lambda a: a.reshape(6, 20))
formula("Diag", row, 1, OUT)(lambda a: torch.stack([torch.cat([a.new_zeros(1), a])] * 9) * torch.eye(9).roll(1, 1))
formula("DiagFlat", half, 0, OUT)(lambda a: a.reshape(1, 24) * torch.eye(24))
formula("Slice", x, 1, -7, 100, 3, OUT)(lambda a: a[:, [1, 4, 7]])
formula("SliceV2", x, [1, -6], [5, 7], [0, -1], [2, 2], OUT)(lambda a: a[[1, 3]][:, [2, 4, 6]])


@formula("StridedSliceAssignV2", Written(), Drawn((2, 3)), [1, 2], [5, 5], [2, 1], [0, 1])
def _(a: Tensor, value: Tensor) -> Tensor:
    result = a.clone()
    for i in range(2):
        for j in range(3):
            result[1 + 2 * i, 2 + j] = value[i, j]
    return result


formula("Repeat", half, [2, 1, 3], OUT)(lambda a: torch.cat([torch.cat([a, a, a], 1)[None]] * 2))
_SORTED = torch.tensor([-1.0, 0.5, 0.5, 2.0, 7.0])
formula("SearchSorteds", _SORTED, 0.5, False, True, None, LONG)(lambda: (_SORTED.double() <= 0.5).sum().reshape(1))
_CHOSEN = [torch.tensor([4, 0, 4]), torch.tensor([[1], [7]])]


@formula("IndexPutImpl", Written(), _CHOSEN, Drawn((2, 3)), True, False)
def _(a: Tensor, values: Tensor) -> Tensor:
    result = a.clone()
    for i, column in enumerate((1, 7)):
        for j, line in enumerate((4, 0, 4)):
            result[line, column] += values[i, j]
    return result


formula("Argsort", x, 1, True, LONG)(lambda a: torch.stack([_order(line) for line in a]))


def _order(line: Tensor) -> Tensor:
    return torch.tensor(sorted(range(len(line)), key=lambda at: -line[at]), dtype=torch.float64)


_PLANE = Drawn((2, 3, 4))
formula("CircularPad2d", _PLANE, [1, 2, 2, 0], OUT)(lambda a: a[:, [1, 2, 0, 1, 2]][:, :, [3, 0, 1, 2, 3, 0, 1]])
formula("CircularPad3d", VOLUME, [1, 0, 0, 1, 2, 2], OUT)(
    lambda a: a[:, [1, 2, 0, 1, 2, 0, 1]][:, :, [0, 1, 2, 3, 0]][..., [4, 0, 1, 2, 3, 4]]
)


@formula("CircularPad2dBackward", Drawn((2, 5, 7)), _PLANE, [1, 2, 2, 0], OUT)
def _(g: Tensor, _: Tensor) -> Tensor:
    result = torch.zeros(2, 3, 4, dtype=g.dtype)
    for i, row_ in enumerate([1, 2, 0, 1, 2]):
        for j, column in enumerate([3, 0, 1, 2, 3, 0, 1]):
            result[:, row_, column] += g[:, i, j]
    return result


# ---- matrices --------------------------------------------------------------------------------------------------------
@formula("Logdet", Drawn((2, 1, 1), positive=True), OUT)
def _(a: Tensor) -> Tensor:
    return torch.log(a[:, 0, 0])


@formula("PdistForward", Drawn((4, 5)), 3.0, OUT)
def _(a: Tensor) -> Tensor:
    pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    return torch.stack([((a[i] - a[j]).abs() ** 3).sum() ** (1 / 3) for i, j in pairs])


# ---- bits, frequencies -----------------------------------------------------------------------------------------------
formula("SignBitsPack", Drawn((24,)), 1, BYTES)(
    lambda a: sum((a.reshape(1, 3, 8)[..., bit] >= 0).double() * 2**bit for bit in range(8))
)


@formula("DropoutBackward", Drawn((16, 8)), Drawn((16,), dtype=torch.uint8), 1.25, OUT)
def _(g: Tensor, mask: Tensor) -> Tensor:
    bits = (mask.to(torch.uint8)[:, None] >> torch.arange(8, dtype=torch.uint8)) & 1
    return g * bits * 1.25
