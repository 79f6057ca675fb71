"""What a first phase knows on its way: values that may be several, and what is still possible of each parameter."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from ophook_npu.sim.rules import DATA_TYPES, FORMATS, KINDS

_, INTEGERS, FLOATS, COMPLEX = KINDS
EVERY = frozenset(DATA_TYPES)
EVERY_FORMAT = frozenset(FORMATS)
EVERY_OF = {"types": EVERY, "formats": EVERY_FORMAT}
RANKS = frozenset(range(12))
VERSIONS = ("ASCEND910", "ASCEND910B", "ASCEND910_93", "ASCEND950", "ASCEND910E", "ASCEND310", "ASCEND310P",
            "ASCEND310B")  # fmt: skip


def promote(one: str, other: str) -> str | None:
    """The published table of promotion of two tensors' types."""
    if one == other:
        return one
    order = [name for name in (one, other) if name in (*FLOATS, *COMPLEX, "BOOL") or name in INTEGERS]
    if len(order) < 2 or {"UINT16", "UINT32", "UINT64"} & {one, other}:
        return None
    pair = {one, other}
    if pair & set(COMPLEX):
        if "COMPLEX128" in pair or "DOUBLE" in pair:
            return "COMPLEX128"
        return "COMPLEX64" if "COMPLEX64" in pair or "FLOAT" in pair else "COMPLEX32"
    if floats := pair & set(FLOATS):
        if len(floats) == 1:
            return next(iter(floats))
        return "DOUBLE" if "DOUBLE" in pair else "FLOAT"
    if "BOOL" in pair:
        return next(iter(pair - {"BOOL"}))
    if pair == {"INT8", "UINT8"}:
        return "INT16"
    return max(pair, key=("INT8", "UINT8", "INT16", "INT32", "INT64").index)


@dataclass(frozen=True)
class Numbers:
    """What a number may be: spans in order, each end a number and whether it is meant (0), what is just below it (-1)
    or just above it (1); ``whole``: no fractions."""

    spans: tuple[tuple[tuple[float, int], tuple[float, int]], ...]
    whole: bool

    def __bool__(self) -> bool:
        return bool(self.spans)

    def __or__(self, other: Numbers) -> Numbers:
        made: list[tuple[tuple[float, int], tuple[float, int]]] = []
        for low, high in sorted((*self.spans, *other.spans)):
            if made and low <= self._after(made[-1][1]):
                made[-1] = made[-1][0], max(made[-1][1], high)
            else:
                made.append((low, high))
        return replace(self, spans=tuple(made))

    def __and__(self, other: Numbers) -> Numbers:
        both = ((max(a[0], b[0]), min(a[1], b[1])) for a in self.spans for b in other.spans)
        return replace(self, spans=tuple(span for span in both if span[0] <= span[1]))

    def __str__(self) -> str:
        """As the rules write it: ``4``, ``1..64``, ``1..``, ``>0..1``, ``0..<1``; few whole numbers one by one."""
        words = []
        for low, high in self.spans:
            few = self.whole and math.isfinite(low[0]) and 0 < high[0] - low[0] < _FEW
            words += map(str, range(int(low[0]), int(high[0]) + 1)) if few else [_span((low, high))]
        return ",".join(words)

    def _after(self, end: tuple[float, int]) -> tuple[float, int]:
        return (end[0] + 1, 0) if self.whole else (end[0], end[1] + 1)

    def where(self, sign: str, value: float) -> Numbers:
        """Those of them that are so against a number."""
        lowest, highest = (-math.inf, 0), (math.inf, 0)
        first = last = float(value)  # a flag, too
        below, above = (first, -1), (first, 1)
        if self.whole:
            first, last = math.ceil(value), math.floor(value)
            below, above = (first - 1, 0), (last + 1, 0)
        spans = {
            "<": ((lowest, below),),
            "<=": ((lowest, (last, 0)),),
            ">": ((above, highest),),
            ">=": (((first, 0), highest),),
            "==": (((first, 0), (last, 0)),),
            "!=": ((lowest, below), (above, highest)),
        }[sign]
        return self & Numbers(spans, self.whole)


_FEW = 3


def _span(span: tuple[tuple[float, int], tuple[float, int]]) -> str:
    (low, above), (high, below) = span
    if (low, above) == (high, below):
        return f"{low:.17g}"
    first, last = (f"{end:.17g}" if math.isfinite(end) else "" for end in (low, high))
    return (">" if above else "") + first + ".." + ("<" if below else "") + last


ANY = Numbers((((-math.inf, 0), (math.inf, 0)),), False)
WHOLE = replace(ANY, whole=True)
SIZES = WHOLE.where(">=", 0)
FLAGS = SIZES.where("<=", 1)


@dataclass(frozen=True)
class Unknown:
    """A value that nothing is known of; ``about``: the parameters whose data types decide it in a way not read here."""

    about: frozenset[str] = frozenset()


UNKNOWN = Unknown()


@dataclass(frozen=True)
class Pointer:
    """A parameter of the first phase that is a pointer, or a part of it."""

    name: str


@dataclass(frozen=True)
class Types:
    """A data type, or a format, that is one of these; ``of``: it is that of this parameter."""

    names: frozenset[str]
    of: str = ""
    column: str = "types"

    def left(self, state: State) -> frozenset[str]:
        """Those that are still possible."""
        return getattr(state, self.column)[self.of] & self.names if self.of else self.names


@dataclass(frozen=True)
class Shape:
    of: str


@dataclass(frozen=True)
class Rank:
    of: str


@dataclass(frozen=True)
class Count:
    """How many members a list has: one at least."""

    of: str


@dataclass(frozen=True)
class Constant:
    """A name of an enumeration."""

    name: str


@dataclass(frozen=True)
class Attribute:
    """A parameter of the first phase that is a number, or a size of one that is a tensor: ``self[0]``."""

    name: str
    every: Numbers = WHOLE

    def left(self, state: State) -> Numbers:
        return state.numbers.get(self.name, self.every)


@dataclass(frozen=True)
class Found:
    """The place of a data type in a list; ``within`` are the members."""

    within: tuple[Any, ...]
    what: Any


END = Constant("end()")
NULLPTR = Constant("nullptr")


class Record(dict[str, Any]):
    """A structure."""


class Pack(tuple[Any, ...]):
    """The arguments of a function that takes any number of them."""


@dataclass
class Closure:
    names: tuple[str, ...]
    body: list[Any]
    scope: dict[str, Any]


@dataclass
class State:
    """What is so far possible, by parameter."""

    types: dict[str, frozenset[str]]
    ranks: dict[str, frozenset[int]]
    nulls: dict[str, frozenset[bool]]
    formats: dict[str, frozenset[str]]
    numbers: dict[str, Numbers] = field(default_factory=dict)  # those that are not as at first
    scope: dict[str, Any] = field(default_factory=dict)
    shapes: frozenset[frozenset[str]] = frozenset()  # pairs of parameters that have one shape

    def copy(self) -> State:
        parts = self.types, self.ranks, self.nulls, self.formats, self.numbers, self.scope
        return State(*map(dict, parts), self.shapes)

    def within(self, scope: dict[str, Any]) -> State:
        return State(self.types, self.ranks, self.nulls, self.formats, self.numbers, scope, self.shapes)

    def with_one_shape(self, one: Any, other: Any) -> State:
        pair = frozenset(value.name if isinstance(value, Pointer) else value.of for value in (one, other))
        beyond = frozenset(known ^ pair for known in self.shapes if len(known & pair) == 1)
        return State(**{**vars(self.copy()), "shapes": self.shapes | beyond | ({pair} if len(pair) == 2 else set())})

    def agrees(self, pair: frozenset[str]) -> bool:
        """Whether the two have one shape, or there is but one of them."""
        return pair in self.shapes or any(self.nulls.get(name) == frozenset((True,)) for name in pair)

    def meeting(self, earlier: State) -> State | None:
        """What is possible both now and on the way of an earlier result; None where nothing is."""
        met = self.copy()
        for column in ("types", "ranks", "nulls", "formats"):
            now, then = getattr(met, column), getattr(earlier, column)
            for name, possible in now.items():
                now[name] = possible & then[name]
                if possible and then[name] and not now[name]:
                    return None
        for name, numbers in earlier.numbers.items():
            met.numbers[name] = met.numbers.get(name, numbers) & numbers
            if not met.numbers[name]:
                return None
        met.shapes |= earlier.shapes
        return met

    def narrow(self, other: State) -> None:
        """What is possible is what is possible there."""
        for column in ("types", "ranks", "nulls", "formats", "numbers"):
            getattr(self, column).update(getattr(other, column))
        self.shapes |= other.shapes


@dataclass(frozen=True)
class Split:
    """Several results of one call, each with what is so where it comes."""

    ways: tuple[tuple[Any, State], ...]

    def __hash__(self) -> int:
        return id(self)


def join(states: Iterable[State | None]) -> State | None:
    alive = [state for state in states if state]
    if not alive:
        return None
    first = alive[0]
    for other in alive[1:]:
        first = State(
            {name: first.types[name] | other.types[name] for name in first.types},
            {name: first.ranks[name] | other.ranks[name] for name in first.ranks},
            {name: first.nulls[name] | other.nulls[name] for name in first.nulls},
            {name: first.formats[name] | other.formats[name] for name in first.formats},
            {name: numbers | other.numbers[name] for name, numbers in first.numbers.items() if name in other.numbers},
            {
                name: value if alike(value, other.scope[name]) else either(value, other.scope[name])
                for name, value in first.scope.items()
                if name in other.scope
            },
            frozenset(pair for pair in first.shapes | other.shapes if first.agrees(pair) and other.agrees(pair)),
        )
    return first


def alike(one: Any, other: Any) -> bool:
    return one is other or (type(one) is type(other) and not isinstance(one, Split) and one == other)


def format_of(name: str) -> str:
    """How a parameter is named among what is unclear where it is its format that decides."""
    return f"{name}/format"


def parameters_in(*values: Any) -> frozenset[str]:
    """The parameters whose data types, and those whose formats, such values may tell."""
    found: set[str] = set()
    for value in values:
        if isinstance(value, Unknown):
            found |= value.about
        elif isinstance(value, Pointer):
            found |= {value.name, format_of(value.name)}
        elif isinstance(value, Types):
            found |= {value.of if value.column == "types" else format_of(value.of)} if value.of else set()
        elif isinstance(value, (tuple, list)):
            found |= parameters_in(*value)
        elif isinstance(value, Record):
            found |= parameters_in(*value.values())
        elif isinstance(value, Split):
            found |= parameters_in(*(one for one, _ in value.ways))
    return frozenset(found)


def either(one: Any, other: Any) -> Any:
    if isinstance(one, Types) and isinstance(other, Types) and one.column == other.column:
        return Types(one.names | other.names, column=one.column)
    return Unknown(parameters_in(*(value for value in (one, other) if isinstance(value, (Unknown, Types, Split)))))


class TooDeep(Exception):
    """The walk takes too many steps."""


# Members and functions that tell nothing of a data type, whatever they are asked.


@dataclass(frozen=True)
class Leave:
    kind: str


@dataclass(frozen=True)
class Unset:
    kind: str | None


def by_value(ended: list[tuple[Any, State]]) -> list[tuple[Any, State | None]]:
    """Ways that end with one value as one way."""
    groups: list[tuple[Any, list[State]]] = []
    for value, where in ended:
        for known, wheres in groups:
            if alike(known, value):
                wheres.append(where)
                break
        else:
            groups.append((value, [where]))
    return [(value, join(wheres)) for value, wheres in groups]
