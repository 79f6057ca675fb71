"""What is installed, which place this is, what is missing and how to get it."""

from __future__ import annotations

import ctypes
import importlib.metadata
import os
import platform
import shutil
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ophook_npu import cache, prebuilt, toolchain
from ophook_npu.errors import OphookError
from ophook_npu.npu import autoload, place, vendors
from ophook_npu.npu.installed import built_in, require, torch_npu_wheel, torch_wheel
from ophook_npu.sim.build import location

# What torch_npu and torchair import without declaring it.
UNDECLARED = ("protobuf", "attrs", "decorator", "packaging", "psutil", "scipy")
CUSTOM_LIBRARY = "libcust_opapi.so"


@dataclass(frozen=True)
class Diagnosis:
    """One line of the report. ``status`` is ok, note (nothing to do), warn (something will not work) or fail."""

    topic: str
    status: str
    text: str
    todo: str = ""


def examine(environ: Mapping[str, str] | None = None) -> list[Diagnosis]:
    """Look at everything; never raises and changes nothing."""
    environ = os.environ if environ is None else environ
    return [
        *_python(),
        *_wheels(),
        *_built_in(),
        *_compiler(),
        *_place(environ),
        *_simulator(),
        *_custom_operators(environ),
    ]


def as_json(findings: list[Diagnosis]) -> dict[str, Any]:
    return {"healthy": not any(f.status == "fail" for f in findings), "findings": [asdict(f) for f in findings]}


def _python() -> list[Diagnosis]:
    version = platform.python_version()
    ok = sys.version_info >= (3, 10)
    return [
        Diagnosis(
            "python", "ok" if ok else "fail", f"{version} at {sys.executable}", "" if ok else "use Python 3.10 or later"
        )
    ]


def _wheels() -> list[Diagnosis]:
    found = []
    for wheel, name in ((torch_wheel(), "torch"), (torch_npu_wheel(), "torch_npu")):
        if wheel:
            found.append(Diagnosis(name, "ok", f"{wheel.version} at {wheel.path}"))
    try:
        require()
    except OphookError as error:
        found.append(Diagnosis(error.where, "fail", error.what, error.todo or ""))
    if torch_npu_wheel():
        absent = []
        for name in UNDECLARED:
            try:
                importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:
                absent.append(name)
        if absent:
            found.append(
                Diagnosis(
                    "torch_npu",
                    "fail",
                    f"it imports {', '.join(absent)}, not installed",
                    f"pip install {' '.join(absent)}",
                )
            )
    return found


def _built_in() -> list[Diagnosis]:
    """This package's operators in a torch_npu that was built from patched source; the published one has none."""
    # A declaration's file is named after its operator; reading them would import torch.
    declarations = sorted((Path(__file__).parent / "ops").glob("*_custom.py"))
    found = built_in(f"npu_{path.stem}" for path in declarations)
    if not found:
        return []
    return [Diagnosis("torch_npu", "ok", f"built from source with {', '.join(found)} in it: no extension is needed")]


def _compiler() -> list[Diagnosis]:
    found = []
    ready = prebuilt.fitting()
    missing = "note" if ready else "fail"
    instead = f"; needed only for operators of your own: {prebuilt.DISTRIBUTION} is installed and fits" if ready else ""
    try:
        command = toolchain.compiler()
        found.append(Diagnosis("compiler", "ok", toolchain.compiler_version(command)))
    except OphookError as error:
        found.append(Diagnosis("compiler", missing, f"{error.what}{instead}", "" if ready else error.todo or ""))
    header = Path(sysconfig.get_paths()["include"]) / "Python.h"
    if not header.exists():
        todo = "" if ready else "install python3-dev (Debian, Ubuntu)"
        found.append(Diagnosis("compiler", missing, f"{header} is missing{instead}", todo))
    unfit = prebuilt.installed()
    if unfit and not ready:
        said = "; ".join(prebuilt.differences(unfit.facts["made"]))
        found.append(Diagnosis("simulator", "note", f"the installed {prebuilt.DISTRIBUTION} does not fit: {said}"))
    try:
        folder = cache.cache_dir()
        free = shutil.disk_usage(folder).free
        status = "ok" if free > 1 << 30 else "warn"
        found.append(
            Diagnosis(
                "cache", status, f"{folder}, {free / (1 << 30):.1f} GiB free", "" if status == "ok" else "free 1 GiB"
            )
        )
    except OphookError as error:
        found.append(Diagnosis("cache", "fail", error.what, error.todo or ""))
    return found


def _place(environ: Mapping[str, str]) -> list[Diagnosis]:
    host = place.detect(environ)
    if host.problem:
        return [Diagnosis("place", "fail", host.problem, host.todo or "")]
    if host.is_ascend:
        return [Diagnosis("place", "ok", f"an Ascend host: CANN at {host.home}, {len(host.devices)} device node(s)")]
    return [Diagnosis("place", "ok", "no CANN and no NPU: the simulated Ascend is used"), *_plain_import(environ)]


def _plain_import(environ: Mapping[str, str]) -> list[Diagnosis]:
    if not autoload.fails(environ):
        return []
    return [Diagnosis(
        "import torch", "warn",
        "plain `import torch` fails in this shell: it loads torch_npu, which asks for CANN's libraries",
        "in your shell:\n" + "\n".join(autoload.next_lines()) + '\n(or, on the CPU: eval "$(ophook-npu env --cpu)")',
    )]  # fmt: skip


def _simulator() -> list[Diagnosis]:
    try:
        root = location()
    except OphookError as error:
        return [Diagnosis("simulator", "warn", error.what, error.todo or "")]
    if (root / "lib64").is_dir():
        return [Diagnosis("simulator", "ok", f"built at {root}")]
    return [
        Diagnosis("simulator", "note", "not built yet", "ophook-npu sim build (the first `ophook-npu run` does it too)")
    ]


def custom_library_folders(environ: Mapping[str, str]) -> list[tuple[Path, str]]:
    """Where torch_npu looks for custom operators, in its order: (folder, why)."""
    return [(package / "op_api" / "lib", why) for package, why in vendors.packages(environ)]


def _custom_operators(environ: Mapping[str, str]) -> list[Diagnosis]:
    found: list[Diagnosis] = []
    opp = environ.get("ASCEND_OPP_PATH")
    if opp:
        folder = Path(opp) / "vendors"
        listed = vendors.listed(Path(opp))
        present = {path.name for path in folder.iterdir() if path.is_dir()} if folder.is_dir() else set()
        for name in sorted(present - set(listed.names)):
            found.append(Diagnosis(
                "custom operators", "warn",
                f"{folder / name} is installed but not in load_priority of {folder / 'config.ini'}",
                f"add {name} to the line load_priority=…",
            ))  # fmt: skip
        for name in listed.refused:
            found.append(Diagnosis(
                "custom operators", "warn",
                f"{name!r} in load_priority of {folder / 'config.ini'} is not the name of a folder in {folder}",
                "take it out; a package elsewhere goes into ASCEND_CUSTOM_OPP_PATH",
            ))  # fmt: skip
        for name in listed.padded:
            found.append(Diagnosis(
                "custom operators", "warn",
                f"{name} stands between blanks in load_priority of {folder / 'config.ini'}: torch_npu does not find it",
                "write load_priority=a,b without blanks, in a file with Unix line ends",
            ))  # fmt: skip
    for library, why in custom_library_folders(environ):
        found.append(_custom_library(library / CUSTOM_LIBRARY, why))
    return found or [
        Diagnosis("custom operators", "note", "neither ASCEND_CUSTOM_OPP_PATH nor ASCEND_OPP_PATH names any")
    ]


def _custom_library(path: Path, why: str) -> Diagnosis:
    if not path.exists():
        hint = "point at the folder that holds op_api/lib (…/vendors/<name>)"
        return Diagnosis("custom operators", "warn", f"{path} does not exist ({why})", hint)
    owner = path.stat().st_uid
    if owner not in (0, os.getuid()):
        text = f"{path} belongs to user {owner}: torch_npu only loads what belongs to you or root"
        return Diagnosis("custom operators", "warn", text, f"chown {os.getuid()} {path}")
    try:
        ctypes.CDLL(str(path), mode=os.RTLD_LAZY)
    except OSError as error:
        return Diagnosis(
            "custom operators",
            "warn",
            f"{path} cannot be loaded: {error}",
            "source CANN's set_env.sh, or rebuild it for this CANN",
        )
    return Diagnosis("custom operators", "ok", f"{path} ({why})")
