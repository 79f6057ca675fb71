"""Layers, not operators: observe by path, replace by class, and what torch.compile makes of it."""

from contextlib import ExitStack
from functools import partial

import torch

import ophook_npu

torch.manual_seed(0)
model = torch.nn.Sequential(
    torch.nn.Linear(4, 8), torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Linear(8, 8)), torch.nn.Linear(8, 2)
)
x = torch.randn(3, 4)
want = model(x)

with ophook_npu.hook((model, "1.*"), after=lambda c: print(f"{c.module_path}: {c.name} {tuple(c.result.shape)}")):
    model(x)


def numpy_linear(layer: torch.nn.Linear, x: torch.Tensor) -> torch.Tensor:
    """A layer by numpy. Its gradient is lost, because a module hook works above autograd."""
    y = x.detach().numpy() @ layer.weight.detach().numpy().T + layer.bias.detach().numpy()
    return torch.from_numpy(y)


with ExitStack() as hooks:
    for layer in [module for module in model.modules() if isinstance(module, torch.nn.Linear)]:
        hooks.enter_context(ophook_npu.hook(layer, replace=partial(numpy_linear, layer)))
    by_numpy = model(x)
print("layers by numpy:   ", torch.allclose(by_numpy, want, atol=1e-6), "| gradient:", by_numpy.requires_grad)
print("native after:      ", torch.equal(model(x), want))

compiled = torch.compile(model, backend="eager")
compiled(x)
handle = model[0].register_forward_hook(lambda module, args, result: result + 1000)
print("torch's own hook after compiling is ignored:", torch.allclose(compiled(x), want, atol=1e-6))
handle.remove()
with ophook_npu.hook(model[0], after=lambda call: setattr(call, "result", call.result + 1000)):
    print("this hook is not:                           ", not torch.allclose(compiled(x), want, atol=1e-6))
