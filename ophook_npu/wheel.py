"""A wheel of what would be compiled here, for machines that have the same packages and no compiler."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

from ophook_npu import __version__, cache, native, prebuilt
from ophook_npu.npu.installed import require
from ophook_npu.pace import OnStep
from ophook_npu.prebuilt import DISTRIBUTION, FACTS, PACKAGE
from ophook_npu.sim.build import build_into, recipe

_INIT = '"""Libraries for ophook_npu, compiled elsewhere; ophook-sim.json says for what. Nothing to import."""\n'


def write_wheel(out: Path, progress: OnStep | None = None) -> Path:
    """Write ``ophook-npu-sim`` for the installed torch, torch_npu, Python and C++ ABI into the folder ``out``: the
    simulator, the NPU kernel of npu_add_custom, and our own C++ over torch. The same libraries give the same file.

    Raises:
        OphookError: the wheels are no pair, no compiler, or something does not compile.
    """
    from ophook_npu.ops import declaration, extension

    torch, torch_npu = require()
    with tempfile.TemporaryDirectory(dir=cache.cache_dir(), prefix="wheel-") as name:
        package = Path(name) / PACKAGE
        for folder in ("sim", "extension", "native"):
            (package / folder).mkdir(parents=True)
        about = build_into(package / "sim", progress, relocatable=True)
        recipes = {"sim": recipe()}
        for soname, made_of in extension.build_into(
            declaration("npu_add_custom"), package / "extension", "$ORIGIN/../.."
        ).items():
            recipes[f"extension/{soname}"] = made_of
        for soname, made_of in native.build_into(package / "native", "$ORIGIN/../../torch/lib").items():
            recipes[f"native/{soname}"] = made_of
        libraries = [package / path for path in cache.hashes(package)]
        made = {**prebuilt.here_now(), **prebuilt.needs(libraries)}
        about["compiled"] = 0  # where it is used
        facts = {"made": made, "recipes": recipes, "sim": about, "hashes": cache.hashes(package)}
        (package / FACTS).write_text(json.dumps(facts, indent=2, sort_keys=True) + "\n")
        (package / "__init__.py").write_text(_INIT)
        version = _version(torch.version, torch_npu.version, made["C++ ABI"])
        described = Path(name) / f"{PACKAGE}-{version}.dist-info"
        described.mkdir()
        (described / "METADATA").write_text(_metadata(version, torch.version, torch_npu.version))
        out.mkdir(parents=True, exist_ok=True)

        def pack(folder: Path, platform: str) -> Path:
            tag = f"{_interpreter()}-none-{platform}"
            (described / "WHEEL").write_text(
                f"Wheel-Version: 1.0\nGenerator: ophook-npu {__version__}\nRoot-Is-Purelib: false\nTag: {tag}\n"
            )
            target = folder / f"{PACKAGE}-{version}-{tag}.whl"
            _zip(Path(name), described, target)
            return target

        theirs = [path for wheel in (torch, torch_npu) for path in (wheel.path / "lib").glob("*.so*")]
        with tempfile.TemporaryDirectory() as asked:
            plain = pack(Path(asked), f"linux_{made['machine']}")
            agreed = _audited(plain, {path.name for path in [*libraries, *theirs]})
        return pack(out, agreed or f"linux_{made['machine']}")


def _audited(wheel: Path, known: set[str]) -> str | None:
    """The manylinux platform that auditwheel finds for ``wheel``, where it is installed and finds one.

    ``known``: libraries that come with it, or with torch and torch_npu, which it requires; others keep it from one.
    """
    beside = Path(sys.executable).with_name("auditwheel")
    program = str(beside) if beside.exists() else shutil.which("auditwheel")
    if program is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        excluded = [word for name in sorted(known) for word in ("--exclude", name)]
        asked = subprocess.run([program, "repair", *excluded, "-w", folder, str(wheel)], capture_output=True)
        repaired = [path.stem.rsplit("-", 1)[1] for path in Path(folder).glob("*.whl")]
    # It may name several, the newest first or last: each is enough.
    found = [one for one in repaired[0].split(".") if one.startswith("manylinux_")] if repaired else []
    return found[0] if asked.returncode == 0 and found else None


def _interpreter() -> str:
    """The tag of this Python: torch_npu's headers put calls of it into the operator's kernel."""
    return f"cp{sys.version_info.major}{sys.version_info.minor}"


def _version(torch: str, torch_npu: str, abi: str) -> str:
    local = ".".join(re.sub(r"[^A-Za-z0-9.]", ".", part) for part in (f"torch{torch}", f"npu{torch_npu}", abi))
    return f"{__version__}+{local.replace(' ', '.')}".lower()


def _metadata(version: str, torch: str, torch_npu: str) -> str:
    return (
        "Metadata-Version: 2.1\n"
        f"Name: {DISTRIBUTION}\n"
        f"Version: {version}\n"
        "Summary: The simulated Ascend of ophook-npu, compiled\n"
        "License: MIT\n"
        f"Requires-Python: =={sys.version_info.major}.{sys.version_info.minor}.*\n"
        f"Requires-Dist: ophook-npu=={__version__}\n"
        f"Requires-Dist: torch=={torch.split('+')[0]}\n"
        f"Requires-Dist: torch-npu=={torch_npu.split('+')[0]}\n"
    )


def _zip(root: Path, described: Path, target: Path) -> None:
    """Pack ``root``, its files in order and of one time, with their RECORD last."""
    moment = max(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), 315532800)  # a zip file begins in 1980
    date = time.gmtime(moment)[:6]
    record = described.relative_to(root) / "RECORD"
    lines = []
    part = target.with_name(f".{target.name}.part")
    try:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:

            def add(name: str, data: bytes, mode: int) -> None:
                entry = zipfile.ZipInfo(name, date)
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.create_system = 3  # modes are those of Unix
                entry.external_attr = (0o100000 | mode) << 16
                archive.writestr(entry, data)

            for path in sorted(path for path in root.rglob("*") if path.is_file()):
                data, name = path.read_bytes(), path.relative_to(root).as_posix()
                digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                lines.append(f"{name},sha256={digest},{len(data)}\n")
                add(name, data, 0o755 if os.access(path, os.X_OK) else 0o644)
            add(record.as_posix(), "".join([*lines, f"{record.as_posix()},,\n"]).encode(), 0o644)
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)
