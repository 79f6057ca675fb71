"""Names that the vendor's Ascend C reference has pages of, and what to say of one that our headers lack."""

from __future__ import annotations

import functools
import os
import re
from dataclasses import dataclass

from ophook_npu import toolchain
from ophook_npu.soc import CSRC

ROOT = CSRC / "ascendc"
PAGES = ROOT / "pages.txt"
_FILE = re.compile(r'# \d+ "([^"]+)"')
_STRING = re.compile(r'"(?:\\.|[^"\\])*"')
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


@dataclass(frozen=True)
class Page:
    """``products``: those of A2, A3 and 950 that the page lists; ``chapter``: the folder in which it stands."""

    name: str
    products: tuple[str, ...]
    chapter: str


@functools.cache
def pages() -> tuple[Page, ...]:
    """All of them, by chapter."""
    found, chapter = [], ""
    for line in PAGES.read_text(encoding="utf-8").splitlines()[1:]:
        if line.startswith("= "):
            chapter = line[2:]
        else:
            name, *products = line.split()
            found.append(Page(name, tuple(products), chapter))
    return tuple(found)


@functools.cache
def declared() -> frozenset[str]:
    """Every identifier of our headers of Ascend C, for the device and for the host, as the preprocessor leaves them."""
    found: set[str] = set()
    # A kernel's side and the host's define some names twice, so each is looked at by itself.
    for folder in ("include", "host"):
        headers = [word for header in sorted((ROOT / folder).rglob("*.h")) for word in ("-include", str(header))]
        flags = ["-std=c++20", f"-I{ROOT / 'host'}", f"-I{ROOT / 'include'}", "-I", str(CSRC)]
        result = toolchain.run([*toolchain.compiler(), *flags, *headers, "-E", "-dD", "-x", "c++", os.devnull])
        ours = False
        for line in result.stdout.splitlines():
            if m := _FILE.match(line):
                ours = m[1].startswith(str(ROOT))
            elif ours:
                found.update(_NAME.findall(_STRING.sub(" ", line)))
    # By itself: it includes a header of the torch_npu wheel.
    found.update(_NAME.findall((CSRC / "include" / "acl" / "acl_rt_compile.h").read_text()))
    return frozenset(found)


def page_of(name: str) -> Page | None:
    """The page that describes a name. One of the C interface describes several: asc_dcci has asc_dcci_single."""
    those = [page for page in pages() if page.name == name]
    if not those and name.startswith("asc_"):
        those = [page for page in pages() if page.name.startswith("asc_") and name.startswith(f"{page.name}_")]
        those.sort(key=lambda page: -len(page.name))
    return next((page for page in those if "A2" in page.products), those[0] if those else None)


@functools.cache
def described() -> frozenset[str]:
    """The names of the pages that our headers follow: those of functions that they declare."""
    ours = declared()
    return ours | {page.name for name in ours if name.startswith("asc_") and (page := page_of(name))}


def absent(name: str) -> str | None:
    """What to say of a name that did not compile; None where no page has it, or our headers know it."""
    if name in declared():
        return None
    page = page_of(name)
    if page is None:
        return None
    if "A2" in page.products:
        return f"{name} is documented ({page.chapter}) and not implemented here: docs/ascend-c-api.md lists what is"
    products = " and ".join(f"Ascend{one}" if one == "950" else f"Atlas {one}" for one in page.products)
    products = products or "none of the simulated products"
    return f"{name} is documented ({page.chapter}) for {products} alone, not for an Atlas A2"
