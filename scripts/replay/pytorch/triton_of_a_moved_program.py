"""A program that was written for another device asks torch for Triton, and gets one answer everywhere."""

from taken import lay

lay("torch_npu/contrib/transfer_to_npu.py")
import torch  # noqa: E402
import torch._dynamo.utils  # noqa: E402
import torch._inductor.runtime.autotune_cache  # noqa: E402
import torch_npu  # noqa: E402
from torch_npu._init.patches.monkey_patches import _apply_patches  # noqa: E402

torch_npu._apply_patches = _apply_patches  # its name then
from torch_npu.contrib import transfer_to_npu  # noqa: E402, F401

assert torch._dynamo.utils.has_triton is torch.utils._triton.has_triton, "two answers about Triton"
