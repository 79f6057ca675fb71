#!/usr/bin/env python
"""The names that the vendor's Ascend C reference has pages of, and which of them our headers declare.

From checkouts of asc-devkit and of metadef, whose pages describe what an operator's host side is given,
``scripts/ascend_c_pages.py TREE METADEF`` writes `csrc/ascendc/pages.txt` (names, products and where the page stands;
no sentence of a page) and docs/ascend-c-api.md; without them it writes the document anew from the names that are kept
and the headers as they are.
"""

from __future__ import annotations

import argparse
import re
import subprocess
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from ophook_npu.kernel.pages import PAGES, Page, declared, has, pages

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "ascend-c-api.md"
_PRODUCTS = {"910b": "A2", "A3": "A3", "950": "950"}
# What these chapters describe runs on an Ascend950 alone, or not on an AI Core.
_CHAPTERS = ("SIMD-API", "Utils-API")
_METADEF = ("ge_namespace", "gert_namespace")
_TITLE = re.compile(r"#\s*([^<\n]+)")
_SUPPORT = re.compile(r"<!-- npu=\"([^\"]+)\"[^>]*-->\s*\n?\s*-[^\n]*[：:]\s*(支持|不支持)")


def _names(title: str) -> list[str]:
    title = re.sub(r"\\?[(（].*", "", title.replace("\\_", "_")).strip()
    parts = [part.strip().split("::")[-1] for part in re.split(r"[/、,，]|\s和\s", title)]
    return parts if all(re.fullmatch(r"~?[A-Za-z_][A-Za-z0-9_]*", part) for part in parts) else []


def read(top: Path, chapters: tuple[str, ...], name: str = "") -> Iterator[Page]:
    """One page a name, of the ``chapters`` under ``top``; a page without a list of products speaks for all.

    ``name``: what comes before a chapter's own.
    """
    for path in sorted(top.rglob("*.md")):
        place = path.relative_to(top)
        text = path.read_text(encoding="utf-8")
        title = _TITLE.match(text.lstrip())
        if place.parts[0] not in chapters or "原型" not in text or not title:
            continue
        said = {
            _PRODUCTS[key]: word == "支持"
            for keys, word in _SUPPORT.findall(text)
            for key in keys.split(",")
            if key in _PRODUCTS
        }
        products = tuple(product for product in _PRODUCTS.values() if said.get(product, not said))
        for one in _names(title[1].strip()):
            yield Page(one, products, f"{name}{place.parent}")


def _commit(tree: Path) -> str:
    command = ["git", "-C", str(tree), "rev-parse", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def write(tree: Path, metadef: Path) -> None:
    pages = {*read(tree / "docs" / "zh" / "api", _CHAPTERS), *read(metadef / "docs" / "api", _METADEF, "metadef/")}
    found = sorted(pages, key=lambda page: (page.chapter, page.name))
    commits = f"asc-devkit at {_commit(tree)}, metadef at {_commit(metadef)}"
    lines = [f"# {commits}: names of pages, and the products that each lists"]
    for chapter, those in groupby(found, key=lambda page: page.chapter):
        lines.append(f"= {chapter}")
        lines += [f"{page.name} {' '.join(page.products)}".rstrip() for page in those]
    PAGES.write_text("\n".join(lines) + "\n", encoding="utf-8")


def document() -> str:
    """docs/ascend-c-api.md as it is to be."""
    every = pages()
    there = {page for page in every if has(page)}
    here = [page for page in every if "A2" in page.products]
    source = PAGES.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ").split(":")[0].replace(", ", ",\n")
    have = sum(page in there for page in here)
    lines = [
        "# Which names of Ascend C are there",
        "",
        "Written by `scripts/ascend_c_pages.py` from the names of the vendor's pages",
        f"({source}) and from [our headers](ascend-c.md).",
        f"The reference has {len(every)} pages of functions, types and macros; {len(here)} of them list an Atlas A2.",
        f"Of these, {have} are simulated and {len(here) - have} are refused: a kernel that uses one does not compile,",
        "and the message names it and its page. Of a simulated name an overload may be missing, which the compiler",
        "then says. The other",
        f"{len(every) - len(here)} pages are of other products, and not applicable; SIMT and AI CPU are not",
        "simulated.",
        "",
        "| chapter | pages for an Atlas A2 | simulated | refused by name |",
        "|---|---|---|---|",
    ]
    for chapter, group in groupby(here, key=lambda page: page.chapter):
        those = list(group)
        names = ", ".join(f"`{name}`" for name in sorted({page.name for page in those if page not in there})) or "–"
        simulated = sum(page in there for page in those)
        lines.append(f"| {chapter.replace('SIMD-API/', '')} | {len(those)} | {simulated} | {names} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs="*", type=Path, metavar="TREE", help="checkouts of asc-devkit and metadef")
    options = parser.parse_args()
    if len(options.trees) not in (0, 2):
        parser.error("either both checkouts, asc-devkit's and metadef's, or none")
    if options.trees:
        write(*options.trees)
    TARGET.write_text(document(), encoding="utf-8")
    print(f"{TARGET.name}: {len(pages())} pages, {len(declared())} names in our headers")


if __name__ == "__main__":
    main()
