"""Reads the C++ of a first phase and follows it with sets in place of values: of each tensor's data type, number of
dimensions and presence what can still be so on the way to success, and which two have one shape. What is left at the
end is what the check takes.

It follows calls into the tree's own functions, chooses branches by product, and of a condition that it cannot decide
takes both. A condition that asks an unknown function about a data type makes that parameter ``unclear``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from first_phase.syntax import Callee, File, parsed
from first_phase.values import (
    ANY,
    EVERY,
    EVERY_FORMAT,
    FLAGS,
    RANKS,
    UNKNOWN,
    WHOLE,
    Attribute,
    Constant,
    Numbers,
    Pointer,
    State,
    TooDeep,
    Types,
    join,
)  # fmt: skip
from first_phase.walk import SUCCESS, Walk

__all__ = ["EVERY", "EVERY_FORMAT", "Sources", "Taken", "follow"]


class Sources:
    """All that a tree's first phases are written in."""

    def __init__(self, tree: Path) -> None:
        self.files: dict[Path, File] = {}
        self.by_name: dict[str, list[Callee]] = {}
        self.constants: dict[str, list[tuple[list[str], File]]] = {}
        paths = [path for path in sorted(tree.rglob("*")) if path.suffix in (".h", ".cpp") and self._wanted(path, tree)]
        for path in paths:
            file = self.files[path] = File(path)
            for name, callees in file.functions.items():
                self.by_name.setdefault(name, []).extend(callees)
            for name, tokens in file.constants.items():
                self.constants.setdefault(name, []).append((tokens, file))

    @staticmethod
    def _wanted(path: Path, tree: Path) -> bool:
        parts = path.relative_to(tree).parts
        if {"experimental", "tests", "op_kernel", "examples", "framework", "op_graph"} & set(parts):
            return False
        return "op_api" in parts or ("common" in parts and "tiling" not in path.name and "op_tiling" not in parts)

    def find(self, name: str, file: File | None, count: int | None = None, kinds: Sequence[str] = ()) -> Callee | None:
        """The function of this name that a file would call: its own, one of its folder, or the only one there is.

        ``kinds``: the types of the arguments, such as aclTensor, or "" where it is not known.
        """
        found = self.by_name.get(name, [])
        if count is not None:
            found = [
                one
                for one in found
                if len([default for _, default in one.parameters if default is None]) <= count <= len(one.parameters)
                or (one.any_number and count >= len(one.parameters) - 1)
            ]
        if kinds:  # of several with so many parameters, those that take these
            found = [one for one in found if all(map(_takes, one.types, kinds))] or found
        for near in (
            [one for one in found if file and one.file is file],
            [one for one in found if file and one.file.path.parent == file.path.parent],
        ):
            if near:
                return near[0]
        texts = {tuple(one.tokens) for one in found}
        if len(texts) == 1:
            return found[0]
        headers = [one for one in found if one.file.path.suffix == ".h"]
        return headers[0] if len({tuple(one.tokens) for one in headers}) == 1 and headers else None

    def fields(self, name: str, file: File | None) -> list[str] | None:
        if file and name in file.structures:
            return file.structures[name]
        found = {tuple(one.structures[name]) for one in self.files.values() if name in one.structures}
        return list(next(iter(found))) if len(found) == 1 else None

    def constant(self, name: str, file: File | None) -> tuple[Any, File] | None:
        found = self.constants.get(name, [])
        near = [one for one in found if one[1] is file] or [
            one for one in found if file and one[1].path.parent == file.path.parent
        ]
        chosen = near[:1] or (found[:1] if len({tuple(one[0]) for one in found}) == 1 else [])
        if not chosen:
            chosen = [one for one in found if one[1].path.suffix == ".h"]
            chosen = chosen[:1] if len({tuple(one[0]) for one in chosen}) == 1 else []
        if not chosen:
            return None
        try:
            return parsed(tuple(chosen[0][0])), chosen[0][1]
        except SyntaxError:
            return None, chosen[0][1]


def kind_of(written: str) -> str:
    """aclTensor of `const aclTensor *`; "" of what is none of CANN's own types."""
    found = re.search(r"\bacl\w+", written)
    return found[0] if found else ""


def _takes(written: str, given: str) -> bool:
    kind = kind_of(written)
    return not kind or not given or kind == given


def _number(name: str, kind: str) -> Any:
    every = FLAGS if "bool" in kind else ANY if re.search("double|float", kind) else WHOLE if "int" in kind else None
    return Attribute(name, every) if every else UNKNOWN


@dataclass(frozen=True)
class Taken:
    """What a first phase takes on one product."""

    types: Mapping[str, frozenset[str]]
    ranks: Mapping[str, frozenset[int]]
    nulls: Mapping[str, frozenset[bool]]
    formats: Mapping[str, frozenset[str]]
    numbers: Mapping[str, Numbers]  # those that are limited: parameters, and sizes such as self[0]
    shapes: frozenset[frozenset[str]]  # pairs that have one shape
    unclear: frozenset[str]
    codes: frozenset[str]  # of the ways that end otherwise
    unread: frozenset[str]
    returned: frozenset[tuple[int, str]] = frozenset()  # the places that return a code, and which


def follow(
    sources: Sources,
    function: str,
    product: str,
    types: Mapping[str, frozenset[str]] | None = None,
    nulls: Mapping[str, frozenset[bool]] | None = None,
    ranks: Mapping[str, frozenset[int]] | None = None,
    formats: Mapping[str, frozenset[str]] | None = None,
    whole: bool = True,
) -> Taken | None:
    """What is left on the ways to success; None where the first phase is in none of the sources or too long.

    ``types`` and the others limit parameters from the start: ``types`` of the result are empty where nothing succeeds.
    ``whole``: no tensor is empty.
    """
    callee = sources.find(f"{function}GetWorkspaceSize", None)
    if not callee:
        return None
    pointers = [name for (name, _), kind in zip(callee.parameters, callee.types, strict=True) if kind.endswith("*")][
        :-2
    ]
    tensors = [
        name
        for (name, _), kind in zip(callee.parameters, callee.types, strict=True)
        if re.search(r"\bacl(Tensor|Scalar|DataType)", kind)
    ]
    state = State(
        {name: (types or {}).get(name, EVERY) for name in tensors},
        {name: (ranks or {}).get(name, RANKS) for name in tensors},
        {name: (nulls or {}).get(name, frozenset((True, False))) for name in pointers},
        {name: (formats or {}).get(name, EVERY_FORMAT) for name in tensors},
    )
    arguments: list[Any] = []
    for (name, _), kind in zip(callee.parameters, callee.types, strict=True):
        if "aclDataType" in kind:
            arguments.append(Types(state.types[name], name))
        else:
            arguments.append(Pointer(name) if kind.endswith("*") and name in pointers else _number(name, kind))
    kinds = {name: kind_of(kind) for (name, _), kind in zip(callee.parameters, callee.types, strict=True)}
    walk = Walk(sources, product, whole, kinds)
    try:
        ways = walk.call(callee, arguments, state)
    except (TooDeep, RecursionError):
        return None
    good = join(where for value, where in ways if value == Constant(SUCCESS) or not isinstance(value, Constant))
    codes = frozenset(value.name for value, _ in ways if isinstance(value, Constant) and value.name != SUCCESS)
    if good is None:
        return Taken(
            {},
            {},
            {},
            {},
            {},
            frozenset(),
            frozenset(walk.unclear),
            codes,
            frozenset(walk.unread),
            frozenset(walk.returned),
        )
    numbers = {name: left for name, left in good.numbers.items() if left != walk.every[name]}
    told = good.types, good.ranks, good.nulls, good.formats, numbers, good.shapes
    return Taken(*told, frozenset(walk.unclear), codes, frozenset(walk.unread), frozenset(walk.returned))
