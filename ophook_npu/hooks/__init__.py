"""Hooks on PyTorch operators: several mechanisms behind one small API."""

# ruff: noqa: E402
from ophook_npu.npu import autoload

autoload.settle()  # what follows imports torch

from ophook_npu.hooks._call import Call, original
from ophook_npu.hooks._handler import MissWarning
from ophook_npu.hooks._hook import Hook, hook
from ophook_npu.hooks._swap import Swap, swap
from ophook_npu.hooks._trampoline import purge, registered

__all__ = ["Call", "Hook", "MissWarning", "Swap", "hook", "original", "purge", "registered", "swap"]


def __dir__() -> list[str]:
    return sorted(__all__)
