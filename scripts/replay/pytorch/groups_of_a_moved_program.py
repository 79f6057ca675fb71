"""A program that was written for another device finds the process group of npu under that device's name."""

from taken import lay

lay("torch_npu/contrib/transfer_to_npu.py")
import torch  # noqa: E402
import torch_npu  # noqa: E402
from torch_npu._init.patches.monkey_patches import _apply_patches  # noqa: E402

torch_npu._apply_patches = _apply_patches  # its name then
from torch_npu.contrib import transfer_to_npu  # noqa: E402, F401

group = getattr(torch.distributed, "ProcessGroupNCCL", None)
assert group is torch_npu._C._distributed_c10d.ProcessGroupHCCL, f"the group is {group}"
