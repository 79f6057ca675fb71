"""Arrays in a local memory, as the C interface and functions of threads declare them: `translated`."""

from __future__ import annotations

import re

from ophook_npu.kernel.text import replaced

# `__ubuf__ float x[64], y[64];`: arrays of the C interface, in the local memory of a position.
_SPACES = {"ubuf": "VECCALC", "cbuf": "A1", "ca": "A2", "cb": "B2", "cc": "CO1", "fbuf": "C2PIPE2GM"}
_SPACE = "|".join(_SPACES)
_ALONE = re.compile(rf"__(?<!\w__)(?:{_SPACE})__")
_ARRAY = r"\w+(?:\s*\[[^\[\];=]+\])+"
_ARRAYS = re.compile(
    rf"__(?<!\w__)({_SPACE})__\s+((?:\w+\s+|\w+::)*?\w+(?:<[^<>;]*>)?)\s+({_ARRAY}(?:\s*,\s*{_ARRAY})*)\s*;"
)


def _arrays(found: re.Match[str]) -> str:
    """Of a declaration: each array is a reference to where the runtime has its place."""
    space, kind, names = found.groups()
    made = []
    for name, sizes in re.findall(r"(\w+)((?:\s*\[[^\[\]]*\])+)", names):
        position, array = f"int(::AscendC::TPosition::{_SPACES[space]})", f"{kind}{sizes}"
        place = f'::ophook::rt::local_array({position}, sizeof({array}), "{name}", ::ophook::rt::At::here())'
        made.append(f"{kind} (&{name}){sizes} = *static_cast<{kind} (*){sizes}>({place});")
    return " ".join(made) + "\n" * found[0].count("\n")


def translated(text: str) -> str:
    """A preprocessed source without the names of local memories: their arrays lie where the runtime has a place."""
    return replaced(_ALONE, lambda _: "", replaced(_ARRAYS, _arrays, text))
