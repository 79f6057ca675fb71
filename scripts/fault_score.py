"""Scores `ophook-npu diagnose` over ordered faults, kinds times places, which it is not told of:
`ophook-npu run --device sim --devices 2 -- scripts/fault_score.py [KIND[:PLACE]]...`

Each run trains on two ranks (tests/sim/programs/faulty_training.py) with one fault. Right is what names the rank and
the kind. What fails nobody (a late message, a slow task, a wrong bit) is in no log, and is not among the kinds.
"""

from __future__ import annotations

import contextlib
import os
import runpy
import signal
import socket
import sys
import tempfile
import time
from pathlib import Path

import torch
import torch_npu  # noqa: F401

from ophook_npu.observe.diagnose import FirstFailure, diagnose
from ophook_npu.sim import fault

PROGRAM = Path(__file__).resolve().parents[1] / "tests" / "sim" / "programs" / "faulty_training.py"
PATIENCE = 90  # seconds for a run; a collective waits for ten

# A place: an operator of the forward pass, of the backward pass, a collective; the rank; the count.
OPERATORS = (("aclnnGelu", 0, 3), ("aclnnGeluBackward", 1, 2), ("HcclAllReduce", 1, 6))
DEVICE = ("507011", "507014", "507015", "507017", "507018", "507034", "507035", "507055", "507899")
# What is ordered, where, and the words that a right answer has.
KINDS: dict[str, tuple[str, tuple[tuple[str, int, int], ...], str]] = {
    **{code: (code, OPERATORS, code) for code in DEVICE},
    "uce": ("uce", OPERATORS[:2], "507053"),
    "ecc": ("ecc", OPERATORS[:2], "507054"),
    "lost": ("lost", OPERATORS, "507010"),
    "refused": ("161002", OPERATORS[:2], "refused"),
    "inner": ("561103", OPERATORS[:2], "refused"),
    "hccl": ("call:4", OPERATORS[2:], "refused"),
    "copy": ("507013", (("copy", 0, 20), ("copy", 1, 25)), "507013"),
    "oom": ("oom", (("malloc", 0, 2), ("malloc", 1, 2)), "out of memory"),
    "hang": ("hang", OPERATORS, "no answer"),
    "stop": ("stop", OPERATORS, "no answer"),
    "kill": ("kill", OPERATORS, "killed"),
    "down": ("down", (("link", 0, 7), ("link", 1, 9), ("HcclAllReduce", 0, 4)), "link"),
    "drop": ("drop", (("link", 0, 7), ("link", 1, 9), ("HcclAllReduce", 0, 4)), "message was lost"),
    "double": ("double", (("link", 0, 7), ("link", 1, 9), ("HcclAllReduce", 0, 4)), "came twice"),
}
_PAIRS = ("down", "drop", "double")


def ordered(kind: str, place: str, rank: int, count: int) -> str:
    where = f"rank{rank}-{1 - rank}" if kind in _PAIRS else f"rank{rank}"
    return f"{place}@{where}:{count}{'+' if kind == 'oom' else ''}={KINDS[kind][0]}"


def run(order: str, folder: Path) -> None:
    """The training under the fault; each rank's output is a file of the folder."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    ranks = {}
    for rank in range(2):
        child = os.fork()
        if child:
            ranks[child] = rank
            continue
        out = os.open(folder / f"rank{rank}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(out, 1), os.dup2(out, 2)
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port, WORLD_SIZE="2", LOCAL_WORLD_SIZE="2")
        os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), HCCL_EXEC_TIMEOUT="10", OMP_NUM_THREADS="1", STEPS="4")
        torch.set_num_threads(1)
        sys.argv = [str(PROGRAM)]
        try:
            with fault(order):
                runpy.run_path(str(PROGRAM), run_name="__main__")
        except BaseException:
            import traceback

            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)
        os._exit(0)
    end = time.monotonic() + PATIENCE
    left = dict(ranks)
    while left and time.monotonic() < end:
        time.sleep(0.1)
        for child in list(left):
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                del left[child]
                if status:  # as a launcher, that ends the others soon after the first
                    end = min(end, time.monotonic() + 10)
    for child in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def right(found: FirstFailure, rank: int, words: str) -> bool:
    return found.rank == rank and words in f"{found.kind} {found.code}"


def main() -> int:
    total = good = ranks = 0
    for chosen in sys.argv[1:] or KINDS:
        kind, colon, index = chosen.partition(":")
        _, places, words = KINDS[kind]
        for place, rank, count in places[int(index) :][:1] if colon else places:
            order = ordered(kind, place, rank, count)
            with tempfile.TemporaryDirectory() as folder:
                run(order, Path(folder))
                logs = "".join(path.read_text(errors="replace") for path in Path(folder).iterdir())
                found = diagnose(Path(folder))
                made = "fault made: " in logs
                keep = os.environ.get("KEEP")
                if keep and not right(found, rank, words):
                    Path(keep, order.replace("/", "_")).write_text(logs)
            if not made:
                print(f"not made  {order}", flush=True)
                continue
            total += 1
            good += right(found, rank, words)
            ranks += found.rank == rank
            told = f"rank {found.rank}: {found.kind} {found.code} {found.at} {found.line}"
            print(f"{'right' if right(found, rank, words) else 'WRONG'}  {order}  {told}", flush=True)
    print(f"{good} of {total} right (rank and kind); the rank alone: {ranks}")
    return int(good < 0.9 * total)


if __name__ == "__main__":
    sys.exit(main())
