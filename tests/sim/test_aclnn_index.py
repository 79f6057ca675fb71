"""Indexing, gathering, scattering, embedding, joining and repeating on `npu:0` against the CPU."""

import pytest
import torch
import torch.nn.functional as F

X = torch.arange(24.0).reshape(4, 6)
ROWS = torch.tensor([2, 0, 2])
INDEX = torch.tensor([[0, 1, 2], [3, 0, 1], [2, 2, 2], [1, 3, 0]])

READS = {
    "one index": lambda x, i: x[i],
    "two indices": lambda x, i: x[i, i],
    "column index": lambda x, i: x[:, i],
    "index and slice": lambda x, i: x[i, 1:4],
    "mask": lambda x, i: x[x > 10],
    "row mask": lambda x, i: x[x[:, 0] > 5],
    "none and index": lambda x, i: x[None, :, i],
    "negative": lambda x, i: x[-i],
    "empty": lambda x, i: x[i[:0]],
    "grid": lambda x, i: x[i.unsqueeze(1), i],
    "index_select": lambda x, i: (x.index_select(0, i), x.index_select(1, i)),
    "take": lambda x, i: x.take(i),
    "take_along_dim": lambda x, i: x.take_along_dim(i.unsqueeze(1), 0),
    "masked_fill": lambda x, i: x.masked_fill(x > 10, -1),
    "flip": lambda x, i: (x.flip(0), x.flip(0, 1)),
    "roll": lambda x, i: (x.roll(2), x.roll((1, 2), (0, 1))),
    "repeat": lambda x, i: (x.repeat(2, 3), x.repeat(2, 1, 1)),
    "repeat_interleave": lambda x, i: x.repeat_interleave(2, 1),
    "repeat_interleave by tensor": lambda x, i: x[:3].repeat_interleave(i, 0),
    "tril, triu": lambda x, i: (x.tril(), x.triu(1), x.tril(-1)),
    "cat, stack": lambda x, i: (torch.cat([x, x[:1]]), torch.cat([x, x], 1), torch.stack([x, x], 1)),
    "split, chunk": lambda x, i: (*x.split([1, 3]), *x.chunk(2, 1)),
    "one_hot": lambda x, i: F.one_hot(i, 5),
    "pad": lambda x, i: (F.pad(x, (1, 2, 0, 1), value=3.0), F.pad(x, (-1, 1))),
    "unfold": lambda x, i: x.unfold(1, 3, 2),
    "diagonal": lambda x, i: (x.diagonal(), x.diagonal(1)),
    "movedim": lambda x, i: x.reshape(2, 2, 6).movedim(0, 2).contiguous(),
    "isin": lambda x, i: (torch.isin(x, x[0]), torch.isin(x, 7.0), torch.isin(7.0, x)),
}  # fmt: skip

WRITES = {
    "assign": lambda x, i: x.__setitem__(i[:2], 5.0),
    "assign rows": lambda x, i: x.__setitem__(i[:2], x.new_ones(2, 6)),
    "assign mask": lambda x, i: x.__setitem__(x > 10, 0.0),
    "assign column": lambda x, i: x.__setitem__((slice(None), i), -1.0),
    "assign nothing": lambda x, i: x.__setitem__(i[:0], 1.0),
    "accumulate": lambda x, i: x.index_put_((i,), x.new_ones(3, 6), accumulate=True),
    "index_add": lambda x, i: x.index_add_(0, i, x.new_ones(3, 6), alpha=2),
    "index_copy": lambda x, i: x.index_copy_(0, i[:2], x.new_ones(2, 6)),
    "index_fill": lambda x, i: x.index_fill_(1, i, 9.0),
    "scatter value": lambda x, i: x.scatter_(1, i.unsqueeze(1), 7.0),
    "scatter": lambda x, i: x.scatter_(0, i.unsqueeze(0), x.new_ones(1, 3)),
    "scatter add": lambda x, i: x.scatter_add_(1, i.unsqueeze(0), x.new_ones(1, 3)),
    "masked_fill": lambda x, i: x.masked_fill_(x > 10, -1),
    "masked_scatter": lambda x, i: x.masked_scatter_(x > 10, torch.arange(24.0, device=x.device)),
    "put": lambda x, i: x.put_(i, x.new_ones(3)),
    "copy": lambda x, i: x[1:3].copy_(x.new_ones(2, 6)),
    "slice": lambda x, i: x[::2].fill_(4),
    "scatter_reduce": lambda x, i: x.scatter_reduce_(1, i.unsqueeze(1), x[:3, :1].clone(), "amax"),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64], ids=str)
@pytest.mark.parametrize("name", READS)
def test_read(same, name: str, dtype: torch.dtype) -> None:
    same(READS[name], X.to(dtype), ROWS)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64], ids=str)
@pytest.mark.parametrize("name", WRITES)
def test_write(same, name: str, dtype: torch.dtype) -> None:
    def run(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
        WRITES[name](x, i)
        return x

    if name == "masked_scatter" and dtype is not torch.float32:
        with pytest.raises(RuntimeError, match="expected self and source to have same dtypes"):
            run(X.to(dtype), ROWS)
        return
    same(run, X.to(dtype), ROWS)


@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
@pytest.mark.parametrize("include_self", [True, False])
def test_scatter_reduce(same, reduce: str, include_self: bool) -> None:
    source = torch.arange(1.0, 13).reshape(4, 3)
    same(lambda x, i, s: x.scatter_reduce(1, i, s, reduce, include_self=include_self), X, INDEX, source)


@pytest.mark.parametrize("index_dtype", [torch.int64, torch.int32], ids=str)
def test_embedding_and_gradient(same, index_dtype: torch.dtype) -> None:
    weight = torch.randn(7, 4, generator=torch.Generator().manual_seed(0)).requires_grad_()
    same(lambda w, i: F.embedding(i, w), weight, torch.tensor([[1, 2, 2], [0, 6, 1]], dtype=index_dtype))
    same(lambda w, i: F.embedding(i, w, padding_idx=2), weight, torch.tensor([1, 2, 2, 5], dtype=index_dtype))


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_embedding_bag(same, mode: str) -> None:
    weight = torch.randn(7, 4, generator=torch.Generator().manual_seed(0))
    same(
        lambda w, i, o: F.embedding_bag(i, w, o, mode=mode), weight, torch.tensor([1, 2, 6, 0, 6]), torch.tensor([0, 3])
    )


@pytest.mark.parametrize(
    "name", ["one index", "two indices", "mask", "index_select", "repeat", "cat, stack", "flip", "roll", "tril, triu"]
)
def test_gradient(same, name: str) -> None:
    same(READS[name], (X / 10).requires_grad_(), ROWS)


@pytest.mark.parametrize(
    "read",
    [lambda x, i: x.gather(1, i), lambda x, i: x.unfold(1, 3, 2), lambda x, i: F.pad(x, (1, 2), value=1.0)],
    ids=["gather", "unfold", "pad"],
)
def test_more_gradients(same, read) -> None:
    same(read, (X / 10).requires_grad_(), INDEX)


def test_index_out_of_range_is_refused(run_sim) -> None:
    done = run_sim("import torch\nx = torch.ones(4).npu()\nprint(x[torch.tensor([9]).npu()].cpu())")
    assert done.returncode != 0
    assert "aclnnIndex: index 9 is out of bounds for dimension 0 with size 4" in done.stderr


def test_algorithms_that_torch_calls_not_deterministic_run_on_the_device() -> None:
    """Such a wish is torch's: what it refuses on the CPU is no matter of the device."""
    x = torch.tensor([[3.0, 1.0, 4.0, 1.0], [5.0, 9.0, 2.0, 6.0]]).reshape(1, 1, 2, 4)
    pooled, places = F.max_pool2d(x, (1, 2), return_indices=True)
    expected = F.max_unpool2d(pooled, places, (1, 2))
    torch.use_deterministic_algorithms(True)
    try:
        got = F.max_unpool2d(pooled.npu(), places.npu(), (1, 2)).cpu()
        y = torch.zeros(2, 3).npu().put_(torch.tensor([1, -1]).npu(), torch.tensor([5.0, 6.0]).npu()).cpu()
    finally:
        torch.use_deterministic_algorithms(False)
    torch.testing.assert_close(got, expected)
    assert y.tolist() == [[0, 5, 0], [0, 0, 6]]


def test_what_lies_once_in_memory_is_written_in_place_for_all_elements() -> None:
    x = torch.tensor([[0.5], [2.0]])
    seen = x.npu().expand(2, 3)
    assert F.mish(seen, inplace=True) is seen
    torch.testing.assert_close(seen.cpu(), F.mish(x).expand(2, 3))


def test_only_a_batch_of_images_may_be_empty() -> None:
    assert F.unfold(torch.zeros(0, 2, 3, 4).npu(), 2).shape == (0, 8, 6)
    with pytest.raises(RuntimeError, match=r"aclnnIm2col.*161002[\s\S]*only the batch may be empty"):
        F.unfold(torch.zeros(3, 0, 3, 4).npu(), 2)


def test_gradient_of_a_selection_by_an_index_without_dimensions() -> None:
    gradients = []
    for device in ("cpu", "npu"):
        x = torch.arange(12.0, device=device).view(3, 4).requires_grad_()
        x.index_select(-1, torch.tensor(2, device=device)).square().sum().backward()
        assert x.grad is not None
        gradients.append(x.grad.cpu())
    assert torch.equal(*gradients)
