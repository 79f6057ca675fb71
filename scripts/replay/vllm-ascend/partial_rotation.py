"""Rotary embedding of the first half of each head, as GLM4.5 has it; the other half stays."""

from types import SimpleNamespace

import torch
import torch_npu
from taken import take

taken = take(
    "vllm_ascend/ops/rotary_embedding.py", "_custom_rotary_embedding_enabled", "_rope_forward_oot",
    is_310p=lambda: False, enable_custom_op=lambda: False, torch_npu=torch_npu,
)  # fmt: skip
heads, size, turned, tokens = 2, 128, 64, 3
torch.manual_seed(0)
angle = torch.randn(16, turned // 2)
embedding = SimpleNamespace(
    cos_sin_cache=torch.cat([angle.cos(), angle.sin()], -1).npu(), is_neox_style=True, head_size=size, rotary_dim=turned
)
positions = torch.tensor([3, 5, 9], device="npu")
q, k = torch.randn(tokens, heads * size).half(), torch.randn(tokens, size).half()
there, _ = taken._rope_forward_oot(embedding, positions, q.npu(), k.npu())
x = q.float().view(tokens, heads, size)
a, b = x[..., : turned // 2], x[..., turned // 2 : turned]
c, s = (one[positions.cpu()][:, None] for one in (angle.cos(), angle.sin()))
exact = torch.cat([a * c - b * s, b * c + a * s, x[..., turned:]], -1).view(tokens, -1)
assert torch.allclose(there.cpu().float(), exact, atol=1e-2), "the rotation is that of a whole head"
