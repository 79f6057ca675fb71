"""Keys are stored by token where the fused attention is used: what is sent for a page is still a whole page."""

import os

os.environ["ASCEND_USE_FIA"] = "1"

from types import SimpleNamespace

import torch
import torch_npu  # noqa: F401
from taken import take

taken = take(
    "python/sglang/srt/hardware_backend/npu/memory_pool_npu.py", "NPUMHATokenToKVPool.get_contiguous_buf_infos"
)
pages, size, heads, wide = 3, 4, 2, 8
buffer = torch.zeros(pages * size, 1, heads, wide, dtype=torch.float16, device="npu")
pool = SimpleNamespace(
    start_layer=0, layer_num=1, use_fia=True, page_size=size, get_key_buffer=lambda i: buffer,
    get_value_buffer=lambda i: buffer,
)  # fmt: skip
_, _, lengths = taken.get_contiguous_buf_infos(pool)
assert lengths == [size * heads * wide * 2] * 2, f"{lengths} bytes for pages of {size * heads * wide * 2}"
