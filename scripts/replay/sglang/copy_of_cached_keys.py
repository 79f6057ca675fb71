"""A pool of keys and values is copied to the host and back, with the argument that its callers hand to every pool."""

from types import SimpleNamespace

import torch
import torch_npu  # noqa: F401
from taken import take

names = ("_chunk_copy_npu_to_cpu", "get_cpu_copy", "load_cpu_copy")
taken = take("python/sglang/srt/hardware_backend/npu/memory_pool_npu.py", *(f"NPUMHATokenToKVPool.{n}" for n in names))
keys, values = (torch.randn(4, 2, 1, 8, device="npu") for _ in range(2))
pool = SimpleNamespace(
    layer_num=1, head_num=1, head_dim=8, k_buffer=[keys], v_buffer=[values], cpu_offloading_chunk_size=2,
    _chunk_copy_npu_to_cpu=lambda *given: taken._chunk_copy_npu_to_cpu(pool, *given),
)  # fmt: skip
expected = keys.cpu()
kept = taken.get_cpu_copy(pool, torch.arange(8, device="npu"), mamba_indices=None)
keys.zero_()
taken.load_cpu_copy(pool, kept, torch.arange(8, device="npu"), mamba_indices=None)
assert torch.equal(keys.cpu(), expected)
