"""What a kernel may use on each simulated SoC: cores of csrc/core/socs.inc, memories of
csrc/ascendc/architectures.inc.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from ophook_npu import soc as simulated
from ophook_npu.soc import CSRC

_SOC = re.compile(r'^SOC\("([^"]+)",\s*(\d+),\s*(\d+),\s*(\d+),\s*(\d+)', re.MULTILINE)
_ARCHITECTURE = re.compile(r'^ARCHITECTURE\((\d+),\s*"([^"]+)",\s*([^)]*)\)', re.MULTILINE)


@dataclass(frozen=True)
class Soc:
    """Sizes in bytes, of one core's local memories."""

    name: str
    architecture: int
    cube_cores: int
    vector_cores: int
    ub: int
    l1: int
    l0a: int
    l0b: int
    l0c: int
    bt: int
    fb: int
    l2: int
    hbm: int


def _product(text: str) -> int:
    value = 1
    for factor in text.split("*"):
        value *= int(factor)
    return value


@functools.cache
def find(name: str | None = None) -> Soc:
    """The SoC of that name, ``Ascend910B4`` by default.

    Raises:
        OphookError: it is not known; names the nearest.
    """
    name = simulated.check(name or simulated.DEFAULT)
    rows = {row[0]: [int(n) for n in row[1:]] for row in _SOC.findall((CSRC / "core" / "socs.inc").read_text())}
    hbm, cube, vector, l2 = rows[name]
    for number, prefixes, sizes in _ARCHITECTURE.findall((CSRC / "ascendc" / "architectures.inc").read_text()):
        if any(name.startswith(prefix) for prefix in prefixes.split()):
            ub, l1, l0a, l0b, l0c, bt, fb = (_product(size) for size in sizes.split(","))
            return Soc(name, int(number), cube, vector, ub, l1, l0a, l0b, l0c, bt, fb, l2 << 20, hbm)
    raise AssertionError(f"{name} has no architecture")
