"""Functions that a source has twice, one for the host and one for the AI core.

To the device's compiler the mark ``__aicore__`` tells them apart, and a call means the one of its own side. g++
takes them for one function that is defined twice.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Callable

from ophook_npu.kernel.text import closing, outside_quotes

MARKED = "-DOPHOOK_MARKED"  # to the preprocessor: the mark stays in the text
_MARK = re.compile(r"\bophook_aicore\b|\b__global__\b")
_TWICE = re.compile(r"error: redefinition of [‘'](?:[^’'(]*?[ *&])?(?P<name>[\w:]+)(?:\(.*)?[’']")
_FILE = re.compile(r'^# \d+ "([^"]*)".*$', re.MULTILINE)


def twice(errors: str) -> set[str]:
    """The functions that a compiler's messages say are defined twice, with their namespaces."""
    return {found["name"] for found in _TWICE.finditer(errors)}


def apart(text: str, names: set[str], ours: Callable[[str], bool]) -> str:
    """Give the AI core's functions of these names another one, and so in what calls them there.

    Args:
        text: a source that was preprocessed with `MARKED`.
        names: as `twice` tells them.
        ours: whether a file is one of this package's, where names stay as they are.
    """
    spaces: dict[str, set[str]] = {}
    for name in names:
        *space, short = name.rsplit("::", 1)
        spaces.setdefault(short, set()).update(one.rsplit("::", 1)[-1] for one in space)
    called = re.compile(rf"(?<![\w.])(?<!->)(?:(?P<space>\w+)\s*::\s*)?(?P<name>{'|'.join(map(re.escape, spaces))})\b")

    def renamed(found: re.Match[str]) -> str:
        elsewhere = found["space"] and found["space"] not in spaces[found["name"]]
        return found[0] if elsewhere else f"{found[0]}_of_aicore"

    files = [(one.start(), ours(one[1])) for one in _FILE.finditer(text)]
    pieces, at = [], 0
    for mark in outside_quotes(_MARK, text):
        file = bisect.bisect(files, (mark.start(), True)) - 1
        if mark.start() < at or (file >= 0 and files[file][1]):
            continue
        end = _end(text, mark.end())
        pieces += [text[at : mark.end()], called.sub(renamed, text[mark.end() : end])]
        at = end
    return "".join([*pieces, text[at:]])


def _end(text: str, at: int) -> int:
    """Where a function ends whose parameters come behind ``at``: behind its body, or at the declaration's semicolon."""
    # Behind the mark's own brackets.
    while text.startswith(")", at):
        at += 1
    while at < len(text):
        if text[at] in "([":
            at = closing(text, at)
        elif text[at] == ";":
            return at
        elif text[at] == "{":
            at = closing(text, at)
            # A member that is initialized in braces comes before the body.
            if not re.match(r"\s*[,{]", text[at + 1 : at + 200]):
                return at + 1
        at += 1
    return at
