"""Findings for a code review: as SARIF 2.1.0, which code scanning reads, and as workflow commands, which GitHub shows
beside the line.

A report says what it found as :class:`Annotation`\\ s; what they look like in a file or a log is here only.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ophook_npu import __version__
from ophook_npu.errors import OphookError
from ophook_npu.untrusted import shown

FORMATS = ("text", "github", "sarif")
"""What ``--format`` takes; ``text`` is each command's own."""

LEVELS = ("error", "warning", "note")
_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


@dataclass(frozen=True)
class Annotation:
    """One finding at one place.

    Attributes:
        rule: what kind of finding it is, such as ``ub-out-of-range``; stays the same from release to release.
        level: ``error``, ``warning`` or ``note``.
        message: what was found, in plain text. todo: what to do about it, may be empty.
        file, line: where; ``""`` and 0 where there is no line of source.
        related: other places, as (message, file, line), such as the write that a read races with.
    """

    rule: str
    level: str
    message: str
    todo: str = ""
    file: str = ""
    line: int = 0
    related: tuple[tuple[str, str, int], ...] = ()

    @property
    def text(self) -> str:
        return f"{self.message}\nnext: {self.todo}" if self.todo else self.message


def check_format(where: str, name: str) -> str:
    """``name``, if it is one of :data:`FORMATS`; raises OphookError."""
    if name not in FORMATS:
        raise OphookError(where, f"--format {name}", allowed=", ".join(FORMATS))
    return name


def render(name: str, command: str, found: Sequence[Annotation], rules: Mapping[str, str] | None = None) -> str:
    """The text that ``--format`` asks for: ``github`` or ``sarif``."""
    if name == "github":
        return github(found)
    return json.dumps(sarif(command, found, rules), indent=1, ensure_ascii=False) + "\n"


def sarif(command: str, found: Iterable[Annotation], rules: Mapping[str, str] | None = None) -> dict[str, Any]:
    """A log with one run of ``ophook-npu COMMAND``. ``rules``: what each rule means, for those that have a sentence.

    Paths below the working directory are relative to it, as code scanning wants them; others are ``file:`` addresses.
    """
    found, said = list(found), rules or {}
    names = list(dict.fromkeys(one.rule for one in found))
    driver: dict[str, Any] = {
        "name": f"ophook-npu {command}",
        "semanticVersion": __version__,
        "rules": [_rule(name, said.get(name, "")) for name in names],
    }
    results = [_result(one, names.index(one.rule)) for one in found]
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}],
    }


def github(found: Iterable[Annotation]) -> str:
    """One workflow command a line: GitHub shows each beside its line of a pull request."""
    lines = []
    for one in found:
        fields = {"file": _relative(one.file), "line": str(one.line)} if one.file else {}
        fields["title"] = one.rule
        told = ",".join(f"{name}={_field(value)}" for name, value in fields.items() if value not in ("", "0"))
        places = "".join(f"\n{what}: {_relative(file)}:{line}" for what, file, line in one.related)
        lines.append(f"::{_COMMANDS[_level(one)]} {told}::{_data(one.text + places)}\n")
    return "".join(lines)


def _rule(name: str, meaning: str) -> dict[str, Any]:
    return {"id": name, **({"shortDescription": {"text": meaning}} if meaning else {})}


def _result(one: Annotation, index: int) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": one.rule,
        "ruleIndex": index,
        "level": _level(one),
        "message": {"text": shown(one.text) or one.rule},
        "locations": [_location(one.file, one.line)] if one.file else [],
    }
    if one.related:
        result["relatedLocations"] = [
            {"id": number, "message": {"text": shown(what)}, **_location(file, line)}
            for number, (what, file, line) in enumerate(one.related, 1)
        ]
    return result


def _location(file: str, line: int) -> dict[str, Any]:
    relative = _relative(file)
    place: dict[str, Any] = {"uri": Path(file).as_uri() if os.path.isabs(relative) else quote(relative)}
    if not os.path.isabs(relative):
        place["uriBaseId"] = "%SRCROOT%"
    region = {"region": {"startLine": line}} if line > 0 else {}
    return {"physicalLocation": {"artifactLocation": place, **region}}


def _relative(file: str) -> str:
    """``file`` from the working directory, where it lies below it."""
    path = Path(os.path.abspath(file))
    here = Path.cwd()
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else path.as_posix()


def _level(one: Annotation) -> str:
    if one.level not in LEVELS:
        raise OphookError("sarif", f"level {one.level!r}", allowed=", ".join(LEVELS))
    return one.level


def _data(text: str) -> str:
    # GitHub reads a command to the end of its line, and these three in it as what they stand for.
    return shown(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _field(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
