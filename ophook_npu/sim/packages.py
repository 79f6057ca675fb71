"""Vendor packages of other operator projects, linked to the simulated Ascend that they are for."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from ophook_npu import sim
from ophook_npu.errors import OphookError
from ophook_npu.kernel.package import build_into, compile_parts
from ophook_npu.kernel.project import Project


def build(path: Path, out: Path) -> list[Path]:
    """Build every operator of the project into ``out``, which is replaced if it is such a package.

    Returns:
        The libraries.

    Raises:
        OphookError: something does not compile, or ``out`` is something else.
    """
    project = Project(path)
    if out.exists() and any(out.iterdir()) and not (out / "op_impl" / "cpu").is_dir():
        raise OphookError("kernel build", f"{out} is not empty and no such package", allowed="a new or empty folder")
    simulator = sim.active() or sim.build()
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as name:
        staging = Path(name) / "package"
        build_into(compile_parts(project), staging, simulator / "lib64")
        if out.exists():
            shutil.rmtree(out)
        shutil.move(staging, out)
    return sorted(p for p in out.rglob("*.so"))
