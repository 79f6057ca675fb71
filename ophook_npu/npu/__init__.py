"""What is here: torch_npu, CANN, an NPU, or the simulator. Nothing in this package imports torch_npu on its own."""

from ophook_npu.npu.installed import Wheel, require, torch_npu_wheel, torch_wheel

__all__ = ["Wheel", "require", "torch_npu_wheel", "torch_wheel"]
