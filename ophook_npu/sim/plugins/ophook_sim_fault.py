"""PyTorch's plugin of the simulator: it counts the steps of optimizers, for faults that say one."""

from __future__ import annotations

import os
from pathlib import Path


def begin() -> None:
    """Called by `import torch` in each process."""
    if "step=" in os.environ.get("OPHOOK_SIM_FAULTS", ""):
        from ophook_npu.sim.fault import count_steps

        count_steps(Path(os.environ["OPHOOK_SIM_ROOT"]))
