"""Each layer's experts communicate on one stream that all layers share."""

from types import SimpleNamespace

import torch
import torch_npu  # noqa: F401
from taken import take
from torch_npu.contrib import transfer_to_npu  # noqa: F401

used = set()


def gathered(x: torch.Tensor) -> torch.Tensor:
    used.add(torch.npu.current_stream().npu_stream)
    return torch.cat([x, x], -1)


taken = take(
    "mindspeed/core/transformer/moe/experts.py",
    "get_zeros_with_tp",
    "sequential_mlp_forward",
    parallel_state=SimpleNamespace(get_tensor_model_parallel_world_size=lambda: 2),
    tensor_parallel=SimpleNamespace(all_gather_last_dim_from_tensor_parallel_region=gathered),
    COMM_STREAM=None,
)
for _ in range(3):
    layer = SimpleNamespace(add_bias=False, local_experts=[lambda x: (x * 2, None)])
    out, _ = taken.sequential_mlp_forward(layer, torch.ones(4, 8, device="npu"), torch.tensor([4], device="npu"))
    assert out.cpu().eq(2).all()
assert len(used) == 1, f"{len(used)} streams for 3 layers"
