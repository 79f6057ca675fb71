"""The simulated Ascend: our own libraries in CANN's place, under the real torch_npu and torchair."""

from ophook_npu.sim.activate import active, enable
from ophook_npu.sim.build import build, info
from ophook_npu.sim.fault import fault
from ophook_npu.sim.operators import operators
from ophook_npu.sim.order import check_order

__all__ = ["active", "build", "check_order", "enable", "fault", "info", "operators"]


def __dir__() -> list[str]:
    return sorted(__all__)
