"""Layers, optimizer steps, losses and convolution that torch_npu runs by operator type."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
import torch_npu
from torch.nn import functional as F


def seeded(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*shape, dtype=dtype)


@pytest.fixture(autouse=True)
def _same_numbers() -> None:
    torch.manual_seed(0)


# ---- recurrent layers ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("layer", [torch.nn.LSTM, torch.nn.GRU])
@pytest.mark.parametrize(
    "options",
    [{}, {"bidirectional": True}, {"num_layers": 2}, {"bias": False}, {"batch_first": True}],
    ids=["plain", "bidirectional", "two layers", "no bias", "batch first"],
)
def test_recurrent_layers_train_as_on_the_cpu(layer: type[torch.nn.RNNBase], options: dict[str, Any]) -> None:
    cpu = layer(4, 3, **options)
    npu = copy.deepcopy(cpu).npu()
    x = seeded(5, 2, 4).requires_grad_()
    x_npu = x.detach().npu().requires_grad_()
    expected, state = cpu(x)
    got, state_npu = npu(x_npu)
    torch.testing.assert_close(got.cpu(), expected)
    for one, other in zip(
        torch.utils._pytree.tree_leaves(state_npu), torch.utils._pytree.tree_leaves(state), strict=True
    ):
        torch.testing.assert_close(one.cpu(), other)

    weight = torch.randn_like(expected)
    (expected * weight).sum().backward()
    (got * weight.npu()).sum().backward()
    torch.testing.assert_close(x_npu.grad.cpu(), x.grad)
    for name, parameter in cpu.named_parameters():
        torch.testing.assert_close(
            npu.get_parameter(name).grad.cpu(), parameter.grad, msg=lambda m, n=name: f"{n}: {m}"
        )
    # Nothing but the last state used: the output has no gradient.
    last, last_npu = (torch.utils._pytree.tree_leaves(each)[0].sum() for each in (cpu(x)[1], npu(x_npu)[1]))
    grads = torch.autograd.grad(last, [x, *cpu.parameters()])
    for got, expected in zip(torch.autograd.grad(last_npu, [x_npu, *npu.parameters()]), grads, strict=True):
        torch.testing.assert_close(got.cpu(), expected)


def test_a_long_lstm_in_half_rounds_its_results_only() -> None:
    cpu = torch.nn.LSTM(16, 8)
    x = seeded(40, 3, 16)
    half = copy.deepcopy(cpu).half()
    expected, _ = half.float()(x.half().float())
    got, _ = half.half().npu()(x.half().npu())
    assert got.dtype == torch.float16
    torch.testing.assert_close(got.cpu().float(), expected, rtol=2e-3, atol=2e-3)


def test_lstm_cell_trains() -> None:
    cpu = torch.nn.LSTMCell(4, 3)
    npu = copy.deepcopy(cpu).npu()
    x, h, c = seeded(2, 4), seeded(2, 3), seeded(2, 3)
    expected = cpu(x, (h, c))
    got = npu(x.npu(), (h.npu(), c.npu()))
    for one, other in zip(got, expected, strict=True):
        torch.testing.assert_close(one.cpu(), other)
    (expected[0] + expected[1]).sum().backward()
    (got[0] + got[1]).sum().backward()
    for name, parameter in cpu.named_parameters():
        torch.testing.assert_close(npu.get_parameter(name).grad.cpu(), parameter.grad)


# ---- optimizer steps -------------------------------------------------------------------------------------------------
def stepped(optimizer: type[torch.optim.Optimizer], grads: list[torch.Tensor], **options: Any) -> torch.Tensor:
    parameter = torch.nn.Parameter(torch.linspace(-1, 1, 6))
    one = optimizer([parameter], **options)
    for grad in grads:
        parameter.grad = grad
        one.step()
    return parameter.detach()


def fresh() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return torch.linspace(-1, 1, 6).npu(), torch.zeros(6).npu(), torch.zeros(6).npu()


def test_npu_apply_adam_is_adam() -> None:
    grads = [seeded(6) for _ in range(3)]
    out = fresh()
    for step, grad in enumerate(grads, 1):
        torch_npu.npu_apply_adam(0.9**step, 0.999**step, 1e-2, 0.9, 0.999, 0.0, grad.npu(), False, False, out=out)
    torch.testing.assert_close(out[0].cpu(), stepped(torch.optim.Adam, grads, lr=1e-2, eps=0.0))


@pytest.mark.parametrize("maximize", [False, True])
def test_npu_apply_adam_w_is_adam_w(maximize: bool) -> None:
    grads = [seeded(6) for _ in range(3)]
    out = fresh()
    for step, grad in enumerate(grads):
        torch_npu.npu_apply_adam_w(
            0.9**step, 0.999**step, 1e-2, 0.1, 0.9, 0.999, 1e-8, grad.npu(), None, False, maximize, out=out
        )
    expected = stepped(torch.optim.AdamW, grads, lr=1e-2, weight_decay=0.1, maximize=maximize)
    torch.testing.assert_close(out[0].cpu(), expected)


def test_npu_bert_apply_adam_leaves_the_bias_uncorrected() -> None:
    grad = seeded(6)
    var, m, v = torch.linspace(-1, 1, 6), 0.1 * grad, 0.001 * grad**2
    out = fresh()
    torch_npu.npu_bert_apply_adam(1e-2, 0.9, 0.999, 1e-6, grad.npu(), -1.0, 0.0, 0.1, out=out)
    torch.testing.assert_close(out[0].cpu(), var - 1e-2 * (m / (v.sqrt() + 1e-6) + 0.1 * var))
    torch.testing.assert_close(out[1].cpu(), m)
    torch.testing.assert_close(out[2].cpu(), v)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            "torch_npu.npu_apply_adam_w(.9, .9, .1, 0., .9, .9, 1e-8, g, g, True, False, out=(x, x, x))",
            "ApplyAdamW: amsgrad=1 is not simulated",
        ),
        (
            "torch_npu.npu_bert_apply_adam(.1, .9, .9, 1e-6, g, 1.0, 2.0, 0., out=(x, x, x))",
            "max_grad_norm above 0 is not simulated",
        ),
        (
            "torch_npu.npu_giou(torch.rand(4, 3).npu(), torch.rand(4, 5).npu(), True, False, 0)",
            "GIoU: its inputs float32[4, 3] and float32[4, 5] do not fit (4, n), (4, n) -> (1, n), (1, n)",
        ),
    ],
    ids=["amsgrad", "clipping", "pairs"],
)
def test_what_is_not_simulated_is_refused_by_name(run_sim: Any, call: str, message: str) -> None:
    code = f"""
import torch, torch_npu
x, g = torch.ones(3).npu(), torch.ones(3).npu()
try:
    {call}
    torch.npu.synchronize()
except RuntimeError as error:
    print(error)
"""
    assert message in run_sim(code, TASK_QUEUE_ENABLE="0").stdout


# ---- losses and distances --------------------------------------------------------------------------------------------
def test_softmax_cross_entropy_with_logits() -> None:
    logits, labels = seeded(4, 5).requires_grad_(), torch.softmax(seeded(4, 5), 1)
    got = torch_npu.npu_softmax_cross_entropy_with_logits(logits.detach().npu(), labels.npu())
    torch.testing.assert_close(got.cpu(), F.cross_entropy(logits, labels, reduction="none").detach())


def test_ctc_loss_with_packed_targets() -> None:
    log_probs = seeded(12, 3, 5).log_softmax(2)
    targets, lengths = torch.randint(1, 5, (9,)), torch.tensor([4, 2, 3])
    inputs = torch.full((3,), 12)
    torch.npu.set_compile_mode(jit_compile=True)  # the way to the operator by type
    try:
        got = F.ctc_loss(log_probs.npu(), targets.npu(), inputs.npu(), lengths.npu(), reduction="none")
        torch.npu.synchronize()
    finally:
        torch.npu.set_compile_mode(jit_compile=False)
    torch.testing.assert_close(got.cpu(), F.ctc_loss(log_probs, targets, inputs, lengths, reduction="none"))


@pytest.mark.parametrize("p", [0.5, 1.0, 1.5, 2.0, 3.0, float("inf")])
def test_cdist_backward(p: float) -> None:
    x, y, grad = seeded(2, 3, 4), seeded(2, 5, 4), seeded(2, 3, 5)
    results = []
    for device in ("cpu", "npu"):
        leaf = x.clone().to(device).requires_grad_()
        torch.cdist(leaf, y.to(device), p).backward(grad.to(device))
        results.append(leaf.grad.cpu())
    torch.testing.assert_close(results[1], results[0], rtol=1e-4, atol=1e-5)


@pytest.mark.torch_npu("2.13", "it has no npu_renorm_backward")
@pytest.mark.parametrize("p", [0.5, 1.5])
def test_renorm_backward(p: float) -> None:
    x, grad = seeded(4, 6), seeded(4, 6)
    leaf = x.clone().requires_grad_()
    torch.renorm(leaf, p, 0, 1.0).backward(grad)
    got = torch_npu.npu_renorm_backward(grad.npu(), x.npu(), p, 0, 1.0)
    torch.testing.assert_close(got.cpu(), leaf.grad, rtol=1e-4, atol=1e-4)


# ---- convolution -----------------------------------------------------------------------------------------------------
def test_conv3d_by_type_trains() -> None:
    cpu = torch.nn.Conv3d(4, 6, (2, 3, 3), stride=(1, 2, 1), padding=1, groups=2)
    npu = copy.deepcopy(cpu).npu()
    x = seeded(2, 4, 5, 6, 7)
    expected = cpu(x)
    torch.npu.set_compile_mode(jit_compile=True)
    try:
        got = npu(x.npu())
        weight = torch.randn_like(expected)
        (got * weight.npu()).sum().backward()
        torch.npu.synchronize()
    finally:
        torch.npu.set_compile_mode(jit_compile=False)
    (expected * weight).sum().backward()
    torch.testing.assert_close(got.cpu(), expected, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(npu.weight.grad.cpu(), cpu.weight.grad, rtol=1e-4, atol=1e-4)
