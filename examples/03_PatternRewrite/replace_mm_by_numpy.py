"""The common problem: mm by numpy. In a graph a Python function must be an operator, so it is registered as one."""

import torch

import ophook_npu


@torch.library.custom_op("example03::numpy_mm", mutates_args=())
def numpy_mm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(a.numpy() @ b.numpy()) + 1000


@numpy_mm.register_fake
def _(a, b):
    return a.new_empty(a.shape[0], b.shape[1])


def pattern(a, b):
    return a @ b  # aten.matmul before autograd; torch.mm(a, b) is another pattern


x, w = torch.randn(3, 4), torch.randn(4, 5)
square = [torch.rand(4, 4), torch.rand(4, 4)]  # shapes the pattern can be traced with

graph = torch.fx.symbolic_trace(lambda a, b: torch.relu(a @ b))
with ophook_npu.hook(pattern, replace=numpy_mm, via="pattern_rewrite", graph=graph):
    print("fx.GraphModule:  ", graph(x, w).min().item() > 500)
print("restored:        ", graph(x, w).min().item() < 500)

for backend in ("eager", "aot_eager", "inductor"):
    f = torch.compile(lambda a, b: torch.relu(a @ b) + 1, backend=backend)
    f(x, w)
    with ophook_npu.hook(pattern, replace=numpy_mm, via="pattern_rewrite", example_inputs=square) as hook:
        print(f"{backend:17}", f(x, w).min().item() > 500)
print("eager calls:     ", torch.mm(x, w).min().item() > 500, "(only graphs have patterns)")
