"""Compile and run the unit tests of kernels in CANN's operator repositories, unmodified, on the simulated CPU twin.

    python scripts/kernel_unit_tests.py CHECKOUT                    # of ops-math, ops-nn, ops-cv or ops-transformer
    python scripts/kernel_unit_tests.py CHECKOUT --only activation  # tests whose path has it
    python scripts/kernel_unit_tests.py CHECKOUT --opbase OPBASE --log LOG \\
        --name "ops-nn at COMMIT" --table docs/kernel-unit-tests.md

Such a test is a program of googletest that calls the kernel as a function (ICPU_RUN_KF). The repositories' own build
wants all of CANN; here each test is one program: its source, the kernel's, and the options and the processor that its
CMakeLists.txt gives. What their build reads from a library of tilings, the structures and GET_TILING_DATA, is read from
the text of op_host. Many kernels include headers of another of CANN's repositories, opbase. Needs googletest. Tests run
in CHECKOUT/build/tests/ut/op_kernel, from where they look for data. Nothing of a checkout is in our repository. With
--log, what has a result there is not run again.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import processes

from ophook_npu import sim, toolchain
from ophook_npu.kernel import build
from ophook_npu.kernel.socs import find
from ophook_npu.plural import counted
from ophook_npu.sim import program, twin
from ophook_npu.sim.variables import apply, environment

_OPBASE = ("include/op_common", "include", "include/op_common/op_host", "pkg_inc/op_common", "pkg_inc")
_CASE = re.compile(r"^\s*AddOpTestCase\s*\(\s*(\w+)\s+\"([^\"]*)\"(?:\s+\"([^\"]*)\")?", re.MULTILINE)
_STRUCTURE = re.compile(r"BEGIN_TILING_DATA_DEF\s*\(\s*(\w+)\s*\)(.*?)END_TILING_DATA_DEF", re.DOTALL)
_FIELD = re.compile(r"TILING_DATA_FIELD_DEF(_ARR|_STRUCT)?\s*\(([^()]*)\)")
_REGISTERED = re.compile(r"REGISTER_TILING_DATA_CLASS\s*\(\s*(\w+)\s*,\s*(\w+)\s*\)")
_NUMBER = re.compile(r"(?:\bconst\w*\s[\w:\s]*?|#define\s+)(\w+)(?:\s*=\s*|\s+)(\d+)\b")
_WRONG = re.compile(r"\[simulated Ascend\] the kernel .*? has errors:\n(.*?)(?:\n\[|\Z)", re.DOTALL)


@dataclass
class Test:
    path: str  # below the checkout
    operator: str
    soc: str
    options: list[str]


@dataclass
class Result:
    path: str
    what: str
    """passes; findings (it passes, and the kernel has errors); fails; stops; does not compile; no kernel."""
    why: str = ""


def tests(checkout: Path) -> Iterator[Test]:
    for source in sorted(checkout.glob("**/tests/ut/op_kernel/**/*.cpp")):
        if "ICPU_RUN_KF" not in source.read_text(errors="replace"):
            continue
        folder = source.parent
        while not (listed := folder / "CMakeLists.txt").is_file() and folder.name != "ut":
            folder = folder.parent
        found = _CASE.findall(listed.read_text(errors="replace")) if listed.is_file() else []
        if found:
            operator, socs, options = found[0]
            path = str(source.relative_to(checkout))
            options = options.replace("${CMAKE_CURRENT_SOURCE_DIR}", str(listed.parent))
            yield Test(path, operator, re.split(r"[;,\s]", socs)[0], options.split())


@functools.cache
def structures(checkout: Path) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """Of all host sides: the body of each structure, which one an operator registers (in small letters), constants."""
    bodies: dict[str, str] = {}
    numbers: dict[str, str] = {}
    registered: dict[str, str] = {}
    for one in sorted(checkout.glob("**/op_host/**/*")):
        if one.suffix in (".h", ".cpp"):
            text = one.read_text(errors="replace")
            bodies |= dict(_STRUCTURE.findall(text))
            numbers |= dict(_NUMBER.findall(text))
            for operator, name in _REGISTERED.findall(text):
                registered.setdefault(re.sub(r"_\d+$", "", operator).lower(), name)
    return bodies, registered, numbers


def tilings(checkout: Path, test: Test, sources: Sequence[Path], without: set[str]) -> str:
    """The structures that these sources name and the host side registers, as kernels read them."""
    bodies, registered, numbers = structures(checkout)
    text = "\n".join(one.read_text(errors="replace") for one in sources)
    first = registered.get(test.operator.replace("_", ""))
    wanted = set(re.findall(r"\w+", text)) & bodies.keys() | ({first} & bodies.keys() if first else set())
    made: dict[str, str] = {}
    constants: set[str] = set()

    def add(name: str) -> None:
        if name in made or name in without or name not in bodies:
            return
        fields = []
        for kind, parameters in _FIELD.findall(bodies[name]):
            parts = [part.strip() for part in parameters.split(",")]
            if kind == "_STRUCT":
                add(parts[0])
            if kind == "_ARR" and not parts[1].isdigit():
                parts[1] = re.sub(r"\w+::", "", parts[1])
                constants.update(one for one in re.findall(r"[A-Za-z_]\w*", parts[1]) if one in numbers)
            fields.append(f"{parts[0]} {parts[2]}[{parts[1]}];" if kind == "_ARR" else f"{parts[0]} {parts[1]};")
        made[name] = f"struct {name} {{ {' '.join(fields)} }};"

    for name in sorted(wanted):
        add(name)
    lines = [
        "#include <cstdint>",
        '#include "kernel_tiling/kernel_tiling.h"',
        *(f"constexpr int ophook_{one} = {numbers[one]};\n#define {one} ophook_{one}" for one in constants),
        *made.values(),
        *(f"#undef {one}" for one in constants),
    ]
    if first in made:
        lines.append(f"using OphookDefaultTiling = {first};")  # what GET_TILING_DATA reads
    return "\n".join(lines) + "\n"


def staged(checkout: Path, folder: Path) -> Path:
    """Each operator's kernels in a folder of its name, as the repository's build has them: they include each other."""
    for kernels in checkout.glob("*/**/op_kernel"):
        place = place_of(checkout, kernels.parent, folder)
        if kernels.is_dir() and "/tests/" not in f"{kernels}/" and not place.exists():
            shutil.copytree(kernels, place)
    return folder


def place_of(checkout: Path, operator: Path, stage: Path) -> Path:
    """Experimental operators may have another one's name."""
    return stage / ("experimental" if "experimental" in operator.relative_to(checkout).parts else ".") / operator.name


def kernel_of(checkout: Path, test: Test) -> tuple[Path, list[Path]]:
    """The operator's folder, and the kernel's source where the test does not include it itself."""
    source = checkout / test.path
    operator = checkout / test.path.partition("/tests/ut/")[0]
    if re.search(r'#include\s+"[^"]*op_kernel/[^"]*\.cpp"', source.read_text(errors="replace")):
        return operator, []
    stem = source.stem.removeprefix("test_")
    for name in (stem, test.operator, f"{test.operator}_apt"):
        # Those of newer processors are in folders of their own.
        if found := sorted(operator.glob(f"op_kernel/**/{name}.cpp"), key=lambda one: (len(one.parts), one)):
            return operator, found[:1]
    return operator, []


def objects(sources: Sequence[Path], how: Sequence[str], told: Path, folder: Path) -> list[str] | str:
    """What became of the sources, ``told`` included before them: objects, or the first error."""
    made = []
    for number, one in enumerate(sources):
        out = folder / f"{number}.o"
        command = [*toolchain.compiler(), *how, "-include", "cstring", "-include", str(told)]
        done = toolchain.run([*command, "-c", str(one), "-o", str(out)])
        if done.returncode:
            return next((line for line in done.stderr.splitlines() if "error" in line), done.stderr[:200])
        made.append(str(out))
    return made


def headers(checkout: Path, test: Test, operator: Path, folder: Path) -> Iterator[Path]:
    """What to include before the sources: the test's own header of tilings, else ours, without and with structures that
    some header of the kernel's has, too.
    """
    source = checkout / test.path
    foreach = checkout / "foreach/foreach_abs/tests/ut/op_kernel/foreach_abs_tiling_def.h"
    told = foreach if "/foreach/" in f"/{test.path}" else source.parent / f"{test.operator}_tiling_def.h"
    if told.is_file():
        yield told
        return
    texts = [one for one in operator.glob("op_kernel/**/*") if one.suffix in (".h", ".cpp")]
    texts += [source, *source.parent.glob("*.h")]
    there = set(re.findall(r"\bstruct\s+(\w+)\s*\{", "\n".join(one.read_text(errors="replace") for one in texts)))
    for number, without in enumerate([there, set[str]()] if there else [there]):
        told = folder / f"tiling{number}.h"
        told.write_text(tilings(checkout, test, texts, without))
        yield told


def compiled(checkout: Path, test: Test, folder: Path, root: Path, stage: Path, more: Sequence[Path]) -> Path | Result:
    targets = twin.names()
    if test.soc not in targets:
        return Result(test.path, "does not compile", f"no processor {test.soc}")
    operator, kernels = kernel_of(checkout, test)
    source = checkout / test.path
    place = place_of(checkout, operator, stage)
    sources = [source, *(place / one.relative_to(operator / "op_kernel") for one in kernels)]
    places = [checkout / one for one in ("tests/ut/op_kernel", "tests/ut/common", "common/inc", "")]
    places += [one.parent for one in checkout.glob("tests/ut/*/op_kernel/data_utils.h")]
    # What other sources of the tests stand beside a header that it, or one beside it, includes.
    text = "".join(one.read_text(errors="replace") for one in (source, *source.parent.glob("*.h")))
    for header in sorted(set(re.findall(r'#include\s+"(\w+)\.h"', text))):
        sources += [helper for one in places if (helper := one / f"{header}.cpp").is_file()][:1]
    soc = find(targets[test.soc])
    how = [build.ALIASING, *twin.options(soc), "-O0", "-w", "-DKERNELUT=1", f'-DUT_SOC_VERSION="{test.soc}"']
    how += [*(f"-D{one}" for one in twin.macros(soc)), *test.options]
    how += [f"-isystem{one}" for one in program.folders(root)]
    how += [f"-I{one}" for one in (*more, *places, place, place.parent)]
    made: list[str] | str = ""
    for told in headers(checkout, test, operator, folder):
        tried = objects(sources, how, told, folder)
        made = tried if isinstance(tried, list) else made or tried  # the first one's error says most
        if isinstance(made, list):
            break
    if isinstance(made, str):
        return Result(test.path, "does not compile", made.replace(f"{checkout}/", "")[:300])
    out = folder / "test"
    linked = [*made, *map(str, program.launchers(twin=True)), *program.linked(root), "-lgtest_main", "-lgtest"]
    done = toolchain.run([*toolchain.compiler(), *linked, "-o", str(out)])
    if done.returncode:
        missing = re.search(r"undefined reference to `([^'(]*)", done.stderr)
        why = f"nothing defines {missing[1]}" if missing else done.stderr[-200:]
        return Result(test.path, "no kernel" if missing else "does not compile", why)
    return out


def run(checkout: Path, test: Test, root: Path, stage: Path, more: Sequence[Path], timeout: float) -> Result:
    with tempfile.TemporaryDirectory() as name:
        made = compiled(checkout, test, Path(name), root, stage, more)
        if isinstance(made, Result):
            return made
        environ = dict(os.environ)
        apply(environ, environment(root))
        place = checkout / "build" / "tests" / "ut" / "op_kernel"
        place.mkdir(parents=True, exist_ok=True)
        status, output = processes.finished([str(made)], place, environ, timeout)
    if status is None:
        return Result(test.path, "stops", f"not over in {timeout:.0f} s")
    wrong = _WRONG.search(output)
    found = wrong[1].splitlines()[0][:300] if wrong else ""
    failed = re.search(r"(\S+: Failure\n.*(?:\n.*)?)", output)
    if "[  FAILED  ]" in output:
        return Result(test.path, "fails", found or (failed[1].replace("\n", " ")[:300] if failed else ""))
    if status < 0 or "[  PASSED  ]" not in output:
        return Result(test.path, "stops", found or f"status {status}: {output.strip()[-200:]}")
    if "Running 0 tests" in output:
        return Result(test.path, "no kernel", "its source has no test")
    return Result(test.path, "findings" if found else "passes", found)


_ORDER = ("passes", "findings", "fails", "stops", "does not compile", "no kernel")


def table(results: Sequence[Result], name: str) -> str:
    """A repository's section of the page."""
    by = Counter(one.what for one in results)
    lines = [
        f"## {name}",
        "",
        f"{counted(len(results), 'test')}: {', '.join(f'{by[what]} {what}' for what in _ORDER if by[what])}.",
    ]
    lines += ["", "| test | what | why |", "|---|---|---|"]
    for one in sorted(results, key=lambda one: (_ORDER.index(one.what), one.path)):
        if one.what in ("findings", "fails", "stops"):
            lines.append(f"| `{re.sub('/tests/ut/op_kernel/.*', '', one.path)}` | {one.what} | {shown(one.why)} |")
    reasons = Counter(shown(one.why) for one in results if one.what in ("does not compile", "no kernel"))
    lines += ["", "| tests that are not there to run | why |", "|---|---|"]
    lines += [f"| {number} | {why} |" for why, number in sorted(reasons.items(), key=lambda row: (-row[1], row[0]))]
    return "\n".join(lines) + "\n"


def shown(why: str) -> str:
    """A message without the folders of the machine that it came from."""
    why = re.sub(r"^.*?(?:fatal )?error: ", "", why.replace("‘", "").replace("’", ""))
    return re.sub(r"/\S*/", "", why)[:120].replace("|", "/").strip() or "–"


def write(page: Path, section: str) -> None:
    """Put a repository's section into the page, in the place of the one that is there."""
    head, *sections = re.split(r"(?m)^(?=## )", page.read_text(encoding="utf-8"))
    named = section.partition(" at ")[0]
    kept = [one for one in sections if one.partition(" at ")[0] != named]
    page.write_text(
        "".join([head, *sorted([*(f"{one.rstrip()}\n\n" for one in kept), f"{section}\n"])]).rstrip() + "\n"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--opbase", type=Path, help="a checkout of opbase, whose headers kernels include")
    parser.add_argument("--only", default="", help="a regular expression for paths")
    parser.add_argument("--soc", default="", help="a regular expression for the processors that tests are for")
    parser.add_argument("--log", type=Path, help="results, one line of JSON each")
    parser.add_argument("--table", type=Path, help="a page with a section for each repository")
    parser.add_argument("--name", default="", help="of the repository, and its commit, for the table")
    parser.add_argument("--timeout", type=float, default=120.0)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    checkout = arguments.checkout.resolve()
    known: dict[str, Result] = {}
    if arguments.log and arguments.log.is_file():
        known = {row["path"]: Result(**row) for row in map(json.loads, arguments.log.read_text().splitlines())}
    root = sim.active() or sim.build()
    program.launchers(twin=True), program.linked(root)
    base = arguments.opbase.resolve() if arguments.opbase else None
    more = [base / place for place in _OPBASE] if base else []
    chosen = [
        one for one in tests(checkout) if re.search(arguments.only, one.path) and re.search(arguments.soc, one.soc)
    ]

    def result(test: Test) -> Result:
        if test.path in known:
            return known[test.path]
        made = run(checkout, test, root, stage, more, arguments.timeout)
        print(f"{made.what:16} {made.path}  {made.why}", flush=True)
        if arguments.log:
            with arguments.log.open("a") as log:
                log.write(json.dumps(asdict(made)) + "\n")
        return made

    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(arguments.jobs) as pool:
        stage = staged(checkout, Path(name))
        results = list(pool.map(result, chosen))
    for what, number in Counter(one.what for one in results).most_common():
        print(f"{what}: {number}")
    print(counted(len(results), "test"))
    if arguments.table:
        write(arguments.table, table(results, arguments.name or checkout.name))
    return int(any(one.what != "passes" for one in results))


if __name__ == "__main__":
    raise SystemExit(main())
