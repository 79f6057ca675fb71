"""Which operators a compiled function runs, with the phase, each time it runs; nothing is recompiled between runs."""

import torch

import ophook_npu

model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
compiled = torch.compile(model, backend="aot_eager")
x = torch.randn(2, 4)
compiled(x)
calls = []
with ophook_npu.hook("aten", before=lambda call: calls.append((call.phase, call.name)), via="dynamo"):
    for _ in range(2):
        calls.clear()
        compiled(x).sum().backward()
for phase in ("forward", "backward"):
    print(f"{phase}:", ", ".join(name.removeprefix("aten::") for p, name in calls if p == phase))
assert ("forward", "aten::addmm") in calls and ("backward", "aten::mm") in calls
