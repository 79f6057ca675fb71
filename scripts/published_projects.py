"""Check operator projects that others published, every one of each repository, and say what became of them.

    python scripts/published_projects.py                     # fetches the repositories at the commits below
    python scripts/published_projects.py --checkout DIR      # takes DIR/NAME of each as they are
    python scripts/published_projects.py --log LOG --table docs/published-kernels.md

Nobody chose the projects: a project is a folder with C++ in op_host and in op_kernel; left out are copies in build_out,
and folders named question, whose kernels are empty for the reader to write.
Each runs in `ophook-npu kernel check` with the values that it makes up. What has a result in LOG is not run again.
Nothing of these repositories is in ours. Exit status: 0 every project compiles, 1 some do not,
2 a repository cannot be fetched.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import marked
from published_kernels import fetch

from ophook_npu.errors import OphookError

COMMITS = {
    "A-Y-1/AscendC-S4": "fb57a6fb6eaf4d39b5c5988bd9b29709670872c4",
    "JasperXzy/AscendC-S7": "6eb59d473f33ccba22103476635179f66a72180b",
    "KiaraStark/ascendc-homework": "1ffb17c666b2ff44e027c2d8e16fe460807a9dfb",
    "Youshikawa/ascendC-S2": "61e00967069e91edbb6188bec76086d46369cbab",
    "hansheng1001/AscendCContest": "4904517a3365ea5c441ca5832ed1562939411e47",
    "linnlh/ascendc-competition-s3": "04c0c97dc5623053fefc585786697a8c19b9504a",
    "llrnb666-arch/HPC101-AscendC-FusedRMSNorm": "7729cdf7bc37d77bd3c82448414b77cea3e96637",
    "weich97/NPUKernelBench": "6b842167995b057cdfaa6fc7dddc51e5692f4667",
}
_LEFT_OUT = {"build_out", "question"}
STATES = ("clean", "findings", "refused", "stopped", "not compiled")


def projects(folder: Path) -> list[Path]:
    """Folders with C++ in op_host and in op_kernel, as paths under ``folder``."""
    return sorted(
        kernel.parent.relative_to(folder)
        for kernel in folder.rglob("op_kernel")
        if not _LEFT_OUT.intersection(kernel.relative_to(folder).parts)
        and all(any((kernel.parent / part).glob("*.cpp")) for part in ("op_host", "op_kernel"))
    )


def state(status: int, results: Sequence[dict]) -> str:
    """What became of a project: the status of `kernel check`, and what it wrote into --json.

    clean: nothing. findings: an error with a line, or a result that is wrong. stopped: without one, a kernel that
    crashed or came to no end. refused: without either, its own host code does not take shapes or types that were made
    up. not compiled: the status is 2, or it was ended.
    """
    if status not in (0, 1):
        return "not compiled"
    outcomes = [one for result in results for one in result["outcomes"]]
    failed = [one for one in outcomes if one["status"] == "fail"]
    lost = [one for one in failed if one["where"]]
    if len(failed) > len(lost) or any(one["severity"] != "note" for result in results for one in result["findings"]):
        return "findings"
    if lost:
        return "stopped"
    return "refused" if any(one["status"] == "error" for one in outcomes) else "clean"


def check(path: Path, timeout: float) -> dict:
    """Its state, and what `kernel check` printed."""
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "result.json"
        command = [sys.executable, "-m", "ophook_npu", "kernel", "check", str(path), "--json", str(told)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=timeout)
            status, text = done.returncode, done.stdout + done.stderr
        except subprocess.TimeoutExpired:
            status, text = -1, f"ended after {timeout:g} s"
        results = json.loads(told.read_text(encoding="utf-8")) if told.is_file() else []
    return {"state": state(status, results), "text": text}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkout", type=Path, help="folder that holds the repositories")
    parser.add_argument("--only", default="", help="projects whose path contains this")
    parser.add_argument("--log", type=Path, default=Path("build/published_projects"), help="a folder for the results")
    parser.add_argument(
        "--table", type=Path, help="a document with the marks <!-- projects --> and <!-- end of projects -->"
    )
    parser.add_argument("--timeout", type=float, default=240, help="seconds for one project")
    options = parser.parse_args()
    checkout = options.checkout or Path(__file__).parents[1] / "build" / "published"
    if options.checkout is None:
        try:
            fetch(checkout, COMMITS)
        except OphookError as error:
            print(error, file=sys.stderr)
            return 2
    todo = [(name, path) for name in COMMITS for path in projects(checkout / name.split("/")[1])]
    todo = [(name, path) for name, path in todo if options.only in f"{name}/{path}"]

    def one(at: tuple[str, Path]) -> str:
        name, path = at
        log = options.log / name.replace("/", "+") / f"{'+'.join(path.parts)}.json"
        if not log.is_file():
            log.parent.mkdir(parents=True, exist_ok=True)
            log.write_text(json.dumps(check(checkout / name.split("/")[1] / path, options.timeout)), encoding="utf-8")
        became = json.loads(log.read_text(encoding="utf-8"))["state"]
        print(f"{became:13}{name}/{path}", flush=True)
        return became

    with ThreadPoolExecutor(2) as pool:
        counted = Counter(zip((name for name, _ in todo), pool.map(one, todo), strict=True))
    if options.table:
        write(options.table, counted)
    states = Counter[str]()
    for (_, became), times in counted.items():
        states[became] += times
    print(f"{len(todo)} projects: {', '.join(f'{states[each]} {each}' for each in STATES)}")
    return int(states["not compiled"] > 0)


def write(page: Path, counted: Mapping[tuple[str, str], int]) -> None:
    """The table, a row for each repository, and their sums."""
    counts = {name: [counted[name, became] for became in STATES] for name in COMMITS}
    rows = [("repository", "projects", *STATES), ("---",) * (len(STATES) + 2)]
    rows += [(f"{name} at `{COMMITS[name][:8]}`", sum(each), *each) for name, each in counts.items()]
    sums = [sum(each) for each in zip(*counts.values(), strict=True)]
    rows.append(("all", sum(sums), *sums))
    text = "\n".join(f"| {' | '.join(map(str, row))} |" for row in rows)
    try:
        marked.replace(page, "<!-- projects -->", "<!-- end of projects -->", text)
    except marked.NoMarks as error:
        sys.exit(str(error))


if __name__ == "__main__":
    sys.exit(main())
