"""What was done to a tree, kept beside it, and the means to do it without halves: a lock and atomic writes.

The record ``<tree>.ophook-patch.json`` is written before the first change and after the last, so that a run that was
killed can be finished (apply) or taken back (revert).
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import stat
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ophook_npu.errors import OphookError

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
class Record:
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


def load(root: Path) -> dict[str, Record]:
    """The records by operator name, in the order in which they were applied."""
    path = record_path(root)
    if not path.exists():
        return {}
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["format"] != FORMAT:
            raise ValueError(f"format {data['format']}, this version reads {FORMAT}")
        return {
            name: Record(
                state=item["state"],
                signature=item["signature"],
                torch_version=item["torch_version"],
                insertions=[Insertion(**one) for one in item["insertions"]],
                added=[Added(**one) for one in item["added"]],
                folders=list(item["folders"]),
            )
            for name, item in data["operators"].items()
        }
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise OphookError(
            "patch",
            f"the record {path} cannot be read: {error}",
            todo="restore the tree with git checkout, then delete the record",
        ) from error


def save(root: Path, records: dict[str, Record]) -> None:
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
    """Removes what a killed run may have left beside ``path``. Only under the lock."""
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
