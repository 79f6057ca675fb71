"""Build the C++ extension that puts AddCustom's NPU kernel into an installed torch_npu."""

from __future__ import annotations

import json
import os
import platform
import shutil
import sysconfig
import tempfile
from pathlib import Path

from ophook_npu import toolchain
from ophook_npu.errors import OphookError
from ophook_npu.npu.installed import require
from ophook_npu.toolchain import Library, Progress

SONAME = "libophook_npu_ops.so"


def patch_dir() -> Path:
    """``op_plugin_patch``, beside the package in a checkout.

    Raises:
        OphookError: the package was installed without it.
    """
    found = Path(__file__).resolve().parents[2] / "op_plugin_patch"
    if (found / "AddCustomKernelNpuApi.cpp").is_file():
        return found
    raise OphookError(
        "extension",
        f"the kernel's source is not at {found}",
        allowed="a checkout installed with `pip install -e .`",
        todo="clone the repository and install it editable",
    )


def build(progress: Progress | None = None) -> Path:
    """Build the extension for the installed torch and torch_npu, if it is not built yet, and return its path.

    Raises:
        OphookError: the wheels are no pair, no compiler, or the source does not compile.
    """
    torch, torch_npu = require()
    source = patch_dir()
    include = torch_npu.path / "include"
    third_party = include / "third_party"
    python = Path(sysconfig.get_paths()["include"])
    system = (
        include, third_party / "acl" / "inc", third_party / "op-plugin", third_party / "hccl" / "inc",
        torch.path / "include", torch.path / "include" / "torch" / "csrc" / "api" / "include", python,
    )  # fmt: skip
    flags = (
        "-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", "-DOPHOOK_OUT_OF_TREE",
        # torch_npu's headers test it and nothing defines it: V2R13 for torch 2.13.
        "-DCURRENT_VERSION=V{}R{}".format(*torch.release),
        *(f"-isystem{path}" for path in system),
    )  # fmt: skip
    torch_lib, torch_npu_lib = torch.path / "lib", torch_npu.path / "lib"
    library = Library(
        SONAME,
        (source / "AddCustomKernelNpuApi.cpp", source / "extension" / "register.cpp"),
        flags,
        link_flags=(f"-L{torch_lib}", f"-L{torch_npu_lib}", "-ltorch_npu", "-ltorch_cpu", "-ltorch", "-lc10",
                    "-Wl,--allow-shlib-undefined", f"-Wl,-rpath,{torch_lib}", f"-Wl,-rpath,{torch_npu_lib}"),
        folder="",
        needs=(("the headers of your Python (Debian, Ubuntu: apt-get install python3-dev)", python / "Python.h"),
               ("torch-npu", third_party / "op-plugin" / "op_plugin" / "include" / "npu_cpp_extension.h")),
    )  # fmt: skip
    stamp = f"torch {torch.version} torch_npu {torch_npu.version} {platform.machine()}"
    keys = [toolchain.object_key(path, flags, [source], stamp) for path in library.sources]
    root = toolchain.cache_dir() / "extension" / toolchain.digest([*keys, *library.link_flags])
    target = root / SONAME
    if target.exists():
        return target
    with toolchain.locked(root.parent / f"{root.name}.lock"):
        if target.exists():
            return target
        staging = Path(tempfile.mkdtemp(dir=root.parent, prefix="building-"))
        try:
            toolchain.build([library], staging, include_roots=[source], stamp=stamp, progress=progress)
            (staging / "info.json").write_text(json.dumps({"torch": torch.version, "torch_npu": torch_npu.version}))
            staging.chmod(0o755)
            if root.exists():
                shutil.rmtree(root)
            os.replace(staging, root)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    return target
