"""Run by test_hccl_attacks.py: no rank, connects to every socket of the simulated HCCL that it finds, until standard
input ends; then says as JSON how often it was let in so far. usage: attack_hccl.py KIND FILE [USER]

Each socket that it reached is one byte more in FILE: the ranks wait for it.
"""

import json
import os
import resource
import select
import socket
import struct
import sys
import threading
import time

HOSTS = ("0200007F", "0300007F")  # the addresses of hosts.py, as Linux writes them
ANSWER = 32  # bytes of what a rank answers to a greeting; more would mean that it takes the other end for a rank


def doors() -> dict[str, str]:
    """By inode, since a port is used again: names of abstract sockets, and places on the network, "127.0.0.2:60000"."""
    with open("/proc/net/unix") as file:
        lines = [line.split() for line in file if "@ophook-hccl-" in line]
    found = {inode: name[1:] for *_, flags, _, _, inode, name in lines if flags == "00010000"}  # it listens
    with open("/proc/net/tcp") as file:
        for line in file.readlines()[1:]:
            _, place, _, state, _, _, _, _, _, inode, *_ = line.split()
            host, port = place.split(":")
            if state == "0A" and host in HOSTS:
                found[inode] = f"127.0.0.{int(host[:2], 16)}:{int(port, 16)}"
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


class Attacker:
    def __init__(self, kind: str, file: int) -> None:
        self.kind, self.file = kind, file
        self.held: list[socket.socket] = []
        self.most = self.reached = 0

    def attack_thrice(self, name: str) -> None:
        """A rank that waits elsewhere leaves its own door for later: so each door has a thread, and nobody waits."""
        left = 3
        while left:
            try:
                got = attack(self.kind, name, self.held)
            except ConnectionRefusedError:
                return  # nobody is behind the door any more
            except OSError:
                if self.kind != "stranger":  # who is turned away while it speaks; others come again
                    time.sleep(0.01)
                    continue
                got = 0
            left -= 1
            self.most = max(self.most, got)
            self.reached += 1
            os.write(self.file, b".")


def main(kind: str, file: str, user: int | None) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # a crowd holds some thousand sockets
    attacker = Attacker(kind, os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND))
    if user is not None:
        os.setuid(user)
    seen: set[str] = set()
    print("ready", flush=True)
    while not select.select([sys.stdin], [], [], 0.05)[0]:  # what is in /proc takes milliseconds to read
        for inode, name in doors().items():
            if inode in seen:
                continue
            seen.add(inode)
            threading.Thread(target=attacker.attack_thrice, args=(name,), daemon=True).start()
    print(json.dumps({"reached": attacker.reached, "most": attacker.most}))


main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else None)
