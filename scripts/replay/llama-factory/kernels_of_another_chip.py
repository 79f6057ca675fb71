"""A chip that is no Ascend910 has no kernels for two of the functions: they are left out there."""

import sys
from types import ModuleType, SimpleNamespace

import torch
import torch_npu  # noqa: F401
from taken import take

asked = {}
for name in ("liger_kernel", "liger_kernel.transformers"):
    sys.modules[name] = ModuleType(name)
sys.modules["liger_kernel.transformers"].apply_liger_kernel_to_qwen2 = lambda **given: asked.update(given)
taken = take(
    "src/llamafactory/model/model_utils/liger_kernel.py",
    "apply_liger_kernel",
    get_device_name=lambda: torch.accelerator.current_accelerator().type,
    logger=SimpleNamespace(info_rank0=print),
)
taken.apply_liger_kernel(SimpleNamespace(model_type="qwen2"), SimpleNamespace(enable_liger_kernel=True), True, False)
assert asked.get("swiglu", True) is False, f"{torch.npu.get_device_name(0)} gets the kernels of an Ascend910"
