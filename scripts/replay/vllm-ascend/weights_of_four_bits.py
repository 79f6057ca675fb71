"""A weight of FLOAT4 after loading, as the product of two such matrices takes it."""

from types import SimpleNamespace

import torch
import torch_npu
from taken import take

taken = take(
    "vllm_ascend/quantization/methods/w4a4_mxfp4.py",
    "AscendW4A4MXFP4DynamicLinearMethod.apply", "AscendW4A4MXFP4DynamicLinearMethod.process_weights_after_loading",
    FLOAT8_E8M0FNU_DTYPE=torch_npu.float8_e8m0fnu,
)  # fmt: skip
tokens, k, n = 4, 128, 16
torch.manual_seed(0)
x = torch.randn(tokens, k).bfloat16()
weight, scale = torch_npu.npu_dynamic_mx_quant(
    torch.randn(n, k).bfloat16().npu(), dst_type=torch_npu.float4_e2m1fn_x2, round_mode="round"
)
layer = SimpleNamespace(weight=weight.view(torch.uint8).clone(), weight_scale=scale.view(torch.uint8).reshape(n, -1))
table = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])


def numbers(packed: torch.Tensor, powers: torch.Tensor) -> torch.Tensor:
    codes = torch.stack([packed & 15, packed >> 4], -1).flatten(-2).long()
    return table[codes & 7] * (1 - 2 * (codes >> 3)) * (2.0 ** (powers.float() - 127)).repeat_interleave(32, -1)


exact = numbers(layer.weight.cpu(), layer.weight_scale.cpu())
method = SimpleNamespace(group_size=32)
taken.process_weights_after_loading(method, layer)
got = taken.apply(method, layer, x.npu()).float().cpu()
quantized = torch_npu.npu_dynamic_mx_quant(x.npu(), dst_type=torch_npu.float4_e2m1fn_x2, round_mode="round")
rows = numbers(quantized[0].view(torch.uint8).cpu(), quantized[1].view(torch.uint8).cpu().reshape(tokens, -1))
assert torch.allclose(got, rows @ exact.T, rtol=1e-2, atol=1e-2)
