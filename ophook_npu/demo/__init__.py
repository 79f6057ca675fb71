"""AddCustom in eager mode and in compiled graphs, from an installed package: ``ophook-npu demo``.

``run_op_plugin.sh`` in a checkout runs the same programs and prints the same table; it also makes the virtual
environment.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from ophook_npu.errors import OphookError
from ophook_npu.sim.build import CSRC

SCRIPTS = Path(__file__).parent / "scripts"


def write(folder: Path) -> list[Path]:
    """The files to go on from, into ``folder``; those that are there are kept. Gives all of them.

    Raises:
        OphookError: it is no folder, or cannot be written.
    """
    vendor = CSRC / "vendor"
    sources = {path.name: path for path in sorted(SCRIPTS.glob("*.*"))}
    for part in ("op_host", "op_kernel"):
        sources |= {f"add_custom/{part}/{path.name}": path for path in sorted((vendor / part).glob("add_custom*"))}
    try:
        for name, source in sources.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                path.write_bytes(source.read_bytes())
    except OSError as error:
        raise OphookError("demo", f"{error.filename}: {error.strerror}", todo="name another folder") from error
    return [folder / name for name in sources]


def run(folder: Path, place: str, soc: str | None) -> Path:
    """The programs of ``folder`` in every mode, in a process of their own; gives the folder with what they found.

    Raises:
        OphookError: the process failed; what it said is in the log that the error names.
    """
    logs = folder / "logs"
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True)
    command = [sys.executable, "-m", "ophook_npu", "run", "--device", place, *(("--soc", soc) if soc else ())]
    command += ["--", "-m", "ophook_npu.demo.modes", place, str(logs.resolve()), str(folder.resolve())]
    # As scripts/lib.sh has it: Dynamo's 256 MB for each graph are not given back and taken again.
    environ = {**os.environ, "MALLOC_MMAP_THRESHOLD_": str(1 << 30), "MALLOC_TRIM_THRESHOLD_": str(1 << 31)}
    log = logs / "run.log"
    with log.open("w", encoding="utf-8") as file:
        status = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, env=environ).returncode
    if status:
        said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-5:]
        raise OphookError("demo", f"exit status {status}\n" + "\n".join(said), todo=f"read {log}")
    return logs
