"""What a kernel may use on each simulated SoC: cores of csrc/core/socs.inc, memories of
csrc/ascendc/architectures.inc.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from ophook_npu import soc as simulated
from ophook_npu.soc import CSRC

_SOC = re.compile(r'^SOC\("([^"]+)",\s*(\d+),\s*(\d+),\s*(\d+),\s*(\d+)', re.MULTILINE)
_ARCHITECTURE = re.compile(r'^ARCHITECTURE\((\d+),\s*(\d+),\s*"([^"]+)",\s*([01]),\s*([^)]*)\)', re.MULTILINE)


@dataclass(frozen=True)
class Soc:
    """Sizes in bytes, of one core's local memories."""

    name: str
    architecture: int
    npu_arch: int
    both_units: bool
    cube_cores: int
    vector_cores: int
    ub: int
    l1: int
    l0a: int
    l0b: int
    l0c: int
    bt: int
    fb: int
    l2: int
    hbm: int

    @property
    def macros(self) -> dict[str, str]:
        """What the device's compiler tells the sources of an operator project, where that is not what they find without
        it. Those for an Ascend950 would use its registers, which a project cannot.
        """
        return {"__CCE_AICORE__": str(self.architecture)} if self.both_units else {}


def _product(text: str) -> int:
    value = 1
    for factor in text.split("*"):
        value *= int(factor)
    return value


def _architectures() -> list[tuple[str, ...]]:
    return _ARCHITECTURE.findall((CSRC / "ascendc" / "architectures.inc").read_text())


def architectures() -> list[tuple[int, int]]:
    """``__CCE_AICORE__`` and ``__NPU_ARCH__`` of each."""
    return [(int(number), int(arch)) for number, arch, *_ in _architectures()]


def any_of(product: str) -> str | None:
    """A SoC of a product, as AddConfig names it: ``ascend310b`` → ``Ascend310B1``; None: none is simulated."""
    pattern = re.compile(rf"{re.escape(product)}\d*", re.IGNORECASE)
    return next((name for name in simulated.names() if pattern.fullmatch(name)), None)


@functools.cache
def find(name: str | None = None) -> Soc:
    """The SoC of that name, ``Ascend910B4`` by default.

    Raises:
        OphookError: it is not known; names the nearest.
    """
    name = simulated.check(name or simulated.DEFAULT)
    rows = {row[0]: [int(n) for n in row[1:]] for row in _SOC.findall((CSRC / "core" / "socs.inc").read_text())}
    hbm, cube, vector, l2 = rows[name]
    for number, arch, prefixes, both, sizes in _architectures():
        if any(name.startswith(prefix) for prefix in prefixes.split()):
            ub, l1, l0a, l0b, l0c, bt, fb = (_product(size) for size in sizes.split(","))
            memories = (ub, l1, l0a, l0b, l0c, bt, fb)
            return Soc(name, int(number), int(arch), both == "1", cube, vector, *memories, l2 << 20, hbm)
    raise AssertionError(f"{name} has no architecture")


_TELLS = re.compile(r'^TELLS\("(\w+)", "(\w+)", (\w+)\)', re.MULTILINE)
_OF_ARCHITECTURE = re.compile(r'^OF_ARCHITECTURE\("(\w+)", "(\w+)", (.*)\)$', re.MULTILINE)
_UNITS = {200: "M", 300: "M"}  # of older names of architectures, as dav-m200; the others have a C


def platform_file(name: str) -> str:
    """CANN's data/platform_config/NAME.ini, as far as the figures are known: build scripts and tools read it, and the
    page of atc's ``--aicore_num`` names it.
    """
    soc = find(name)
    products = " ".join(prefixes for _, _, prefixes, *_ in _architectures()).split()
    sections: dict[str, dict[str, object]] = {
        "version": {
            "SoC_version": name,
            "Short_SoC_version": next(product for product in products if name.startswith(product)),
            "AIC_version": f"AIC-{_UNITS.get(soc.architecture, 'C')}-{soc.architecture}",
        }
    }
    text = (CSRC / "ascendc" / "host" / "details" / "platform.inc").read_text()
    for section, key, field in _TELLS.findall(text):
        sections.setdefault(section, {})[key] = getattr(soc, field)
    column = [architecture for architecture, _ in architectures()].index(soc.architecture)
    for section, key, values in _OF_ARCHITECTURE.findall(text):
        lines = sections.setdefault(section, {})
        if value := re.findall(r'"([^"]*)"', values)[column]:
            lines |= {str(len(lines)): f"{key}|{value}"} if section.endswith("DtypeMap") else {key: value}
    return "\n".join(
        f"[{section}]\n" + "".join(f"{key}={value}\n" for key, value in rows.items())
        for section, rows in sections.items()
    )
