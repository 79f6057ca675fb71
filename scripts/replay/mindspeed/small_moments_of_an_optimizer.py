"""Moments of an optimizer are kept in eight bits with a scale for each block, however small the block's numbers are."""

import torch
import torch_npu
from taken import take

taken = take("mindspeed/core/optimizer/low_precision/quant_adamw.py", "ScaleMeta", torch_npu=torch_npu)
x = torch.linspace(1, 2, 128, device="npu").view(2, 64) * 1e-12
try:
    meta = taken.ScaleMeta("mxfp8_e4m3", x)
except ValueError:  # its name before
    meta = taken.ScaleMeta("mxfp8", x)
back = meta.dequantization(meta.quantization(x)).view(2, 64)
off = ((back - x).abs() / x).max().item()
assert off < 0.1, f"moments of 1e-12 come back {off:.2f} of themselves off"
