"""A norm whose trained weights are close to zero is a norm like any other: nothing is added to them."""

from types import SimpleNamespace

import torch
import torch_npu
from taken import take

Kernel = type("BaseKernel", (), {"check_deps": classmethod(lambda cls: True)})
taken = take(
    "src/llamafactory/v1/plugins/model_plugins/kernels/ops/rms_norm/npu_rms_norm.py",
    "_should_use_residual_rmsnorm",
    "npu_rms_norm_forward",
    "npu_gated_rms_norm_forward",
    "NpuRMSNormKernel",
    BaseKernel=Kernel,
    DeviceType=SimpleNamespace(NPU="npu"),
    register_kernel=lambda kernel: kernel,
    torch_npu=torch_npu,
)


class SomeRMSNorm(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight, self.eps = torch.nn.Parameter(torch.full((32,), 0.1, device="npu")), 1e-6


norm = taken.NpuRMSNormKernel.apply(model=torch.nn.Sequential(SomeRMSNorm()))[0]
torch.manual_seed(0)
x = torch.randn(2, 32)
expected = torch.nn.functional.rms_norm(x, (32,), torch.full((32,), 0.1), 1e-6)
off = (norm.forward(x.npu()).cpu() - expected).abs().max().item()
assert off < 1e-4, f"off by {off:.2f}: one is added to the weights"
