"""The simulator's `.om` file: a head, a text of lines ``key=value``, the bytes of a model.

    8 bytes   OPHOOKOM
    uint32    version, 1
    uint32    kind: 0 a model, 1 a single operator
    uint64    size of the text
    uint64    size of the model
    …         the text, UTF-8
    …         the model: a serialized ge.proto.ModelDef, nothing for a single operator

All numbers are little endian. CANN's own files begin with ``IMOD``: they hold a device's machine code and are refused.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from ophook_npu.errors import OphookError
from ophook_npu.plural import counted
from ophook_npu.untrusted import content

MAGIC, VERSION = b"OPHOOKOM", 1
_HEAD = struct.Struct("<8sIIQQ")
_CANN = b"IMOD"
_MOST = 2 << 40  # bytes: of both parts together no file has more


class OmKind(IntEnum):
    """What a file holds."""

    MODEL = 0
    OPERATOR = 1


Kind = OmKind


@dataclass(frozen=True)
class Om:
    """What is in a file; `lines` keeps the order, and a key may come more than once."""

    kind: Kind
    lines: tuple[tuple[str, str], ...]
    model: bytes = b""


def write(path: Path, kind: Kind, lines: Iterable[tuple[str, str]], model: bytes = b"") -> None:
    """Write a file; raises what `packed` does."""
    path.write_bytes(packed(kind, lines, model))


def packed(kind: Kind, lines: Iterable[tuple[str, str]], model: bytes = b"") -> bytes:
    """The bytes of a file.

    Raises:
        ValueError: a key with ``=`` or a line break in it, or a value with a line break: it could not be read back.
    """
    text = []
    for key, value in lines:
        if not key or "=" in key or "\n" in key or "\n" in value:
            raise ValueError(f"{key!r}={value!r} is no line of an .om file")
        text.append(f"{key}={value}\n")
    told = "".join(text).encode()
    return _HEAD.pack(MAGIC, VERSION, kind, len(told), len(model)) + told + model


def read(path: Path, most: int = _MOST) -> Om:
    """What the file at ``path`` holds.

    Raises:
        OphookError: it cannot be read, or is no file of this format.
    """
    return parse(content(path, "om", most), str(path))


def parse(data: bytes, where: str) -> Om:
    """What these bytes hold; ``where`` names them in errors.

    Raises:
        OphookError: they are no file of this format.
    """
    if data.startswith(_CANN):
        raise OphookError(
            "om",
            f"{where} was made by CANN's atc and holds a device's code",
            todo="convert it with the simulator's atc",
        )
    if len(data) < _HEAD.size or not data.startswith(MAGIC):
        raise OphookError("om", f"{where} is no .om file of the simulator", todo="convert the model with its atc")
    _, version, kind, told, size = _HEAD.unpack_from(data)
    if version != VERSION:
        raise OphookError("om", f"{where} has version {version}", allowed=str(VERSION), todo="convert the model anew")
    if kind not in list(Kind):
        raise OphookError("om", f"{where} is of kind {kind}", allowed="0 (a model), 1 (a single operator)")
    if _HEAD.size + told + size != len(data):
        raise OphookError("om", f"{where} has {counted(len(data), 'byte')}, its head says {_HEAD.size + told + size:,}")
    try:
        text = data[_HEAD.size : _HEAD.size + told].decode()
    except UnicodeDecodeError as error:
        raise OphookError("om", f"{where}: its text is no UTF-8") from error
    if text and not text.endswith("\n"):
        raise OphookError("om", f"{where}: the last line of its text has no end")
    lines = []
    for line in text.split("\n")[:-1]:
        key, equals, value = line.partition("=")
        if not key or not equals:
            raise OphookError("om", f"{where}: a line of its text is {line!r}", allowed="key=value")
        lines.append((key, value))
    return Om(Kind(kind), tuple(lines), data[_HEAD.size + told :])
