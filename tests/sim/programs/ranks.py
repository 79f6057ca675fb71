"""python ranks.py PROGRAM RANKS …: runs a program once for each rank, as torchrun does, but as forks of this process.

torch and torch_npu are imported once, before. When a rank fails, the others are ended.
"""

import ctypes
import importlib
import os
import runpy
import signal
import socket
import sys

PR_SET_PDEATHSIG = 1


def fork_ranks(ranks: int) -> int | None:
    """The rank in each of the forks; in this process it does not return."""
    started: list[int] = []
    for rank in range(ranks):
        number = os.fork()
        if number == 0:
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # nor outlive a test that was given up
            return rank
        started.append(number)
    worst = 0
    while started:
        ended, status = os.wait()
        started.remove(ended)
        code = os.waitstatus_to_exitcode(status)
        if code and not worst:
            worst = code if code > 0 else 128 - code
            for other in started:
                os.kill(other, signal.SIGTERM)
    sys.exit(worst)


if __name__ == "__main__":
    program, number = sys.argv[1], int(sys.argv[2])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    importlib.import_module("torch")
    own = fork_ranks(number)
    os.environ.update(
        MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), WORLD_SIZE=str(number), LOCAL_WORLD_SIZE=str(number),
        RANK=str(own), LOCAL_RANK=str(own),
    )  # fmt: skip
    sys.argv = [program, *sys.argv[3:]]
    sys.path[0] = os.path.dirname(os.path.abspath(program))
    runpy.run_path(program, run_name="__main__")
