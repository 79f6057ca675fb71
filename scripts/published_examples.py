"""Build and run the vendor's Ascend C examples, unmodified, as their README says, and see what they say.

    python scripts/published_examples.py CHECKOUT                         # a checkout of asc-devkit
    python scripts/published_examples.py CHECKOUT --only math --log LOG   # some; what each printed goes into LOG
    python scripts/published_examples.py CHECKOUT --log LOG --failed      # again what was neither equal nor ran
    python scripts/published_examples.py CHECKOUT --syntax                # only what does not compile, and why
    python scripts/published_examples.py CHECKOUT --table docs/published-examples.md
    python scripts/published_examples.py CHECKOUT --product "Ascend 950" …  # those that no Atlas A2 runs

An example is a folder with a CMakeLists.txt whose README lists the product, an Atlas A2. It is copied, and the first
block of its README that calls cmake runs in a shell on the simulated Ascend, for the product's architecture: build,
input data, program, comparison with the golden data. With --log, an example whose files and our headers are as they
were when it ran is not run again, so that a run which was interrupted goes on where it was.
Nothing of the checkout is in our repository. Exit status: 0 all equal, 1 some are not.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import marked
import processes

from ophook_npu import sim
from ophook_npu.errors import OphookError
from ophook_npu.kernel import build
from ophook_npu.kernel.findings import KernelReport
from ophook_npu.npu import autoload
from ophook_npu.sim import program
from ophook_npu.sim.variables import apply, environment

PARTS = ("01_simd_cpp_api", "02_simd_c_api", "03_simt_api", "05_simd_simt_hybrid")  # without those of AI CPUs
_OF_THREADS = ("03_simt_api", "05_simd_simt_hybrid")  # which print in any order
STATES = ("equal", "ran", "differs", "stopped", "build", "no block")
PRODUCTS = {"Atlas A2": ("Ascend910B4", "dav-2201"), "Ascend 950": ("Ascend950PR_9589", "dav-3510")}
# OK is unittest's.
_PASSED = re.compile(r"test pass|\[Success\]|success|\bPASS\b|passed|^OK$", re.IGNORECASE | re.MULTILINE)
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
    key: str = ""  # of the files that it was made from

    @property
    def passed(self) -> bool:
        return self.state in ("equal", "ran")


def examples(checkout: Path, product: str) -> list[Path]:
    """Those whose README lists the product, and none of those before it."""
    root = checkout / "examples"
    return [
        file.parent
        for part in PARTS
        for file in sorted((root / part).rglob("CMakeLists.txt"))
        if next((each for each in PRODUCTS if _lists(_readme(file.parent), each)), None) == product
    ]


def _lists(readme: str, product: str) -> bool:
    return re.search(rf"^\s*(?:\||- (?=Atlas|Ascend)).*{product}", readme, re.MULTILINE) is not None


def _readme(folder: Path) -> str:
    for name in ("README_en.md", "README.md"):
        if (folder / name).is_file():
            return (folder / name).read_text(errors="replace")
    return ""


def block(readme: str) -> str:
    """The first block of code that calls cmake in a folder of its own, else that calls cmake, else that calls bash."""
    found = blocks(readme)
    named = [text for text in found if re.search(r"^cmake |; *cmake ", text, re.MULTILINE)]
    named = [text for text in named if re.search(r"\bmkdir |-B ", text)] or named
    named = named or [text for text in found if text.startswith("bash ")]
    return named[0] if named else ""


def shown(readme: str) -> list[str]:
    """The lines that the README says a run prints: its last block of code behind the one that builds.

    Empty where that block is none: it has commands, or draws folders.
    """
    found = blocks(readme)
    behind = found[found.index(block(readme)) + 1 :] if block(readme) else []
    lines = behind[-1].splitlines() if behind else []
    return [] if any(re.search(r"cmake|msopprof|\bcat |├──|\./demo", line) for line in lines) else lines


def _missing(lines: list[str], said: str, ordered: bool = True) -> str:
    """The first line that was not printed, in this order or each as often as it is there; empty if all were."""
    at = 0
    printed = [line.strip() for line in said.splitlines()]
    for line in filter(str.strip, lines):
        found = next((i for i in range(at, len(printed)) if re.fullmatch(_pattern(line), printed[i])), None)
        if found is None:
            return line.strip()
        if ordered:
            at = found + 1
        else:
            del printed[found]
    return ""


def _pattern(line: str) -> str:
    """Of a line that a README shows: ``...``, ``**`` and ``<line>`` stand for anything."""
    parts = re.split(r"\.\.\.+|\*\*|<[a-z_]+>", line.strip())
    return ".*".join(re.escape(part.rstrip()) for part in parts)


def without_what_it_shows(readme: str, findings: Counter[str], said: str) -> tuple[Counter[str], str]:
    """The findings and the output without those that the README says an example has: an assertion that does not hold,
    with the line that tells it."""
    told = [re.compile(_pattern(line)) for line in shown(readme) if "Assertion" in line]
    left = [line for line in said.splitlines() if not any(one.fullmatch(line.strip()) for one in told)]
    if len(left) == len(said.splitlines()):
        return findings, said
    kept = {kind: number for kind, number in findings.items() if not kind.startswith("error assertion")}
    return Counter(kept), "\n".join(left)


def blocks(readme: str) -> list[str]:
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
    return found


def before(folder: Path) -> list[Path]:
    """Examples that its README says to build and install first."""
    found = re.findall(r"Before running this example.*?\]\(([^)]+)\)", _readme(folder))
    return [place for one in found if (place := (folder / one).resolve()).is_dir()]


def _own_opp(root: Path, temporary: Path) -> Path:
    """Where an example may install operator packages: the toolkit's are there too, as links."""
    own, vendors = temporary / "opp", root / "opp" / "vendors"
    (own / "vendors").mkdir(parents=True)
    for one in vendors.iterdir():
        if one.is_dir():
            (own / "vendors" / one.name).symlink_to(one)
        else:
            shutil.copy(one, own / "vendors")
    return own


def fitted(script: str, product: str, defines: Sequence[str]) -> str:
    """A README's commands for this product."""
    soc, architecture = PRODUCTS[product]
    # One compiler at a time: several examples are built at once.
    script = re.sub(r"\bmake -j\b", "make", script)
    script = re.sub(r"(--build \S+) -j\b", r"\1", script)
    # Most blocks name one product, and the table of options below them the others.
    script = re.sub(r"ARCHITECTURES=dav-(2201|3510)", f"ARCHITECTURES={architecture}", script)
    script = script.replace("<soc_version>", soc)
    given = "".join(f" -D{one}" for one in defines)
    return re.sub(r"^cmake (?=\.\.|-S )", f"cmake{given} ", script, count=1, flags=re.MULTILINE)


def run(folder: Path, root: Path, timeout: float, product: str, defines: Sequence[str] = ()) -> Result:
    name = _name(folder)
    script = block(_readme(folder))
    if not script:
        return Result(name, "no block", "its README has no block that builds it")
    soc, _ = PRODUCTS[product]
    script = fitted(script, product, defines)
    with tempfile.TemporaryDirectory() as temporary:
        place, told = Path(temporary) / folder.name, Path(temporary) / "reports"
        shutil.copytree(folder, place)
        environ = dict(os.environ)
        autoload.unsettle(environ)
        apply(environ, environment(root, soc=soc))
        environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environ['PATH']}"
        environ["ASCEND_OPP_PATH"] = str(_own_opp(root, Path(temporary)))
        environ["soc_version"] = soc  # blocks write ${soc_version}
        environ["OPHOOK_KERNEL_REPORT"] = str(told)
        for number, one in enumerate(before(folder)):
            copy = Path(temporary) / f"before{number}"
            shutil.copytree(one, copy)
            status, said = shell(fitted(block(_readme(one)), product, defines), copy, environ, timeout)
            if status != 0:
                return Result(name, "build", f"{_name(one)}: {reason(said)}", log=said)
        status, said = shell(script, place, environ, timeout)
        if status is None:
            return Result(name, "stopped", f"not over in {timeout:.0f} s", log=said)
        findings, more = findings_in(told)
        said += more
    built = re.search(r"\[100%\]|Built target", said) and not re.search(r"^g?make: \*\*\*", said, re.MULTILINE)
    if status and not built:
        return Result(name, "build", reason(said), dict(findings), said)
    judged, heard = without_what_it_shows(_readme(folder), findings, said)
    if any(kind.startswith("error") for kind in judged):
        return Result(name, "differs", reason(said), dict(findings), said)
    if status or _FAILED.search(_after_build(heard)):
        return Result(name, "differs", reason(_after_build(heard)), dict(findings), said)
    if _PASSED.search(_after_build(said)):
        return Result(name, "equal", "", dict(findings), said)
    expected = shown(_readme(folder))
    ordered = not name.startswith(_OF_THREADS)
    missing = _missing(expected, said, ordered) if expected else "it compares nothing, and its README shows no output"
    why = f"not printed: {missing}" if expected and missing else missing
    return Result(name, "ran" if missing else "equal", why, dict(findings), said)


def shell(script: str, folder: Path, environ: dict[str, str], timeout: float) -> tuple[int | None, str]:
    """The status of a script, None where it was not over in time, and what it printed. It ends at its first failure."""
    return processes.finished(["bash", "-e", "-o", "pipefail", "-c", script], folder, environ, timeout)


def findings_in(told: Path) -> tuple[Counter[str], str]:
    """What the reports of launches in the file found: how often each, and as lines."""
    findings: Counter[str] = Counter()
    lines = ""
    for row in map(json.loads, told.read_text(errors="replace").splitlines() if told.exists() else ()):
        for found in KernelReport.parse(json.dumps(row["report"]), row["blocks"], 0).findings:
            findings[f"{found.severity} {found.kind} ({Path(found.file).name}:{found.line})"] += 1
            lines += f"\n{found}"
    return findings, lines


def key_of(folder: Path, common: bytes) -> str:
    """Of the example's files and of what `common` stands for."""
    digest = hashlib.sha256(common)
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(str(file.relative_to(folder)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


def _common() -> bytes:
    """Of our headers, our runtime and the compiler's driver."""
    return "".join(key_of(place, b"") for place in (build.ROOT, Path(program.__file__).parent)).encode()


def _file(log: Path, folder: Path) -> Path:
    return log / f"{_name(folder).replace('/', '.')}.json"


def kept(log: Path | None, folders: list[Path]) -> dict[str, Result]:
    """The results of earlier runs, in the order of the checkout."""
    files = {_name(folder): _file(log, folder) for folder in folders} if log else {}
    return {name: Result(**json.loads(file.read_text())) for name, file in files.items() if file.is_file()}


_DEFINED = re.compile(r"\b(SCENARIO\w*)=(\d+)")


def syntax(folder: Path, product: str) -> Result:
    """Whether its sources compile: no program is made, and nothing runs."""
    values = dict(_DEFINED.findall(block(_readme(folder)))) or {"SCENARIO_NUM": "1"}
    flags = [f"-D{name}={value}" for name, value in values.items()]
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary) / folder.name
        shutil.copytree(folder, place)
        flags += [f"-I{one}" for one in (place, *place.iterdir()) if one.is_dir()]
        for source in sorted(place.rglob("*.asc")):
            try:
                how = ["-fsyntax-only", f"--npu-arch={PRODUCTS[product][1]}", "-c"]
                program.compile([*how, str(source), *flags, f"-I{source.parent}"])
            except OphookError as error:
                return Result(_name(folder), "build", reason(str(error)), log=str(error))
    return Result(_name(folder), "compiles")


def _name(folder: Path) -> str:
    return "/".join(folder.parts[folder.parts.index("examples") + 1 :])


def _after_build(said: str) -> str:
    return said[said.rfind("Built target") :] if "Built target" in said else said


def reason(said: str) -> str:
    for pattern in _ERRORS:
        if found := pattern.search(said):
            return found[1][:160]
    lines = [line for line in said.splitlines() if line.strip()]
    failed = [line for line in lines if _FAILED.search(line)]
    return (failed or lines or [""])[-1][:160]


def commit(checkout: Path) -> str:
    command = ["git", "-C", str(checkout), "rev-parse", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def write(page: Path, results: list[Result], what: str, product: str) -> None:
    states = Counter(result.state for result in results)
    head = [
        f"{what}: {len(results)} examples; "
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
        why = re.sub(r"/\S*/tmp\w+/?", "", result.why).replace("|", "\\|").replace("`", "'")
        rows.append(f"| `{result.name}` | {result.state} | {why or '–'} | {shown or '–'} |")
    try:
        marks = f"<!-- examples of {product} -->", f"<!-- end of examples of {product} -->"
        marked.replace(page, *marks, "\n".join([*head, *rows]))
    except marked.NoMarks as error:
        sys.exit(str(error))


def _all_syntax(folders: list[Path], product: str) -> int:
    whys: Counter[str] = Counter()
    for folder in folders:
        result = syntax(folder, product)
        print(f"{result.state:9}{result.name}  {result.why}", flush=True)
        whys[result.why] += 1
    print(f"{whys.pop('', 0)} of {len(folders)} compile")
    for why, number in whys.most_common():
        print(f"{number:4}  {why}")
    return 1 if whys else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path, help="a git checkout of asc-devkit")
    parser.add_argument("--product", choices=PRODUCTS, default="Atlas A2")
    parser.add_argument("--only", default="", help="examples whose folder matches this expression")
    parser.add_argument("--jobs", type=int, default=1, help="examples at once")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for one example, its build included")
    parser.add_argument("--log", type=Path, help="a folder that keeps results; what --only leaves out is read from it")
    parser.add_argument("--failed", action="store_true", help="what passed is not run again, whatever changed since")
    parser.add_argument(
        "--cmake",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="for cmake, such as where a file is that an example downloads",
    )
    parser.add_argument("--syntax", action="store_true", help="only compile, and count what blocks")
    parser.add_argument("--table", type=Path, help="a page with a table for the product")
    options = parser.parse_args()
    root = sim.active() or sim.build()
    everything = examples(options.checkout.resolve(), options.product)
    folders = [folder for folder in everything if re.search(options.only, str(folder))]
    if not folders:
        sys.exit(f"no example for {options.product} in {options.checkout} matches {options.only!r}")
    if options.syntax:
        return _all_syntax(folders, options.product)
    by_name = kept(options.log, everything)
    common = _common()

    def one(folder: Path) -> Result:
        before, key = by_name.get(_name(folder)), key_of(folder, common)
        if before and (before.key == key or (options.failed and before.passed)):
            return before
        result = run(folder, root, options.timeout, options.product, options.cmake)
        result.key = key
        print(f"{result.state:9}{result.name}  {result.why}", flush=True)
        if options.log:
            options.log.mkdir(parents=True, exist_ok=True)
            _file(options.log, folder).write_text(json.dumps(asdict(result)))
        return result

    with ThreadPoolExecutor(options.jobs) as pool:
        by_name.update({result.name: result for result in pool.map(one, folders)})
    results = [by_name[name] for name in map(_name, everything) if name in by_name]
    states = Counter(result.state for result in results)
    print(", ".join(f"{number} {state}" for state, number in states.most_common()))
    if options.table:
        write(options.table, results, f"asc-devkit at `{commit(options.checkout)}`", options.product)
    return 0 if set(states) <= {"equal", "ran"} else 1


if __name__ == "__main__":
    sys.exit(main())
