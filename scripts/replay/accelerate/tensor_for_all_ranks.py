"""Several NPUs: a tensor is sent to all of them, as it is for other devices."""

import enum
import os
from types import SimpleNamespace

import torch
import torch_npu  # noqa: F401
from taken import take


class Kind(str, enum.Enum):
    TPU = "TPU"
    MULTI_NPU = "MULTI_NPU"


state = SimpleNamespace(distributed_type=Kind.MULTI_NPU, num_processes=1)
taken = take(
    "src/accelerate/utils/operations.py",
    "is_torch_tensor",
    "honor_type",
    "recursively_apply",
    "_gpu_broadcast",
    "_gpu_gather_object",
    "broadcast",
    PartialState=lambda: state,
    DistributedType=Kind,
    CUDA_DISTRIBUTED_TYPES=(),
    is_torch_available=lambda: True,
)
os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29541"}
torch.distributed.init_process_group("hccl", rank=0, world_size=1)
sent = taken.broadcast(torch.ones(3, device="npu"))
assert isinstance(sent, torch.Tensor), f"a {type(sent).__name__} comes back for a tensor"
assert sent.cpu().tolist() == [1, 1, 1]
torch.distributed.destroy_process_group()
