"""Programs that launch their own kernels, in ``.asc`` files: C++ with ``kernel<<<blocks, l2ctrl, stream>>>(…)``.

`compile` takes the command line of the vendor's compiler driver and makes an object, a library or a program that runs
on the simulated Ascend. A source is preprocessed, launches become calls, the qualifiers of kernels go, and g++ does the
rest.
"""

from __future__ import annotations

import functools
import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TextIO

from ophook_npu import cache, recipes, sim, toolchain
from ophook_npu.errors import OphookError
from ophook_npu.kernel import address_registers, build, threads
from ophook_npu.kernel.check import CaseResult, Checked
from ophook_npu.kernel.findings import KernelReport
from ophook_npu.kernel.socs import architectures, find
from ophook_npu.kernel.source import KINDS, Settings, asks_for_core, core_macros
from ophook_npu.npu import autoload
from ophook_npu.plural import counted
from ophook_npu.sim import core_kinds, kernel_text, launches, sides
from ophook_npu.sim.build import LAUNCHER
from ophook_npu.sim.kernel_text import WHERE
from ophook_npu.sim.variables import apply, environment
from ophook_npu.soc import CSRC

_SOURCES = (".asc", ".cce", ".aicpu", ".cpp", ".cc", ".cxx", ".c")
_ARCHITECTURES = {f"dav-{arch}": number for number, arch in architectures()}  # --npu-arch
_OF_THREADS = "dav-3510"
# --cce-aicore-arch: their older names, with -vec or -cube for one kind of core
_OLDER = {"dav-c220": 220, "dav-c310": 310, "dav-m200": 200, "dav-m300": 300}
_ALONE = "ascendc/cce_alone.h"
_OF_950 = f"-D__CCE_AICORE__={_ARCHITECTURES[_OF_THREADS]}"
# Options of the device's compiler that say nothing to g++. A kernel is checked here with --sanitizer and without it.
_DEVICE_ONLY = re.compile(r"--cce-.*|--cce|--gcc-toolchain=.*|--sanitizer|-X(?:host|aicore)-(?:start|end)")


@dataclass
class _Job:
    sources: list[Path] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)  # options of the preprocessor
    flags: list[str] = field(default_factory=list)  # of the compiler
    inputs: list[str] = field(default_factory=list)  # objects, libraries and options of the linker, in their order
    out: Path | None = None
    objects: bool = False  # -c
    shared: bool = False
    archive: bool = False  # -lib
    languages: dict[Path, str] = field(default_factory=dict)  # -x of the sources behind it
    core: str = ""  # vec or cube: compiled for one kind of core
    threads: bool = False  # --enable-simt
    twin: bool = False  # kernels are functions of the program: CMAKE_ASC_RUN_MODE=cpu
    library: bool = False  # a source of ascendc_library: pointers are handed to kernels as void*
    launches: Path | None = None  # where the headers of launches go; nothing is compiled then
    expressions: dict[str, str] = field(default_factory=dict)  # kernels that programs find by another name


def _job(arguments: Sequence[str]) -> _Job:
    job = _Job()
    rest = iter(arguments)
    of_soc = language = ""

    def value(option: str) -> str:
        found = next(rest, None)
        if found is None:
            raise OphookError(WHERE, f"{option} needs a value")
        return found

    for one in rest:
        one = f"-{one}" if one.startswith("-cce-") else one  # clang knows its own options by one dash, too
        if one.startswith("--npu-arch"):
            job.seen.append(_architecture(one.partition("=")[2] if "=" in one else value(one)))
        elif one.startswith(("--npu-soc", "--cce-soc-version")):
            soc = find(one.partition("=")[2] if "=" in one else value(one))
            of_soc = f"-D__CCE_AICORE__={soc.architecture}"
        elif one.startswith("--cce-aicore-arch="):
            of_soc = _architecture(one.partition("=")[2], "--cce-aicore-arch", _OLDER)
            job.core = one[-4:].lstrip("-") if one.endswith(("-vec", "-cube")) else ""
        elif one.startswith("--ophook-kernel="):  # libacl_rtc's: a name and what it stands for
            name, _, expression = one.partition("=")[2].partition("=")
            job.expressions[name] = expression
        elif one.startswith("--ophook-launches="):
            job.launches = Path(one.partition("=")[2])
        elif one == "--ophook-library":
            job.library = True
        elif one == "--enable-simt":
            job.threads = True
        elif one == "-x" or one in ("-xasc", "-xcce", "-xaicpu"):
            language = value(one) if one == "-x" else one[2:]
        elif one == "-mllvm":
            value(one)
        elif one in ("-c", "-dc"):
            job.objects = True
        elif one in ("-lib", "--cce-build-static-lib"):
            job.archive = True
        elif one.startswith("--run-mode="):
            job.twin = _mode(one.partition("=")[2])
            job.seen += ["-DASCENDC_CPU_DEBUG=1"] if job.twin else []
        elif one in ("-E", "-S"):
            raise OphookError(WHERE, f"{one} is not simulated", allowed="-c, -shared, or a program")
        elif one == "-o":
            job.out = Path(value(one))
        elif one in ("-I", "-D", "-U", "-include", "-isystem", "-MF", "-MT", "-MQ"):
            job.seen += [one, value(one)]
        elif one.startswith(("-I", "-D", "-U", "-M", "-isystem")):
            job.seen.append(one)
        elif one in ("-L", "-l", "-Xlinker"):
            job.inputs += [one, value(one)]
        elif _DEVICE_ONLY.fullmatch(one):
            continue
        elif one.startswith(("-l", "-L", "-Wl,")):
            job.inputs.append(one.replace("-soname,,", "-soname,"))  # as CMake files of CANN 7 write it
        elif one in ("-shared", "--shared"):
            job.shared = True
        elif one.startswith("-"):
            job.flags.append(one)
        elif Path(one).suffix in _SOURCES:
            job.sources.append(Path(one))
            if language not in ("", "none"):
                job.languages[Path(one)] = language
        else:
            job.inputs.append(one)
    if of_soc and not any(one.startswith("-D__CCE_AICORE__") for one in job.seen):  # --npu-arch comes first
        job.seen.append(of_soc)
    if job.threads and _OF_950 not in job.seen:
        raise OphookError(WHERE, "--enable-simt: threads of SIMT are Ascend 950's", todo=f"--npu-arch={_OF_THREADS}")
    if not job.sources and not any(not one.startswith("-") for one in job.inputs):
        raise OphookError(WHERE, "no input file", allowed="sources (.asc, .cpp), objects and libraries")
    for source in job.sources:
        if not source.is_file():
            raise OphookError(WHERE, f"no such file: {source}")
    return job


def _architecture(name: str, option: str = "--npu-arch", known: Mapping[str, int] = _ARCHITECTURES) -> str:
    number = known.get(name if option == "--npu-arch" else re.sub(r"-(vec|cube)$", "", name))
    if number is None:
        raise OphookError(WHERE, f"{option}={name}", allowed=", ".join(known))
    return f"-D__CCE_AICORE__={number}"


def _mode(name: str) -> bool:
    if name not in ("npu", "sim", "cpu"):
        raise OphookError(WHERE, f"--run-mode={name}", allowed="npu, sim, cpu")
    return name == "cpu"


def compile(arguments: Sequence[str]) -> Path:
    """Do what the compiler driver does with this command line.

    Args:
        arguments: sources, objects, libraries and g++'s options; also ``--npu-arch`` (dav-2201 or dav-3510) and
            ``-x asc`` or ``-x cce``.

    Returns:
        What was written.

    Raises:
        OphookError: something does not compile or link, with the compiler's lines; or an architecture that is not
            simulated.
    """
    job = _job(arguments)
    root = sim.active() or sim.build()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if job.launches:
            return _write_launches(job, root)
        if job.objects:
            if job.out is not None and len(job.sources) > 1:
                raise OphookError(
                    WHERE, f"-o {job.out} for {counted(len(job.sources), 'source')}", allowed="one with -c"
                )
            out = Path()
            for source in job.sources:
                out = job.out or Path(f"{source.stem}.o")
                _object(source, job, root, folder, out)
            offer(root)
            return out
        objects = []
        for number, source in enumerate(job.sources):
            objects.append(folder / f"{number}.o")
            _object(source, job, root, folder, objects[-1])
        out = job.out or Path("a.out")
        if job.archive:
            out.unlink(missing_ok=True)
            _run(["ar", "qcs", str(out), *map(str, objects), *job.inputs], f"{out} cannot be made")
            offer(root)
            return out
        made = [*map(str, objects), *map(str, launchers(job.twin)), *job.inputs, *linked(root)]
        how = ["-shared"] if job.shared else []
        _run([*toolchain.kernel_compiler(), *how, *made, "-o", str(out)], f"{out} cannot be linked")
        return out


def linked(root: Path) -> list[str]:
    """The linker's arguments that every program needs besides `launchers`."""
    runtime, lib = build.runtime(), root / "lib64"
    ours = ["-Wl,--no-as-needed", str(runtime), "-l:libophook_sim_core.so"]
    ours += ["-Wl,--as-needed", "-lascendcl", "-lc_sec", "-lplatform", "-lgraph", "-ldl", "-lpthread"]
    return [f"-L{lib}", *ours, f"-Wl,-rpath,{runtime.parent}:{lib}"]


def folders(root: Path) -> list[Path]:
    """Where the headers are of kernels, of CANN, and of the host side of kernels: where both have one, CANN's is meant.
    Last, all of ours: folders of it are called as CANN's.
    """
    return [build.ROOT / "include", root / "include", build.ROOT / "host", build.forwards(), build.ROOT.parent]


_SECTIONS = {"TLS": '.section .tbss,"awT",@nobits', "OBJECT": ".bss"}


def offer(root: Path) -> None:
    """Make of ``-lascendc_runtime`` what `launchers` and `linked` are to this driver. As with CANN, it is what
    a host's own compiler needs to link what was compiled here. It is empty before: most programs have no kernels.
    """
    runtime, objects = build.runtime(), launchers()

    def write(folder: Path) -> None:
        _run(["ar", "qcs", str(folder / "liblaunch.a"), *map(str, objects)], "libascendc_runtime.a cannot be made")
        # A linker's script cannot say where a library is looked for, and lib64 holds only what was built with it. So
        # programs are linked to a library of the same functions whose name is the other one's whole path.
        listed = _run(["readelf", "-W", "--dyn-syms", str(runtime)], f"{runtime} cannot be read")
        rows = (line.split() for line in listed.splitlines() if re.search(r" GLOBAL \w+ +\d+ ", line))
        (folder / "runtime.s").write_text(
            "".join(
                f"{_SECTIONS.get(kind, '.text')}\n.globl {name}\n{name}: .skip {int(size, 0)}\n"
                for _, _, size, kind, _, _, _, name, *_ in rows
            )
        )
        how = ["-shared", "-nostdlib", f"-Wl,-soname,{runtime}"]
        stub = [*toolchain.compiler(), *how, str(folder / "runtime.s"), "-o", str(folder / runtime.name)]
        _run(stub, "libascendc_runtime.a cannot be made")

    key = recipes.digest([str(runtime), *map(str, objects), inspect.getsource(offer)])
    folder = cache.publish(cache.cache_dir() / "ascendc" / "offered" / key, write)
    told = f'INPUT("{folder / "liblaunch.a"}" "{folder / runtime.name}" "{root / "lib64" / "libophook_sim_core.so"}")\n'
    library = root / "lib64" / LAUNCHER
    if library.read_text() != told:
        script = folder / f"script-{os.getpid()}"
        script.write_text(told)
        script.replace(library)


_ROOTS = (build.ROOT.parent, build.ROOT / "include", build.ROOT.parent / "include")
_HOW = ("-std=c++20", "-O1", "-fPIC", *(f"-I{root}" for root in _ROOTS), "-Wall")


@functools.cache
def launchers(twin: bool = False) -> list[Path]:
    """The object that every program has: it makes a task of the stream of each launch. ``twin``: and the one that calls
    kernels as functions.
    """
    names = ("launch", "twin") if twin else ("launch",)
    return [build.object(build.ROOT / "program" / f"{name}.cpp", _HOW, [build.ROOT.parent]) for name in names]


def link_binary(told: Path, links: Sequence[str], out: Path) -> None:
    """Link ``out``, which a program can load by itself; ``told`` is the source that registers its kernels."""
    made = build.object(told, _HOW, [build.ROOT.parent])
    command = [*toolchain.compiler(), "-shared", str(made), *map(str, launchers()), *links, "-o", str(out)]
    _run(command, f"{out} cannot be linked")


# The preprocessor's marks of files that are no system's (3).
_OWN = re.compile(r'^# \d+ "([^"]*)"(?: [124])*$', re.MULTILINE)


def _how(job: _Job) -> list[str]:
    # It has one version, whatever is asked for.
    return [build.STANDARD, "-fPIC", *(flag for flag in job.flags if not flag.startswith("-std="))]


def _preprocessed(source: Path, job: _Job, root: Path, macros: Sequence[str] = ()) -> str:
    """The text of a source of kernels, its qualifiers and launches as they are."""
    prelude = ["-include", "ascendc/program/launch.h", "-DOPHOOK_ASC_PROGRAM", build.DEVICE]
    command = [*toolchain.kernel_compiler(), *_how(job), *_seen(job, root)]
    rest, failed = [*prelude, *macros, "-x", "c++", "-E", str(source)], f"{source.name} does not compile"
    text = _run([*command, *rest], failed)
    if _language(source, job) != "cce" or f'/{build.INTERFACE}"' in text:
        return text
    return _run([*command, "-include", _ALONE, *rest], failed)  # the compiler has intrinsics without a header


def _language(source: Path, job: _Job) -> str:
    return job.languages.get(source, source.suffix[1:])


def _seen(job: _Job, root: Path) -> list[str]:
    kernels, *others = folders(root)
    return [*job.seen, f"-I{kernels}", *(f"-isystem{one}" for one in others)]


def _object(source: Path, job: _Job, root: Path, folder: Path, out: Path) -> None:
    failed = f"{source.name} does not compile"
    compiler, how = toolchain.kernel_compiler(), _how(job)
    language = _language(source, job)
    if source.suffix == ".aicpu" or language == "aicpu":  # functions of the program, which a launch calls
        api = ["-D__global__=", "-D__aicpu__=", f"-I{CSRC / 'include' / 'ascendc' / 'aicpu_api'}"]
        _run([*compiler, *how, *api, *_seen(job, root), "-x", "c++", "-c", str(source), "-o", str(out)], failed)
        return
    if language == "c":
        plain = [flag for flag in job.flags if not flag.startswith("-std=c++")]
        _run([*compiler, "-fPIC", *plain, *_seen(job, root), "-x", "c", "-c", str(source), "-o", str(out)], failed)
        return
    if language not in ("asc", "cce"):
        _run([*compiler, *how, *_seen(job, root), "-c", str(source), "-o", str(out)], failed)
        return
    how = [flag for flag in how if flag != "-fno-rtti"]  # a launch is known by a type's name
    workspace = _workspace(job)

    def compiled(text: str, name: str, macros: Sequence[str] = (), both: frozenset[str] = frozenset()) -> Path:
        plain = address_registers.translated(build.without_aicore(text))
        watched = threads.WATCHED if threads.are_in(plain, job.threads) else []
        if watched or job.threads:
            plain = threads.translated(plain)
        made = kernel_text.translated(
            plain, source.name, job.expressions, workspace, threads=job.threads, library=job.library,
            kind={"vec": KINDS["AIV_ONLY"], "cube": KINDS["AIC_ONLY"]}.get(job.core, -1),
            stubs=language == "asc" and not (job.library or job.twin),
        )  # fmt: skip
        (folder / f"{name}.ii").write_text(made)
        optimize = [] if any(flag.startswith("-O") for flag in how) else ["-O2"]
        taken = [*how, *optimize, "-g", "-w", "-ffunction-sections", build.ALIASING, *watched, "-x", "c++-cpp-output"]
        if toolchain.is_gcc(compiler):
            taken.append("-fpreprocessed")
        command = [*compiler, *taken, "-c", str(folder / f"{name}.ii"), "-o", str(folder / f"{name}.o")]
        result = toolchain.run_as_device(command)
        if twice := sides.twice(result.stderr) - both:
            text = _preprocessed(source, job, root, [*macros, sides.MARKED])
            text = sides.apart(text, {*both, *twice}, lambda file: Path(file).is_relative_to(CSRC))
            return compiled(text, name, macros, both | twice)
        _told(result, command, failed, job.seen)
        return folder / f"{name}.o"

    one_kind = [f"-D{k}={v}" for k, v in core_macros(job.core == "cube").items()] if job.core else []
    text = _preprocessed(source, job, root, one_kind)
    files = map(Path, {one[1] for one in _OWN.finditer(text)})
    if job.core or not asks_for_core(one for one in files if one.is_file() and not one.is_relative_to(CSRC)):
        made = compiled(text, source.stem)
        if "-fsyntax-only" not in how:
            core_kinds.by_instructions(made.with_suffix(".ii").read_text(), made, _run, out)
        return
    macros = {kind: [f"-D{k}={v}" for k, v in core_macros(kind == "cube").items()] for kind in ("vector", "cube")}
    halves = [_preprocessed(source, job, root, given) for given in macros.values()]
    with ThreadPoolExecutor(2) as pool:  # toolchain.run holds them back
        vector, cube = pool.map(compiled, halves, macros, macros.values())
    if "-fsyntax-only" not in how:
        core_kinds.joined(vector, cube, _run, out)


def _workspace(job: _Job) -> int:
    """Which parameter of kernels holds the workspace: see launches.definition."""
    defined = {one.removeprefix("-D").partition("=")[0] for one in job.seen}
    return 0 if "HAVE_WORKSPACE" not in defined else -2 if "HAVE_TILING" in defined else -1


def _write_launches(job: _Job, root: Path) -> Path:
    assert job.launches is not None
    for source in job.sources:
        found = kernel_text.kernels(build.without_aicore(_preprocessed(source, job, root)))
        launches.write([one.kernel for one in found if one.by_name], job.launches)
    return job.launches


def _run(command: Sequence[str], what: str, seen: Sequence[str] = ()) -> str:
    return _told(toolchain.run_as_device(command), command, what, seen)


def _told(result: subprocess.CompletedProcess[str], command: Sequence[str], what: str, seen: Sequence[str]) -> str:
    if result.returncode:
        todo = build.hint(result.stderr, "950" if _OF_950 in seen else "A2")
        raise OphookError(WHERE, build.explained(result.stderr, what, command), todo=todo)
    return result.stdout


# ---- one source, compiled and run ----


@dataclass
class Launches:
    """What `run` saw: the program's exit status, and a report of each launch, with its kernel's name."""

    status: int
    reports: list[tuple[str, KernelReport]]


def check(source: Path, *, cores: int | None = None, include: Sequence[Path] = (), **settings: Any) -> list[Checked]:
    """What `run` saw, as a project's check tells it: a launch is a case. The program prints on standard error.

    Raises:
        OphookError: as `run`; and for ``cores``, which a program chooses itself.
    """
    if cores is not None:
        raise OphookError("kernel check", f"--cores {cores}: {source.name} chooses its cores itself")
    flags = [f"-I{folder}" for folder in include]
    seen = run(source, flags=flags, settings=Settings(**settings), output=sys.stderr)
    cases = [
        CaseResult(f"launch {i} of {kernel}", "fail" if report.errors else "pass", report=replace(report, output=""))
        for i, (kernel, report) in enumerate(seen.reports, 1)
    ]
    if seen.status:
        cases.append(CaseResult("the program", "fail", f"it ended with status {seen.status}"))
    return [Checked(source.stem, cases)]


def run(
    source: Path,
    arguments: Sequence[str] = (),
    *,
    flags: Sequence[str] = (),
    settings: Settings | None = None,
    output: TextIO | None = None,
) -> Launches:
    """Compile ``source`` and run it on the simulated Ascend, with standard input and output as they are.

    Args:
        source: a file with ``main`` and its kernels.
        arguments: the program's.
        flags: the compiler's, such as ``-DN=3``.
        output: what the program prints goes there; None: to standard output.

    Raises:
        OphookError: there is no such file, it does not compile, or it cannot be started.
    """
    settings = settings or Settings()
    root = sim.active() or sim.build()
    environ = dict(os.environ)
    autoload.unsettle(environ)
    apply(environ, environment(root, soc=settings.soc))
    with tempfile.TemporaryDirectory() as name:
        program, told = Path(name) / source.stem, Path(name) / "reports"
        architecture = find(settings.soc).architecture
        arch = next((name for name, number in _ARCHITECTURES.items() if number == architecture), None)
        target = [f"--npu-arch={arch}"] if arch else []
        target += ["--enable-simt"] if arch == _OF_THREADS else []
        compile(["-x", "cce" if source.suffix == ".cce" else "asc", str(source), *target, *flags, "-o", str(program)])
        environ["OPHOOK_KERNEL_REPORT"] = str(told)
        environ["OPHOOK_KERNEL_CHECKS"] = str(int(settings.checks))
        environ["OPHOOK_KERNEL_STRICT"] = str(int(settings.strict))
        environ["OPHOOK_KERNEL_DMA"] = "on-wait" if settings.on_wait else "eager"
        done = subprocess.run([str(program), *arguments], env=environ, stdout=output, check=False)
        reports = []
        for line in told.read_text(errors="replace").splitlines() if told.exists() else ():
            row = json.loads(line)
            reports.append((row["kernel"], KernelReport.parse(json.dumps(row["report"]), row["blocks"], 0)))
        return Launches(done.returncode, reports)
