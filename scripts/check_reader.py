"""Reads the C++ of a first phase and follows it with sets in place of values: of each tensor's data type, number of
dimensions and presence what can still be so on the way to success. What is left at the end is what the check takes.

It follows calls into the tree's own functions, chooses branches by product, and of a condition that it cannot decide
takes both. A condition that asks an unknown function about a data type makes that parameter ``unclear``.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from ophook_npu.sim.rules import DATA_TYPES, KINDS, can_cast

_TOKEN = re.compile(
    r"\s+|//[^\n]*|/\*.*?\*/|(?P<text>\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*')|(?P<number>0[xX][0-9a-fA-F]+|\d[\w.]*)"
    r"|(?P<word>[A-Za-z_]\w*)|(?P<sign>->|::|==|!=|<=|>=|&&|\|\||\+\+|--|[-+*/|&]=|<<|\.\.\.|##|.)",
    re.DOTALL,
)
_ARCHITECTURE = {"Ascend910B": "DAV_2201", "Ascend910_93": "DAV_2201", "Ascend950": "DAV_3510"}
_VERSIONS = ("ASCEND910", "ASCEND910B", "ASCEND910_93", "ASCEND950", "ASCEND910E", "ASCEND310", "ASCEND310P")
_VERSION = {"Ascend910B": "ASCEND910B", "Ascend910_93": "ASCEND910_93", "Ascend950": "ASCEND950"}
_SUCCESS, _NULL, _INVALID = "ACLNN_SUCCESS", "ACLNN_ERR_PARAM_NULLPTR", "ACLNN_ERR_PARAM_INVALID"

_, INTEGERS, FLOATS, COMPLEX = KINDS
EVERY = frozenset(DATA_TYPES)
RANKS = frozenset(range(12))
_NAMES = {"BF16": "BFLOAT16", "FLOAT32": "FLOAT"}


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


# ---- text to tokens, functions and constants


def tokens_of(source: str) -> list[str]:
    return [m[0] for m in _TOKEN.finditer(source) if m.lastgroup]


def _closing(tokens: Sequence[str], at: int) -> int:
    """The place of the bracket that closes the one at this place."""
    pairs = {"(": ")", "[": "]", "{": "}"}
    depth = 0
    for place in range(at, len(tokens)):
        if tokens[place] in pairs:
            depth += 1
        elif tokens[place] in pairs.values():
            depth -= 1
            if not depth:
                return place
    return len(tokens)


def _split(tokens: Sequence[str], at: str = ",") -> list[list[str]]:
    """The tokens between commas outside brackets."""
    parts: list[list[str]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token in "([{") - (token in ")]}")
        if token == at and not depth:
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]


def _angle(tokens: Sequence[str], at: int) -> int | None:
    """The end of template arguments that begin at ``<``, or None where it is a comparison."""
    depth = 0
    for place in range(at, min(at + 60, len(tokens))):
        token = tokens[place]
        if token == "<":
            depth += 1
        elif token == ">":
            depth -= 1
            if not depth:
                return place
        elif not (token[0].isalnum() or token[0] == "_" or token in ("::", "*", "&", ",", "(", ")")):
            return None
    return None


@dataclass
class Callee:
    name: str
    parameters: list[tuple[str, list[str] | None]]  # name and default
    types: list[str]
    tokens: list[str]
    file: File

    @functools.cached_property
    def body(self) -> list[Any]:
        return Parser(self.tokens).statements()


class File:
    """The functions, constants and structures of one source."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.functions: dict[str, list[Callee]] = {}
        self.constants: dict[str, list[str]] = {}
        self.structures: dict[str, list[str]] = {}
        source = path.read_text(errors="replace")
        defines = re.findall(
            r"^[ \t]*#[ \t]*define[ \t]+(\w+)(\([^)]*\))?((?:[^\n]*\\\r?\n)*[^\n]*)", source, re.MULTILINE
        )
        source = re.sub(r"^[ \t]*#(?:[^\n]*\\\r?\n)*[^\n]*", "", source, flags=re.MULTILINE)
        for name, arguments, text in defines:
            body = tokens_of(text.replace("\\\r\n", "\n").replace("\\\n", "\n"))
            if not arguments:
                self.constants[name] = body
            else:
                names = [word.strip() for word in arguments.strip("()").split(",")]
                macro = Callee(name, [(word, None) for word in names], [], body, self)
                self.functions.setdefault("#" + name, []).append(macro)
        self._read(tokens_of(source))

    def _read(self, tokens: list[str]) -> None:
        start = at = 0
        while at < len(tokens):
            token = tokens[at]
            if token == ";":
                self._constant(tokens[start:at])
                start = at = at + 1
            elif token in "([":
                at = _closing(tokens, at) + 1
            elif token == "{":
                end, head = _closing(tokens, at), tokens[start:at]
                if "namespace" in head or '"C"' in head:
                    self._read(tokens[at + 1 : end])
                    start = at = end + 1
                elif head[:1] in (["struct"], ["class"], ["enum"], ["union"], ["typedef"]) and ")" not in head:
                    self._structure(head, tokens[at + 1 : end])
                    at = end + 1
                elif head and "=" not in head and "(" in head:
                    self._function(head, tokens[at + 1 : end])
                    start = at = end + 1
                else:
                    at = end + 1
            elif token == "}":
                start = at = at + 1
            else:
                at += 1

    def _structure(self, head: list[str], body: list[str]) -> None:
        names = [word for word in head[1:] if word[0].isalpha() and word not in ("class", "final", "public")]
        if not names:
            return
        if head[0] == "enum":
            for number, part in enumerate(_split(body)):
                self.constants[part[0]] = part[2:] if "=" in part else [str(number)]
            return
        fields = []
        for part in _split([*body], ";"):
            if "(" not in part and "}" not in part:
                before = part[: part.index("=")] if "=" in part else part
                fields.append(before[-1])
            elif "{" in part and "(" not in part:
                fields.append(part[part.index("{") - 1])
        self.structures[names[0]] = fields

    def _constant(self, tokens: list[str]) -> None:
        if "=" in tokens:
            at = tokens.index("=")
            if at and tokens[at - 1] not in ")":
                name = tokens[at - 1] if tokens[at - 1] != "]" else tokens[at - 3] if at > 2 else ""
                self.constants[name] = tokens[at + 1 :]
        elif tokens[-1:] == ["}"] and "{" in tokens and (at := tokens.index("{")) > 1:
            self.constants[tokens[at - 1]] = tokens[at:]

    def _function(self, head: list[str], body: list[str]) -> None:
        opens = head.index("(")
        while opens and head[opens - 1] in ("__attribute__", "("):
            opens = _closing(head, opens) + 1
            if "(" not in head[opens:]:
                return
            opens = head.index("(", opens)
        if not opens:
            return
        name, parameters, types = head[opens - 1], [], []
        for part in _split(head[opens + 1 : _closing(head, opens)]):
            default = part[part.index("=") + 1 :] if "=" in part else None
            words = part[: part.index("=")] if "=" in part else part
            if words[-1] == "]":
                words = words[: words.index("[")]
            if words and words != ["void"]:
                parameters.append((words[-1], default))
                types.append(" ".join(words[:-1]))
        self.functions.setdefault(name, []).append(Callee(name, parameters, types, body, self))


# ---- tokens to a tree


class Parser:
    def __init__(self, tokens: Sequence[str]) -> None:
        self.tokens, self.at = list(tokens), 0

    def peek(self, ahead: int = 0) -> str:
        place = self.at + ahead
        return self.tokens[place] if place < len(self.tokens) else ""

    def take(self, want: str = "") -> str:
        token = self.peek()
        if not token or (want and token != want):
            raise SyntaxError(f"{want} for {token} at {' '.join(self.tokens[max(0, self.at - 8) : self.at + 4])}")
        self.at += 1
        return token

    def statements(self) -> list[Any]:
        found = []
        while self.at < len(self.tokens):
            start = self.at
            try:
                found.append(self.statement())
            except SyntaxError:
                self.at = start
                end = start
                while end < len(self.tokens) and self.tokens[end] != ";":
                    if self.tokens[end] in "([{":
                        closes = _closing(self.tokens, end)
                        if self.tokens[end] == "{" and self.tokens[closes + 1 : closes + 2] != [";"]:
                            end = closes
                            break
                        end = closes
                    end += 1
                found.append(("opaque", tuple(self.tokens[start : end + 1])))
                self.at = end + 1
        return found

    def inner(self, opens: str) -> Parser:
        """A parser of what stands between these brackets, which it takes."""
        start = self.at
        self.take(opens)
        end = _closing(self.tokens, start)
        self.at = end + 1
        return Parser(self.tokens[start + 1 : end])

    def body(self) -> list[Any]:
        if self.peek() == "{":
            return self.inner("{").statements()
        return [self.statement()]

    def statement(self) -> Any:
        token = self.peek()
        if token == ";":
            self.take()
            return ("block", [])
        if token == "{":
            return ("block", self.body())
        if token == "if":
            self.take()
            if self.peek() == "constexpr":
                self.take()
            inner = self.inner("(")
            parts = _split(inner.tokens, ";")
            first = [Parser([*parts[0], ";"]).statement()] if len(parts) > 1 else []
            condition = Parser(parts[-1]).whole()
            then = self.body()
            other = []
            if self.peek() == "else":
                self.take()
                other = self.body()
            return ("block", [*first, ("if", condition, then, other)])
        if token == "for":
            self.take()
            inner = self.inner("(")
            if ";" in inner.tokens:
                parts = _split([*inner.tokens], ";")
                first = [Parser([*parts[0], ";"]).statement()] if parts else []
                return ("loop", first, self.body())
            at = inner.tokens.index(":") if ":" in inner.tokens else -1
            if at < 1:
                raise SyntaxError("for")
            names = [word for word in inner.tokens[:at] if word not in ("const", "auto", "&", "[", "]", ",", "*")]
            several = "[" in inner.tokens[:at]
            over = Parser(inner.tokens[at + 1 :]).whole()
            return ("each", tuple(names if several else names[-1:]), several, over, self.body())
        if token == "while":
            self.take()
            self.inner("(")
            return ("loop", [], self.body())
        if token == "do":
            self.take()
            body = self.body()
            self.take("while")
            self.inner("(")
            self.end()
            return ("block", body)
        if token == "switch":
            self.take()
            what = self.inner("(").whole()
            inner = self.inner("{")
            cases: list[tuple[list[Any], list[Any]]] = []
            while inner.peek():
                if inner.peek() in ("case", "default"):
                    word = inner.take()
                    label: Any = "default"
                    if word == "case":
                        end = inner.at
                        while inner.tokens[end] != ":":
                            end += 1
                        label = Parser(inner.tokens[inner.at : end]).whole()
                        inner.at = end
                    inner.take(":")
                    if cases and not cases[-1][1]:
                        cases[-1][0].append(label)
                    else:
                        cases.append(([label], []))
                else:
                    cases[-1][1].append(inner.statement())
            return ("switch", what, cases)
        if token == "return":
            self.take()
            value = None if self.peek() == ";" else self.expression()
            self.end()
            return ("return", value)
        if token in ("break", "continue"):
            self.take()
            self.end()
            return (token,)
        if token in ("using", "typedef"):
            while self.take() != ";":
                pass
            return ("block", [])
        if declared := self.declaration():
            return declared
        if re.fullmatch(r"[A-Z][A-Z0-9_]+", token) and self.peek(1) == "(":
            name = self.take()
            parts = _split(self.inner("(").tokens)
            if self.peek() == ";":
                self.take()
            return ("macro", name, parts)
        value = self.expression()
        self.end()
        return ("do", value)

    def end(self) -> None:
        if self.peek():
            self.take(";")

    def declaration(self) -> Any:
        start = self.at
        while self.peek() in ("const", "static", "constexpr", "volatile", "inline", "struct"):
            self.at += 1
        kind = ""
        if not re.match(r"[A-Za-z_]", self.peek() or "0"):
            self.at = start
            return None
        while re.match(r"[A-Za-z_]", self.peek() or "0"):
            kind = self.take()
            if self.peek() == "<" and (end := _angle(self.tokens, self.at)):
                self.at = end + 1
            if self.peek() != "::":
                break
            self.take()
        while self.peek() in ("*", "&", "const", "unsigned", "long", "int", "&&", "char"):
            self.at += 1
        if self.peek() == "[" and kind == "auto":
            names = [word for word in self.inner("[").tokens if word != ","]
            self.take("=")
            value = self.expression()
            self.end()
            return ("declare", tuple(names), None, value)
        name = self.peek()
        if not re.match(r"[A-Za-z_]", name or "0") or self.peek(1) not in ("=", ";", "{", "(", ",", "["):
            self.at = start
            return None
        found = []
        while True:
            name = self.take()
            value = None
            if self.peek() == "[":
                self.inner("[")
            if self.peek() == "=":
                self.take()
                value = self.expression()
            elif self.peek() == "{":
                value = self.primary()
            elif self.peek() == "(":
                parts = _split(self.inner("(").tokens)
                value = ("list", [Parser(part).whole() for part in parts]) if parts else None
            found.append(("declare", (name,), kind, value))
            if self.peek() != ",":
                break
            self.take()
            while self.peek() in ("*", "&"):
                self.take()
        self.end()
        return found[0] if len(found) == 1 else ("group", found)

    def whole(self) -> Any:
        value = self.expression()
        if self.peek():
            raise SyntaxError(f"left: {self.tokens[self.at :]}")
        return value

    def expression(self) -> Any:
        left = self.binary(0)
        if self.peek() == "?":
            self.take()
            then = self.expression()
            self.take(":")
            return ("?", left, then, self.expression())
        if self.peek() in ("=", "+=", "-=", "*=", "/=", "|=", "&="):
            sign = self.take()
            value = self.expression()
            return ("=", left, value if sign == "=" else ("op", sign[0], left, value))
        return left

    _LEVELS = (
        ("||",),
        ("&&",),
        ("|",),
        ("^",),
        ("&",),
        ("==", "!="),
        ("<", ">", "<=", ">="),
        ("<<",),
        ("+", "-"),
        ("*", "/", "%"),
    )

    def binary(self, level: int) -> Any:
        if level == len(self._LEVELS):
            return self.unary()
        left = self.binary(level + 1)
        while self.peek() in self._LEVELS[level] or (
            "<<" in self._LEVELS[level] and self.peek() == self.peek(1) == ">"
        ):
            if (sign := self.take()) == ">" and self.peek() == ">":
                sign += self.take()
            left = ("op", sign, left, self.binary(level + 1))
        return left

    def unary(self) -> Any:
        if self.peek() in ("!", "-", "*", "&", "~", "+", "++", "--"):
            sign = self.take()
            value = self.unary()
            return value if sign in "*&+" else ("unary", sign, value)
        return self.postfix(self.primary())

    def primary(self) -> Any:
        token = self.peek()
        if token == "(":
            start = self.at
            inner = self.inner("(")
            # a cast: (int64_t)x
            if all(re.fullmatch(r"\w+|::|\*", word) for word in inner.tokens) and (
                re.match(r"[A-Za-z_(]", self.peek() or "+") and inner.tokens[0] not in ("true", "false")
            ):
                return self.unary()
            self.at = start
            return self.inner("(").whole()
        if token == "{":
            return ("list", [Parser(part).whole() for part in _split(self.inner("{").tokens)])
        if token == "[":
            self.inner("[")
            names = []
            if self.peek() == "(":
                names = [part[-1] for part in _split(self.inner("(").tokens)]
            while self.peek() and self.peek() != "{":
                self.take()
            return ("lambda", tuple(names), self.inner("{").statements())
        if token[:1] in "\"'" and token:
            while self.peek()[:1] == '"':
                self.take()
            if self.peek() == token:
                self.take()
            return ("text", token)
        if token[:1].isdigit():
            self.take()
            digits = re.match(r"0[xX][0-9a-fA-F]+|\d+", token)
            return (
                "number",
                int(digits[0], 0) if digits and "." not in token and not re.match(r"0\d", token) else None,
            )
        if not re.match(r"[A-Za-z_:]", token or "+"):
            raise SyntaxError(token)
        words = []
        if token == "::":
            self.take()
        while True:
            words.append(self.take())
            if (
                self.peek() == "<"
                and (end := _angle(self.tokens, self.at))
                and self.tokens[end + 1 : end + 2] in (["("], ["{"], ["::"])
            ):
                self.at = end + 1
            if self.peek() != "::":
                break
            self.take()
        return ("name", "::".join(words))

    def postfix(self, value: Any) -> Any:
        while True:
            token = self.peek()
            if token == "(":
                parts = _split(self.inner("(").tokens)
                value = ("call", value, [Parser(part).whole() for part in parts])
            elif token == "{" and value[0] == "name" and re.search(r"[a-z]", value[1]):
                value = self.primary()
            elif token == "[":
                value = ("index", value, self.inner("[").whole())
            elif token in (".", "->"):
                self.take()
                name = self.take()
                if name == "operator":
                    self.inner("[")
                    value = ("index", value, self.inner("(").whole())
                    continue
                if self.peek() == "<" and (end := _angle(self.tokens, self.at)):
                    self.at = end + 1
                value = ("member", value, name)
            elif token in ("++", "--"):
                self.take()
            else:
                return value


# ---- the walk


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
    """A data type that is one of these; ``of``: it is that of this parameter."""

    names: frozenset[str]
    of: str = ""


@dataclass(frozen=True)
class Shape:
    of: str


@dataclass(frozen=True)
class Rank:
    of: str


@dataclass(frozen=True)
class Constant:
    """A name of an enumeration."""

    name: str


@dataclass(frozen=True)
class Attribute:
    """A parameter of the first phase that is a number: what it is told may be anything."""

    name: str


@dataclass(frozen=True)
class Found:
    """The place of a data type in a list; ``within`` are the members."""

    within: tuple[Any, ...]
    what: Any


END = Constant("end()")
NULLPTR = Constant("nullptr")


class Record(dict[str, Any]):
    """A structure."""


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
    scope: dict[str, Any] = field(default_factory=dict)

    def copy(self) -> State:
        return State(dict(self.types), dict(self.ranks), dict(self.nulls), dict(self.scope))

    def within(self, scope: dict[str, Any]) -> State:
        return State(self.types, self.ranks, self.nulls, scope)


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
            {
                name: value if _same(value, other.scope[name]) else _either(value, other.scope[name])
                for name, value in first.scope.items()
                if name in other.scope
            },
        )
    return first


def _same(one: Any, other: Any) -> bool:
    return one is other or (type(one) is type(other) and not isinstance(one, Split) and one == other)


def _about(*values: Any) -> frozenset[str]:
    """The parameters whose data types such values may tell."""
    found: set[str] = set()
    for value in values:
        if isinstance(value, Unknown):
            found |= value.about
        elif isinstance(value, Pointer):
            found.add(value.name)
        elif isinstance(value, Types):
            found |= {value.of} if value.of else set()
        elif isinstance(value, (tuple, list)):
            found |= _about(*value)
        elif isinstance(value, Record):
            found |= _about(*value.values())
        elif isinstance(value, Split):
            found |= _about(*(one for one, _ in value.ways))
    return frozenset(found)


def _either(one: Any, other: Any) -> Any:
    if isinstance(one, Types) and isinstance(other, Types):
        return Types(one.names | other.names)
    return Unknown(_about(*(value for value in (one, other) if isinstance(value, (Unknown, Types, Split)))))


class TooDeep(Exception):
    """The walk takes too many steps."""


# Members and functions that tell nothing of a data type, whatever they are asked.
_QUIET = re.compile(
    r"^(l0op::|OP_LOG|LOG|std::(string|to_string|min|max|abs|move|ceil|floor|pow)|op::ToString|ToString|GetString|"
    r"BroadcastInferShape|CheckBroadcastShape|CREATE_EXECUTOR|printf|.*Contiguous|.*Unsqueeze|.*Squeeze|.*Reshape|"
    r".*ReFormat|.*Transpose|.*TransData|IsContiguous|IsEmpty|GetPrimaryFormat|IsPrivateFormat|op::IsPrivateFormat|"
    r".*Shape.*|.*Dim.*|.*Size.*|.*Format.*|.*Broadcast.*|InitExecutor|.*CalcOutput.*|.*Empty.*|.*Zero.*|.*Fill.*|"
    r".*Log.*|.*Stride.*|.*ViewCopy.*|std::make_shared|strn?cmp|str[n]?len|aclGet.*|tolower|"
    r"Post.*|.*Process|Exec.*|CommonOpExecutorRun|memcpy_s|IsDimValid)"
)
_ABOUT_TYPE = re.compile(r"Type|Supp|Valid|Check|Dtype")


class Walk:
    """One way through a first phase on one product."""

    def __init__(self, sources: Sources, product: str) -> None:
        self.sources, self.product = sources, product
        self.unclear: set[str] = set()
        self.unread: set[str] = set()  # functions that were asked about data types and are not read here
        self.steps, self.depth = 0, 0

    # -- calls

    def call(self, callee: Callee, arguments: list[Any], state: State) -> list[tuple[Any, State]]:
        """The results, each with what is so then."""
        scope: dict[str, Any] = {}
        for place, (name, default) in enumerate(callee.parameters):
            if place < len(arguments):
                scope[name] = arguments[place]
            elif default is not None:
                scope[name] = self.value(_whole(tuple(default)), state.within({"": callee.file}), callee.file)
        scope[""] = callee.file
        ended: list[tuple[Any, State]] = []
        self.depth += 1
        if self.depth > 30:
            raise TooDeep
        left = self.block(callee.body, state.copy().within(scope), ended)
        self.depth -= 1
        if left:
            ended.append((None, left))
        return [(value, merged) for value, merged in _merged(ended) if merged]

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
        if self.steps > 60000:
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
            elif isinstance(value, Unset):
                value = UNKNOWN
            if len(names) == 1:
                state.scope[names[0]] = value
            else:
                parts = value if isinstance(value, tuple) and len(value) == len(names) else ()
                for place, name in enumerate(names):
                    state.scope[name] = parts[place] if parts else Unknown(_about(value))
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
            ways = value.ways if isinstance(value, Split) else ((value, state),)
            ended.extend((one, where.within(state.scope)) for one, where in ways)
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
            element = items if isinstance(items, Pointer) else Unknown(_about(items))
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
                self.unclear |= _about(state.scope[word])
        return state

    def bind(self, state: State, names: tuple[str, ...], several: bool, item: Any) -> None:
        for place, name in enumerate(names):
            part = item
            if several:
                part = item[place] if isinstance(item, tuple) and place < len(item) else Unknown(_about(item))
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
            if name in left.scope and not _same(value, left.scope[name]):
                left.scope[name] = Unknown(_about(value, left.scope[name]))
        return left

    def switch(self, statement: Any, state: State, ended: list[tuple[Any, State]]) -> State | None:
        what = self.value(statement[1], state)
        left: list[State | None] = []
        rest: State | None = state
        falling: State | None = None
        for labels, body in statement[2]:
            entering = falling
            for label in labels:
                if rest is None:
                    break
                if label == "default":
                    entering, rest = join((entering, rest.copy())), rest
                    if "default" in (one for more, _ in statement[2][-1:] for one in more):
                        rest = None
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

    # -- macros

    def macro(self, name: str, parts: list[list[str]], state: State, ended: list[tuple[Any, State]]) -> State | None:
        if re.match(r"OP_LOG|L2_DFX|LOG|DFX|FAULT", name):
            return state

        def otherwise(where: State | None, last: Sequence[str]) -> None:
            """The way of what the check refuses."""
            if where:
                self.block(Parser([*last, ";"]).statements(), where, ended)

        def tree(part: Sequence[str]) -> Any:
            return _whole(tuple(part))

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
                        otherwise(no, ["return", _NULL])
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
                otherwise(no, parts[2])
                return yes
            if name == "CHECK_SHAPE_ALL_EQUAL":
                return state
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

    # -- conditions

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
                return (yes, no) if sign == "==" else (no, yes)
            return self.order(sign, left, right, state)
        if kind == "call" and condition[1][0] == "name":
            name = condition[1][1].split("::")[-1]
            known = {"CheckType", "CanCast", "IsComplexType", "IsFloatingType", "IsIntegralType", "IsNullptr"}
            if name in known and not condition[1][1].startswith("l0op"):
                given = [self.value(one, state) for one in condition[2]]
                if name == "CheckType":
                    return self.among(given[0], given[1], state)
                if name == "IsNullptr":
                    return self.compare(given[0], NULLPTR, state)
                if name == "CanCast":
                    return self.castable(given[0], given[1], state)
                kinds = {"IsComplexType": COMPLEX, "IsFloatingType": FLOATS, "IsIntegralType": INTEGERS}[name]
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
                for side, found in zip(sides, self.truth(one, where.copy().within(dict(state.scope))), strict=True):
                    side.append(found)
            return join(sides[0]), join(sides[1])
        if isinstance(value, Pointer):
            yes, no = self.compare(value, NULLPTR, state)
            return no, yes
        if value is None or isinstance(value, (Unknown, Types, Rank, Shape, Found, Record, Attribute)):
            self.doubt(value)
            return state, state.copy()
        if isinstance(value, Constant):
            return (None, state) if value == NULLPTR else (state, None)
        return (state, None) if value else (None, state)

    def doubt(self, *values: Any) -> None:
        for value in values:
            if isinstance(value, Unknown):
                self.unclear |= value.about

    def limited(self, state: State, name: str, types: frozenset[str]) -> State | None:
        """The state with a parameter's types narrowed; None where none is left, though it is there."""
        narrowed = state.types[name] & types
        if not narrowed and state.types[name]:
            return None
        if narrowed == state.types[name]:
            return state
        state = state.copy()
        state.types[name] = narrowed
        return state

    def among(self, what: Any, members: Any, state: State) -> tuple[State | None, State | None]:
        if isinstance(what, Split):
            what = self.joined(what)
        if not isinstance(what, Types) or not isinstance(members, tuple):
            self.unclear |= _about(what) | _about(members)
            return state, state.copy()
        sets = [one.names for one in members if isinstance(one, Types)]
        if len(sets) < len(members) or any(len(one) > 1 for one in sets):
            self.unclear |= _about(what)
            return state, state.copy()
        listed = frozenset().union(*sets)
        if what.of:
            names = state.types[what.of] & what.names
            return (
                self.limited(state.copy(), what.of, listed) if names & listed else None,
                self.limited(state.copy(), what.of, EVERY - listed) if names - listed else None,
            )
        return state if what.names & listed else None, state.copy() if what.names - listed else None

    def castable(self, one: Any, other: Any, state: State) -> tuple[State | None, State | None]:
        one, other = self.joined(one), self.joined(other)
        if not isinstance(one, Types) or not isinstance(other, Types):
            self.unclear |= _about(one, other)
            return state, state.copy()
        left, right = (state.types[value.of] & value.names if value.of else value.names for value in (one, other))
        yes: State | None = state.copy()
        if one.of and yes:
            yes = self.limited(yes, one.of, frozenset(a for a in left if any(can_cast(a, b) for b in right)))
        if other.of and yes:
            yes = self.limited(yes, other.of, frozenset(b for b in right if any(can_cast(a, b) for a in left)))
        possible = any(can_cast(a, b) for a in left for b in right)
        certain = all(can_cast(a, b) for a in left for b in right)
        return yes if possible else None, None if certain else state

    def compare(self, left: Any, right: Any, state: State) -> tuple[State | None, State | None]:
        """Where two values are equal, and where they are not."""
        if (
            isinstance(right, Split)
            or isinstance(left, Attribute)
            or (isinstance(left, Constant) and not isinstance(right, (Constant, Split)))
        ):
            left, right = right, left
        if isinstance(left, Split):
            sides: tuple[list[State | None], list[State | None]] = ([], [])
            for one, where in left.ways:
                here = where.copy().within(dict(state.scope))
                for side, found in zip(sides, self.compare(one, right, here), strict=True):
                    side.append(found)
            return join(sides[0]), join(sides[1])
        if isinstance(left, Pointer) and right == NULLPTR:
            return self.absent(left, state)
        if (isinstance(left, Found) and right == END) or (isinstance(right, Found) and left == END):
            place = left if isinstance(left, Found) else right
            yes, no = self.among(place.what, place.within, state)
            return no, yes
        if isinstance(left, Types) and isinstance(right, Types):
            return self.same_type(left, right, state)
        if isinstance(left, Rank) or isinstance(right, Rank):
            return self.order("==", left, right, state)
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
            self.unclear |= _about(left, right)
        return state, state.copy()

    def absent(self, pointer: Pointer, state: State) -> tuple[State | None, State | None]:
        name = pointer.name
        if name not in state.nulls:
            return state, state.copy()
        yes = no = None
        if True in state.nulls[name]:
            yes = state.copy()
            yes.nulls[name] = frozenset((True,))
            if name in yes.types:
                yes.types[name], yes.ranks[name] = frozenset(), frozenset()
        if False in state.nulls[name]:
            no = state.copy()
            no.nulls[name] = frozenset((False,))
        return yes, no

    def same_type(self, left: Types, right: Types, state: State) -> tuple[State | None, State | None]:
        if left.of and left.of == right.of:
            return state, None
        a, b = (state.types[value.of] & value.names if value.of else value.names for value in (left, right))
        both = a & b
        yes: State | None = state.copy() if both or not (a and b) else None
        no: State | None = None if len(a) == len(b) == 1 and both else state.copy()
        for value in (left, right):
            if yes and value.of:
                yes = self.limited(yes, value.of, both)
        for value, other in ((left, b), (right, a)):
            if no and value.of and len(other) == 1:
                no = self.limited(no, value.of, EVERY - other)
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
        if isinstance(left, Constant) and isinstance(right, Constant):
            versions = [one.name.split("::")[-1].replace("ASCEND910_95", "ASCEND950") for one in (left, right)]
            if all(one in _VERSIONS for one in versions):
                return (state, None) if test(*map(_VERSIONS.index, versions)) else (None, state)
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

    # -- values

    def joined(self, value: Any) -> Any:
        if not isinstance(value, Split):
            return value
        first = value.ways[0][0]
        for other, _ in value.ways[1:]:
            first = first if _same(first, other) else _either(first, other)
        return first

    def only(self, value: Any, state: State) -> State | None:
        """The state after a call whose result nobody reads."""
        if isinstance(value, Split):
            return join(where.within(state.scope) for _, where in value.ways)
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
                return of[at] if isinstance(at, int) and at < len(of) else Unknown(_about(of))
            return of if isinstance(of, Pointer) else Unknown(_about(of) if isinstance(of, Unknown) else frozenset())
        if kind == "=":
            value = self.value(expression[2], state)
            self.assign(expression[1], value, state)
            return value
        if kind == "?":
            yes, no = self.branch(expression[1], state)
            found = [
                self.joined(self.value(way, side)) for way, side in zip(expression[2:], (yes, no), strict=True) if side
            ]
            return found[0] if len(found) == 1 or _same(*found) else _either(*found)
        if kind == "unary":
            if expression[1] == "!":
                return self.condition(expression, state)
            value = self.value(expression[2], state)
            return -value if expression[1] == "-" and isinstance(value, int) else UNKNOWN
        if kind == "op":
            if expression[1] in ("&&", "||", "==", "!=", "<", ">", "<=", ">="):
                return self.condition(expression, state)
            left, right = (self.joined(self.value(one, state)) for one in expression[2:])
            if isinstance(left, int) and isinstance(right, int) and expression[1] in "+-*":
                return {"+": left + right, "-": left - right, "*": left * right}[expression[1]]
            return Unknown(_about(*(one for one in (left, right) if isinstance(one, Unknown))))
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
        elif target[0] == "member" and isinstance(of := self.value(target[1], state), Record):
            of[target[2]] = value

    def name(self, name: str, state: State) -> Any:
        if name in state.scope:
            return state.scope[name]
        if name in ("true", "false"):
            return name == "true"
        if name in ("nullptr", "NULL"):
            return NULLPTR
        last = name.split("::")[-1]
        if m := re.fullmatch(r"(?:DT|ACL)_([A-Z0-9_]+)", last):
            word = _NAMES.get(m[1], m[1])
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
        if target[0] == "member":
            return self.method(self.value(target[1], state), target[2], arguments, state)
        if target[0] != "name":
            function = self.value(target, state)
            given = [self.value(one, state) for one in arguments]
            return self.closure(function, given, state) if isinstance(function, Closure) else Unknown(_about(given))
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
        if last in ("CheckType", "CanCast", "IsComplexType", "IsFloatingType", "IsIntegralType", "IsNullptr"):
            return self.condition(expression, state)
        given = [self.value(one, state) for one in arguments]
        flat = [self.joined(one) for one in given]
        if last == "PromoteType" and len(flat) == 2:
            if all(isinstance(one, Types) for one in flat):
                a, b = (state.types[one.of] & one.names if one.of else one.names for one in flat)
                if flat[0].of and flat[0].of == flat[1].of:
                    return Types(a)
                return Types(frozenset(promote(x, y) or "no UNDEFINED" for x in a for y in b))
            return Unknown(_about(*flat))
        if last in ("find", "count") and len(flat) == 3:
            return Found(flat[0], flat[2]) if isinstance(flat[0], tuple) else Unknown(_about(flat[2]))
        if name.startswith("l0op::"):
            return UNKNOWN
        if callee := self.sources.find(last, state.scope.get(""), len(given)):
            ways = self.call(callee, given, state)
            if not ways:
                return UNKNOWN
            if len(ways) == 1:
                value, where = ways[0]
                state.types.update(where.types)
                state.ranks.update(where.ranks)
                state.nulls.update(where.nulls)
                return value
            return Split(tuple(ways))
        about = _about(*flat)
        if about and not _QUIET.match(name):
            self.unread.add(name)
            return Unknown(about)
        return UNKNOWN

    def closure(self, function: Closure, given: list[Any], state: State) -> Any:
        scope = dict(function.scope)
        scope.update(zip(function.names, given, strict=False))
        ended: list[tuple[Any, State]] = []
        self.depth += 1
        if self.depth > 30:
            raise TooDeep
        left = self.block(function.body, state.copy().within(scope), ended)
        self.depth -= 1
        ways = [(value, where) for value, where in _merged(ended + ([(None, left)] if left else [])) if where]
        return Split(tuple(ways)) if len(ways) > 1 else ways[0][0] if ways else UNKNOWN

    def method(self, of: Any, name: str, arguments: list[Any], state: State) -> Any:
        of = self.joined(of)
        if isinstance(of, Pointer):
            if name in ("GetDataType",):
                return Types(state.types.get(of.name, EVERY), of.name) if of.name in state.types else UNKNOWN
            if name in ("GetViewShape",) and of.name in state.ranks:
                return Shape(of.name)
            return UNKNOWN
        if isinstance(of, Shape):
            return Rank(of.of) if name == "GetDimNum" else UNKNOWN
        if of == Constant("platform"):
            if name == "GetCurNpuArch":
                return Constant(_ARCHITECTURE[self.product])
            if name == "GetSocVersion":
                return Constant(_VERSION[self.product])
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
            return Unknown(_about(of))
        if isinstance(of, Unknown):
            if name == "end":
                return END
            return Unknown(
                of.about
                | (_about(*(self.value(one, state) for one in arguments)) if _ABOUT_TYPE.search(name) else frozenset())
            )
        return UNKNOWN


@dataclass(frozen=True)
class Leave:
    kind: str


@dataclass(frozen=True)
class Unset:
    kind: str | None


def _merged(ended: list[tuple[Any, State]]) -> list[tuple[Any, State | None]]:
    """Ways that end with one value as one way."""
    groups: list[tuple[Any, list[State]]] = []
    for value, where in ended:
        for known, wheres in groups:
            if _same(known, value):
                wheres.append(where)
                break
        else:
            groups.append((value, [where]))
    return [(value, join(wheres)) for value, wheres in groups]


@functools.cache
def _whole(tokens: tuple[str, ...]) -> Any:
    return Parser(tokens).whole()


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

    def find(self, name: str, file: File | None, count: int | None = None) -> Callee | None:
        """The function of this name that a file would call: its own, one of its folder, or the only one there is."""
        found = self.by_name.get(name, [])
        if count is not None:
            found = [
                one
                for one in found
                if len([default for _, default in one.parameters if default is None]) <= count <= len(one.parameters)
            ]
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
            return _whole(tuple(chosen[0][0])), chosen[0][1]
        except SyntaxError:
            return None, chosen[0][1]


@dataclass(frozen=True)
class Taken:
    """What a first phase takes on one product."""

    types: Mapping[str, frozenset[str]]
    ranks: Mapping[str, frozenset[int]]
    nulls: Mapping[str, frozenset[bool]]
    unclear: frozenset[str]
    codes: frozenset[str]  # of the ways that end otherwise
    unread: frozenset[str]


def follow(
    sources: Sources,
    function: str,
    product: str,
    types: Mapping[str, frozenset[str]] | None = None,
    nulls: Mapping[str, frozenset[bool]] | None = None,
    ranks: Mapping[str, frozenset[int]] | None = None,
) -> Taken | None:
    """What is left on the ways to success; None where the first phase is in none of the sources or too long.

    ``types`` and the others limit parameters from the start: ``types`` of the result are empty where nothing succeeds.
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
        if re.search(r"\bacl(Tensor|Scalar)", kind)
    ]
    state = State(
        {name: (types or {}).get(name, EVERY) for name in tensors},
        {name: (ranks or {}).get(name, RANKS) for name in tensors},
        {name: (nulls or {}).get(name, frozenset((True, False))) for name in pointers},
    )
    arguments: list[Any] = []
    for (name, _), kind in zip(callee.parameters, callee.types, strict=True):
        arguments.append(Pointer(name) if kind.endswith("*") and name in pointers else Attribute(name))
    walk = Walk(sources, product)
    try:
        ways = walk.call(callee, arguments, state)
    except (TooDeep, RecursionError):
        return None
    good = join(where for value, where in ways if value == Constant(_SUCCESS) or not isinstance(value, Constant))
    codes = frozenset(value.name for value, _ in ways if isinstance(value, Constant) and value.name != _SUCCESS)
    if good is None:
        return Taken({}, {}, {}, frozenset(walk.unclear), codes, frozenset(walk.unread))
    return Taken(good.types, good.ranks, good.nulls, frozenset(walk.unclear), codes, frozenset(walk.unread))
