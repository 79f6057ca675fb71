"""What the simulated Ascend tells about one operator: the aclnn functions that it called, what each product refuses of
them, and how often the host waited for the device. On an NPU nobody can be asked."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import NamedTuple

import torch

from ophook_npu import soc
from ophook_npu.sim import rules


class Seen(NamedTuple):
    """Of one operator.

    Attributes:
        functions: the aclnn functions of its calls, in order.
        refused: by product family, what its rules refuse: (code, message).
        changed: data types of results that are not those which PyTorch promises: (promised, given).
    """

    functions: tuple[str, ...] = ()
    refused: tuple[tuple[str, int, str], ...] = ()
    changed: tuple[tuple[torch.dtype, torch.dtype], ...] = ()


NOTHING = Seen()


class Device:
    """The simulator under this process."""

    def __init__(self, root: Path) -> None:
        core = ctypes.PyDLL(str(root / "lib64" / "libophook_sim_core.so"))
        self._opapi = ctypes.PyDLL(str(root / "lib64" / "libopapi.so"))
        self.waits = core.sim_host_waits
        self.waits.restype = ctypes.c_uint64
        self.waits.argtypes = []
        self._opapi.ophook_watched.restype = ctypes.c_char_p

    def watch(self) -> None:
        """Begins to note what this thread calls."""
        self._opapi.ophook_watch()

    def seen(self) -> Seen:
        """Ends that and gives what was noted."""
        functions: list[str] = []
        refused: dict[tuple[str, int, str], None] = {}
        for line in self._opapi.ophook_watched().decode().splitlines():
            kind, *rest = line.split("\t")
            if kind == "call":
                functions.append(rest[0])
            elif rest[0] not in rules.INFERENCE_ONLY or product().startswith(rest[0]):
                refused[rest[0], int(rest[1]), rest[2]] = None
        return Seen(tuple(functions), tuple(refused))


def simulated() -> Device | None:
    """The simulator, if this process runs on it."""
    root = os.environ.get("OPHOOK_SIM_ROOT")
    return Device(Path(root)) if root and (Path(root) / "lib64" / "libopapi.so").exists() else None


def product() -> str:
    """The SoC that is simulated."""
    return os.environ.get("OPHOOK_SIM_SOC", soc.DEFAULT)


FAMILIES = rules.FAMILIES
