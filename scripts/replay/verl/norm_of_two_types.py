"""A norm of float32 activations whose weight has bfloat16, as after a layer that computes in float32."""

from types import SimpleNamespace

import torch
import torch_npu
from taken import take

taken = take("verl/models/transformers/npu_patch.py", "rms_norm_forward", torch_npu=torch_npu)
norm = SimpleNamespace(weight=torch.ones(32, dtype=torch.bfloat16, device="npu"), variance_epsilon=1e-6)
x = torch.randn(4, 32)
out = taken.rms_norm_forward(norm, x.npu())
expected = torch.nn.functional.rms_norm(x, (32,), eps=1e-6)
assert torch.allclose(out.float().cpu(), expected, atol=0.05)
