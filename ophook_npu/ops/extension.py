"""Build an operator's NPU kernel, exported from its declaration, for the installed torch and torch_npu."""

from __future__ import annotations

import platform
import sysconfig
from pathlib import Path

from ophook_npu import cache, toolchain
from ophook_npu.npu.installed import require
from ophook_npu.ops.declare import Operator
from ophook_npu.ops.export import out_of_tree
from ophook_npu.toolchain import Library, Progress


def build(op: Operator | None = None, progress: Progress | None = None) -> Path:
    """The shared library that gives ``op`` its NPU kernel; built if it is not there yet. Loading it registers the
    kernel.

    Without ``op`` it is npu_add_custom, whose exported files are op_plugin_patch.

    Raises:
        OphookError: no kernel can be made of the declaration, the wheels are no pair, no compiler, or it does not
        compile.
    """
    if op is None:
        from ophook_npu.ops import declaration

        op = declaration("npu_add_custom")
    torch, torch_npu = require()
    texts = out_of_tree(op)
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
    link_flags = (
        f"-L{torch_lib}", f"-L{torch_npu_lib}", "-ltorch_npu", "-ltorch_cpu", "-ltorch", "-lc10",
        "-Wl,--allow-shlib-undefined", f"-Wl,-rpath,{torch_lib}", f"-Wl,-rpath,{torch_npu_lib}",
    )  # fmt: skip
    stamp = f"torch {torch.version} torch_npu {torch_npu.version} {platform.machine()}"
    soname = f"libophook_{op.namespace}_{op.name}.so"
    key = toolchain.digest([stamp, soname, *texts, *texts.values(), *flags, *link_flags])

    def make(staging: Path) -> None:
        for name, text in texts.items():
            (staging / name).parent.mkdir(exist_ok=True)
            (staging / name).write_text(text)
        python_headers = "the headers of your Python (Debian, Ubuntu: apt-get install python3-dev)"
        npu_header = third_party / "op-plugin" / "op_plugin" / "include" / "npu_cpp_extension.h"
        sources = tuple(staging / name for name in texts if name.endswith(".cpp"))
        library = Library(
            soname, sources, flags, link_flags=link_flags, folder="",
            needs=((python_headers, python / "Python.h"), ("torch-npu", npu_header)),
        )  # fmt: skip
        toolchain.build([library], staging, include_roots=[staging], stamp=stamp, progress=progress)

    return cache.publish(cache.cache_dir() / "extension" / key, make) / soname
