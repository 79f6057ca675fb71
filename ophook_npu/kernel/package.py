"""A vendor package whose operators run their own kernels, for the simulated Ascend::

    op_api/lib/libcust_opapi.so                   aclnnXxxGetWorkspaceSize and aclnnXxx
    op_api/include/aclnn_xxx.h                    what programs include for them
    op_proto/lib/linux/…/libcust_opsproto.so      REG_OP prototypes; inference is the operator's own
    op_proto/inc/op_proto.h                       the prototypes, for programs that build graphs
    op_impl/cpu/                                  the host side, the runtime; for each choice of data types a library and
                                                  what aclrtBinaryLoadFromFile takes (`sim.packages`), NAME_0.o
    version.info

``ASCEND_CUSTOM_OPP_PATH`` is the folder that holds these.
"""

# ruff: noqa: E501 - rows of generated C++
from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from ophook_npu import cache, recipes, toolchain
from ophook_npu.errors import OphookError
from ophook_npu.kernel import build as compilers
from ophook_npu.kernel.operator import Kernel
from ophook_npu.kernel.package_text import aclnn, header, proto, proto_header, refuse_others
from ophook_npu.kernel.project import Project, Prototype
from ophook_npu.kernel.source import Entry, Settings
from ophook_npu.npu.installed import require
from ophook_npu.soc import CSRC


@dataclass(frozen=True)
class Variant:
    """An operator's kernel for one choice of data types."""

    choice: dict[str, int]
    file: str
    built: Path
    cube: Path | None  # the same, compiled for cube cores, where that is another library
    function: str
    kind: int
    parameters: int
    keys: list[int] | None  # None: its text does not say all of them


@dataclass(frozen=True)
class Parts:
    """What a package is put together from: everything compiled, nothing linked to the simulator's libraries."""

    variants: list[Variant]
    host: Path
    api: Path  # generated sources
    prototypes: Path
    headers: dict[str, str]  # by their places in the package
    own_api: tuple[Path, ...] = ()  # sources of the project, which include those of op_api/include


def compile_parts(project: Project, *, kernels: bool = True) -> Parts:
    """Compile every operator of the project. It needs the simulator's headers only, not its libraries.

    Args:
        kernels: whether kernels and their runtime are compiled now; `compile_kernels` does it later.

    Raises:
        OphookError: something does not compile.
    """
    with ThreadPoolExecutor(1) as pool:
        runtime = pool.submit(compilers.runtime) if kernels else None
        prototypes = list(project.prototypes.values())
        if runtime:
            runtime.result()
    rows = _rows(project, prototypes)
    variants = _compiled(rows) if kernels else []
    api = ""
    for prototype in prototypes:
        own = [row for row in rows if row.prototype is prototype]
        kind = own[0].entry.kind if own else 0  # no data types that kernels have here: each call is refused
        api += aclnn(prototype, [(row.choice, row.file) for row in own], kind, project.begin)
    parts = Parts(
        variants,
        project.host_library(),
        _generated(api, _API),
        _generated("".join(map(proto, prototypes)), _PROTOTYPES),
        {f"op_api/include/{project.begin}_{p.snake}.h": header(p, project.begin) for p in prototypes}
        | {"op_proto/inc/op_proto.h": proto_header(prototypes)},
        project.own_api,
    )
    if not parts.own_api:
        libraries, roots, stamp = _libraries(parts, ())
        toolchain.compile_ahead(libraries, include_roots=roots, stamp=stamp)
    return parts


def compile_kernels(project: Project, folder: Path) -> None:
    """Put into a package what `compile_parts` left out: the kernels of every operator, and their runtime.

    Raises:
        OphookError: something does not compile.
    """
    compilers.runtime()
    _place(_compiled(_rows(project, list(project.prototypes.values()))), folder)


def beginning() -> str:
    """What the names of a package's functions begin with, for projects that CMake builds.

    Raises:
        OphookError: it is no name.
    """
    begin = os.environ.get("OPS_PROJECT_NAME") or "aclnn"
    if not begin.isidentifier():
        raise OphookError("op_build", f"OPS_PROJECT_NAME={begin}", allowed="a name of C")
    return begin


_API, _PROTOTYPES = "libcust_opapi", "libcust_opsproto"


def _generated(text: str, name: str) -> Path:
    def write(staging: Path) -> None:
        (staging / f"{name}.cpp").write_text(text)

    return cache.publish(cache.cache_dir() / "ascendc" / "package" / recipes.digest([text]), write) / f"{name}.cpp"


def _libraries(parts: Parts, link: Sequence[str]) -> tuple[list[toolchain.Library], list[Path], str]:
    """The libraries that CANN looks for, with the roots and the stamp of their objects."""
    _, torch_npu = require()
    include = torch_npu.path / "include" / "third_party"
    flags = ("-Og", "-fPIC", "-fvisibility=hidden", f"-I{CSRC}")
    graph = (
        "-std=c++17", "-Og", "-fPIC", "-D_GLIBCXX_USE_CXX11_ABI=0", f"-I{CSRC}",
        f"-isystem{include / 'acl' / 'inc'}", f"-isystem{include.parent}",
    )  # fmt: skip
    libraries = [
        toolchain.Library(f"{source.stem}.so", (source,), how, (links,), tuple(link), place)
        for source, place, how, links in (
            (parts.api, "op_api/lib", flags, "libophook_kernel.so"),
            (parts.prototypes, f"op_proto/lib/linux/{platform.machine()}", graph, "libgraph.so"),
        )
    ]
    return libraries, [CSRC, parts.api.parent, parts.prototypes.parent], f"torch_npu {torch_npu.version}"


def build_into(parts: Parts, folder: Path, lib: Path, link_flags: Sequence[str] = ()) -> None:
    """Put the package together in an empty ``folder``, against the simulator's libraries in ``lib``.

    Raises:
        OphookError: something does not link.
    """
    cpu = folder / "op_impl" / "cpu"
    cpu.mkdir(parents=True)
    shutil.copy(parts.host, cpu)
    if parts.variants:
        _place(parts.variants, folder)
    for place, text in parts.headers.items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(text)
    libraries, roots, stamp = _libraries(parts, (f"-L{lib}", f"-Wl,-rpath-link,{lib}", *link_flags))
    if parts.own_api:
        api, *others = libraries
        given = (f"-I{lib.parent / 'include'}", f"-I{folder / 'op_api' / 'include'}")
        both, flags = (*api.sources, *parts.own_api), (*given, *api.flags)
        libraries = [replace(api, sources=both, flags=flags, links=(*api.links, "libascendcl.so")), *others]
    toolchain.build(libraries, folder, include_roots=roots, stamp=stamp)
    (folder / "version.info").write_text("custom_opp_compiler_version=ophook_npu\n")


def _place(variants: Sequence[Variant], folder: Path) -> None:
    cpu = folder / "op_impl" / "cpu"
    cpu.mkdir(parents=True, exist_ok=True)
    shutil.copy(compilers.runtime(), cpu)
    for variant in variants:
        shutil.copy(variant.built, cpu / variant.file)
        if variant.cube:
            shutil.copy(variant.cube, cpu / variant.file.replace(".so", "_cube.so"))


@dataclass(frozen=True)
class _Row:
    """One choice of an operator's data types, with what compiles its kernel."""

    prototype: Prototype
    choice: dict[str, int]
    file: str
    entry: Entry


def _rows(project: Project, prototypes: Sequence[Prototype]) -> list[_Row]:
    rows = []
    for prototype in prototypes:
        refuse_others(prototype)
        kernel = Kernel(project, prototype, Settings())
        # The host library is asked by one thread: its answers are in one place of its memory.
        for i, choice in enumerate(prototype.combinations()):
            rows.append(_Row(prototype, choice, f"{prototype.snake}_{i}.so", kernel.entry(choice)))
    return rows


def _compiled(rows: Sequence[_Row]) -> list[Variant]:
    with ThreadPoolExecutor(max(1, len(rows))) as pool:  # toolchain.run holds them back
        built = list(pool.map(lambda row: (row.entry.build(), row.entry.build_cube()), rows))
    return [
        Variant(
            row.choice, row.file, library, cube, row.entry.function, row.entry.kind,
            row.prototype.parameters,
            row.entry.tiling_keys,
        )
        for row, (library, cube) in zip(rows, built, strict=True)
    ]  # fmt: skip
