"""Random operators: distributions, seeds, dropout masks, and the same numbers from a replayed capture."""

import pytest
import torch
import torch.nn.functional as F

N = 20000

DISTRIBUTIONS = {  # name: (draw, mean, standard deviation)
    "normal_": (lambda x: x.normal_(2, 3), 2, 3),
    "randn": (lambda x: torch.randn(N, device=x.device), 0, 1),
    "uniform_": (lambda x: x.uniform_(-1, 3), 1, 4 / 12**0.5),
    "rand": (lambda x: torch.rand(N, device=x.device), 0.5, 1 / 12**0.5),
    "exponential_": (lambda x: x.exponential_(2), 0.5, 0.5),
    "bernoulli_": (lambda x: x.bernoulli_(0.3), 0.3, 0.21**0.5),
    "bernoulli of tensor": (lambda x: torch.bernoulli(torch.full_like(x, 0.7)), 0.7, 0.21**0.5),
    "random_": (lambda x: x.random_(0, 10).float(), 4.5, (99 / 12) ** 0.5),
    "randint": (lambda x: torch.randint(5, 9, (N,), device=x.device).float(), 6.5, (15 / 12) ** 0.5),
    "normal of tensors": (lambda x: torch.normal(torch.full_like(x, 1.0), torch.full_like(x, 2.0)), 1, 2),
    "normal of mean": (lambda x: torch.normal(torch.full_like(x, 1.0), 2.0), 1, 2),
    "normal of deviation": (lambda x: torch.normal(1.0, torch.full_like(x, 2.0)), 1, 2),
}


def standard_error(deviation: float) -> float:
    return deviation / N**0.5


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_distribution(name: str) -> None:
    draw, mean, deviation = DISTRIBUTIONS[name]
    torch.npu.manual_seed(1)
    sample = draw(torch.empty(N, device="npu:0")).cpu()
    assert sample.mean().item() == pytest.approx(mean, abs=5 * standard_error(deviation))
    assert sample.std().item() == pytest.approx(deviation, rel=0.05)
    assert abs(torch.corrcoef(torch.stack([sample[:-1], sample[1:]]))[0, 1].item()) < 5 / N**0.5


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_seed_decides_and_draws_differ(name: str) -> None:
    draw = DISTRIBUTIONS[name][0]

    def two() -> list[torch.Tensor]:
        torch.npu.manual_seed(7)
        return [draw(torch.empty(N, device="npu:0")).cpu() for _ in range(2)]

    (first, second), (again, _) = two(), two()
    assert torch.equal(first, again)
    assert not torch.equal(first, second)
    torch.npu.manual_seed(8)
    assert not torch.equal(first, draw(torch.empty(N, device="npu:0")).cpu())


def test_normal_integers_are_the_truncated_float() -> None:
    draws = []
    for dtype in (torch.float32, torch.int32, torch.int8):
        torch.npu.manual_seed(3)
        draws.append(torch.empty(1000, device="npu:0", dtype=dtype).normal_(0, 5).cpu())
    assert torch.equal(draws[0].int(), draws[1]) and torch.equal(draws[0].to(torch.int8), draws[2])


def test_half_is_the_rounded_float() -> None:
    draws = []
    for dtype in (torch.float32, torch.float16):
        torch.npu.manual_seed(3)
        draws.append(torch.empty(1000, device="npu:0", dtype=dtype).normal_().cpu())
    assert torch.equal(draws[0].half(), draws[1])


def test_permutation_and_multinomial() -> None:
    torch.npu.manual_seed(0)
    permutation = torch.randperm(1000, device="npu:0").cpu()
    assert torch.equal(permutation.sort().values, torch.arange(1000))
    assert not torch.equal(permutation, torch.arange(1000))
    weights = torch.tensor([1.0, 0.0, 3.0], device="npu:0")
    drawn = torch.multinomial(weights, N, replacement=True).cpu()
    share = torch.bincount(drawn, minlength=3) / N
    assert share[1] == 0 and share[2].item() == pytest.approx(0.75, abs=0.02)
    without = torch.multinomial(torch.ones(50, device="npu:0"), 50).cpu()
    assert torch.equal(without.sort().values, torch.arange(50))


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_dropout(p: float) -> None:
    torch.npu.manual_seed(0)
    x = torch.ones(N, device="npu:0", requires_grad=True)
    y = F.dropout(x, p)
    y.sum().backward()
    out, grad = y.detach().cpu(), x.grad.cpu()
    dropped = (out == 0).float().mean().item()
    assert dropped == pytest.approx(p, abs=5 * (p * (1 - p) / N) ** 0.5)
    torch.testing.assert_close(out[out != 0], torch.full_like(out[out != 0], 1 / (1 - p)))
    assert torch.equal(grad, out)  # the same elements, the same factor


def test_dropout_of_everything_nothing_and_in_evaluation() -> None:
    x = torch.randn(100, device="npu:0")
    assert F.dropout(x, 1.0).cpu().eq(0).all()
    assert torch.equal(F.dropout(x, 0.0).cpu(), x.cpu())
    assert torch.equal(F.dropout(x, 0.5, training=False).cpu(), x.cpu())


@pytest.mark.parametrize("size", [1, 7, 128, 129, 1000])
def test_dropout_mask_is_a_bit_an_element(size: int) -> None:
    import torch_npu

    torch.npu.manual_seed(0)
    x = torch.ones(size, device="npu:0")
    out, mask = torch_npu._npu_dropout(x, 0.5)
    mask = mask.cpu()
    assert mask.dtype == torch.uint8 and mask.numel() == (size + 127) // 128 * 16
    bits = (mask.unsqueeze(1) >> torch.arange(8)) & 1
    assert torch.equal(bits.flatten()[:size], (out.cpu() != 0).to(torch.uint8))
    assert bits.flatten()[size:].eq(0).all()


def test_dropout_in_attention_uses_one_mask_in_both_directions() -> None:
    torch.npu.manual_seed(0)
    import torch_npu

    batch, heads, length, depth = 1, 2, 16, 16
    value = torch.eye(length, depth).expand(batch, heads, length, depth).contiguous().npu().requires_grad_()
    q = torch.zeros(batch, heads, length, depth, device="npu:0")
    out = torch_npu.npu_fusion_attention(q, q, value, heads, "BNSD", keep_prob=0.75)[
        0
    ]  # out: the dropped probabilities
    weight = torch.rand(batch, heads, length, depth).npu()
    (out * weight).sum().backward()
    kept = out.detach().cpu() != 0
    assert 0.6 < kept.float().mean().item() < 0.9
    torch.testing.assert_close(out.detach().cpu()[kept], torch.full((int(kept.sum()),), 1 / length / 0.75))
    torch.testing.assert_close(value.grad.cpu(), out.detach().cpu().transpose(-1, -2) @ weight.cpu())


def test_rrelu() -> None:
    torch.npu.manual_seed(0)
    x = -torch.ones(1000, device="npu:0")
    out = F.rrelu(x, 0.1, 0.3, training=True).cpu()
    assert out.min() >= -0.3 and out.max() <= -0.1 and out.std() > 0.01
    torch.testing.assert_close(F.rrelu(x, 0.1, 0.3).cpu(), torch.full((1000,), -0.2))


@pytest.mark.parametrize(
    "draw",
    [lambda x: x.normal_(), lambda x: x.uniform_(), lambda x: F.dropout(x.fill_(1), 0.5)],
    ids=["normal_", "uniform_", "dropout"],
)
def test_replay_continues_the_sequence_that_eager_calls_draw(draw) -> None:
    def eager(x: torch.Tensor) -> list[torch.Tensor]:
        torch.npu.manual_seed(5)
        return [draw(x).cpu().clone() for _ in range(3)]

    x = torch.zeros(256, device="npu:0")
    want = eager(x)
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        out = draw(x)
    torch.npu.manual_seed(5)
    got = []
    for _ in range(3):
        graph.replay()
        got.append(out.cpu().clone())
    assert not torch.equal(got[0], got[1])
    for mine, theirs in zip(got, want, strict=True):
        assert torch.equal(mine, theirs)
    torch.npu.manual_seed(5)
    graph.replay()
    assert torch.equal(out.cpu(), got[0])


@pytest.mark.parametrize(
    ("dtype", "start", "end"),
    [(torch.float32, -3e38, 3e38), (torch.float16, -60000.0, 60000.0), (torch.int32, 0.0, 10.0)],
    ids=str,
)
def test_a_range_that_a_data_type_does_not_hold(dtype: torch.dtype, start: float, end: float) -> None:
    """CANN takes it in the first phase, and multiplies by the width, which may be too large for a float."""
    drawn = torch.empty(200, dtype=dtype, device="npu").uniform_(start, end).cpu()
    if dtype is torch.float32:
        assert drawn.isinf().all()
    else:
        assert (drawn >= start).all() and (drawn <= end).all() and drawn.unique().numel() > 8
