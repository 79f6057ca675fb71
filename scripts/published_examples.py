"""Build and run the vendor's Ascend C examples for Atlas A2, unmodified, as their README says, and see what they say.

    python scripts/published_examples.py CHECKOUT                         # a checkout of asc-devkit
    python scripts/published_examples.py CHECKOUT --only math --log LOG   # some; what each printed goes into LOG
    python scripts/published_examples.py CHECKOUT --table docs/published-examples.md

An example is a folder with a CMakeLists.txt whose README lists an Atlas A2. It is copied, and the first block of its
README that calls cmake runs in a shell on the simulated Ascend: build, input data, program, comparison with the golden
data.
Nothing of the checkout is in our repository. Exit status: 0 all equal, 1 some are not.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import marked

from ophook_npu import sim
from ophook_npu.kernel.findings import KernelReport
from ophook_npu.npu import autoload
from ophook_npu.sim.variables import apply, environment

PARTS = ("01_simd_cpp_api", "02_simd_c_api")  # SIMT and hybrid programs are Ascend950's; AI CPU is not simulated
STATES = ("equal", "ran", "differs", "stopped", "build", "no block")
_PASSED = re.compile(r"test pass|\[Success\]|success|\bPASS\b|passed", re.IGNORECASE)
_FAILED = re.compile(r"\bfail|\[ERROR\]|mismatch|not equal", re.IGNORECASE)
# Where the first line of a failure is; g++'s and ours.
_ERRORS = (re.compile(r"error: (.+)"), re.compile(r"Error: (.+)"), re.compile(r"ERROR: (.+)"))


@dataclass
class Result:
    """What became of one example: equal, ran (it compares nothing), differs, stopped, build or no block."""

    name: str
    state: str
    why: str = ""
    findings: dict[str, int] = field(default_factory=dict)
    log: str = ""


def examples(checkout: Path) -> list[Path]:
    root = checkout / "examples"
    return [
        file.parent
        for part in PARTS
        for file in sorted((root / part).rglob("CMakeLists.txt"))
        if re.search(r"^\|.*Atlas A2", _readme(file.parent), re.MULTILINE)
    ]


def _readme(folder: Path) -> str:
    for name in ("README_en.md", "README.md"):
        if (folder / name).is_file():
            return (folder / name).read_text(errors="replace")
    return ""


def block(readme: str) -> str:
    """The first block of code that calls cmake, else the first one that calls bash."""
    found: list[str] = []
    inside: list[str] | None = None
    for line in map(str.strip, readme.splitlines()):
        if not line.startswith("```"):
            if inside is not None:
                inside.append(line)
        elif inside is None:
            inside = []
        else:
            found.append("\n".join(inside))
            inside = None
    named = [text for text in found if re.search(r"^cmake |; *cmake ", text, re.MULTILINE)]
    named = named or [text for text in found if text.startswith("bash ")]
    return named[0] if named else ""


def run(folder: Path, root: Path, timeout: float) -> Result:
    name = _name(folder)
    script = block(_readme(folder))
    if not script:
        return Result(name, "no block", "its README has no block that builds it")
    # One compiler at a time: several examples are built at once.
    script = re.sub(r"\bmake -j\b", "make", script)
    with tempfile.TemporaryDirectory() as temporary:
        place, told = Path(temporary) / folder.name, Path(temporary) / "reports"
        shutil.copytree(folder, place)
        environ = dict(os.environ)
        autoload.unsettle(environ)
        apply(environ, environment(root))
        environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environ['PATH']}"
        environ["OPHOOK_KERNEL_REPORT"] = str(told)
        command = ["bash", "-e", "-o", "pipefail", "-c", script]
        try:
            started = subprocess.Popen(
                command, cwd=place, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL, text=True, errors="replace", start_new_session=True,
            )  # fmt: skip
            said, _ = started.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, signal.SIGKILL)
            said, _ = started.communicate()
            return Result(name, "stopped", f"not over in {timeout:.0f} s", log=said)
        findings: Counter[str] = Counter()
        if told.exists():
            for line in told.read_text(errors="replace").splitlines():
                row = json.loads(line)
                for found in KernelReport.parse(json.dumps(row["report"]), row["blocks"], 0).findings:
                    findings[f"{found.severity} {found.kind} ({Path(found.file).name}:{found.line})"] += 1
                    said += f"\n{found}"
    built = re.search(r"\[100%\]|Built target", said) is not None
    if started.returncode and not built:
        return Result(name, "build", _reason(said), dict(findings), said)
    if any(kind.startswith("error") for kind in findings):
        return Result(name, "differs", _reason(said), dict(findings), said)
    if started.returncode or _FAILED.search(_after_build(said)):
        return Result(name, "differs", _reason(_after_build(said)), dict(findings), said)
    state = "equal" if _PASSED.search(_after_build(said)) else "ran"
    return Result(name, state, "", dict(findings), said)


def _kept(log: Path, results: list[Result], folders: list[Path]) -> list[Result]:
    """Those of this run, and of earlier ones, in the order of the checkout."""
    by_name = {result.name: result for result in results}
    for folder in folders:
        name = _name(folder)
        file = log / f"{name.replace('/', '.')}.json"
        if name not in by_name and file.is_file():
            row = json.loads(file.read_text())
            by_name[name] = Result(**row)
    return [by_name[name] for name in map(_name, folders) if name in by_name]


def _name(folder: Path) -> str:
    return "/".join(folder.parts[folder.parts.index("examples") + 1 :])


def _after_build(said: str) -> str:
    return said[said.rfind("Built target") :] if "Built target" in said else said


def _reason(said: str) -> str:
    for pattern in _ERRORS:
        if found := pattern.search(said):
            return found[1][:160]
    lines = [line for line in said.splitlines() if line.strip()]
    failed = [line for line in lines if _FAILED.search(line)]
    return (failed or lines or [""])[-1][:160]


def write(page: Path, results: list[Result], commit: str) -> None:
    states = Counter(result.state for result in results)
    head = [
        f"asc-devkit at `{commit}`: {len(results)} examples; "
        + ", ".join(f"{states[state]} {state}" for state in STATES if states[state])
        + ".",
        "",
        "| example | result | why | findings |",
        "|---|---|---|---|",
    ]
    rows = []
    for result in results:
        more = len(result.findings) - 4
        shown = ", ".join(list(result.findings)[:4]) + (f" and {more} more" if more > 0 else "")
        why = re.sub(r"/\S*/tmp\w+/", "", result.why).replace("|", "\\|").replace("`", "'")
        rows.append(f"| `{result.name}` | {result.state} | {why or '–'} | {shown or '–'} |")
    try:
        marked.replace(page, "<!-- examples -->", "<!-- end of examples -->", "\n".join([*head, *rows]))
    except marked.NoMarks as error:
        sys.exit(str(error))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path, help="a git checkout of asc-devkit")
    parser.add_argument("--only", default="", help="examples whose folder matches this expression")
    parser.add_argument("--jobs", type=int, default=2, help="examples at once")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for one example, its build included")
    parser.add_argument("--log", type=Path, help="a folder that keeps results; what --only leaves out is read from it")
    parser.add_argument("--table", type=Path, help="a page with <!-- examples --> and <!-- end of examples -->")
    options = parser.parse_args()
    root = sim.active() or sim.build()
    folders = [folder for folder in examples(options.checkout.resolve()) if re.search(options.only, str(folder))]
    if not folders:
        sys.exit(f"no example for an Atlas A2 in {options.checkout} matches {options.only!r}")
    results = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for result in pool.map(lambda folder: run(folder, root, options.timeout), folders):
            results.append(result)
            print(f"{result.state:9}{result.name}  {result.why}", flush=True)
            if options.log:
                options.log.mkdir(parents=True, exist_ok=True)
                (options.log / f"{result.name.replace('/', '.')}.json").write_text(json.dumps(asdict(result)))
    if options.log:
        results = _kept(options.log, results, examples(options.checkout.resolve()))
    states = Counter(result.state for result in results)
    print(", ".join(f"{number} {state}" for state, number in states.most_common()))
    if options.table:
        commit = subprocess.run(
            ["git", "-C", str(options.checkout), "rev-parse", "HEAD"], capture_output=True, text=True, check=True
        ).stdout.strip()  # fmt: skip
        write(options.table, results, commit)
    return 0 if set(states) <= {"equal", "ran"} else 1


if __name__ == "__main__":
    sys.exit(main())
