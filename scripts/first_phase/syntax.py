"""C++ as text to functions, constants and structures, and functions to trees: as much of it as first phases use."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_TOKEN = re.compile(
    r"\s+|//[^\n]*|/\*.*?\*/|(?P<text>\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*')|(?P<number>0[xX][0-9a-fA-F]+|\d[\w.]*(?:(?<=[eE])[+-]\d\w*)?)"
    r"|(?P<word>[A-Za-z_]\w*)|(?P<sign>->|::|==|!=|<=|>=|&&|\|\||\+\+|--|[-+*/|&]=|<<|\.\.\.|##|.)",
    re.DOTALL,
)


_WORDS = {"or": "||", "and": "&&", "not": "!"}


def tokens_of(source: str) -> list[str]:
    return [_WORDS.get(m[0], m[0]) for m in _TOKEN.finditer(source) if m.lastgroup]


def closing(tokens: Sequence[str], at: int) -> int:
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


def split(tokens: Sequence[str], at: str = ",") -> list[list[str]]:
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


def angle(tokens: Sequence[str], at: int) -> int | None:
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

    @property
    def any_number(self) -> bool:
        """Whether it takes as many arguments as it is given."""
        return bool(self.types) and self.types[-1].endswith("...")

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
                at = closing(tokens, at) + 1
            elif token == "{":
                end, head = closing(tokens, at), tokens[start:at]
                if "namespace" in head or ('"C"' in head and "(" not in head):
                    self._read(tokens[at + 1 : end])
                    start = at = end + 1
                elif head[:1] in (["struct"], ["class"], ["enum"], ["union"], ["typedef"]) and ")" not in head:
                    self._structure(head, tokens[at + 1 : end])
                    at = end + 1
                elif head and "(" in head and "=" not in head[: head.index("(")]:  # a default is behind it
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
            for number, part in enumerate(split(body)):
                self.constants[part[0]] = part[2:] if "=" in part else [str(number)]
            return
        fields = []
        for part in split([*body], ";"):
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
            opens = closing(head, opens) + 1
            if "(" not in head[opens:]:
                return
            opens = head.index("(", opens)
        if not opens:
            return
        name, parameters, types = head[opens - 1], [], []
        for part in split(head[opens + 1 : closing(head, opens)]):
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
                        closes = closing(self.tokens, end)
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
        end = closing(self.tokens, start)
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
            parts = split(inner.tokens, ";")
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
                parts = split([*inner.tokens], ";")
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
        if token == "try":
            self.take()
            body = self.body()
            while self.peek() == "catch":
                self.take()
                self.inner("(")
                self.body()
            return ("block", body)
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
            parts = split(self.inner("(").tokens)
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
            if self.peek() == "<" and (end := angle(self.tokens, self.at)):
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
                parts = split(self.inner("(").tokens)
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
        if self.peek() == "#":  # an argument of a macro as text
            self.take()
            return ("text", self.take())
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
            return ("list", [Parser(part).whole() for part in split(self.inner("{").tokens)])
        if token == "[":
            self.inner("[")
            names = []
            if self.peek() == "(":
                names = [part[-1] for part in split(self.inner("(").tokens)]
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
            if re.fullmatch(r"\d+\.?\d*([eE][+-]?\d+)?[fF]?", token) and re.search("[.eEfF]", token):
                return ("number", float(token.rstrip("fF")))
            digits = re.match(r"0[xX][0-9a-fA-F]+|\d+", token)
            return ("number", int(digits[0], 0) if digits and not re.match(r"0\d", token) else None)
        if not re.match(r"[A-Za-z_:]", token or "+"):
            raise SyntaxError(token)
        words = []
        if token == "::":
            self.take()
        while True:
            words.append(self.take())
            if (
                self.peek() == "<"
                and (end := angle(self.tokens, self.at))
                and (words[-1].endswith("_v") or self.tokens[end + 1 : end + 2] in ([], ["("], ["{"], ["::"]))
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
                parts = split(self.inner("(").tokens)
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
                if self.peek() == "<" and (end := angle(self.tokens, self.at)):
                    self.at = end + 1
                value = ("member", value, name)
            elif token in ("++", "--"):
                self.take()
            elif token == "...":
                self.take()
                value = ("spread", value)
            else:
                return value


@functools.cache
def parsed(tokens: tuple[str, ...]) -> Any:
    return Parser(tokens).whole()
