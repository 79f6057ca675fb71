"""More rows than programs: each program takes the rows that are its own, and all rows are taken."""

import torch
import torch_npu  # noqa: F401
import triton
import triton.language as tl
from taken import take

taken = take(
    "src/liger_kernel/ops/backends/_ascend/ops/softmax.py", "_softmax_multi_block_backward_kernel", triton=triton, tl=tl
)
rows, wide, programs = 20, 48, 4
y, dy = torch.randn(rows, wide).softmax(-1), torch.randn(rows, wide)
out = torch.zeros(rows, wide, device="npu")
taken._softmax_multi_block_backward_kernel[(programs,)](
    dy.npu(), wide, y.npu(), wide, out, wide, rows, wide, BLOCK_SIZE=32
)
left = (out.cpu() - y * (dy - (dy * y).sum(-1, True))).abs().amax(-1) > 1e-5
assert not left.any(), f"rows {left.nonzero().flatten().tolist()} were left out"
