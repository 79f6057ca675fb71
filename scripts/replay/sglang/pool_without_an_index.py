"""A pool for latent attention without sparse keys has no buffers of an index: there is nothing to hand over."""

from types import SimpleNamespace

from taken import take

taken = take("python/sglang/srt/hardware_backend/npu/memory_pool_npu.py", "NPUMLATokenToKVPool.get_state_buf_infos")
pool = SimpleNamespace(index_head_dim=None, index_k_buffer=None, layer_num=2)
assert taken.get_state_buf_infos(pool) == ([], [], [])
