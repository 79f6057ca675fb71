"""vLLM's plugin of the simulator: the Triton kernel that vllm-ascend always calls runs in Triton's interpreter.

vllm-ascend does without Triton where it can. Where a request's tokens lie in the cache is found by a Triton kernel in
any case, which takes triton-ascend and its compiler. Triton's own interpreter runs the same kernel, from and to memory
of the device.
"""

from __future__ import annotations

import os
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any

_MODULE, _KERNEL = "vllm.v1.worker.block_table", "_compute_slot_mapping_kernel"


def register() -> None:
    """Called by vLLM in each of its processes. Leaves vLLM as it is where it uses a Triton of its own."""
    if import_module("vllm.triton_utils").HAS_TRITON:
        return
    module = import_module(_MODULE)
    kernel = getattr(module, _KERNEL, None)
    if isinstance(kernel, FunctionType):  # what vLLM's stand-in for triton.jit leaves
        setattr(module, _KERNEL, _Interpreted(module, kernel))


class _Interpreted:
    """``kernel[grid](…)``; Triton is imported when the kernel is called, not by each process that loads the plugin."""

    def __init__(self, module: ModuleType, kernel: FunctionType) -> None:
        self._module, self._kernel = module, kernel
        self._jit: Any = None

    def __getitem__(self, grid: Any) -> Any:
        if self._jit is None:
            self._jit = self._compiled()
        return self._jit[grid]

    def _compiled(self) -> Any:
        if os.environ.get("TRITON_INTERPRET") != "1":
            raise RuntimeError(
                f"{_MODULE}.{_KERNEL} is a Triton kernel, and there is no compiler for it here; "
                "next: leave TRITON_INTERPRET unset, or set it to 1"
            )
        try:
            triton = import_module("triton")
        except ImportError as error:
            raise RuntimeError(
                f"{_MODULE}.{_KERNEL} is a Triton kernel, and Triton is not installed; "
                "next: pip install triton, whose interpreter runs it on the simulator"
            ) from error
        # The kernel's names for Triton are vLLM's stand-ins.
        vars(self._module).update(triton=triton, tl=import_module("triton.language"))
        return triton.jit(self._kernel)
