"""Two ranks share a sequence: the loss of a validation is the mean of both, not their sum."""

import os
from types import SimpleNamespace

import torch
import torch.multiprocessing
import torch_npu  # noqa: F401
from taken import take


def rank(number: int) -> None:
    taken = take(
        "verl/trainer/fsdp_sft_trainer.py", "FSDPSFTTrainer.validation_step", is_cuda_available=False,
        is_npu_available=True, TensorDict=None,
    )  # fmt: skip
    torch.npu.set_device(number)
    torch.distributed.init_process_group("hccl", rank=number, world_size=2)
    whole = torch.distributed.init_device_mesh("npu", (2,))
    shared = torch.distributed.init_device_mesh("npu", (1, 2), mesh_dim_names=("dp", "sp"))
    trainer = SimpleNamespace(
        fsdp_model=torch.nn.Identity(), device_mesh=whole, ulysses_device_mesh=shared,
        _compute_loss_and_backward=lambda batch, do_backward: torch.tensor(1.0 + number, device="npu"),
    )  # fmt: skip
    loss = taken.validation_step(trainer, None).item()
    torch.distributed.destroy_process_group()
    assert loss == 1.5, f"a loss of {loss} for ranks with 1 and 2"


if __name__ == "__main__":
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29533"}
    torch.multiprocessing.spawn(rank, nprocs=2)
