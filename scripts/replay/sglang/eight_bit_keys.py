"""Latent keys of eight bits are stored under another data type of the same size."""

from types import SimpleNamespace

import torch
import torch_npu  # noqa: F401
from taken import take

taken = take(
    "python/sglang/srt/mem_cache/memory_pool.py", "AscendMLAPagedTokenToKVPool.set_kv_buffer", RadixAttention=None
)
pool = SimpleNamespace(
    dtype=torch.float16, store_dtype=torch.bfloat16, start_layer=0, kv_lora_rank=24, qk_rope_head_dim=8,
    kv_buffer=[torch.zeros(8, 1, 1, 32, dtype=torch.bfloat16, device="npu")],
)  # fmt: skip
keys = torch.randn(2, 1, 32, dtype=torch.float16, device="npu")
where = torch.tensor([1, 5], dtype=torch.int32, device="npu")
taken.set_kv_buffer(pool, SimpleNamespace(layer_id=0), where, keys, None)
stored = pool.kv_buffer[0].view(8, 32)[[1, 5]].view(torch.float16)
assert torch.equal(stored.cpu(), keys.cpu().view(2, 32))
