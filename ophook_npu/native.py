"""Our own C++ over torch alone (an observer's recorder, a device for hooks): compiled where it is first used."""

from __future__ import annotations

import platform
from pathlib import Path

import torch

from ophook_npu import cache, toolchain
from ophook_npu.toolchain import Library


def build(source: Path, soname: str) -> Path:
    """The shared library ``soname`` of one source file over the installed torch; built if it is not there yet.

    Raises:
        OphookError: there is no C++ compiler, or it cannot compile against the installed torch.
    """
    root = Path(torch.__path__[0])
    include, lib = root / "include", root / "lib"
    flags = (
        # Headers of torch 2.13 need C++20, those before take it. NDEBUG as torch itself: members of its classes
        # depend on it.
        "-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", "-Wall", "-DNDEBUG",
        f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}",
        f"-isystem{include}", f"-isystem{include / 'torch/csrc/api/include'}",
    )  # fmt: skip
    link_flags = (f"-L{lib}", "-ltorch_cpu", "-lc10", "-ltorch", f"-Wl,-rpath,{lib}")
    header = ("torch", include / "ATen" / "record_function.h")
    library = Library(soname, (source,), flags, link_flags=link_flags, folder="", needs=(header,))
    stamp = f"torch {torch.__version__} {platform.machine()}"
    roots = [source.parent]
    key = toolchain.digest([toolchain.source_key(source, library, roots, stamp), *link_flags])

    def make(staging: Path) -> None:
        toolchain.build([library], staging, include_roots=roots, stamp=stamp)

    return cache.publish(cache.cache_dir() / "native" / key, make) / soname
