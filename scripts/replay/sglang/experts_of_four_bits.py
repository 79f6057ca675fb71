"""Experts of four-bit weights: the weights belong to the layer, not to the method that computes with them."""

import sys
from types import ModuleType, SimpleNamespace

import torch
import torch_npu
from taken import take


def swiglu_quant(x: torch.Tensor, *groups: object) -> tuple[torch.Tensor, torch.Tensor]:
    return torch_npu.npu_dynamic_quant(torch_npu.npu_swiglu(x))


for name in ("sgl_kernel_npu", "sgl_kernel_npu.activation", "sgl_kernel_npu.activation.swiglu_quant"):
    sys.modules[name] = ModuleType(name)
sys.modules["sgl_kernel_npu.activation.swiglu_quant"].swiglu_quant = swiglu_quant
taken = take(
    "python/sglang/srt/hardware_backend/npu/quantization/fused_moe_method_npu.py",
    "NPUW4A8Int4DynamicMoEMethod.apply_without_routing_weights",
)
experts, wide, inner, tokens = 2, 256, 128, 4


def weights(k: int, n: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    scale = torch.full((experts, 1, n), 0.5).view(torch.int32).to(torch.int64)
    ones = torch.full((experts, k, n // 8), 0x11111111, dtype=torch.int32)
    return ones.npu(), scale.npu(), torch.zeros(experts, n, device="npu")


layer = SimpleNamespace()
layer.w13_weight, layer.w13_weight_scale, layer.w13_scale_bias = weights(wide, 2 * inner)
layer.w2_weight, layer.w2_weight_scale, layer.w2_scale_bias = weights(inner, wide)
x = torch.ones(tokens, wide, dtype=torch.int8, device="npu")
groups = torch.tensor([1, 3], device="npu")
out = taken.apply_without_routing_weights(
    None, layer, x, torch.full((tokens,), 0.01, device="npu"), 1, groups, torch.bfloat16
)
assert out.shape == (tokens, wide) and torch.isfinite(out.cpu()).all()
