"""IndexByTensor, EmbeddingDenseGrad and Sxpy: what torchair makes of indexing, of embeddings' gradients and of rsub."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torchair

BACKEND = torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())
both = pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])


def same(function: Callable[..., Any], dynamic: bool, *inputs: torch.Tensor) -> None:
    torch._dynamo.reset()
    graph = torch.compile(function, backend=BACKEND, fullgraph=True, dynamic=dynamic)
    expected = function(*inputs)
    for _ in range(2):  # the second run reuses the compiled graph
        got = graph(*(tensor.npu() for tensor in inputs))
        assert got.device.type == "npu"
        torch.testing.assert_close(got.cpu(), expected)


x = torch.arange(2 * 3 * 4 * 5, dtype=torch.float32).reshape(2, 3, 4, 5)
i, j, wide = torch.tensor([1, 0, 1]), torch.tensor([2, 0, -1]), torch.tensor([[0, 2], [1, 1]])
INDEXED: dict[str, tuple[Callable[..., torch.Tensor], tuple[torch.Tensor, ...]]] = {
    "first": (lambda x, i: x[i], (i,)),
    "last": (lambda x, i: x[..., i], (i,)),
    "middle": (lambda x, i: x[:, i], (i,)),
    "two dimensions of indices": (lambda x, i: x[:, :, i], (wide,)),
    "two": (lambda x, i, j: x[i, j], (i, j)),
    "two that broadcast": (lambda x, i, j: x[:, i, j], (wide, torch.tensor([3]))),
    "neighbours in the middle": (lambda x, i, j: x[:, i, j], (i, j)),
    "apart: the result's dimension goes first": (lambda x, i, j: x[i, :, j], (i, j)),
    "apart, at the ends": (lambda x, i, j: x[i, :, :, j], (i, j)),
    "all": (lambda x, i, j: x[i, j, i, j], (i, j)),
    "negative": (lambda x, i: x[:, i], (torch.tensor([-1, -3]),)),
    "none": (lambda x, i: x[i], (torch.tensor([], dtype=torch.long),)),
    "int32": (lambda x, i: x[:, i], (i.int(),)),
}


@both
@pytest.mark.parametrize("name", INDEXED)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64], ids=str)
def test_indexing(name: str, dtype: torch.dtype, dynamic: bool) -> None:
    function, indices = INDEXED[name]
    same(function, dynamic, x.to(dtype), *indices)


@both
def test_indexing_unchecked(dynamic: bool) -> None:
    same(lambda x, i: torch.ops.aten._unsafe_index.Tensor(x, [None, i]), dynamic, x, i)


@both
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("padding", [-1, 2])
@pytest.mark.parametrize("shape", [(6,), (2, 3)])
def test_the_gradient_of_an_embedding(shape: tuple[int, ...], padding: int, scale: bool, dynamic: bool) -> None:
    indices = torch.tensor([1, 2, 1, 0, 4, 1]).reshape(shape)
    grad = torch.arange(24, dtype=torch.float32).reshape(*shape, 4)
    with torch._dynamo.config.patch(specialize_int=True):  # torchair takes these numbers as constants only
        same(lambda g, i: torch.ops.aten.embedding_dense_backward(g, i, 5, padding, scale), dynamic, grad, indices)


@both
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.int32, torch.int64], ids=str)
@pytest.mark.parametrize("alpha", [1, 3, -2])
def test_rsub(alpha: int, dtype: torch.dtype, dynamic: bool) -> None:
    numbers = torch.arange(-6, 6).reshape(3, 4).to(dtype)
    same(lambda x: torch.rsub(x, 5, alpha=alpha), dynamic, numbers)


@both
def test_rsub_with_fractions_and_of_other_dtypes(dynamic: bool) -> None:
    numbers = torch.arange(-6, 6).reshape(3, 4)
    same(lambda x: torch.rsub(x.float(), 0.25, alpha=1.5), dynamic, numbers)
    same(lambda x: torch.rsub(x, 0.25), dynamic, numbers)  # of integers: a float result


def test_numbers_that_a_program_is_called_with() -> None:
    torch._dynamo.reset()
    graph = torch.compile(lambda x, n: torch.rsub(x, n, alpha=n) * n, backend=BACKEND, fullgraph=True, dynamic=True)
    numbers = torch.arange(12).reshape(3, 4)
    for n in (7, 3, 11):
        assert torch.equal(graph(numbers.npu(), n).cpu(), (n - n * numbers) * n)


def test_a_mask_that_names_other_than_the_indices_is_refused() -> None:
    from torchair._ge_concrete_graph import ge_apis as ge
    from torchair.ge._ge_graph import Tensor

    library = torch.library.Library("mylib", "FRAGMENT")
    library.define("bad_mask(Tensor x, Tensor i) -> Tensor")
    library.impl("bad_mask", lambda x, i: x[i].clone(), "Meta")
    library.impl("bad_mask", lambda x, i: x[i].clone(), "CPU")

    @torchair.register_fx_node_ge_converter(torch.ops.mylib.bad_mask.default)
    def convert(x: Tensor, i: Tensor, meta_outputs: Any = None) -> Any:
        return ge.IndexByTensor(x, [i], indices_mask=[1, 1])

    torch._dynamo.reset()
    graph = torch.compile(lambda x, i: torch.ops.mylib.bad_mask(x, i), backend=BACKEND, dynamic=False)
    with pytest.raises(RuntimeError, match=r"IndexByTensor.*its mask names 2 dimensions for 1 indices"):
        graph(x.npu(), i.npu())
