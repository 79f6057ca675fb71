"""Count the results of scripts/upstream_tests.sh and group the failures by reason.

usage: upstream_report.py FOLDER… [--into PAGE]      (tables in Markdown: printed, or put between PAGE's markers)

A table a folder, and one with a line for each: how many tests ran on which SoC and CANN release, and passed.
"""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import marked

# What a failure's text says, and what that means. The first that matches counts. The text behind the last bar of a
# meaning is what is counted where the pattern has no group.
REASONS = [
    (r"the aclop operator (\w+) is not implemented", "operator by type (aclop) not simulated"),
    (r"(acl\w+) or \w+ not in libopapi", "operator (aclnn) not simulated"),
    (r"dstFormat is \d+; Ascend950 allows", "asks for what the product has not: a private format|formats"),
    (
        r"only support aclnn operator, but current operator (\w+)",
        "asks for what the product has not: an operator by type",
    ),
    (
        r"the tensor has the private format|private format \d+|is FRACTAL_NZ|expectValue: *\d+, +resultValue",
        "a private format of device memory|layouts",
    ),
    (r"\[simulated Ascend\] (?:aclop operator )?(\w+)[^\n]* is not simulated", "a case of an operator not simulated"),
    (r"\[simulated Ascend\] (?:aclop operator )?(\w+):", "refused by an operator of the simulator"),
    (r"\[simulated Ascend\] ([^\n]{0,60})", "refused by the simulator otherwise"),
    (r"OSError: \[Errno None\]|libatb|op_plugin_atb", "needs the ATB library, which is not simulated|libatb.so"),
    (r"fixture 'fn' not found", "not a test: pytest takes an imported helper for one|test_2args_broadcast"),
    (
        r"addmv input tensors must have the same dtype|(?:RNN|LSTM|GRU) input dtype \S+ does not match weight dtype"
        r"|only 0-dimensional arrays can be converted|MKL FFT error",
        "the test's own reference does not run with these versions of torch and numpy|references",
    ),
    (
        r"(NameError): name|(UnboundLocalError): cannot access local variable|(TypeError): Cannot interpret '[^']*' as"
        r"|(TypeError): Queue.get|(TypeError): tuple expected|(ValueError): matmul: Input operand 1 has a mismatch"
        r"|(NotImplementedError): .random_\w+. not implemented|(RuntimeError): to - 1 is out of bounds for signed char"
        r"|(AttributeError): 'numpy.ndarray' object has no attribute|(RuntimeError): Mismatch in shape: grad_output",
        "the test's own code fails before or after the operator",
    ),
    (
        r"(?:Unknown keyword argument '\w+' for operator '|failed to match any schema:\s+)(npu::\w+)",
        "the wheel lacks the API",
    ),
    (
        r"does not match \"(?:The input (\w+) must be provided|data_type enum value)",
        "the wheel's words are older|messages",
    ),
    (r"(?:ModuleNotFoundError|ImportError): ([^\n]{0,60})", "a module is missing"),
    (r"has no attribute '(\w+)'", "the wheel lacks the API"),
    (r"(result error|not close|Not Equal|AssertionError)", "a result or a message differs|"),
    (
        r"[Pp]lease (?:update|try to update|upgrade)[^\n]*C[Aa][Nn][Nn]|with current cann version",
        "a newer form of an operator is not simulated, for which op-plugin asks for a newer CANN|",
    ),
    (r"fixture '(\w+)' not found", "not a test: pytest takes a helper for one"),
    (r"(\w+(?:Error|Exception))", "another error"),
]


SKIPPED, PASSED = "skipped by the test itself", "passed"
# What fails on hardware too. The first is said by the page of aclnnNpuFormatCast and by torch_npu.
NOT_OURS = ("asks for what the product has not", "the test's own", "the wheel", "not a test")
# Tests whose text does not tell: read one by one, each with what contradicts what.
CONTRADICTIONS = Path(__file__).with_name("upstream_contradictions.txt")
CONTRADICTION = "the test's own claims contradict each other or CANN's page"


def contradictions() -> set[str]:
    """Names such as ``test_npu_mhc_post.test_npu_mhc_post``: file and test."""
    lines = CONTRADICTIONS.read_text().splitlines()
    return {line.partition("|")[0].strip() for line in lines if line.strip() and not line.startswith("#")}


def reason(text: str, name: str = "") -> tuple[str, str]:
    """The meaning of a failure's text, and of what; `name` is the test's, where the text names nothing better."""
    for pattern, meaning in REASONS:
        found = re.search(pattern, text)
        if found:
            meaning, bar, what = meaning.partition("|")
            return meaning, (what or name) if bar else next(group for group in found.groups() if group)
    lines = text.strip().splitlines() or [""]
    return "another error", re.sub(r"\S*/", "", lines[-1])[:60]  # without folders, which are one machine's


def skip_reason(message: str) -> str:
    short = re.sub(r"\s+", " ", message).strip().removeprefix("unittest.case.SkipTest: ")
    return short[:70] or "no reason given"


def died(report: Path) -> str:
    """How a process ended that left no report, and the test that ran last as far as its log tells."""
    log = report.with_suffix(".log")
    text = log.read_text(errors="replace") if log.is_file() else ""
    frame = re.search(r"line \d+ in (test_\w+)", text)
    return f"{report.stem}: {report.read_text().strip()}" + (f" in {frame.group(1)}" if frame else "")


@dataclass
class Run:
    """The results in one folder; a fault is what a test failed by, or why it was skipped."""

    name: str  # of the folder of tests
    configuration: str
    about: str
    files: int
    ends: list[str]  # of processes that left no report
    counts: Counter[str] = field(default_factory=Counter)
    details: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    @property
    def title(self) -> str:
        return f"{self.name}: {self.configuration}"


def content(path: Path) -> str:
    return path.read_text().strip() if path.is_file() else ""


def read(folder: Path) -> Run:
    reports = sorted(folder.glob("*.xml"))
    ends = [died(path) for path in sorted(folder.glob("*.died"))]
    if not reports and not ends:
        sys.exit(f"{folder} has no results of upstream_tests.sh: give the folder that was its --out")
    name = next(folder.glob("test_*.*")).name.split(".")[0]
    configuration = content(folder / "configuration") or "a configuration not recorded"
    run = Run(name, configuration, content(folder / "about"), len(reports) + len(ends), ends)
    known = contradictions()
    for report in reports:
        for case in ElementTree.parse(report).iter("testcase"):
            outcome = next((child for child in case if child.tag in ("failure", "error", "skipped")), None)
            if outcome is None:
                run.counts[PASSED] += 1
                continue
            message = outcome.get("message") or ""
            if outcome.tag == "skipped":
                meaning, what = SKIPPED, skip_reason(message)
            else:
                printed = "\n".join(child.text or "" for child in case if child.tag in ("system-err", "system-out"))
                test = f"{case.get('classname', '').split('.')[-1]}.{case.get('name')}"
                meaning, what = reason(message + "\n" + (outcome.text or "") + "\n" + printed, test)
                if f"{report.stem.split('.')[-1]}.{case.get('name')}" in known:
                    meaning, what = CONTRADICTION, test
            run.counts[meaning] += 1
            run.details[meaning][what] += 1
    return run


def table(run: Run) -> str:
    lines = [run.about, ""] if run.about else []
    tests = run.counts.total() + len(run.ends)
    lines += [f"{run.files} files, {tests} tests.", "", "| outcome | tests | of what |", "|---|---:|---|"]
    for outcome_name, number in run.counts.most_common():
        most = run.details[outcome_name].most_common(8 if outcome_name == SKIPPED else None)
        listed = ", ".join(f"{name} {times}" for name, times in most)
        rest = number - sum(times for _, times in most)
        listed += f", other reasons {rest}" if most and rest else ""
        lines.append(f"| {outcome_name} | {number} | {listed.replace('|', '/')} |")
    if run.ends:
        lines.append(f"| the process ended or hung | {len(run.ends)} files | {', '.join(run.ends)} |")
    return "\n".join(lines)


def overview(runs: list[Run]) -> str:
    """A line for each run. A file without a report counts as one test that failed."""
    lines = [
        "| tests | simulated | files | tests | skipped by themselves | run | passed | of those run "
        "| fail anywhere | passed of the others |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for run in runs:
        total = run.counts.total() + len(run.ends)
        ran, passed = total - run.counts[SKIPPED], run.counts[PASSED]
        refused = sum(number for meaning, number in run.counts.items() if meaning.startswith(NOT_OURS))
        shares = [f"{passed / each:.1%}" if each else "-" for each in (ran, ran - refused)]
        figures = " | ".join(
            map(str, (run.files, total, run.counts[SKIPPED], ran, passed, shares[0], refused, shares[1]))
        )
        lines.append(f"| {run.name} | {run.configuration} | {figures} |")
    return "\n".join(lines)


def main(arguments: list[str]) -> None:
    folders, page = arguments, None
    if "--into" in arguments:
        *folders, option, page = arguments
        if option != "--into":
            sys.exit("--into PAGE comes last")
    if not folders:
        sys.exit(__doc__)
    runs = [read(Path(folder)) for folder in folders]
    if page is None:
        print(*[table(run) for run in runs], overview(runs), sep="\n\n")
        return
    try:
        for run in runs:
            marked.replace(Path(page), f"<!-- {run.title} -->", "<!-- end -->", table(run))
        marked.replace(Path(page), "<!-- by configuration -->", "<!-- end -->", overview(runs))
    except marked.NoMarks as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main(sys.argv[1:])
