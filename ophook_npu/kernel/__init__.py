"""Ascend C kernels on the CPU: compiled by g++, run core by core, and checked for what hardware makes hard to find.

``load(path)`` takes an operator project (op_host, op_kernel) and gives something to call with arrays or tensors.
"""

from ophook_npu.kernel.findings import KernelReport as Report
from ophook_npu.kernel.findings import Mistake as Finding
from ophook_npu.kernel.operator import Kernel, load
from ophook_npu.kernel.source import Entry

__all__ = ["Entry", "Finding", "Kernel", "Report", "load"]


def __dir__() -> list[str]:
    return sorted(__all__)
