"""The branch of torch_npu's repository for a torch version: ``git ls-remote --heads URL | python -m … VERSION``.

torch 2.7.1 is built from v2.7.1. A version without a branch of its own is built from the newest branch of its series,
and the newest versions, which have none at all, from master, whose version.txt lists them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable

from ophook_npu.errors import OphookError


def choose(torch_version: str, heads: Iterable[str]) -> str:
    """``heads``: branch names, or lines of git ls-remote. OphookError where the series is gone from the repository."""
    match = re.match(r"^(\d+)\.(\d+)\.(\d+)", torch_version)
    if match is None:
        raise OphookError("clone", f"'{torch_version}' is no torch version", allowed="for example 2.7.1")
    wanted = tuple(int(part) for part in match.groups())
    branches = [head.split("refs/heads/")[-1].strip() for head in heads]
    series = sorted(
        tuple(int(part) for part in found.groups())
        for found in (re.match(r"^v(\d+)\.(\d+)\.(\d+)$", branch) for branch in branches)
        if found
    )
    if wanted in series:
        return f"v{match[0]}"
    same = [version for version in series if version[:2] == wanted[:2]]
    if same:
        return "v" + ".".join(str(part) for part in same[-1])
    if "master" in branches and (not series or wanted > series[-1]):
        return "master"
    raise OphookError(
        "clone",
        f"the repository has no branch for torch {torch_version}",
        allowed=", ".join("v" + ".".join(str(part) for part in version) for version in series) or "none",
        todo="name one with --branch",
    )


if __name__ == "__main__":
    try:
        print(choose(sys.argv[1], sys.stdin))
    except OphookError as error:
        sys.exit(str(error))
