"""A program of many ranks, of which few run: ``ophook-npu run --ranks 512 --real 0-7 -- train.py``.

Each rank that runs is a process with the real torch_npu and a device of its own. The others are their twins
(``csrc/hccl/twins.h``): HCCL takes what a twin gives for what they give. torch's store is this process's, because a
store of rank 0 waits for all ranks. A rank table tells HCCL which ranks a group has, which a root info does not.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from ophook_npu.errors import OphookError
from ophook_npu.npu import autoload

REAL = "OPHOOK_SIM_REAL_RANKS"
_ALLOWED = "numbers and ranges from 0 on, such as 0-7 or 0,1,8"


def real_ranks(text: str, ranks: int) -> list[int]:
    """The ranks that ``--real`` names.

    Raises:
        OphookError: it names none, one that there is not, or ranks that the others cannot repeat.
    """
    found: set[int] = set()
    for part in text.split(","):
        begin, _, last = part.partition("-")
        if not begin.isdecimal() or not (last or begin).isdecimal():
            raise OphookError("real", f"--real {text}", allowed=_ALLOWED)
        found |= set(range(int(begin), int(last or begin) + 1))
    if not found or max(found) >= ranks:
        raise OphookError("real", f"--real {text} of {ranks} ranks", allowed=f"0 to {ranks - 1}")
    if 0 not in found:
        raise OphookError("real", f"--real {text}", allowed=_ALLOWED, todo="let rank 0 run, whose neighbours repeat it")
    for first, size, end in runs(sorted(found), ranks):
        if (end - first) % size:
            raise OphookError(
                "real",
                f"{size} ranks from {first} on do not fit into the {end - first} up to rank {end}",
                allowed="neighbours whose number divides that of the ranks up to the next ones",
            )
    return sorted(found)


def runs(real: Sequence[int], ranks: int) -> list[tuple[int, int, int]]:
    """Neighbours that run: the first, how many, and up to which rank others repeat them."""
    firsts = [rank for rank in real if rank - 1 not in real]
    found = zip(firsts, [*firsts[1:], ranks], strict=True)
    return [(first, sum(first <= rank < end for rank in real), end) for first, end in found]


def twin(real: Sequence[int], ranks: int, rank: int) -> int:
    """The rank that runs and gives what ``rank`` gives."""
    first, size, _ = next(one for one in runs(real, ranks) if one[0] <= rank < one[2])
    return first + (rank - first) % size


def rank_table(real: Sequence[int], ranks: int) -> str:
    """All ranks on one server; those that do not run have the devices of their twins."""
    devices = {rank: str(device) for device, rank in enumerate(real)}
    table = [{"device_id": devices[twin(real, ranks, rank)], "rank_id": str(rank)} for rank in range(ranks)]
    server = {"server_id": "simulated", "device": table}
    return json.dumps({"status": "completed", "version": "1.0", "server_count": "1", "server_list": [server]})


def run(file: str, argv: Sequence[str], environ: Mapping[str, str], ranks: int, real: Sequence[int]) -> int:
    """Run the program once for each rank in ``real``. The exit status is that of the first that fails; it ends the
    others.
    """
    os.environ[autoload.VARIABLE] = "0"
    from torch.distributed import TCPStore  # type: ignore[attr-defined]

    store = TCPStore("127.0.0.1", 0, None, True, wait_for_workers=False)
    with tempfile.TemporaryDirectory() as folder:
        common = {**environ, **variables(environ, Path(folder), ranks, real, store.port)}
        started = [
            subprocess.Popen(argv, executable=file, env={**common, "RANK": str(rank), "LOCAL_RANK": str(device)})
            for device, rank in enumerate(real)
        ]
        return _end(started)


def variables(environ: Mapping[str, str], folder: Path, ranks: int, real: Sequence[int], port: int) -> dict[str, str]:
    """What all that run have in common, with a rank table in ``folder`` and torch's store at ``port``."""
    table = folder / "table.json"
    table.write_text(rank_table(real, ranks))
    return {
        "WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(len(real)),
        "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
        "TORCHELASTIC_USE_AGENT_STORE": "True", "TORCHELASTIC_RESTART_COUNT": "0",
        "RANK_TABLE_FILE": str(table), "OPHOOK_SIM_HCCL_SECRET": secrets.token_hex(32),
        REAL: ",".join(map(str, real)),
        "OMP_NUM_THREADS": environ.get("OMP_NUM_THREADS", "1"),
        "HCCL_CONNECT_TIMEOUT": environ.get("HCCL_CONNECT_TIMEOUT", "300"),  # torch_npu asks for so much
    }  # fmt: skip


def _end(started: list[subprocess.Popen[bytes]]) -> int:
    def stop(number: int, _: object) -> None:
        for one in started:
            one.send_signal(number)

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # reaches all
    signal.signal(signal.SIGTERM, stop)
    worst = 0
    left = {one.pid: one for one in started}
    while left:
        number, status = os.wait()
        ended = left.pop(number, None)
        code = os.waitstatus_to_exitcode(status)
        if ended is not None:
            ended.returncode = code
        if ended is None or not code or worst:
            continue
        worst = code if code > 0 else 128 - code
        for other in left.values():
            other.terminate()
    return worst
