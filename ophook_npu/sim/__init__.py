"""The simulated Ascend: our own libraries in CANN's place, under the real torch_npu and torchair."""

from ophook_npu.sim.activate import active, enable
from ophook_npu.sim.build import build, info, location
from ophook_npu.sim.operators import operators
from ophook_npu.sim.variables import TOOLS, always, apply, environment, exports, take_out

__all__ = [
    "TOOLS",
    "active",
    "always",
    "apply",
    "build",
    "enable",
    "environment",
    "exports",
    "info",
    "location",
    "operators",
    "take_out",
]
