"""Functions of threads (SIMT) in a program's source, as g++ takes them: `translated`."""

from __future__ import annotations

import bisect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ophook_npu.errors import OphookError
from ophook_npu.kernel.text import closing

FUNCTION = "__simt_vf__"  # what its name stands behind

# The compiler calls the runtime before each access to memory: runtime/simt_memory.cpp has what it calls.
WATCHED = ["-fsanitize=thread"]

_OTHER_KERNEL = re.compile(r"\b__(?:vector|cube|mix|aicore)__\b|\[aicore\]|\bophook_aicore\b")
_MARK = re.compile("^#.*$", re.MULTILINE)  # around what a macro of a system's header stands for
_BOUND = re.compile(r"\b__launch_bounds__\s*\(")
_TYPE = r"(?:\w+\s+|\w+::)*?\w+(?:<[^<>;]*>)?"
_DYNAMIC = re.compile(rf"\bextern\s+__ubuf__\s+({_TYPE})\s+(\w+)\s*\[\s*\]\s*;")
_FIXED = re.compile(rf"(?<!extern )\b__ubuf__\s+({_TYPE})\s+(\w+)((?:\s*\[[^\[\];=]+\])+)\s*;")
_SINGLE = re.compile(r"(?<!extern )\b__ubuf__\s+((?!volatile\b)(?:\w+::)*\w+(?:<[^<>;]*>)?)\s+(\w+)\s*;")
_NAMESPACE = re.compile(r"(?:\bnamespace(?:\s+[\w:]+)?|\bextern\s+\"C(?:\+\+)?\")\s*$")


def are_in(text: str, enabled: bool) -> bool:
    """Whether a source has functions of threads, or may have parts of one: no kernel of another kind."""
    if FUNCTION in text:
        return True
    kernels = list(_functions(text, "__global__"))
    return enabled and (not kernels or any(_OTHER_KERNEL.search(text[one.begin : one.body]) is None for one in kernels))


@dataclass(frozen=True)
class _Function:
    begin: int  # of its declaration
    body: int  # where its body begins
    name: str


def _functions(text: str, *qualifiers: str) -> Iterator[_Function]:
    """Those that are defined with one of the qualifiers."""
    for found in re.finditer("|".join(rf"{one}(?<!\w{one})\b" for one in qualifiers), text):
        body, name = _body(text, found.end())
        if body < len(text) and text[body] == "{":
            yield _Function(max(text.rfind(mark, 0, found.start()) for mark in ";{}") + 1, body, name)


def translated(text: str) -> str:
    """``__launch_bounds__(N)`` becomes the first thing that the function's threads do; ``extern __ubuf__ T name[];`` a
    pointer to what the launch gave.
    """
    pieces: list[str] = []
    at = 0
    for one in _functions(text, "__global__", FUNCTION):
        head = text[one.begin : one.body]
        if one.body < at or ("__global__" in head and _OTHER_KERNEL.search(head)):
            continue
        bound = _BOUND.search(head)
        most = head[bound.end() : closing(head, bound.end() - 1)] if bound else "0"
        most = " ".join(_MARK.sub("", most).split())
        check = f'::ophook::rt::simt_bound({most}, "{one.name}", ::ophook::rt::At::here());'
        pieces += [text[at : one.body + 1], check]
        at = one.body + 1
    text = "".join([*pieces, text[at:]])
    text = _without_bounds(re.sub(rf"\b{FUNCTION}\b", "", text))
    return _arrays(text)


def _arrays(text: str) -> str:
    """``extern __ubuf__ T name[];`` as a pointer to what the launch gave; outside of functions, where no core runs yet
    and arrays of a known size stand as well, as what becomes one where it is used.
    """
    if "__ubuf__" not in text:
        return text
    outside = _outside(text)

    def dynamic(found: re.Match[str]) -> str:
        kind, name = found.groups()
        if outside(found.start()):
            return f'static const ::ophook::rt::UbArray<{kind}[]> {name}{{"{name}"}};'
        return f"{kind}* {name} = static_cast<{kind}*>(::ophook::rt::simt_dynamic_array());"

    def fixed(found: re.Match[str]) -> str:
        kind, name, sizes = found.groups()
        if not outside(found.start()):
            return found[0]
        return f'static const ::ophook::rt::UbArray<{kind}{sizes}> {name}{{"{name}"}};'

    def single(found: re.Match[str]) -> str:
        kind, name = found.groups()
        if outside(found.start()):
            raise OphookError(
                "bisheng", f"__ubuf__ {kind} {name}: a variable of UB outside of functions is not simulated",
                todo="declare it in the kernel, or as an array of one",
            )  # fmt: skip
        return f"__ubuf__ {kind} ophook_{name}[1]; {kind}& {name} = ophook_{name}[0];"

    return _SINGLE.sub(single, _FIXED.sub(fixed, _DYNAMIC.sub(dynamic, text)))


def _outside(text: str) -> Callable[[int], bool]:
    """Whether a place is in no braces but those of namespaces."""
    opened: list[tuple[int, bool]] = []  # from where on, and what holds there
    within: list[bool] = []
    for brace in re.finditer(r"[{}]", text):
        if brace[0] == "{":
            within.append(_NAMESPACE.search(text, max(0, brace.start() - 200), brace.start()) is None)
        elif within:
            within.pop()
        opened.append((brace.end(), not any(within)))
    places = [place for place, _ in opened]

    def outside(at: int) -> bool:
        before = bisect.bisect_right(places, at) - 1
        return before < 0 or opened[before][1]

    return outside


def _body(text: str, at: int) -> tuple[int, str]:
    """Where the function's body begins, or its declaration ends; and its name, before the parameters."""
    depth, name = 0, ""
    for i in range(at, len(text)):
        letter = text[i]
        if letter == "(" and depth == 0:
            before = re.search(r"(\w+)\s*$", text[max(at, i - 200) : i])
            if before and before[1] not in ("__launch_bounds__", "__attribute__", "alignas"):
                name = name or before[1]
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth == 0 and letter in ";{":
            return i, name
    return len(text), name


def _without_bounds(text: str) -> str:
    pieces, at = [], 0
    for found in _BOUND.finditer(text):
        pieces.append(text[at : found.start()])
        at = closing(text, found.end() - 1) + 1
    return "".join([*pieces, text[at:]])
