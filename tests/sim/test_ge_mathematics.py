"""Functions, matrices, transforms and twins by the graph engine's types: as torch or SciPy have them, or by hand."""

from __future__ import annotations

from typing import Any

import interfaces
import pytest
import scipy.special
import test_pairs
import torch
from interfaces import Refused
from torch.nn import functional as F

# The type, its inputs and attributes, the tensors that they name, and what it is compared with. `c`: complex64.
CALLS = """
AddV2 | x, y | x=real(3, 4), y=real(4) | x + y
Inv | x | x=real(3, 4) | 1 / x
DivNoNan | x, y | x=real(5), y=numbers(0, 2, -1, 0, 4) | torch.where(y == 0, 0, x / y)
DivNoNan | x, y | x=int32(7, -7, 5), y=int32(2, 2, 0) | int32(3, -3, 0)
MulNoNan | x, y | x=numbers(inf, nan, 3, inf), y=numbers(0, 0, 2, 1) | numbers(0, 0, 6, inf)
Xdivy | x, y | x=numbers(0, 3, 0), y=numbers(0, 2, 5) | numbers(0, 1.5, 0)
Xdivy | x, y | x=c(3), y=c(3) | x / y
Xlog1py | x, y | x=numbers(0, 3, 2), y=numbers(-1, 2, 5) | torch.special.xlog1py(x, y)
TruncateMod | x, y | x=numbers(7, -7, 7.5), y=numbers(3, 3, -2) | torch.fmod(x, y)
TruncateMod | x, y | x=int64(7, -7), y=int64(-3, 3) | int64(1, -1)
SquareSumAll | x, y | x=real(3, 4), y=real(3, 4) | (x * x).sum(), (y * y).sum()
ApproximateEqual | x, y, tolerance=0.5 | x=numbers(1, 2, 3), y=numbers(1.4, 2.6, 3) | torch.tensor([True, False, True])
Power | x, power=2.0, scale=3.0, shift=1.0 | x=real(3, 4) | (1 + 3 * x) ** 2
FusedMulAdd | x, y, z | x=real(3, 4), y=real(4), z=real(3, 4) | x * y + z
FusedMulAddAdd | x, y, z, x | x=real(3, 4), y=real(4), z=real(3, 4) | x * y + z + x
FusedMulAddN | x, y, z | x=real(3, 4), y=real(3, 4), z=number(2.5) | x * 2.5 + y
FusedMulAddNL2loss | x, y, z | x=real(3, 4), y=real(3, 4), z=number(2.5) | x * 2.5 + y, (x * x).sum() / 2
Eltwise | [x, y], N=2, mode=1, coeff=[2.0, -1.0] | x=real(3, 4), y=real(3, 4) | 2 * x - y
Eltwise | [x, y, x], N=3, mode=0 | x=real(3, 4), y=real(3, 4) | x * y * x
Eltwise | [x, y], N=2, mode=2 | x=real(3, 4), y=real(3, 4) | torch.maximum(x, y)
MaxN | [x, y] | x=real(3, 4), y=real(3, 4) | torch.maximum(x, y)
CastLike | x, y | x=real(3, 4), y=int32(1) | x.int()
ToBool | x | x=numbers(0, 2, -1) | torch.tensor([False, True, True])
Fills | x, value=2.5 | x=real(3, 4) | torch.full((3, 4), 2.5)
ThresholdedRelu | x, alpha=0.5 | x=real(3, 4) | torch.where(x > 0.5, x, 0)
Threshold | x, threshold=0.5 | x=real(3, 4) | (x > 0.5).float()
CosineSimilarity | x, y, dim=1 | x=real(3, 4), y=real(3, 4) | F.cosine_similarity(x, y, 1)
Digamma | x | x=positive(3, 4) | torch.digamma(x)
Lgamma | x | x=positive(3, 4) | torch.lgamma(x)
Igamma | a, x | a=positive(3, 4), x=positive(3, 4) | special("gammainc", a, x)
Igammac | a, x | a=positive(3, 4), x=positive(4) | special("gammaincc", a, x)
Zeta | x, q | x=positive(3, 4) + 1, q=positive(3, 4) | special("zeta", x, q)
Betainc | a, b, x | a=9 * positive(50), b=9 * positive(50), x=torch.linspace(0, 1, 50) | special("betainc", a, b, x)
Betainc | a, b, x | a=numbers(-1, 2, 2, 500), b=numbers(2, 2, 2, 3), x=numbers(0.5, 1.5, 1, 0.99) | numbers(nan, nan, 1, special("betainc", 500, 3, 0.99))
BesselI0e | x | x=real(3, 4) | special("i0e", x)
BesselI1e | x | x=real(3, 4) | special("i1e", x)
Ndtri | x | x=real(3, 4).sigmoid() | special("ndtri", x)
NextAfter | x, y | x=real(3, 4), y=real(3, 4) | torch.nextafter(x, y)
Gcd | x, y | x=int32(12, -8, 0), y=int32(18, 12, 5) | int32(6, 4, 5)
PopulationCount | x | x=int32(0, 7, -1, 1 << 20) | torch.tensor([0, 3, 32, 1], dtype=torch.uint8)
PopulationCount | x | x=int64(-1, 5).to(torch.int8) | torch.tensor([8, 2], dtype=torch.uint8)
IsPosInf | x | x=numbers(inf, -inf, 1) | torch.tensor([True, False, False])
IsNegInf | x | x=numbers(inf, -inf, 1) | torch.tensor([False, True, False])
Angle | x | x=c(3, 4) | x.angle()
ComplexAbs | x | x=c(3, 4) | x.abs()
Conj | x | x=c(3, 4) | x.conj().resolve_conj()
InvGrad | x, y | x=real(3, 4), y=real(3, 4) | -y * x * x
ReciprocalGrad | x, y | x=real(3, 4), y=real(3, 4) | grad(torch.reciprocal, 1 / x, y)
RsqrtGrad | x, y | x=positive(3, 4), y=real(3, 4) | grad(torch.rsqrt, x ** -2, y)
SqrtGrad | x, y | x=positive(3, 4), y=real(3, 4) | grad(torch.sqrt, x * x, y)
AbsGrad | x, y | x=real(3, 4), y=real(3, 4) | grad(torch.abs, x, y)
AcosGrad | x, y | x=real(3, 4).tanh(), y=real(3, 4) | grad(torch.acos, x, y)
AsinGrad | x, y | x=real(3, 4).tanh(), y=real(3, 4) | grad(torch.asin, x, y)
AtanGrad | x, y | x=real(3, 4), y=real(3, 4) | grad(torch.atan, x, y)
AcoshGrad | x, y | x=positive(3, 4), y=real(3, 4) | grad(torch.acosh, x.cosh(), y)
AsinhGrad | x, y | x=real(3, 4), y=real(3, 4) | grad(torch.asinh, x.sinh(), y)
MaximumGrad | g, x, y | g=real(4), x=numbers(1, 2, 3, 4), y=numbers(1, 3, 2, 4) | g * numbers(1, 0, 1, 1), g * numbers(0, 1, 0, 0)
MinimumGrad | g, x, y | g=real(4), x=numbers(1, 2, 3, 4), y=numbers(1, 3, 2, 4) | g * numbers(1, 1, 0, 1), g * numbers(0, 0, 1, 0)

MatrixBandPart | x, i, j | x=real(2, 4, 5), i=int64(1), j=int64(2) | x.triu(-1).tril(2)
MatrixBandPart | x, i, j | x=real(4, 5), i=int32(-1), j=int32(0) | x.tril()
MatrixDiag | x | x=real(2, 3) | torch.diag_embed(x)
MatrixDiagPart | x | x=real(2, 3, 4) | x.diagonal(0, 1, 2)
MatrixSetDiag | x, y | x=real(2, 3, 4), y=real(2, 3) | x.diagonal_scatter(y, 0, 1, 2)
MatrixDiagV2 | x, k, n, n, v | x=real(2, 3), k=int32(1), n=int32(-1), v=number(0.0) | torch.diag_embed(x, 1)
MatrixDiagV3 | x, k, n, m, v | x=real(3), k=int32(-1), n=int32(4), m=int32(3), v=number(9.0) | torch.full((4, 3), 9.0).diagonal_scatter(x, -1)
MatrixDiagPartV3 | x, k, v | x=torch.arange(9.0).view(3, 3), k=int32(-1, 1), v=number(9.0) | numbers(9, 1, 5, 0, 4, 8, 3, 7, 9).view(3, 3)
MatrixDiagPartV3 | x, k, v, align="LEFT_RIGHT" | x=torch.arange(9.0).view(3, 3), k=int32(-1, 1), v=number(9.0) | numbers(1, 5, 9, 0, 4, 8, 9, 3, 7).view(3, 3)
MatrixDiagPartV2 | x, k, v | x=torch.arange(8.0).view(2, 4), k=int32(1, 3), v=number(9.0) | numbers(3, 9, 2, 7, 1, 6).view(3, 2)
MatrixDiagV3 | x, k, n, n, v | x=numbers(9, 1, 5, 0, 4, 8, 3, 7, 9).view(3, 3), k=int32(-1, 1), n=int32(-1), v=number(6.0) | numbers(0, 1, 6, 3, 4, 5, 6, 7, 8).view(3, 3)
MatrixSetDiagV3 | x, y, k | x=torch.ones(3, 3), y=numbers(0, 5, 6, 2, 3, 4).view(2, 3), k=int32(0, 1) | numbers(2, 5, 1, 1, 3, 6, 1, 1, 4).view(3, 3)
Ger | x, y | x=real(3), y=real(4) | torch.outer(x, y)
ConjugateTranspose | x, p | x=c(3, 4), p=int32(1, 0) | x.mH.resolve_conj()
MatrixSolve | x, y | x=real(2, 4, 4), y=real(2, 4, 3) | torch.linalg.solve(x, y)
MatrixSolve | x, y, adjoint=True | x=real(4, 4), y=real(4, 3) | torch.linalg.solve(x.mT, y)
TridiagonalSolve | x, y | x=numbers(1, 2, 9, 5, 6, 7, 9, 3, 4).view(3, 3), y=real(3, 2) | torch.linalg.solve(numbers(5, 1, 0, 3, 6, 2, 0, 4, 7).view(3, 3), y)
Cholesky | x @ x.mT + torch.eye(4) | x=real(2, 4, 4) | torch.linalg.cholesky(x @ x.mT + torch.eye(4))
Pinverse | x | x=real(3, 4) | torch.linalg.pinv(x)
Slogdet | x | x=real(2, 4, 4) | torch.linalg.slogdet(x)
SparseTensorDenseMatMul | i, v, n, x | i=torch.tensor([[0, 1], [2, 0], [0, 1]]), v=real(3), n=int64(3, 2), x=real(2, 4) | torch.sparse_coo_tensor(i.t(), v, (3, 2)).to_dense() @ x
SparseTensorDenseMatMul | i, v, n, x, adjoint_a=True, adjoint_b=True | i=torch.tensor([[0, 1], [2, 0]]), v=real(2), n=int64(3, 2), x=real(4, 3) | torch.sparse_coo_tensor(i.t(), v, (3, 2)).to_dense().t() @ x.t()
UnravelIndex | x, n | x=int64(2, 5, 11), n=int64(3, 4) | torch.stack(torch.unravel_index(x, (3, 4)))
LowerBound | x, y | x=numbers(1, 2, 2, 3).view(1, 4), y=numbers(2, 0, 4).view(1, 3) | int32(1, 0, 4).view(1, 3)
UpperBound | x, y, out_type=torch.int64 | x=numbers(1, 2, 2, 3).view(1, 4), y=numbers(2, 0, 4).view(1, 3) | int64(3, 0, 4).view(1, 3)

Cumprod | x, a, exclusive=True | x=numbers(2, 3, 4), a=int32(0) | numbers(1, 2, 6)
Cumprod | x, a, reverse=True | x=numbers(2, 3, 4), a=int32(0) | numbers(24, 12, 4)
CumprodD | x, axis=1 | x=real(3, 4) | x.cumprod(1)
CumsumD | x, axis=0, reverse=True | x=numbers(2, 3, 4) | numbers(9, 7, 4)
CumulativeLogsumexp | x, a | x=real(3, 4), a=int32(1) | x.logcumsumexp(1)
CumulativeLogsumexpD | x, axis=0, exclusive=True, reverse=True | x=numbers(2, 3) | numbers(3, torch.finfo(torch.float32).min)
IFFT | x | x=c(3, 8) | torch.fft.ifft(x)
IFFT2D | x | x=c(2, 3, 8) | torch.fft.ifft2(x)
RFFT | x, n | x=real(3, 8), n=int32(6) | torch.fft.rfft(x, 6)
IRFFT | x, n | x=c(3, 5), n=int32(9) | torch.fft.irfft(x, 9)
STFT | x, n_fft=8 | x=real(2, 40) | torch.stft(x, 8, 2, center=False, window=torch.ones(8), return_complex=True)
STFT | x, w, n_fft=8, hop_length=3, win_length=6, onesided=False, return_complex=False | x=real(40), w=positive(6) | torch.view_as_real(torch.stft(x, 8, 3, 6, w, center=False, onesided=False, return_complex=True))

Bucketize | x, boundaries=[0.0, 1.0] | x=numbers(-1, 0, 0.5, 1) | int32(0, 1, 1, 2)
Bucketize | x, boundaries=[0.0, 1.0], right=False, dtype=torch.int64 | x=int32(-1, 0, 1, 2) | int64(0, 0, 1, 2)
GatherElements | x, i, dim=1 | x=numbers(1, 2, 3, 4, 5, 6).view(2, 3), i=int64(-1, 0).view(2, 1) | numbers(3, 4).view(2, 1)
Flatten | x, axis=2 | x=real(2, 3, 4, 5) | x.view(6, 20)
Flatten | x, axis=0 | x=real(2, 3) | x.view(1, 6)
SqueezeV2 | x, axis=[1] | x=real(2, 1, 1) | x.view(2, 1)
UnsqueezeV2 | x, axis=[0] | x=real(2) | x.view(1, 2)
Concat | a, [x, y], N=2 | a=int32(1), x=real(2, 3), y=real(2, 1) | torch.cat([x, y], 1)
SplitVD | x, size_splits=[1, -1], split_dim=1, num_split=2, results=2 | x=real(2, 4) | x[:, :1], x[:, 1:]
TileD | x, multiples=[2, 1] | x=real(2, 3) | x.repeat(2, 1)
ReverseV2D | x, axis=[0, 1] | x=real(2, 3) | x.flip(0, 1)
FillD | x, dims=[2, 3] | x=int32(7) | torch.full((2, 3), 7, dtype=torch.int32)
FillV2 | x, value=2.5 | x=int64(2, 3) | torch.full((2, 3), 2.5)
FillV2D | value=2.5, dims=[2, 3] | | torch.full((2, 3), 2.5)
BroadcastToD | x, shape=[2, -1] | x=real(3) | x.expand(2, 3)
ExpandD | x, shape=[2, 3] | x=real(2, 1) | x.expand(2, 3)
ReduceSumD | x, axes=[0], keep_dims=True | x=real(2, 3) | x.sum(0, True)
ReduceMaxD | x, axes=[0, 1] | x=real(2, 3) | x.amax((0, 1))
ReduceMinD | x, axes=[-1] | x=real(2, 3) | x.amin(1)
ReduceAnyD | x, axes=[1] | x=flags(2, 3) | x.any(1)
ReduceAllD | x, axes=[1] | x=flags(2, 3) | x.all(1)
ReduceLogSum | x, a | x=positive(2, 3), a=int32(1) | x.sum(1).log()
EuclideanNorm | x, a | x=real(2, 3), a=int32(1) | x.norm(dim=1)
EuclideanNormD | x, axes=[0] | x=real(2, 3) | x.norm(dim=0)
SquareSumV1 | x, axis=[0] | x=real(2, 3) | (x * x).sum(0)
SquareSumV2 | x, axis=[1], keep_dims=True | x=real(2, 3) | (x * x).sum(1, True), x * x
ArgMaxD | x, dimension=1 | x=real(2, 3) | x.argmax(1).int()
ArgMinD | x, dimension=0 | x=real(2, 3) | x.argmin(0).int()
StopGradient | x | x=real(2, 3) | x
PreventGradient | x, message="m" | x=real(2, 3) | x
ReduceMean | x, a | x=int64(9, 3, 4, 5).view(2, 2), a=int64(0, 1) | torch.tensor(5)
"""  # noqa: E501


def grad(of: Any, x: torch.Tensor, into: torch.Tensor) -> torch.Tensor:
    x = x.clone().requires_grad_()
    return torch.autograd.grad(of(x), x, into)[0]


def special(of: str, *given: Any) -> torch.Tensor:
    return torch.as_tensor(getattr(scipy.special, of)(*(torch.as_tensor(one).double().numpy() for one in given)))


def names() -> dict[str, Any]:
    drawn = test_pairs.tensors(torch.float32)
    own = {"c": lambda *shape: torch.complex(drawn["real"](*shape), drawn["real"](*shape)), "F": F}
    return {**drawn, **own, "grad": grad, "special": special, "torch": torch, "inf": float("inf"), "nan": float("nan")}


@pytest.mark.parametrize("line", CALLS.strip().replace("\n\n", "\n").splitlines())
def test_by_type(line: str) -> None:
    of, given, tensors, wanted = (part.strip() for part in line.split(" |"))
    known = names()
    known |= eval(f"dict({tensors})", known)
    got = eval(f"call('{of}', {given})", {**known, "call": interfaces.graph})
    expected = eval(wanted, known)
    for one, two in zip(got, expected if isinstance(expected, tuple) else [expected], strict=True):
        two = torch.as_tensor(two)
        torch.testing.assert_close(one, two.to(one.dtype) if two.dtype == torch.float64 else two, equal_nan=True)


def test_factors_of_matrices() -> None:
    x = names()["real"](2, 4, 4)
    factors, rows = interfaces.graph("Lu", x, output_idx_type=torch.int64)
    product = (factors.tril(-1) + torch.eye(4)) @ factors.triu()
    torch.testing.assert_close(product, torch.stack([one[order] for one, order in zip(x, rows, strict=True)]))
    symmetric = x + x.mT
    values, vectors = interfaces.graph("SelfAdjointEig", symmetric)
    torch.testing.assert_close(symmetric @ vectors, vectors * values.unsqueeze(-2))
    torch.testing.assert_close(interfaces.graph("SelfAdjointEig", symmetric, compute_v=False)[0], values)


@pytest.mark.parametrize(
    ("of", "given", "message"),
    [
        ("DivNoNan", "real(2).bfloat16(), real(2).bfloat16()", r"input 0 is bfloat16\[2\]; allowed: float32, uint8"),
        ("Angle", "real(2)", "allowed: complex64, complex128"),
        ("MatrixDiagPartV3", "real(3, 3), int32(3), number(0)", "diagonal 3 of 3 rows and 3 columns"),
        ("MatrixDiagPartV3", "real(3, 3), int32(1, 0), number(0)", "two of which the second is not lower"),
        ("MatrixDiagV3", "real(3), int32(0), int32(2), int32(2), number(0)", "2 rows and 2 columns do not fit"),
        ("MatrixSetDiagV3", "real(3, 3), real(2), int32(0)", r"\[2\] does not hold the diagonals"),
        ("MatrixSolve", "torch.zeros(2, 2), torch.ones(2, 1)", "singular"),
        ("UnravelIndex", "int64(12), int64(3, 4)", "an index is outside the dimensions"),
    ],
)
def test_what_is_refused(of: str, given: str, message: str) -> None:
    with pytest.raises(Refused, match=message):
        eval(f"call('{of}', {given})", {**names(), "call": interfaces.graph})
