#!/usr/bin/env python3
"""Compile and run CANN's own first-phase tests over the simulated Ascend; compare each code with the one they expect.

usage: scripts/aclnn_phase1.py TREE… --out TABLE [--programs FOLDER] [--match WORD] [--jobs 2]

Each TREE is a checkout of one of CANN's repositories of operators; its unit tests, `test_aclnn_*.cpp` below
`ut/…/op_api`, are compiled against the stand-ins in `scripts/aclnn_phase1/` and Debian's `libgtest-dev`; each test runs
in a process of its own. Nothing of them is kept but the programs, in FOLDER, for a second run (empty it when the
stand-ins change). TABLE gets a line for each call: verdict, class of the expected code, product, function, expected
code, our code, test, message, arguments.

Verdicts: `right`; `refused`, `accepted` and `code` are ours; `untrue`: none of these, because the test contradicts
CANN's source (aclnn_phase1_contradictions.txt says how); `died`: the process did. Left out by rule, as these say
nothing of a device: `environment` (561xxx: no kernel package in the tests' environment), `product` (a product that is
not simulated), `absent` (a function that is not), `free` (no expectation, or one of "anything but this code").
"""

from __future__ import annotations

import argparse
import csv
import functools
import hashlib
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from aclnn_examples import SOCS

from ophook_npu import sim, toolchain
from ophook_npu.sim import variables

STAND_INS = Path(__file__).resolve().parent / "aclnn_phase1"
_CONTRADICTIONS = STAND_INS.with_name("aclnn_phase1_contradictions.txt")
_FLAGS = ("-std=c++17", "-O0", "-w", "-fpermissive")
_LIBRARIES = ("-lopapi", "-lascendcl", "-lnnopbase", "-lgtest", "-lpthread")
_OWN_INCLUDES = ("op_api_ut_common/", "opdev/", "platform/", "nlohmann/", "gmock/")  # answered by phase1.h
_SYSTEM = (Path("/usr/include"), Path("/usr/include") / (sysconfig.get_config_var("MULTIARCH") or ""))
_INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
_DECLARED = re.compile(r"\b(aclnn\w+)GetWorkspaceSize\s*\(")
_FUNCTION = re.compile(r"OP_API_UT\(\s*(\w+)")
CLASSES = {"0": "success", "161001": "null", "161002": "invalid"}
COLUMNS = ("verdict", "class", "product", "function", "expected", "code", "test", "message", "arguments")
LEFT_OUT = ("environment", "product", "absent", "free")


@functools.cache
def contradictions() -> dict[str, str]:
    """By test: how what it expects contradicts CANN's source."""
    lines = [line for line in _CONTRADICTIONS.read_text().splitlines() if not line.startswith("#")]
    return dict(line.split(" | ", 1) for line in lines)


@dataclass
class Call:
    """A first phase that a test asked for, and what became of it."""

    test: str
    function: str
    product: str
    expected: str = ""  # a code; empty: none
    code: str = ""  # empty: not made, since another product was asked for; "died": the process ended in it
    arguments: str = ""
    message: str = ""

    @property
    def verdict(self) -> str:
        if self.product not in SOCS:
            return "product"
        if self.code == "-1":
            return "absent"
        if not self.expected or self.expected.startswith("not"):
            return "free"
        if self.expected not in CLASSES:
            return "environment"
        if self.code == self.expected:
            return "right"
        if self.code.startswith("died"):
            return "died"
        if self.test in contradictions():
            return "untrue"
        return "refused" if self.expected == "0" else "accepted" if self.code == "0" else "code"


def tests(trees: list[Path]) -> Iterator[tuple[Path, Path]]:
    for tree in trees:
        for path in sorted(tree.rglob("test_aclnn_*.cpp")):
            below = path.relative_to(tree).parts
            if "ut" in below and "op_api" in below and "experimental" not in below:
                yield tree, path


def precompiled(root: Path, folder: Path) -> None:
    """What every test stands on, compiled once: the header, and the program's own part."""
    for path in STAND_INS.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / "empty").mkdir()
    (folder / "empty" / "aclnn_util.h").write_text("#pragma once\n#define ACLNN_API\n")
    base = [*toolchain.compiler(), *_FLAGS, f"-I{root / 'include'}"]
    header, source = folder / "phase1.h", folder / "phase1.cpp"
    subprocess.run([*base, "-x", "c++-header", str(header), "-o", f"{header}.gch"], check=True, timeout=300)
    subprocess.run([*base, "-c", str(source), "-o", str(source.with_suffix(".o"))], check=True, timeout=300)


@functools.cache
def declaring(root: Path, tree: Path) -> dict[str, str]:
    """The header of each function, as it can be included: the toolkit's, or else the tree's."""
    found: dict[str, str] = {}
    for folder in (root / "include", tree):
        for header in sorted(folder.rglob("aclnn*.h")):
            name = str(header.relative_to(folder) if folder != tree else header.resolve())
            if "experimental" not in header.parts:
                for call in _DECLARED.findall(header.read_text(errors="replace")):
                    found.setdefault(call, name)
    return found


@functools.cache
def headers_of(tree: Path) -> dict[str, list[Path]]:
    """The headers of a tree by their names without folders."""
    found: dict[str, list[Path]] = {}
    for header in sorted(tree.rglob("*.h")):
        if "experimental" not in header.relative_to(tree).parts:
            found.setdefault(header.name, []).append(header.resolve())
    return found


def header(name: str, path: Path, tree: Path) -> Path | None:
    """What an #include in a file of the tree means: beside it, below the tree, or where only their build looks."""
    there = next((one.resolve() for one in (path.parent / name, tree / name) if one.is_file()), None)
    if there:
        return there
    wanted = re.sub(r"^(?:\.\./)+", "", name)
    found = [one for one in headers_of(tree).get(Path(name).name, []) if str(one).endswith(f"/{wanted}")]
    return max(found, key=lambda one: len(os.path.commonpath([one, path.resolve()])), default=None)


@dataclass
class Reached:
    """The tree's headers that a test includes, all that these include, and the folders where a compiler finds them."""

    own: dict[Path, None]
    every: dict[Path, None]
    folders: dict[str, None]


def reached(path: Path, tree: Path, root: Path, folder: Path) -> Reached:
    """What a test's #includes mean. A header that neither the tree nor the toolkit has is an empty one."""
    result = Reached({}, {}, {})
    left = [path]
    while left:
        file = left.pop(0)
        for name in _INCLUDE.findall(file.read_text(errors="replace")):
            own = name.startswith(_OWN_INCLUDES)
            if not own and any((one / name).is_file() for one in (root / "include", *_SYSTEM)):
                continue
            found = None if own else header(name, file, tree)
            if found:
                if not (file.parent / name).is_file() and str(found).endswith(f"/{name}"):
                    result.folders[str(found).removesuffix(f"/{name}")] = None
                if file == path:
                    result.own[found] = None
                left += [found] if found not in result.every else []
                result.every[found] = None
            elif name.startswith((*_OWN_INCLUDES, "aclnn")) or "/" in name:
                stand_in = folder / "empty" / name.replace("../", "")
                stand_in.parent.mkdir(parents=True, exist_ok=True)
                stand_in.touch()
    return result


def wrapper(tree: Path, path: Path, folder: Path, root: Path) -> tuple[str, list[str]]:
    """A test behind all that it includes, and the folders to look for headers in: in the test alone statuses are
    tracked, and the first phases that it calls by themselves are logged."""
    text = path.read_text(errors="replace")
    found, known = reached(path, tree, root, folder), declaring(root, tree)
    headers = dict.fromkeys(map(str, found.own))
    declared = {call for one in found.every for call in _DECLARED.findall(one.read_text(errors="replace"))}
    functions = sorted({*_FUNCTION.findall(text), *_DECLARED.findall(text)})
    headers |= {known[name]: None for name in functions if name not in declared and name in known}
    lines = [f'#include "{one}"' for one in headers]
    for name in functions:
        lines.append(f"#pragma weak {name}GetWorkspaceSize")
        if not re.search(rf"aclnnStatus\s+{name}GetWorkspaceSize\s*\(", text):
            lines.append(f"#define {name}GetWorkspaceSize(...) PHASE1_DIRECT({name}, __VA_ARGS__)")
            lines.append(f"#define {name}(...) ::phase1::Status()")
    text = re.sub(r'^[ \t]*#[ \t]*include[ \t]*"[^"]+"', "", text, flags=re.MULTILINE)
    lines += ["#define aclnnStatus ::phase1::Status", f'#line 1 "{path.resolve()}"', text]
    return "\n".join(lines), list(found.folders)


def program(tree: Path, path: Path, root: Path, folder: Path, kept: Path) -> tuple[Path | None, str]:
    """The compiled test, or the compiler's first error."""
    text, folders = wrapper(tree, path, folder, root)
    stamp = hashlib.sha256(text.encode())
    target = kept / f"{path.stem}-{stamp.hexdigest()[:16]}"
    failed = target.with_suffix(".error")
    if failed.exists():
        return None, failed.read_text()
    if not target.exists():
        source = folder / f"{target.name}.cpp"
        source.write_text(text)
        command = [*toolchain.compiler(), *_FLAGS, "-include", str(folder / "phase1.h")]
        command += [f"-I{root / 'include'}", f"-I{folder / 'empty'}", f"-I{tree}", f"-iquote{path.parent}"]
        command += [f"-I{one}" for one in folders]
        command += [str(source), str(folder / "phase1.o"), f"-L{root / 'lib64'}", *_LIBRARIES]
        command += [f"-Wl,-rpath-link,{root / 'lib64'}", "-o", f"{target}.new"]
        built = subprocess.run(command, capture_output=True, text=True, timeout=600)
        if built.returncode:
            error = re.search(r"(?:error: |undefined reference).*", built.stderr)
            failed.write_text(error[0] if error else built.stderr[-300:])
            return None, failed.read_text()
        Path(f"{target}.new").rename(target)
    return target, ""


def read_log(path: Path, file: str) -> list[Call]:
    calls: list[Call] = []
    test, open_call = "", None
    of_test: dict[str, Call] = {}
    for line in path.read_text(errors="replace").splitlines():
        event, *fields = line.split("\t")
        if event == "test":
            test, of_test, open_call = fields[0], {}, None
        elif event == "begin":
            open_call = of_test[fields[0]] = Call(f"{file}:{test}", fields[1], fields[2])
            calls.append(open_call)
        elif event == "end":
            call = of_test[fields[0]]
            call.code = fields[2] if fields[1] == "1" else ""
            call.arguments, call.message, open_call = fields[3], fields[4], None
        elif event == "expect" and fields[0] in of_test:
            call = of_test[fields[0]]
            call.expected = call.expected or (fields[2] if fields[1] == "==" else f"not {fields[2]}")
        elif event == "died" and open_call:
            open_call.code = f"died {fields[0]}"
    return calls


def run(target: Path, path: Path, environments: dict[str, dict[str, str]]) -> list[Call]:
    """The calls of all tests of the program, each made by a process of the product that it asks for."""
    merged: list[Call] = []
    products = ["Ascend910B"]
    for product in products:
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "log"
            subprocess.run([str(target), str(log), product], env=environments[product], cwd=folder, timeout=1200)
            calls = read_log(log, path.stem) if log.exists() else []
        if not merged:
            merged = calls
            products += [one for one in SOCS if one not in products and any(call.product == one for call in calls)]
            continue
        if [c.function for c in calls] == [c.function for c in merged]:
            merged = [new if new.product == product else old for old, new in zip(merged, calls, strict=True)]
        else:  # a death on one product cuts its test short there
            merged = [c for c in merged if c.product != product] + [c for c in calls if c.product == product]
    return merged


def died_expectations(calls: list[Call], text: str) -> None:
    """What a call was to give in which the process ended: the last code that stands in the test."""
    for call in calls:
        if call.code.startswith("died") and not call.expected:
            name = call.test.partition(".")[2].split("/")[0]
            body = re.search(rf",\s*{re.escape(name)}\s*\)(.*?)^}}", text, re.DOTALL | re.MULTILINE)
            codes = re.findall(r"\b(ACL_SUCCESS|ACLNN_SUCCESS|ACLNN_ERR_\w+)", body[1]) if body else []
            known = {"ACLNN_ERR_PARAM_NULLPTR": "161001", "ACLNN_ERR_PARAM_INVALID": "161002"}
            if codes:
                call.expected = known.get(codes[-1], "0" if codes[-1].endswith("SUCCESS") else "561000")


def summary(calls: list[Call], not_compiled: dict[str, str], files: int) -> str:
    counted = [call for call in calls if call.verdict not in LEFT_OUT]
    lines = ["| expected | calls | as expected | |", "|---|---:|---:|---:|"]
    for name in [*CLASSES.values(), "all"]:
        those = [call for call in counted if name in (CLASSES[call.expected], "all")]
        right = sum(call.verdict == "right" for call in those)
        lines.append(f"| {name} | {len(those)} | {right} | {100 * right / max(1, len(those)):.1f} % |")
    verdicts = Counter(call.verdict for call in calls)
    lines += ["", ", ".join(f"{name} {count}" for name, count in verdicts.most_common())]
    lines.append(f"{files} files, {len(not_compiled)} of them do not compile against the stand-ins")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs="+", type=Path, metavar="TREE")
    parser.add_argument("--out", type=Path, required=True, help="the table, separated by tabs")
    parser.add_argument("--programs", type=Path, help="where the compiled tests are kept, for a second run")
    parser.add_argument("--match", default="", help="only files whose path has this in it")
    parser.add_argument("--limit", type=int, default=0, help="every n-th, so that so many are left")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()

    found = [pair for pair in tests(options.trees) if re.search(options.match, str(pair[1]))]
    if options.limit:
        found = found[:: max(1, len(found) // options.limit)]
    root = sim.build()
    environments = {}
    for product, soc in SOCS.items():
        environments[product] = dict(os.environ)
        variables.apply(environments[product], variables.environment(root, soc=soc))
        environments[product] |= {"OMP_NUM_THREADS": "1"}
    not_compiled: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(options.jobs) as pool:
        folder, kept = Path(scratch), options.programs or Path(scratch)
        kept.mkdir(parents=True, exist_ok=True)
        precompiled(root, folder)

        def one(pair: tuple[Path, Path]) -> list[Call]:
            tree, path = pair
            target, error = program(tree, path, root, folder, kept)
            if target is None:
                not_compiled[path.stem] = error
                return []
            calls = run(target, path, environments)
            died_expectations(calls, path.read_text(errors="replace"))
            return calls

        calls = [call for some in pool.map(one, found) for call in some]
    with options.out.open("w", newline="") as file:
        table = csv.writer(file, delimiter="\t", lineterminator="\n", quoting=csv.QUOTE_NONE, quotechar=None)
        table.writerow(COLUMNS)
        for c in sorted(calls, key=lambda c: (c.verdict, c.function, c.product)):
            table.writerow([c.verdict, CLASSES.get(c.expected, ""), *(getattr(c, name) for name in COLUMNS[2:])])
    for name, error in sorted(not_compiled.items()):
        print(f"does not compile: {name}: {error[:200]}")
    print(summary(calls, not_compiled, len(found)))


if __name__ == "__main__":
    main()
