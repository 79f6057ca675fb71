#!/usr/bin/env python3
"""Count what the pages say in words of a first phase, and what holds each: a rule of the tables, or why there is none.

usage: scripts/rules_report.py TREE… [--all]

Each TREE is a checkout that `device_rules.py` reads. Three statements are counted by function: that two data types are
the same, that a tensor has no more than eight dimensions, and that a null pointer is refused. `rule`: the table has
one. `check`: CANN's own check can be followed on every product and does not ask for it, and it decides. `nothing`:
neither page nor check nor definition say it so that it can be read; these are named, and with --all the others too.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from device_checks import TENSORS, Followed
from device_rules import INVALID, marked, prototypes, refused_with, section_of, text

from ophook_npu.sim import rules

_SAME = re.compile("数据类型[^。；;|]{0,30}?(?:一致|相同)")
_EIGHT = re.compile("(?:维度?|dim)[^。；;]{0,12}(?:大于|超过|高于|超出|>)[^。；;]{0,4}8|8维以上", re.IGNORECASE)
_NULL = 161001


def said(section: str) -> Iterator[str]:
    """Which of the three statements a function's part of a page has."""
    if _SAME.search(text(section)):
        yield "dtype"
    if _EIGHT.search(refused_with(INVALID, section)):
        yield "ranks"
    if refused_with(_NULL, section):
        yield "null"


def has_rule(function: rules.Function, statement: str) -> bool:
    tensors = [one for one in function.parameters if one.kind in TENSORS]
    if statement == "dtype":
        return any(key.partition(":")[0] == "dtype" for one in function.parameters for key in one.relations)
    if statement == "ranks":
        return any(one.ranks and max(one.ranks) <= 8 for one in tensors)
    return any(one.required or "either" in one.relations for one in function.parameters)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs="+", type=Path, metavar="TREE")
    parser.add_argument("--all", action="store_true", help="name the functions that a check decides, too")
    options = parser.parse_args()
    sys.setrecursionlimit(10000)
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for tree in options.trees:
        for path in sorted(tree.rglob("docs/acl*.md")):
            page = marked(path.read_text())
            functions = prototypes(page) if "experimental" not in path.parts else []
            for name, _ in functions:
                function = rules.table().get(name)
                for statement in said(section_of(page, name, len(functions) == 1)) if function else ():
                    held = "rule" if has_rule(function, statement) else ""
                    held = held or ("check" if Followed(tree, function).everywhere() else "nothing")
                    found[statement, held].append(name)
    print("| said in words | functions | rule | check | nothing |\n|---|---:|---:|---:|---:|")
    for statement in ("dtype", "ranks", "null"):
        counts = [len(set(found[statement, held])) for held in ("rule", "check", "nothing")]
        print(f"| {statement} | {sum(counts)} | {' | '.join(map(str, counts))} |")
    for (statement, held), names in sorted(found.items()):
        if held == "nothing" or (held == "check" and options.all):
            print(f"{statement}, {held}: {' '.join(sorted(set(names)))}")


if __name__ == "__main__":
    main()
