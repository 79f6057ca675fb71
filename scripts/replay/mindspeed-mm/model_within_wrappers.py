"""A model within the wrapper for several devices: what puts samples together finds the model's own function."""

import os
from types import SimpleNamespace

import torch
import torch_npu  # noqa: F401
from taken import take


class Model(torch.nn.Linear):
    def get_rope_index(self) -> None:
        pass


taken = take(
    "mindspeed_mm/fsdp/data/data_utils/func_utils/collator.py",
    "MultiModalDataCollatorForSeq2Seq.__post_init__",
    PeftModel=torch.nn.Bilinear,
)
os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29551"}
torch.distributed.init_process_group("hccl", rank=0, world_size=1)
model = torch.nn.parallel.DistributedDataParallel(Model(2, 2).npu())
collator = SimpleNamespace(template="", model=model)
vars(taken)["__post_init__"](collator)
assert collator.get_rope_func is not None, "the model's own function is not found"
torch.distributed.destroy_process_group()
