"""Arrays in a local memory, as the C interface and functions of threads declare them, and numbers that a cast makes
addresses in the unified buffer: `translated`.
"""

from __future__ import annotations

import re

from ophook_npu.kernel.text import outside_quotes, replaced

# `__ubuf__ float x[64], y[64];`: arrays of the C interface, in the local memory of a position.
_SPACES = {"ubuf": "VECCALC", "cbuf": "A1", "ca": "A2", "cb": "B2", "cc": "CO1", "fbuf": "C2PIPE2GM"}
_SPACE = "|".join(_SPACES)
_ALONE = re.compile(rf"__(?<!\w__)(?:{_SPACE})__")
_ARRAY = r"\w+(?:\s*\[[^\[\];=]+\])+"
_ARRAYS = re.compile(
    rf"__(?<!\w__)({_SPACE})__\s+((?:\w+\s+|\w+::)*?\w+(?:<[^<>;]*>)?)\s+({_ARRAY}(?:\s*,\s*{_ARRAY})*)\s*;"
)
# `(__ubuf__ float*)0x400` and `reinterpret_cast<__ubuf__ float*>(offset)`, but no parameter without a name.
_UB = re.compile(r"__(?<!\w__)ubuf__")
_WORDS = r"\s*(?:\b(?:const|volatile)\s+)*"
_BEFORE = re.compile(rf"(?:(?<!sizeof)(?<!alignof)\(|\b(?:reinterpret|static)_cast\s*<)({_WORDS})$")
_BEHIND = re.compile(r"\s+([^()]*?\*)\s*\)(?=\s*(?!(?:const|noexcept|override|final|volatile)\b)[\w(&])")
_BEHIND_NAMED = re.compile(r"\s+((?:[^<>()]|<[^<>()]*>)*\*)\s*>(?=\s*\()")


def _arrays(found: re.Match[str]) -> str:
    """Of a declaration: each array is a reference to where the runtime has its place."""
    space, kind, names = found.groups()
    made = []
    for name, sizes in re.findall(r"(\w+)((?:\s*\[[^\[\]]*\])+)", names):
        position, array = f"int(::AscendC::TPosition::{_SPACES[space]})", f"{kind}{sizes}"
        place = f'::ophook::rt::local_array({position}, sizeof({array}), "{name}", ::ophook::rt::At::here())'
        made.append(f"{kind} (&{name}){sizes} = *static_cast<{kind} (*){sizes}>({place});")
    return " ".join(made) + "\n" * found[0].count("\n")


def _addresses(text: str) -> str:
    """Casts to pointers into the unified buffer that take a number, too."""
    pieces, at = [], 0
    for found in outside_quotes(_UB, text):
        before = _BEFORE.search(text, max(at, found.start() - 80), found.start())
        if not before:
            continue
        named = text[before.start()] != "("
        behind = (_BEHIND_NAMED if named else _BEHIND).match(text, found.end())
        if not behind:
            continue
        kind = before[1].lstrip() + behind[1]
        cast = f"::ophook::rt::ub_pointer<{kind}>" if named else f"({kind})(::ophook::rt::UbAddress)"
        pieces += [text[at : before.start()], cast]
        at = behind.end()
    return "".join([*pieces, text[at:]])


def translated(text: str) -> str:
    """A preprocessed source without the names of local memories: their arrays lie where the runtime has a place, and
    the scalar unit finds what a number tells.
    """
    return replaced(_ALONE, lambda _: "", _addresses(replaced(_ARRAYS, _arrays, text)))
