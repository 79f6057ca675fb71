"""Fine-tuning divides its loss by the tokens of all steps that are added up: it is not divided by the steps again."""

from types import SimpleNamespace

import torch
import torch_npu  # noqa: F401
from taken import take

taken = take("mindspeed_llm/fsdp2/train/trainer.py", "Trainer.training_step")
weight = torch.ones(1, requires_grad=True, device="npu")
trainer = SimpleNamespace(
    model=torch.nn.Identity(), optimizer=None, args=SimpleNamespace(stage="sft"),
    current_gradient_accumulation_steps=4,
    _compute_loss=lambda inputs, return_outputs, num_items_in_batch: (weight * inputs).sum() / num_items_in_batch,
)  # fmt: skip
for _ in range(4):
    taken.training_step(trainer, torch.ones(2, device="npu"), 8)
assert weight.grad.item() == 1, f"a gradient of {weight.grad.item()} for the mean of ones"
