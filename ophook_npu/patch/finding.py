"""One thing that was checked, and how it came out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TreeCheck:
    what: str
    ok: bool
    detail: str
    todo: str = ""
