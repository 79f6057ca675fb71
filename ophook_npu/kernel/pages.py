"""Names that the vendor's Ascend C reference has pages of, and what to say of one that our headers lack."""

from __future__ import annotations

import functools
import os
import re
from dataclasses import dataclass
from pathlib import Path

from ophook_npu import toolchain
from ophook_npu.soc import CSRC

ROOT = CSRC / "ascendc"
PAGES = ROOT / "pages.txt"
INTRINSICS = ROOT / "cce_pages.txt"  # of the compiler, kept by hand: their pages are in no repository
_NAMES = {"A2": "an Atlas A2", "A3": "an Atlas A3", "950": "Ascend950"}  # of products
_FILE = re.compile(r'# \d+ "([^"]+)"')
_STRING = re.compile(r'"(?:\\.|[^"\\])*"')
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_CLASS = re.compile(
    r"\b(?:class|struct)\s+(?:alignas\(\d+\)\s*)?(\w+)(?:<[^;{}()]*>)?(?:\s+final)?\s*(?::([^;{}]*))?\{"
)
_ALIAS = re.compile(r"\busing\s+(\w+)\s*=\s*([^;]*);")
_MEMBER = re.compile(r"\b([A-Za-z_]\w*)\s*[(;={,]")


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
    for line in (line for kept in (PAGES, INTRINSICS) for line in kept.read_text(encoding="utf-8").splitlines()):
        if line.startswith("# "):
            continue
        if line.startswith("= "):
            chapter = line[2:]
        else:
            name, *products = line.split()
            found.append(Page(name, tuple(products), chapter))
    return tuple(found)


@dataclass
class _Class:
    """``members`` are the names that its body declares or calls; ``bases``, by name, may have more of them."""

    members: set[str]
    bases: set[str]


@functools.cache
def _headers() -> tuple[str, ...]:
    """Our headers of Ascend C as the preprocessor leaves them: those for the device, for the host, and for programs.

    Each by itself, because they define some names twice.
    """
    texts = [_preprocessed(sorted((ROOT / folder).rglob("*.h"))) for folder in ("include", "host", "program")]
    # By itself: it includes a header of the torch_npu wheel.
    return (*texts, (CSRC / "include" / "acl" / "acl_rt_compile.h").read_text())


def _preprocessed(headers: list[Path], *macros: str) -> str:
    """What is ours of them, without strings."""
    included = [word for header in headers for word in ("-include", str(header))]
    roots = (ROOT / "host", ROOT / "include", CSRC, CSRC / "include")
    flags = ["-std=c++20", *(f"-I{root}" for root in roots), *macros]
    result = toolchain.run([*toolchain.compiler(), *flags, *included, "-E", "-dD", "-x", "c++", os.devnull])
    ours, lines = False, []
    for line in result.stdout.splitlines():
        if m := _FILE.match(line):
            ours = m[1].startswith(str(ROOT))
        elif ours:
            lines.append(_STRING.sub(" ", line))
    return "\n".join(lines)


@functools.cache
def declared() -> frozenset[str]:
    """Every identifier of our headers of Ascend C."""
    return frozenset(name for text in _headers() for name in _NAME.findall(text))


@functools.cache
def _interface(product: str) -> frozenset[str]:
    """Every identifier of the C interface's header for a product: the cube unit's functions are an Atlas A2's alone."""
    header = ROOT / "include" / "c_api" / "asc_simd.h"
    return frozenset(_NAME.findall(_preprocessed([header], f"-D__CCE_AICORE__={310 if product == '950' else 220}")))


@functools.cache
def _classes() -> dict[str, _Class]:
    """By name without capitals, as some chapters are named."""
    found: dict[str, _Class] = {}
    for text in _headers():
        for m in _CLASS.finditer(text):
            depth, end = 1, m.end()
            while depth and end < len(text):
                depth += {"{": 1, "}": -1}.get(text[end], 0)
                end += 1
            one = found.setdefault(m[1].lower(), _Class(set(), set()))
            one.members.update(_MEMBER.findall(text[m.end() : end]))
            one.bases.update(_NAME.findall((m[2] or "").lower()))
        for m in _ALIAS.finditer(text):
            found.setdefault(m[1].lower(), _Class(set(), set())).bases.update(_NAME.findall(m[2].lower()))
    return found


def _members(name: str, seen: frozenset[str] = frozenset()) -> set[str]:
    """Of the class ``name`` and of those that it is made of."""
    one = _classes().get(name)
    if one is None or name in seen:
        return set()
    return one.members.union(*(_members(base, seen | {name}) for base in one.bases))


# Functions although their chapter is that of a class.
_FREE = {"CreateCubeResGroup", "MakeLayout", "MakeShape", "MakeStride", "MakeTensorTrait", "is_layout"}
# By the end of a chapter: the class that it describes where it is not named after it.
_OWNERS = {
    **{f"{kind}-Tiling侧接口": f"{kind}Tiling" for kind in ("Conv3D", "Conv3DBackpropFilter", "Conv3DBackpropInput")},
    "HCCL-Kernel侧接口": "Hccl",
    "HCCL-Tiling侧接口": "Mc2CcTilingConfig",
    "ge_namespace/tensor": "ge::Tensor",  # gert's has a chapter of its own
}


def _class_of(page: Page) -> str | None:
    """The class of which the page describes a member: the chapter is named after it."""
    if page.name in _FREE:
        return None
    parts = page.chapter.lower().split("/")
    own = next((owner.lower() for end, owner in _OWNERS.items() if page.chapter.endswith(f"/{end}")), None)
    if own is None:  # each chapter of metadef's namespaces is a class's
        of_class = parts[0] == "metadef" and len(parts) == 3
        own = parts[2] if of_class else next((part for part in reversed(parts) if part in _classes()), None)
    return None if own == page.name.lower() else own


@functools.cache
def _described(names: frozenset[str]) -> frozenset[str]:
    """Pages of the C interface that ``names`` follow: one describes several functions, as asc_dcci does."""
    return frozenset(page.name for name in names if name.startswith("asc_") and (page := page_of(name)))


def has(page: Page) -> bool:
    """Whether our headers declare what the page describes."""
    if own := _class_of(page):
        return page.name in _members(own)
    if page.chapter.startswith("SIMD-API/C-API"):
        known = _interface("A2" if "A2" in page.products else "950")
        return page.name in known or page.name in _described(known)
    return page.name in declared() or f"{page.name}_ERROR" in declared()  # one page has a macro for each level


def page_of(name: str, product: str = "A2") -> Page | None:
    """The page that describes a name, one that lists the product if there is one. A page of the C interface describes
    several names: asc_dcci has asc_dcci_single.
    """
    those = [page for page in pages() if page.name == name]
    if not those and name.startswith("asc_"):
        those = [page for page in pages() if page.name.startswith("asc_") and name.startswith(f"{page.name}_")]
        those.sort(key=lambda page: -len(page.name))
    return next((page for page in those if product in page.products), those[0] if those else None)


def absent(name: str, owner: str | None = None, product: str = "A2") -> str | None:
    """What to say of a name that did not compile; None where no page has it, or our headers know it for the product.

    ``owner``: the class that has no such member. ``product``: what is compiled for.
    """
    own = next((one for one in pages() if owner and one.name == name and _class_of(one) == owner.lower()), None)
    page = own or page_of(name, product)
    if page is None:
        return None
    if product in page.products:
        known = _interface(product) if page.chapter.startswith("SIMD-API/C-API") else declared()
        if has(own) if own else name in known:
            return None
        return f"{name} is documented ({page.chapter}) and not implemented here: docs/ascend-c-api.md lists what is"
    products = " and ".join(_NAMES[one].removeprefix("an ") for one in page.products)
    products = products or "none of the simulated products"
    return f"{name} is documented ({page.chapter}) for {products} alone, not for {_NAMES[product]}"
