"""Trains under `torchrun --nnodes 2` in two network namespaces, which share neither sockets nor /dev/shm nor /tmp, over
good and bad networks, and writes the tables of docs/hosts.md and its Chinese twin. Needs root.

    python scripts/hosts.py [--cost | CASE…]      --cost: the table of times alone; with cases it writes nothing

The networks are a pair of kernel devices (veth), or two TUN devices with this process between them, which holds
packets back, loses them, or lets none through: a kernel without netem can do none of that.
"""

from __future__ import annotations

import ctypes
import fcntl
import heapq
import json
import math
import os
import random
import re
import selectors
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from fault_table import ROOT, YES, write_table

PROGRAMS = ROOT / "tests" / "sim" / "programs"
HOSTS = ("ophook-a", "ophook-b")
ADDRESSES = ("10.77.0.1", "10.77.0.2")
STRANGERS = "192.0.2.9"  # an address of each host that leads nowhere
PRIVATE = 'mount -t tmpfs tmpfs /dev/shm && mount -t tmpfs tmpfs /tmp && exec "$@"'
LIMITS = {"HCCL_EXEC_TIMEOUT": "6", "OPHOOK_SIM_HCCL_CONNECT_TIMEOUT": "8", "OMP_NUM_THREADS": "1", "PATIENCE": "60"}
SECRET = "known to all the ranks"


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)


class Network:
    """Between the two hosts: packets are late by `delay` seconds, a part `loss` of them is lost, or all (`cut`)."""

    def __init__(self, delay: float = 0, loss: float = 0) -> None:
        self.delay, self.loss, self.cut, self.over = delay, loss, False, False
        self.packets = self.lost = 0
        self._files = [self._device(host, address) for host, address in zip(HOSTS, ADDRESSES, strict=True)]
        self._thread = threading.Thread(target=self._carry)
        self._thread.start()

    @staticmethod
    def _device(host: str, address: str) -> int:
        """A TUN device in the host's namespace, which this process reads and writes from outside."""
        libc, own = ctypes.CDLL(None, use_errno=True), os.open("/proc/self/ns/net", os.O_RDONLY)
        inside = os.open(f"/run/netns/{host}", os.O_RDONLY)
        try:
            if libc.setns(inside, 0):
                raise OSError(ctypes.get_errno(), "setns")
            file = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)  # of the namespace in which it is opened
            tun, packets_alone, make = 0x0001, 0x1000, 0x400454CA
            fcntl.ioctl(file, make, struct.pack("16sH14x", b"link0", tun | packets_alone))
        finally:
            libc.setns(own, 0)
            os.close(own)
            os.close(inside)
        ip("-n", host, "addr", "add", f"{address}/24", "dev", "link0")
        ip("-n", host, "link", "set", "link0", "up")
        return file

    def _carry(self) -> None:
        chance, order = random.Random(7), 0
        due: list[tuple[float, int, int, bytes]] = []
        waiting = selectors.DefaultSelector()
        for file, other in (self._files, self._files[::-1]):
            waiting.register(file, selectors.EVENT_READ, other)
        while not self.over:
            now = time.monotonic()
            while due and due[0][0] <= now:
                _, _, to, packet = heapq.heappop(due)
                os.write(to, packet)
            for key, _ in waiting.select(max(0, due[0][0] - now) if due else 0.05):
                packet = os.read(key.fd, 65536)
                self.packets += 1
                if self.cut or chance.random() < self.loss:
                    self.lost += 1
                    continue
                order += 1
                heapq.heappush(due, (time.monotonic() + self.delay, order, key.data, packet))

    def close(self) -> None:
        self.over = True
        self._thread.join()
        for file in self._files:
            os.close(file)


@contextmanager
def namespaces() -> Iterator[None]:
    for host in HOSTS:
        subprocess.run(["ip", "netns", "del", host], stderr=subprocess.DEVNULL, check=False)
        ip("netns", "add", host)
        ip("-n", host, "link", "set", "lo", "up")
        ip("-n", host, "addr", "add", f"{STRANGERS}/32", "dev", "lo")
    try:
        yield
    finally:
        for host in HOSTS:
            ip("netns", "del", host)


def wires() -> None:
    """The kernel's own: a pair of devices."""
    ip("link", "add", "link0", "netns", HOSTS[0], "type", "veth", "peer", "name", "link0", "netns", HOSTS[1])
    for host, address in zip(HOSTS, ADDRESSES, strict=True):
        ip("-n", host, "addr", "add", f"{address}/24", "dev", "link0")
        ip("-n", host, "link", "set", "link0", "up")


def torchrun(ranks: int, program: str, *options: str) -> list[str]:
    run = [sys.executable, "-m", "ophook_npu", "run", "--device", "sim", "--devices", str(max(2, ranks))]
    return [*run, "--", "-m", "torch.distributed.run", *options, "--nproc-per-node", str(ranks), program]


@dataclass
class Case:
    network: str  # as the table says it
    delay: float = 0
    loss: float = 0
    kernel: bool = False
    ranks: int = 1  # of each host
    steps: int = 4
    cut: tuple[float, float] | None = None  # once the first step is over: after so many seconds, for so many
    variables: dict[str, str] = field(default_factory=dict)
    table: bool = False
    zh: str = ""


CASES = {
    "wires": Case("two kernel devices", kernel=True, zh="两个内核网卡"),
    "more": Case("two kernel devices, two ranks on each host", kernel=True, ranks=2, zh="两个内核网卡，每台两个 rank"),
    "interface": Case(
        "`HCCL_SOCKET_IFNAME==link0`", kernel=True, variables={"HCCL_SOCKET_IFNAME": "=link0"},
        zh="`HCCL_SOCKET_IFNAME==link0`",
    ),
    "table": Case("a rank table (`RANK_TABLE_FILE`)", kernel=True, table=True, zh="rank table（`RANK_TABLE_FILE`）"),
    "delay": Case("each packet 10 ms late", delay=0.01, zh="每个包延迟 10 ms"),
    "loss": Case("2 % of the packets lost", loss=0.02, steps=40, zh="丢失 2 % 的包"),
    "healed": Case("cut for 2 s, then whole again", steps=150, cut=(0.3, 2), zh="断开 2 s 后恢复"),
    "cut": Case("cut for ever, in the middle of a training", steps=10**6, cut=(0.5, 1e9), zh="训练中途永久断开"),
    "nowhere": Case(
        "an address that the other host cannot reach", kernel=True, variables={"HCCL_IF_IP": STRANGERS},
        zh="对方无法到达的地址",
    ),
}  # fmt: skip


@dataclass
class Ended:
    codes: list[int]
    said: str

    @property
    def losses(self) -> dict[tuple[int, int], float]:
        found = re.findall(r"rank (\d+) step (\d+) loss ([\d.]+)", self.said)
        return {(int(rank), int(step)): float(loss) for rank, step, loss in found}


def on_hosts(case: Case, program: Path, network: Network | None) -> Ended:
    said: list[str] = []
    stepped = threading.Event()
    nodes = []
    with tempfile.TemporaryDirectory(dir=ROOT) as shared:  # both hosts see the sources' folder alone
        variables = {**os.environ, **LIMITS, "STEPS": str(case.steps), **case.variables}
        if case.table:
            variables |= {"RANK_TABLE_FILE": rank_table(Path(shared), case.ranks), "OPHOOK_SIM_HCCL_SECRET": SECRET}
        for number, host in enumerate(HOSTS):
            place = [
                "--nnodes",
                "2",
                "--node-rank",
                str(number),
                "--master-addr",
                ADDRESSES[0],
                "--master-port",
                "29511",
            ]
            command = ["ip", "netns", "exec", host, "unshare", "--mount", "--ipc", "sh", "-c", PRIVATE, "sh"]
            nodes.append(
                subprocess.Popen(
                    [*command, *torchrun(case.ranks, str(program), *place)], env=variables,
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                )
            )  # fmt: skip

        def read(node: subprocess.Popen[str]) -> None:
            assert node.stdout is not None
            for line in node.stdout:
                said.append(line)
                if " step 1 loss" in line:
                    stepped.set()

        readers = [threading.Thread(target=read, args=(node,)) for node in nodes]
        for reader in readers:
            reader.start()
        if case.cut and network and stepped.wait(240):
            time.sleep(case.cut[0])
            network.cut = True
            if case.cut[1] < 1e6:
                time.sleep(case.cut[1])
                network.cut = False
        codes = [node.wait(timeout=400) for node in nodes]
        for reader in readers:
            reader.join()
    return Ended(codes, "".join(said))


def rank_table(folder: Path, ranks: int) -> str:
    servers = []
    for number, address in enumerate(ADDRESSES):
        devices = [
            {
                "device_id": str(n),
                "device_ip": f"198.51.100.{number * ranks + n + 1}",
                "rank_id": str(number * ranks + n),
            }
            for n in range(ranks)
        ]
        servers.append({"server_id": f"node_{number}", "host_ip": address, "device": devices})
    table = {"status": "completed", "version": "1.0", "server_count": "2", "server_list": servers}
    file = folder / "table.json"
    file.write_text(json.dumps(table))
    return str(file)


def on_one(ranks: int, steps: int, program: Path) -> Ended:
    done = subprocess.run(
        torchrun(ranks, str(program), "--standalone"), env={**os.environ, **LIMITS, "STEPS": str(steps)},
        capture_output=True, text=True, timeout=400,
    )  # fmt: skip
    return Ended([done.returncode], done.stdout + done.stderr)


def what_was_said(ended: Ended) -> str:
    found = []
    for pattern in (r"EI0002|EI0015|EI0019", r"error code is (\d+)"):
        found += [match.group(match.lastindex or 0) for match in re.finditer(pattern, ended.said)]
    return ", ".join(sorted(set(found), key=found.index)) or ""


def try_case(name: str, case: Case) -> tuple[bool, bool | None, str, str]:
    with namespaces():
        network = None if case.kernel else Network(case.delay, case.loss)
        if case.kernel:
            wires()
        try:
            ended = on_hosts(case, PROGRAMS / "faulty_training.py", network)
        finally:
            if network:
                network.close()
                print(f"{name}: {network.packets} packets, {network.lost} lost", flush=True)
    whole = all(code == 0 for code in ended.codes)
    same = None
    if whole:
        want = on_one(2 * case.ranks, case.steps, PROGRAMS / "faulty_training.py").losses
        same = want.keys() == ended.losses.keys() and all(
            math.isclose(loss, want[at], rel_tol=1e-5) for at, loss in ended.losses.items()
        )
    return whole, same, what_was_said(ended), ended.said


def cost() -> dict[int, tuple[float, float]]:
    """By bytes: seconds of an all_reduce on one machine, and on two."""
    program = PROGRAMS / "timed_collectives.py"

    def times(ended: Ended) -> dict[int, float]:
        found: dict[int, list[float]] = {}
        for size, seconds in re.findall(r"rank \d+ bytes (\d+) seconds ([\d.e-]+)", ended.said):
            found.setdefault(int(size), []).append(float(seconds))
        assert found, ended.said
        return {size: statistics.mean(each) for size, each in found.items()}

    one = times(on_one(2, 0, program))
    with namespaces():
        wires()
        two = times(on_hosts(CASES["wires"], program, None))
    return {size: (one[size], two[size]) for size in one}


MARKS = "<!-- hosts: generated by scripts/hosts.py -->", "<!-- end of hosts -->"
COST_MARKS = "<!-- cost: generated by scripts/hosts.py -->", "<!-- end of cost -->"
HEADS = {
    "en": ("between the hosts", "ends", "losses as on one machine", "the ranks say"),
    "zh": ("两台机器之间", "正常结束", "损失与单机一致", "各 rank 的报错"),
}
COST_HEADS = {
    "en": ("bytes of an all_reduce", "processes of one machine", "two hosts", "ratio"),
    "zh": ("all_reduce 的字节数", "同一台机器的进程", "两台机器", "比值"),
}


def main() -> int:
    asked = [one for one in sys.argv[1:] if one in CASES]
    rows: dict[str, list[tuple[str, ...]]] = {language: [] for language in HEADS}
    for name in asked or ([] if sys.argv[1:] else CASES):
        case = CASES[name]
        whole, same, words, said = try_case(name, case)
        print(f"{name}: ends {whole}, losses equal {same}, {words}", flush=True)
        if asked:
            print(said)
        for language, lines in rows.items():
            yes = YES[language]
            network = case.zh if language == "zh" else case.network
            lines.append((network, yes[whole], "" if same is None else yes[same], words))
    costs = cost() if not asked else {}
    for size, (one, two) in costs.items():
        print(f"{size} bytes: {one * 1e3:.2f} ms, {two * 1e3:.2f} ms, {two / one:.2f}")
    if asked:
        return 0
    times = [
        (str(size), f"{one * 1e3:.2f} ms", f"{two * 1e3:.2f} ms", f"{two / one:.1f}")
        for size, (one, two) in costs.items()
    ]
    for language, lines in rows.items():
        if not sys.argv[1:]:
            write_table(language, MARKS, HEADS[language], lines, page="hosts")
        write_table(language, COST_MARKS, COST_HEADS[language], times, page="hosts")
    return 0


if __name__ == "__main__":
    sys.exit(main())
