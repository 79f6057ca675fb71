"""On which cores a program's kernels run that do not say it; and sources that ask for which kind they are compiled.

Of a source that does not ask, the instructions of each kernel tell. Of one that asks two objects become one:

The vendor's driver compiles such a source for cube cores, for vector cores and for the host. Here the object for vector
cores has the host's part as well. Of the one for cube cores the kernels are taken, under names of their own: who
launches a kernel (program/launch.h) finds its second form by the name of the type that calls it.
"""

from __future__ import annotations

import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

from ophook_npu import toolchain
from ophook_npu.kernel import build
from ophook_npu.kernel.source import KINDS, kind_by, units

_END = ".ophook_cube"
# Site<…>::call of launch.h; with an E behind it, its first group is the name of the type Site<…>.
_CALL = re.compile(r"_Z(N6ophook7program4SiteI\S*E)4callEPKvS\w*_")
_UNDECIDED = re.compile(r'Declared ophook_\w+\("(\w+)", -1\);')  # kernel_text.translated writes it
# What a kernel calls of the runtime; what launch.h asks is not a kernel's.
_RUNTIME = re.compile(r" U _ZN6ophook2rt\d+(?!is_vector_core)([a-z]\w*?)E")
# What cube cores alone do, and what both kinds of cores do.
_CUBE = re.compile(r"mmad|fixpipe\w*|load_\w+|nd_to_nz|image_settings|fill_blocks|set_hf32\w*")
_BOTH = re.compile(
    r"(?:barrier|block|sub_block|buffer|init|pipe|pool|queue|place|set_flag|wait_flag|event|cross|between|sync|local|stack"
    r"|keep|copy_in|copy_local|read|write|atomic|cache|print|dump|assertion|trap|refuse|tiling|copy_tiling|workspace"
    r"|needs_tiling|matmul|set_mask)\w*"
)
# Of objdump -rt: a function with its section, and what code in a section refers to, a symbol or another section.
_SYMBOL = re.compile(r"^\S+ .{7} (\.text\S*)\t\S+ (?:\.hidden )?(\S+)$", re.MULTILINE)
_PART = re.compile(r"^RELOCATION RECORDS FOR \[(\S+)\]:$")
_REFERENCE = re.compile(r"^[0-9a-f]+ R_\S+ +(\S+?)(?:[-+]0x[0-9a-f]+)?$")
_CALLED = re.compile(r"_ZN6ophook2rt\d+([a-z]\w*?)E")
_LAUNCH = '#include "ascendc/program/launch.h"\n'
_TOLD = """{functions}
struct Told {{ const char* type; void (*call)(); }};
__attribute__((section("ophook_cube"), used)) const Told told[] = {{ {rows} }};
{kinds}
"""


def kind_of(vector: set[str], cube: set[str]) -> int:
    """Which cores a kernel runs on that does not say it: those for which something is left of it, and not only of the
    other kind's. Of each kind's object: what it calls of the runtime.
    """
    both = {name for name in vector | cube if _BOTH.fullmatch(name)}
    cubes = {name for name in vector | cube if _CUBE.fullmatch(name)}
    vectors = (vector | cube) - both - cubes
    on_vector = bool(vector) and (bool(vector & vectors) or not vector & cubes)
    on_cube = bool(cube) and (bool(cube & cubes) or not cube & vectors)
    return KINDS["MIX_AIC_1_2" if on_vector and on_cube else "AIC_ONLY" if on_cube else "AIV_ONLY"]


def by_instructions(text: str, made: Path, run: Callable[[Sequence[str], str], str], out: Path) -> None:
    """Make ``out`` of the object ``made``, whose kernels run on the cores that their instructions need. ``text`` is
    what was compiled, a section for each function; ``run`` as below.
    """
    failed = f"{out.name} cannot be made"
    undecided = _UNDECIDED.findall(text)
    kinds = _kinds(undecided, run(["objdump", "-rt", str(made)], failed)) if undecided else {}
    if not any(kinds.values()):  # vector cores, as where nothing is told
        shutil.move(made, out)
        return
    told = _compiled(_declared(kinds), made.parent, run, failed)
    run(["ld", "-r", str(made), str(told), "-o", str(out)], failed)


def _kinds(kernels: Sequence[str], listing: str) -> dict[str, int]:
    """Of each kernel, by the functions that it can get to."""
    sections: dict[str, str] = {name: section for section, name in _SYMBOL.findall(listing)}
    refers: dict[str, set[str]] = defaultdict(set)
    part = ""
    for line in listing.splitlines():
        if found := _PART.match(line):
            part = found[1]
        elif found := _REFERENCE.match(line):
            refers[part].add(sections.get(found[1], found[1]))
    kinds = {}
    for kernel in kernels:
        name = re.compile(rf"{kernel}|_Z(?:N(?!6ophook)\w*?)?{len(kernel)}{kernel}\w*")
        left = [section for one, section in sections.items() if name.fullmatch(one)]
        reached = set(left)
        while left:
            fresh = {one for one in refers[left.pop()] if one.startswith((".text.", "_Z"))} - reached
            reached |= fresh
            left += fresh
        kinds[kernel] = kind_by(*units(frozenset(found[1] for found in map(_CALLED.match, reached) if found)))
    return kinds


def _declared(kinds: dict[str, int]) -> str:
    return "\n".join(f'const ophook::program::Declared ophook_{k}("{k}", {kind});' for k, kind in kinds.items())


def _compiled(text: str, folder: Path, run: Callable[[Sequence[str], str], str], failed: str) -> Path:
    source, made = folder / "told.cpp", folder / "told.o"
    source.write_text(_LAUNCH + text)
    how = [build.STANDARD, "-fPIC", f"-I{build.ROOT.parent}", "-c", str(source), "-o", str(made)]
    run([*toolchain.kernel_compiler(), *how], failed)
    return made


def joined(vector: Path, cube: Path, run: Callable[[Sequence[str], str], str], out: Path) -> None:
    """Make ``out`` of the two objects, next to which their sources stand as ``.ii``. ``run`` runs a command, says what
    failed, and gives what was printed.
    """
    folder, failed = vector.parent, f"{out.name} cannot be made"
    lines = run(["nm", "--defined-only", "--format=posix", str(cube)], failed).splitlines()
    names = sorted({line.split()[0] for line in lines})
    calls = [found for found in map(_CALL.fullmatch, names) if found]
    (folder / "names").write_text("".join(f"{name} {name}{_END}\n" for name in names))
    (folder / "calls").write_text("".join(f"{call[0]}\n{call[0]}{_END}\n" for call in calls))
    told = [f"--redefine-syms={folder / 'names'}", f"--globalize-symbols={folder / 'calls'}"]
    # What the host's part of the source sets up at its start is set up once, by the other object.
    without = ["-R.init_array", "-R.init_array.*", "-R.rela.init_array", "-R.rela.init_array.*"]
    run(["objcopy", *told, *without, str(cube)], failed)

    kind = kind_of(
        *(set(_RUNTIME.findall(run(["nm", "--undefined-only", str(half)], failed))) for half in (vector, cube))
    )
    undecided = _UNDECIDED.findall(vector.with_suffix(".ii").read_text())
    text = _TOLD.format(
        functions="\n".join(f'extern "C" void call{i}() asm("{call[0]}{_END}");' for i, call in enumerate(calls)),
        rows=", ".join(f'{{"{call[1]}E", call{i}}}' for i, call in enumerate(calls)),
        kinds=_declared(dict.fromkeys(undecided, kind)),
    )
    made = _compiled(text, folder, run, failed)
    run(["ld", "-r", str(vector), str(cube), str(made), "-o", str(out)], failed)
