"""Norm and rotary embedding of bfloat16: computed in float32, the queries are rounded once, at the end."""

import torch
import torch_npu  # noqa: F401
import triton
import triton.language as tl
import triton.language.extra.cann.extension as al
from taken import take

taken = take(
    "python/sgl_kernel_npu/sgl_kernel_npu/norm/split_qkv_rmsnorm_rope.py",
    "split_qkv_rmsnorm_rope_kernel",
    triton=triton,
    tl=tl,
    al=al,
)
torch.manual_seed(0)
rows, head, heads = 2, 64, 2
wide, half = heads * head, torch.bfloat16
x = torch.randn(rows, wide + 2 * head).to(half)
sin, cos = (torch.rand(rows, head).to(half) for _ in range(2))
weights = [torch.rand(head).to(half) for _ in range(2)]
out = [torch.empty(rows, n, dtype=half, device="npu") for n in (wide, head, head)]
there = [one.npu() for one in (x, sin, cos, *weights)]
taken.split_qkv_rmsnorm_rope_kernel[(rows, 1)](
    *there[:3], *out, there[3], None, there[4], None, rows,
    q_hidden_size=wide, kv_hidden_size=head, total_hidden_size=wide + 2 * head, eps=1e-6,
    Q_BLOCK_SIZE=wide, KV_BLOCK_SIZE=head, BIAS=False, NORMS=True,
    HEAD_DIM=head, ROPE_DIM=head, HALF_ROPE_DIM=head // 2, PASS_DIM=0, DO_PARTIAL=False, DO_HALF=True,
)  # fmt: skip
q = x[:, :wide].double().view(rows, heads, head)
q = q / (q.square().mean(-1, keepdim=True) + 1e-6).sqrt() * weights[0].double()
turned = torch.cat([-q[..., head // 2 :], q[..., : head // 2]], -1)
exact = (q * cos.double()[:, None] + turned * sin.double()[:, None]).view(rows, wide)
off = (out[0].cpu().double() - exact).abs() - exact.abs() / 256
assert off.max() < 1e-5, f"off by {off.max().item():.5f} more than one rounding"
