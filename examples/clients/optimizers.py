"""torch_npu's fused optimizer and its GradScaler next to torch's own, step by step. Arguments: CASE OUT"""

import json
import sys
import warnings

import torch

case, out = sys.argv[1:]
on_npu = hasattr(torch, "npu") and torch.npu.is_available()
device = "npu" if on_npu else "cpu"
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.Tanh(), torch.nn.Linear(32, 8)).to(device)
batches = torch.randn(4, 32, 16, generator=torch.Generator().manual_seed(1)).to(device)
warnings.simplefilter("ignore")
results = {}


def loss_of(batch: torch.Tensor) -> torch.Tensor:
    return model(batch).float().pow(2).mean()


if case.startswith("npu-fused"):
    # "keeps" says what happens with gradients that are made anew in each step, as after p.grad = None: the optimizer
    # goes on with those of the first step. So the CPU's AdamW is given these in each step.
    if on_npu:
        from torch_npu.optim import NpuFusedAdamW as AdamW
    else:
        from torch.optim import AdamW
    optimizer = AdamW(model.parameters(), lr=1e-2, weight_decay=1e-2)
    first = None
    for step, batch in enumerate(batches):
        loss_of(batch).backward()
        if case == "npu-fused-keeps" and not on_npu:
            first = first or [p.grad.clone() for p in model.parameters()]
            for p, grad in zip(model.parameters(), first, strict=True):
                p.grad = grad.clone()
        optimizer.step()
        if case == "npu-fused-keeps":
            model.zero_grad(set_to_none=True)
        else:
            optimizer.zero_grad()
        results[f"step {step + 1}"] = [p.detach().flatten().tolist() for p in model.parameters()]
else:
    # AdamW(fused=True) under a GradScaler. torch's own hands scale and found_inf over as attributes of the optimizer,
    # and torch_npu's kernel looks at neither: it takes the gradients as they are, 1024 times too large, and overflows
    # too. AdamW divides by what it multiplies with, but for eps: so the CPU's AdamW is given the same gradients.
    if case == "scaler-torch-npu" and on_npu:
        from torch_npu.npu.amp import GradScaler

        scaler = GradScaler(init_scale=1024.0)
    else:
        from torch.amp.grad_scaler import GradScaler

        scaler = GradScaler(device, init_scale=1024.0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, fused=True)
    if case == "scaler-overflow":
        batches[1] *= torch.inf
    for step, batch in enumerate(batches):
        scaled = scaler.scale(loss_of(batch))
        scaled.backward()
        if case == "scaler-torch" and not on_npu:
            optimizer.step()
        else:
            scaler.step(optimizer)
            scaler.update()
        optimizer.zero_grad()
        results[f"step {step + 1}"] = [p.detach().flatten().tolist() for p in model.parameters()]
    if not all(p.isfinite().all() for p in model.parameters()):
        sys.exit(f"weights are not finite after an overflow; the scale went to {scaler.get_scale()}")
with open(out, "w") as file:
    json.dump(results, file)
