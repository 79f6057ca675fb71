"""Processes and file systems for scripts/hard_ends.py and scripts/soak.py."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import signal
import socket
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
import torch_npu  # noqa: F401

SHM = Path("/dev/shm")
WAIT = 5  # HCCL's time-outs, in seconds
SLACK = 10  # until a process that a time-out ended is gone, on a busy machine
LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass
class Try:
    good: bool
    seconds: float = 0
    told: str = ""  # what went wrong


# ---- file systems and processes -----------------------------------------------------------------------------------
def checked(code: int) -> None:
    if code:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def mount(at: Path, size: str, mode: str = "0755") -> None:
    """A file system in memory of this size."""
    checked(LIBC.mount(b"none", str(at).encode(), b"tmpfs", 0, f"size={size},mode={mode}".encode()))


def alone() -> None:
    """From here on, what this process and its children mount is theirs, and so is `room`."""
    new_mounts, private, recursive = 0x20000, 1 << 18, 0x4000
    checked(LIBC.unshare(new_mounts))
    checked(LIBC.mount(b"none", b"/", None, private | recursive, None))
    mount(SHM, "256m", "1777")
    there = Path(tempfile.mkdtemp(prefix="hard-ends-"))
    mount(there, "256m", "1777")
    os.environ["ROOM"] = str(there)
    temporary = there / "tmp"
    temporary.mkdir(mode=0o1777)
    tempfile.tempdir = os.environ["TMPDIR"] = str(temporary)


def room() -> Path:
    return Path(os.environ["ROOM"])


@contextlib.contextmanager
def small(name: str, size: str = "64k") -> Iterator[Path]:
    """A file system that is soon full."""
    at = room() / name
    at.mkdir()
    mount(at, size)
    try:
        yield at
    finally:
        LIBC.umount2(str(at).encode(), 2)  # where a process that was killed still has a file open, later
        at.rmdir()


def fill(folder: Path) -> Path:
    """Leaves no room in it."""
    big = folder / "big"
    with contextlib.suppress(OSError), big.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    return big


def start(work: Callable[[], object], log: Path, **environment: str) -> int:
    """The number of a process that does the work."""
    child = os.fork()
    if child:
        return child
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(out, 1), os.dup2(out, 2), os.close(out)
    os.environ.update(environment)
    torch.set_num_threads(1)
    code = 1
    try:
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush(), sys.stderr.flush()
        LIBC.exit(code)  # as a program ends: what libraries do at their end is done


def ended(children: list[int], patience: float) -> tuple[dict[int, int], float]:
    """How they ended, and when the last did; 255 is one that did not, which is killed."""
    begin, codes = time.monotonic(), {}
    while len(codes) < len(children):
        for child in children:
            if child in codes:
                continue
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                codes[child] = os.waitstatus_to_exitcode(status)
            elif time.monotonic() - begin > patience:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                codes[child] = 255
        time.sleep(0.01)
    return codes, time.monotonic() - begin


def run(work: Callable[[], object], patience: float = 60, **environment: str) -> tuple[int, float, str]:
    """What became of the work in a process of its own: its status, its seconds, what it said."""
    with tempfile.NamedTemporaryFile(dir=room()) as log:
        child = start(work, Path(log.name), **environment)
        codes, seconds = ended([child], patience)
        return codes[child], seconds, Path(log.name).read_text(errors="replace")


def fine(work: Callable[[], object], patience: float = 60, says: str = "", **environment: str) -> Try:
    """Whether it ends well, and says that."""
    code, seconds, told = run(work, patience, **environment)
    return Try(code == 0 and bool(re.search(says, told)), seconds, f"status {code}\n{told}")


# ---- what is run --------------------------------------------------------------------------------------------------
def compute() -> None:
    x = torch.ones(64, 64).npu()
    for _ in range(3):
        y = x + x
    assert bool((y.cpu() == 2).all())


def collective(steps: int = 40) -> None:
    device = torch.device("npu", int(os.environ["RANK"]))
    torch.npu.set_device(device)
    dist.init_process_group("hccl", timeout=timedelta(seconds=WAIT))
    for _ in range(steps):
        total = torch.ones(256, device=device)
        dist.all_reduce(total)
        assert total[0].item() == 2
    dist.destroy_process_group()


def pair(work: Callable[[], object], folder: Path, **environment: str) -> list[int]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    same = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}
    same |= {"HCCL_EXEC_TIMEOUT": str(WAIT), "OPHOOK_SIM_HCCL_CONNECT_TIMEOUT": str(WAIT), **environment}
    return [start(work, folder / f"rank{i}.log", RANK=str(i), LOCAL_RANK=str(i), **same) for i in range(2)]


def two_ranks(**environment: str) -> Try:
    with tempfile.TemporaryDirectory(dir=room()) as name:
        codes, seconds = ended(pair(collective, Path(name), **environment), 60)
        said = "".join(path.read_text(errors="replace") for path in Path(name).iterdir())
    return Try(not any(codes.values()), seconds, f"{list(codes.values())}\n{said}")


def left() -> list[str]:
    """What lies in /dev/shm and among temporary files."""
    files = [path for path in SHM.rglob("*") if not path.is_dir()]
    return [str(path) for path in (*files, *Path(tempfile.gettempdir()).iterdir())]
