"""A first phase followed from its beginning to each of its ends, on one product."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from first_phase.conditions import KINDS_ASKED
from first_phase.macros import Macros
from first_phase.syntax import Callee, File, parsed
from first_phase.values import (
    ANY,
    END,
    EVERY,
    EVERY_FORMAT,
    NULLPTR,
    SIZES,
    UNKNOWN,
    WHOLE,
    Attribute,
    Closure,
    Constant,
    Count,
    Found,
    Leave,
    Pack,
    Pointer,
    Rank,
    Record,
    Shape,
    Split,
    State,
    TooDeep,
    Types,
    Unknown,
    Unset,
    alike,
    by_value,
    either,
    join,
    parameters_in,
    promote,
)  # fmt: skip

if TYPE_CHECKING:
    from first_phase import Sources

_ARCHITECTURE = {
    "Ascend910B": "DAV_2201", "Ascend910_93": "DAV_2201", "Ascend950": "DAV_3510", "Ascend310P": "DAV_2002",
    "Ascend310B": "DAV_3002",
}  # fmt: skip
NAMES = {"BF16": "BFLOAT16", "FLOAT32": "FLOAT"}
SUCCESS, _INVALID = "ACLNN_SUCCESS", "ACLNN_ERR_PARAM_INVALID"

_QUIET = re.compile(
    r"^(l0op::|OP_LOG|LOG|std::(string|to_string|min|max|abs|move|ceil|floor|pow)|op::ToString|ToString|GetString|"
    r"BroadcastInferShape|CheckBroadcastShape|CREATE_EXECUTOR|printf|.*Contiguous|.*Unsqueeze|.*Squeeze|.*Reshape|"
    r".*ReFormat|.*Transpose|.*TransData|IsContiguous|IsEmpty|GetPrimaryFormat|IsPrivateFormat|op::IsPrivateFormat|"
    r".*Shape.*|.*Dim.*|.*Size.*|.*Format.*|.*Broadcast.*|InitExecutor|.*CalcOutput.*|.*Empty.*|.*Zero.*|.*Fill.*|"
    r".*Log.*|.*Stride.*|.*ViewCopy.*|std::make_shared|strn?cmp|str[n]?len|aclGet.*|tolower|"
    r"Post.*|.*Process|Exec.*|CommonOpExecutorRun|memcpy_s|IsDimValid)"
)
_OF_A_SCALAR = {"ToFloat": ANY, "ToDouble": ANY, "ToInt64": WHOLE, "ToInt32": WHOLE}
_LATE = 40000  # steps
_AGAIN = 12  # so often a function may be below itself: one of several arguments calls itself with fewer
_ASKED = re.compile(r"ormat|Valid|Check|Inner|Supp|GetWorkspaceSize")  # a function that may ask for formats
_ABOUT_TYPE = re.compile(r"Type|Supp|Valid|Check|Dtype")


class Walk(Macros):
    """One way through a first phase on one product."""

    def __init__(self, sources: Sources, product: str, whole: bool, kinds: Mapping[str, str]) -> None:
        super().__init__()
        self.sources, self.product, self.kinds = sources, product, kinds  # of its parameters: aclTensor, aclScalar, …
        self.whole = whole  # no tensor is empty
        self.callees: list[Callee] = []  # those that are being followed, each called by the one before it
        self.steps, self.depth = 0, 0  # depth: of closures

    # -- calls

    def call(self, callee: Callee, arguments: list[Any], state: State) -> list[tuple[Any, State]]:
        """The results, each with what is so then."""
        # Nothing more is known of what calls itself, and of what comes so late that all checks are behind it.
        if self.callees.count(callee) > _AGAIN or self.steps > _LATE:
            return [(UNKNOWN, state)]
        scope: dict[str, Any] = {}
        for place, (name, default) in enumerate(callee.parameters):
            if callee.any_number and place + 1 == len(callee.parameters):
                scope[name] = Pack(arguments[place:])
            elif place < len(arguments):
                scope[name] = arguments[place]
            elif default is not None:
                scope[name] = self.value(parsed(tuple(default)), state.within({"": callee.file}), callee.file)
        scope[""] = callee.file
        ended: list[tuple[Any, State]] = []
        self.callees.append(callee)
        if len(self.callees) + self.depth > 30:
            raise TooDeep
        left = self.block(callee.body, state.copy().within(scope), ended)
        self.callees.pop()
        if left:
            ended.append((None, left))
        return [(value, merged) for value, merged in by_value(ended) if merged]

    # -- statements

    def block(self, statements: list[Any], state: State | None, ended: list[tuple[Any, State]]) -> State | None:
        """What is so behind the statements, or None where none of the ways gets there."""
        for statement in statements:
            if state is None:
                return None
            state = self.statement(statement, state, ended)
        return state

    def statement(self, statement: Any, state: State, ended: list[tuple[Any, State]]) -> State | None:
        self.steps += 1
        if self.steps > 2 * _LATE:
            raise TooDeep
        kind = statement[0]
        if kind == "do":
            value = self.value(statement[1], state)
            return self.only(value, state)
        if kind == "declare":
            _, names, of, expression = statement
            value = self.value(expression, state) if expression is not None else Unset(of)
            if of and isinstance(value, (tuple, Unset)) and (fields := self.sources.fields(of, state.scope[""])):
                items = value if isinstance(value, tuple) else ()
                value = Record({one: items[i] if i < len(items) else UNKNOWN for i, one in enumerate(fields)})
                state.scope["." + names[0]] = True
            elif isinstance(value, Unset):
                value = UNKNOWN
            if len(names) == 1:
                state.scope[names[0]] = value
            else:
                parts = value if isinstance(value, tuple) and len(value) == len(names) else ()
                for place, name in enumerate(names):
                    state.scope[name] = parts[place] if parts else Unknown(parameters_in(value))
            return state
        if kind in ("block", "group"):
            return self.block(statement[1], state, ended)
        if kind == "if":
            yes, no = self.branch(statement[1], state)
            return join(
                (
                    self.block(statement[2], yes, ended) if yes else None,
                    self.block(statement[3], no, ended) if no else None,
                )
            )
        if kind == "return":
            value = self.value(statement[1], state) if statement[1] is not None else None
            if isinstance(value, Constant):
                self.returned.add((id(statement), value.name))
            ways = value.ways if isinstance(value, Split) else ((value, state),)
            ended.extend((one, here) for one, where in ways if (here := state.meeting(where)))
            return None
        if kind == "macro":
            return self.macro(statement[1], statement[2], state, ended)
        if kind == "loop":
            before = state.copy()
            for first in statement[1]:
                self.statement(first, state, ended)
                for name in first[1] if first[0] == "declare" else ():
                    state.scope[name] = UNKNOWN
            left = self.body(statement[2], state, ended)
            return self.after_loop(before, left)
        if kind == "each":
            _, names, several, over, body = statement
            items = self.value(over, state)
            if isinstance(items, tuple) and len(items) <= 40:
                left: State | None = state
                for item in items:
                    if left is None:
                        return None
                    self.bind(left, names, several, item)
                    left = self.body(body, left, ended)
                return left
            before = state.copy()
            element = items if isinstance(items, Pointer) else Unknown(parameters_in(items))
            self.bind(state, names, several, element)
            return self.after_loop(before, self.body(body, state, ended))
        if kind == "switch":
            return self.switch(statement, state, ended)
        if kind in ("break", "continue"):
            ended.append((Leave(kind), state))
            return None
        # What could not be parsed may do anything, but for what it does not name.
        self.unread.add("statement: " + " ".join(statement[1])[:80])
        for word in statement[1]:
            if word in state.scope:
                self.unclear |= parameters_in(state.scope[word])
                self.written(("name", word), True, state)
        return state

    def bind(self, state: State, names: tuple[str, ...], several: bool, item: Any) -> None:
        for place, name in enumerate(names):
            part = item
            if several:
                part = item[place] if isinstance(item, tuple) and place < len(item) else Unknown(parameters_in(item))
            state.scope[name] = part

    def body(self, statements: list[Any], state: State, ended: list[tuple[Any, State]]) -> State | None:
        """One round of a loop, which it may leave."""
        own: list[tuple[Any, State]] = []
        left = self.block(statements, state, own)
        ended.extend((value, where) for value, where in own if not isinstance(value, Leave))
        return join([left, *(where.within(state.scope) for value, where in own if isinstance(value, Leave))])

    def after_loop(self, before: State, left: State | None) -> State | None:
        """It went round at least once: a list without members is not what the rules are about."""
        if left is None:
            return None
        for name, value in before.scope.items():
            if name in left.scope and not alike(value, left.scope[name]):
                left.scope[name] = Unknown(parameters_in(value, left.scope[name]))
        return left

    def switch(self, statement: Any, state: State, ended: list[tuple[Any, State]]) -> State | None:
        what = self.value(statement[1], state)
        left: list[State | None] = []
        rest: State | None = state
        falling: State | None = None
        for place, (labels, body) in enumerate(statement[2]):
            entering, last = falling, place + 1 == len(statement[2])
            for label in labels:
                if rest is None:
                    break
                if label == "default":
                    entering = join((entering, rest.copy()))
                    rest = None if last else rest
                else:
                    yes, rest = self.compare(what, self.value(label, state), rest)
                    entering = join((entering, yes))
            if entering is None:
                falling = None
                continue
            own: list[tuple[Any, State]] = []
            falling = self.block(body, entering, own)
            left += [where for value, where in own if isinstance(value, Leave) and value.kind == "break"]
            ended.extend(
                (value, where) for value, where in own if not (isinstance(value, Leave) and value.kind == "break")
            )
        return join([*left, falling, rest])

    # -- values

    def only(self, value: Any, state: State) -> State | None:
        """The state after a call whose result nobody reads."""
        if isinstance(value, Split):
            return join(state.meeting(where) for _, where in value.ways)
        return state

    def value(self, expression: Any, state: State, file: File | None = None) -> Any:
        self.steps += 1
        kind = expression[0]
        if kind == "name":
            return self.name(expression[1], state)
        if kind == "number":
            return UNKNOWN if expression[1] is None else expression[1]
        if kind == "text":
            return expression[1]
        if kind == "list":
            return tuple(self.joined(self.value(one, state)) for one in expression[1])
        if kind == "lambda":
            return Closure(expression[1], expression[2], state.scope)
        if kind == "member":
            return self.member(self.value(expression[1], state), expression[2], state)
        if kind == "index":
            of, at = self.value(expression[1], state), self.value(expression[2], state)
            if isinstance(of, tuple):
                return of[at] if isinstance(at, int) and at < len(of) else Unknown(parameters_in(of))
            if isinstance(of, Pointer):
                if type(at) is int and at >= 0 and self.is_array(of):
                    return Attribute(f"{of.name}[{at}]", WHOLE)
                return of
            if isinstance(of, Shape):
                return self.size(of, at)
            return Unknown(parameters_in(of) if isinstance(of, Unknown) else frozenset())
        if kind == "=":
            value = self.value(expression[2], state)
            self.assign(expression[1], value, state)
            return value
        if kind == "?":
            yes, no = self.branch(expression[1], state)
            found = [
                self.joined(self.value(way, side)) for way, side in zip(expression[2:], (yes, no), strict=True) if side
            ]
            return found[0] if len(found) == 1 or alike(*found) else either(*found)
        if kind == "unary":
            if expression[1] == "!":
                return self.condition(expression, state)
            value = self.value(expression[2], state)
            return -value if expression[1] == "-" and isinstance(value, (int, float)) else UNKNOWN
        if kind == "op":
            if expression[1] in ("&&", "||", "==", "!=", "<", ">", "<=", ">="):
                return self.condition(expression, state)
            left, right = (self.joined(self.value(one, state)) for one in expression[2:])
            if isinstance(left, int) and isinstance(right, int) and expression[1] in "+-*":
                return {"+": left + right, "-": left - right, "*": left * right}[expression[1]]
            return Unknown(parameters_in(*(one for one in (left, right) if isinstance(one, Unknown))))
        if kind == "call":
            return self.called(expression, state)
        return UNKNOWN

    def condition(self, expression: Any, state: State) -> Any:
        """A condition as a value: with what is so where it holds and where it does not."""
        doubts = set(self.unclear)
        yes, no = self.branch(expression, state.copy())
        ways = [(value, side) for value, side in ((True, yes), (False, no)) if side]
        if len(ways) == 1:
            return ways[0][0]
        new = self.unclear - doubts
        return Split(tuple(ways)) if ways else Unknown(frozenset(new))

    def assign(self, target: Any, value: Any, state: State) -> None:
        if target[0] == "name":
            state.scope[target[1]] = value
        elif target[0] == "index":
            self.change(target[1], state)
        elif target[0] == "member" and isinstance(of := self.value(target[1], state), Record):
            if target[1][0] == "name" and state.scope.get("." + target[1][1]) is True:
                state.scope[target[1][1]] = Record({**of, target[2]: value})  # its own: on another way it is as before
            else:
                of[target[2]] = value

    def change(self, target: Any, state: State) -> None:
        """A shape that the phase has of its own may be another one now."""
        if target[0] == "name" and isinstance(state.scope.get(target[1]), Shape):
            state.scope[target[1]] = UNKNOWN

    def name(self, name: str, state: State) -> Any:
        if name in state.scope:
            return state.scope[name]
        if name in ("true", "false"):
            return name == "true"
        if name in ("nullptr", "NULL"):
            return NULLPTR
        last = name.split("::")[-1]
        if m := re.fullmatch(r"(?:ACL_)?FORMAT_([A-Z0-9_]+)", last):
            return Types(frozenset((m[1] if m[1] in EVERY_FORMAT else f"no {m[1]}",)), column="formats")
        if m := re.fullmatch(r"(?:DT|ACL)_([A-Z0-9_]+)", last):
            word = NAMES.get(m[1], m[1])
            if word in EVERY:
                return Types(frozenset((word,)))
            if word in ("UNDEFINED", "MAX"):
                return Types(frozenset((f"no {word}",)))
        if last == "MAX_SUPPORT_DIMS_NUMS":
            return 8
        if re.match(r"ACLNN_(SUCCESS|ERR)|DAV_\d", last) or re.search(r"(NpuArch|SocVersion)::\w+$", name):
            return Constant(last.replace("ASCEND910_95", "ASCEND950"))
        if (told := self.sources.constant(last, state.scope.get(""))) is not None:
            expression, file = told
            if expression is None:
                return UNKNOWN
            return self.value(expression, state.within({"": file}))
        return UNKNOWN

    def member(self, of: Any, name: str, state: State) -> Any:
        if isinstance(of, Split):
            of = self.joined(of)
        if isinstance(of, Record):
            return of.get(name, UNKNOWN)
        if isinstance(of, tuple) and name in ("first", "second") and len(of) == 2:
            return of[name == "second"]
        return Unknown(of.about) if isinstance(of, Unknown) else UNKNOWN

    def called(self, expression: Any, state: State) -> Any:
        _, target, arguments = expression
        if target[0] == "spread":  # sizeof...(arguments)
            pack = self.value(arguments[0], state)
            return len(pack) if isinstance(pack, Pack) else UNKNOWN
        if target[0] == "member":
            if not re.match("Get|Is|To", target[2]):
                self.change(target[1], state)
            return self.method(self.value(target[1], state), target[2], arguments, state)
        if target[0] == "name" and not re.search(r"(^|:)(Check|Is|To|Same)\w*$", target[1]):
            for one in arguments:
                self.change(one, state)
        if target[0] != "name":
            function = self.value(target, state)
            given = [self.value(one, state) for one in arguments]
            if isinstance(function, Closure):
                return self.closure(function, given, state)
            return Unknown(parameters_in(given))
        name = target[1]
        if isinstance(function := state.scope.get(name), Closure):
            return self.closure(function, [self.value(one, state) for one in arguments], state)
        last = name.split("::")[-1]
        if (
            last
            in (
                "static_cast",
                "const_cast",
                "reinterpret_cast",
                "DataType",
                "size_t",
                "int64_t",
                "move",
                "vector",
                "initializer_list",
                "set",
                "unordered_set",
                "int32_t",
                "ToOpDataType",
                "ToAclDataType",
                "uint32_t",
                "uint64_t",
                "Format",
                "GetPrimaryFormat",
            )
            and len(arguments) == 1
        ):
            return self.value(arguments[0], state)
        if last in ("make_tuple", "make_pair", "tie"):
            return tuple(self.joined(self.value(one, state)) for one in arguments)
        if last == "get" and len(arguments) == 1:
            return UNKNOWN
        if last == "GetCurrentPlatformInfo":
            return Constant("platform")
        if last in ("CheckType", "CanCast", "IsNullptr", "IsPrivateFormat", *KINDS_ASKED):
            return self.condition(expression, state)
        given = []
        for one in arguments:
            value = self.value(one[1] if one[0] == "spread" else one, state)
            given += value if one[0] == "spread" and isinstance(value, Pack) else [value]
        flat = [self.joined(one) for one in given]
        if last == "PromoteType" and len(flat) == 2:
            if all(isinstance(one, Types) for one in flat):
                a, b = (one.left(state) for one in flat)
                if flat[0].of and flat[0].of == flat[1].of:
                    return Types(a)
                return Types(frozenset(promote(x, y) or "no UNDEFINED" for x in a for y in b))
            return Unknown(parameters_in(*flat))
        if last in ("find", "count") and len(flat) == 3:
            return Found(flat[0], flat[2]) if isinstance(flat[0], tuple) else Unknown(parameters_in(flat[2]))
        if name.startswith("l0op::"):
            for argument in arguments:
                self.written(argument, True, state)
            return UNKNOWN
        kinds = [self.kinds.get(one.name, "") if isinstance(one, Pointer) else "" for one in given]
        if callee := self.sources.find(last, state.scope.get(""), len(given), kinds):
            ways = self.call(callee, given, state)
            for argument, kind in zip(arguments, callee.types, strict=False):
                self.written(argument, ("&" in kind and "const" not in kind) or kind.count("*") > 1, state)
            if not ways:
                return UNKNOWN
            if len(ways) == 1:
                value, where = ways[0]
                state.narrow(where)
                return value
            return Split(tuple(ways))
        for argument in arguments:
            self.written(argument, True, state)
        about = parameters_in(*flat)
        if _ASKED.search(name):
            self.unclear |= {one for one in about if one.endswith("/format")}
        if about and not _QUIET.match(name):
            self.unread.add(name)
            return Unknown(about)
        return UNKNOWN

    def is_array(self, of: Pointer) -> bool:
        return self.kinds.get(of.name) in ("aclIntArray", "aclBoolArray")

    def size(self, shape: Shape, at: Any) -> Any:
        """One size of a tensor; of a list each member has its own."""
        if self.kinds.get(shape.of) == "aclTensorList":
            return UNKNOWN
        return Attribute(f"{shape.of}[{at}]", SIZES) if type(at) is int and at >= 0 else UNKNOWN

    def written(self, argument: Any, may_be: bool, state: State) -> None:
        """A number that a function gets the address of, which is not told from its value, may be another one then, and
        so may a data type that is no parameter's."""
        if argument[0] not in ("name", "member"):
            return
        before = state.scope.get(argument[1]) if argument[0] == "name" else self.value(argument, state)
        own = isinstance(before, Types) and not before.of
        if may_be and (type(before) is int or isinstance(before, (Attribute, Constant)) or own):
            self.assign(argument, UNKNOWN, state)

    def closure(self, function: Closure, given: list[Any], state: State) -> Any:
        scope = dict(function.scope)
        scope.update(zip(function.names, given, strict=False))
        ended: list[tuple[Any, State]] = []
        self.depth += 1
        if len(self.callees) + self.depth > 30:
            raise TooDeep
        left = self.block(function.body, state.copy().within(scope), ended)
        self.depth -= 1
        ways = [(value, where) for value, where in by_value(ended + ([(None, left)] if left else [])) if where]
        return Split(tuple(ways)) if len(ways) > 1 else ways[0][0] if ways else UNKNOWN

    def method(self, of: Any, name: str, arguments: list[Any], state: State) -> Any:
        of = self.joined(of)
        if isinstance(of, Pointer):
            if name in ("GetDataType",):
                return Types(state.types.get(of.name, EVERY), of.name) if of.name in state.types else UNKNOWN
            if name == "IsEmpty" and self.whole and of.name in state.types:
                return False
            if name == "Size" and of.name in state.types:
                return Count(of.name)
            if name == "Size" and self.is_array(of):
                return Attribute(f"{of.name}[]", SIZES)
            if name in _OF_A_SCALAR and self.kinds.get(of.name) == "aclScalar":
                return Attribute(of.name, _OF_A_SCALAR[name])
            if name in ("GetStorageFormat", "GetViewFormat", "GetOriginalFormat") and of.name in state.formats:
                return Types(state.formats[of.name], of.name, "formats")
            if name in ("GetViewShape",) and of.name in state.ranks:
                return Shape(of.name)
            return UNKNOWN
        if isinstance(of, Shape):
            if name == "GetShapeSize" and self.whole:
                return Count(of.of)
            if name == "GetDim" and len(arguments) == 1:
                return self.size(of, self.value(arguments[0], state))
            several = self.kinds.get(of.of) == "aclTensorList"
            return Rank(of.of) if name == "GetDimNum" and not several else UNKNOWN
        if of == Constant("platform"):
            if name == "GetCurNpuArch":
                return Constant(_ARCHITECTURE[self.product])
            if name == "GetSocVersion":
                return Constant(self.product.upper())
            return UNKNOWN
        if isinstance(of, tuple):
            if name in ("begin", "cbegin"):
                return of
            if name in ("end", "cend"):
                return END
            if name in ("find", "count") and len(arguments) == 1:
                what = self.joined(self.value(arguments[0], state))
                if of and isinstance(of[0], tuple):  # a map
                    pairs = {pair[0]: pair for pair in of if isinstance(pair, tuple) and len(pair) == 2}
                    if isinstance(what, Constant):
                        return pairs.get(what, END) if name == "find" else int(what in pairs)
                    of = tuple(pairs)
                if isinstance(what, Constant):
                    return what if name == "find" and what in of else END if name == "find" else int(what in of)
                if name == "find":
                    return Found(of, what)
                yes, no = self.among(what, of, state)
                return (
                    Split(tuple((number, side) for number, side in ((1, yes), (0, no)) if side))
                    if yes and no
                    else int(bool(yes))
                )
            if name == "size":
                return len(of)
            return Unknown(parameters_in(of))
        if isinstance(of, Unknown):
            if name == "end":
                return END
            about = parameters_in(*(self.value(one, state) for one in arguments)) if _ABOUT_TYPE.search(name) else ()
            return Unknown(of.about.union(about))
        return UNKNOWN
