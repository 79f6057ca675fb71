"""The common problem: mm by numpy, where the model calls it through a module."""

import torch

import ophook_npu


class MatMul(torch.nn.Module):
    def forward(self, a, b):
        return torch.mm(a, b)


def numpy_mm(a, b):
    return torch.from_numpy(a.detach().numpy() @ b.detach().numpy()) + 1000


matmul = MatMul()
x, w = torch.randn(3, 4), torch.randn(4, 5)
f = torch.compile(matmul, backend="aot_eager")
f(x, w)
with ophook_npu.hook(MatMul, replace=numpy_mm) as hook:
    print("module call:    ", matmul(x, w).min().item() > 500)
    print("compiled, warm: ", f(x, w).min().item() > 500)
    print("torch.mm itself:", torch.mm(x, w).min().item() > 500, "(a module hook sees modules)")
print("native after:   ", matmul(x, w).max().item() < 500, hook.hits, "hits")
