"""A pattern of the backward graph: relu's gradient is recognised and replaced."""

import torch

import ophook_npu


def relu_gradient(grad, result):
    return torch.ops.aten.threshold_backward(grad, result, 0)


def straight_through(grad, result):
    return grad * 1  # lets the gradient of negative inputs pass


f = torch.compile(lambda x: torch.relu(x).sum(), backend="aot_eager")
x = torch.tensor([-1.0, 2.0], requires_grad=True)
print("before:", torch.autograd.grad(f(x), x)[0].tolist())
with ophook_npu.hook(relu_gradient, replace=straight_through, via="pattern_rewrite", level="aot") as hook:
    print("hooked:", torch.autograd.grad(f(x), x)[0].tolist(), f"({hook.hits} replaced)")
print("after: ", torch.autograd.grad(f(x), x)[0].tolist())
