"""What is put into op-plugin: a folder with one entry, its kernel, and the derivative where there is one.

::

    op_plugin_functions.yaml   a list with one entry, as it should stand under ``custom:``
    *.cpp                      the kernel, defining op_api::<name>; none for a structured entry (``gen_opapi``)
    derivatives.yaml           optional: a list with one entry, for autograd in C++
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ophook_npu import untrusted
from ophook_npu.errors import OphookError
from ophook_npu.patch.layout import Layout
from ophook_npu.plural import counted

ENTRY_FILE = "op_plugin_functions.yaml"
DERIVATIVES_FILE = "derivatives.yaml"
_SIGNATURE = re.compile(r"^(?P<name>[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)?)\(.*\)\s*->\s*\S.*$", re.DOTALL)
_SECTION_KEYS = ("func", "op_api", "acl_op", "gen_opapi", "exposed", "sparse", "internal_format_opapi", "tags", "dvm")


@dataclass(frozen=True)
class PatchOperator:
    folder: Path
    name: str  # with the overload: "npu_add_custom" or "npu_add_custom.out"
    signature: str
    entry: dict[str, Any]
    kernels: tuple[Path, ...]
    derivative: dict[str, Any] | None

    def entry_for(self, layout: Layout) -> dict[str, Any]:
        """The entry in the form that this tree reads. OphookError where the tree's version is not covered."""
        covered = any(
            layout.version in covered_versions(self.entry.get(key), layout, self.name) for key in ("op_api", "acl_op")
        )
        if not covered:
            raise OphookError(
                f"patch {self.name}",
                f"its op_api does not cover torch {layout.version}; upstream would drop it silently",
                allowed="all_version, one version, or [first, last|newest]",
                todo=f"correct {self.folder / ENTRY_FILE}",
            )
        if not layout.per_version:
            return dict(self.entry)
        if "gen_opapi" in self.entry:
            raise OphookError(
                f"patch {self.name}",
                "this op-plugin generates no structured kernels (gen_opapi)",
                todo="write the kernel by hand, or take op-plugin 6.0.rc3 or newer",
            )
        spaces = [ns for ns in ("acl_op", "op_api") if ns in self.entry]
        entry: dict[str, Any] = {"func": self.signature, "impl_ns": ", ".join(spaces)}
        if "exposed" in self.entry:
            entry["exposed"] = True
        return entry

    def derivative_for(self, layout: Layout, ranged: bool) -> dict[str, Any]:
        """The derivative in the form that this tree reads; ``ranged``: its file knows all_version and ranges."""
        if self.derivative is None:
            what = f"{self.folder} has no {DERIVATIVES_FILE}"
            raise OphookError(f"patch {self.name}", what, todo="write one, or leave out --autograd")
        derivative = dict(self.derivative)
        if layout.per_version:
            derivative.pop("version", None)
        elif not ranged:
            covered = covered_versions(derivative.get("version", "all_version"), layout, self.name)
            derivative["version"] = ", ".join(covered)
        return derivative


def same_signature(one: str, other: str) -> bool:
    return " ".join(one.split()).replace(" (", "(") == " ".join(other.split()).replace(" (", "(")


def name_of(signature: str) -> str:
    return signature.split("(", 1)[0].strip()


def covered_versions(value: Any, layout: Layout, name: str) -> tuple[str, ...]:
    """The versions that ``op_api: value`` means; refuses what makes upstream's generator fail."""
    if value is None:
        return ()
    known = layout.versions
    if value == "all_version":
        return known
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(","))
    if layout.per_version:  # a range cannot be judged without the list; the tree's own folder decides
        return known
    good = isinstance(value, list) and len(value) == 2 and value[0] in known and value[1] in (*known, "newest")
    if not good:
        raise OphookError(
            f"patch {name}",
            f"version range {value!r}",
            allowed=f"all_version, one version, or [first, last|newest] out of {', '.join(known)}",
            todo="upstream's code generation stops with a traceback on anything else",
        )
    last = len(known) - 1 if value[1] == "newest" else known.index(value[1])
    return known[known.index(value[0]) : last + 1]


def load_operator(path: Path) -> PatchOperator:
    """Reads a folder (or its op_plugin_functions.yaml). OphookError where entry and kernel do not belong together."""
    folder = path.parent if path.is_file() else path
    if not (folder / ENTRY_FILE).is_file():
        raise OphookError(
            "patch", f"{folder} has no {ENTRY_FILE}: kernel without entry", todo="name an operator's folder with --op"
        )
    entry = _one_item(folder / ENTRY_FILE, "func")
    signature = str(entry["func"])
    match = _SIGNATURE.match(signature)
    if match is None:
        raise OphookError(
            "patch",
            f"'{signature}' in {folder / ENTRY_FILE} is no signature",
            allowed="name(Type argument, …) -> Type",
        )
    name = match["name"]
    unknown = sorted(set(entry) - set(_SECTION_KEYS))
    if unknown:
        raise OphookError(
            f"patch {name}", f"unknown keys {', '.join(unknown)} in the entry", allowed=", ".join(_SECTION_KEYS)
        )
    kernels = tuple(sorted(folder.glob("*.cpp")))
    for kernel in kernels:
        _check_kernel(kernel)
    _pair(name, entry, kernels, folder)
    derivative = None
    if (folder / DERIVATIVES_FILE).is_file():
        derivative = _one_item(folder / DERIVATIVES_FILE, "name")
        if not same_signature(str(derivative["name"]), signature):
            raise OphookError(
                f"patch {name}", f"{DERIVATIVES_FILE} has another signature: {derivative['name']}", allowed=signature
            )
    return PatchOperator(folder, name, signature, entry, kernels, derivative)


def _one_item(path: Path, key: str) -> dict[str, Any]:
    try:
        items = yaml.safe_load(untrusted.content(path, "patch", _MOST))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise OphookError("patch", f"{path} is not valid YAML: {error}") from error
    if not isinstance(items, list) or len(items) != 1 or not isinstance(items[0], dict) or key not in items[0]:
        count = len(items) if isinstance(items, list) else 0
        raise OphookError(
            "patch", f"{path} has {counted(count, 'entry', 'entries')}", allowed=f"a list with exactly one '- {key}: …'"
        )
    _check_plain(items[0], path)
    return dict(items[0])


_MOST = 2 << 20  # bytes of a file of an operator's folder
_KERNEL_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*\.cpp")


def _check_kernel(kernel: Path) -> None:
    """It is copied into the tree: a link would bring in any file of this machine."""
    if not _KERNEL_NAME.fullmatch(kernel.name):
        raise OphookError("patch", f"the kernel {kernel.name!r}", allowed="a name of letters, digits, _ . + and -")
    if kernel.is_symlink():
        raise OphookError("patch", f"{kernel} is a symbolic link", todo="replace it by what it points to")
    untrusted.content(kernel, "patch", _MOST)


def _check_plain(entry: dict[Any, Any], path: Path) -> None:
    """Texts and numbers, and lists and mappings of them: aliases of YAML can stand for such without end."""
    left = 1000

    def walk(value: Any, depth: int) -> bool:
        nonlocal left
        left -= 1
        if left < 0 or depth > 8:
            return False
        if isinstance(value, dict):
            return all(isinstance(key, str) and walk(part, depth + 1) for key, part in value.items())
        if isinstance(value, list):
            return all(walk(part, depth + 1) for part in value)
        return value is None or isinstance(value, (str, int, float))

    if not walk(entry, 0):
        raise OphookError("patch", f"the entry in {path}", allowed="texts, numbers, and not too many of them")


def _pair(name: str, entry: dict[str, Any], kernels: tuple[Path, ...], folder: Path) -> None:
    base = name.split(".")[0]
    defines = re.compile(rf"^[^/\n#]*\b{re.escape(base)}(_out)?\s*\([^;]*?\)\s*\{{", re.MULTILINE)
    defining = [kernel for kernel in kernels if defines.search(kernel.read_text(encoding="utf-8"))]
    if "gen_opapi" in entry:
        if defining:
            raise OphookError(
                f"patch {name}",
                f"gen_opapi next to a kernel ({defining[0].name}): both would define op_api::{base}",
                todo="keep one of them",
            )
        if "op_api" not in entry:
            raise OphookError(f"patch {name}", "gen_opapi without op_api: upstream would drop it silently")
        return
    if not kernels:
        raise OphookError(
            f"patch {name}",
            f"entry without kernel: {folder} has no *.cpp and the entry no gen_opapi",
            todo="without a kernel the build fails at its very last link",
        )
    if not defining:
        raise OphookError(
            f"patch {name}",
            f"kernel without entry: no *.cpp in {folder} defines {base}",
            todo="name the function as the entry does",
        )
