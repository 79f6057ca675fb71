"""Python calls of mm go to an opaque custom operator: eager, compiled, fullgraph, with the gradient of mm."""

import torch

import ophook_npu


def numpy_mm(a, b):
    return torch.from_numpy(a.detach().numpy() @ b.detach().numpy()) + 1000


x, w = torch.randn(3, 4, requires_grad=True), torch.randn(4, 5, requires_grad=True)
want = torch.autograd.grad(torch.mm(x, w).sum(), x)[0]
with ophook_npu.hook("aten::mm", replace=numpy_mm, via="custom_op") as hook:
    y = torch.mm(x, w)
    print("torch.mm(x, w):   ", y.min().item() > 500)
    print("x.mm(w):          ", x.mm(w).min().item() > 500)
    print("x @ w:            ", (x @ w).min().item() > 500, "(arrives as matmul, which calls mm in C++)")
    print("gradient is mm's: ", torch.equal(torch.autograd.grad(y.sum(), x)[0], want))
    for backend in ("aot_eager", "inductor"):
        f = torch.compile(lambda a, b: torch.relu(torch.mm(a, b)), backend=backend, fullgraph=True)
        print(f"{backend:18}", f(x, w).min().item() > 500)
print("native after:     ", f(x, w).min().item() < 500)
