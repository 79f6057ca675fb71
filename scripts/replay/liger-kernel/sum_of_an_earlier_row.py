"""The gradient of a softmax: the sum of one row is not carried over to the next row of the program."""

import torch
import torch_npu  # noqa: F401
import triton
import triton.language as tl
from taken import take

taken = take(
    "src/liger_kernel/ops/backends/_ascend/ops/softmax.py", "_softmax_multi_block_backward_kernel", triton=triton, tl=tl
)
rows, wide, programs = 4, 48, 2
y, dy = torch.randn(rows, wide).softmax(-1), torch.randn(rows, wide)
out = torch.zeros(rows, wide, device="npu")
taken._softmax_multi_block_backward_kernel[(programs,)](
    dy.npu(), wide, y.npu(), wide, out, wide, rows, wide, BLOCK_SIZE=32
)
wrong = (out.cpu() - y * (dy - (dy * y).sum(-1, True))).abs().amax(-1) > 1e-5
assert not wrong.any(), f"rows {wrong.nonzero().flatten().tolist()} have the sum of another row"
