#!/usr/bin/env python3
"""Compile and run CANN's own example programs over the simulated Ascend; print how many end with 0, and why not.

usage: scripts/aclnn_examples.py TREE… [--product Ascend910B] [--match WORD] [--limit N]
       [--programs FOLDER] [--jobs 2] [--into docs/operator-examples.md]

Each TREE is a checkout of one of CANN's repositories of operators; those of its `examples/**/test_aclnn_*.cpp` are run
that are for the product: those of another are in a folder `arch35`, or call a function whose page says that the product
has it not. Files without a `main`, and those of operator projects (`examples/NAME/examples`), whose operator has to be
built and installed first, are left out and named. Nothing of them is kept but the programs, in FOLDER, for a second
run. A program counts if it compiles, links and ends with 0; what its results are worth, only its own checks say.
--into writes the part of a page about each TREE: how many, and of each that does not end with 0 why.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import marked

from ophook_npu import sim, toolchain
from ophook_npu.sim import rules, variables

SOCS = {"Ascend910B": "Ascend910B4", "Ascend910_93": "Ascend910_9392", "Ascend950": "Ascend950PR_9589"}
_FAMILIES = {"Ascend910B": "Atlas A2", "Ascend910_93": "Atlas A3", "Ascend950": "(?:Ascend 950|910_95)"}
_FIRST_PHASE = re.compile(r"\b(acl(?:nn)?[A-Z]\w*)GetWorkspaceSize\s*\(")
_MAIN = re.compile(r"\bmain\s*\(")
_LIBRARIES = ("-lopapi_nn", "-lopapi_math", "-lopapi_transformer", "-lhccl", "-lascendcl", "-lnnopbase", "-lpthread")


@dataclass(frozen=True)
class Outcome:
    program: Path
    cause: str = ""  # empty: it ended with 0
    detail: str = ""


def _without(page: Path, product: str) -> bool:
    """Whether the page of a function that the rules do not have says that the product has it not."""
    row = re.search(rf"^.*{_FAMILIES[product]}.*$", page.read_text(errors="replace"), re.MULTILINE)
    return row is not None and "×" in row[0]


def programs(tree: Path, product: str, left_out: list[Path]) -> Iterator[Path]:
    """The example programs that are for the product; to `left_out` go those that no toolkit could run."""
    table = rules.table()
    pages = {path.stem: path for path in tree.rglob("docs/aclnn*.md")}
    for path in sorted(tree.rglob("test_aclnn_*.cpp")):
        below = path.relative_to(tree).parts
        if "examples" not in below or "experimental" in below or ("arch35" in below) != (product == "Ascend950"):
            continue
        text = path.read_text(errors="replace")
        called = set(_FIRST_PHASE.findall(text))
        if any(product in table[name].absent for name in called & table.keys()):
            continue
        if any(_without(pages[name], product) for name in called - table.keys() & pages.keys()):
            continue
        if below.count("examples") > 1 or not _MAIN.search(text):
            left_out.append(path)
        else:
            yield path


def precompiled(root: Path, folder: Path) -> Path:
    """What all of them include, compiled once."""
    header = folder / "common.h"
    header.write_text(
        "#include <iostream>\n#include <vector>\n#include <memory>\n#include <cmath>\n#include <acl/acl.h>\n"
    )
    command = [
        *toolchain.compiler(),
        "-std=c++17",
        "-O0",
        "-w",
        "-x",
        "c++-header",
        str(header),
        f"-I{root / 'include'}",
    ]
    subprocess.run([*command, "-o", f"{header}.gch"], check=True, timeout=300)
    return header


@functools.cache
def _private_headers(program: Path) -> tuple[str, ...]:
    """Flags for a program that includes headers of its own tree: one of them lies where the tree's build looks."""
    if "op_host/" not in program.read_text(errors="replace"):
        return ()
    tree = next(folder for folder in program.parents if (folder / "build.sh").is_file())
    return tuple(f"-idirafter{path.parent}" for path in sorted(tree.rglob("aclnn_util.h")))


def build(program: Path, root: Path, header: Path, kept: Path) -> tuple[Path, Outcome | None]:
    """The compiled program, or why there is none. Programs that were kept are not compiled again."""
    target = kept / f"{program.stem}-{hashlib.sha256(program.read_bytes()).hexdigest()[:16]}"
    if target.exists():
        return target, None
    include = [f"-I{root / 'include'}", f"-I{root / 'include' / 'aclnnop'}", "-include", str(header)]
    command = [*toolchain.compiler(), "-std=c++17", "-O0", "-w", *include, str(program), f"-L{root / 'lib64'}"]
    command += [*_private_headers(program), *_LIBRARIES, f"-Wl,-rpath-link,{root / 'lib64'}", "-o", f"{target}.new"]
    built = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if built.returncode == 0:
        Path(f"{target}.new").rename(target)
        return target, None
    missing = sorted(set(re.findall(r"undefined reference to `(\w+?)(?:GetWorkspaceSize)?'", built.stderr)))
    if missing:
        return target, Outcome(program, "not simulated", " ".join(missing))
    error = re.search(r"error: .*", built.stderr)
    return target, Outcome(program, "does not compile", error[0] if error else built.stderr[-200:])


def compile_and_run(
    program: Path, root: Path, header: Path, kept: Path, environment: dict[str, str], seconds: int
) -> Outcome:
    target, failed = build(program, root, header, kept)
    if failed:
        return failed
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                [str(target)],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=seconds,
                env=environment,
                cwd=folder,
            )
        except subprocess.TimeoutExpired:
            return Outcome(program, "hangs", f"{seconds} s")
    if done.returncode == 0:
        return Outcome(program)
    said = re.findall(r"\[ERROR\] (.*)", done.stdout)
    cause = (
        f"ends by signal {-done.returncode}" if done.returncode < 0 else "refused" if said else "ends with a failure"
    )
    return Outcome(
        program, cause, said[0] if said else (done.stdout.strip().splitlines() or [done.stderr.strip()])[-1][:300]
    )


def report(outcomes: list[Outcome]) -> None:
    by_cause: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        by_cause[outcome.cause].append(outcome)
    passed = len(by_cause.pop("", []))
    print(f"{passed} of {len(outcomes)} programs end with 0 ({100 * passed / max(1, len(outcomes)):.1f} %)")
    for cause, those in sorted(by_cause.items(), key=lambda item: -len(item[1])):
        print(f"\n{cause}: {len(those)}")
        if cause == "not simulated":
            words = Counter(name for one in those for name in one.detail.split())
            print("  " + ", ".join(f"{name} {count}" for name, count in words.most_common()))
            continue
        for one in those:
            print(f"  {one.program.stem}: {one.detail}")


_OF_MEMORY = r".*?\b(?P<have>\d+) bytes(?: \(\d+ with those that CANN adds, \d+ with its pages\))? at "
_WHY = (
    (
        r"(?P<what>source|destination) \((?P<need>\d+) bytes\) has to be device memory: " + _OF_MEMORY,
        "copies {need} bytes; it took {have}",
    ),
    (
        r"(?P<what>\w+) \((?P<need>\d+) bytes\) is not in device memory as a whole: " + _OF_MEMORY,
        "`{what}` is {need} bytes; it took {have}",
    ),
)  # fmt: skip
_ADDRESS = re.compile(r"0x[0-9a-f]+")


def why(outcome: Outcome) -> str:
    """In one line, without what differs from run to run."""
    detail = outcome.detail.removeprefix("[simulated Ascend] ")
    for pattern, form in _WHY:
        if found := re.search(pattern, detail):
            return form.format(**found.groupdict())
    if outcome.cause == "not simulated":
        return f"calls {', '.join(f'`{name}`' for name in detail.split())}, not simulated"
    if outcome.cause == "does not compile":
        return f"does not compile: {detail.removeprefix('error: ')}"
    shown = _ADDRESS.sub("an address", detail) if outcome.cause == "refused" else f"{outcome.cause}: {detail}"
    return shown.replace("|", "\\|")


def part(tree: Path, product: str, outcomes: list[Outcome]) -> str:
    head = subprocess.run(["git", "-C", str(tree), "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    at = f" at {head.stdout[:8]}" if head.returncode == 0 else ""
    failed = [one for one in outcomes if one.cause]
    there = len(outcomes) - len(failed)
    lines = [
        f"{tree.resolve().name}{at}: {len(outcomes)} programs are for {product}, "
        f"{there} end with 0 ({100 * there / max(1, len(outcomes)):.1f} %).",
        "",
        "| program | why not |",
        "|---|---|",
        *(f"| `{one.program.stem.removeprefix('test_aclnn_')}` | {why(one)} |" for one in failed),
    ]
    return "\n".join(lines)


def write_parts(page: Path, options: argparse.Namespace, outcomes: list[Outcome]) -> None:
    for tree in options.trees:
        name = tree.resolve().name
        own = [one for one in outcomes if tree in one.program.parents]
        marked.replace(page, f"<!-- {name} -->", f"<!-- end of {name} -->", part(tree, options.product, own))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs="+", type=Path, metavar="TREE")
    parser.add_argument("--product", choices=SOCS, default="Ascend910B")
    parser.add_argument("--programs", type=Path, help="where the compiled programs are kept, for a second run")
    parser.add_argument("--match", default="", help="only programs with this in their names")
    parser.add_argument("--limit", type=int, default=0, help="every n-th, so that so many are left")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--into", type=Path, metavar="PAGE", help="write what became of each tree's programs")
    parser.add_argument("--timeout", type=int, default=120, help="seconds for a program")
    options = parser.parse_args()

    left_out: list[Path] = []
    found = [path for tree in options.trees for path in programs(tree, options.product, left_out)]
    chosen = [path for path in found if options.match in path.name]
    if options.limit:
        chosen = chosen[:: max(1, len(chosen) // options.limit)]
    root = sim.build()
    environment = dict(os.environ)
    # Programs that communicate between devices take up to sixteen of them.
    variables.apply(environment, variables.environment(root, soc=SOCS[options.product], devices=16, memory=4 << 30))
    environment |= {"ASCEND_SLOG_PRINT_TO_STDOUT": "1", "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        header, kept = precompiled(root, Path(folder)), options.programs or Path(folder)
        kept.mkdir(parents=True, exist_ok=True)
        outcomes = []
        for outcome in pool.map(
            lambda path: compile_and_run(path, root, header, kept, environment, options.timeout), chosen
        ):
            outcomes.append(outcome)
            if outcome.cause:
                print(f"{outcome.program.stem}: {outcome.cause}: {outcome.detail}", file=sys.stderr, flush=True)
        report(outcomes)
    if options.into:
        write_parts(options.into, options, outcomes)
    for path in left_out:
        print(f"left out: {path}")


if __name__ == "__main__":
    main()
