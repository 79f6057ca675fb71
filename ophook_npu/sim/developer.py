"""The developer build of a checkout: an object for each source, and what is needed to work on them.

A checkout has one after ``ophook-npu sim build --dev``. From then on every command in it brings that one up to date and
uses it, until ``ophook-npu sim build --no-dev``. It is made of the same sources, flags and libraries as the build of
users, who want the first one soon; its second takes seconds: the precompiled header is kept, and only what includes a
changed file is compiled. Warnings are shown, the files named by ``--debug`` are compiled for a debugger, and
``compile_commands.json`` at the top of the checkout tells editors how each file is compiled.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ophook_npu.cache import cache_dir
from ophook_npu.errors import OphookError
from ophook_npu.recipes import digest
from ophook_npu.sim.libraries import FLAGS
from ophook_npu.soc import CSRC
from ophook_npu.toolchain import Library, Unit, unit_command

CHECKOUT = CSRC.parents[1]
COMMANDS = "compile_commands.json"
_KEPT, _HOUR = 3, 60 * 60


@dataclass(frozen=True)
class Developer:
    """What this checkout's developer build is asked for. ``debug``: sources below csrc, ``kernels/norm.cpp``."""

    debug: tuple[str, ...] = ()

    def changed(self, libraries: Sequence[Library]) -> list[Library]:
        """The same libraries, to be built for developers."""
        debug = tuple(CSRC / name for name in self.debug)
        return [replace(one, unit=0, keep_prefix=one.prefix is not None, debug=debug, talks=True) for one in libraries]


def _record() -> Path:
    return cache_dir() / "sim" / f"{prefix()}.json"


def prefix() -> str:
    """What the names of this checkout's developer builds begin with."""
    return f"dev-{digest([str(CSRC)])[:8]}"


def here() -> Developer | None:
    """What this checkout's developer build is asked for; None where it has none, and where more flags are given."""
    if os.environ.get(FLAGS):
        return None
    try:
        return Developer(tuple(json.loads(_record().read_text())["debug"]))
    except FileNotFoundError:
        return None


def begin(debug: Sequence[str]) -> None:
    """From now on this checkout has a developer build.

    Raises:
        OphookError: this is no checkout, or there is no such source.
    """
    if not (CHECKOUT / ".git").exists():
        raise OphookError(
            "sim build --dev", f"{CHECKOUT} is no git checkout", todo="pip install -e . in one: CONTRIBUTING.md"
        )
    for name in debug:
        if not name.endswith(".cpp") or not (CSRC / name).is_file():
            raise OphookError(
                "sim build --debug", f"no source {name}", allowed="a .cpp below csrc, such as kernels/norm.cpp"
            )
    _record().parent.mkdir(parents=True, exist_ok=True, mode=0o755)
    _record().write_text(json.dumps({"checkout": str(CHECKOUT), "debug": list(debug)}) + "\n")


def end() -> None:
    """From now on this checkout uses the build of users."""
    _record().unlink(missing_ok=True)
    _remove(0)


def remove_older(root: Path) -> None:
    """Keep the newest developer builds of this checkout, and those that a command used within the hour."""
    os.utime(root)
    _remove(_KEPT)


def _remove(kept: int) -> None:
    roots = [path for path in (cache_dir() / "sim").glob(f"{prefix()}-*") if path.is_dir() and "." not in path.name]
    for root in sorted(roots, key=lambda path: -path.stat().st_mtime)[kept:]:
        if not kept or time.time() - root.stat().st_mtime > _HOUR:
            shutil.rmtree(root, ignore_errors=True)


def write_commands(libraries: Sequence[Library]) -> None:
    """Write ``compile_commands.json``, with the precompiled header's source in its place."""
    commands = [
        {"directory": str(CHECKOUT), "file": str(source), "arguments": unit_command(Unit((source,), library))}
        for library in libraries
        for source in library.sources
    ]
    text = json.dumps(commands, indent=1) + "\n"
    target = CHECKOUT / COMMANDS
    if not target.exists() or target.read_text() != text:
        target.write_text(text)
