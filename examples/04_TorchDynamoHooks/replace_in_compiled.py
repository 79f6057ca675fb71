"""mm by numpy inside compiled code that stays compiled, forward and backward, whatever the function was compiled
with."""

import torch

import ophook_npu


def numpy_mm(a, b):
    return torch.from_numpy(a.detach().numpy() @ b.detach().numpy()) + 1000


x, w = torch.randn(3, 4, requires_grad=True), torch.randn(4, 5, requires_grad=True)
for backend in ("eager", "aot_eager", "inductor"):
    f = torch.compile(lambda a, b: torch.relu(a @ b * 2) + 1, backend=backend, fullgraph=True)
    f(x, w)
    with ophook_npu.hook("aten::mm", replace=numpy_mm, via="dynamo") as hook:
        y = f(x, w)
        forward = hook.hits
        y.sum().backward()
    print(
        f"{backend:10} replaced: {y.min().item() > 500}, calls: {forward} forward, {hook.hits - forward} backward;",
        end=" ",
    )
    print("native after:", f(x, w).min().item() < 500)

hook = ophook_npu.hook("aten::mm", replace=numpy_mm, via="dynamo")
f = torch.compile(lambda a, b: a @ b, backend=hook.backend("inductor"))
states = []
for turn in (hook.disable, hook.enable, hook.disable):
    turn()
    states.append(f(x, w).min().item() > 500)
print("switched at run time, compiled once:", states)
