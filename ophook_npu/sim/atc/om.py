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
from enum import IntEnum

_MAGIC, _VERSION = b"OPHOOKOM", 1
_HEAD = struct.Struct("<8sIIQQ")


class FileKind(IntEnum):
    """What a file holds."""

    MODEL = 0
    OPERATOR = 1


def packed(kind: FileKind, lines: Iterable[tuple[str, str]], model: bytes = b"") -> bytes:
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
    return _HEAD.pack(_MAGIC, _VERSION, kind, len(told), len(model)) + told + model
