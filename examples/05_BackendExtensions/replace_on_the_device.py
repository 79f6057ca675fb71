"""mm of an extension device: the NPU where torch_npu is loaded, else a host-memory device built on first use with
g++."""

import torch

import ophook_npu


def shifted(a, b):
    return ophook_npu.original()(a, b) + 1000


hook = ophook_npu.hook("aten::mm", replace=shifted, via="backend")
device = torch.accelerator.current_accelerator().type
print("device is an extension:", device in ("npu", "hostdev"))

x, w = torch.randn(3, 4).to(device).requires_grad_(), torch.randn(4, 5).to(device)
native = (x @ w).cpu()
torch.testing.assert_close(native, x.cpu() @ w.cpu(), atol=1e-3, rtol=1e-3)
with hook:
    y = x @ w
    print("replaced on the device:", y.min().item() > 500)
    y.sum().backward()
    print("calls in backward:     ", hook.hits - 1)
    print("CPU tensors are native:", (x.cpu() @ w.cpu()).max().item() < 500)
    with torch.inference_mode():
        print("inference mode:        ", (x @ w).min().item() > 500)
torch.testing.assert_close((x @ w).cpu(), native)
print("native after:           True")

model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.LayerNorm(8), torch.nn.Linear(8, 1)).to(device)
optimizer = torch.optim.SGD(model.parameters(), 0.01)
names: set[str] = set()
with ophook_npu.hook("aten", before=lambda call: names.add(call.name), via="backend"):
    model(x).sum().backward()
    optimizer.step()
print("a training step runs:  ", {"aten::addmm", "aten::native_layer_norm"} <= names)
