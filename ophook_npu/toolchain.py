"""Compile C++ on the user's machine: objects and libraries cached by content, published atomically.

An object's key is the hash of the compiler, its flags, the source and every file of the source tree that it includes,
a library's that of its objects and of what it links to: a change compiles and links exactly what it touches. Two builds
at once share both and never see each other's half-written files.
"""

from __future__ import annotations

import errno
import functools
import itertools
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from ophook_npu.cache import cache_dir, publish, refuse_if_shared
from ophook_npu.elf import exported
from ophook_npu.errors import OphookError
from ophook_npu.pace import BuildStep, OnStep, Pace
from ophook_npu.recipes import digest, recipe, refuse_if_changed


@functools.cache
def compiler() -> tuple[str, ...]:
    """The C++ compiler's command: ``$CXX``, else ``g++``.

    Raises:
        OphookError: there is none, or it is no GCC 11 or later / Clang 14 or later (C++20).
    """
    command = _command("CXX", "g++")
    # The toolkit's driver calls this compiler, and CMake sets CXX to the driver where a project chooses it for C++.
    return _command("", "g++") if Path(command[0]).name in ("bisheng", "ccec") else command


@functools.cache
def kernel_compiler() -> tuple[str, ...]:
    """That of kernels and programs: ``$OPHOOK_KERNEL_CXX``, else `compiler`. Raises as it does."""
    return _command("OPHOOK_KERNEL_CXX") if os.environ.get("OPHOOK_KERNEL_CXX") else compiler()


def _command(variable: str, default: str = "") -> tuple[str, ...]:
    command = tuple(shlex.split(os.environ.get(variable, default)))
    if not command or shutil.which(command[0]) is None:
        raise OphookError(
            "compiler",
            f"no C++ compiler: {command[0] if command else variable} is not on PATH",
            allowed="GCC 11 or later, or Clang 14 or later",
            todo=f"install one (Debian, Ubuntu: apt-get install g++) or set {variable}",
        )
    return command


@functools.cache
def compiler_version(command: tuple[str, ...]) -> str:
    result = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
    if result.returncode:
        raise OphookError(
            "compiler", f"`{shlex.join(command)} --version` failed: {result.stderr.strip()}", todo="check CXX"
        )
    # GCC says by which of its names it was called, and CMake calls it by another one than people do.
    return re.sub(r"^\S*(?:[gc]\+\+|g?cc)\S* \(", "g++ (", result.stdout.splitlines()[0])


def jobs() -> int:
    """Compilers to run at once: ``$MAX_JOBS``, else the cores, but no more than memory allows at 1.5 GB each."""
    chosen = os.environ.get("MAX_JOBS", "")
    if chosen.isdigit() and int(chosen) > 0:
        return int(chosen)
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(1, min(os.cpu_count() or 1, int(memory // 1_500_000_000)))


@functools.cache
def _lanes(count: int) -> threading.BoundedSemaphore:
    return threading.BoundedSemaphore(count)


def run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """A compiler's run, its output as text. Never more than `jobs` of one process's threads are in here at once."""
    with _lanes(jobs()):
        return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)


# GCC refuses a class that has a name of its own for what a name meant before in it. C++ asks no compiler to find that,
# and clang, of which the device's compiler is made, does not. (From version 13 on GCC has -Wno-changes-meaning.)
_CHANGES = "changes meaning of"


def run_as_device(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """`run`, which takes what the device's compiler takes, too."""
    result = run(command)
    errors = [line for line in result.stderr.splitlines() if " error: " in line]
    if not errors or not all(_CHANGES in line for line in errors):
        return result
    again = run([*(one for one in command if one != "-w"), "-fpermissive"])
    others = (line for line in again.stderr.splitlines() if "[-fpermissive]" in line and _CHANGES not in line)
    return result if any(others) else again


@dataclass(frozen=True)
class Library:
    """One shared library, or a program.

    ``sources`` are compiled with ``flags``; ``links`` are other libraries of the same build, by name; ``link_flags`` go
    to the linker as they are. ``soname`` is the file's name and its SONAME. ``prefix`` is a header that every source
    includes first; it is precompiled where many sources are to be compiled, or, with ``keep_prefix``, once for all
    builds that come. ``glue``, sources and folders of them, is compiled without optimization: it says what is to be
    called; those of ``seldom`` with -Og, which takes less time: their own instructions take none when the library is
    used. ``apart``: folders whose sources do without the prefix, and more flags for them. ``debug``: sources that are
    compiled for a debugger; ``talks``: the compiler looks for what its flags warn of, and its warnings are shown.
    """

    soname: str
    sources: tuple[Path, ...]
    flags: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    link_flags: tuple[str, ...] = ()
    folder: str = "lib64"  # below the build's root
    prefix: Path | None = None
    keep_prefix: bool = False
    unit: int = 0
    glue: tuple[Path, ...] = ()
    seldom: frozenset[Path] = frozenset()
    needs: tuple[tuple[str, Path], ...] = field(default=())  # (what for, header that must exist)
    program: bool = False  # linked as an executable file of this name
    apart: tuple[tuple[Path, tuple[str, ...]], ...] = ()
    debug: tuple[Path, ...] = ()
    talks: bool = False


_HOUR, _DAY = 60 * 60, 24 * 60 * 60
_KEPT = 6  # precompiled headers besides the one in use

# Below this many units, precompiling their common header costs more than it saves.
_WORTH_A_PREFIX = 4

# Seconds on one core of 2023, for estimates: a unit's own headers, a kilobyte of source, and all of ATen precompiled.
_HEADERS, _KILOBYTE, _PREFIX = 1.2, 0.08, 18.0


# GCC takes a precompiled header only where its own macros are as they were: those of -O1. It takes what optimization
# is usual from the header, too, so that -O1 over a header of -Og does nothing.
_PLAIN = ("-O0", "-D__OPTIMIZE__=1", "-U__NO_INLINE__")
# And where it was made for a debugger, if the unit is; units that are not take that one, too.
_FOR_DEBUG = "-g1"


@dataclass(frozen=True)
class Unit:
    """What one run of the compiler makes an object of."""

    sources: tuple[Path, ...]
    library: Library

    @property
    def flags(self) -> tuple[str, ...]:
        first, library = self.sources[0], self.library
        flags = (*library.flags, *dict(library.apart).get(first.parent, ()))
        if first in library.debug:
            return (*flags, "-g", *_unoptimized(library.flags))
        if _is_glue(self):
            return (*flags, *_unoptimized(library.flags))
        return (*flags, *(("-Og",) if first in library.seldom else ()))

    @property
    def prefix(self) -> Path | None:
        return None if self.sources[0].parent in dict(self.library.apart) else self.library.prefix

    @property
    def weight(self) -> float:
        """The seconds that it takes, roughly."""
        return _HEADERS + _KILOBYTE * sum(source.stat().st_size for source in self.sources) / 1000


def _is_glue(unit: Unit) -> bool:
    first = unit.sources[0]
    return first in unit.library.glue or first.parent in unit.library.glue


def _unoptimized(flags: Sequence[str]) -> tuple[str, ...]:
    """What takes optimization from ``flags`` and leaves their precompiled header as it was."""
    level = next((flag for flag in reversed(flags) if re.fullmatch("-O.*", flag)), "-O0")
    return () if level == "-O0" else _PLAIN


def units(library: Library) -> list[Unit]:
    """The library's sources: those of each folder that are compiled alike, cut into units of about equal size. Glue
    comes last: of a function that several units have, the linker takes the first.
    """
    if not library.unit:
        return [Unit((source,), library) for source in library.sources]
    by_folder = itertools.groupby(library.sources, lambda source: source.parent)
    alike: list[list[Path]] = []
    for _, folder in by_folder:
        by_flags: dict[tuple[str, ...], list[Path]] = {}
        for source in folder:
            by_flags.setdefault(Unit((source,), library).flags, []).append(source)
        alike += by_flags.values()
    return sorted((Unit(group, library) for sources in alike for group in _cut(sources, library.unit)), key=_is_glue)


def _cut(sources: Sequence[Path], size: int) -> list[tuple[Path, ...]]:
    """Neighbours together, about ``size`` bytes of them."""
    sizes = [source.stat().st_size for source in sources]
    count = max(1, round(sum(sizes) / size))
    groups: list[list[Path]] = [[] for _ in range(count)]
    before = 0
    for source, length in zip(sources, sizes, strict=True):  # where its middle falls
        groups[min(count - 1, int((before + length / 2) * count / sum(sizes)))].append(source)
        before += length
    return [tuple(group) for group in groups if group]


@contextmanager
def _precompiled(prefix: Path, flags: Sequence[str]) -> Iterator[Path]:
    """A folder with ``prefix`` and its precompiled form, for GCC's search path. It is large and goes when the build
    ends.
    """
    _remove_unused(cache_dir().glob("prefix-*"))  # of builds that were killed
    with tempfile.TemporaryDirectory(dir=cache_dir(), prefix="prefix-") as name:
        _precompile(prefix, flags, Path(name))
        yield Path(name)


def _precompile(prefix: Path, flags: Sequence[str], folder: Path) -> None:
    copy = folder / prefix.name
    shutil.copy(prefix, copy)
    command = [*compiler(), *flags, "-x", "c++-header"]
    result = run([*command, str(copy), "-o", f"{copy}.gch"])
    if result.returncode:
        again = [*command, str(prefix), "-o", os.devnull]
        raise OphookError("compile", _failure(prefix, again, result.stderr), todo=_advice(result.stderr))


def is_gcc(command: tuple[str, ...]) -> bool:
    """Whether a compiler is GCC, which finds a precompiled header next to its source by itself, and not clang."""
    return "clang" not in compiler_version(command).lower()


def kept_prefix(prefix: Path, flags: Sequence[str], roots: Sequence[Path], stamp: str) -> Path:
    """A folder with ``prefix`` and its precompiled form, kept for later builds. Such a form is large: those that nobody
    used for a day go, and of more than a few those that nobody used for an hour.

    Raises:
        OphookError: it does not compile.
    """
    flags = [flag for flag in flags if not (flag.startswith("-ffile-prefix-map=") and flag.endswith("=."))]

    # Two environments with one torch do not share it: a header that is included again is known by its path.
    def key() -> str:
        return digest([compiler_version(compiler()), *flags, recipe([prefix], flags, roots, stamp)])

    taken = key()

    def make(staging: Path) -> None:
        _precompile(prefix, flags, staging)
        refuse_if_changed([prefix], taken, key())

    kept = _stored(cache_dir() / "prefixes" / taken, make)
    others = {other: _last_used(other) for other in kept.parent.glob("[0-9a-f]*") if other.is_dir() and other != kept}
    _remove_unused(sorted(others, key=lambda other: -others[other])[_KEPT:], _HOUR)
    return kept


def _stored(folder: Path, make: Callable[[Path], None]) -> Path:
    """`publish` in a store: what nobody used for a day goes."""
    publish(folder, make)
    os.utime(folder)
    _remove_unused(other for other in folder.parent.glob("[0-9a-f]*") if other.is_dir() and other != folder)
    return folder


def _last_used(folder: Path) -> float:
    with suppress(FileNotFoundError):  # another process removed it
        return folder.stat().st_mtime
    return math.inf


def _remove_unused(folders: Iterable[Path], seconds: float = _DAY) -> None:
    for folder in folders:
        if time.time() - _last_used(folder) > seconds:
            shutil.rmtree(folder, ignore_errors=True)


def object_key(source: Path, flags: Sequence[str], roots: Sequence[Path], stamp: str) -> str:
    """The key of what the compiler at hand makes of ``source``; see `recipe`."""
    return digest([compiler_version(compiler()), recipe([source], flags, roots, stamp)])


def library_recipe(library: Library, roots: Sequence[Path], stamp: str) -> str:
    """What a library is made of, whatever compiler makes it and wherever it is linked."""
    sources = [*library.sources, library.prefix] if library.prefix else library.sources
    told = (*map(str, library.glue), "and", *sorted(map(str, library.seldom)))
    apart = [word for folder, more in library.apart for word in (str(folder), *more)]
    flags = (*library.flags, *told, *apart, *(_PLAIN if library.glue else ()))
    return digest([library.soname, library.folder, *library.links, recipe(sources, flags, roots, stamp)])


def library_key(library: Library, roots: Sequence[Path], stamp: str) -> str:
    """The key of the library that the compiler at hand makes, linked where it is."""
    made_of = library_recipe(library, roots, stamp)
    return digest([compiler_version(compiler()), made_of, *library.link_flags])


def unit_key(unit: Unit, roots: Sequence[Path], stamp: str) -> str:
    """The key of one object of a library."""
    prefix = [unit.prefix] if unit.prefix else []
    made_of = recipe([*unit.sources, *prefix], unit.flags, roots, stamp)
    return digest([compiler_version(compiler()), made_of])


def unit_command(unit: Unit, prefix: Path | None = None) -> list[str]:
    """What compiles a unit, but for where its object goes. ``prefix``: the folder of its precompiled header."""
    header = unit.prefix
    first = [f"-I{prefix or header.parent}", "-include", header.name] if header else []
    *others, last = unit.sources
    neighbours = [word for path in others for word in ("-include", str(path))]
    # To look for warnings takes a tenth of a build.
    flags = [flag for flag in unit.flags if unit.library.talks or not re.match("-W(?!l,)", flag)]
    return [*compiler(), *first, *flags, *neighbours, "-c", str(last)]


def _compile(unit: Unit, target: Path, prefix: Path | None, roots: Sequence[Path], stamp: str) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent, prefix="unit-") as folder:
        made = Path(folder) / "made.o"
        # No unit needs more than a gigabyte: the compiler need not look for what it no longer uses.
        spacious = ("--param=ggc-min-heapsize=1000000",) if is_gcc(compiler()) else ()
        result = run([*unit_command(unit, prefix), *spacious, "-o", str(made)])
        if result.returncode:
            errors = [line for line in result.stderr.splitlines() if "error" in line.lower()]
            at_fault = [path for line in errors for path in unit.sources if line.startswith(f"{path}:")]
            source = next(iter([*at_fault, *unit.sources]))
            again = [*unit_command(unit), "-o", os.devnull]
            raise OphookError("compile", _failure(source, again, result.stderr), todo=_advice(result.stderr))
        refuse_if_changed(unit.sources, target.stem, unit_key(unit, roots, stamp))
        if unit.library.talks and result.stderr:
            print(result.stderr, end="", file=sys.stderr, flush=True)
        os.replace(made, target)


def _failure(source: Path, command: Sequence[str], output: str) -> str:
    errors = [line for line in output.splitlines() if "error" in line.lower()] or output.splitlines()[-3:]
    text = "\n    ".join(errors[:5]) or "the compiler said nothing (killed for lack of memory?)"
    return f"{source.name} does not compile:\n    {text}\n  command: {shlex.join(command)}"


def _room(output: str) -> str | None:
    full = os.strerror(errno.ENOSPC) in output
    return f"make room on the disks of {cache_dir()} and {tempfile.gettempdir()}" if full else None


def _advice(output: str) -> str:
    missing = re.search(r"fatal error: (\S+): No such file", output)
    if missing:
        return f"the header {missing.group(1)} is missing: reinstall the package or system library that it belongs to"
    if not output.strip():
        return "run again with MAX_JOBS=1"
    if room := _room(output):
        return room
    if "redefinition of" in output:
        return "neighbouring sources of a library are compiled as one: give one of the two another name"
    return "GCC 11 or later is needed; if yours is, please report this with the command above"


def build(
    libraries: Sequence[Library],
    root: Path,
    *,
    include_roots: Sequence[Path],
    stamp: str,
    progress: OnStep | None = None,
    keep_linked: bool = False,
) -> int:
    """Build ``libraries`` into ``root`` (which the caller publishes) and return how many files were compiled.

    ``include_roots`` are our own source roots, hashed into the keys; ``stamp`` names the versions of the headers that
    are not ours (torch, torch_npu). ``keep_linked``: libraries that link to nothing else than each other and what
    ``stamp`` names are kept, and linked again only where they changed.

    Raises:
        OphookError: a header is missing, a file does not compile, or linking fails.
    """
    wanted, objects = _missing(libraries, include_roots, stamp)
    names = functools.cache(lambda soname: exported(root / "lib64" / soname))

    def link(made: Mapping[Path, Future[None]]) -> None:
        # As they and what they link to, which stands before them, are compiled.
        turn = {target: index for index, target in enumerate(made)}
        ready: dict[str, int] = {}
        for library in libraries:
            own = [turn.get(part, 0) for part in objects.get(library.soname, [])]
            ready[library.soname] = max([0, *own, *(ready.get(soname, 0) for soname in library.links)])
        for library in sorted(libraries, key=lambda library: ready[library.soname]):
            parts = objects.get(library.soname, [])
            for part in parts:
                if part in made:
                    made[part].result()
            if keep_linked:
                _place(library, parts, root, [stamp, *(name for soname in library.links for name in names(soname))])
            else:
                _link(library, parts, root, _target(library, root))

    _compile_all(wanted, include_roots, stamp, progress, link)
    return sum(len(unit.sources) for unit in wanted.values())


def compile_ahead(libraries: Sequence[Library], *, include_roots: Sequence[Path], stamp: str) -> None:
    """Make the objects that `build` with the same arguments will look for.

    Raises:
        OphookError: a header is missing, or a file does not compile.
    """
    _compile_all(_missing(libraries, include_roots, stamp)[0], include_roots, stamp, None)


def _missing(
    libraries: Sequence[Library], include_roots: Sequence[Path], stamp: str
) -> tuple[dict[Path, Unit], dict[str, list[Path]]]:
    """What is to be compiled, by its object, and the objects of each library."""
    for library in libraries:
        for purpose, header in library.needs:
            if not header.exists():
                raise OphookError("compile", f"{header.name} is missing ({header})", todo=f"reinstall {purpose}")
    store = cache_dir() / "objects"
    store.mkdir(mode=0o755, exist_ok=True)
    refuse_if_shared(store)
    wanted: dict[Path, Unit] = {}
    objects: dict[str, list[Path]] = {}
    for library in libraries:
        for unit in units(library):
            target = store / f"{unit_key(unit, include_roots, stamp)}.o"
            objects.setdefault(library.soname, []).append(target)
            if not _whole(target):
                wanted[target] = unit
    return wanted, objects


def _whole(target: Path) -> bool:
    """A power cut may leave a file's name without what was written into it."""
    try:
        return target.stat().st_size > 0
    except FileNotFoundError:
        return False


def _compile_all(
    wanted: dict[Path, Unit],
    roots: Sequence[Path],
    stamp: str,
    progress: OnStep | None,
    beside: Callable[[Mapping[Path, Future[None]]], None] = lambda made: None,
) -> None:
    """Compile every target; units that share a prefix wait for it while the others are compiled. ``beside`` runs
    meanwhile, and waits itself for the objects that it needs.
    """
    groups: dict[tuple[Path, tuple[str, ...], bool], list[Path]] = {}
    plain: list[Path] = []
    for target, unit in wanted.items():
        library = unit.library
        key = (unit.prefix, library.flags, library.keep_prefix) if unit.prefix else None
        (groups.setdefault(key, []) if key else plain).append(target)
    knows_prefixes = bool(groups) and is_gcc(compiler())
    worth_it = (key for key, targets in groups.items() if key[2] or len(targets) >= _WORTH_A_PREFIX)
    prefixes = list(worth_it) if knows_prefixes else []
    ordered = sorted(plain, key=lambda target: -wanted[target].weight)
    for targets in groups.values():
        ordered += sorted(targets, key=lambda target: -wanted[target].weight)
    lanes = jobs()
    clock = Pace([_PREFIX] * len(prefixes) + [wanted[target].weight for target in ordered], lanes)
    progress = progress if wanted else None
    if progress:
        progress(clock.step())
    with ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(lanes))

        def precompile(index: int, prefix: Path, flags: tuple[str, ...], keep: bool) -> Path:
            with clock.job(index):
                if keep:
                    return kept_prefix(prefix, (*flags, _FOR_DEBUG), roots, stamp)
                return stack.enter_context(_precompiled(prefix, flags))

        # First in the queue, so that a unit that waits for it never keeps it from being compiled.
        made = {key: pool.submit(precompile, index, *key) for index, key in enumerate(prefixes)}

        def one(index: int, target: Path) -> None:
            library, header = wanted[target].library, wanted[target].prefix
            future = made.get((header, library.flags, library.keep_prefix)) if header else None
            folder = future.result() if future else None
            with clock.job(index):
                if not _whole(target):  # another build with the same cache may have made it since
                    _compile(wanted[target], target, folder, roots, stamp)

        compiled = {target: pool.submit(one, index, target) for index, target in enumerate(ordered, len(prefixes))}
        pending = {*compiled.values(), stack.enter_context(ThreadPoolExecutor(1)).submit(beside, compiled)}
        try:
            while pending:
                done, pending = wait(pending, timeout=1 if progress else None, return_when=FIRST_COMPLETED)
                for future in done:
                    future.result()
                if progress:
                    progress(clock.step())
            if progress:
                progress(BuildStep(1.0, 0.0))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _place(library: Library, objects: Sequence[Path], root: Path, linked: Sequence[str]) -> None:
    """Put a library where it belongs below ``root``; it is linked only if it was not before, of the same objects and
    to the same: ``linked`` tells to what.
    """
    told = [library.soname, *library.link_flags, *(path.name for path in objects), *library.links, *linked]
    folder = cache_dir() / "libraries" / digest([compiler_version(compiler()), *told])
    _stored(folder, lambda staging: _link(library, objects, root, staging / library.soname))
    shutil.copy(folder / library.soname, _target(library, root))


def _target(library: Library, root: Path) -> Path:
    target = root / library.folder / library.soname
    target.parent.mkdir(parents=True, exist_ok=True)
    return target


def _link(library: Library, objects: Sequence[Path], root: Path, target: Path) -> None:
    command = [
        *compiler(), *(() if library.program else ("-shared", f"-Wl,-soname,{library.soname}")),
        "-o", str(target), "-Wl,-z,defs", "-Wl,--no-as-needed",
        *map(str, objects), f"-L{root / 'lib64'}", f"-Wl,-rpath-link,{root / 'lib64'}",
        *(f"-l:{name}" for name in library.links), *library.link_flags, "-pthread", "-ldl",
    ]  # fmt: skip
    result = run(command)
    if result.returncode:
        lines = [line for line in result.stderr.splitlines() if "undefined" in line or "error" in line]
        text = "\n    ".join(lines[:5]) or result.stderr.strip()
        todo = _room(result.stderr) or "please report this"
        raise OphookError("link", f"{library.soname} does not link:\n    {text}", todo=todo)
