"""What CANN's pages give as the formula of a function, in float64: for functions whose arithmetic is the simulator's
own (its kernels), or a form that torch does not compute under that name.

``FORMULAS[function]`` is (parameters, formula). Parameters are in the order of the C function: a tensor is drawn
(``x``: any numbers, ``positive``), and so is a list of them; ``OUT`` is one of the results, ``Written`` one that goes
in as well, anything else is passed as it is. The formula has the tensors in that order, as float64, and gives the
results. Others are in formulas_math.py and its like.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True)
class Drawn:
    """A tensor of numbers, normally distributed; of their magnitudes where ``positive``; all ``value`` where there is
    one; whole numbers in a ``dtype`` that has no others.
    """

    shape: tuple[int, ...] = (6, 8)
    positive: bool = False
    value: float | None = None
    dtype: torch.dtype | None = None

    def draw(self, dtype: torch.dtype) -> Tensor:
        if self.value is not None:
            return torch.full(self.shape, self.value, dtype=self.dtype or dtype)
        if self.dtype is not None:
            return torch.randint(0 if self.dtype == torch.uint8 else -100, 100, self.shape, dtype=self.dtype)
        numbers = torch.randn(self.shape)
        return (numbers.abs() + 0.5 if self.positive else numbers).to(dtype)


@dataclass(frozen=True)
class Out:
    """A result; ``dtype`` None: that of the inputs."""

    dtype: torch.dtype | None = None


@dataclass(frozen=True)
class Written:
    """A tensor that goes in and comes out as a result, drawn as ``value``; ``listed``: the only one of a list."""

    value: Drawn = Drawn()
    listed: bool = False


x, half, row, positive = Drawn(), Drawn((6, 4)), Drawn((8,)), Drawn(positive=True)
OUT, FLOAT = Out(), Out(torch.float32)
Formula = Callable[..., Tensor | tuple[Tensor, ...]]
FORMULAS: dict[str, tuple[list[Any], Formula]] = {}
EPS, SELU_ALPHA, SELU_SCALE = 1e-5, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def _is(function: str, *parameters: Any) -> Callable[[Formula], Formula]:
    def add(formula: Formula) -> Formula:
        FORMULAS[f"aclnn{function}"] = (list(parameters), formula)
        return formula

    return add


def sigmoid(a: Tensor) -> Tensor:
    return 1 / (1 + torch.exp(-a))


def gelu(a: Tensor) -> Tensor:
    return a / 2 * (1 + torch.erf(a / math.sqrt(2)))


def gelu_tanh(a: Tensor) -> Tensor:
    return 0.5 * a * (1 + torch.tanh(math.sqrt(2 / math.pi) * (a + 0.044715 * a**3)))


def softmax(a: Tensor, dim: int = -1) -> Tensor:
    top = (a - a.amax(dim, keepdim=True)).exp()
    return top / top.sum(dim, keepdim=True)


def normal(a: Tensor, gamma: Tensor, beta: Tensor | float = 0.0) -> tuple[Tensor, Tensor, Tensor]:
    mean = a.mean(-1, keepdim=True)
    rstd = 1 / torch.sqrt(((a - mean) ** 2).mean(-1, keepdim=True) + EPS)
    return (a - mean) * rstd * gamma + beta, mean, rstd


def root(a: Tensor, gamma: Tensor) -> tuple[Tensor, Tensor]:
    rstd = 1 / torch.sqrt((a**2).mean(-1, keepdim=True) + EPS)
    return a * rstd * gamma, rstd


# ---- activations -----------------------------------------------------------------------------------------------------
_is("Gelu", x, OUT)(gelu_tanh)
_is("GeluV2", x, 0, OUT)(gelu)
_is("FastGelu", x, OUT)(lambda a: a / (1 + torch.exp(-1.702 * a)))
_is("Silu", x, OUT)(lambda a: a / (1 + torch.exp(-a)))
_is("Swish", x, 0.75, OUT)(lambda a: a * sigmoid(0.75 * a))
_is("Hardsigmoid", x, OUT)(lambda a: (a / 6 + 0.5).clamp(0, 1))
_is("Selu", x, OUT)(lambda a: SELU_SCALE * (a.clamp_min(0) + (SELU_ALPHA * (torch.exp(a) - 1)).clamp_max(0)))
_is("Shrink", x, 0.5, 0.25, OUT)(
    lambda a: torch.where(a < -0.5, a + 0.25, torch.where(a > 0.5, a - 0.25, torch.zeros_like(a)))
)
_is("SquaredRelu", x, OUT)(lambda a: a.clamp_min(0) ** 2)
_is("Mish", x, OUT)(lambda a: a * torch.tanh(torch.log(1 + torch.exp(a))))
_is("Prelu", x, row, OUT)(lambda a, w: torch.where(a > 0, a, w * a))


@_is("FastGeluBackward", x, x, OUT)
def _(g: Tensor, a: Tensor) -> Tensor:
    s = 1 / (torch.exp(-1.702 * a) + 1)
    return g * ((s - 1) * -1.702 * a + 1) * s


@_is("SwishBackward", x, x, 0.75, OUT)
def _(g: Tensor, a: Tensor) -> Tensor:
    s = sigmoid(0.75 * a)
    return g * s * (1 + 0.75 * a * (1 - s))


@_is("GeluBackward", x, x, OUT)
def _(g: Tensor, a: Tensor) -> Tensor:
    t = torch.tanh(math.sqrt(2 / math.pi) * (a + 0.044715 * a**3))
    return g * (0.5 * (1 + t) + 0.5 * a * (1 - t**2) * math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * a**2))


_is("SiluBackward", x, x, OUT)(lambda g, a: g * sigmoid(a) * (1 + a - a * sigmoid(a)))
_is("HardsigmoidBackward", x, x, OUT)(lambda g, a: torch.where(a.abs() < 3, g / 6, torch.zeros_like(g)))
_is("LogSigmoidBackward", x, x, x, OUT)(lambda g, a, _: g * (1 - sigmoid(a)))

# ---- gated units -----------------------------------------------------------------------------------------------------
_is("Glu", x, -1, Out())(lambda a: a[:, :4] * sigmoid(a[:, 4:]))
_is("SwiGlu", x, -1, OUT)(lambda a: a[:, :4] * sigmoid(a[:, :4]) * a[:, 4:])
_is("GeluMul", x, "tanh", OUT)(lambda a: gelu_tanh(a[:, :4]) * a[:, 4:])
_is("GeGluV3", x, -1, 0, False, OUT, OUT)(lambda a: (a[:, :4] * gelu(a[:, 4:]), gelu(a[:, 4:])))


@_is("SwiGluGrad", half, x, -1, OUT)
def _(g: Tensor, a: Tensor) -> Tensor:
    gate, value = a[:, :4], a[:, 4:]
    s = sigmoid(gate)
    return torch.cat([g * value * s * (1 + gate * (1 - s)), g * gate * s], -1)


@_is("GluBackward", half, x, -1, OUT)
def _(g: Tensor, a: Tensor) -> Tensor:
    value, s = a[:, :4], sigmoid(a[:, 4:])
    return torch.cat([g * s, g * value * s * (1 - s)], -1)


@_is("ClippedSwiglu", x, None, -1, 1.702, 0.75, 1.0, True, OUT)
def _(a: Tensor) -> Tensor:
    gate, value = a[:, ::2].clamp(max=0.75), a[:, 1::2].clamp(-0.75, 0.75)
    return gate * sigmoid(1.702 * gate) * (value + 1)


@_is("ThnnFusedLstmCell", x, x, Drawn((6, 2)), row, row, OUT, OUT, OUT)
def _(a: Tensor, b: Tensor, c: Tensor, bias_a: Tensor, bias_b: Tensor) -> tuple[Tensor, ...]:
    i, g, f, o = (a + b + bias_a + bias_b).chunk(4, -1)
    i, g, f, o = sigmoid(i), torch.tanh(g), sigmoid(f), sigmoid(o)
    cell = f * c + i * g
    return o * torch.tanh(cell), cell, torch.cat([i, g, f, o], -1)


# ---- softmax ---------------------------------------------------------------------------------------------------------
_is("SoftmaxBackward", x, x, -1, OUT)(lambda g, y: (g - (g * y).sum(-1, keepdim=True)) * y)
_is("LogSoftmaxBackward", x, x, -1, OUT)(lambda g, y: g - torch.exp(y) * g.sum(-1, keepdim=True))

# ---- normalization ---------------------------------------------------------------------------------------------------
_is("LayerNorm", x, [8], row, row, EPS, OUT, FLOAT, FLOAT)(normal)
_is("RmsNorm", x, row, EPS, OUT, FLOAT)(root)
_is("GemmaRmsNorm", x, row, EPS, OUT, FLOAT)(lambda a, gamma: root(a, 1 + gamma))


@_is("AddRmsNorm", x, x, row, EPS, OUT, FLOAT, OUT)
def _(a: Tensor, b: Tensor, gamma: Tensor) -> tuple[Tensor, ...]:
    return *root(a + b, gamma), a + b


@_is("DeepNorm", x, x, row, row, 0.3, EPS, FLOAT, FLOAT, OUT)
def _(a: Tensor, b: Tensor, beta: Tensor, gamma: Tensor) -> tuple[Tensor, ...]:
    y, mean, rstd = normal(a * 0.3 + b, gamma, beta)
    return mean, rstd, y


@_is(
    "RmsNormQuant",
    x,
    row,
    row,
    Drawn((1,), value=0.03125),
    Drawn((1,), value=3, dtype=torch.int8),
    EPS,
    Out(torch.int8),
)
def _(a: Tensor, gamma: Tensor, beta: Tensor, scale: Tensor, offset: Tensor) -> Tensor:
    return torch.round((root(a, gamma)[0] + beta) / scale + offset).clamp(-128, 127)


# ---- losses, reduction 1: the mean -----------------------------------------------------------------------------------
_is("MseLoss", x, x, 1, OUT)(lambda a, t: ((a - t) ** 2).mean())
_is("MseLossBackward", x, x, x, 1, OUT)(lambda g, a, t: g * 2 * (a - t) / a.numel())
_is("L1LossBackward", x, x, x, 1, OUT)(lambda g, a, t: g * torch.sign(a - t) / a.numel())

# ---- arithmetic ------------------------------------------------------------------------------------------------------
_is("Add", x, x, 0.3, OUT)(lambda a, b: a + 0.3 * b)
_is("Sub", x, x, 0.3, OUT)(lambda a, b: a - 0.3 * b)
_is("Addcdiv", x, x, positive, 0.5, OUT)(lambda a, b, c: a + 0.5 * b / c)
_is("Addcmul", x, x, x, 0.5, OUT)(lambda a, b, c: a + 0.5 * b * c)
_is("RemainderTensorTensor", x, positive, OUT)(lambda a, b: a - b * torch.floor(a / b))
_is("MaskedScale", x, positive, 0.75, OUT)(lambda a, mask: a * mask * 0.75)


# ---- rotation: (B, S, N, D), in halves -------------------------------------------------------------------------------
_states, _angles = Drawn((2, 3, 2, 8)), Drawn((1, 3, 1, 8))


@_is("RotaryPositionEmbedding", _states, _angles, _angles, 0, OUT)
def _(a: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    return a * cos + torch.cat([-a[..., 4:], a[..., :4]], -1) * sin


@_is("TransformBiasRescaleQkv", Drawn((2, 5, 24)), Drawn((24,)), 2, OUT, OUT, OUT)
def _(qkv: Tensor, bias: Tensor) -> tuple[Tensor, ...]:
    q, k, v = (qkv + bias).reshape(2, 5, 3, 2, 4).permute(2, 0, 3, 1, 4)
    return q / 2, k, v


# ---- dequantization --------------------------------------------------------------------------------------------------
_whole, _column = Drawn(dtype=torch.int32), Drawn((8,), positive=True)
HALF = Out(torch.float16)
_is(
    "DequantBias",
    _whole,
    Drawn((8,), value=0.25, dtype=torch.float32),
    Drawn((6,), value=0.5, dtype=torch.float32),
    Drawn((8,), dtype=torch.int32),
    1,
    HALF,
)(lambda a, w, r, bias: (a + bias) * w * r[:, None])
_is(
    "AscendAntiQuant",
    Drawn(dtype=torch.int8),
    Drawn((8,), value=0.25, dtype=torch.float32),
    Drawn((8,), value=3, dtype=torch.float32),
    1,
    True,
    HALF,
)(lambda a, s, offset: (a + offset) * s * s)


def _faked(a: Tensor, scale: Tensor, zero: Tensor) -> tuple[Tensor, Tensor]:
    level = torch.round(a / scale) + zero
    return (level.clamp(-3, 4) - zero) * scale, ((level >= -3) & (level <= 4)).double()


_ZERO, _STEP, BOOL = torch.int32, 0.25, Out(torch.bool)
_is(
    "FakeQuantPerTensorAffineCachemask",
    x,
    Drawn((1,), value=_STEP),
    Drawn((1,), value=1, dtype=_ZERO),
    1.0,
    -3,
    4,
    OUT,
    BOOL,
)(_faked)
_is(
    "FakeQuantPerChannelAffineCachemask",
    x,
    Drawn((8,), value=_STEP),
    Drawn((8,), value=1, dtype=_ZERO),
    1,
    -3,
    4,
    OUT,
    BOOL,
)(_faked)


@_is("DropoutV3Grad", x, Drawn((16,), dtype=torch.uint8), 1.25, OUT)  # a bit for each element, 128 at a time
def _(g: Tensor, mask: Tensor) -> Tensor:
    bits = (mask.to(torch.uint8)[:, None] >> torch.arange(8, dtype=torch.uint8)) & 1
    return g * bits.flatten()[: g.numel()].view(g.shape) * 1.25


# ---- products: cubeMathType 0 keeps the inputs' type ----
left, right = Drawn((6, 40)), Drawn((40, 8))
lefts, rights = Drawn((3, 9, 40)), Drawn((3, 40, 8))


@_is("Mm", left, right, OUT, 0)
@_is("Matmul", left, right, OUT, 0)
def product(a: Tensor, b: Tensor) -> Tensor:
    return a @ b


@_is("BatchMatMul", lefts, rights, OUT, 0)
def products(a: Tensor, b: Tensor) -> Tensor:
    return a @ b


@_is("Addmm", x, left, right, 0.5, 2.0, OUT, 0)
@_is("Baddbmm", Drawn((3, 9, 8)), lefts, rights, 0.5, 2.0, OUT, 0)
def added_product(start: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return 0.5 * start + 2 * (a @ b)


@_is("Addbmm", Drawn((9, 8)), lefts, rights, 0.5, 2.0, OUT, 0)
def added_products(start: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return 0.5 * start + 2 * (a @ b).sum(0)
