"""A model for export turns neighbours, as the operator can."""

import torch
import torch_npu
from taken import take

taken = take("torch_npu/onnx/wrapper_onnx_ops.py")
x = torch.randn(1, 2, 2, 64, device="npu")
angles = torch.rand(1, 2, 1, 64, device="npu")
out = taken._wrapper_npu_rotary_mul(x, angles.cos(), angles.sin(), rotary_mode="interleave")
exact = torch_npu.npu_rotary_mul(x, angles.cos(), angles.sin(), rotary_mode="interleave")
assert torch.equal(out.cpu(), exact.cpu())
