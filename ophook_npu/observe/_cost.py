"""What calls took: a row of :class:`~ophook_npu.observe.Profile`."""

from __future__ import annotations

import dataclasses
from typing import Literal

By = Literal["operator", "shape", "module", "phase", "node"]


@dataclasses.dataclass
class Cost:
    """What one operator, module or shape took. Times in µs, memory in bytes.

    Attributes:
        calls: how many.
        total: host time from before the call to after it, with what it called.
        self_time: the same without observed calls inside it.
        mean, p95: of one call's host time.
        device: time on the device, from events around the call; ``None`` where everything ran on the host.
        memory: bytes of the results that are new memory, not views of arguments.
        flops: floating point operations, by torch's own formulas and, for torch_npu's fused products, those of
            ``_fused_flops.py``; 0 for operators that have none.
    """

    name: str
    calls: int = 0
    total: float = 0.0
    self_time: float = 0.0
    mean: float = 0.0
    p95: float = 0.0
    device: float | None = None
    memory: int = 0
    flops: int = 0
