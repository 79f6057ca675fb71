"""What a unity build needs beyond CMake's own: sources that clash are compiled alone, and objects keep their order.

    python -m ophook_npu.patch.unity clashes LOG BUILD ALONE
    python -m ophook_npu.patch.unity link COMMAND…

``clashes``: CMake's unity build makes one unit of several sources. Sources that are right by themselves can clash
there: the same static name twice, or a name that became ambiguous. Those that the compiler complained about are added
to ALONE, a path a line; scripts/source_cmake/torch_npu.cmake reads it. Exit status 0: building again will get
further; 1: it will not, the errors are in a source that is compiled alone already, or elsewhere.

``link`` runs the linker with the units after all other objects. CMake puts them first, and a library's static objects
are made in the order of its objects: a kernel's would ask torch_npu's core before that is there (seen as a division by
zero in an empty table, in ``import torch_npu``).
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from ophook_npu.plural import counted

# make's own line about an object that was not built, as of GNU make 4; ninja's.
_FAILED = re.compile(r"(?:^make.*\*\*\* \[.*?|^FAILED: )(CMakeFiles/\S+?/Unity/unity_\S+?\.cxx)\.o\b", re.M)
_OTHER_FAILED = re.compile(r"(?:^make.*\*\*\* \[.*?|^FAILED: )(\S+\.(?:cpp|cc|c|cxx)\.o)\b", re.M)
_ERROR = re.compile(r"^(/[^:\n]+):\d+(?::\d+)?: (?:fatal )?error:", re.M)
_INCLUDE = re.compile(r'^#include "(.+)"$', re.M)


def members(unit: Path) -> list[str]:
    """The sources of which CMake made ``unit``; empty where it is not there."""
    try:
        return _INCLUDE.findall(unit.read_text(encoding="utf-8"))
    except OSError:
        return []


def clashing(log: str, build: Path) -> tuple[set[str], bool]:
    """Sources that failed as part of a unit, and whether something else failed too.

    Of a unit with an error in none of its members by name (an error at a header's line, or a compiler that crashed) all
    members count.
    """
    complained = set(_ERROR.findall(log))
    found: set[str] = set()
    for unit in _FAILED.findall(log):
        sources = members(build / unit)
        found |= (complained & set(sources)) or set(sources)
    return found, any("/Unity/unity_" not in name for name in _OTHER_FAILED.findall(log))


def clashes(log: Path, build: Path, alone: Path) -> int:
    found, other = clashing(log.read_text(encoding="utf-8", errors="replace"), build)
    known = set(alone.read_text(encoding="utf-8").splitlines()) if alone.is_file() else set()
    if not found - known:
        return 1
    alone.write_text("".join(f"{name}\n" for name in sorted(known | found)), encoding="utf-8")
    print(f"compiled by itself, as it does not compile next to others: {counted(len(found - known), 'source')}")
    for name in sorted(found - known):
        print(f"  {name}")
    return 1 if other else 0


def ordered(command: Sequence[str]) -> list[str]:
    """The link command with the objects of unity units after the last other object."""
    units = [word for word in command if "/Unity/unity_" in word and word.endswith(".o")]
    rest = [word for word in command if word not in units]
    last = max((place for place, word in enumerate(rest) if word.endswith(".o")), default=-1)
    return [*rest[: last + 1], *units, *rest[last + 1 :]] if last >= 0 else list(command)


def main(arguments: Sequence[str]) -> int:
    what, *rest = arguments
    if what == "link":
        command = ordered(rest)
        os.execvp(command[0], command)
    return clashes(*map(Path, rest))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
