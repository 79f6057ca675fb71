"""aclnn functions that C++ clients call and torch_npu does not: against torch's own, on device memory."""

from __future__ import annotations

import pytest
import torch
from interfaces import Refused, aclnn
from torch.nn import functional


def tensor(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


X, Y = tensor(4, 5), tensor(4, 5, seed=1)
A, B, C = tensor(2, 3, 4), tensor(2, 4, 5, seed=1), tensor(2, 3, 5, seed=2)


def selu_gradient(grad: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    x = x.detach().requires_grad_()
    functional.selu(x).backward(grad)
    assert x.grad is not None
    return x.grad


CASES = {
    "aclnnSwish": ([X, 0.75], X * torch.sigmoid(0.75 * X)),
    "aclnnSwish without beta": ([X, None], functional.silu(X)),
    "aclnnSwishBackward": ([Y, X, None], torch.ops.aten.silu_backward(Y, X)),
    "aclnnSelu": ([X], functional.selu(X)),
    "aclnnSeluBackward": ([Y, functional.selu(X)], selu_gradient(Y, X)),
    "aclnnShrink": ([X, 0.5, 0.25], torch.where(X < -0.5, X + 0.25, torch.where(X > 0.5, X - 0.25, 0.0))),
    "aclnnSquaredRelu": ([X], functional.relu(X) ** 2),
    "aclnnHeaviside": ([X.round(), Y], torch.heaviside(X.round(), Y)),
}
IN_PLACE = {
    "aclnnInplaceSelu": ([X], functional.selu(X)),
    "aclnnInplaceNeg": ([X], -X),
    "aclnnInplaceRound": ([X], X.round()),
    "aclnnInplaceTrunc": ([X], X.trunc()),
    "aclnnInplaceBaddbmm": ([C, A, B, 0.5, 2.0, 0], torch.baddbmm(C, A, B, beta=0.5, alpha=2.0)),
    "aclnnInplaceAddbmm": ([C[0], A, B, 0.5, 2.0, 0], torch.addbmm(C[0], A, B, beta=0.5, alpha=2.0)),
}


@pytest.mark.parametrize("name", CASES)
def test_result(name: str) -> None:
    arguments, expected = CASES[name]
    out = torch.zeros_like(expected)
    aclnn(name.split()[0], *arguments, out)
    torch.testing.assert_close(out, expected)


@pytest.mark.parametrize("name", IN_PLACE)
def test_result_in_place(name: str) -> None:
    arguments, expected = IN_PLACE[name]
    written, *others = arguments
    assert isinstance(written, torch.Tensor)
    written = written.clone()
    aclnn(name, written, *others)
    torch.testing.assert_close(written, expected)


def test_a_wrong_shape_is_refused_in_phase_1() -> None:
    for name, arguments in (("aclnnSelu", [X]), ("aclnnShrink", [X, 0.5, 0.25]), ("aclnnSwish", [X, None])):
        with pytest.raises(Refused, match="161002"):
            aclnn(name, *arguments, torch.zeros(4, 6))


def test_a_gradient_of_a_convolution_that_is_left_out_may_be_null() -> None:
    x, weight = tensor(1, 2, 5, 5), tensor(3, 2, 3, 3, seed=1)
    grad = tensor(1, 3, 3, 3, seed=2)
    ones, zeros = [1, 1], [0, 0]
    settings = ([3], ones, zeros, ones, False, zeros, 1)
    out, given = torch.zeros_like(weight), [grad, x, weight, *settings]
    aclnn("aclnnConvolutionBackward", *given, [False, True, False], 0, None, out, None)
    expected = torch.nn.grad.conv2d_weight(x, list(weight.shape), grad)
    torch.testing.assert_close(out, expected)
    with pytest.raises(Refused, match="gradient 0 is asked for and null"):
        aclnn("aclnnConvolutionBackward", *given, [True, True, False], 0, None, out, None)
