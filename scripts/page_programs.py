#!/usr/bin/env python3
"""Run the examples on the pages of torch_npu, torchair or another project over the simulated Ascend.

usage: scripts/page_programs.py FOLDER [--match WORD] [--jobs 2] [--log LOG] [--failed] [--into PAGE --as NAME]

FOLDER is one of a checkout, with pages in Markdown. An example is a block of Python that imports torch, or stands
below a heading that calls it one (示例, 样例, example). It runs as a program of its own, on the first product of its
page that is simulated, with as many devices as it names ranks; torchrun starts it where it asks for that. A block that
is a session (>>>) runs as one, statement by statement. What the page says that the example prints is compared: types
and shapes, and numbers where the example draws none at random, to 1 in 1,000, as the pages print four digits.

An example counts if it ends by itself and nothing differs. One that lacks a name, a file or a package is a part of a
program. Of the others, scripts/page_programs.txt has the reasons that somebody found by reading them; what is not there
is open. Nothing of the pages is in our repository but the names.
--log keeps what became of each example, and does not run again what is in it; --failed runs again what did not count.
--into puts a table between the marks of NAME on a page.
"""

from __future__ import annotations

import argparse
import ast
import codeop
import contextlib
import functools
import json
import os
import re
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import marked
import processes
from device_tests_report import reasons

from ophook_npu import sim
from ophook_npu.sim import variables

REASONS = Path(__file__).with_suffix(".txt")
# In the order in which they are taken: the pattern of a page's table of products, the SoC, the release of CANN.
PRODUCTS = (
    (r"Atlas A2", "Ascend910B4", "8.5.0"),
    (r"Atlas A3", "Ascend910_9392", "8.5.0"),
    (r"Ascend 950|950(?:DT|PR)", "Ascend950PR_9589", "9.0.0"),
    (r"Atlas (?:推理系列|200I/500)", "Ascend310P3", "8.5.0"),
)
GOOD = ("as printed", "ran")
_OF_950 = PRODUCTS[2][1:]
_NARROW = re.compile(r"float8|hifloat8|float4|e8m0", re.I)  # data types that no other product has

_BLOCK = re.compile(r"^(?P<indent>[ \t]*)```[ ]*(?:python|py|Python)\b[^\n]*\n(?P<body>.*?)^[ \t]*```", re.S | re.M)
_HEADING = re.compile(r"^(#+)[ \t]*(.*)$", re.M)
_RANKS = re.compile(r"(?:world_?size|worksize|nprocs|rank_size)\s*=\s*(\d+)", re.I)
# What a program says that is a part of one, or needs what its reader has.
_PART = re.compile(r"(?:Name|Syntax|Indentation|ModuleNotFound|FileNotFound)Error")
# A program that torchrun starts, and one that starts its ranks itself or is one of its own.
_LAUNCHED = re.compile(r"init_process_group\(|LOCAL_RANK")
_LAUNCHES = re.compile(r"spawn|Process\(|[\"']RANK[\"']\]\s*=|rank\s*=\s*0|world_size\s*=\s*1\b")
_FACT = re.compile(r"torch\.Size\(\[[\d, ]*\]\)|dtype=torch\.\w+")
_NUMBER = re.compile(r"(?<![\w.:'])[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?(?![\w'])|(?<!\w)-?(?:nan|inf)(?!\w)", re.I)
_RANDOM = re.compile(r"rand|dropout|normal|empty\(|uniform|bernoulli|multinomial|exponential|seed", re.I)

# Runs a session: each statement as the interpreter would, what it prints beside what the page says.
_SESSION = """
import contextlib, io, json, sys
steps = json.load(open(sys.argv[1]))
sys.argv = sys.argv[:1]
space = {"__name__": "__main__"}
exec("import torch, torch_npu", space)
for step in steps:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(step["source"], step["name"], "single"), space)
    print("\\0" + json.dumps([step["want"], out.getvalue()]))
"""


@dataclass(frozen=True)
class Example:
    """A block of a page; `steps` if it is a session, and `want` what the page says that it prints."""

    page: str
    number: int
    source: str
    want: str
    steps: tuple[tuple[str, str], ...]
    soc: str
    cann: str
    devices: int

    @property
    def name(self) -> str:
        return f"{self.page}#{self.number}"


@dataclass(frozen=True)
class Result:
    name: str
    state: str  # "as printed", "ran", "a part" (of a program), "differs", "fails", "no end"
    detail: str = ""
    seconds: float = 0


def _undented(block: re.Match[str]) -> str:
    indent = block["indent"]
    return "".join(line.removeprefix(indent) for line in block["body"].splitlines(keepends=True))


def _is_output(statement: ast.stmt) -> bool:
    """Whether it is what a program prints, such as ``tensor([...])``, and not a statement of one."""
    value = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(statement, ast.AnnAssign) and statement.value is None:  # "output: tensor(...)"
        value = statement.annotation
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and value.func.id == "tensor"
    return isinstance(value, (ast.Name, ast.List, ast.Tuple, ast.Attribute))


def _split(source: str) -> tuple[str, str]:
    """The program, and what stands behind it: comments at its end, or what a comment says that it prints."""
    lines = source.splitlines(keepends=True)
    try:
        ast.parse(source)
    except SyntaxError as error:
        end = min(error.lineno or 0, len(lines))
        while end and not lines[end - 1].lstrip().startswith("#"):
            end -= 1
        above = "".join(lines[: max(0, end - 1)])
        try:
            ast.parse(above)
        except SyntaxError:
            above = ""
        return (above, "".join(lines[end:])) if above.strip() else (source, "")
    end = len(lines)
    for statement in ast.parse(source).body:
        if _is_output(statement):
            end = statement.lineno - 1
            break
    if end < len(lines):
        return "".join(lines[:end]), "".join(lines[end:])
    while end and (not lines[end - 1].strip() or lines[end - 1].startswith("#")):
        end -= 1
    return "".join(lines[:end]), "".join(re.sub(r"^# ?", "", line) for line in lines[end:])


def _open(lines: list[str]) -> bool:
    """Whether these lines end inside a bracket or a string."""
    with contextlib.suppress(SyntaxError, ValueError, OverflowError):
        return codeop.compile_command("\n".join(lines) + "\n") is None and not lines[-1].endswith(":")
    return False


def _session(source: str) -> tuple[tuple[str, str], ...]:
    """Statements, each with what the page says that it prints. Pages leave out "..." inside brackets."""
    steps: list[tuple[list[str], list[str]]] = []
    for line in source.splitlines():
        bare = line.strip()
        if bare.startswith(">>>"):
            said = bare[3:].removeprefix(" ")
            if steps and not steps[-1][1] and (said.startswith(" ") or _open(steps[-1][0])):
                steps[-1][0].append(said)
            elif said and not said.startswith("#"):
                steps.append(([said], []))
        elif not steps:
            continue
        elif re.match(r"\.\.\.(?!,|\.)", bare) and not steps[-1][1]:
            steps[-1][0].append(bare[3:].removeprefix(" "))
        elif not steps[-1][1] and _open(steps[-1][0]):
            steps[-1][0].append(bare)
        else:
            steps[-1][1].append(line)
    return tuple(("\n".join(said) + "\n", "\n".join(want)) for said, want in steps)


def examples(folder: Path) -> Iterator[Example]:
    for path in sorted(folder.rglob("*.md")):
        text = path.read_text(encoding="utf-8", errors="replace")
        table = "\n".join(line for line in text.splitlines() if line.startswith("|") and "√" in line)
        soc, cann = next(((soc, cann) for word, soc, cann in PRODUCTS if re.search(word, table)), PRODUCTS[0][1:])
        headings = [(found.start(), found[2]) for found in _HEADING.finditer(text)]
        number = 0
        for block in _BLOCK.finditer(text):
            above = [title for start, title in headings if start < block.start()]
            depth = [one for one in above[-2:] if re.search("示例|样例|[Ee]xample", one)]
            source = _undented(block)
            if not depth and "import torch" not in source:
                continue
            number += 1
            if not re.search(r"^\s*(?:>>> )?(?:import|from) torch_npu\b", source, re.M):
                source = ("" if ">>>" in source else "import torch, torch_npu\n") + source  # taken as given
            steps = _session(source) if re.search(r"^\s*>>>", source, re.M) else ()
            program, want = (source, "") if steps else _split(source)
            ranks = max([8 if "init_process_group" in source else 2, *map(int, _RANKS.findall(source))])
            product = _OF_950 if _NARROW.search(source) and "950" in table else (soc, cann)
            yield Example(str(path.relative_to(folder)), number, program, want, steps, *product, min(ranks, 16))


def differs(want: str, got: str, random: bool) -> str:
    """How what was printed differs from what the page says; empty if it does not."""
    facts = tuple(_FACT.findall(re.sub(r"\s+", " ", text)) for text in (want, got))
    if facts[0] and facts[0] != facts[1]:
        return f"the page has {' '.join(facts[0])[:150]}, here it is {' '.join(facts[1])[:150]}"
    if random or not (facts[0] or "tensor" in want):
        return ""
    numbers = _NUMBER.findall(_FACT.sub("", want)), _NUMBER.findall(_FACT.sub("", got))
    if len(numbers[0]) != len(numbers[1]):
        return f"the page has {len(numbers[0])} numbers, here they are {len(numbers[1])}"
    for a, b in zip(*numbers, strict=True):
        if not (abs(float(a) - float(b)) <= 1e-3 * max(1e-1, abs(float(a))) or a.lower() == b.lower()):
            return f"the page has {a}, here it is {b}"
    return ""


def run(example: Example, root: Path, seconds: int) -> Result:
    environment = dict(os.environ)
    chosen = variables.environment(root, soc=example.soc, cann=example.cann, devices=example.devices, memory=8 << 30)
    variables.apply(environment, chosen)
    environment["OMP_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "example.py"
        command = [sys.executable, str(program)]
        if example.steps:
            steps = [{"source": s, "want": w, "name": example.name} for s, w in example.steps]
            Path(folder, "steps.json").write_text(json.dumps(steps))
            program.write_text(_SESSION)
            command.append("steps.json")
        elif _LAUNCHED.search(example.source) and not _LAUNCHES.search(example.source):
            program.write_text(example.source)
            command[1:1] = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
        else:
            program.write_text(example.source)
        status, printed = processes.finished(command, folder, environment, seconds)
    if status is None:
        return Result(example.name, "no end", f"{seconds} s")
    if status:
        why = _why(printed, status)
        return Result(example.name, "a part" if _PART.match(why) else "fails", why)
    random = bool(_RANDOM.search(example.source))
    if example.steps:
        pairs = [json.loads(line[1:]) for line in printed.splitlines() if line.startswith("\0")]
    elif all(len(of.findall(example.want)) == len(of.findall(printed)) for of in (_FACT, _NUMBER)):
        pairs = [(example.want, printed)]
    else:  # the page shows a part of it
        pairs = []
    pairs = [(want, got) for want, got in pairs if want.strip() and got.strip()]
    for want, got in pairs:
        if how := differs(want, got, random):
            return Result(example.name, "differs", how)
    return Result(example.name, "as printed" if any(_FACT.search(want) or not random for want, _ in pairs) else "ran")


_ranks = threading.Lock()  # programs of several ranks meet at ports that their pages name, many the same


def timed(example: Example, root: Path, seconds: int) -> Result:
    with _ranks if _LAUNCHED.search(example.source) else contextlib.nullcontext():
        began = time.monotonic()
        return replace(run(example, root, seconds), seconds=round(time.monotonic() - began, 1))


def _why(printed: str, status: int) -> str:
    if status < 0:
        return f"ended by signal {-status}"
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"[\w.]*(?:Error|Exception|Exit)\b", line)]
    said = [line for line in lines if "[simulated Ascend]" in line]
    return " / ".join([*errors[-1:], *said[:1]] or lines[-1:])[:500]


@functools.cache
def _table() -> list[tuple[str, str, str]]:
    return reasons(REASONS)


def kind(result: Result) -> str:
    """Whether it "counts", is "a part" of a program, or what the reasons say; "open" if they say nothing."""
    if result.state in GOOD:
        return "counts"
    return result.state if result.state == "a part" else _reason(result)[0]


def _reason(result: Result) -> tuple[str, str]:
    said = f"{result.name} {result.state} {result.detail}"
    return next(((of, why) for of, pattern, why in _table() if re.search(pattern, said)), ("open", result.detail))


def part(name: str, results: list[Result]) -> str:
    """The table of a page."""
    counts = Counter(map(kind, results))
    printed = sum(result.state == "as printed" for result in results)
    lines = [
        f"{name}: {len(results)} examples. {counts['counts']} run to their end, {printed} of them with what their page "
        f"prints; {counts['a part']} are parts of programs.",
        "",
        "| | why | examples |",
        "|---|---|---|",
    ]
    why: dict[tuple[str, str], list[str]] = {}
    for result in results:
        if kind(result) not in ("counts", "a part"):
            why.setdefault(_reason(result), []).append(result.name)
    for (of, text), names in sorted(why.items(), key=lambda item: (item[0][0], -len(item[1]))):
        lines.append(f"| {of} | {text} | {', '.join(f'`{Path(one).name}`' for one in names)} |".replace("\n", " "))
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--match", default="", help="only pages with this in their names")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--timeout", type=int, default=120, help="seconds for an example")
    parser.add_argument("--log", type=Path, help="what became of each, a line of JSON each")
    parser.add_argument("--failed", action="store_true", help="run again what is in LOG and did not count")
    parser.add_argument("--print", action="store_true", dest="shown", help="print the examples, run none")
    parser.add_argument("--into", type=Path, metavar="PAGE")
    parser.add_argument("--as", dest="name", default="", help="what the page's marks call these")
    options = parser.parse_args()
    if not options.folder.is_dir():
        parser.error(f"{options.folder} is no folder")
    chosen = [one for one in examples(options.folder) if options.match in one.name]
    if options.shown:
        for one in chosen:
            print(f"=== {one.name} on {one.soc}, {one.devices} devices\n{one.source}\n--- {one.want}")
        return 0
    before: dict[str, Result] = {}
    if options.log and options.log.exists():
        for line in options.log.read_text().splitlines():
            result = Result(**json.loads(line))
            before[result.name] = result
    done = {name for name, result in before.items() if result.state in GOOD or not options.failed}
    again = [one for one in chosen if one.name not in done]
    again.sort(key=lambda one: bool(_LAUNCHED.search(one.source)))  # those of several ranks wait for each other
    root = sim.build()
    with ThreadPoolExecutor(options.jobs) as pool:
        for waiting in as_completed([pool.submit(timed, one, root, options.timeout) for one in again]):
            result = waiting.result()
            before[result.name] = result
            print(f"{result.name} ({result.seconds:.0f} s): {result.state} {result.detail}", flush=True)
            if options.log:
                with options.log.open("a") as log:
                    log.write(json.dumps(asdict(result)) + "\n")
    results = [before[one.name] for one in chosen]
    print(part(options.name, results))
    if options.into:
        marked.replace(options.into, f"<!-- {options.name} -->", "<!-- end -->", part(options.name, results))
    return int(any(kind(result) == "open" for result in results))


if __name__ == "__main__":
    sys.exit(main())
