"""The installed torch and torch_npu, found without importing either."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import mmap
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ophook_npu.errors import OphookError


@dataclass(frozen=True)
class Wheel:
    """An installed package: its version as published (``2.13.0+cpu``) and the folder that holds it."""

    name: str
    version: str
    path: Path

    @property
    def release(self) -> tuple[int, int]:
        """Major and minor version."""
        match = re.match(r"(\d+)\.(\d+)", self.version)
        if not match:
            raise OphookError(self.name, f"its version {self.version!r} does not start with two numbers")
        return int(match.group(1)), int(match.group(2))


def _find(module: str, distribution: str) -> Wheel | None:
    spec = importlib.util.find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        return None
    try:
        version = importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None
    return Wheel(module, version, Path(next(iter(spec.submodule_search_locations))).resolve())


_CUDA = re.compile(r"^cuda\b.*= *'([\d.]+)'", re.MULTILINE)


def cuda_of(torch: Wheel) -> str | None:
    """The CUDA version that a torch was built with; None for a build for the CPU."""
    try:
        found = _CUDA.search((torch.path / "version.py").read_text(encoding="utf-8"))
    except OSError:
        return None
    return found[1] if found else None


def torch_wheel() -> Wheel | None:
    """The installed torch, or ``None``."""
    return _find("torch", "torch")


def torch_npu_wheel() -> Wheel | None:
    """The installed torch_npu, or ``None``."""
    return _find("torch_npu", "torch-npu")


def built_in(names: Iterable[str], wheel: Wheel | None = None) -> list[str]:
    """Those of the operators (``npu_add_custom``) that torch_npu's own library defines: built from patched source.

    Reads the library's bytes; nothing is loaded. ``wheel``: the torch_npu to look at, default the installed one.
    """
    wheel = wheel or torch_npu_wheel()
    library = wheel.path / "lib" / "libtorch_npu.so" if wheel else None
    if library is None or not library.is_file() or not library.stat().st_size:
        return []
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        # As the schema stands in the library: the end of a string, the name, its arguments.
        return [name for name in names if content.find(b"\0" + name.encode() + b"(") >= 0]


# The first torch whose CUDA library is seen to register allocator settings under torch_npu's names; 2.10's does not.
_ALONE = (2, 13)
_OLDEST = (2, 7)
RAN = ("2.7", "2.8", "2.9", "2.10", "2.11", "2.12", "2.13", "2.14")
"""The releases of torch_npu that the tests were run with; docs/versions.md has what came of it."""


def torch_index() -> str:
    """The index that has torch for the CPU: ``$OPHOOK_TORCH_INDEX``, else PyTorch's own. PyPI has builds with CUDA."""
    return os.environ.get("OPHOOK_TORCH_INDEX") or "https://download.pytorch.org/whl/cpu"


def _install_torch(version: str) -> str:
    return f"pip install --extra-index-url {torch_index()} torch=={version}"


def require() -> tuple[Wheel, Wheel]:
    """torch and torch_npu, checked to be a pair.

    Raises:
        OphookError: one is absent, torch_npu was built for another torch, or it cannot be imported next to this one.
    """
    torch, torch_npu = torch_wheel(), torch_npu_wheel()
    if torch is None:
        raise OphookError("torch", "it is not installed", todo=_install_torch("2.13.0"))
    if torch_npu is None:
        # Without its dependencies: some releases ask for a torch by a name that only PyTorch's index has.
        fitting = "pip install --no-deps 'torch-npu=={}.{}.*'; pip install 'ophook-npu[npu-needs]'"
        raise OphookError("torch_npu", "it is not installed", todo=fitting.format(*torch.release))
    if torch.release != torch_npu.release:
        wanted = "{}.{}".format(*torch_npu.release)
        raise OphookError(
            "torch_npu",
            f"torch {torch.version} and torch_npu {torch_npu.version} are no pair",
            allowed="the same major and minor version",
            todo=f"{_install_torch(wanted + '.*')}; or torch-npu for torch {torch.version}",
        )
    if torch.release < _OLDEST:
        raise OphookError(
            "torch_npu",
            f"{torch_npu.version} is older than what is supported",
            allowed=f"{'.'.join(map(str, _OLDEST))} or later; run so far: {', '.join(RAN)}",
            todo=_install_torch("2.13.0"),
        )
    cuda = cuda_of(torch) if torch.release >= _ALONE else None
    if cuda:
        release = torch.version.split("+")[0]
        raise OphookError(
            "torch",
            f"{torch.version} is a build with CUDA {cuda}: importing torch_npu {torch_npu.version} next to it ends the "
            "process (both register pinned_reserve_segment_size_mb)",
            allowed="a build for the CPU",
            todo=_install_torch(f"{release}+cpu"),
        )
    return torch, torch_npu
