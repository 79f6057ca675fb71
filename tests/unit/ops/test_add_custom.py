"""npu_add_custom on the CPU: values, gradients, shapes, vmap, compile, refusals."""

import pytest
import torch

from ophook_npu import ops
from ophook_npu.errors import OphookError

op = ops.register("npu_add_custom")
DTYPES = (torch.float16, torch.float32, torch.bfloat16, torch.int32)


def sample(shape: tuple[int, ...], dtype: torch.dtype = torch.float32) -> torch.Tensor:
    generator = torch.Generator().manual_seed(hash(shape) % 1000)
    return (torch.randn(shape, generator=generator) * 10).to(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("x", "y"), [((8, 2048), (8, 2048)), ((3, 1, 5), (4, 1)), ((), (2, 3)), ((0, 4), (1, 4)), ((), ())]
)
def test_adds_with_broadcasting(dtype: torch.dtype, x: tuple[int, ...], y: tuple[int, ...]) -> None:
    a, b = sample(x, dtype), sample(y, dtype)
    result = op(a, b)
    assert torch.equal(result, a + b) and result.dtype == dtype and result.is_contiguous()


def test_strided_inputs() -> None:
    a, b = sample((6, 4)).t(), sample((8, 6))[::2]
    assert torch.equal(op(a, b), a + b) and op(a, b).is_contiguous()


def test_opcheck() -> None:
    x, y = sample((3, 1, 5)).requires_grad_(), sample((4, 1)).requires_grad_()
    torch.library.opcheck(op.default, (x, y))


def test_gradient_sums_over_what_was_broadcast() -> None:
    x, y = sample((3, 1, 5)).requires_grad_(), sample((4, 1)).requires_grad_()
    op(x, y).sum().backward()
    assert torch.equal(x.grad, torch.full((3, 1, 5), 4.0)) and torch.equal(y.grad, torch.full((4, 1), 15.0))


def test_gradient_of_one_input_only() -> None:
    x = sample((2, 3)).requires_grad_()
    op(x, sample((3,))).sum().backward()
    assert torch.equal(x.grad, torch.ones(2, 3))


@pytest.mark.parametrize("dims", [(0, 0), (1, None), (None, 2), (2, 0)])
def test_vmap_equals_a_loop(dims: tuple[int | None, int | None]) -> None:
    x, y = sample((4, 4, 4)), sample((4, 4, 4))
    batched = torch.vmap(op, in_dims=dims)(x, y)
    one = [op(*(t if d is None else t.select(d, i) for t, d in zip((x, y), dims, strict=True))) for i in range(4)]
    assert torch.equal(batched, torch.stack(one))


def test_vmap_with_unequal_ranks() -> None:
    x, y = sample((4, 3)), sample((4, 2, 3))
    assert torch.equal(torch.vmap(op)(x, y), torch.stack([op(a, b) for a, b in zip(x, y, strict=True)]))


@pytest.mark.parametrize("dynamic", [False, True])
def test_compiles_without_a_graph_break(dynamic: bool) -> None:
    compiled = torch.compile(lambda x, y: op(x, y) * 2, fullgraph=True, dynamic=dynamic, backend="aot_eager")
    for n in (3, 5):
        x, y = sample((n, 4)).requires_grad_(), sample((4,))
        result = compiled(x, y)
        result.sum().backward()
        assert torch.equal(result, (x + y) * 2) and torch.equal(x.grad, torch.full((n, 4), 2.0))


@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (
            torch.ones(2),
            torch.ones(2, dtype=torch.half),
            r"x has dtype torch.float32, y has dtype torch.float16; allowed: one",
        ),
        (
            torch.ones(2).double(),
            torch.ones(2).double(),
            r"dtype torch.float64; allowed: float16, float32, bfloat16, int32",
        ),
        (torch.ones(2, 3), torch.ones(4), r"x has shape \[2, 3\], y has shape \[4\], which do not broadcast"),
    ],
)
def test_refusals(device: str, x: torch.Tensor, y: torch.Tensor, message: str) -> None:
    with pytest.raises(RuntimeError, match=r"\[npu_add_custom\] .*" + message):
        op(x.to(device), y.to(device))


def test_devices_must_agree() -> None:
    with pytest.raises(RuntimeError, match=r"x is on cpu, y is on meta; allowed: both on one device; next: move"):
        op(torch.ones(2), torch.ones(2, device="meta"))


def test_more_elements_than_the_kernel_counts() -> None:
    huge = torch.empty(1, dtype=torch.half).expand(2**16, 2**15)
    with pytest.raises(RuntimeError, match=r"x has shape \[65536, 32768\], more than 2147483647 elements"):
        op(huge, torch.ones(1, dtype=torch.half))


def test_registering_twice_gives_the_same_operator() -> None:
    assert ops.register("npu_add_custom") is op is ops.npu_add_custom


def test_unknown_operator_lists_what_is_there() -> None:
    with pytest.raises(OphookError, match=r"no operator 'npu_add'; allowed: .*npu_add_custom"):
        ops.register("npu_add")


def test_foreign_schema_under_the_name_is_refused(run_python) -> None:
    code = """
import torch
torch.library.define("npu::npu_add_custom", "(Tensor x, Tensor y, *, Scalar alpha=1) -> Tensor")
from ophook_npu import ops
ops.register("npu_add_custom")
"""
    result = run_python("-c", code)
    assert (
        result.returncode == 1
        and "torch already has npu::npu_add_custom(Tensor x, Tensor y, *, Scalar alpha=1)" in result.stderr
    )
