"""DeepSpeed's ZeRO: ten steps, a checkpoint, and on from it. Arguments: STAGE PRECISION OUT"""

import json
import os
import sys

import deepspeed
import torch

stage, precision, out = sys.argv[1:]
on_npu = hasattr(torch, "npu") and torch.npu.is_available()
config = {
    "train_micro_batch_size_per_gpu": 4,
    "gradient_accumulation_steps": 2,
    "gradient_clipping": 1.0,
    "zero_optimization": {"stage": int(stage), "stage3_param_persistence_threshold": 0},
    "zero_allow_untested_optimizer": True,
}
if precision == "bf16":
    config["bf16"] = {"enabled": True}
elif precision == "fp16":
    config["fp16"] = {"enabled": True, "initial_scale_power": 8}
half = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}[precision]
deepspeed.init_distributed()
rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
x = torch.randn(12, ranks, 4, 16, generator=torch.Generator().manual_seed(1))
y = (x[..., :4] + x[..., 4:8]).argmax(-1)


def engine() -> deepspeed.DeepSpeedEngine:
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(16, 64), torch.nn.GELU(), torch.nn.Linear(64, 64), torch.nn.Linear(64, 4)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    return deepspeed.initialize(model=model, optimizer=optimizer, config=config)[0]


def steps(model: deepspeed.DeepSpeedEngine, which: range) -> list[float]:
    losses = []
    for i in which:
        loss = torch.nn.functional.cross_entropy(
            model(x[i, rank].to(model.device, half)).float(), y[i, rank].to(model.device)
        )
        model.backward(loss)
        model.step()
        losses.append(loss.item())
    return losses


model = engine()
results = {"first": steps(model, range(8))}
model.save_checkpoint("zero", tag="last")
results["on"] = steps(model, range(8, 12))
again = engine()
again.load_checkpoint("zero", tag="last")
results["on again"] = steps(again, range(8, 12))
torch.testing.assert_close(torch.tensor(results["on"]), torch.tensor(results["on again"]), atol=1e-3, rtol=1e-3)
if rank == 0:
    print(model.device, results)
    with open(out, "w") as file:
        json.dump(results, file)
torch.distributed.destroy_process_group()
