"""Sorting flags on npu gives each of two groups in the order that it had."""

import torch
import torch_npu  # noqa: F401
from taken import take

taken = take("vllm_ascend/patch/worker/patch_module.py", "_argsort")
flags = torch.tensor([True, False] * 32, device="npu")
order = taken._argsort(flags).cpu().tolist()
assert order == [*range(1, 64, 2), *range(0, 64, 2)], f"flags that were 1, 3, 5 … are {order[:3]}"
