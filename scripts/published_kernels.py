"""Run Ascend C kernels that others published, unmodified, and compare each with a reference written here.

    python scripts/published_kernels.py                      # fetches both repositories at the commits below
    python scripts/published_kernels.py --checkout DIR       # takes DIR/sgl-kernel-npu and DIR/vllm-ascend as they are
    python scripts/published_kernels.py --table FILE         # writes the table into docs/published-kernels.md, say

Nothing of these repositories is in ours. A kernel is run only if no file that it includes is under CANN's licence.
Exit status: 0 all equal, 1 some differ, 2 a source is missing or does not compile.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from itertools import chain
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import marked
from published import arrays, caches, lora
from published.case import SGL, VLLM, Case

from ophook_npu import recipes
from ophook_npu.errors import OphookError
from ophook_npu.kernel import isolated
from ophook_npu.kernel.source import Entry
from ophook_npu.npu import autoload

COMMITS = {SGL: "f425bdf1e191a7682296d3b2ed0b927d4e37d671", VLLM: "182b75ea84ff13ece27b57391331ef8935410aea"}
_FOREIGN = "CANN Open Software"


def fetch(folder: Path, commits: Mapping[str, str] = COMMITS) -> None:
    """Each repository at its commit, without history, under ``folder``.

    Raises:
        OphookError: it cannot be fetched; nothing of it is left.
    """
    for repository, commit in commits.items():
        place = folder / repository.split("/")[1]
        if place.is_dir():
            continue
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as name:
            for command in (
                ["init", "--quiet"], ["remote", "add", "origin", f"https://github.com/{repository}"],
                ["fetch", "--quiet", "--depth", "1", "origin", commit], ["checkout", "--quiet", "FETCH_HEAD"],
            ):  # fmt: skip
                done = subprocess.run(["git", *command], cwd=name, capture_output=True, text=True, timeout=1800)
                if done.returncode:
                    raise OphookError(
                        "published_kernels", f"git {command[0]} of {repository}: {done.stderr.strip()}",
                        todo="--checkout DIR with the repositories",
                    )  # fmt: skip
            shutil.copytree(name, place, symlinks=True)


def entry_of(case: Case, checkout: Path) -> Entry:
    """
    Raises:
        OphookError: no such file, or one that it includes is under another licence.
    """
    source = checkout / case.repository.split("/")[1] / case.source
    if not source.is_file():
        raise OphookError("published_kernels", f"no such file: {source}", todo="--checkout, or leave it out to fetch")
    for path in recipes.included(source.resolve(), [source.parent.resolve()]):
        if _FOREIGN in path.read_text(errors="replace")[:3000]:
            raise OphookError("published_kernels", f"{path} is under CANN's licence", allowed="MIT, BSD or Apache-2.0")
    return Entry(source, case.macros, case.prelude, case.name)


def run(case: Case, checkout: Path, timeout: float) -> tuple[str, list[str]]:
    """What differs ("" : nothing), and the findings, each with its place."""
    entry = entry_of(case, checkout)
    entry.build(), entry.build_cube()
    report, difference = isolated.call(lambda: case.run(entry), timeout)
    places = [f"{Path(f.file).name}:{f.line}" if f.line else f.buffer for f in report.findings]
    found = [f"{f.severity} {f.kind} ({place})" for f, place in zip(report.findings, places, strict=True)]
    return difference, list(dict.fromkeys(found))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkout", type=Path, help="folder that holds sgl-kernel-npu and vllm-ascend")
    parser.add_argument(
        "--table", type=Path, help="a document with the marks <!-- published --> and <!-- end of published -->"
    )
    parser.add_argument("--only", default="", help="kernels whose name contains this")
    parser.add_argument("--timeout", type=float, default=120, help="seconds for one kernel")
    options = parser.parse_args()
    autoload.settle()
    checkout = options.checkout
    if checkout is None:
        checkout = Path(__file__).parents[1] / "build" / "published"
        try:
            fetch(checkout)
        except OphookError as error:
            print(error, file=sys.stderr)
            return 2
    rows, kernels, differ, broken = [], set(), 0, 0
    for make in chain(lora.cases(), caches.cases(), arrays.cases()):
        case = make()
        if options.only not in case.name:
            continue
        try:
            difference, findings = run(case, checkout, options.timeout)
        except OphookError as error:
            difference, findings, broken = str(error).splitlines()[0], [], broken + (error.where == "kernel")
        equal = not difference
        differ += not equal
        if equal:
            kernels.add((case.repository, case.source))
        print(
            f"{'equal' if equal else 'DIFFERS':8}{case.repository.split('/')[1]:16}{case.name:34}{'; '.join(findings)}",
            flush=True,
        )
        if difference:
            print(f"        {difference[:400]}")
        file = case.source.removeprefix("csrc/").replace("/op_kernel/", "/…/")
        result = "equal" if equal else difference[:160]
        shown = ", ".join(findings[:5]) + (f" and {len(findings) - 5} more" if len(findings) > 5 else "")
        cells = (case.repository, f"`{file}`", f"`{case.name}`", case.label, result, shown or "–")
        rows.append(f"| {' | '.join(cells)} |")
    print(f"{len(rows) - differ} runs of {len(kernels)} sources are equal; {differ} differ")
    if options.table:
        write(options.table, rows)
    return 2 if broken else 1 if differ else 0


def write(path: Path, rows: list[str]) -> None:
    head = ["| repository | source | kernel | run | result | findings |", "|---|---|---|---|---|---|"]
    commits = [f"- {name} at `{commit}`" for name, commit in COMMITS.items()]
    try:
        marked.replace(path, "<!-- published -->", "<!-- end of published -->", "\n".join([*commits, "", *head, *rows]))
    except marked.NoMarks as error:
        sys.exit(str(error))


if __name__ == "__main__":
    sys.exit(main())
