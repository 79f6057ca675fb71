"""Files that somebody else may have made: captures, digests, profiles, records of patches, operators' folders.

What such a file says is checked when it is read, and nothing of it is used before: :func:`json_file` and
:func:`json_lines` give plain data, the functions below take it apart and raise :class:`Wrong` where it is not what the
format says. Text of it goes to a terminal through :func:`shown`, into Python through ``repr``, into pages through
``html.escape``.
"""

from __future__ import annotations

import json
import stat
import unicodedata
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath
from typing import Any, NoReturn

from ophook_npu.errors import OphookError
from ophook_npu.plural import counted

DOCUMENT = 64 << 20  # bytes of a JSON or YAML document
LINE = 4 << 20  # bytes of a line of JSON lines
TEXT = 1 << 16  # characters of one text
_INT64 = range(-(1 << 63), 1 << 64)  # torch's Scalar also holds uint64


class Wrong(ValueError):
    """What is wrong with a part of a document, in words that name the part."""


def shown(text: object, keep: str = "\n\t") -> str:
    r"""``text`` for a terminal: control characters, which could move the cursor, hide or forge lines, as ``\x1b``.

    Characters that reorder or hide text (Unicode's categories Cf, Co, Cs, Zl and Zp) are written out too.
    """
    text = str(text)
    if text.isprintable():
        return text
    return "".join(c if c in keep or not _hides(c) else c.encode("unicode_escape").decode() for c in text)


def _hides(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp")


# ---- files -----------------------------------------------------------------------------------------------------------


def content(path: Path, where: str, most: int = DOCUMENT) -> bytes:
    """The bytes of a regular file.

    Raises:
        OphookError: it is missing, no regular file (a pipe would wait for ever), or holds more than ``most`` bytes.
    """
    try:
        found = path.stat()
    except OSError as error:
        raise OphookError(where, f"{path} cannot be read: {error.strerror}") from error
    if not stat.S_ISREG(found.st_mode):
        raise OphookError(where, f"{path} is no regular file", allowed="a file")
    if found.st_size > most:
        raise OphookError(where, f"{path} has {found.st_size} bytes", allowed=f"at most {most}")
    try:
        return path.read_bytes()
    except OSError as error:
        raise OphookError(where, f"{path} cannot be read: {error.strerror}") from error


def json_file(path: Path, where: str, todo: str | None = None) -> Any:
    """The document in a JSON file.

    Raises:
        OphookError: as :func:`content`, or it is no JSON; ``todo`` says what makes such a file.
    """
    try:
        return json_text(content(path, where))
    except Wrong as error:
        raise OphookError(where, f"{path}: {error}", todo=todo) from error


def json_lines(path: Path, where: str, what: str, todo: str | None = None) -> Iterator[tuple[int, Any]]:
    """Line number and document of each line, read as they are asked for.

    Raises:
        OphookError: no such file; or a line is no JSON, so not ``what`` it should be, or longer than :data:`LINE`.
    """
    if not path.is_file():
        raise OphookError(where, f"no such file: {path}", todo=todo)
    with path.open("rb") as file:
        number = 0
        while text := file.readline(LINE + 1):
            number += 1
            try:
                if len(text) > LINE:
                    raise Wrong(f"more than {LINE} bytes in a line")
                document = json_text(text)
            except Wrong as error:
                raise OphookError(where, f"{path}:{number} is not {what}: {error}", todo=todo) from error
            yield number, document


def json_text(text: bytes) -> Any:
    """One document; NaN and infinities, which Python writes too, are numbers.

    Raises:
        Wrong: no JSON, no UTF-8, nested too deep, an integer of thousands of digits, or a key twice in one object.
    """
    try:
        return json.loads(text, object_pairs_hook=_once)
    except RecursionError as error:
        raise Wrong("nested too deep") from error
    except Wrong:
        raise
    except ValueError as error:  # JSONDecodeError and UnicodeDecodeError are such
        raise Wrong(f"no JSON: {error}") from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise Wrong(f"the key {twice!r:.80} stands twice in one object")
    return found


# ---- parts of a document ---------------------------------------------------------------------------------------------


def refuse(name: str, value: object, allowed: str) -> NoReturn:
    kinds: dict[type, str] = {list: "a list", dict: "an object"}
    raise Wrong(f"{name} is {kinds.get(type(value)) or f'{value!r:.80}'}, not {allowed}")


def text(value: Any, name: str, most: int = TEXT) -> str:
    if not isinstance(value, str):
        refuse(name, value, "text")
    if len(value) > most:
        raise Wrong(f"{name} has {counted(len(value), 'character')}; at most {most}")
    return value


def identifier(value: Any, name: str) -> str:
    """A name that Python and C++ take: ASCII letters, digits, _, and no digit first."""
    if not isinstance(value, str) or not value.isascii() or not value.isidentifier() or len(value) > 256:
        refuse(name, value, "a name of letters, digits and _")
    return value


def integer(value: Any, name: str, low: int = _INT64.start, high: int = _INT64.stop - 1) -> int:
    if type(value) is not int or not low <= value <= high:
        refuse(name, value, f"an integer from {low} to {high}")
    return value


def number(value: Any, name: str) -> float:
    """Any float, NaN and infinities included."""
    if type(value) is float:
        return value
    return float(integer(value, name))


def flag(value: Any, name: str) -> bool:
    if not isinstance(value, bool):
        refuse(name, value, "true or false")
    return value


def one_of(value: Any, name: str, allowed: Collection[str]) -> str:
    if not isinstance(value, str) or value not in allowed:
        refuse(name, value, f"one of {', '.join(sorted(allowed)[:40])}")
    return value


def items(value: Any, name: str, most: int = 100_000) -> list[Any]:
    if not isinstance(value, list):
        refuse(name, value, "a list")
    if len(value) > most:
        raise Wrong(f"{name} has {counted(len(value), 'item')}; at most {most}")
    return value


def fields(value: Any, name: str, required: Collection[str], optional: Collection[str] = ()) -> dict[str, Any]:
    """An object with these fields and no others."""
    if not isinstance(value, dict):
        refuse(name, value, "an object")
    for missing in required:
        if missing not in value:
            raise Wrong(f"{name} has no field {missing!r}")
    for given in value:
        if given not in required and given not in optional:
            raise Wrong(f"{name} has an unknown field {given!r:.80}")
    return value


def below(value: Any, name: str) -> PurePosixPath:
    """A path inside a folder, in its plain form: relative, without ``..`` and without ``//`` or ``.`` parts."""
    path = PurePosixPath(text(value, name, 4096))
    plain = value and path.as_posix() == value and not path.is_absolute() and ".." not in path.parts
    if not plain or value == "." or any(map(_hides, value)):
        refuse(name, value, "a path inside the tree")
    return path
