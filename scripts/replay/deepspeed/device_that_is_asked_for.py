"""The device that an accelerator hands out is one that tensors can be made on and compared with."""

import torch
import torch_npu  # noqa: F401
from taken import take

taken = take("accelerator/npu_accelerator.py", "NPU_Accelerator.device", torch=torch)
device = taken.device(None, 0)
assert device.index == 0 and device.type == "npu", f"{device} is no device of a tensor"
assert torch.ones(2, device=device).sum().item() == 2
