"""Compile Ascend C: the runtime once, an operator's host side, and its kernel once for each choice of data types.

Each library is cached by the content of everything that it is made of.
"""

from __future__ import annotations

import ctypes
import functools
import os
import re
import shlex
import subprocess
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ophook_npu import cache, recipes, toolchain
from ophook_npu.errors import OphookError
from ophook_npu.kernel import address_registers, local_arrays, pages, threads
from ophook_npu.npu.installed import torch_npu_wheel
from ophook_npu.soc import CSRC

ROOT = CSRC / "ascendc"
_RUNTIME_UNIT = 80_000  # bytes of the runtime's source that are compiled as one file


def _common(command: tuple[str, ...]) -> tuple[str, ...]:
    gcc = ("-fno-gnu-unique", "-gno-record-gcc-switches") if toolchain.is_gcc(command) else ()
    return ("-fPIC", "-fvisibility=hidden", *gcc, f"-ffile-prefix-map={CSRC}=csrc")


RUNTIME, HOST = "libophook_ascendc.so", "libophook_op_host.so"

# What g++ says, and what it means in an Ascend C project.
_HINTS = (
    (re.compile(r"(tilingdata_base\.h): No such file"),
     "{0} is for op_host: in a kernel GET_TILING_DATA knows the structure without it"),
    (re.compile(r"DTYPE_(\w+). was not declared"), "DTYPE_{0} is the type of the OpDef's parameter {0}"),
    (re.compile(r"OphookDefaultTiling"), "GET_TILING_DATA needs REGISTER_TILING_DATA_CLASS on the host side or "
     "REGISTER_TILING_DEFAULT in the kernel"),
    (re.compile(r"explicit specialization in non-namespace scope"),
     "GCC takes no specialization within a class before 14, and CATLASS has them: set OPHOOK_KERNEL_CXX=clang++ "
     "(Debian, Ubuntu: apt-get install clang)"),
    (re.compile(r"incomplete type .struct tla::MakeIntegerSequenceImpl"),
     "GCC does not take this of CATLASS: set OPHOOK_KERNEL_CXX=clang++ (Debian, Ubuntu: apt-get install clang)"),
    (re.compile(r"[‘'](?:half|bfloat16_t|__(?:gm|ubuf|cbuf|ca|cb|cc|fbuf)__)[’'] (?:was not declared|does not name)"
                r"|unknown type name '(?:half|bfloat16_t|__(?:gm|ubuf|cbuf|ca|cb|cc|fbuf)__)'"),
     'types, qualifiers and intrinsics of the device\'s compiler are there behind #include "kernel_operator.h", and '
     "in a source that is compiled with -x cce"),
    (re.compile(r"redefinition of [‘'][^’']*\*"),
     "functions that differ by __gm__ and __ubuf__ alone are one here, where both are plain pointers"),
    (re.compile(r"no match for .operator.*bfloat16_t"), "bfloat16_t has no arithmetic: Cast to float and back"),
    (re.compile(r"no matching function for call to .(?:Adds|Muls|Maxs|Mins|Duplicate)"),
     "the scalar must have the tensor's type: static_cast<T>(…)"),
)  # fmt: skip
_MEMBER = re.compile(r"[‘'](\w+)[’'] is not a member of [‘']AscendC[’']")
# Words around a name that the compiler does not know.
_UNKNOWN = re.compile(
    r"[‘'](?:AscendC::)?(\w+)[’'] (?:is not a member of|was not declared|has not been declared|does not name)"
    r"|no arguments to [‘'](\w+)[’']|fatal error: (\S+): No such file"
)
_NO_MEMBER = re.compile(
    r"[‘'](?:class |struct )?(?:const )?(?:\w+::)*(\w+)(?:<[^’']*>)?[’'] has no member named [‘'](\w+)[’']"
)


def hint(message: str, product: str = "A2") -> str | None:
    """What to do about a compiler's message, where it is an idiom of Ascend C. ``product``: what is compiled for."""
    for pattern, text in _HINTS:
        found = pattern.search(message)
        if found:
            return text.format(*found.groups())
    for unknown in _UNKNOWN.finditer(message):
        if told := pages.absent(next(filter(None, unknown.groups())), product=product):
            return told
    for owner, member in _NO_MEMBER.findall(message):
        if told := pages.absent(member, owner, product):
            return told
    if member := _MEMBER.search(message):
        return f"AscendC::{member[1]} is not implemented here: docs/ascend-c-api.md lists what is"
    return None


def _run(
    folder: str,
    name: str,
    keys: Sequence[str],
    flags: Sequence[str],
    sources: Sequence[Path],
    quicker: Callable[[], Sequence[str]] = tuple,
    compiler: tuple[str, ...] | None = None,
    now: Callable[[], Sequence[str]] | None = None,
) -> Path:
    """``name``, made of ``sources`` by one call of the compiler, unless that was done before. ``quicker``: more flags,
    which make the same of them in less time. ``now``: the keys, taken again when it is made.
    """
    compiler = compiler or toolchain.compiler()
    root = cache.cache_dir() / "ascendc" / folder / recipes.digest([name, toolchain.compiler_version(compiler), *keys])

    places: list[str] = []
    if all(source.is_relative_to(CSRC) or source.name == _ONE for source in sources if source.suffix == ".cpp"):
        # Ours go into the simulator's wheel: their debug information says nothing of where they were compiled.
        places = [f"-fdebug-prefix-map={cache.cache_dir()}=cache", f"-fdebug-prefix-map={os.getcwd()}=."]

    def make(staging: Path) -> None:
        command = [*compiler, *places, *quicker(), *flags, *map(str, sources), "-o", str(staging / name)]
        result = (toolchain.run_as_device if folder == "kernel" else toolchain.run)(command)
        if result.returncode:
            names = ", ".join(source.name for source in sources if source.suffix != ".so")  # not what it is linked with
            told = explained(result.stderr, f"{names} does not compile", command, sources)
            raise OphookError("kernel", told, todo=hint(result.stderr))
        if now:
            recipes.refuse_if_changed(sources, keys, now())

    return cache.publish(root, make) / name


def _key(source: Path, flags: Sequence[str], roots: Sequence[Path]) -> list[str]:
    # Findings name a source by its path, so two checkouts share none of a user's; ours are named alike everywhere.
    named = "" if source.is_relative_to(CSRC) else str(source)
    return [toolchain.object_key(source, flags, roots, "ascendc"), named]


def _objects(
    sources: Sequence[Path],
    flags: Sequence[str],
    roots: Sequence[Path],
    unit: int = 0,
    compiler: tuple[str, ...] | None = None,
) -> tuple[list[Path], list[str]]:
    """Objects, made side by side, and what tells them from others. Each is used by every library that has it.

    ``unit``: bytes of source that are compiled as one file; 0: each by itself.
    """
    units = [found.sources for found in toolchain.units(toolchain.Library("", tuple(sources), unit=unit))]

    def key_of(one: Sequence[Path]) -> list[str]:
        return [part for source in one for part in _key(source, flags, roots)]

    # Taken once: who edits a file meanwhile must not find this library under the new text's key.
    keys = [key_of(one) for one in units]

    def compiled(one: Sequence[Path], key: list[str]) -> Path:
        # Who writes an operator steps through it; ours would take a third longer to compile, and nobody does.
        debugged = () if one[0].is_relative_to(CSRC) else ("-g",)
        how = (*flags, *debugged, "-c")
        return _run("objects", f"{one[0].stem}.o", key, how, [_as_one(one)], compiler=compiler, now=lambda: key_of(one))

    with ThreadPoolExecutor(max(1, len(units))) as pool:  # toolchain.run holds them back
        return list(pool.map(compiled, units, keys)), [part for key in keys for part in key]


def _link(
    folder: str, soname: str, objects: Sequence[Path], keys: Sequence[str], compiler: tuple[str, ...] | None = None
) -> Path:
    how = ("-shared", "-Wl,-z,defs", f"-Wl,-soname,{soname}")
    return _run(folder, soname, keys, how, objects, compiler=compiler)


_ONE = "ophook_unit.cpp"


def _as_one(sources: Sequence[Path]) -> Path:
    """A file that includes them all, which is compiled quicker than each by itself; a single source as it is."""
    if len(sources) == 1:
        return sources[0]
    text = "".join(f'#include "{source}"\n' for source in sources)
    folder = cache.cache_dir() / "ascendc" / "units" / recipes.digest([text])

    def write(staging: Path) -> None:
        (staging / _ONE).write_text(text)

    return cache.publish(folder, write) / _ONE


def explained(output: str, what: str, command: Sequence[str], sources: Sequence[Path] = ()) -> str:
    """``what`` happened and the compiler's words, from the first error on; notes about our headers are left out."""
    lines = output.splitlines()
    signs = (" error: ", "undefined reference", "multiple definition", "cannot find -l")
    errors = [i for i, line in enumerate(lines) if any(sign in line for sign in signs) and "collect2:" not in line]
    kept: list[str] = []
    for i in errors[:5]:
        kept.append(lines[i])
        for line in lines[i + 1 : i + 3]:
            if re.match(r"\s*\d* \|", line):
                kept.append(line)
        # An error inside our headers: the kernel's own line is in the notes after it.
        if str(ROOT) in lines[i]:
            own = [str(one) for one in sources] or [what.split()[0]]
            kept += [line for line in lines[i + 1 : i + 12] if any(name in line for name in own)][:1]
    text = "\n    ".join(kept or lines[-3:]) or "the compiler said nothing (killed for lack of memory?)"
    return f"{what}:\n    {text}\n  command: {shlex.join(command)}"


def object(source: Path, flags: Sequence[str], roots: Sequence[Path]) -> Path:
    """One source of ours as an object. Raises OphookError where it does not compile."""
    return _run("objects", f"{source.stem}.o", _key(source, flags, roots), (*flags, "-c"), [source])


@functools.cache
def runtime() -> Path:
    """libophook_ascendc.so: local memory, checks, arithmetic and the launch."""
    flags: tuple[str, ...] = (
        "-std=c++20",
        "-O2",
        *(("-ftree-vectorize", "-fvect-cost-model=dynamic") if toolchain.is_gcc(toolchain.compiler()) else ()),
        "-fno-math-errno",
        "-fno-trapping-math",
        "-ffp-contract=off",
        *_common(toolchain.compiler()),
    )
    sources = sorted((ROOT / "runtime").glob("*.cpp"))
    include = (f"-I{ROOT / 'include'}", f"-I{ROOT / 'runtime'}")
    objects, keys = _objects(sources, (*flags, *include), [ROOT / "include", ROOT], _RUNTIME_UNIT)
    return _link("runtime", RUNTIME, objects, keys)


def named_forwards(lists: Iterable[str] = ()) -> dict[str, str]:
    """By the names of such lists, those of kernels if none is given, the header of ours that stands above it there."""
    found: dict[str, str] = {}
    for text in lists or _forward_lists():
        target = ""
        for line in filter(None, (line.partition("#")[0] for line in text.splitlines())):
            if not line.startswith(" "):
                target = line.strip()
                continue
            for name in line.split():
                begin, _, rest = name.partition("{")
                listed, _, end = rest.partition("}")
                found |= {f"{begin}{one}{end}": target for one in listed.split(",")}
    return found


def _forward_lists() -> list[str]:
    return [(ROOT / name).read_text(encoding="utf-8") for name in ("page_headers.txt", "forwards.txt")]


@functools.cache
def forwards() -> Path:
    """A folder with these names: each includes its header."""
    folder = cache.cache_dir() / "ascendc" / "forwards" / recipes.digest(_forward_lists())

    def write(staging: Path) -> None:
        for name, target in named_forwards().items():
            (staging / name).parent.mkdir(parents=True, exist_ok=True)
            (staging / name).write_text(f'#include "{target}"\n')

    return cache.publish(folder, write)


def _host_flags(roots: Sequence[Path] = ()) -> tuple[str, ...]:
    # CANN's own libraries have std::string as it was before C++11, and so do projects that are linked to `host_part`.
    include = [f"-I{root}" for root in (ROOT / "host", *roots, forwards())]
    old = ("-std=c++17", "-Og", "-D_GLIBCXX_USE_CXX11_ABI=0", "-DOPHOOK_OP_HOST")
    return (*old, *_common(toolchain.compiler()), *include)


_HOST_ROOTS = [ROOT / "host", ROOT / "include", CSRC / "include"]  # what kernels see of a tiling; securec.h


def host_part() -> tuple[list[Path], list[str]]:
    """Ours of an operator's host library, as objects: the registry and the C interface."""
    own = [*sorted((ROOT / "host").glob("*.cpp")), *sorted((CSRC / "securec").glob("*.cpp"))]
    return _objects(own, _host_flags(), _HOST_ROOTS)


def host_archive() -> Path:
    """The same for projects whose own build links their host side: `-lexe_graph` finds it."""
    objects, keys = host_part()
    name = HOST.replace(".so", ".a")

    def write(staging: Path) -> None:
        command = ["ar", "rcs", str(staging / name), *map(str, objects)]  # of binutils, which a compiler needs, too
        result = toolchain.run(command)
        if result.returncode:
            raise OphookError("kernel", explained(result.stderr, f"{name} is not made", command))

    return cache.publish(cache.cache_dir() / "ascendc" / "host" / recipes.digest([name, *keys]), write) / name


def host(sources: Sequence[Path], roots: Sequence[Path], macros: Sequence[str] = ()) -> Path:
    """The operator's host side: prototype, tiling and inference, by the host's compiler, as with CANN. ``macros``:
    -DNAME=VALUE.

    Raises:
        OphookError: it does not compile; with the compiler's lines.
    """
    ours, our_keys = host_part()
    objects, keys = _objects(sources, (*_host_flags(roots), *macros), [*_HOST_ROOTS, *roots])
    return _link("host", HOST, [*ours, *objects], [*our_keys, *keys])


ALIASING = "-fno-strict-aliasing"  # kernels take what lies somewhere for another type, tensors too
DEVICE = "-D__CCE__=1"  # by which a header that the host includes, too, knows the device's compiler


# The C++ of kernels: our headers have concepts. The device's compiler has C++17, and finds `ReduceSum<float>(…)`
# without its namespace, as this does; C++20 takes no `Arguments{a, b}` of a structure with a constructor of its own.
STANDARD = "-std=c++20"


def beside_c(function: str) -> str:
    """C++ to go before a kernel whose name is one of C's, as Div, Fmax and Asinh have: what it defines is another one.

    CANN compiles each kernel under a longer name. Here its library has it under its own all the same.
    """
    if not any(hasattr(ctypes.CDLL(library), function) for library in ("libc.so.6", "libm.so.6")):
        return ""
    other = f"ophook_kernel_{function}"
    return f'''
#include "{INTERFACE}"
#define {function} {other}
asm(".globl {function}\\n.set {function}, {other}");
'''


@functools.cache
def called(library: Path) -> frozenset[str]:
    """The functions of the runtime that a compiled kernel calls, without their arguments."""
    told = subprocess.run(["nm", "-D", "--undefined-only", library], capture_output=True, text=True, check=True).stdout
    names = (re.search(r"_ZN6ophook2rt(\d+)(\w+)", line) for line in told.splitlines())
    return frozenset(found[2][: int(found[1])] for found in names if found)


def kernel(
    source: Path, macros: dict[str, str], prelude: str, roots: Sequence[Path], debug: bool = False, calls: str = ""
) -> Path:
    """The kernel in ``source`` with these macros; ``prelude`` is C++ that goes before it, ``calls`` what goes after it.

    Raises:
        OphookError: it does not compile; with the compiler's lines and a hint.
    """
    key = recipes.digest([prelude])
    folder = cache.cache_dir() / "ascendc" / "prelude" / key

    def write(staging: Path) -> None:
        (staging / "prelude.h").write_text(prelude)

    cache.publish(folder, write)
    lib = runtime()
    text = _without_launches(source)
    include = [f"-I{root}" for root in (ROOT / "include", *roots, forwards())]
    wheel = None if source.is_relative_to(CSRC) else torch_npu_wheel()
    if wheel:  # CATLASS's kernels include acl/acl.h, which the device's compiler finds
        include += ["-idirafter", str(wheel.path / "include" / "third_party" / "acl" / "inc")]
    defines = [f"-D{name}={value}" for name, value in macros.items()]
    optimize = "-O0" if debug else "-O2"
    how = (STANDARD, optimize, "-g", DEVICE, ALIASING, *_common(toolchain.kernel_compiler()))
    first = (ROOT / "include" / "ascendc" / "architecture.h", folder / "prelude.h")
    flags = (*how, *include, *defines, *(flag for header in first for flag in ("-include", str(header))))
    # One call: a kernel compiles in a moment. Who loads it has loaded the runtime before.
    name = f"lib{source.stem}.so"
    link = ("-shared", "-Wl,-z,defs", "-Wl,-Bsymbolic", f"-Wl,-soname,{name}")
    keys = _key(source, flags, [ROOT / "include", *roots])
    if calls:
        text = (f'#include "{source}"\n' if text is None else text) + f'\n#line 1 "calls of {source.name}"\n{calls}'
        keys.append(calls)
    what = [source if text is None else written(source.name, text), lib]
    if told := _not_for_gcc(source, roots):
        of_threads = threads.FUNCTION in told
        keys.append(_translators())
        plain = _as_plain(what[0], (*flags, *(["-DOPHOOK_OF_THREADS"] if of_threads else [])), keys)
        compiler = toolchain.kernel_compiler()
        if of_threads:  # the linker would add the library that has what the compiler calls; here it is the runtime's
            made = ("objects", f"{source.stem}.o", keys, (*how, *threads.WATCHED, "-c"))
            plain = _run(*made, [plain], compiler=compiler)
        return _run("kernel", name, keys, (*how, *link), [plain, lib], compiler=compiler)
    quicker = functools.partial(_interface, source, how)
    return _run("kernel", name, keys, (*flags, *link), what, quicker, toolchain.kernel_compiler())


INTERFACE = "kernel_operator.h"
# A source that includes it before anything else that the compiler reads.
_BEGINS = re.compile(rf'(?://[^\n]*\n|/\*.*?\*/|\s)*#\s*include\s*["<]{re.escape(INTERFACE)}[">]', re.DOTALL)


def _interface(source: Path, flags: Sequence[str]) -> tuple[str, ...]:
    """What makes the compiler take our headers, two thirds of the time that a kernel takes, in their precompiled form.

    GCC reads them as usual where a macro of this kernel's would change them.
    """
    command = toolchain.kernel_compiler()
    if (
        command != toolchain.compiler()
        or not toolchain.is_gcc(command)
        or not _BEGINS.match(source.read_text(errors="replace"))
    ):
        return ()
    root = ROOT / "include"
    where = toolchain.kept_prefix(root / INTERFACE, (*flags, f"-I{root}"), [root], "ascendc")
    return f"-I{where}", "-include", INTERFACE


_PLACE = re.compile(r"(.+):(\d+)(?: \(discriminator \d+\))?$")


def place(told: str) -> str:
    """Where a crash was, by what `ascendc_tell_crashes` wrote: the innermost line that is not of our headers."""
    for library, _, offset in (line.rpartition(" ") for line in told.splitlines()):
        if f"{os.sep}kernel{os.sep}" not in library and Path(library).name != HOST:
            continue
        command = ["addr2line", "-i", "-e", library, offset]  # of binutils, which a compiler needs, too
        lines = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
        for path, number in (found.groups() for line in lines if (found := _PLACE.match(line))):
            if not path.startswith(("csrc", "/usr/", "??")):
                return f" at {path}:{number}"
    return ""


# With its arguments: the device's compiler does not look at them, and some are names that nobody declares.
_LAUNCH = re.compile(r"\b(?:\w+\s*::\s*)*\w+\s*(?:<[^;{}]*?>)?\s*<<<([^;{}]*?)>>>\s*\([^;{}]*\)")


def _without_launches(source: Path) -> str | None:
    """A source whose host part launches kernels (``name<<<blocks, nullptr, stream>>>(…)``, no C++) as g++ takes it.

    None where it is C++ as it stands. Here who runs a kernel is this package.
    """
    text = source.read_text(errors="replace")
    changed = _launching_nothing(text)
    return None if changed == text else f'#include "ascendc/host_launch.h"\n#line 1 "{source}"\n{changed}'


def _launching_nothing(text: str) -> str:
    def plain(launch: re.Match[str]) -> str:
        lines = launch[0].count("\n") - launch[1].count("\n")  # what follows keeps its line
        return f"::ophook::rt::host_launch({launch[1]})()" + "\n" * lines

    return _LAUNCH.sub(plain, text) if "<<<" in text else text


# How the device's compiler marks a function, by itself or in a macro's text.
_AICORE = re.compile(r"\[\s*(?:host\s*,\s*)?aicore\s*\]")
# What it takes, and g++ does not.
_NOT_FOR_GCC = re.compile(rf"{_AICORE.pattern}|\b{threads.FUNCTION}\b|{address_registers.CALL.pattern}")


def without_aicore(text: str) -> str:
    """A preprocessed source without these marks."""
    return _AICORE.sub("", text)


def _not_for_gcc(source: Path, roots: Sequence[Path]) -> set[str]:
    """What there is of that in a source and its headers."""
    texts = (path.read_text(errors="replace") for path in recipes.included(source.resolve(), roots))
    return {found[0] for text in texts for found in _NOT_FOR_GCC.finditer(text)}


@functools.cache
def _translators() -> str:
    return recipes.digest(Path(str(one.__file__)).read_bytes() for one in (address_registers, local_arrays, threads))


def translated(text: str) -> str:
    """A preprocessed source as g++ takes it; a kernel's launch is another matter."""
    text = address_registers.translated(without_aicore(text))
    return local_arrays.translated(threads.translated(text) if threads.FUNCTION in text else text)


def _as_plain(source: Path, flags: Sequence[str], keys: Sequence[str]) -> Path:
    """A kernel and its headers as the preprocessor leaves them, `translated`. Lines keep their names.

    Raises:
        OphookError: the preprocessor fails.
    """
    compiler, name = toolchain.kernel_compiler(), f"{source.stem}.ii"

    def write(staging: Path) -> None:
        command = [*compiler, *flags, "-include", "ascendc/host_launch.h", "-E", str(source)]
        result = toolchain.run(command)
        if result.returncode:
            told = explained(result.stderr, f"{source.name} does not compile", command, [source])
            raise OphookError("kernel", told, todo=hint(result.stderr))
        (staging / name).write_text(_launching_nothing(translated(result.stdout)))  # headers of CATLASS launch, too

    key = recipes.digest([name, toolchain.compiler_version(compiler), _LAUNCH.pattern, *keys])
    return cache.publish(cache.cache_dir() / "ascendc" / "sources" / key, write) / name


def written(name: str, text: str) -> Path:
    """A file of that name with that text."""
    folder = cache.cache_dir() / "ascendc" / "sources" / recipes.digest([name, text])

    def write(staging: Path) -> None:
        (staging / name).write_text(text)

    return cache.publish(folder, write) / name
