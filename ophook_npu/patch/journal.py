"""What was done to a tree, kept next to it, and the means to do it without halves: a lock and atomic writes.

The record ``<tree>.ophook-patch.json`` is written before the first change and after the last, so that a run that was
killed can be finished (apply) or taken back (revert).
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import stat
import textwrap
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import yaml

from ophook_npu import untrusted
from ophook_npu.errors import OphookError
from ophook_npu.untrusted import Wrong

FORMAT = 1


@dataclass
class Insertion:
    """Text that was put into a file of the tree."""

    path: str  # relative to the tree
    section: str
    signature: str
    text: str
    before: str  # sha256 of the file without it


@dataclass
class Added:
    """A file that was added to the tree."""

    path: str
    sha256: str


@dataclass
class PatchRecord:
    state: str  # "applying", "applied" or "reverting"
    signature: str
    torch_version: str
    insertions: list[Insertion] = field(default_factory=list)
    added: list[Added] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def record_path(root: Path) -> Path:
    return root.parent / f"{root.name}.ophook-patch.json"


def load(root: Path) -> dict[str, PatchRecord]:
    """The records by operator name, in the order in which they were applied."""
    path = record_path(root)
    if not path.exists() and not path.is_symlink():
        return {}
    todo = "restore the tree with git checkout, then delete the record"
    if path.is_symlink():
        raise OphookError("patch", f"the record {path} is a symbolic link", todo=todo)
    try:
        data = untrusted.json_text(untrusted.content(path, "patch"))
        untrusted.fields(data, "the record", ("format", "operators"))
        untrusted.integer(data["format"], "format", FORMAT, FORMAT)
        operators = untrusted.fields(data["operators"], "operators", (), data["operators"])
        return {name: _record(root, name, item) for name, item in operators.items()}
    except (Wrong, TypeError) as error:
        raise OphookError("patch", f"the record {path} cannot be read: {error}", todo=todo) from error


# A tree comes with its record, so somebody else may have written it: it says which files are changed and deleted.
_NAME = re.compile(r"[A-Za-z_]\w*(\.\w+)?", re.ASCII)
_VERSION = re.compile(r"v\d+\.\d+", re.ASCII)
_SHA256 = re.compile(r"[0-9a-f]{64}")
_YAML = re.compile(r"op_plugin/config/(v\d+r\d+/)?(op_plugin_functions|derivatives)\.yaml", re.ASCII)
_KERNEL = re.compile(r"op_plugin/ops/(v\d+r\d+/)?opapi/[^/]+\.cpp", re.ASCII)
_FOLDER = re.compile(r"op_plugin/ops/(v\d+r\d+/)?opapi", re.ASCII)
_STATES = ("applying", "applied", "reverting")


def _record(root: Path, name: str, item: Any) -> PatchRecord:
    _matches(name, "an operator's name", _NAME)
    untrusted.fields(item, name, [field.name for field in fields(PatchRecord)])
    signature = untrusted.text(item["signature"], "signature")
    insertions = []
    for one in untrusted.items(item["insertions"], "insertions"):
        untrusted.fields(one, "an insertion", [field.name for field in fields(Insertion)])
        for part in one:
            untrusted.text(one[part], part)
        _inside(root, one["path"], _YAML)
        _matches(one["before"], "before", _SHA256)
        if name_in(one["text"]) != name:
            raise Wrong(f"the text in {one['path']} is not one entry called {name}")
        insertions.append(Insertion(**one))
    added = []
    for one in untrusted.items(item["added"], "added"):
        untrusted.fields(one, "a file", [field.name for field in fields(Added)])
        added.append(Added(_inside(root, one["path"], _KERNEL), _matches(one["sha256"], "sha256", _SHA256)))
    return PatchRecord(
        state=untrusted.one_of(item["state"], "state", _STATES),
        signature=signature,
        torch_version=_matches(item["torch_version"], "torch_version", _VERSION),
        insertions=insertions,
        added=added,
        folders=[_inside(root, folder, _FOLDER) for folder in untrusted.items(item["folders"], "folders")],
    )


def _matches(value: Any, name: str, pattern: re.Pattern[str]) -> str:
    if not isinstance(value, str) or not pattern.fullmatch(value):
        untrusted.refuse(name, value, f"of the form {pattern.pattern}")
    return value


def _inside(root: Path, value: Any, pattern: re.Pattern[str]) -> str:
    """A path of the tree that this program changes, without a link on the way."""
    _matches(untrusted.below(value, "path").as_posix(), "path", pattern)
    no_links(root, root / value)
    return str(value)


def name_in(text: str) -> str | None:
    """The operator whose entry ``text`` is; None where it is not exactly one entry."""
    try:
        items = yaml.safe_load(textwrap.dedent(text.replace("\r\n", "\n")))
    except (yaml.YAMLError, RecursionError):
        return None
    if not isinstance(items, list) or len(items) != 1 or not isinstance(items[0], dict):
        return None
    return str(items[0].get("func", items[0].get("name"))).split("(", 1)[0].strip()


def no_links(root: Path, path: Path) -> None:
    """OphookError where ``path`` or a folder between it and ``root`` is a symbolic link."""
    current = path
    while current != root:
        if current.is_symlink():
            raise OphookError(
                "patch", f"{current} is a symbolic link", todo="replace it by what it points to; links are not followed"
            )
        current = current.parent


def save(root: Path, records: dict[str, PatchRecord]) -> None:
    path = record_path(root)
    if not records:
        path.unlink(missing_ok=True)
        return
    data = {"format": FORMAT, "operators": {name: asdict(record) for name, record in records.items()}}
    write(path, (json.dumps(data, indent=2, ensure_ascii=False) + "\n").encode())


def writable(path: Path) -> None:
    """OphookError where ``path`` is read-only or a link: root could write to both, and should not."""
    if path.is_symlink():
        raise OphookError("patch", f"{path} is a symbolic link", todo="replace it by what it points to")
    if path.exists() and not stat.S_IMODE(path.stat().st_mode) & 0o222:
        raise OphookError("patch", f"{path} is read-only", todo=f"chmod u+w {path}")
    folder = path.parent
    if folder.exists() and not (os.access(folder, os.W_OK) and stat.S_IMODE(folder.stat().st_mode) & 0o222):
        raise OphookError("patch", f"the folder {folder} is not writable", todo=f"chmod u+w {folder}")


def write(path: Path, content: bytes) -> None:
    """Replaces ``path`` in one step, keeping its mode: a reader sees the old file or the new one, never a part."""
    temporary = _temporary(path)
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else None
    try:
        with open(temporary, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            os.chmod(temporary, mode)
        os.replace(temporary, path)
    except OSError as error:
        raise OphookError("patch", f"cannot write {path}: {error.strerror}") from error
    finally:
        temporary.unlink(missing_ok=True)


def sweep(path: Path) -> None:
    """Removes what a killed run may have left next to ``path``. Only under the lock."""
    _temporary(path).unlink(missing_ok=True)


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.ophook-tmp")


@contextlib.contextmanager
def lock(root: Path) -> Iterator[None]:
    """One run at a time on one tree. The lock is on the folder itself, so nothing is left behind by a killed run."""
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise OphookError(
                "patch", f"another run is working on {root}", todo="wait until it has ended, then run again"
            ) from error
        yield
    finally:
        os.close(descriptor)
