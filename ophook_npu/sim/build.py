"""What the simulated Ascend consists of, and its build against the installed torch and torch_npu.

The result is a folder laid out like a CANN installation::

    <cache>/sim/<key>/
        lib64/        libascendcl.so, libopapi.so, libge_runner.so, … and CANN's other names of them
        include/      CANN's headers, and those of aclnn functions (`ophook_npu.sim.headers`)
        python/site-packages/  acl (pyACL), hccl (its release), and plugins that other projects look for
                      (`ophook_npu.sim.plugins`)
        opp/vendors/  config.ini and the vendor package "ophook" with the custom operators
        bin/npu-smi   bin/msprof   set_env.sh   bin/setenv.bash
        tikcpp/ascendc_kernel_cmake/  ascendc.cmake: libraries of kernels, for CMake
        tools/profiler/  msprof, where CANN has it (`ophook_npu.sim.msprof`)
        runtime/ compiler/   CANN's components, and acllib, atc and fwkacllib, their names in older releases: the same
                      headers and libraries (torch_npu looks for them below ASCEND_HOME_PATH)
        cann-8.5.0/ cann-9.0.0/  ASCEND_HOME_PATH of each release: links to these, and a file that says which it is
        cann/ latest/ the first of them, where LD_LIBRARY_PATH leads

It is published by one rename: it is there as a whole, or not at all.
"""

from __future__ import annotations

import json
import os
import platform
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from ophook_npu import __version__, cache, prebuilt, recipes, soc, toolchain
from ophook_npu.errors import OphookError
from ophook_npu.kernel import build as compilers
from ophook_npu.kernel import socs
from ophook_npu.npu.installed import Wheel, require
from ophook_npu.pace import OnStep
from ophook_npu.prebuilt import Prebuilt
from ophook_npu.sim import developer, headers, plugins, prototypes
from ophook_npu.sim.libraries import FLAGS, libraries
from ophook_npu.sim.operators import graph_rows, rows
from ophook_npu.sim.variables import CANN_VERSIONS, SEARCHED, home, set_env_script

if TYPE_CHECKING:
    from ophook_npu.kernel.package import Parts

CSRC = soc.CSRC
VENDOR = "ophook"
MACHINES = ("x86_64", "aarch64")
_INFO = "ophook-sim.json"
_PYACL = Path(__file__).parent / "pyacl"
_PLUGINS = Path(plugins.__file__).parent
_MSPROF = Path(__file__).parent / "msprof"
_FORWARDS = CSRC / "include" / "forwards.txt"
_SOURCES = (".cpp", ".h", ".inc")

# What programs link to or load by other names: CANN has the same functions in more libraries.
_OTHER_NAMES = {
    "libascendcl.so": tuple(
        f"lib{name}.so"
        for name in (
            *("acl_rt", "acl_rt_impl", "acl_mdl", "acl_cblas", "acl_op_executor", "runtime", "runtime_camodel"),
            "ascend_dump",
        )
    ),
    # Operators with C++ of their own link to them.
    "libge_runner.so": (
        *("libgert.so", "liblowering.so", "libge_compiler.so"),
        *(f"libfmk_{name}_parser.so" for name in ("onnx", "caffe", "tf")),
    ),
    "libmsprofiler.so": ("libprofapi.so",),
    # Tilings stand in headers; they take shapes of the graph engine, and what tells of the processor.
    "libgraph.so": (
        *("libgraph_base.so", "libge_common.so", "libge_common_base.so", "libmetadef.so", "libtiling_api.so"),
        "libtiling_api.a",
    ),
    "libopapi.so": ("libnnopbase.so", *(f"libopapi_{part}.so" for part in ("math", "nn", "cv", "transformer"))),
    # Their functions stand in our headers, or only CANN's own libraries call them: there is nothing in it.
    "libascend_protobuf.so": tuple(
        f"lib{name}.so"
        for name in ("error_manager", "mmpa", "npu_drv_camodel", "pem_davinci", "register", "rt2_registry")
    ),
    "libascendalog.so": ("libunified_dlog.so",),
    "libc_sec.so": ("libc_sec.a",),
}

# Packages that operators' builds ask for by share/info/PACKAGE/version.info. Something here stands for each.
_PACKAGES = (
    *("asc-devkit", "asc-tools", "bisheng-compiler", "ge-compiler", "ge-executor", "hccl", "hcomm", "metadef"),
    *("opbase", "ops-cv", "ops-math", "ops-nn", "ops-transformer", "runtime"),
)

# Whose version version.cfg tells, by which builds find a toolkit and its release.
_PARTS = ("runtime", "compiler", "hccl", "opp", "toolkit")

# What the host's compiler links to objects of kernels: `ophook_npu.sim.program.offer` fills it.
LAUNCHER = "libascendc_runtime.a"

# Some programs look for this one; it finds the folder by itself, as the other does.
SETENV = 'source "$(dirname -- "${BASH_SOURCE[0]}")/../set_env.sh"\n'


def stamp(torch: Wheel, torch_npu: Wheel) -> str:
    return f"torch {torch.version} torch_npu {torch_npu.version} {platform.machine()}"


def recipe() -> str:
    """What the simulator is made of, whatever compiler makes it and wherever it lies.

    Every command asks, and reading the sources takes longer than the rest of it: while no file of the package was
    written or replaced, the answer is the one that was noted last.
    """
    torch, torch_npu = require()
    wheels = [f"{wheel.version} {wheel.path}" for wheel in (torch, torch_npu)]
    now = recipes.digest([*wheels, os.environ.get(FLAGS, ""), *_states()])
    note = cache.cache_dir() / "sim" / "recipe"
    seen, _, noted = (note.read_text(encoding="utf-8", errors="replace") if note.is_file() else "").partition(" ")
    if seen == now:
        return noted
    made_of = _recipe(torch, torch_npu)
    note.parent.mkdir(exist_ok=True)
    mine = note.with_name(f"recipe-{os.getpid()}")
    mine.write_text(f"{now} {made_of}", encoding="utf-8")
    mine.replace(note)
    return made_of


def _states() -> Iterator[str]:
    """Each file of the package with its place on the disk, when it was last changed, and its size.

    Not when it was last written: who unpacks a file may set that.
    """
    for folder, folders, files in os.walk(CSRC.parent):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for path in (f"{folder}/{name}" for name in sorted(files)):
            found = os.stat(path)
            yield f"{path} {found.st_ino} {found.st_ctime_ns} {found.st_size}"


def _recipe(torch: Wheel, torch_npu: Wheel) -> str:
    told = stamp(torch, torch_npu)
    parts = [toolchain.library_recipe(library, [CSRC], told) for library in libraries(torch, torch_npu)]
    own_headers = [*sorted((CSRC / "include").rglob("*.h")), _FORWARDS, headers.EXCEPTIONS]
    own_headers += [Path(__file__).with_name(f"{name}.py") for name in ("headers", "prototypes")]
    modules = [*sorted(_PYACL.rglob("*.py")), *sorted(_PLUGINS.rglob("*.py")), *sorted(_MSPROF.glob("*.*"))]
    modules += sorted((CSRC / "package" / "cmake").rglob("*.cmake*"))
    modules += sorted(path for path in (CSRC / "package" / "msopgen").rglob("*") if path.is_file())
    modules += sorted((CSRC / "aicpu" / "inc").glob("*.h"))
    rules = [*sorted((CSRC / "rules").glob("*.rules")), CSRC / "rules" / "shapes.txt"]
    data = [Path(__file__), *own_headers, *modules, *rules, *_vendor_sources()]
    return recipes.digest([told, *parts, set_env_script(), SETENV, *(path.read_bytes() for path in data)])


def _vendor_sources() -> list[Path]:
    """What the vendor package is made of: the operator project, headers and runtime of Ascend C, and what builds it."""
    folders = (CSRC / "vendor", CSRC / "ascendc", CSRC / "package")
    sources = [path for folder in folders for path in sorted(folder.rglob("*")) if path.suffix in _SOURCES]
    builders = ("build", "memory", "package", "project", "source")
    return [*sources, *(CSRC.parent / "kernel" / f"{name}.py" for name in builders)]


def location() -> Path:
    """Where the simulator for the installed wheels and this source is, or would be."""
    _require_platform()
    return _plan()[0]


def _plan() -> tuple[Path, Prebuilt | None]:
    """The simulator's root, and the installed package whose libraries it takes, if one fits."""
    torch, torch_npu = require()
    developed, made_of = developer.here(), recipe()
    ready = None if developed else prebuilt.fitting()
    if ready and ready.facts["recipes"].get("sim") == made_of:
        key = recipes.digest([made_of, str(ready.folder), str(torch_npu.path), json.dumps(ready.facts)])
        return cache.cache_dir() / "sim" / f"wheel-{key}", ready
    try:
        compiler = toolchain.compiler_version(toolchain.compiler())
    except OphookError as error:
        unfit = not_ready()
        if unfit is None:
            raise
        raise OphookError(error.where, f"{unfit}; and {error.what}", allowed=error.allowed, todo=error.todo) from error
    linked = [flag for library in libraries(torch, torch_npu) for flag in library.link_flags]
    key = recipes.digest([made_of, compiler, str(torch_npu.path), *linked, *(developed.debug if developed else ())])
    return cache.cache_dir() / "sim" / (f"{developer.prefix()}-{key}" if developed else key), None


def not_ready() -> str | None:
    """Why the installed ophook-npu-sim is not used, in words; None where it is, or where there is none."""
    return prebuilt.why_not(recipe())


def _require_platform() -> None:
    if sys.platform != "linux" or platform.machine() not in MACHINES:
        raise OphookError(
            "simulator",
            f"{sys.platform} on {platform.machine()} is not supported",
            allowed=f"Linux on {' or '.join(MACHINES)}",
            todo="use a Linux machine, a container or WSL",
        )


def build(progress: OnStep | None = None, on_start: Callable[[], None] | None = None, *, kernels: bool = False) -> Path:
    """Build what is missing and return the simulator's root, its libraries checked.

    With ``kernels``, `shipped_kernels` as well, which are compiled otherwise when the first one is to run.

    Where an ophook-npu-sim is installed that fits, its libraries are taken and nothing is compiled. Safe to call from
    several processes at once: one builds, the others wait and use its result. ``on_start`` is called only if there is
    something to compile.

    Raises:
        OphookError: no compiler, a header is missing, a file does not compile, the cache cannot be written or others
            may write to it, or a library is not the one that was built.
    """
    _require_platform()
    root, ready = _plan()

    def make(staging: Path) -> None:
        if ready:
            _take(ready, staging)
            about = ready.facts["sim"]
        else:
            about = build_into(staging, progress)
        _lay_out(staging)
        (staging / _INFO).write_text(json.dumps(about, indent=2) + "\n")

    with ThreadPoolExecutor(1) as pool:
        compiled = pool.submit(shipped_kernels) if kernels and not ready else None
        cache.publish(root, make, None if ready else on_start)
        if compiled:
            compiled.result()
    if developer.here():
        developer.remove_older(root)
    return root


def build_into(folder: Path, progress: OnStep | None = None, *, relocatable: bool = False) -> dict[str, object]:
    """Compile and link the libraries and programs; gives what there is to know about them. Raises as `build`."""
    torch, torch_npu = require()
    made = libraries(torch, torch_npu, relocatable=relocatable)
    told = stamp(torch, torch_npu)
    developed = developer.here()
    if developed:
        made = developed.changed(made)
        developer.write_commands(made)
    with ThreadPoolExecutor(1) as pool:
        # Meanwhile: it needs no library of the simulator to be linked.
        vendor = pool.submit(_compile_vendor_package, relocatable)
        compiled = toolchain.build(made, folder, include_roots=[CSRC], stamp=told, progress=progress, keep_linked=True)
        _link_vendor_package(vendor.result(), folder)
    return {
        "torch": torch.version,
        "torch_npu": torch_npu.version,
        "compiler": toolchain.compiler_version(toolchain.compiler()),
        "libraries": [library.soname for library in made if not library.program],
        "compiled": compiled,
    }


def _compile_vendor_package(whole: bool) -> Parts:
    """The custom operators that ship: the libraries that CANN looks for; their own kernels where the package is for
    another machine, else `shipped_kernels` compiles them.
    """
    from ophook_npu.kernel.package import compile_parts
    from ophook_npu.kernel.project import Project

    return compile_parts(Project(CSRC / "vendor"), kernels=whole)


def shipped_kernels() -> Path:
    """The kernels of the operators that ship, and the runtime of all kernels: compiled when the first one is to run,
    because most programs run none. A folder as a package has it.

    Raises:
        OphookError: as `build`.
    """
    from ophook_npu.kernel.package import compile_kernels
    from ophook_npu.kernel.project import Project

    torch, torch_npu = require()
    compiler = toolchain.compiler_version(toolchain.kernel_compiler())
    told = [stamp(torch, torch_npu), compiler, toolchain.compiler_version(toolchain.compiler())]
    key = recipes.digest([*told, *(path.read_bytes() for path in _vendor_sources())])
    folder = cache.cache_dir() / "ascendc" / "shipped" / key

    def on_start() -> None:
        if sys.stderr.isatty():
            print("simulated Ascend: compiling what runs kernels, once (some 15 s)", file=sys.stderr, flush=True)

    return cache.publish(folder, lambda staging: compile_kernels(Project(CSRC / "vendor"), staging), on_start)


def _link_vendor_package(parts: Parts, root: Path) -> None:
    from ophook_npu.kernel.package import build_into as put_together

    up = "/".join([".."] * 5)  # from op_api/lib to the root; op_proto's library finds libgraph.so loaded
    folder = root / "opp" / "vendors" / VENDOR
    put_together(parts, folder, root / "lib64", (f"-Wl,-rpath,$ORIGIN/{up}/lib64",))
    # A project that links its own host side gets ours into its libraries, by a library that all of them name.
    shutil.copy(compilers.host_archive(), root / "lib64" / "libexe_graph.a")
    (root / "lib64" / "librt2_registry.a").symlink_to("libexe_graph.a")  # which some of them take as a whole


def _take(ready: Prebuilt, root: Path) -> None:
    """Lay out links to the package's libraries, and its programs, which an installer may have left without a right to
    be run.
    """
    ready.verify("sim")
    (root / "lib64").mkdir()
    for library in (ready.folder / "sim" / "lib64").iterdir():
        (root / "lib64" / library.name).symlink_to(library)
    torch, _ = require()
    (root / "lib64" / cache.TORCH_LINK).symlink_to(torch.path / "lib")
    (root / "opp" / "vendors").mkdir(parents=True)
    (root / "opp" / "vendors" / VENDOR).symlink_to(ready.folder / "sim" / "opp" / "vendors" / VENDOR)
    shutil.copytree(ready.folder / "sim" / "bin", root / "bin")
    for program in (root / "bin").iterdir():
        program.chmod(0o755)


def _lay_out(root: Path) -> None:
    (root / "opp" / "vendors").mkdir(parents=True, exist_ok=True)
    _lay_out_components(root)
    for name, others in _OTHER_NAMES.items():
        for other in others:
            (root / "lib64" / other).symlink_to(name)
    (root / "lib64" / LAUNCHER).write_text("/* empty until bisheng makes an object of kernels */\n")
    _lay_out_headers(root / "include")
    headers.write(root / "include", rows(root / "lib64" / "libopapi.so"))
    published, prototyped = root / "include" / "op_proto", root / "opp" / "built-in" / "op_proto" / "inc"
    prototypes.write(prototyped, graph_rows(root / "lib64" / "libopapi.so"), published)
    (root / "opp" / "built-in" / "op_graph").mkdir()  # its name in newer releases
    (root / "opp" / "built-in" / "op_graph" / "inc").symlink_to(Path("../op_proto/inc"))
    (root / "set_env.sh").write_text(set_env_script())
    (root / "bin" / "setenv.bash").write_text(SETENV)
    shutil.copytree(CSRC / "rules", root / "rules")
    ignored = shutil.ignore_patterns("__pycache__")
    site = root / SEARCHED["PYTHONPATH"]
    shutil.copytree(_PYACL / "acl", site / "acl", ignore=ignored)
    _lay_out_plugins(site)
    _lay_out_hccl(site)
    _lay_out_msprof(root)
    _lay_out_compiler(root)
    _lay_out_aicpu(root)
    _link_component_headers(root)
    if (root / "opp" / "vendors" / VENDOR).is_dir():
        (root / "opp" / "vendors" / "config.ini").write_text(f"load_priority={VENDOR}\n")
    _lay_out_releases(root)


def _lay_out_components(root: Path) -> None:
    """Where programs look, as CANN's documents have it: runtime/include, runtime/lib64, and its stub to link to."""
    (root / "lib64" / "stub").symlink_to(".")
    (root / "devlib").symlink_to("lib64")  # the stubs of newer releases, also by devlib/linux/MACHINE
    (root / "lib64" / "linux").mkdir()
    (root / "lib64" / "linux" / platform.machine()).symlink_to("..")
    for component in ("runtime", "compiler"):
        (root / component).mkdir()
        (root / component / "lib64").symlink_to(Path("../lib64"))
    version = f"Version={CANN_VERSIONS[0]}\n"
    (root / "compiler" / "version.info").write_text(version)
    for package in _PACKAGES:
        (root / "share" / "info" / package).mkdir(parents=True)
        (root / "share" / "info" / package / "version.info").write_text(version)
    platforms = root / "data" / "platform_config"
    platforms.mkdir(parents=True)
    for name in soc.names():
        (platforms / f"{name}.ini").write_text(socs.platform_file(name))
        # Programs that are built for CANN's own simulator link to it there.
        (root / "tools" / "simulator" / name).mkdir(parents=True)
        (root / "tools" / "simulator" / name / "lib").symlink_to("../../../lib64")
    (root / "compiler" / "data").symlink_to(Path("../data"))
    for older, component in (("acllib", "runtime"), ("atc", "compiler"), ("fwkacllib", "compiler")):
        (root / older).symlink_to(component)


def _link_component_headers(root: Path) -> None:
    """A folder of links: builds go by ``compiler/include/../../opp``, which must not leave the component by a link."""
    for component in ("runtime", "compiler"):
        include = root / component / "include"
        include.mkdir()
        for entry in (root / "include").iterdir():
            (include / entry.name).symlink_to(Path("../../include") / entry.name)


def _lay_out_releases(root: Path) -> None:
    """ASCEND_HOME_PATH of each release: torch_npu reads torch.version.cann from a file below it."""
    everything, machine = sorted(root.iterdir()), platform.machine()
    for release in CANN_VERSIONS:
        about = root / home(release) / f"{machine}-linux" / "ascend_toolkit_install.info"
        about.parent.mkdir(parents=True)
        (about.parent / "ccec_compiler").symlink_to(Path("../../compiler/ccec_compiler"))
        (about.parent / "simulator").symlink_to(Path("../../tools/simulator"))
        (about.parent / "asc").mkdir()  # where the headers of Ascend C are from CANN 9 on, and builds look for them
        (about.parent / "asc" / "include").symlink_to("../include")
        about.write_text(f"package_name=Ascend-cann-toolkit\nversion={release}\narch={machine}\nos=linux\n")
        versions = (f"{part}_running_version=[{release}:{release}]\n" for part in _PARTS)
        (root / home(release) / "version.cfg").write_text("# version: 1.0\n" + "".join(versions))
        for entry in everything:
            # Newer releases have everything below the machine's folder, and links to it.
            (root / home(release) / entry.name).symlink_to(Path("..") / entry.name)
            (about.parent / entry.name).symlink_to(Path("..") / entry.name)
    for name in ("cann", "latest"):  # what an installation calls its newest release, from 8.5 on and before
        (root / name).symlink_to(home(CANN_VERSIONS[0]))


def _lay_out_hccl(site: Path) -> None:
    """CANN's package hccl as far as MindSpore asks for it. No `te`: a program takes that for the whole of TBE."""
    (site / "hccl").mkdir()
    (site / "hccl" / "__init__.py").write_text('"""Simulated: it says which release of CANN this is."""\n')
    release = f'os.environ.get("OPHOOK_SIM_CANN") or "{CANN_VERSIONS[0]}"'
    (site / "hccl" / "sys_version.py").write_text(f"import os\n\n__sys_version__ = {release}\n")


def _lay_out_plugins(site: Path) -> None:
    for module in sorted(_PLUGINS.glob("ophook_sim_*")):
        if module.is_dir():
            shutil.copytree(module, site / module.name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(module, site)
    about = site / f"{plugins.DISTRIBUTION}-{__version__}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {plugins.DISTRIBUTION}\nVersion: {__version__}\n")
    (about / "entry_points.txt").write_text(plugins.ENTRY_POINTS)


def _lay_out_msprof(root: Path) -> None:
    """Where CANN has it: torch_npu asks for msprof on PATH, and for its Python in the folder above ``tools``."""
    profiler = root / "tools" / "profiler"
    modules = profiler / "profiler_tool" / "analysis" / "msprof"
    modules.mkdir(parents=True)
    for module in _MSPROF.glob("*.py"):
        shutil.copy(module, modules)
    program = profiler / "bin" / "msprof"
    program.parent.mkdir()
    shutil.copy(_MSPROF / "msprof.sh", program)
    program.chmod(0o755)
    (root / "bin" / "msprof").symlink_to(Path("../tools/profiler/bin/msprof"))


def _lay_out_compiler(root: Path) -> None:
    """The compiler of programs that launch their own kernels, and what makes their language known to CMake."""
    shutil.copytree(CSRC / "package" / "cmake", root / "cmake", ignore=shutil.ignore_patterns("ascendc", "Find*"))
    shutil.copytree(CSRC / "package" / "cmake" / "ascendc", root / "tikcpp" / "ascendc_kernel_cmake")
    _lay_out_language(root / "cmake", "AICPU")
    # What projects of their own start from.
    shutil.copytree(CSRC / "package" / "msopgen", root / "tools" / "op_project_templates" / "ascendc" / "customize")
    (root / "tools" / "opbuild").symlink_to(Path("../toolkit/tools/opbuild"))
    for folder in ("compiler", "tools"):  # of older releases
        (root / folder / "tikcpp").symlink_to(Path("..") / "tikcpp")
    # Where scripts look for the compiler itself.
    (root / "compiler" / "ccec_compiler").mkdir()
    (root / "compiler" / "ccec_compiler" / "bin").symlink_to(Path("../../bin"))
    (root / "tools" / "ccec_compiler").symlink_to(Path("../compiler/ccec_compiler"))
    twin = root / "tools" / "tikicpulib" / "lib"
    twin.mkdir(parents=True)
    (twin / "cmake").symlink_to(Path("../../../cmake"))
    # The compiler's name in older releases, which sample projects of theirs ask for.
    places = {"bisheng": "driver", "ccec": "driver", "msopprof": "opprof", "mssanitizer": "sanitizer"}
    places |= {name: name for name in ("atc", "op_package", "opc", "msopgen")} | {"asc_opc": "opc"}
    places = {f"bin/{name}": module for name, module in places.items()}
    places |= {"toolkit/tools/opbuild/op_build": "op_build", "python/site-packages/bin/msopgen": "msopgen"}
    for place, module in places.items():
        _write_program(root / place, module, python=place.startswith("python/"))


def _lay_out_language(cmake: Path, name: str) -> None:
    """Make another language known to CMake as ASC is, by the same compiler."""
    for module in sorted((cmake / "modules").glob("*ASC*")):
        text = module.read_text().replace("ASC", name).replace("-x asc", f"-x {name.lower()}")
        text = text.replace("EXTENSIONS asc", f"EXTENSIONS {name.lower()}").replace("PREFERENCE 60", "PREFERENCE 50")
        module.with_name(module.name.replace("ASC", name)).write_text(text)
    config = f"# find_package({name}): after it, project(… LANGUAGES {name}) knows sources named .{name.lower()}.\n"
    config += 'list(PREPEND CMAKE_MODULE_PATH "${CMAKE_CURRENT_LIST_DIR}/modules")\n'
    (cmake / f"{name}Config.cmake").write_text(config)


def _write_program(program: Path, module: str, *given: str, python: bool = False) -> None:
    program.parent.mkdir(parents=True, exist_ok=True)
    # Its modules are this package's, and Python's own variables may name other ones.
    command = [sys.executable, "-I", "-m", f"ophook_npu.sim.{module}", *given]
    text = f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n'
    if python:  # scripts run what lies there by `python3 FILE`
        text = f"#!/usr/bin/env python3\nimport os, sys\nos.execv({command[0]!r}, {command!r} + sys.argv[1:])\n"
    program.write_text(text)
    program.chmod(0o755)


def _lay_out_aicpu(root: Path) -> None:
    """What projects of AI CPU kernels include, link and compile with: `ophook_npu.sim.aicpu_compiler`."""
    built_in = root / "opp" / "built-in" / "op_impl" / "aicpu" / "aicpu_kernel"
    shutil.copytree(CSRC / "aicpu" / "inc", built_in / "inc")
    (root / "include" / "aicpu").symlink_to(Path("..") / built_in.relative_to(root) / "inc")
    for chip in (".", "Ascend", "Ascend310", "Ascend310P", "Ascend310RC", "Ascend910"):
        (built_in / "lib" / chip).mkdir(parents=True, exist_ok=True)
        for name in ("libcpu_kernels_context.a", "libascend_protobuf.a"):
            (built_in / "lib" / chip / name).write_text("!<arch>\n")  # an archive of nothing
    for target in ("aarch64-target-linux-gnu", "aarch64-linux-gnu"):
        for name in ("gcc", "g++"):
            program = root / "toolkit" / "toolchain" / "hcc" / "bin" / f"{target}-{name}"
            _write_program(program, "aicpu_compiler", name)


def _lay_out_headers(include: Path) -> None:
    """CANN's headers, for C++ clients and the C++ that torchair generates: our own, and links to those in the torch_npu
    wheel.
    """
    shutil.copytree(CSRC / "include", include, ignore=shutil.ignore_patterns(_FORWARDS.name))
    for name, target in compilers.named_forwards([_FORWARDS.read_text(encoding="utf-8")]).items():
        (include / name).parent.mkdir(parents=True, exist_ok=True)
        (include / name).write_text(f'#include "{os.path.relpath(target, Path(name).parent)}"\n')
    third_party = require()[1].path / "include" / "third_party"
    acl, hccl = third_party / "acl" / "inc", third_party / "hccl" / "inc"
    headers = [(top, header) for top in (acl, hccl) for header in top.rglob("*.h")]
    # CANN has the profiler's private headers in another folder, where a program that asks for them looks.
    places = {"profiling": include.parent / "pkg_inc"}
    found = {
        places.get(header.relative_to(top).parts[0], include) / header.relative_to(top): header
        for top, header in headers
    }
    # Ours include them, and declare what they do not.
    for folder, name in (("acl", "acl_rt"), ("ge", "ge_api"), ("ge", "ge_ir_build"), ("graph", "operator_reg")):
        found[include / folder / f"{name}_wheel.h"] = acl / folder / f"{name}.h"
    # hccl.h names its neighbours so: another one with each torch_npu.
    found |= {include / "third_party" / header.relative_to(third_party): header for _, header in headers}
    for link, header in found.items():
        if not link.exists():
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(header)
    # What host code of operators and programs asks, besides CANN's own headers. By their own places: they name each
    # other by where they lie.
    host = CSRC / "ascendc" / "host"
    own = {str(one.relative_to(host)): str(one.relative_to(host)) for one in host.glob("*/**/*.h")}
    for name, target in (own | compilers.named_forwards()).items():
        # log/log.h is no header of CANN's, but one that operator projects share, and some have another.
        theirs = not name.startswith(("details/", "log/"))
        if (host / target).is_file() and theirs and not (include / name).exists():
            (include / name).parent.mkdir(parents=True, exist_ok=True)
            (include / name).write_text(f'#include "{host / target}"\n')
    # CANN has it among its private headers.
    private = include.parent / "pkg_inc"
    registry = Path("base") / "registry" / "op_impl_space_registry_v2.h"
    (private / registry).parent.mkdir(parents=True)
    (private / registry).write_text(f'#include "{host / registry}"\n')
    (private / "runtime").symlink_to(Path("..") / "include" / "runtime")
    (private / "base" / "dlog_pub.h").symlink_to(Path("../../include/dlog_pub.h"))
    _with_formats(include / "graph" / "types.h")
    cmake = include / "ge" / "cmake"
    cmake.mkdir(parents=True, exist_ok=True)
    shutil.copy(CSRC / "package" / "cmake" / "FindGenerateEsPackage.cmake", cmake)


_FORMATS = {"FORMAT_FRACTAL_NZ_C0_2": 52, "FORMAT_FRACTAL_NZ_C0_4": 53, "FORMAT_FRACTAL_NZ_C0_8": 54}


def _with_formats(types: Path) -> None:
    """Put the graph engine's newer formats, which AscendCL has, beside those of torch_npu's wheel."""
    text = types.read_text()
    last = "FORMAT_FRACTAL_NZ_C0_32 = ::C_FORMAT_FRACTAL_NZ_C0_32,"
    newer = "".join(f"\n    {name} = {number}," for name, number in _FORMATS.items() if name not in text)
    types.unlink()
    types.write_text(text.replace(last, last + newer))


def info(root: Path) -> dict[str, object]:
    """What was recorded when ``root`` was built."""
    recorded: dict[str, object] = json.loads((root / _INFO).read_text())
    return recorded
