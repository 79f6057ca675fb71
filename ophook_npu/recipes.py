"""What objects are made of: the texts of sources and what they include, by which objects are kept and found again."""

from __future__ import annotations

import functools
import hashlib
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from ophook_npu.errors import OphookError

_INCLUDE = re.compile(rb'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def digest(parts: Iterable[bytes | str]) -> str:
    sha = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        sha.update(len(data).to_bytes(8, "little"))
        sha.update(data)
    return sha.hexdigest()[:24]


def _read(path: Path | str) -> tuple[bytes, list[bytes]]:
    """A file's text, and what it includes with quotes."""
    found = os.stat(path)
    return _read_once(path, found.st_mtime_ns, found.st_size, found.st_ino)


@functools.lru_cache(1024)
def _read_once(path: Path | str, *_: int) -> tuple[bytes, list[bytes]]:
    text = Path(path).read_bytes()
    return text, _INCLUDE.findall(text)


def included(source: Path, roots: Sequence[Path]) -> list[Path]:
    """The source and all files below ``roots`` (or next to the includer) that it includes with quotes, transitively."""
    places = [str(root) for root in roots]
    seen: dict[str, None] = {}
    todo = [str(source)]
    while todo:
        path = todo.pop()
        if path in seen:
            continue
        seen[path] = None
        for name in _read(path)[1]:
            for place in (os.path.dirname(path), *places):
                candidate = os.path.normpath(os.path.join(place, os.fsdecode(name)))
                if candidate in seen or os.path.isfile(candidate):
                    todo.append(candidate)
                    break
    return [Path(path) for path in sorted(seen)]


def recipe(sources: Sequence[Path], flags: Sequence[str], roots: Sequence[Path], stamp: str) -> str:
    """What goes into an object, whatever compiler makes it and wherever the files lie: two checkouts of one source and
    two virtual environments with one torch share their objects. ``stamp`` stands for headers that are not ours, so it
    has to name their versions.
    """
    ours = [root.resolve() for root in roots]
    told = [_without_roots(flag, roots) for flag in without_places(flags)]
    texts = (_read(path)[0] for source in sources for path in included(source.resolve(), ours))
    return digest([stamp, *told, *texts])


def without_places(flags: Sequence[str]) -> list[str]:
    """The flags without what makes no other object: where files that are not ours lie on this machine, and -Werror."""
    return [
        re.sub("^-ffile-prefix-map=.*=", "-ffile-prefix-map=", flag)
        for flag in flags
        if not flag.startswith("-isystem") and flag != "-Werror"
    ]


def _without_roots(flag: str, roots: Sequence[Path]) -> str:
    for index, root in enumerate(roots):
        flag = flag.replace(str(root), f"<{index}>")
    return flag


def refuse_if_changed(sources: Sequence[Path], taken: object, now: object) -> None:
    """What is kept by its text is of that text: somebody may have edited a source since its key was taken, and every
    checkout would find the new text's object under the old one's key.

    Raises:
        OphookError: the keys differ.
    """
    if taken != now:
        names = ", ".join(source.name for source in sources)
        raise OphookError(
            "compile", f"{names}, or a header of it, changed while it was compiled", todo="run the command again"
        )
