"""What is here: torch_npu, CANN, an NPU, or the simulator. Nothing in this package imports torch_npu on its own."""

from ophook_npu.npu.installed import Wheel, torch_npu_wheel, torch_wheel
from ophook_npu.npu.place import Host, detect

__all__ = ["Host", "Wheel", "detect", "torch_npu_wheel", "torch_wheel"]


def __dir__() -> list[str]:
    return sorted(__all__)
