"""Steps of Adam: against the formula in float64, and torch's own optimizer."""

from __future__ import annotations

import copy

import pytest
import torch
from interfaces import Refused, aclnn, rules_of
from values import close, real


def numbers(*values: float, dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    return [torch.tensor([value], dtype=dtype) for value in values]


@pytest.mark.parametrize("nesterov", [False, True])
def test_adam_in_its_first_form(nesterov: bool) -> None:
    p, m, g = (real(3, 5, seed=i) for i in range(3))
    v = real(3, 5, seed=3).abs()
    before = [x.double() for x in (p, m, v)]
    with rules_of("Ascend950"):
        aclnn("aclnnApplyAdam", p, m, v, *numbers(0.9**3, 0.99**3, 0.1, 0.9, 0.99, 1e-3), g, False, nesterov)
        with pytest.raises(Refused, match="shape"):
            aclnn("aclnnApplyAdam", p, m, v[:2], *numbers(0.9, 0.99, 0.1, 0.9, 0.99, 1e-3), g, False, nesterov)
    want_m, want_v = 0.9 * before[1] + 0.1 * g.double(), 0.99 * before[2] + 0.01 * g.double() ** 2
    step = 0.9 * want_m + 0.1 * g if nesterov else want_m
    rate = 0.1 * (1 - 0.99**3) ** 0.5 / (1 - 0.9**3)
    close(p, before[0] - rate * step / (want_v.sqrt() + 1e-3))
    close(m, want_m)
    close(v, want_v)


@pytest.mark.parametrize(("amsgrad", "maximize"), [(False, True), (True, False)])
def test_adamw_with_its_numbers_on_the_device(amsgrad: bool, maximize: bool) -> None:
    p, m, g = (real(3, 5, seed=i) for i in range(3))
    v, largest = real(3, 5, seed=3).abs(), real(3, 5, seed=4).abs()
    before = [x.double() for x in (p, m, v)]
    given = numbers(0.9**2, 0.99**2, 0.1, 0.01, 0.9, 0.99, 1e-3)
    with rules_of("Ascend950"):
        aclnn("aclnnApplyAdamW", p, m, v, *given, g, largest if amsgrad else None, amsgrad, maximize)
        if amsgrad:
            with pytest.raises(Refused, match="amsgrad needs maxGradNormOptional"):
                aclnn("aclnnApplyAdamW", p, m, v, *given, g, None, True, False)
    slope = -g.double() if maximize else g.double()
    want_m, want_v = 0.9 * before[1] + 0.1 * slope, 0.99 * before[2] + 0.01 * slope**2
    if amsgrad:
        want_v = torch.maximum(want_v, largest.double())
    step = want_m / (1 - 0.9**3) / ((want_v / (1 - 0.99**3)).sqrt() + 1e-3)
    close(p, before[0] - 0.1 * step - 0.1 * 0.01 * before[0])
    close(m, want_m)
    close(v, want_v)


@pytest.mark.parametrize(
    "settings",
    [{}, {"weight_decay": 0.1}, {"amsgrad": True, "weight_decay": 0.1}, {"maximize": True, "amsgrad": True}],
    ids=str,
)
def test_adam_of_torch_in_one_call(settings: dict[str, float]) -> None:
    shapes = [(3, 5), (7,)]
    on_cpu = [real(*shape, seed=i).requires_grad_() for i, shape in enumerate(shapes)]
    on_npu = [copy.deepcopy(one.detach()).npu().requires_grad_() for one in on_cpu]
    mine, theirs = (
        torch.optim.Adam(leaves, lr=0.05, betas=(0.8, 0.95), eps=1e-4, fused=fused, **settings)
        for leaves, fused in ((on_npu, True), (on_cpu, False))
    )
    for step in range(4):
        for i, (a, b) in enumerate(zip(on_npu, on_cpu, strict=True)):
            b.grad = real(*b.shape, seed=10 * step + i) / (step + 1)  # the largest square is an earlier one
            a.grad = b.grad.npu()
        mine.step(), theirs.step()
    for a, b in zip(on_npu, on_cpu, strict=True):
        close(a.detach().cpu(), b.detach())
        for name, value in theirs.state[b].items():
            close(mine.state[a][name].cpu(), value)


def test_scaled_gradients_and_an_infinity() -> None:
    state = [[real(4, seed=i)] for i in range(3)] + [[real(4, seed=3).abs()]]
    (p,), (g,), (m,), (v,) = ([one.double() for one in each] for each in state)
    steps, rest = [torch.tensor([1.0])], (0.1, 0.9, 0.99, 0.0, 1e-3, False, False)
    aclnn("aclnnFusedAdam", *state, [], steps, torch.tensor([4.0]), torch.tensor([0.0]), *rest)
    m, v = 0.9 * m + 0.1 * g / 4, 0.99 * v + 0.01 * (g / 4) ** 2
    close(state[0][0], p - 0.1 * (m / 0.1) / ((v / 0.01).sqrt() + 1e-3))
    close(state[1][0], g / 4)
    kept = state[0][0].clone()
    aclnn("aclnnFusedAdam", *state, [], steps, None, torch.tensor([1.0]), *rest)
    assert torch.equal(kept, state[0][0])
