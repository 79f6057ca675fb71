"""Cross entropy over a sliced vocabulary: two slices, reduced as two devices would, against the whole on the CPU."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
import torch_npu

pytestmark = pytest.mark.torch_npu("2.13", "it has no npu_fused_linear_online_max_sum")


@pytest.mark.parametrize("keep_logits", [True, False], ids=["keeps the softmax", "computes the logits again"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_two_slices_give_the_loss_and_gradients_of_the_whole(dtype: torch.dtype, keep_logits: bool) -> None:
    torch.manual_seed(0)
    batch, hidden, slice_size = 11, 8, 6
    x, weight = torch.randn(batch, hidden).to(dtype), torch.randn(2 * slice_size, hidden).to(dtype)
    target, grad = torch.randint(0, 2 * slice_size, (batch,)), torch.randn(batch)

    parts = []
    for start in (0, slice_size):
        rows = weight[start : start + slice_size].npu()
        parts.append(
            torch_npu.npu_fused_linear_online_max_sum(
                x.npu(), rows, target.npu(), start, start + slice_size - 1, return_logits=keep_logits
            )
        )
    # What all_reduce does between the devices: the maximum, then sums on its scale.
    top = torch.maximum(parts[0][0], parts[1][0])
    total = sum(part[1] * (part[0] - top).exp() for part in parts)
    predicted = torch.zeros(batch).npu()
    for part, start in zip(parts, (0, slice_size), strict=True):
        here = ((target >= start) & (target < start + slice_size)).npu()
        predicted += torch.where(here, part[2] + part[0] - top, 0)
        assert (part[5] is not None) == keep_logits

    leaf_x, leaf_w = x.float().requires_grad_(), weight.float().requires_grad_()
    expected = torch.nn.functional.cross_entropy(leaf_x @ leaf_w.t(), target, reduction="none")
    expected.backward(grad)

    tolerance: dict[str, Any] = {"rtol": 2e-2, "atol": 2e-2}
    x_grad = torch.zeros(batch, hidden)
    for part, start in zip(parts, (0, slice_size), strict=True):
        rows = weight[start : start + slice_size].npu()
        loss, softmax = torch_npu.npu_fused_cross_entropy_loss_with_max_sum(
            top, total, predicted, vocab_parallel_logits=part[5]
        )
        torch.testing.assert_close(loss.cpu(), expected.detach(), **tolerance)
        saved = {"softmax": softmax} if keep_logits else {"logits_max": top, "sum_exp_logits": total}
        dx, dw = torch_npu.npu_fused_linear_cross_entropy_loss_with_max_sum_backward(
            grad.npu(), x.npu(), rows, part[3], part[4], label_smoothing=0.0, **saved
        )
        assert dx.dtype == dw.dtype == dtype
        x_grad += dx.cpu().float()
        torch.testing.assert_close(dw.cpu().float(), leaf_w.grad[start : start + slice_size], **tolerance)
    torch.testing.assert_close(x_grad, leaf_x.grad, **tolerance)


def test_the_mask_names_targets_of_other_slices_from_the_highest_bit_on() -> None:
    x, weight = torch.randn(3, 4).half().npu(), torch.randn(2, 4).half().npu()
    target = torch.tensor([5, 2, 3], dtype=torch.int32).npu()
    _, _, predicted, mask, masked, logits = torch_npu.npu_fused_linear_online_max_sum(x, weight, target, 2, 3)
    assert mask.cpu().tolist() == [0b10011111]
    assert masked.cpu().tolist() == [0, 0, 1]
    assert predicted.cpu()[0] == 0
    assert logits is None


def test_label_smoothing_is_refused(run_sim: Any) -> None:
    code = """
import torch, torch_npu
x = torch.rand(4).npu()
try:
    torch_npu.npu_fused_cross_entropy_loss_with_max_sum(x, x, x, label_smoothing=0.1)
except RuntimeError as error:
    print(error)
"""
    # Which number arrives is torch_npu's affair: it passes a double, and CANN's prototype has a float.
    assert re.search(r"labelSmoothing is \S+; .* allows 0 ", run_sim(code).stdout)
