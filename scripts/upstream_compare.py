"""Compare two runs of scripts/upstream_tests.sh test by test: which ended in another way.

usage: upstream_compare.py ONE OTHER    (the folders given as --out; exit status 0 where every test ended the same)

A test is told by its file, class and name. Ways to end: passed, failed, skipped, and for a file without a report how
its process ended.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

_WAYS = {"failure": "failed", "error": "failed", "skipped": "skipped"}


def outcomes(folder: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for report in sorted(folder.glob("*.xml")):
        for case in ElementTree.parse(report).iter("testcase"):
            way = next((_WAYS[child.tag] for child in case if child.tag in _WAYS), "passed")
            # An error while a test is taken down is a second entry of the same name.
            name = f"{report.stem}: {case.get('classname', '').split('.')[-1]}.{case.get('name')}"
            found[name] = "failed" if "failed" in (way, found.get(name)) else way
    for died in sorted(folder.glob("*.died")):
        found[died.stem] = f"no report: {died.read_text(encoding='utf-8').strip()}"
    return found


def main(one: str, other: str) -> int:
    first, second = outcomes(Path(one)), outcomes(Path(other))
    if not first or not second:
        sys.exit(f"no reports in {one if not first else other}")
    differing = [
        f"{name}: {first.get(name, 'absent')}, {second.get(name, 'absent')}"
        for name in sorted(first.keys() | second.keys())
        if first.get(name) != second.get(name)
    ]
    for folder, found in ((one, first), (other, second)):
        files = len({name.split(":")[0] for name in found})
        ways = ", ".join(f"{number} {way}" for way, number in Counter(found.values()).most_common())
        print(f"{folder}: {files} files, {len(found)} tests: {ways}")
    print(*differing, sep="\n", end="\n" if differing else "")
    print(f"{len(differing)} tests ended in another way")
    return 1 if differing else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
