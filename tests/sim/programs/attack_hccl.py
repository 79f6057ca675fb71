"""Run by test_hccl_attacks.py: no rank, connects to every socket of the simulated HCCL that it finds, until standard
input ends; then says as JSON how often it was let in so far. usage: attack_hccl.py KIND [USER]
"""

import json
import os
import select
import socket
import struct
import sys

HOSTS = ("0200007F", "0300007F")  # the addresses of hosts.py, as Linux writes them
ANSWER = 32  # bytes of what a rank answers to a greeting; more would mean that it takes the other end for a rank


def names() -> set[str]:
    """Abstract sockets, and places on the network: "127.0.0.2:60000"."""
    with open("/proc/net/unix") as file:
        found = {line.split()[-1][1:] for line in file if "@ophook-hccl-" in line}
    with open("/proc/net/tcp") as file:
        for line in file.readlines()[1:]:
            _, place, _, state, *_ = line.split()
            host, port = place.split(":")
            if state == "0A" and host in HOSTS:  # it listens
                found.add(f"127.0.0.{int(host[:2], 16)}:{int(port, 16)}")
    return found


def connected(name: str, timeout: float | None = None) -> socket.socket:
    if name.startswith("127."):
        host, port = name.split(":")
        return socket.create_connection((host, int(port)), timeout)
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(timeout)
    s.connect("\0" + name)
    return s


def read(s: socket.socket, seconds: float) -> bytes:
    """Until the other end closes."""
    s.settimeout(seconds)
    got = b""
    try:
        while part := s.recv(4096):
            got += part
    except TimeoutError:
        got += b"?" * 1000  # still open: as if it were a rank
    except ConnectionResetError:
        pass
    return got


def attack(kind: str, name: str, held: list[socket.socket]) -> int:
    """Bytes that came back."""
    s = connected(name)
    if kind == "silent":
        held.append(s)
        return 0
    if kind == "crowd":
        for _ in range(300):
            held.append(connected(name, 1))
        return 0
    if kind == "garbage":
        s.sendall(os.urandom(4096))
        return len(read(s, 30))
    s.sendall(struct.pack("<II", 2, 1) + os.urandom(16))
    s.settimeout(30)
    answer = s.recv(ANSWER, socket.MSG_WAITALL)
    # A guess, or the other end's own proof sent back.
    s.sendall(answer[16:] if kind == "mirror" else os.urandom(16))
    return len(answer) + len(read(s, 30))


def main(kind: str, user: int | None) -> None:
    if user is not None:
        os.setuid(user)
    held: list[socket.socket] = []
    attacked: dict[str, int] = {}
    most = reached = 0
    print("ready", flush=True)
    while not select.select([sys.stdin], [], [], 0.01)[0]:
        for name in names():
            if attacked.get(name, 0) >= 3:
                continue
            attacked[name] = attacked.get(name, 0) + 1
            try:
                most = max(most, attack(kind, name, held))
                reached += 1
            except OSError:
                reached += kind == "stranger"  # turned away while it spoke
    print(json.dumps({"reached": reached, "most": most}))


main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else None)
