"""What the first phase of CANN itself looks at, as far as the names in its checks say: which numbers of dimensions, and
which shapes and data types of two. `device_rules.py` keeps what a page says of shapes and lower ranks only where it
does: pages also say what a kernel is meant for, and such a statement refuses nothing on a device.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_WORD = r"\s*(?:params\.)?(\w+)\s*"
_SHAPES = re.compile(rf"\b(?:OP_CHECK_SHAPE_NOT_EQUAL|CheckSameShape1In1Out)\s*\({_WORD},{_WORD}[,)]")
_DTYPES = re.compile(
    rf"\b(?:OP_CHECK_DTYPE_NOT_SAME\s*\({_WORD},{_WORD}[,)]|OP_CHECK_DTYPE_NOT_MATCH\s*\({_WORD},{_WORD}->GetDataType)"
)
_RANKS = re.compile(rf"\bOP_CHECK_(WRONG_DIMENSION|MIN_DIM|MAX_DIM)\s*\({_WORD},{_WORD},")
_NUMBER = re.compile(r"(?:constexpr|const|#define)\s[^;\n]*?\b(\w+)\s*(?:=\s*|\s)(\d+)U?L?\s*(?:;|\n)")
_FUNCTION = re.compile(r"aclnnStatus\s+(aclnn\w+?)GetWorkspaceSize\s*\(")


@dataclass(frozen=True)
class Checks:
    shapes: frozenset[frozenset[str]]
    dtypes: frozenset[frozenset[str]]
    lowest: Mapping[str, set[int]]  # of a parameter: the least, or only, number of dimensions of each check
    highest: Mapping[str, set[int]]
    broadcasts: bool


NOTHING = Checks(frozenset(), frozenset(), {}, {}, False)


def _checks(source: str) -> Checks:
    numbers = {name: int(value) for name, value in _NUMBER.findall(source)}
    lowest: dict[str, set[int]] = {}
    highest: dict[str, set[int]] = {}
    for macro, name, word in _RANKS.findall(source):
        value = int(word) if word.isdigit() else numbers.get(word)
        if value is None:
            value = -1  # which is no page's
        if macro != "MAX_DIM":
            lowest.setdefault(name, set()).add(value)
        if macro != "MIN_DIM":
            highest.setdefault(name, set()).add(value)
    return Checks(
        shapes=frozenset(map(frozenset, _SHAPES.findall(source))),
        dtypes=frozenset(frozenset(name for name in match if name) for match in _DTYPES.findall(source)),
        lowest=lowest,
        highest=highest,
        broadcasts="OP_CHECK_BROADCAST_AND_INFER_SHAPE" in source,
    )


@functools.cache
def checks_of(tree: Path) -> Mapping[str, Checks]:
    """By function; one whose check is in none of the tree's sources has no entry."""
    found: dict[str, Checks] = {}
    for path in sorted(tree.rglob("op_api/aclnn_*.cpp")):
        if "experimental" not in path.parts:
            source = path.read_text(errors="replace")
            found.update(dict.fromkeys(_FUNCTION.findall(source), _checks(source)))
    return found
