#!/usr/bin/env python3
"""Which aclnn functions with a page the simulator has: docs/aclnn-api.md.

usage: scripts/aclnn_pages.py

Written from our own data: the rules, which name every function and its page; the functions that the built libopapi
exports; and `ophook_npu/csrc/rules/refused.txt`, which says why the others are not there. `tests/sim/test_aclnn_api.py`
compares the document with them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from ophook_npu import sim
from ophook_npu.errors import OphookError
from ophook_npu.sim import rules
from ophook_npu.toolchain import exported

TARGET = Path(__file__).resolve().parent.parent / "docs" / "aclnn-api.md"
REFUSED = rules.FOLDER / "refused.txt"
NO_PRODUCT = "its page lists none of the simulated products"


def simulated(root: Path) -> set[str]:
    """The functions of the operator interface that the built library has."""
    suffix = "GetWorkspaceSize"
    return {name.removesuffix(suffix) for name in exported(root / "lib64" / "libopapi.so") if name.endswith(suffix)}


def reasons() -> dict[str, str]:
    """Function -> why it is not there: a line of the file is a reason, the lines behind it that begin with a space its
    functions.

    Raises:
        OphookError: a function is there twice.
    """
    found: dict[str, str] = {}
    reason = ""
    for line in REFUSED.read_text().splitlines():
        if line.startswith(" "):
            for name in line.split():
                if name in found:
                    raise OphookError("aclnn pages", f"{name} is in {REFUSED.name} twice")
                found[name] = reason
        elif line and not line.startswith("#"):
            reason = line
    return found


def why_not(functions: Mapping[str, rules.Function], have: set[str]) -> dict[str, str]:
    """Function -> why it is not there, for all with a page that the simulator has not.

    Raises:
        OphookError: no reason is told for one, or one is told that is not needed.
    """
    told = reasons()
    lacking = {name: function for name, function in functions.items() if name not in have}
    found = {name: told.get(name) or (NO_PRODUCT if not one.families else "") for name, one in lacking.items()}
    if unexplained := sorted(name for name, why in found.items() if not why):
        raise OphookError("aclnn pages", f"{REFUSED.name} has no reason for {', '.join(unexplained)}")
    if needless := sorted(name for name in told if name in have or name not in functions):
        raise OphookError("aclnn pages", f"{REFUSED.name} gives reasons that nobody asks for: {', '.join(needless)}")
    return found


def _names(functions: Iterable[str]) -> str:
    return ", ".join(f"`{re.sub('^aclnn', '', name)}`" for name in sorted(functions)) or "–"


def document(have: set[str]) -> str:
    functions = rules.table()
    lacking = why_not(functions, have)
    folders: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name, function in functions.items():
        repository, folder, *_ = function.page.split("/")
        folders[repository, folder].append(name)
    lines = [
        "# Which aclnn functions are there",
        "",
        "Written by `scripts/aclnn_pages.py` from the rules and the built library. CANN's public pages",
        f"({'; '.join(rules.sources())})",
        f"describe {len(functions)} functions; the simulator has {len(functions) - len(lacking)} of them, on the",
        "products that each page lists (`ophook-npu sim rules FUNCTION`). A program that calls one of the others does",
        "not link, and the linker names it. Names stand without `aclnn`.",
        "",
        "| repository | functions | simulated | on no simulated product | refused |",
        "|---|---|---|---|---|",
    ]
    for repository in sorted({repository for repository, _ in folders}):
        all_ = [name for (owner, _), names in folders.items() if owner == repository for name in names]
        without = [name for name in all_ if lacking.get(name) == NO_PRODUCT]
        others = [name for name in all_ if name in lacking and name not in without]
        there = len(all_) - len(without) - len(others)
        lines.append(f"| {repository} | {len(all_)} | {there} | {len(without)} | {len(others)} |")
    lines += ["", "## Not there, and why", "", "| why | functions |", "|---|---|"]
    by_reason: dict[str, list[str]] = defaultdict(list)
    for name, why in lacking.items():
        by_reason[why].append(name)
    lines += [f"| {why} | {_names(names)} |" for why, names in sorted(by_reason.items())]
    lines += ["", "## There", "", "| folder of the pages | functions |", "|---|---|"]
    for (repository, folder), names in sorted(folders.items()):
        there_ = [name for name in names if name not in lacking]
        if there_:
            lines.append(f"| {repository}/{folder} | {_names(there_)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    TARGET.write_text(document(simulated(Path(sim.build()))), encoding="utf-8")


if __name__ == "__main__":
    main()
