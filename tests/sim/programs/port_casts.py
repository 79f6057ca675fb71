"""Types that change without a word, and what the simulator lacks; what is to be found stands after the line."""

import contextlib

import torch
from torch.nn.functional import max_pool3d

wide = torch.ones(4, 4, dtype=torch.float64).pin_memory().to("npu", non_blocking=True)
x = torch.ones(4, 4, device="npu")
x.double()  # find: narrowed aten::_to_copy
x.to(torch.float64)  # find: narrowed aten::_to_copy
x.to(torch.float16)
wide.float()
max_pool3d(x.view(1, 1, 2, 2, 4), 2, return_indices=True)  # find: retyped aten::max_pool3d_with_indices
torch.nn.functional.avg_pool2d(x.view(1, 1, 4, 4), 2)
x.argmax(0)
torch._foreach_norm([x.half()], dtype=torch.float32)  # find: converted aten::_foreach_norm.Scalar
torch._foreach_norm([x])
wide @ wide  # find: refused_here aten::mm
torch.linalg.norm(x)
with contextlib.suppress(RuntimeError):
    number = x[0, :1].int()
    torch.ops.npu.obfuscation_calculate(number, x, number)  # find: not_simulated npu::obfuscation_calculate
torch.ops.npu.npu_iou(x.half(), x.half())
