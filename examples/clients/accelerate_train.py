"""A loop with accelerate: accumulated and clipped gradients, a scheduler, a saved state. Arguments: PRECISION OUT"""

import json
import sys

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, TensorDataset

precision, out = sys.argv[1:]
accelerator = Accelerator(mixed_precision=precision, gradient_accumulation_steps=2)
set_seed(0)
model = torch.nn.Sequential(
    torch.nn.Linear(16, 64), torch.nn.GELU(approximate="tanh"), torch.nn.LayerNorm(64), torch.nn.Linear(64, 4)
)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
x = torch.randn(96, 16)
data = TensorDataset(x, (x[:, :4] + x[:, 4:8]).argmax(1))
loader = DataLoader(data, batch_size=8 // accelerator.num_processes)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 20)
model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)


def epoch() -> list[float]:
    losses = []
    for inputs, labels in loader:
        with accelerator.accumulate(model):
            loss = torch.nn.functional.cross_entropy(model(inputs), labels)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
        losses.append(accelerator.reduce(loss.detach(), "mean").item())
    return losses


results = {"first": epoch()}
accelerator.save_state("state")
results["second"] = epoch()
accelerator.load_state("state")
results["second again"] = epoch()
with torch.no_grad():
    right = [accelerator.gather_for_metrics(model(a).argmax(1) == b).float().sum().item() for a, b in loader]
results["right"] = sum(right) / 96
if accelerator.is_main_process:
    print(accelerator.device, accelerator.num_processes, results)
    with open(out, "w") as file:
        json.dump(results, file)
accelerator.end_training()
