"""A table of what ut.py or e2e.py wrote: how the tests ended, and whose fault each failure is.

usage: report.py OUT [--mocked MOCKED] [--into PAGE…]   (Markdown: printed, or put between each PAGE's marks)
       report.py OUT [--mocked MOCKED] --wrong          (what nothing explains, with the ends of the messages)

MOCKED is the OUT of a run with vllm-ascend's mocks; a test that fails there, too, is told apart first. reasons.txt says
by patterns what a message means; the first that matches counts.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import marked
from device_tests_report import meaning, read, reasons

REASONS = Path(__file__).with_name("reasons.txt")
ELSEWHERE = re.compile("root cause|exited unexpectedly")
OURS = ("simulator", "wrong", "crash", "time-out", "memory")  # what a simulator could run and did not
SHOWN = {"pass": "passed", "skip": "skipped by the test itself", "wrong": "nothing explains it"}


def ends(out: Path, mocked: Path | None) -> list[tuple[dict[str, Any], str, str]]:
    """Each test's line, with its kind and the reason."""
    table = reasons(REASONS)
    without = {line["test"]: line["outcome"] for _, lines in read(mocked) for line in lines} if mocked else {}
    found = []
    for header, lines in read(out):
        for line in lines:
            if ELSEWHERE.search(line.get("text", "")):  # what another process printed
                line = line | {"text": line["text"] + line.get("printed", "")}
            kind, reason, _ = meaning(line, table)
            if kind not in ("pass", "skip") and without.get(line["test"]) in ("fail", "crash"):
                kind, reason = "test", "fails with the mocks, too"
            found.append((line | {"file": header["file"]}, kind, reason))
    return found


def table(out: Path, mocked: Path | None) -> str:
    found = ends(out, mocked)
    header = read(out)[0][0]
    counts = Counter((kind, reason) for _, kind, reason in found)
    kinds = Counter(kind for _, kind, _ in found)
    could = kinds["pass"] + sum(kinds[kind] for kind in OURS)
    rows = ["| outcome | whose fault | tests |", "|---|---|---:|"]
    for (kind, reason), number in sorted(counts.items(), key=lambda each: (each[0][0] != "pass", -each[1])):
        rows.append(f"| {reason or SHOWN.get(kind, kind)} | {kind if reason else ''} | {number} |")
    versions = ", ".join(f"{name} {version}" for name, version in header.items() if name not in ("checkout", "file"))
    files = len({line["file"] for line, _, _ in found})
    share = f"Of {could} tests that a simulator can run, {kinds['pass']} passed ({100 * kinds['pass'] / could:.1f} %)."
    return "\n".join([f"{files} files of checkout {header['checkout']}, with {versions}. {share}", "", *rows])


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--mocked", type=Path)
    parser.add_argument("--into", type=Path, nargs="+", default=[], metavar="PAGE")
    parser.add_argument("--wrong", action="store_true")
    given = parser.parse_args(arguments)
    if given.wrong:
        for line, kind, _ in ends(given.out, given.mocked):
            if kind in OURS:
                said = re.findall(r"^E  +(.*)$", line.get("text", ""), re.M)
                print(line["test"], kind, *said[:2], sep="  ")
        return
    text = table(given.out, given.mocked)
    # Of ut.py the names of files begin below tests/ut, of e2e.py below tests/e2e.
    end_to_end = read(given.out)[0][0]["file"].startswith("pull_request/")
    folder = "tests/e2e" if end_to_end else "tests/ut"
    for page in given.into:
        try:
            marked.replace(page, f"<!-- {folder} -->", f"<!-- end of {folder} -->", text)
        except marked.NoMarks as error:
            sys.exit(str(error))
    if not given.into:
        print(text)


if __name__ == "__main__":
    main(sys.argv[1:])
