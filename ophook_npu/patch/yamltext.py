"""Edit op-plugin's YAML files as bytes, and prove every edit by parsing both versions.

The files are long, commented and kept by hand; a parser that writes them back would lose comments, order and line ends.
So an entry is inserted as text directly after its section's header, and taken out as the same text.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from ophook_npu.errors import OphookError
from ophook_npu.plural import counted

# libyaml reads the 8,000 lines of op-plugin's file in a tenth of the time.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Dumper(yaml.SafeDumper):
    """Lists on one line, as op-plugin writes versions: ``op_api: [v2.7, newest]``."""

    def represent_sequence(self, tag: str, sequence: Any, flow_style: bool | None = None) -> yaml.SequenceNode:
        return super().represent_sequence(tag, sequence, flow_style=True)

    def ignore_aliases(self, data: Any) -> bool:
        return True


ROOT = ""  # the section of a file that is one list

Document = dict[str, Any] | list[Any]


@lru_cache(maxsize=16)
def _load(content: bytes) -> Any:
    return yaml.load(content, Loader=_LOADER)


def parse(content: bytes, where: Path | str) -> Document:
    """The document, not to be changed; an OphookError names file, line and cause where it is no mapping and no list."""
    try:
        document = _load(content)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        tab = _tab_line(content)
        cause = f"line {tab} is indented with a tab" if tab else f"{error}".replace("\n", " ")
        raise OphookError("patch", f"{where} is not valid YAML: {cause}", todo="repair the file first") from error
    if not isinstance(document, dict | list):
        raise OphookError("patch", f"{where} is no YAML mapping", todo="check that the tree is complete")
    return document


def items_of(document: Document, section: str) -> list[Any]:
    items = document if isinstance(document, list) else document.get(section)
    return items if isinstance(items, list) else []


def signatures(document: Document) -> list[tuple[str, str]]:
    """(section, signature) of every entry, in functions' and in derivatives' files."""
    sections = {ROOT: document} if isinstance(document, list) else document
    found = []
    for section, items in sections.items():
        for item in items if isinstance(items, list) else []:
            if isinstance(item, dict) and ("func" in item or "name" in item):
                found.append((str(section), str(item.get("func", item.get("name")))))
    return found


def render(entry: dict[str, Any]) -> list[str]:
    """The entry's lines as a list item, without the section's indent."""
    text = yaml.dump(
        entry, Dumper=_Dumper, sort_keys=False, width=1_000_000, allow_unicode=True, default_flow_style=False
    )
    first, *rest = text.rstrip("\n").split("\n")
    return [f"- {first}", *(f"  {line}" for line in rest)]


def insert(content: bytes, section: str, entry: dict[str, Any], where: Path | str) -> tuple[bytes, bytes]:
    """The file with ``entry`` as the section's first item, and the text that was put in.

    Line ends, indent, the blank line between items and a missing final newline stay as they are. Raises OphookError
    where the section's header is not exactly one line of its own, or where the result would not be "the old document
    plus this entry".
    """
    old = parse(content, where)
    expected: Document
    if isinstance(old, list):
        at = _first_item(content, where)
        newline = b"\r\n" if b"\r\n" in content else b"\n"
        indent, spaced = _style(newline + content[at:])
        text = newline.join(_lines(entry, indent)) + newline + (newline if spaced else b"")
        expected = [entry, *old]
    else:
        at = _header(content, section, where).end()
        if old.get(section) is not None and not isinstance(old[section], list):
            raise OphookError("patch", f"'{section}:' in {where} is no list", todo="check that the tree is complete")
        newline = _line_end(content, at)
        indent, spaced = _style(content[at:])
        text = newline + newline.join(_lines(entry, indent)) + (newline if spaced else b"")
        expected = {**old, section: [entry, *(old[section] or [])]}
    new = content[:at] + text + content[at:]
    try:
        proven = parse(new, where) == expected
    except OphookError:
        proven = False
    if not proven:
        raise OphookError(
            "patch",
            f"inserting into '{section}:' of {where} would change more than one entry",
            todo="nothing was written; report this file",
        )
    return new, text


def remove(content: bytes, text: bytes, where: Path | str) -> bytes | None:
    """The file without ``text``; None where the text is absent. Raises OphookError where it stands there twice."""
    count = content.count(text)
    if count == 0:
        return None
    if count > 1:
        raise OphookError(
            "patch", f"the inserted entry stands {count} times in {where}", todo="remove the copies by hand"
        )
    new = content.replace(text, b"")
    parse(new, where)
    return new


def line_of(content: bytes, signature: str) -> int | None:
    """The first line (from 1) that holds the signature, whatever its spacing."""
    wanted = "".join(signature.split())
    for number, line in enumerate(content.decode(errors="replace").splitlines(), 1):
        if wanted in "".join(line.split()):
            return number
    return None


def _header(content: bytes, section: str, where: Path | str) -> re.Match[bytes]:
    pattern = rb"^%s[ \t]*:(?=[ \t]*(#[^\r\n]*)?\r?$)[^\r\n]*" % re.escape(section).encode()
    found = list(re.finditer(pattern, content, re.MULTILINE))
    if len(found) != 1:
        how_many = "no line" if not found else counted(len(found), "line")
        raise OphookError(
            "patch",
            f"{where} has {how_many} '{section}:'",
            allowed="exactly one, alone on its line",
            todo="check that the tree is complete and unmodified",
        )
    return found[0]


def _first_item(content: bytes, where: Path | str) -> int:
    found = re.search(rb"^[ ]*- ", content, re.MULTILINE)
    if found is None:
        raise OphookError("patch", f"{where} has no '- ' item", todo="check that the tree is complete")
    return found.start()


def _lines(entry: dict[str, Any], indent: bytes) -> list[bytes]:
    return [indent + line.encode() for line in render(entry)]


def _line_end(content: bytes, at: int) -> bytes:
    """The line end at ``at``, else (the file ends there without one) the one that the file uses."""
    if content[at : at + 1] in (b"\r", b"\n"):
        return b"\r\n" if content[at : at + 2] == b"\r\n" else b"\n"
    return b"\r\n" if b"\r\n" in content else b"\n"


def _style(rest: bytes) -> tuple[bytes, bool]:
    """Indent of the section's items, and whether a blank line stands between them."""
    indent: bytes | None = None
    blank = False
    for line in rest.splitlines()[1:]:
        stripped = line.strip()
        if not stripped:
            blank = True
            continue
        if stripped.startswith(b"#"):
            continue
        own = line[: len(line) - len(line.lstrip())]
        item = stripped == b"-" or stripped.startswith(b"- ")
        if not item and not own:
            break  # the next section
        if not item:
            blank = False
            continue
        if indent is None:
            indent, blank = own, False
            continue
        if own == indent:
            return indent, blank
    return (b"  " if indent is None else indent), False


def _tab_line(content: bytes) -> int | None:
    for number, line in enumerate(content.splitlines(), 1):
        if b"\t" in line[: len(line) - len(line.lstrip())]:
            return number
    return None
