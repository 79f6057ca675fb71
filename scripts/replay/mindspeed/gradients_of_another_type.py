"""Gradients are to be added up within the product, in float32 alone: for another type it has to say so."""

from types import SimpleNamespace

import torch
import torch_npu  # noqa: F401
from taken import take

taken = take(
    "mindspeed/te/pytorch/module/linear.py",
    "reshape_to_2D",
    "_calculate_grad_weight",
    is_fp8_tensor_2d=lambda tensor: False,
)
x, grad = (torch.ones(4, 8, dtype=torch.bfloat16, device="npu") for _ in range(2))
weight = SimpleNamespace(main_grad=torch.zeros(8, 8, dtype=torch.bfloat16, device="npu"))
told = SimpleNamespace(fp8_enable=False, gradient_accumulation_fusion=True)
try:
    found = taken._calculate_grad_weight(told, x, weight, grad)
except RuntimeError as error:
    assert "bfloat16" in str(error)
else:
    raise AssertionError(f"a gradient {tuple(found.shape)} that is not added up, and no word of it")
