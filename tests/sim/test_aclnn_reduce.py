"""Reductions, sorting, counting, matrix products and linear algebra on `npu:0` against the CPU."""

import pytest
import torch
from ascend950 import on_ascend950
from interfaces import Refused, aclnn

FLOATS = [torch.float32, torch.float16, torch.bfloat16]
TOLERANCE = {torch.float32: 1e-5, torch.float16: 5e-3, torch.bfloat16: 5e-2}


def normal(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


REDUCTIONS = {
    "sum": lambda x, d, k: x.sum(d, k),
    "mean": lambda x, d, k: x.mean(d, k),
    "amax": lambda x, d, k: x.amax(d, k),
    "amin": lambda x, d, k: x.amin(d, k),
    "logsumexp": lambda x, d, k: x.logsumexp(d, k),
    "nansum": lambda x, d, k: x.nansum(d, k),
    "std": lambda x, d, k: x.std(d, keepdim=k),
    "var": lambda x, d, k: x.var(d, correction=0, keepdim=k),
    "var_mean": lambda x, d, k: torch.var_mean(x, d, keepdim=k),
    "norm 2": lambda x, d, k: torch.linalg.vector_norm(x, 2, d, k),
    "norm inf": lambda x, d, k: torch.linalg.vector_norm(x, float("inf"), d, k),
}


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("dims", [(0,), (-1,), (0, 2), (0, 1, 2)], ids=str)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reduction(same, name: str, dims: tuple[int, ...], keep: bool) -> None:
    same(lambda x: REDUCTIONS[name](x, dims, keep), normal(2, 3, 4))


# CANN's own check of aclnnVarMean has no bfloat16 on an Atlas A2: codes_of_calls.txt has the call.
@pytest.mark.parametrize(
    ("name", "dtype"),
    [(name, dtype) for name in REDUCTIONS for dtype in FLOATS if (name, dtype) != ("var_mean", torch.bfloat16)],
    ids=str,
)
def test_reduction_dtypes(same, name: str, dtype: torch.dtype) -> None:
    same(
        lambda x: REDUCTIONS[name](x, (1,), False),
        normal(3, 8, dtype=dtype),
        rtol=TOLERANCE[dtype],
        atol=TOLERANCE[dtype],
    )


DIMENSION = {
    "max": lambda x: x.max(1),
    "min": lambda x: x.min(1, keepdim=True),
    "argmax": lambda x: (x.argmax(), x.argmax(1), x.argmax(0, keepdim=True)),
    "argmin": lambda x: (x.argmin(), x.argmin(1)),
    "median": lambda x: (x.median(), *x.median(1)),
    "nanmedian": lambda x: (x.nanmedian(), *x.nanmedian(1)),
    "kthvalue": lambda x: x.kthvalue(2, 1),
    "prod": lambda x: (x.prod(), x.prod(1)),
    "all, any": lambda x: ((x > 0).all(), (x > 0).all(1), (x > 0).any(), (x > 0).any(0)),
    "aminmax": lambda x: (*x.aminmax(), *x.aminmax(dim=1)),
    "cumsum": lambda x: (x.cumsum(0), x.cumsum(1)),
    "cumprod": lambda x: x.cumprod(1),
    "cummax": lambda x: x.cummax(1),
    "cummin": lambda x: x.cummin(0),
    "sort": lambda x: (*x.sort(1), *x.sort(0, descending=True), *x.sort(stable=True)),
    "argsort": lambda x: x.argsort(1),
    "topk": lambda x: (*x.topk(3, 1), *x.topk(2, 0, largest=False)),
    "histc": lambda x: x.histc(5, -2, 2),
    "std_mean": lambda x: torch.std_mean(x, 1),
    "renorm": lambda x: x.renorm(2, 0, 1.0),
    "searchsorted": lambda x: torch.searchsorted(x.sort(1).values, x),
    "bucketize": lambda x: torch.bucketize(x, x[0].sort().values),
    "cdist": lambda x: (torch.cdist(x, x[:2]), torch.cdist(x, x[:2], p=1)),
    "pdist": lambda x: torch.nn.functional.pdist(x),
    "trace": lambda x: x.trace(),
    "equal": lambda x: (torch.equal(x, x), torch.equal(x, x + 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", DIMENSION)
def test_along_dimensions(same, name: str) -> None:
    same(DIMENSION[name], normal(4, 6))


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64], ids=str)
def test_integers(same, dtype: torch.dtype) -> None:
    x = torch.tensor([[3, 1, 2, 3], [1, 1, 5, 0]], dtype=dtype)
    same(
        lambda x: (
            x.sum(),
            x.sum(1),
            x.max(),
            *(x.max(1) if dtype == torch.int64 else ()),
            x.argmax(1),
            x.cumsum(1),
            *x.sort(dim=1, stable=True),
            *x.topk(2, 1),
        ),
        x,
    )


def test_the_largest_along_a_dimension_is_refused_of_int32() -> None:
    with pytest.raises(RuntimeError, match="aclnnMaxDim: self has data type INT32; Ascend910B allows"):
        torch.ones(2, 3, dtype=torch.int32).npu().max(1)


def test_results_of_unknown_size(same) -> None:
    x = torch.tensor([[3, 1, 2, 3], [1, 1, 5, 0]])
    same(lambda x: torch.unique(x), x)
    same(lambda x: torch.unique(x, return_inverse=True, return_counts=True), x)
    same(lambda x: torch.unique(x, dim=1, return_inverse=True, return_counts=True), x)
    same(lambda x: torch.unique_consecutive(x.flatten(), return_inverse=True, return_counts=True), x)
    same(lambda x: (torch.nonzero(x), *torch.nonzero(x, as_tuple=True), torch.masked_select(x, x > 1), x[x > 1]), x)
    same(lambda x: torch.bincount(x.flatten(), minlength=8), x)


def test_nothing_found(same) -> None:
    same(lambda x: (torch.nonzero(x), torch.masked_select(x, x > 0), torch.unique(x[:, :0])), torch.zeros(3, 2))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_products(same, dtype: torch.dtype) -> None:
    a, b, v = normal(3, 5, dtype=dtype), normal(5, 4, seed=1, dtype=dtype), normal(5, seed=2, dtype=dtype)
    batch, m = normal(2, 3, 5, dtype=dtype), normal(2, 5, 4, seed=3, dtype=dtype)
    bias = normal(4, seed=4, dtype=dtype)
    close = {"rtol": TOLERANCE[dtype], "atol": TOLERANCE[dtype]}
    same(torch.mm, a, b, **close)
    same(torch.mv, a, v, **close)
    same(torch.bmm, batch, m, **close)
    same(torch.matmul, batch, b, **close)
    same(torch.matmul, a, m, **close)
    same(lambda c, a, b: torch.addmm(c, a, b, beta=0.5, alpha=2), bias, a, b, **close)
    same(lambda c, a, b: torch.baddbmm(c, a, b, beta=0.5, alpha=2), bias, batch, m, **close)
    same(lambda a, b: torch.nn.functional.linear(a, b.t()), a, b, **close)


def test_more_products(same) -> None:
    batch, m, v, w = normal(2, 3, 5), normal(2, 5, 4, seed=1), normal(5), normal(5, seed=2)
    same(torch.dot, v, w)
    same(torch.outer, v, w)
    same(lambda c, a, b: torch.addbmm(c, a, b), normal(3, 4), batch, m)
    same(lambda c, a, b: torch.addmv(c, a, b, beta=2, alpha=3), normal(3), batch[0], v)
    same(lambda c, a, b: torch.addr(c, a, b, beta=2, alpha=3), normal(5, 5), v, w)
    same(lambda a, b: torch.einsum("bij,bjk->bik", a, b), batch, m)
    same(lambda a, b: torch.linalg.cross(a, b), normal(4, 3), normal(4, 3, seed=1))
    same(lambda a: torch.tensordot(a, a, dims=2), normal(4, 4))


def test_linear_algebra(same) -> None:
    x = normal(4, 4)
    positive = x @ x.t() + 4 * torch.eye(4)
    same(torch.linalg.cholesky, positive)
    same(torch.inverse, positive)
    same(torch.slogdet, positive)
    same(lambda a: torch.linalg.svdvals(a), x)
    same(lambda a: (lambda u, s, v: u @ torch.diag(s) @ v)(*torch.linalg.svd(a)), x)
    same(lambda a: (lambda q, r: q @ r)(*torch.linalg.qr(a)), x)
    same(lambda a, b: torch.triangular_solve(b, a).solution, positive.triu(), normal(4, 2, seed=1))


def test_of_a_matrix_without_elements_nothing_is_written() -> None:
    """CANN's first phase ends there, with success."""
    empty, sign, log = torch.empty(0, 0), torch.full((), 7.0), torch.full((), 8.0)
    aclnn("aclnnSlogdet", empty, sign, log)
    assert (sign.item(), log.item()) == (7.0, 8.0)
    aclnn("aclnnLogdet", empty, log)
    assert log.item() == 8.0


@pytest.mark.parametrize("name", ["sum", "mean", "std", "prod", "logsumexp", "cumsum", "norm"])
def test_gradients(same, name: str) -> None:
    x, function = normal(3, 4).requires_grad_(), getattr(torch, name)
    same((lambda x: function(x)) if name == "norm" else (lambda x: function(x, 1)), x)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.uint8, torch.float16], ids=str)
def test_counts_have_the_inputs_dtype(dtype: torch.dtype) -> None:
    """Experts are counted this way; torch's CPU has no histc of integers to compare with."""
    x = torch.tensor([0, 1, 1, 3, 2, 1, 7, 3]).to(dtype)
    got = torch.histc(x.npu(), bins=4, min=0, max=3).cpu()
    assert got.dtype == dtype and got.tolist() == [1, 3, 1, 2]


@pytest.mark.parametrize("p", [-1.0, 1.0, 2.5])
@on_ascend950
def test_gradient_of_distances(p: float) -> None:
    """-1 is how infinity is handed over."""
    x, y, grad = normal(2, 3, 4), normal(2, 5, 4, seed=1), normal(2, 3, 5, seed=2)
    leaf = x.double().requires_grad_()
    distances = torch.cdist(leaf, y.double(), float("inf") if p < 0 else p)
    distances.backward(grad.double())
    for power in (-1.0, float("inf")) if p < 0 else (p,):
        out = torch.zeros_like(x)
        aclnn("aclnnCdistBackward", grad, x, y, distances.detach().float(), power, out)
        torch.testing.assert_close(out, leaf.grad.float(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("repeats", [(1, 2, 2, 1), (2,)], ids=str)
@on_ascend950
def test_gradient_of_repeated_columns(repeats: tuple[int, ...]) -> None:
    """The two examples of its page: of one number each place has been repeated as often."""
    grad, counts = normal(2, 6), torch.tensor(repeats)
    places = counts.expand(3) if counts.numel() == 1 else counts
    out = torch.zeros(2, places.numel())
    aclnn("aclnnRepeatInterleaveGrad", grad, counts, 1, out)
    each = [part.sum(1) for part in grad.split(places.tolist(), 1)]
    torch.testing.assert_close(out, torch.stack(each, 1), rtol=1e-6, atol=1e-6)


# CANN compares the output of these with the result that it has computed.
LATE = {
    "ReduceSum": ([0], False, torch.float32),
    "Mean": ([0], False, torch.float32),
    "ProdDim": (0, False, torch.float32),
    "ArgMax": (0, False),
    "ArgMin": (0, False),
    "Any": ([0], False),
}


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)], ids=str)
@pytest.mark.parametrize("name", LATE)
def test_a_single_result_goes_into_any_output_of_one_element(name: str, shape: tuple[int, ...]) -> None:
    dtype = {"ArgMax": torch.int64, "ArgMin": torch.int64, "Any": torch.bool}.get(name, torch.float32)
    x = torch.tensor([3.0, 0.0])
    out = torch.full(shape, 9, dtype=dtype)
    aclnn(f"aclnn{name}", x, *LATE[name], out)
    expected = {"ReduceSum": 3, "Mean": 1.5, "ProdDim": 0, "ArgMax": 0, "ArgMin": 1, "Any": True}
    assert out.item() == expected[name]


@pytest.mark.parametrize("name", ["Amax", "LogSumExp"])
def test_where_the_output_is_looked_at_first_its_dimensions_count(name: str) -> None:
    with pytest.raises(Refused, match=r"161002: .*output has shape \[1\], expected \[\]"):
        aclnn(f"aclnn{name}", torch.tensor([3.0, 0.0]), [0], False, torch.zeros(1))


@pytest.mark.parametrize(("name", "value"), [("ReduceSum", 0), ("Mean", float("nan")), ("ProdDim", 1), ("ArgMax", 9)])
def test_the_output_of_a_reduction_of_nothing_has_any_shape(name: str, value: float) -> None:
    dtype = torch.int64 if name == "ArgMax" else torch.float32
    out = torch.full((3,), 9, dtype=dtype)
    aclnn(f"aclnn{name}", torch.zeros(0, 2), *LATE[name], out)
    torch.testing.assert_close(out, torch.full((3,), value, dtype=dtype), equal_nan=True)
