"""CANN's macros: each is a check, and what follows where it fails."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from first_phase.conditions import Conditions
from first_phase.syntax import Parser, parsed
from first_phase.values import Pointer, Shape, State

if TYPE_CHECKING:
    from first_phase import Sources

NULL = "ACLNN_ERR_PARAM_NULLPTR"


class Macros(Conditions):
    """What is so behind a macro, as far as a walk gets there."""

    sources: Sources

    def __init__(self) -> None:
        super().__init__()
        self.unread: set[str] = set()  # functions that were asked about data types and are not read here
        self.returned: set[tuple[int, str]] = set()  # the places that were reached where a code is returned

    def block(self, statements: list[Any], state: State | None, ended: list[tuple[Any, State]]) -> State | None:
        raise NotImplementedError

    def macro(self, name: str, parts: list[list[str]], state: State, ended: list[tuple[Any, State]]) -> State | None:
        if re.match(r"OP_LOG|L2_DFX|LOG|DFX|FAULT", name):
            return state

        def otherwise(where: State | None, last: Sequence[str]) -> None:
            """The way of what the check refuses."""
            if where:
                before = set(self.returned)
                self.block(Parser([*last, ";"]).statements(), where, ended)
                self.returned = before | {(id(parts), code) for _, code in self.returned - before}

        def tree(part: Sequence[str]) -> Any:
            return parsed(tuple(part))

        def type_of(part: Sequence[str]) -> Any:
            return ("call", ("member", tree(part), "GetDataType"), [])

        def rank_of(part: Sequence[str]) -> Any:
            return ("call", ("member", ("call", ("member", tree(part), "GetViewShape"), []), "GetDimNum"), [])

        try:
            if name in ("CHECK_RET", "CHECK_COND", "OP_CHECK", "OP_API_CHECK", "CHECK_RET_CODE", "CHECK_RETURN"):
                turned = name == "OP_API_CHECK"
                yes, no = self.branch(tree(parts[0]), state)
                if turned:
                    yes, no = no, yes
                last = parts[-1] if turned or (name == "OP_CHECK" and len(parts) > 2) else ["return", *parts[1]]
                otherwise(no, last)
                return yes
            if name in ("OP_CHECK_NULL", "CHECK_PARAM_NULLPTR_"):
                no, yes = self.branch(("op", "==", tree(parts[0]), ("name", "nullptr")), state)
                otherwise(no, parts[1])
                return yes
            if name == "CHECK_NOT_NULL":
                left: State | None = state
                for part in parts:
                    if left:
                        no, left = self.branch(("op", "==", tree(part), ("name", "nullptr")), left)
                        otherwise(no, ["return", NULL])
                return left
            conditions = {
                "OP_CHECK_DTYPE_NOT_SUPPORT": lambda: (
                    "call",
                    ("name", "CheckType"),
                    [type_of(parts[0]), tree(parts[1])],
                ),
                "OP_CHECK_DTYPE_NOT_SUPPORT_WITH_REASON": lambda: (
                    "call",
                    ("name", "CheckType"),
                    [type_of(parts[0]), tree(parts[1])],
                ),
                "OP_CHECK_DTYPE_NOT_MATCH": lambda: ("op", "==", type_of(parts[0]), tree(parts[1])),
                "OP_CHECK_DTYPE_NOT_SAME": lambda: ("op", "==", type_of(parts[0]), type_of(parts[1])),
                "OP_CHECK_RESULT_DTYPE_CAST_FAILED": lambda: (
                    "call",
                    ("name", "CanCast"),
                    [tree(parts[0]), tree(parts[1])],
                ),
                "OP_CHECK_WRONG_DIMENSION": lambda: ("op", "==", rank_of(parts[0]), tree(parts[1])),
                "OP_CHECK_MAX_DIM": lambda: ("op", "<=", rank_of(parts[0]), tree(parts[1])),
                "OP_CHECK_MIN_DIM": lambda: ("op", ">=", rank_of(parts[0]), tree(parts[1])),
                "OP_CHECK_SHAPE_NOT_EQUAL": lambda: ("op", "==", rank_of(parts[0]), rank_of(parts[1])),
            }
            if name in conditions:
                yes, no = self.branch(conditions[name](), state)
                if name == "OP_CHECK_SHAPE_NOT_EQUAL":
                    no = state.copy()
                    one, other = (self.joined(self.value(tree(part), state)) for part in parts[:2])
                    if yes and isinstance(one, Pointer) and isinstance(other, Pointer):
                        yes = yes.with_one_shape(one, other)
                otherwise(no, parts[2])
                return yes
            if name == "CHECK_SHAPE_ALL_EQUAL":
                return state
            if name == "OP_CHECK_SHAPE_NOT_EQUAL_WITH_EXPECTED_SIZE":
                one, other = (self.joined(self.value(tree(part), state)) for part in parts[:2])
                otherwise(state.copy(), parts[-1])
                pair = isinstance(one, Pointer) and isinstance(other, Shape)
                return state.with_one_shape(one, other) if pair else state
            if name.startswith("OP_CHECK_BROADCAST") or "SHAPE" in name:
                otherwise(state.copy(), parts[-1])
                return state
        except (SyntaxError, IndexError):
            self.unread.add(f"macro {name}")
            return state
        macro = self.sources.find("#" + name, state.scope.get(""))
        if macro and len(macro.parameters) <= len(parts) + 1:
            given = {one: parts[i] if i < len(parts) else [] for i, (one, _) in enumerate(macro.parameters)}
            text = [word for token in macro.tokens for word in given.get(token, [token])]
            return self.block(Parser(text).statements(), state, ended)
        if name not in ("OP_CHECK_COMM_INPUT",):
            self.unread.add(f"macro {name}")
        return state
