"""What macros in the source of CANN's first phase say of its parameters: which numbers of dimensions, which shapes and
data types of two; and which tensors it makes contiguous. `device_rules.py` keeps what a page says of shapes and lower
ranks only where a check says so too, and of strides where CANN does not see to it itself: pages also say what a kernel
is meant for, and such a statement refuses nothing on a device.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from first_phase.definitions import ADDED

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


_PORT = re.compile(r'(?:->|\b\w+\.)(?:Input|Output)\("(\w+)"\)([^;]*);')  # of the operator, or of one product
_STRIDED = re.compile(r"(\w+)->GetViewStrides\(\)")
_ANY_STRIDES = re.compile("AutoContiguous|IgnoreContiguous")
_INNER = re.compile(r"\baclnnInner(\w+?)GetWorkspaceSize")


def plain(name: str) -> str:
    """A name as the prototype of a function and the definition of an operator have it in common."""
    return re.sub(r"(optional|out|ref)$", "", name.replace("_", "").lower())


@functools.cache
def _files(tree: Path) -> Mapping[str, Path]:
    """By function: the file with its first phase."""
    found: dict[str, Path] = {}
    for path in sorted(tree.rglob("op_api/aclnn_*.cpp")):
        if "experimental" not in path.parts:
            found.update(dict.fromkeys(_FUNCTION.findall(path.read_text(errors="replace")), path))
    return found


@functools.cache
def checks_of(tree: Path) -> Mapping[str, Checks]:
    """By function; one whose check is in none of the tree's sources has no entry."""
    made = {path: _checks(path.read_text(errors="replace")) for path in set(_files(tree).values())}
    return {function: made[path] for function, path in _files(tree).items()}


@functools.cache
def _definitions(tree: Path) -> Mapping[str, Mapping[str, bool]]:
    """By function that is generated from an operator's definition: whether each port may have any strides."""
    found: dict[str, dict[str, bool]] = {}
    for path in sorted(tree.rglob("*_def.cpp")):
        source = path.read_text(errors="replace")
        if "experimental" not in path.parts and (added := ADDED.search(source)):
            ports = found.setdefault("aclnn" + added[1], {})
            for name, rest in _PORT.findall(source):  # what is updated in place is there twice
                ports[plain(name)] = ports.get(plain(name), False) or bool(_ANY_STRIDES.search(rest))
    return found


def _is_helper(path: Path) -> bool:
    """Whether no public function stands in this file, but what others call may."""
    functions = _FUNCTION.findall(path.read_text(errors="replace"))
    return not path.name.startswith("aclnn_") or all(name.startswith("aclnnInner") for name in functions)


def taken_as_it_lies(tree: Path, function: str, parameter: str) -> bool:
    """False where CANN makes this tensor contiguous, or could: it takes any strides, whatever its page says."""
    operators = {function}
    if own := _files(tree).get(function):
        sources = [
            path.read_text(errors="replace") for path in own.parent.glob("*.cpp") if path == own or _is_helper(path)
        ]
        if any("Contiguous(" in source or "ViewCopy(" in source for source in sources):
            return False
        if any(parameter in _STRIDED.findall(source) for source in sources):
            return False
        operators = {"aclnn" + name for source in sources for name in _INNER.findall(source)}
    ports: dict[str, bool] = {}
    for operator in operators:
        ports |= _definitions(tree).get(operator, {})
    return not ports.get(plain(parameter), bool(ports))
