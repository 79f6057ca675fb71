"""Where a condition holds and where it does not: what is possible of the parameters then."""

from __future__ import annotations

from typing import Any

from first_phase.values import (
    COMPLEX,
    END,
    EVERY_OF,
    FLOATS,
    INTEGERS,
    NULLPTR,
    VERSIONS,
    Attribute,
    Constant,
    Count,
    Found,
    Numbers,
    Pointer,
    Rank,
    Record,
    Shape,
    Split,
    State,
    Types,
    Unknown,
    alike,
    either,
    join,
    parameters_in,
)  # fmt: skip
from ophook_npu.sim.rules import PRIVATE_FORMATS, can_cast

KINDS_ASKED = {"IsComplexType": COMPLEX, "IsFloatingType": FLOATS, "IsIntegralType": INTEGERS}

NOT = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_TURNED = str.maketrans("<>", "><")


class Conditions:
    """Conditions over values, which `value` finds."""

    def __init__(self) -> None:
        self.every: dict[str, Numbers] = {}  # what the numbers that were compared may be before that
        self.unclear: set[str] = set()  # parameters whose data types decide in a way that is not read here

    def value(self, expression: Any, state: State) -> Any:
        raise NotImplementedError

    def joined(self, value: Any) -> Any:
        if not isinstance(value, Split):
            return value
        first = value.ways[0][0]
        for other, _ in value.ways[1:]:
            first = first if alike(first, other) else either(first, other)
        return first

    def branch(self, condition: Any, state: State) -> tuple[State | None, State | None]:
        """What is so where a condition holds and where it does not."""
        kind = condition[0]
        if kind == "unary" and condition[1] == "!":
            yes, no = self.branch(condition[2], state)
            return no, yes
        if kind == "op" and condition[1] in ("&&", "||"):
            left_yes, left_no = self.branch(condition[2], state.copy())
            if condition[1] == "&&":
                yes, no = self.branch(condition[3], left_yes) if left_yes else (None, None)
                return yes, join((left_no, no))
            yes, no = self.branch(condition[3], left_no) if left_no else (None, None)
            return join((left_yes, yes)), no
        if kind == "op" and condition[1] in ("==", "!=", "<", ">", "<=", ">="):
            left, right = self.value(condition[2], state), self.value(condition[3], state)
            sign = condition[1]
            if sign in ("==", "!="):
                yes, no = self.compare(left, right, state)
                if condition[2][0] == "name" and isinstance(left, Split) and isinstance(right, Constant):
                    for side, wanted in ((yes, True), (no, False)):  # what the variable is there
                        ways = tuple(
                            way for way in left.ways if not isinstance(way[0], Constant) or (way[0] == right) is wanted
                        )
                        if side and ways:
                            side.scope[condition[2][1]] = Split(ways)
                return (yes, no) if sign == "==" else (no, yes)
            return self.order(sign, left, right, state)
        if kind == "call" and condition[1][0] == "name":
            name = condition[1][1].split("::")[-1]
            known = {"CheckType", "CanCast", "IsNullptr", "IsPrivateFormat", *KINDS_ASKED}
            if name in known and not condition[1][1].startswith("l0op"):
                given = [self.value(one, state) for one in condition[2]]
                if name == "CheckType":
                    return self.among(given[0], given[1], state)
                if name == "IsNullptr":
                    return self.compare(given[0], NULLPTR, state)
                if name == "CanCast":
                    return self.castable(given[0], given[1], state)
                if name == "IsPrivateFormat":
                    private = tuple(Types(frozenset((one,)), column="formats") for one in PRIVATE_FORMATS)
                    return self.among(given[0], private, state)
                kinds = KINDS_ASKED[name]
                if name == "IsIntegralType" and len(given) > 1 and given[1] is True:
                    kinds = (*kinds, "BOOL")
                if name == "IsFloatingType":
                    kinds = (*kinds, "HIFLOAT8", "FLOAT8_E5M2", "FLOAT8_E4M3FN")
                return self.among(given[0], tuple(Types(frozenset((one,))) for one in kinds), state)
        value = self.value(condition, state)
        return self.truth(value, state)

    def truth(self, value: Any, state: State) -> tuple[State | None, State | None]:
        if isinstance(value, Split):
            sides: tuple[list[State | None], list[State | None]] = ([], [])
            for one, where in value.ways:
                if here := state.meeting(where):
                    for side, found in zip(sides, self.truth(one, here), strict=True):
                        side.append(found)
            return join(sides[0]), join(sides[1])
        if isinstance(value, Pointer):
            yes, no = self.compare(value, NULLPTR, state)
            return no, yes
        if isinstance(value, Attribute):
            return self.counted("!=", value, 0, state)
        if value is None or isinstance(value, (Unknown, Types, Rank, Shape, Found, Record)):
            self.doubt(value)
            return state, state.copy()
        if isinstance(value, Constant):
            return (None, state) if value == NULLPTR else (state, None)
        return (state, None) if value else (None, state)

    def doubt(self, *values: Any) -> None:
        for value in values:
            if isinstance(value, Unknown):
                self.unclear |= value.about

    def limited(self, state: State, what: Types, types: frozenset[str]) -> State | None:
        """The state with a parameter's types narrowed; None where none is left, though it is there."""
        before = getattr(state, what.column)[what.of]
        narrowed = before & types
        if not narrowed and before:
            return None
        if narrowed == before:
            return state
        state = state.copy()
        getattr(state, what.column)[what.of] = narrowed
        return state

    def among(self, what: Any, members: Any, state: State) -> tuple[State | None, State | None]:
        if isinstance(what, Split):
            what = self.joined(what)
        if isinstance(members, Split):  # one list or another, each with what is so where it is the one
            sides: tuple[list[State | None], list[State | None]] = ([], [])
            for one, where in members.ways:
                if here := state.meeting(where):
                    for side, found in zip(sides, self.among(what, one, here), strict=True):
                        side.append(found)
            return join(sides[0]), join(sides[1])
        if not isinstance(what, Types) or not isinstance(members, tuple):
            self.unclear |= parameters_in(what) | parameters_in(members)
            return state, state.copy()
        sets = [one.names for one in members if isinstance(one, Types)]
        if len(sets) < len(members) or any(len(one) > 1 for one in sets):
            self.unclear |= parameters_in(what)
            return state, state.copy()
        listed = frozenset().union(*sets)
        if what.of:
            names = what.left(state)
            return (
                self.limited(state.copy(), what, listed) if names & listed else None,
                self.limited(state.copy(), what, EVERY_OF[what.column] - listed) if names - listed else None,
            )
        return state if what.names & listed else None, state.copy() if what.names - listed else None

    def castable(self, one: Any, other: Any, state: State) -> tuple[State | None, State | None]:
        one, other = self.joined(one), self.joined(other)
        if not isinstance(one, Types) or not isinstance(other, Types):
            self.unclear |= parameters_in(one, other)
            return state, state.copy()
        left, right = one.left(state), other.left(state)
        yes: State | None = state.copy()
        if one.of and yes:
            yes = self.limited(yes, one, frozenset(a for a in left if any(can_cast(a, b) for b in right)))
        if other.of and yes:
            yes = self.limited(yes, other, frozenset(b for b in right if any(can_cast(a, b) for a in left)))
        possible = any(can_cast(a, b) for a in left for b in right)
        certain = all(can_cast(a, b) for a in left for b in right)
        return yes if possible else None, None if certain else state

    def compare(self, left: Any, right: Any, state: State) -> tuple[State | None, State | None]:
        """Where two values are equal, and where they are not."""
        if (
            isinstance(right, Split)
            or (isinstance(right, Attribute) and isinstance(left, (bool, int, float)))
            or (isinstance(left, Constant) and not isinstance(right, (Constant, Split)))
        ):
            left, right = right, left
        if isinstance(left, Split):
            sides: tuple[list[State | None], list[State | None]] = ([], [])
            for one, where in left.ways:
                if here := state.meeting(where):
                    for side, found in zip(sides, self.compare(one, right, here), strict=True):
                        side.append(found)
            return join(sides[0]), join(sides[1])
        if isinstance(left, Pointer) and right == NULLPTR:
            return self.absent(left, state)
        if (isinstance(left, Found) and right == END) or (isinstance(right, Found) and left == END):
            place = left if isinstance(left, Found) else right
            yes, no = self.among(place.what, place.within, state)
            return no, yes
        if isinstance(left, Count) and right == 0:
            return None, state
        if isinstance(left, Attribute) and isinstance(right, (bool, int, float)):
            return self.counted("==", left, right, state)
        if isinstance(left, Types) and isinstance(right, Types) and left.column == right.column:
            return self.same_type(left, right, state)
        if isinstance(left, Rank) or isinstance(right, Rank):
            return self.order("==", left, right, state)
        if isinstance(left, Shape) and isinstance(right, Shape):
            return state.with_one_shape(left, right), state.copy()
        if (isinstance(left, (bool, int, str)) and isinstance(right, (bool, int, str))) or (
            isinstance(left, Constant) and isinstance(right, Constant)
        ):
            return (state, None) if left == right else (None, state)
        if isinstance(left, Pointer) and isinstance(right, Pointer):
            return (state, None) if left == right else (state, state.copy())
        if isinstance(left, (Record, tuple)) and right in (NULLPTR, END):
            return None, state
        self.doubt(left, right)
        if isinstance(left, Types) != isinstance(right, Types) and not isinstance(right, Attribute):
            self.unclear |= parameters_in(left, right)
        return state, state.copy()

    def counted(self, sign: str, number: Attribute, value: float, state: State) -> tuple[State | None, State | None]:
        """Where a number is so against another that is known, and where it is not."""
        self.every[number.name] = number.every
        left = number.left(state)
        sides: list[State | None] = []
        for one in (sign, NOT[sign]):
            numbers = left.where(one, value)
            side = state.copy() if numbers else None
            if side and numbers != left:
                side.numbers[number.name] = numbers
            sides.append(side)
        return sides[0], sides[1]

    def absent(self, pointer: Pointer, state: State) -> tuple[State | None, State | None]:
        name = pointer.name
        if name not in state.nulls:
            return state, state.copy()
        yes = no = None
        if True in state.nulls[name]:
            yes = state.copy()
            yes.nulls[name] = frozenset((True,))
            if name in yes.types:
                yes.types[name] = yes.ranks[name] = yes.formats[name] = frozenset()
        if False in state.nulls[name]:
            no = state.copy()
            no.nulls[name] = frozenset((False,))
        return yes, no

    def same_type(self, left: Types, right: Types, state: State) -> tuple[State | None, State | None]:
        if left.of and left.of == right.of:
            return state, None
        a, b = left.left(state), right.left(state)
        both = a & b
        yes: State | None = state.copy() if both or not (a and b) else None
        no: State | None = None if len(a) == len(b) == 1 and both else state.copy()
        for value in (left, right):
            if yes and value.of:
                yes = self.limited(yes, value, both)
        for value, other in ((left, b), (right, a)):
            if no and value.of and len(other) == 1:
                no = self.limited(no, value, EVERY_OF[value.column] - other)
        return yes, no

    def order(self, sign: str, left: Any, right: Any, state: State) -> tuple[State | None, State | None]:
        left, right = self.joined(left), self.joined(right)
        test = {
            "<": lambda a, b: a < b,
            ">": lambda a, b: a > b,
            "<=": lambda a, b: a <= b,
            ">=": lambda a, b: a >= b,
            "==": lambda a, b: a == b,
        }[sign]
        if isinstance(left, Count) and (sign, right) in ((">", 0), (">=", 1), ("<", 1), ("<=", 0)):
            return (state, None) if sign[0] == ">" else (None, state)
        if isinstance(left, Attribute) and isinstance(right, (int, float)):
            return self.counted(sign, left, right, state)
        if isinstance(right, Attribute) and isinstance(left, (int, float)):
            return self.counted(sign.translate(_TURNED), right, left, state)
        if isinstance(left, Constant) and isinstance(right, Constant):
            versions = [one.name.split("::")[-1].replace("ASCEND910_95", "ASCEND950") for one in (left, right)]
            if all(one in VERSIONS for one in versions):
                return (state, None) if test(*map(VERSIONS.index, versions)) else (None, state)
        if isinstance(left, int) and isinstance(right, int):
            return (state, None) if test(left, right) else (None, state)
        ranks = [
            state.ranks[one.of] if isinstance(one, Rank) else frozenset((one,)) if isinstance(one, int) else None
            for one in (left, right)
        ]
        if ranks[0] is None or ranks[1] is None:
            self.doubt(left, right)
            return state, state.copy()
        sides: list[State | None] = []
        for want in (True, False):
            side: State | None = state.copy()
            pairs = [(a, b) for a in ranks[0] for b in ranks[1] if test(a, b) == want]
            if not pairs and ranks[0] and ranks[1]:
                side = None
            for place, one in enumerate((left, right)):
                if side and isinstance(one, Rank):
                    side.ranks[one.of] = frozenset(pair[place] for pair in pairs)
            sides.append(side)
        return sides[0], sides[1]
