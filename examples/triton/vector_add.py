"""A Triton kernel over tensors of an NPU: the interpreter of Triton runs it where there is no compiler for one."""

import torch
import torch_npu  # noqa: F401
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=mask) + tl.load(y + offsets, mask=mask), mask=mask)


n = 1000
x, y = torch.randn(n, device="npu"), torch.randn(n, device="npu")
out = torch.empty_like(x)
add[(triton.cdiv(n, 256),)](x, y, out, n, BLOCK=256)
assert out.device.type == "npu" and torch.equal(out.cpu(), x.cpu() + y.cpu())
print(f"{n} sums equal, on {out.device}")
