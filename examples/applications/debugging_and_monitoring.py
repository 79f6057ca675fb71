"""Debugging: the first operator that makes a NaN, with the module and the line it came from."""

import torch

import ophook_npu


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Sequential(torch.nn.Linear(4, 4), Bug()))

    def forward(self, x):
        return self.layers(x).sum()


class Bug(torch.nn.Module):
    def forward(self, x):
        return torch.log(-x.abs()) * 0.5


found = []


def find_nan(call):
    result = call.result
    if not found and isinstance(result, torch.Tensor) and result.is_floating_point() and result.isnan().any():
        frame = call.stack()[-1]
        found.append((call.name, call.module_path, frame.line))


model, x = Model(), torch.randn(2, 4)  # outside the hook: aten::empty, which makes the weights, may hold any NaN
with ophook_npu.hook("aten", after=find_nan):
    model(x)
name, path, line = found[0]
print(f"first NaN: {name} in module {path!r}")
print(f"  {line}")
assert (name, path) == ("aten::log", "layers.1.1")
