"""The SoCs that can be simulated, read from the table that the C++ compiles in."""

from __future__ import annotations

import difflib
import re
from pathlib import Path

from ophook_npu.errors import OphookError

CSRC = Path(__file__).resolve().parent / "csrc"
DEFAULT = "Ascend910B4"


def names() -> tuple[str, ...]:
    return tuple(re.findall(r'^SOC\("([^"]+)"', (CSRC / "core" / "socs.inc").read_text(), re.MULTILINE))


def check(name: str) -> str:
    """``name`` if it is known.

    Raises:
        OphookError: it is not; names the nearest.
    """
    if name in names():
        return name
    near = difflib.get_close_matches(name, names(), 1)
    raise OphookError(
        "soc",
        f"unknown SoC {name!r}" + (f", did you mean {near[0]}?" if near else ""),
        allowed=", ".join(names()),
        todo=f"leave it out for {DEFAULT}",
    )
