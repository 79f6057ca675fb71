"""Run by ranks.py in each rank: the program that ON_HOSTS names, as if the second half of the ranks ran on another
machine. CANN takes ranks whose addresses differ for ranks of different servers, and so does the simulator.

With ON_HOSTS_TABLE, a folder, a rank table says where the ranks are, in place of HCCL_IF_IP.
"""

import json
import os
import runpy
import tempfile
from pathlib import Path

RANK = int(os.environ["RANK"])
RANKS = int(os.environ["WORLD_SIZE"])
FIRST = (RANKS + 1) // 2  # ranks of the first machine


def address(rank: int) -> str:
    return f"127.0.0.{3 if rank >= FIRST else 2}"


def table(servers: int) -> dict[str, object]:
    places: list[dict[str, object]] = []
    for server in range(servers):
        ranks = range(RANKS) if servers == 1 else range(FIRST) if server == 0 else range(FIRST, RANKS)
        host = address(ranks[0])
        devices = [{"device_id": str(r), "device_ip": f"192.0.2.{r + 1}", "rank_id": str(r)} for r in ranks]
        places.append({"server_id": host, "host_ip": host, "device": devices})
    return {"status": "completed", "version": "1.0", "server_count": str(servers), "server_list": places}


def main() -> None:
    os.environ["TMPDIR"] = tempfile.mkdtemp()
    if folder := os.environ.get("ON_HOSTS_TABLE"):
        own = Path(folder) / f"{RANK}.json"
        own.write_text(json.dumps(table(int(os.environ["ON_HOSTS_SERVERS"]))))
        os.environ["RANK_TABLE_FILE"] = str(own)
    else:
        os.environ["HCCL_IF_IP"] = address(RANK)
    runpy.run_path(str(Path(__file__).with_name(os.environ["ON_HOSTS"])), run_name="__main__")


if __name__ == "__main__":
    main()
