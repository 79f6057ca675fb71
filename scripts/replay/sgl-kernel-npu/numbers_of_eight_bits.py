"""SwiGLU quantised to eight bits: each number is the nearest one to the quotient by its row's scale."""

import torch
import torch_npu  # noqa: F401
import triton
import triton.language as tl
import triton.language.extra.cann.extension as al
from taken import take

taken = take(
    "python/sgl_kernel_npu/sgl_kernel_npu/activation/swiglu_quant.py",
    "_swiglu_quant_kernel",
    triton=triton,
    tl=tl,
    al=al,
)
torch.manual_seed(0)
rows, wide, kind = 4, 128, torch.bfloat16
x = torch.randn(rows, wide).to(kind)
out = torch.empty(rows, wide // 2, dtype=torch.int8, device="npu")
scale = torch.empty(rows, device="npu")
groups = torch.tensor([rows], device="npu")
taken._swiglu_quant_kernel[(4,)](
    x.npu(), groups, out, scale, TOTAL_COLS=wide, HALF_COLS=wide // 2, COL_BLOCK_SIZE=wide // 2, NUM_EXPERTS=1,
    NUM_EXPERTS_ALGIN=8, GROUP_LIST_TYPE=1, NUM_CORES=4, DTYPE_MAX=127, SCALE=True,
)  # fmt: skip
a, b = x.double().chunk(2, -1)
exact = a * a.sigmoid() * b
off = (out.cpu().double() * scale.cpu().double()[:, None] - exact).abs() / scale.cpu().double()[:, None]
assert off.max() < 0.8, f"numbers are up to {off.max().item():.2f} of a step off"  # half a step, and bfloat16 before it
