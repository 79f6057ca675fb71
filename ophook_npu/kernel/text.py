"""A C++ source as text: brackets that belong together, and what stands in no text between quotation marks."""

from __future__ import annotations

import bisect
import re
from collections.abc import Callable, Iterator

_QUOTED = re.compile(r'R"(?P<end>[^()\s\\]*)\(.*?\)(?P=end)"|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'', re.DOTALL)
_RAW = re.compile(r'R"[^()\s\\"]{0,16}\(')
_ENDS = {"(": ")", "{": "}", "[": "]"}


def closing(text: str, at: int) -> int:
    """Where the bracket at ``at`` ends; the text's end where it does not."""
    begins, ends, depth = text[at], _ENDS[text[at]], 0
    for i in range(at, len(text)):
        if text[i] == begins:
            depth += 1
        elif text[i] == ends:
            depth -= 1
            if not depth:
                return i
    return len(text)


def outside_quotes(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Where the pattern is found, but in no text between quotation marks."""
    raw = [found.span() for found in _QUOTED.finditer(text)] if _RAW.search(text) else None  # which may go over lines
    for found in pattern.finditer(text):
        at = found.start()
        if raw is None:
            begin, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
            if within := text.find('"', begin, at) >= 0:
                line = _QUOTED.finditer(text, begin, end if end >= 0 else len(text))
                within = any(quoted.start() < at < quoted.end() for quoted in line)
        else:
            nearest = bisect.bisect_left(raw, (at, at)) - 1
            within = nearest >= 0 and at < raw[nearest][1]
        if not within:
            yield found


def replaced(pattern: re.Pattern[str], by: Callable[[re.Match[str]], str], text: str) -> str:
    pieces, at = [], 0
    for found in outside_quotes(pattern, text):
        pieces += [text[at : found.start()], by(found)]
        at = found.end()
    return "".join([*pieces, text[at:]])
