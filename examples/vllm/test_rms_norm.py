"""vllm-ascend's RMSNorm with a residual, on a device: nothing of torch_npu is replaced by a mock."""

import torch
from vllm.config import VllmConfig, set_current_vllm_config
from vllm_ascend.ops.layernorm import AscendRMSNorm


def test_rms_norm_of_a_sum():
    with set_current_vllm_config(VllmConfig()):
        layer = AscendRMSNorm(8, eps=1e-5, dtype=torch.float32).npu()
        x, residual = torch.randn(4, 8), torch.randn(4, 8)
        out, total = layer.forward_oot(x.npu(), residual.npu())
    torch.testing.assert_close(total.cpu(), x + residual)
    torch.testing.assert_close(out.cpu(), torch.nn.functional.rms_norm(x + residual, (8,), eps=1e-5))
