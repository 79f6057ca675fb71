"""Results as they come, one row each, to a JSON-lines or a Parquet file; never more than a few thousand in memory."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import types
import typing
from pathlib import Path
from typing import IO, Any, Protocol

from ophook_npu.errors import OphookError

_BATCH = 5000


class RowFile(Protocol):
    """Where rows go."""

    def write(self, row: dict[str, Any]) -> None: ...

    def close(self) -> None: ...


def open_rows(path: str | Path, kind: type) -> RowFile:
    """A file for rows of the dataclass ``kind``: Parquet if its name ends so, else a JSON object a line.

    JSON lines are added to what the file holds; a Parquet file is written anew, and is whole once closed.

    Raises:
        OphookError: Parquet without pyarrow.
    """
    path = Path(path)
    return _Parquet(path, kind) if path.suffix == ".parquet" else _Lines(path)


def check_path(path: str | Path, where: str) -> Path:
    """``path``, if rows can be written there.

    Raises:
        OphookError: the folder is not there, or the file is to be Parquet and pyarrow is not installed.
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise OphookError(where, f"no such folder: {path.parent}", todo="make it first")
    if path.suffix == ".parquet":
        _pyarrow(where)
    return path


class _Lines:
    def __init__(self, path: Path) -> None:
        self._file: IO[str] = path.open("a", encoding="utf-8")

    def write(self, row: dict[str, Any]) -> None:
        self._file.write(json.dumps(row) + "\n")

    def close(self) -> None:
        try:
            self._file.flush()
        finally:
            with contextlib.suppress(OSError):  # of what could not be written
                self._file.close()


class _Parquet:
    def __init__(self, path: Path, kind: type) -> None:
        arrow = _pyarrow("rows")
        hints = typing.get_type_hints(kind)
        self._schema = arrow.schema([(f.name, _arrow_type(arrow, hints[f.name])) for f in dataclasses.fields(kind)])
        self._writer = arrow.parquet.ParquetWriter(path, self._schema)
        self._arrow = arrow
        self._rows: list[dict[str, Any]] = []

    def write(self, row: dict[str, Any]) -> None:
        self._rows.append({name: _flat(value) for name, value in row.items()})
        if len(self._rows) >= _BATCH:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        if self._rows:
            self._writer.write_table(self._arrow.Table.from_pylist(self._rows, schema=self._schema))
            self._rows.clear()


def _arrow_type(arrow: Any, hint: Any) -> Any:
    if isinstance(hint, types.UnionType):
        hint = next(part for part in typing.get_args(hint) if part is not type(None))
    plain = {int: arrow.int64(), float: arrow.float64(), str: arrow.string(), bool: arrow.bool_()}
    if hint in plain:
        return plain[hint]
    inner = typing.get_args(hint)
    if len(set(inner) - {Ellipsis}) == 1:
        return arrow.list_(_arrow_type(arrow, inner[0]))
    return arrow.string()  # a frame of the stack


def _flat(value: Any) -> Any:
    """Frames, (file, line, function), as text; all else as it is."""
    if isinstance(value, list) and value and isinstance(value[0], tuple):
        return [f"{file}:{line} {function}" for file, line, function in value]
    return value


def _pyarrow(where: str) -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise OphookError(
            where,
            "pyarrow is not installed, and Parquet needs it",
            allowed="a file that does not end in .parquet gets JSON lines",
            todo="pip install pyarrow",
        ) from error
    return pyarrow
