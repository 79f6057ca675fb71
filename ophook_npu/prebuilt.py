"""The distribution ``ophook-npu-sim``: what this package would compile, compiled elsewhere (``ophook-npu sim wheel``).

It is used where it fits: the same package, torch, torch_npu, Python and C++ ABI, a glibc and a libstdc++ that are new
enough, and sources from which the same would be made. Each library is compared with its hash before it is used.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import json
import os
import platform
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ophook_npu import __version__, cache
from ophook_npu.errors import OphookError
from ophook_npu.npu.installed import torch_npu_wheel, torch_wheel

PACKAGE = "ophook_npu_sim"
DISTRIBUTION = "ophook-npu-sim"
FACTS = "ophook-sim.json"
_GLIBCXX = rb"GLIBCXX_(\d[\d.]*)(?=\0)"


@dataclass(frozen=True)
class Prebuilt:
    folder: Path
    facts: dict[str, Any]

    def library(self, name: str, recipe: str) -> Path | None:
        """The library of that name, if it was made by that recipe.

        Raises:
            OphookError: it is not the library that was built.
        """
        if self.facts["recipes"].get(name) != recipe:
            return None
        self.verify(name)
        return self.folder / name

    def verify(self, below: str) -> None:
        """Compare the libraries ``below`` (a folder, or one library) with their hashes; raises OphookError."""
        expected = {n: h for n, h in self.facts["hashes"].items() if n == below or n.startswith(f"{below}/")}
        found = {n: h for n, h in cache.hashes(self.folder).items() if n == below or n.startswith(f"{below}/")}
        cache.compare(self.folder, found, expected, f"install {DISTRIBUTION} again")


def installed() -> Prebuilt | None:
    """What is installed, whether it fits or not.

    Raises:
        OphookError: it is there and cannot be read.
    """
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(next(iter(spec.submodule_search_locations))).resolve()
    try:
        facts = json.loads((folder / FACTS).read_text())
        parts = ("hashes", "recipes", "made")
        if not isinstance(facts, dict) or not all(isinstance(facts.get(part), dict) for part in parts):
            raise ValueError("it does not have the form that `ophook-npu sim wheel` gives it")
    except (OSError, ValueError) as error:
        raise OphookError(
            DISTRIBUTION, f"{folder / FACTS} cannot be read: {error}", todo="install it again, or uninstall it"
        ) from error
    return Prebuilt(folder, facts)


@functools.cache
def fitting() -> Prebuilt | None:
    """What is installed, if it fits this Python, torch, torch_npu and machine."""
    found = installed()
    return found if found and not differences(found.facts["made"]) else None


def differences(made: dict[str, str]) -> list[str]:
    """What keeps libraries that were made for ``made`` from being used here, in words; none if they fit."""
    said = []
    for what, here in here_now().items():
        there = made.get(what, "nothing")
        fits = _release(there) <= _release(here) if what in ("glibc", "libstdc++") else there == here
        if not fits:
            wanted = f"{there} or later" if what in ("glibc", "libstdc++") else there
            said.append(f"{what} is {here}, it was made for {wanted}")
    return said


def here_now() -> dict[str, str]:
    """What libraries that are made here depend on, by name."""
    torch, torch_npu = torch_wheel(), torch_npu_wheel()
    return {
        "ophook-npu": __version__,
        "torch": torch.version if torch else "not installed",
        "torch_npu": torch_npu.version if torch_npu else "not installed",
        "Python": sys.implementation.cache_tag or "unknown",
        "machine": platform.machine(),
        "C++ ABI": _string_abi(torch.path / "lib" / "libc10.so") if torch else "unknown",
        "glibc": (os.confstr("CS_GNU_LIBC_VERSION") or "0").split()[-1] if sys.platform == "linux" else "none",
        "libstdc++": _newest(_loaded("libstdc++.so.6"), _GLIBCXX),
    }


def needs(libraries: list[Path]) -> dict[str, str]:
    """The versions of glibc and libstdc++ that ``libraries`` ask for."""
    texts = b"\0".join(path.read_bytes() for path in libraries)
    return {"glibc": _newest(texts, rb"GLIBC_(\d[\d.]*)(?=\0)"), "libstdc++": _newest(texts, _GLIBCXX)}


def _string_abi(libc10: Path) -> str:
    """Which std::string torch was compiled with; its C++ names tell."""
    return "cxx11" if libc10.is_file() and b"__cxx11" in libc10.read_bytes() else "before cxx11"


def _loaded(soname: str) -> bytes:
    """The library that the loader finds."""
    try:
        ctypes.CDLL(soname)
        with open("/proc/self/maps") as maps:
            return next((Path(line.split()[-1]).read_bytes() for line in maps if soname in line), b"")
    except OSError:
        return b""


def _newest(text: bytes, pattern: bytes) -> str:
    return max((found.decode().rstrip(".") for found in re.findall(pattern, text)), key=_release, default="0")


def _release(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def why_not(simulator: str) -> str | None:
    """Why the simulator of what is installed is not used, given the recipe of the one that is wanted; None where it is,
    or where nothing is installed."""
    found = installed()
    if found is None:
        return None
    said = differences(found.facts["made"])
    if not said and found.facts["recipes"].get("sim") != simulator:
        said = ["the simulator's sources are not those it was made of"]
    return f"the installed {DISTRIBUTION} does not fit: {'; '.join(said)}" if said else None
