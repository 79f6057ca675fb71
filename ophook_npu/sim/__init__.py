"""The simulated Ascend: our own libraries in CANN's place, under the real torch_npu and torchair."""

from ophook_npu.sim.activate import active, apply, enable, environment
from ophook_npu.sim.build import build, info, location
from ophook_npu.sim.operators import operators

__all__ = ["active", "apply", "build", "enable", "environment", "info", "location", "operators"]
