"""Two ranks whose communicator is resumed: after a link that went down, and after HcclCommSuspend."""

import ctypes
import os

import torch
import torch.distributed as dist
import torch_npu

rank = int(os.environ["RANK"])
torch.npu.set_device(rank)
dist.init_process_group("hccl")
tensor = torch.full((8,), rank + 1.0, device="npu")


def total() -> float:
    copy = tensor.clone()
    dist.all_reduce(copy)
    torch.npu.synchronize()
    return copy[0].item()


# As vllm-ascend's fault tolerance recovers (its pull request 16145).
for step in range(1, 5):
    try:
        found = total()
    except RuntimeError as error:
        assert "507056" in str(error) or "LINK ERROR" in str(error), error
        torch_npu.npu.stop_device(rank)
        torch_npu.npu.restart_device(rank)
        torch_npu.distributed.reinit_process_group(None, False)
        torch.npu.synchronize()
        found = total()
        print(f"rank {rank} resumed in step {step}", flush=True)
    assert found == 3, found

hccl = ctypes.CDLL("libhccl.so")
communicator = ctypes.c_void_p(
    dist.distributed_c10d._get_default_group()._get_backend(torch.device("npu")).get_hccl_comm(rank)
)
buffer, stream = ctypes.c_void_p(tensor.data_ptr()), ctypes.c_void_p(torch.npu.current_stream().npu_stream)
assert hccl.HcclCommSuspend(communicator) == 0
FLOAT, SUM, SUSPENDING = 4, 0, 22
assert hccl.HcclAllReduce(buffer, buffer, ctypes.c_uint64(8), FLOAT, SUM, communicator, stream) == SUSPENDING
assert hccl.HcclCommResume(communicator) == 0
assert total() == 3
print(f"rank {rank} resumed after it was suspended", flush=True)
dist.destroy_process_group()
