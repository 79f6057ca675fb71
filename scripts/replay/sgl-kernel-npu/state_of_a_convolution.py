"""The state that a convolution hands back has the data type of the states, not the one it computes in."""

import torch
import torch_npu  # noqa: F401
from taken import take

taken = take("python/sgl_kernel_npu/sgl_kernel_npu/mamba/causal_conv1d.py", "torch_causal_conv1d_update_npu")
x, state = (torch.randn(2, 8, n, dtype=torch.bfloat16, device="npu") for n in (1, 3))
out, new = taken.torch_causal_conv1d_update_npu(x, state, torch.randn(8, 4, device="npu"))
assert out.dtype == torch.bfloat16
assert torch.equal(new.cpu().float(), torch.cat([state, x], -1)[:, :, -3:].cpu().float())
assert new.dtype == torch.bfloat16, f"a state of {new.dtype} for states of {state.dtype}"
