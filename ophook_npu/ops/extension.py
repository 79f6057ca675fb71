"""Build an operator's NPU kernel, exported from its declaration, for the installed torch and torch_npu."""

from __future__ import annotations

import platform
import shutil
import sys
import sysconfig
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ophook_npu import cache, prebuilt, recipes, toolchain
from ophook_npu.npu.installed import require
from ophook_npu.pace import OnStep
from ophook_npu.toolchain import Library

if TYPE_CHECKING:
    from ophook_npu.ops.declare import Operator


def build(op: Operator | None = None, progress: OnStep | None = None) -> Path:
    """The shared library that gives ``op`` its NPU kernel; built if it is not there yet. Loading it registers the
    kernel.

    Without ``op`` it is npu_add_custom, whose exported files are op_plugin_patch.

    Raises:
        OphookError: no kernel can be made of the declaration, the wheels are no pair, no compiler, or it does not
        compile.
    """
    ready = prebuilt.fitting()
    built = cache.cache_dir() / "extension"
    # Not where there is a wheel: what it was made of asks for a compiler, and there need be none.
    note = built / f"{_sources()}.key" if op is None and ready is None else None
    if note is not None and note.is_file():
        there = built / note.read_text()
        if (there.parent / cache.MANIFEST).is_file():
            return cache.checked(there.parent) / there.name
    if op is None:
        from ophook_npu.ops.add_custom import OPERATOR

        op = OPERATOR
    plan = _plan(op)
    found = ready.library(f"extension/{plan.soname}", plan.recipe) if ready else None
    if found:
        return found
    key = recipes.digest([toolchain.compiler_version(toolchain.compiler()), plan.recipe, *plan.link_flags])

    # Precompiled headers take as long to make as three operators take without them: who has built four builds more.
    many = built.is_dir() and sum(folder.is_dir() for folder in built.iterdir()) >= 4

    def make(staging: Path) -> None:
        plan.build(staging, progress, keep_headers=many)

    library = cache.publish(built / key, make) / plan.soname
    if note is not None:
        note.write_text(f"{key}/{plan.soname}")
    return library


def build_into(op: Operator, folder: Path, wheels: str) -> dict[str, str]:
    """Build it to be used where ``wheels`` leads to the folder that holds torch and torch_npu; gives its recipe.

    Raises:
        OphookError: as `build`.
    """
    plan = _plan(op, wheels)
    with tempfile.TemporaryDirectory() as staging:
        plan.build(Path(staging))
        shutil.copy(Path(staging) / plan.soname, folder)
    return {plan.soname: plan.recipe}


def _sources() -> str:
    """What AddCustom's library comes from. Its declaration imports torch, which takes longer than all that is here."""
    torch, torch_npu = require()
    folder = Path(__file__).parent
    ours = [*sorted([*folder.rglob("*.py"), *folder.rglob("*.h")]), Path(toolchain.__file__)]
    wheels = [torch.version, str(torch.path), torch_npu.version, str(torch_npu.path)]
    python = [str(sys.implementation.cache_tag), platform.machine()]
    compiler = toolchain.compiler_version(toolchain.compiler())
    return recipes.digest([compiler, *wheels, *python, *(path.read_bytes() for path in ours)])


_PREFIX = Path(__file__).parent / "export" / "prefix.h"


@dataclass(frozen=True)
class _BuildPlan:
    """How an operator's kernel is compiled."""

    soname: str
    texts: dict[str, str]
    flags: tuple[str, ...]
    link_flags: tuple[str, ...]
    needs: tuple[tuple[str, Path], ...]
    stamp: str

    @property
    def recipe(self) -> str:
        """What it is made of, whatever compiler makes it and wherever it is linked."""
        told = recipes.without_places(self.flags)
        return recipes.digest([self.stamp, self.soname, *told, *self.texts, *self.texts.values(), _PREFIX.read_text()])

    def build(self, folder: Path, progress: OnStep | None = None, *, keep_headers: bool = False) -> None:
        for name, text in self.texts.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text)
        # One file that includes them all: what takes long are torch's headers, which each of them includes.
        one = folder / "ophook_unit.cpp"
        one.write_text("".join(f'#include "{name}"\n' for name in self.texts if name.endswith(".cpp")))
        flags = (*self.flags, f"-ffile-prefix-map={folder}=.")
        library = Library(
            self.soname, (one,), flags, link_flags=self.link_flags, folder="", needs=self.needs,
            prefix=_PREFIX, keep_prefix=keep_headers,
        )  # fmt: skip
        toolchain.build([library], folder, include_roots=[folder], stamp=self.stamp, progress=progress)


def _plan(op: Operator, wheels: str = "") -> _BuildPlan:
    from ophook_npu.ops.export import out_of_tree

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
        # Messages name the files of the wheels as these do, not where they lay when they were compiled.
        f"-ffile-prefix-map={torch.path}=torch", f"-ffile-prefix-map={torch_npu.path}=torch_npu",
        *(f"-isystem{path}" for path in system),
    )  # fmt: skip
    torch_lib, torch_npu_lib = torch.path / "lib", torch_npu.path / "lib"
    found_in = (f"{wheels}/torch/lib", f"{wheels}/torch_npu/lib") if wheels else (torch_lib, torch_npu_lib)
    link_flags = (
        f"-L{torch_lib}", f"-L{torch_npu_lib}", "-ltorch_npu", "-ltorch_cpu", "-ltorch", "-lc10",
        "-Wl,--allow-shlib-undefined", *(f"-Wl,-rpath,{folder}" for folder in found_in),
    )  # fmt: skip
    python_headers = "the headers of your Python (Debian, Ubuntu: apt-get install python3-dev)"
    npu_header = third_party / "op-plugin" / "op_plugin" / "include" / "npu_cpp_extension.h"
    return _BuildPlan(
        f"libophook_{op.namespace}_{op.name}.so",
        dict(texts),
        flags,
        link_flags,
        ((python_headers, python / "Python.h"), ("torch-npu", npu_header)),
        f"torch {torch.version} torch_npu {torch_npu.version} {sys.implementation.cache_tag} {platform.machine()}",
    )
