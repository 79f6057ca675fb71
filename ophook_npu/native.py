"""Our own C++ over torch alone (an observer's recorder, a device for hooks): compiled where it is first used."""

from __future__ import annotations

import functools
import importlib.machinery
import importlib.util
import platform
import sys
import sysconfig
from pathlib import Path
from typing import Any

from ophook_npu import cache, prebuilt, toolchain
from ophook_npu.errors import OphookError
from ophook_npu.npu.installed import Wheel, torch_wheel
from ophook_npu.toolchain import Library

_PACKAGE = Path(__file__).resolve().parent
SOURCES = {
    "libophook_record_function.so": _PACKAGE / "hooks" / "record_function.cpp",
    "libophook_host_device.so": _PACKAGE / "hooks" / "_host_device.cpp",
    "libophook_figures.so": _PACKAGE / "observe" / "_figures.cpp",
    "ophook_look.so": _PACKAGE / "observe" / "port" / "_look.cpp",
}
_EXTENSIONS = ("ophook_look.so",)  # modules of this Python's, which need its headers
_LOOPS = ("libophook_figures.so",)  # arithmetic in plain C++


def library(soname: str) -> Path:
    """One of `SOURCES` over the installed torch; built if it is not there yet.

    Raises:
        OphookError: there is no C++ compiler, it cannot compile against the installed torch, or the library that is
            there is not the one that was built.
    """
    torch = _torch()
    made, roots, stamp = _library(soname, torch, str(torch.path / "lib")), [_PACKAGE], _stamp(torch)
    ready = prebuilt.fitting()
    found = ready.library(f"native/{soname}", toolchain.library_recipe(made, roots, stamp)) if ready else None
    if found:
        return found

    def make(staging: Path) -> None:
        toolchain.build([made], staging, include_roots=roots, stamp=stamp)

    return cache.publish(cache.cache_dir() / "native" / toolchain.library_key(made, roots, stamp), make) / soname


@functools.cache
def extension(name: str) -> Any:
    """The module of that name.

    Raises:
        OphookError: as :func:`library`.
    """
    path = str(library(f"{name}.so"))
    loader = importlib.machinery.ExtensionFileLoader(name, path)
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def build_into(folder: Path, torch_lib: str) -> dict[str, str]:
    """Build all of them, to be used where ``torch_lib`` leads to torch's libraries; gives each one's recipe."""
    torch = _torch()
    made, stamp = [_library(soname, torch, torch_lib) for soname in SOURCES], _stamp(torch)
    toolchain.build(made, folder, include_roots=[_PACKAGE], stamp=stamp)
    return {library.soname: toolchain.library_recipe(library, [_PACKAGE], stamp) for library in made}


def _torch() -> Wheel:
    torch = torch_wheel()
    if torch is None:
        raise OphookError("torch", "it is not installed", todo="pip install torch")
    return torch


def _stamp(torch: Wheel) -> str:
    return f"torch {torch.version} {platform.machine()}"


def _library(soname: str, torch: Wheel, torch_lib: str) -> Library:
    include = torch.path / "include"
    flags: tuple[str, ...] = (
        # Headers of torch 2.13 need C++20, those before take it. NDEBUG as torch itself: members of its classes
        # depend on it.
        "-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", "-Wall", "-DNDEBUG",
        # Messages name files as the packages do, not where they lay when they were compiled.
        f"-ffile-prefix-map={torch.path}=torch", f"-ffile-prefix-map={_PACKAGE}=ophook_npu",
        f"-isystem{include}", f"-isystem{include / 'torch/csrc/api/include'}",
    )  # fmt: skip
    links: tuple[str, ...] = (f"-L{torch.path / 'lib'}", "-ltorch_cpu", "-lc10", "-ltorch", f"-Wl,-rpath,{torch_lib}")
    if soname in _EXTENSIONS:
        flags += (f"-DOPHOOK_PYTHON=0x{sys.hexversion >> 16:x}", f"-isystem{sysconfig.get_path('include')}")
        links = ("-Wl,-z,undefs",)  # the interpreter has the rest
    if soname in _LOOPS:
        flags += ("-O3", "-fno-trapping-math")
        links = ()
    header = ("torch", include / "ATen" / "record_function.h")
    return Library(soname, (SOURCES[soname],), flags, link_flags=links, folder="", needs=(header,))
