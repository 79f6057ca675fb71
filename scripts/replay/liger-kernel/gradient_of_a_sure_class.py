"""Cross entropy of bfloat16: where the right class is almost sure, its gradient is still the probability less one."""

import torch
import torch_npu  # noqa: F401
import triton
import triton.language as tl
from taken import take

taken = take(
    "src/liger_kernel/ops/backends/_ascend/ops/cross_entropy.py",
    "liger_cross_entropy_backward_kernel_no_weight",
    triton=triton,
    tl=tl,
)
rows, classes = 2, 64
x = torch.zeros(rows, classes, dtype=torch.bfloat16)
target = torch.tensor([3, 7])
x[torch.arange(rows), target] = 10.0
lse = torch.logsumexp(x.float(), -1)
out = torch.empty_like(x, device="npu")
stats, one = torch.ones(1, device="npu"), torch.ones(1, device="npu")
there = x.npu()
taken.liger_cross_entropy_backward_kernel_no_weight[(2,)](
    there, classes, target.npu(), lse.npu(), one, 0, out, classes, classes, rows, stats, -100,
    reduction="sum", BLOCK_SIZE=64, HAS_LSE=True,
)  # fmt: skip
exact = x.double().softmax(-1)[torch.arange(rows), target] - 1
found = out.cpu().double()[torch.arange(rows), target]
assert torch.allclose(found, exact, rtol=2**-8), f"a gradient of {found[0]:.6f} for {exact[0]:.6f}"
