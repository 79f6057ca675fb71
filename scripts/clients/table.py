"""The table of docs/clients.md: rows of results, and how they get between a page's markers.

A result is what one project gave: {"project": str, "versions": [str], "rows": [{"ran", "equal", "stops"}]}.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import marked

BEGIN, END = "<!-- clients -->", "<!-- end of clients -->"
HEAD = ["| project | ran | equal to the CPU | stops, and whose limit it is |", "|---|---|---|---|"]
_CELLS = ("ran", "equal", "stops")


class Unusable(Exception):
    """A result or a page that cannot be used, and why."""


def read(file: Path) -> dict[str, Any]:
    """A result.

    Raises:
        Unusable: it is no result.
    """
    try:
        result = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Unusable(f"{file}: {error}") from None
    good = (
        isinstance(result, dict)
        and isinstance(result.get("project"), str)
        and isinstance(result.get("versions"), list)
        and isinstance(result.get("rows"), list)
        and result["rows"]
        and all(isinstance(version, str) for version in result["versions"])
        and all(isinstance(row, dict) and all(isinstance(row.get(c), str) for c in _CELLS) for row in result["rows"])
    )
    if not good:
        raise Unusable(f'{file} is no result: {{"project", "versions": […], "rows": [{{"ran", "equal", "stops"}}]}}')
    return result


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def lines(result: dict[str, Any]) -> list[str]:
    """A result's rows in Markdown: the first says the versions, the others repeat the project's name."""
    project = _cell(result["project"])
    found = []
    for number, row in enumerate(result["rows"]):
        versions = f" ({_cell(', '.join(result['versions']))})" if not number and result["versions"] else ""
        found.append(f"| **{project}**{versions} | " + " | ".join(_cell(row[cell]) for cell in _CELLS) + " |")
    return found


def _project(line: str) -> str:
    return line.split("**")[1] if line.count("**") >= 2 else ""


def merged(old: list[str], results: list[dict[str, Any]]) -> list[str]:
    """All rows by project: those of ``results`` in place of what was there of these projects."""
    rows: dict[str, list[str]] = {}
    for line in old:
        if _project(line):
            rows.setdefault(_project(line), []).append(line)
    for result in results:
        rows[_cell(result["project"])] = lines(result)
    return [line for project in sorted(rows, key=str.lower) for line in rows[project]]


def put_into(page: Path, results: list[dict[str, Any]]) -> None:
    """Replace the rows of these projects between ``page``'s markers.

    Raises:
        Unusable: the page or its markers are not there.
    """
    try:
        _, old, _ = marked.between(page, BEGIN, END)
        marked.replace(page, BEGIN, END, "\n".join([*HEAD, *merged(old.splitlines(), results)]))
    except marked.NoMarks as error:
        raise Unusable(str(error)) from None
