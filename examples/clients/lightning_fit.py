"""A LightningModule fitted, validated, checkpointed and tested. Arguments: WAY STRATEGY PRECISION OUT

Lightning has no accelerator for NPUs. WAY "own": the program brings one, as Lightning's pages on new hardware say;
"transfer": torch_npu's transfer_to_npu and accelerator="gpu".
"""

import contextlib
import json
import os
import sys

import torch

if "transfer" in sys.argv:
    with contextlib.suppress(ImportError):  # a machine without NPU
        from torch_npu.contrib import transfer_to_npu  # noqa: F401
import lightning
from lightning.pytorch.accelerators import Accelerator
from lightning.pytorch.strategies import DDPStrategy, SingleDeviceStrategy
from torch.utils.data import DataLoader, TensorDataset

way, strategy, precision, out = sys.argv[1:]
devices = int(os.environ.get("WORLD_SIZE", "1"))


class NPUAccelerator(Accelerator):
    def setup_device(self, device: torch.device) -> None:
        torch.npu.set_device(device)

    def get_device_stats(self, device: torch.device) -> dict[str, int]:
        return {"allocated": torch.npu.memory_allocated(device)}

    def teardown(self) -> None:
        torch.npu.empty_cache()

    @staticmethod
    def parse_devices(devices: int) -> list[int]:
        return list(range(int(devices)))

    @staticmethod
    def get_parallel_devices(devices: list[int]) -> list[torch.device]:
        return [torch.device("npu", i) for i in devices]

    @staticmethod
    def auto_device_count() -> int:
        return torch.npu.device_count()

    @staticmethod
    def is_available() -> bool:
        return hasattr(torch, "npu") and torch.npu.is_available()

    @staticmethod
    def name() -> str:
        return "npu"


class Model(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
        self.losses: list[float] = []

    def loss(self, batch: list[torch.Tensor]) -> torch.Tensor:
        return torch.nn.functional.cross_entropy(self.layers(batch[0]), batch[1])

    def training_step(self, batch: list[torch.Tensor], index: int) -> torch.Tensor:
        loss = self.loss(batch)
        self.losses.append(loss.item())
        return loss

    def validation_step(self, batch: list[torch.Tensor], index: int) -> None:
        self.log("val", self.loss(batch), sync_dist=True)

    test_step = validation_step

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1, momentum=0.9)


lightning.seed_everything(0)
x = torch.randn(64, 16)
data = TensorDataset(x, (x[:, :4] + x[:, 4:8]).argmax(1))
model = Model()
accelerator = "gpu" if torch.cuda.is_available() else "cpu"
if way == "own" and NPUAccelerator.is_available():
    accelerator, npu = "auto", NPUAccelerator()  # the strategy brings it
    if strategy == "auto":
        strategy = SingleDeviceStrategy("npu:0", accelerator=npu)
    else:
        strategy = DDPStrategy(accelerator=npu, process_group_backend="hccl")
trainer = lightning.Trainer(
    accelerator=accelerator, devices=devices, strategy=strategy, precision=precision, max_epochs=2,
    gradient_clip_val=1.0, logger=False, enable_progress_bar=False, enable_model_summary=False,
    default_root_dir="lightning",
)  # fmt: skip
trainer.fit(model, DataLoader(data, batch_size=8, shuffle=True), DataLoader(data, batch_size=16))
fitted = trainer.callback_metrics["val"].item()
trainer.save_checkpoint("last.ckpt")
trainer.strategy.barrier()
again = Model.load_from_checkpoint("last.ckpt")
tested = trainer.test(again, DataLoader(data, batch_size=16), verbose=False)[0]["val"]
if trainer.is_global_zero:
    print(trainer.strategy.root_device, model.losses, fitted, tested)
    with open(out, "w") as file:
        json.dump({"losses": model.losses, "val": fitted, "test": tested}, file)
