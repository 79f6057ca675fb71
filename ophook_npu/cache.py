"""The folder for everything that is built: who may write there, and folders that appear in it as a whole.

What lies there is loaded into programs, so a folder that somebody else may write to is refused, and every library is
compared with the hash that was taken when it was built before anybody loads it. The hash finds what was changed while
a folder was open to others, by a broken disk or by a tool; somebody who may write to the folder now could change a
library after it is compared, which is why the folder is looked at first, each time.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from ophook_npu.errors import OphookError

MANIFEST = "ophook-hashes.json"
"""In every published folder: its libraries and programs, by their path below it, and their hashes."""

TORCH_LINK = "torch"
"""A link of this name leads to the folder of torch's libraries."""


def cache_dir() -> Path:
    """The folder for everything that is built: ``$OPHOOK_NPU_CACHE``, else ``$XDG_CACHE_HOME/ophook_npu``.

    Raises:
        OphookError: the folder cannot be made or written, or others may write to it.
    """
    chosen = os.environ.get("OPHOOK_NPU_CACHE")
    base = Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "ophook_npu"
    try:
        if not base.is_dir():
            base.parent.mkdir(parents=True, exist_ok=True)
            base.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise _cannot_write(base, error) from error
    base = base.resolve()
    refuse_if_shared(base, parents=True)
    try:
        with tempfile.NamedTemporaryFile(dir=base):
            pass
    except OSError as error:
        raise _cannot_write(base, error) from error
    return base


def _cannot_write(base: Path, error: OSError) -> OphookError:
    return OphookError(
        "cache",
        f"cannot write to {base}: {error.strerror or error}",
        allowed="a folder that you may write to",
        todo="set OPHOOK_NPU_CACHE to another folder",
    )


def refuse_if_shared(folder: Path, *, parents: bool = False) -> None:
    """Refuse ``folder`` where another user owns it or may write to it; with ``parents``, also where somebody could put
    another folder in its place.

    Raises:
        OphookError: names the folder, its owner and its mode.
    """
    _refuse(folder, folder.stat(), 0o022)
    if parents:
        for parent in folder.parents:
            found = parent.stat()
            if not found.st_mode & stat.S_ISVTX:
                _refuse(parent, found, 0o002, of=folder)


def _refuse(folder: Path, found: os.stat_result, writers: int, of: Path | None = None) -> None:
    mode = stat.S_IMODE(found.st_mode)
    trusted = {0, os.geteuid()} | ({_nobody()} if of else set())
    if found.st_uid in trusted and not mode & writers:
        return
    who = "you own it" if found.st_uid == os.geteuid() else f"user {_name(found.st_uid)} owns it"
    place = f"{folder}" if of is None else f"{folder}, above {of},"
    raise OphookError(
        "cache",
        f"{place} is open to other users ({who}, mode {mode:04o}): what is loaded from there could be theirs",
        allowed="a folder that is yours (or root's) and that only you may write to",
        todo="set OPHOOK_NPU_CACHE to a folder of your own; or empty "
        f"{of or folder} and close it to other users: chmod go-w {folder}",
    )


def _name(user: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)


def _nobody() -> int:
    """Whom files belong to whose owner this container or file server does not show."""
    try:
        return int(Path("/proc/sys/kernel/overflowuid").read_text())
    except (OSError, ValueError):
        return 65534


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file at ``path``; a process that dies lets go of it."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def publish(root: Path, make: Callable[[Path], None], on_start: Callable[[], None] | None = None) -> Path:
    """Fill the folder ``root`` by ``make(staging)`` unless that was done before; return it, its libraries checked.

    ``make`` writes into a folder next to it, which then becomes ``root`` by one rename: it is there as a whole or not
    at all. Of several processes one makes it and the others wait. ``on_start`` is called only by the one.

    Raises:
        OphookError: the folder is open to other users, or a library in it is not the one that was built.
    """
    if _manifest(root) is None:
        try:
            with locked(root.parent / f"{root.name}.lock"):
                if _manifest(root) is None:
                    _make(root, make, on_start)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
                raise _cannot_write(root.parent, error) from error
            raise
    return checked(root)


def _manifest(root: Path) -> dict[str, str] | None:
    """What was written of the folder when it was published; None where it was not, or a power cut took it."""
    try:
        told: dict[str, str] = json.loads((root / MANIFEST).read_text())
        return told
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None


def checked(root: Path) -> Path:
    """``root``, which was published.

    Raises:
        OphookError: as `publish`.
    """
    for folder in (root.parent, root):
        refuse_if_shared(folder)
    verify(root, _manifest(root) or {})
    return root


def _make(root: Path, make: Callable[[Path], None], on_start: Callable[[], None] | None) -> None:
    for left in root.parent.glob(f"{root.name}.building-*"):  # by a process that was killed: we hold its lock
        shutil.rmtree(left, ignore_errors=True)
    if on_start:
        on_start()
    staging = Path(tempfile.mkdtemp(dir=root.parent, prefix=f"{root.name}.building-"))
    try:
        make(staging)
        (staging / MANIFEST).write_text(json.dumps(hashes(staging), indent=2) + "\n")
        staging.chmod(0o755)
        if root.exists():
            shutil.rmtree(root)
        os.replace(staging, root)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


_PACKAGES = "opp/vendors"  # where CANN's toolkit has operator packages


def hashes(root: Path, packages: Collection[str] | None = None) -> dict[str, str]:
    """The hash of every library, program and script below ``root``, links to folders included, by its path there.
    ``packages``: of those in `_PACKAGES` only these are read.

    Of a library that is another name of its neighbour, that name. Of a link to a folder below ``root``, whose libraries
    are there anyway, or to torch's, which importing torch loads as well, where it leads.
    """
    found = {}
    whole = root.resolve()
    for folder, folders, names in os.walk(root, followlinks=True):
        if packages is not None and folder.endswith(_PACKAGES):
            folders[:] = [name for name in folders if name in packages]
        for name in folders.copy():
            path = Path(folder) / name
            if path.is_symlink() and (name == TORCH_LINK or path.resolve().is_relative_to(whole)):
                found[str(path.relative_to(root))] = f"link to {os.readlink(path)}"
                folders.remove(name)
        for name in names:
            path = Path(folder) / name
            if name.endswith((".so", ".sh")) or ".so." in name or os.access(path, os.X_OK):
                neighbour = os.readlink(path) if path.is_symlink() else "/"
                if "/" not in neighbour:
                    found[str(path.relative_to(root))] = f"link to {neighbour}"
                    continue
                found[str(path.relative_to(root))] = hashlib.blake2b(path.read_bytes(), digest_size=32).hexdigest()
    return dict(sorted(found.items()))


def verify(root: Path, expected: dict[str, str]) -> None:
    """Compare the libraries below ``root`` with the hashes that were taken of them; one too many counts too, since a
    search path would find it. Not so in operator packages that a user has installed where CANN's toolkit has them.

    Raises:
        OphookError: names the library.
    """
    built = {parts[2] for name in expected if (parts := name.split("/"))[:2] == _PACKAGES.split("/")}
    compare(root, hashes(root, built), expected, f"remove {root}: it is built again when it is needed")


def compare(root: Path, found: dict[str, str], expected: dict[str, str], todo: str) -> None:
    for name in sorted(found.keys() | expected.keys()):
        if found.get(name) != expected.get(name):
            what = "is gone" if name not in found else "was not built there" if name not in expected else "was changed"
            raise OphookError(
                "cache", f"{name} {what}: {root} is not what was built", todo=f"{todo}; and look for who wrote there"
            )
