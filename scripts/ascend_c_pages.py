#!/usr/bin/env python
"""The names that the vendor's Ascend C reference has pages of, and which of them our headers declare.

From checkouts of asc-devkit and of metadef, whose pages describe what an operator's host side is given,
``scripts/ascend_c_pages.py TREE METADEF`` writes `csrc/ascendc/pages.txt` (names, products and where the page stands;
no sentence of a page), `csrc/ascendc/page_headers.txt` (the headers that pages name) and docs/ascend-c-api.md; without
them it writes the document anew from the names that are kept
and the headers as they are.
"""

from __future__ import annotations

import argparse
import re
import subprocess
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from ophook_npu.kernel.pages import PAGES, Page, declared, has, pages

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "ascend-c-api.md"
HEADERS = PAGES.with_name("page_headers.txt")
_PRODUCTS = {"910b": "A2", "A3": "A3", "950": "950"}
_CHAPTERS = ("SIMD-API", "SIMT-API", "Utils-API")  # the others describe what does not run on an AI Core
_METADEF = ("ge_namespace", "gert_namespace")
# Chapters of the advanced interface, and the folders of their headers.
_ADVANCED = {
    "数学计算": "math", "激活函数": "activation", "归一化操作": "normalization", "量化操作": "quantization",
    "归约操作": "reduce", "排序操作": "sort", "索引计算": "index", "数据过滤": "filter", "张量变换": "transpose",
    "数据填充": "pad", "比较选择": "select",
}  # fmt: skip
_TARGETS = {
    "basic_api/": "kernel_operator.h", "kernel_operator_": "kernel_operator.h", "adv_api/": "kernel_operator.h",
    "lib/": "kernel_operator.h", "utils/": "kernel_operator.h", "c_api/": "c_api/asc_simd.h",
}  # fmt: skip
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


def write_headers(tree: Path) -> None:
    """The headers that pages name, and those of the advanced interface, whose names are its functions'.

    Of what is not simulated (tensors with a layout, convolutions) there is none: the compiler names it.
    """
    named: set[str] = set()
    for page in (tree / "docs" / "zh" / "api" / "SIMD-API").rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        named |= {name for line in re.findall("头文件路径.*", text) for name in re.findall(r"[\w/]+\.h", line)}
    for page in read(tree / "docs" / "zh" / "api", _CHAPTERS):
        category = next((folder for word, folder in _ADVANCED.items() if f"/{word}/" in f"{page.chapter}/"), None)
        if category and not page.name.startswith("Get"):
            named |= {f"{top}/{category}/{page.name.lower()}.h" for top in ("adv_api", "lib")}
    by_target: dict[str, list[str]] = {}
    for name in sorted(named):
        target = next((target for begin, target in _TARGETS.items() if name.startswith(begin)), None)
        if target:
            by_target.setdefault(target, []).append(name)
    lines = [
        f"# asc-devkit at {_commit(tree)}: headers by which its pages include what ours declare; written by a script"
    ]
    for target, names in by_target.items():
        lines += [target, *(f"    {name}" for name in names)]
    HEADERS.write_text("\n".join(lines) + "\n", encoding="utf-8")


def document() -> str:
    """docs/ascend-c-api.md as it is to be."""
    every = pages()
    there = {page for page in every if has(page)}
    here = [page for page in every if "A2" in page.products]
    source = PAGES.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ").split(":")[0].replace(", ", ",\n")
    newer = [page for page in every if "950" in page.products and "A2" not in page.products]
    have, have_newer = (sum(page in there for page in those) for those in (here, newer))
    lines = [
        "# Which names of Ascend C are there",
        "",
        "Written by `scripts/ascend_c_pages.py` from the names of the vendor's pages",
        f"({source}) and from [our headers](ascend-c.md).",
        f"The reference has {len(every)} pages of functions, types and macros; {len(here)} of them list an Atlas A2.",
        f"Of these, {have} are simulated and {len(here) - have} are refused: a kernel that uses one does not compile,",
        "and the message names it and its page. Of a simulated name an overload may be missing, which the compiler",
        f"then says. {len(newer)} pages list an Ascend 950 and no Atlas A2; {have_newer} of them are simulated.",
        f"The other {len(every) - len(here) - len(newer)} pages are of other products, and not applicable. What AI",
        "CPUs have is in [ascend-c.md](ascend-c.md).",
        "",
    ]
    for product, those in (("an Atlas A2", here), ("an Ascend 950 alone", newer)):
        lines += [f"| chapter | pages for {product} | simulated | refused by name |", "|---|---|---|---|"]
        lines += _rows(those, there)
        lines.append("")
    return "\n".join(lines)


def _rows(those: Sequence[Page], there: Collection[Page]) -> Iterator[str]:
    for chapter, group in groupby(those, key=lambda page: page.chapter):
        rows = list(group)
        names = ", ".join(f"`{name}`" for name in sorted({page.name for page in rows if page not in there})) or "–"
        simulated = sum(page in there for page in rows)
        yield f"| {chapter.replace('SIMD-API/', '')} | {len(rows)} | {simulated} | {names} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs="*", type=Path, metavar="TREE", help="checkouts of asc-devkit and metadef")
    options = parser.parse_args()
    if len(options.trees) not in (0, 2):
        parser.error("either both checkouts, asc-devkit's and metadef's, or none")
    if options.trees:
        write(*options.trees)
        write_headers(options.trees[0])
    TARGET.write_text(document(), encoding="utf-8")
    print(f"{TARGET.name}: {len(pages())} pages, {len(declared())} names in our headers")


if __name__ == "__main__":
    main()
