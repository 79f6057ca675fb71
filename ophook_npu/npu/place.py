"""Which of the three places this is: an Ascend host, a machine for the simulated Ascend, or a half-installed host.

An Ascend host has CANN's libraries and NPU device nodes. One without the other is a broken installation: it is named,
never replaced by the simulator behind the user's back.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ophook_npu.errors import OphookError

DEFAULT_HOME = Path("/usr/local/Ascend/ascend-toolkit/latest")
# What torch_npu and torchair cannot load without.
LIBRARIES = ("libascendcl.so", "libacl_op_compiler.so", "libhccl.so", "libge_runner.so", "libgraph.so", "libopapi.so")


@dataclass(frozen=True)
class Host:
    """What was found. ``home`` is None where there is no CANN; ``problem`` says what makes the installation
    incomplete.
    """

    home: Path | None
    missing: tuple[str, ...]
    devices: tuple[str, ...]
    problem: str | None
    todo: str | None

    @property
    def is_ascend(self) -> bool:
        """Whether CANN and a device are there, and nothing is missing."""
        return self.problem is None and self.home is not None


def detect(environ: Mapping[str, str] | None = None, dev: Path = Path("/dev"), default: Path = DEFAULT_HOME) -> Host:
    """Look for CANN (``ASCEND_HOME_DIR``, then ``ASCEND_HOME_PATH``, then the default) and for device nodes."""
    environ = os.environ if environ is None else environ
    devices = tuple(sorted(str(node) for node in dev.glob("davinci[0-9]*")))
    simulator = environ.get("OPHOOK_SIM_ROOT")
    told, source = None, ""
    for variable in ("ASCEND_HOME_DIR", "ASCEND_HOME_PATH"):
        value = environ.get(variable)
        if value and not (simulator and Path(value).is_relative_to(simulator)):
            told, source = Path(value), variable
            break
    home = told or (default if default.exists() else None)
    if home is None:
        if not devices:
            return Host(None, (), (), None, None)
        return Host(
            None, LIBRARIES, devices, f"there are NPUs ({', '.join(devices)}) but no CANN at {default}",
            "install CANN, or set ASCEND_HOME_DIR to where it is",
        )  # fmt: skip
    if not home.is_dir():
        return Host(
            home, LIBRARIES, devices, f"{source}={home} is not a folder",
            f"set {source} to CANN's folder, or unset it to use the simulated Ascend",
        )  # fmt: skip
    missing = tuple(name for name in LIBRARIES if not (home / "lib64" / name).exists())
    if missing:
        return Host(
            home, missing, devices, f"CANN at {home} lacks lib64/{', lib64/'.join(missing)}",
            "repair the installation, or use --device sim",
        )  # fmt: skip
    if not devices:
        return Host(
            home, (), (), f"CANN is at {home} but there is no NPU ({dev}/davinci0)",
            "install the driver and pass the device into the container, or use --device sim",
        )  # fmt: skip
    return Host(home, (), devices, None, None)


def choose(device: str, host: Host) -> str:
    """The place to run in, ``sim``, ``npu`` or ``cpu``, for what the user asked (``auto`` chooses).

    Raises:
        OphookError: the host is half-installed, or an NPU was asked for and there is none.
    """
    if device not in ("auto", "sim", "npu", "cpu"):
        raise OphookError("device", f"unknown device {device!r}", allowed="auto, sim, npu, cpu")
    if device in ("sim", "cpu"):
        return device
    if host.problem:
        raise OphookError("device", host.problem, todo=host.todo)
    if host.is_ascend:
        return "npu"
    if device == "npu":
        raise OphookError(
            "device",
            f"no Ascend NPU here: no CANN at {DEFAULT_HOME} and no /dev/davinci0",
            todo="set ASCEND_HOME_DIR, or use --device sim",
        )
    return "sim"


def ascend_environment(home: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """``environ`` as CANN's own ``set_env.sh`` leaves it; unchanged where it was sourced before.

    Raises:
        OphookError: the script is missing or fails.
    """
    if str(home) in environ.get("LD_LIBRARY_PATH", "") and environ.get("ASCEND_OPP_PATH"):
        return dict(environ)
    candidates = (home / "set_env.sh", home.parent / "set_env.sh", home / "bin" / "setenv.bash")
    script = next((path for path in candidates if path.is_file()), None)
    if script is None:
        raise OphookError(
            "cann", f"no set_env.sh at {home} or above it", todo="source CANN's set_env.sh yourself and run again"
        )
    command = f"source {shlex.quote(str(script))} >/dev/null && env -0"
    result = subprocess.run(["bash", "-c", command], env=dict(environ), capture_output=True, check=False)
    if result.returncode:
        raise OphookError("cann", f"{script} failed: {os.fsdecode(result.stderr).strip()}", todo="repair CANN")
    pairs = (entry.split(b"=", 1) for entry in result.stdout.split(b"\0") if b"=" in entry)
    return {os.fsdecode(key): os.fsdecode(value) for key, value in pairs}
