"""Reads what a shared library exports, without binutils: a machine that has the simulator as a wheel may have none."""

from __future__ import annotations

import struct
from pathlib import Path

from ophook_npu.errors import OphookError

_DYNAMIC_SYMBOLS = 11  # a section's type, SHT_DYNSYM


def exported(library: Path) -> list[str]:
    """The names of what a library defines for others, sorted.

    Raises:
        OphookError: the file is no ELF file of 64 bits, little-endian, or is cut off.
    """
    data = library.read_bytes()
    try:
        return sorted(_names(data))
    except (struct.error, LookupError, ValueError) as error:
        raise OphookError(
            "library", f"{library} cannot be read as an ELF file", allowed="64 bits, little-endian"
        ) from error


def _names(data: bytes) -> set[str]:
    if data[:6] != b"\x7fELF\x02\x01":
        raise ValueError("the header is another")
    (at,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    # Of each section: type, offset, size, and the section that it refers to.
    sections = [struct.unpack_from("<4xI16xQQI", data, at + size * index) for index in range(count)]
    names: set[str] = set()
    for kind, start, length, link in sections:
        if kind != _DYNAMIC_SYMBOLS:
            continue
        _, strings, _, _ = sections[link]
        for symbol in range(start, start + length, 24):
            name, section = struct.unpack_from("<I2xH", data, symbol)
            if section:
                names.add(data[strings + name : data.index(b"\0", strings + name)].decode())
    return names - {""}
