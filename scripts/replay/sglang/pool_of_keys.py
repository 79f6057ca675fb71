"""A pool of keys and values for npu hands its arguments to the pool it is made from, and stores a token."""

import contextlib
from types import SimpleNamespace

import torch
import torch_npu
from taken import take

adapter = SimpleNamespace(create=lambda **given: SimpleNamespace(region=lambda kind: contextlib.nullcontext()))
base = take(
    "python/sglang/srt/mem_cache/memory_pool.py",
    "KVCache",
    "MHATokenToKVPool",
    TorchMemorySaverAdapter=adapter,
    maybe_init_custom_mem_pool=lambda **given: (False, None, None),
    _is_cuda=False,
    GB=1 << 30,
    get_tensor_size_bytes=lambda tensors: 0,
)
taken = take(
    "python/sglang/srt/hardware_backend/npu/memory_pool_npu.py",
    "NPUMHATokenToKVPool",
    MHATokenToKVPool=base.MHATokenToKVPool,
    GPU_MEMORY_TYPE_KV_CACHE="",
    get_bool_env_var=lambda *given: False,
    get_tensor_size_bytes=lambda tensors: 0,
    torch_npu=torch_npu,
)
pages, size, heads, wide, layers = 4, 16, 2, 16, 4
pool = taken.NPUMHATokenToKVPool(
    pages * size, size, torch.float16, heads, wide, layers, "npu", False, start_layer=2, end_layer=5
)
keys, values = (torch.randn(2, heads, wide, dtype=torch.float16, device="npu") for _ in range(2))
pool.set_kv_buffer(SimpleNamespace(layer_id=3), torch.tensor([1, 20], device="npu"), keys, values)
stored = pool.k_buffer[1].view(-1, heads, wide)[[1, 20]]
assert torch.equal(stored.cpu(), keys.cpu()), "the token is not where it belongs"
