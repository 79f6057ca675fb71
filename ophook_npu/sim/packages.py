"""Vendor packages of other operator projects, linked to the simulated Ascend that they are for."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ophook_npu import cache, recipes, sim
from ophook_npu.errors import OphookError
from ophook_npu.kernel.build import RUNTIME
from ophook_npu.kernel.package import Variant, build_into, compile_parts
from ophook_npu.kernel.project import Project
from ophook_npu.sim import program


def build(path: Path, out: Path, include: Sequence[Path] = ()) -> list[Path]:
    """Build every operator of the project into ``out``, which is replaced if it is such a package.

    ``include``: folders with headers.

    Returns:
        The libraries, and the binaries that a program can load by itself (aclrtBinaryLoadFromFile).

    Raises:
        OphookError: something does not compile, or ``out`` is something else.
    """
    return build_project(Project(path, include), out)


def build_project(project: Project, out: Path) -> list[Path]:
    """`build` of a project that is known already."""
    if out.exists() and any(out.iterdir()) and not (out / "op_impl" / "cpu").is_dir():
        raise OphookError("kernel build", f"{out} is not empty and no such package", allowed="a new or empty folder")
    simulator = sim.active() or sim.build()
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as name:
        staging = Path(name) / "package"
        parts = compile_parts(project)
        build_into(parts, staging, simulator / "lib64")
        for variant in parts.variants:
            _binary(variant, staging / "op_impl" / "cpu", simulator / "lib64")
        if out.exists():
            shutil.rmtree(out)
        shutil.move(staging, out)
    return sorted(p for p in out.rglob("*") if p.suffix in (".so", ".o"))


# What tells libascendcl about a kernel that is compiled already. All libraries of an operator have one soname, so that
# they are opened and not linked. A source that asks which core it is compiled for is there twice.
_TOLD = """#include <dlfcn.h>

#include "ascendc/program/launch.h"

namespace ophook::rt {{
__attribute__((visibility("default"))) bool is_vector_core();
}}
namespace {{
using Kernel = void (*)({parameters});
Kernel in(const char* name) {{
  void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  return library ? reinterpret_cast<Kernel>(dlsym(library, "{function}")) : nullptr;
}}
const Kernel vector = in("{vector}"), cube = in("{cube}");
void start({named}) {{ (ophook::rt::is_vector_core() ? vector : cube)({given}); }}
using Entry = ophook::program::Entry<&start>;
const ophook::program::Declared declared("{function}", {kind});
const bool told = vector && cube && (ophook::program::Named("{function}", Entry::bind, Entry::sizes(){keys}), true);
}}  // namespace
"""


def _binary(variant: Variant, folder: Path, lib: Path) -> None:
    """Write what aclrtBinaryLoadFromFile takes next to the kernel's library, which it opens."""
    numbers = range(variant.parameters)
    keys = "" if variant.keys is None else f", {{{', '.join(f'{key}ull' for key in variant.keys)}}}"
    text = _TOLD.format(
        function=variant.function, kind=variant.kind, keys=keys, vector=variant.file,
        cube=variant.file.replace(".so", "_cube.so") if variant.cube else variant.file,
        parameters=", ".join("void*" for _ in numbers), named=", ".join(f"void* a{i}" for i in numbers),
        given=", ".join(f"a{i}" for i in numbers),
    )  # fmt: skip

    def write(staging: Path) -> None:
        (staging / "told.cpp").write_text(text)

    source = cache.publish(cache.cache_dir() / "ascendc" / "binaries" / recipes.digest([text]), write) / "told.cpp"
    links = [f"-L{folder}", f"-l:{RUNTIME}", f"-L{lib}", "-l:libophook_sim_core.so"]
    places = ["-Wl,--no-as-needed", "-Wl,-rpath,$ORIGIN", f"-Wl,-rpath,{lib}"]
    out = (folder / variant.file).with_suffix(".o")
    program.link_binary(source, [*places, *links, "-ldl", "-lpthread"], out)
