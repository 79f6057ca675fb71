"""A report as annotations, for a code review: each finding at the line of the program that leads to it."""

from __future__ import annotations

import re

from ophook_npu.observe.port.finding import Finding
from ophook_npu.observe.port.report import Report
from ophook_npu.observe.port.terms import term
from ophook_npu.observe.port.words import SAYS, say
from ophook_npu.plural import counted
from ophook_npu.sarif import Annotation

_SERIOUS = 3  # ranks from 1 to this are warnings: other numbers, the CPU in its place, a host that waits


def for_review(report: Report) -> list[Annotation]:
    """What was found, the worst first."""
    return [_annotation(one) for kind in report.kinds for one in report.grouped(kind)]


def meanings() -> dict[str, str]:
    """Code -> what to do about it: a rule's description."""
    return {code: re.sub(r"\{\w+\}", "…", english[1]) for code, (english, _) in SAYS.items()}


def _annotation(one: Finding) -> Annotation:
    key, where = one.key, one.key.where
    what, todo = say(key.code, dict(key.values))
    often = f" ({counted(one.count, 'time')})" if one.count > 1 else ""
    own = bool(where.own_file)
    related: tuple[tuple[str, str, int], ...] = ()
    if own and (where.own_file, where.own_line) != (where.file, where.line):
        related = ((f"{key.operator} is called here", where.file, where.line),)
    return Annotation(
        rule=key.code,
        level="error" if one.rank == 0 else "warning" if one.rank <= _SERIOUS else "note",
        message=f"{term(one.kind, 'en')}: {key.operator}: {what}{often}",
        todo=todo,
        file=where.own_file if own else where.file,
        line=where.own_line if own else where.line,
        related=related,
    )
