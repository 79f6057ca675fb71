"""Where custom operator packages are looked for: ASCEND_CUSTOM_OPP_PATH, then those that vendors/config.ini lists.

csrc/ge/load_priority.h does the same for the graph engine; tests/unit/npu/test_load_priority.py holds both to one
table.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

KEY = "load_priority"
_BLANKS = " \t\r"


class LoadPriority(NamedTuple):
    """What a ``vendors/config.ini`` lists.

    Attributes:
        names: packages, most important first.
        refused: entries that are not the name of a folder in ``vendors``.
        padded: those of ``names`` with blanks around them. The graph engine takes them, torch_npu does not find them.
    """

    names: list[str]
    refused: list[str]
    padded: list[str]


def load_priority(text: str) -> LoadPriority:
    """The packages listed in the text of a ``vendors/config.ini``.

    The first line ``load_priority=a,b`` counts, written from its first column and without a blank before ``=``:
    torch_npu reads no other one. Blanks around a name (a line may end with a carriage return), empty names and
    repeated ones are left out. Refused are ``.``, ``..``, and anything with a slash, a backslash, or a blank or control
    character inside.
    """
    found = LoadPriority([], [], [])
    line = next((line for line in text.split("\n") if line.startswith(f"{KEY}=")), "")
    for entry in line.removeprefix(f"{KEY}=").split(","):
        name = entry.strip(_BLANKS)
        names = found.names if _is_folder_name(name) else found.refused
        if name and name not in names:
            names.append(name)
            if names is found.names and name != entry:
                found.padded.append(name)
    return found


def _is_folder_name(name: str) -> bool:
    return name not in (".", "..") and not any(c in "/\\\x7f" or c <= " " for c in name)


def listed(opp: Path) -> LoadPriority:
    """:func:`load_priority` of an installed ``opp`` folder; empty where there is no ``vendors/config.ini``."""
    try:
        # Bytes that are no UTF-8 may be part of a folder's name.
        text = (opp / "vendors" / "config.ini").read_bytes().decode(errors="surrogateescape")
    except OSError:
        return LoadPriority([], [], [])
    return load_priority(text)


def packages(environ: Mapping[str, str]) -> list[tuple[Path, str]]:
    """The folders of custom operator packages, most important first, each with what names it."""
    custom = "ASCEND_CUSTOM_OPP_PATH"
    found = [(Path(entry), custom) for entry in environ.get(custom, "").split(":") if entry]
    opp = environ.get("ASCEND_OPP_PATH")
    if opp:
        vendors = Path(opp) / "vendors"
        found += [(vendors / name, f"{vendors / 'config.ini'}: {KEY}") for name in listed(Path(opp)).names]
    return found
