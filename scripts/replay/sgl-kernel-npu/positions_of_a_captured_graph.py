"""A call is captured whose positions were checked on the host. Its Triton kernel is left out: it cannot be captured."""

import torch
import torch_npu  # noqa: F401
import triton
from taken import take


class Kernel:
    def __getitem__(self, grid: object) -> object:
        return lambda *tensors, **constants: tensors[3].copy_(tensors[0][:, : tensors[3].shape[1]])


taken = take(
    "python/sgl_kernel_npu/sgl_kernel_npu/norm/split_qkv_rmsnorm_rope_pos_cache_half_npu.py",
    "split_qkv_rmsnorm_rope_pos_cache_half_npu",
    get_device_properties=lambda: (20, 40),
    split_qkv_rmsnorm_rope_half_pos_cache_kernel=Kernel(),
    triton=triton,
)
x = torch.randn(2, 24, device="npu")
positions, cache = torch.tensor([1, 2], device="npu"), torch.randn(16, 8, device="npu")
graph = torch.npu.NPUGraph()
with torch.npu.graph(graph):
    q, _, _ = taken.split_qkv_rmsnorm_rope_pos_cache_half_npu(x, positions, cache, 8, 8, 8)
x.fill_(3.0)
graph.replay()
torch.npu.synchronize()
assert q.cpu().eq(3.0).all()
