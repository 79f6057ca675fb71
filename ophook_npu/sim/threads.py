"""Functions of threads (SIMT) in a program's source, as g++ takes them: `translated`."""

from __future__ import annotations

import re

# The compiler calls the runtime before each access to memory: runtime/simt_memory.cpp has what it calls.
WATCHED = ["-fsanitize=thread", "--param=tsan-instrument-func-entry-exit=0"]

_HEAD = re.compile(r"\b__(?:global|simt_vf)__\b")
_OTHER_KERNEL = re.compile(r"\b__(?:vector|cube|mix|aicore)__\b|\[aicore\]")
_BOUND = re.compile(r"\b__launch_bounds__\s*\(")
_DYNAMIC = re.compile(r"\bextern\s+__ubuf__\s+((?:\w+\s+|\w+::)*?\w+(?:<[^<>;]*>)?)\s+(\w+)\s*\[\s*\]\s*;")


def translated(text: str) -> str:
    """``__launch_bounds__(N)`` becomes the first thing that the function's threads do; ``extern __ubuf__ T name[];`` a
    pointer to what the launch gave.
    """
    pieces: list[str] = []
    at = 0
    for found in _HEAD.finditer(text):
        if found.start() < at:
            continue
        begin = max(text.rfind(mark, 0, found.start()) for mark in ";{}") + 1
        end, name = _body(text, found.end())
        head = text[begin:end]
        if end == len(text) or text[end] == ";" or (found[0] == "__global__" and _OTHER_KERNEL.search(head)):
            continue
        bound = _BOUND.search(head)
        most = head[bound.end() : _closing(head, bound.end() - 1)] if bound else "0"
        check = f'::ophook::rt::simt_bound({" ".join(most.split())}, "{name}", ::ophook::rt::At::here());'
        pieces += [text[at : end + 1], check]
        at = end + 1
    text = "".join([*pieces, text[at:]])
    text = _without_bounds(re.sub(r"\b__simt_vf__\b", "", text))
    return _DYNAMIC.sub(lambda it: f"{it[1]}* {it[2]} = static_cast<{it[1]}*>(::ophook::rt::simt_dynamic_array());", text)


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


def _closing(text: str, at: int) -> int:
    depth = 0
    for i in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return i
    return len(text)


def _without_bounds(text: str) -> str:
    pieces, at = [], 0
    for found in _BOUND.finditer(text):
        pieces.append(text[at : found.start()])
        at = _closing(text, found.end() - 1) + 1
    return "".join([*pieces, text[at:]])
