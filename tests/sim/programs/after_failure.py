"""For test_after_failure.py: what each call after a failed task answers, in lines ``call: answer``."""

import ctypes

import torch
import torch_npu

acl = ctypes.CDLL("libascendcl.so")
x, far = torch.ones(4, device="npu"), torch.tensor([9]).npu()
event, side = torch.npu.Event(), torch.npu.Stream()
event.record(side)
torch.npu.synchronize()


def says(call: str, function) -> None:
    try:
        print(f"{call}: {function()}")
    except RuntimeError as error:
        print(f"{call}: {'507015' if '507015' in str(error) else 'RuntimeError'}")


def fails() -> None:
    torch.gather(x, 0, far)
    torch.npu.synchronize()


def copied() -> int:
    there = ctypes.create_string_buffer(x.nbytes)
    return acl.aclrtMemcpy(there, x.nbytes, ctypes.c_void_p(x.data_ptr()), x.nbytes, 2)


says("fails", fails)
for _ in range(2):
    says("synchronize", torch.npu.synchronize)
    says("other stream", side.synchronize)
    says("query", event.query)
    says("memory", lambda: torch.npu.mem_get_info()[1] > 0)
    says("blocking copy", copied)
says("operator", lambda: (x + 1).sum().item())
says("stop", lambda: torch_npu.npu.stop_device(0))
says("restart", lambda: torch_npu.npu.restart_device(0))
says("operator after", lambda: (x + 1).sum().item())
says("synchronize after", torch.npu.synchronize)
says("fails again", fails)
torch_npu.npu.stop_device(0)
says("rebuilt", lambda: torch_npu.npu.restart_device(0, rebuild_all_resources=True))
says("kept tensors are unsafe", lambda: x + 1)
says("new tensors", lambda: torch.ones(2, device="npu").sum().item())
