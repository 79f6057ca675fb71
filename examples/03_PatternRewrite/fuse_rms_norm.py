"""RMSNorm written out in Python becomes one fused operator in compiled code, with its gradient, whatever the
compiler."""

import torch

import ophook_npu


def rms_norm(x, weight, eps=1e-6):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.rand(8))
        self.linear = torch.nn.Linear(8, 8)

    def forward(self, x):
        x = rms_norm(x, self.weight)
        return rms_norm(self.linear(x), self.weight)


def fused(x, weight):
    return torch.nn.functional.rms_norm(x, (8,), weight, 1e-6)


torch.manual_seed(0)
model, x = Model(), torch.randn(4, 8)
for backend in ("aot_eager", "inductor"):
    compiled = torch.compile(model, backend=backend, fullgraph=True)
    want = compiled(x)
    gradient = torch.autograd.grad(want.sum(), model.weight)[0]
    with ophook_npu.hook(rms_norm, replace=fused, via="pattern_rewrite") as hook:
        got = compiled(x)
        new_gradient = torch.autograd.grad(got.sum(), model.weight)[0]
    torch.testing.assert_close(got, want, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(new_gradient, gradient, atol=1e-4, rtol=1e-4)
    print(f"{backend}: {hook.hits} patterns replaced, result and gradient as before")
print(hook.why.split(". ")[1])
