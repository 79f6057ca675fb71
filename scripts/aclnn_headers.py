#!/usr/bin/env python3
"""Write which header each aclnn function is in, as data: `ophook_npu/csrc/rules/headers.txt`.

usage: scripts/aclnn_headers.py TREE…

Each TREE is a checkout of one of CANN's repositories of operators; their `aclnn_*.h` are enough of it. Only names are
taken: those of headers and of the functions in them, where a function is in another header than its own name says.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from ophook_npu.sim.headers import EXCEPTIONS, header_of

_FIRST_PHASE = re.compile(r"\b(acl(?:nn)?[A-Z]\w*)GetWorkspaceSize\s*\(")
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs="+", type=Path, metavar="TREE")
    declared: dict[str, set[str]] = defaultdict(set)
    sources = []
    for tree in parser.parse_args().trees:
        command = ["git", "-C", str(tree), "rev-parse", "HEAD"]
        commit = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        sources.append(f"{tree.resolve().name} at {commit}")
        for path in tree.rglob("acl*_*.h"):
            if "experimental" not in path.parts:
                for name in _FIRST_PHASE.findall(_COMMENT.sub("", path.read_text(errors="replace"))):
                    declared[name].add(path.name)
    other: dict[str, list[str]] = defaultdict(list)
    for name, headers in sorted(declared.items()):
        if header_of(name) not in headers:
            other[min(headers)].append(name)
    lines = [f"# {', '.join(sources)}"]
    lines += [f"{header} {' '.join(names)}" for header, names in sorted(other.items())]
    EXCEPTIONS.write_text("\n".join(lines) + "\n")
    moved = sum(map(len, other.values()))
    print(f"{EXCEPTIONS.name}: {len(declared)} functions, {moved} of them in a header of another name")


if __name__ == "__main__":
    main()
