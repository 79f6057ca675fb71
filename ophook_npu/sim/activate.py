"""Put the simulator under torch_npu: for a program that is about to start, or for this process.

A program is given the environment that CANN's ``set_env.sh`` would give it, with the simulator in CANN's place. This
process can no longer change where its loader looks, so its libraries are loaded by hand before torch_npu asks for them.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

from ophook_npu.errors import OphookError
from ophook_npu.npu import autoload
from ophook_npu.sim.build import build, not_ready
from ophook_npu.sim.variables import SEARCHED, apply, environment

# In the order of their dependencies. libopapi comes after torch, whose libraries it uses.
_BEFORE_TORCH = (
    "libophook_sim_core.so", "libmsprofiler.so", "libmspti.so", "libascendcl.so", "libacl_op_compiler.so",
    "libc_sec.so", "libgraph.so", "libge_runner.so", "libfmk_parser.so", "libascend_protobuf.so",
    "libacl_tdt_channel.so", "libhccl.so", "libhcomm.so", "liblcal.so", "libshmem.so", "libascend_hal.so",
    "libascend_ml.so",
)  # fmt: skip
_AFTER_TORCH = ("libopapi.so", "libatb.so", "libophook_kernel.so")

_active: Path | None = None

_SET_TIMER_SLACK, _TIMER_SLACK = 29, 30  # of prctl
_USUAL_SLACK, _SLACK = 50_000, 500_000  # ns


def active() -> Path | None:
    """The simulator that this process runs on: one that `enable` loaded, or that the process was started with."""
    if _active is not None:
        return _active
    root = os.environ.get("OPHOOK_SIM_ROOT")
    lib = f"{root}/{SEARCHED['LD_LIBRARY_PATH']}" if root else None
    return Path(root) if root and lib in os.environ.get("LD_LIBRARY_PATH", "").split(":") else None


def relax_timers() -> None:
    """Let this thread, its children and the program that it becomes sleep up to 0.5 ms longer than they ask.

    torch_npu's `release_thread` looks every few microseconds whether there is something to free; with Linux's usual
    slack of 50 µs it takes a fifth of a core in every program, one that waits too. With this it takes a thirtieth.
    Who is woken wakes as before. A slack that somebody has set stays.
    """
    libc = ctypes.CDLL(None)
    if libc.prctl(_TIMER_SLACK, 0, 0, 0, 0) == _USUAL_SLACK:
        libc.prctl(_SET_TIMER_SLACK, ctypes.c_ulong(_SLACK), 0, 0, 0)


def enable(
    *,
    soc: str | None = None,
    devices: int | None = None,
    memory: int | None = None,
    synchronous: bool = False,
    cann: str | None = None,
) -> Path:
    """Build the simulator if needed (stderr says so), put it under this process and import torch and torch_npu.

    Call it before torch is imported. Child processes inherit it. Calling it again is allowed and changes nothing.

    Returns:
        The simulator's root.

    Raises:
        OphookError: torch_npu was imported before, the wheels are no pair, or the build fails.
    """
    global _active
    present = active()
    if present is not None:
        return present
    if "torch_npu" in sys.modules:
        raise OphookError(
            "sim.enable",
            "torch_npu is already imported",
            todo="call ophook_npu.sim.enable() first, or use `ophook-npu run`",
        )
    root = build(on_start=_say_that_it_builds)
    relax_timers()
    apply(os.environ, environment(root, soc=soc, devices=devices, memory=memory, synchronous=synchronous, cann=cann))
    _load(root, _BEFORE_TORCH)
    autoload.unsettle(os.environ)
    wanted = os.environ.get(autoload.VARIABLE)
    os.environ[autoload.VARIABLE] = "0"
    try:
        import torch  # noqa: F401
    finally:
        if wanted is None:
            del os.environ[autoload.VARIABLE]
        else:
            os.environ[autoload.VARIABLE] = wanted
    _load(root, _AFTER_TORCH)
    sys.path.append(str(root / SEARCHED["PYTHONPATH"]))
    _active = root
    if wanted != "0":  # what `import torch` does on an Ascend host
        import torch_npu  # noqa: F401
    return root


def _say_that_it_builds() -> None:
    reason = not_ready()
    if reason:
        print(f"ophook-npu: {reason}", file=sys.stderr)
    print(
        "ophook-npu: building the simulated Ascend for the installed torch and torch_npu, once; 1 to 3 minutes",
        file=sys.stderr,
        flush=True,
    )


def _load(root: Path, names: tuple[str, ...]) -> None:
    for name in names:
        ctypes.CDLL(str(root / "lib64" / name), mode=ctypes.RTLD_GLOBAL)
