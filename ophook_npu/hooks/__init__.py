"""Hooks on PyTorch operators: several mechanisms behind one small API."""

from ophook_npu.hooks._call import Call, original
from ophook_npu.hooks._handler import MissWarning
from ophook_npu.hooks._hook import Hook, hook
from ophook_npu.hooks._swap import Swap, swap
from ophook_npu.hooks._trampoline import purge, registered

__all__ = ["Call", "Hook", "MissWarning", "Swap", "hook", "original", "purge", "registered", "swap"]
