"""Ranks on several machines: addresses, rank tables and the variables that choose an interface."""

from __future__ import annotations

import copy
import ctypes
import json
import re
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from ophook_npu.sim.fault import lines

Launch = Callable[..., subprocess.CompletedProcess[str]]
NO_ROOT_INFO = lines(["HcclCommInitRootInfoConfig=call:4"])  # so that nothing but the rank table can have made it


def test_ranks_that_do_not_come_are_named_in_canns_words(launch: Launch) -> None:
    limits = {"HCCL_EXEC_TIMEOUT": "1", "OPHOOK_SIM_HCCL_CONNECT_TIMEOUT": "3"}
    done = launch("hosts.py", 2, ON_HOSTS="wrong_collectives.py", ONLY="too_late absent gone", **limits)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Failed to collect cluster information of the communicator based on rootInfo detection" in done.stdout
    assert "Failed to connect agent [1] within 3 s" in done.stdout
    assert "rank 1 is gone" in done.stdout
    for rank in range(2):
        text = "EI0002: The wait execution of the Notify register times out"
        assert re.search(rf"rank {rank}: too_late: .*{text}", done.stdout), done.stdout


@pytest.mark.parametrize(("servers", "secret"), [(1, ""), (2, "known to all the ranks")])
def test_a_rank_table_makes_the_communicator(launch: Launch, tmp_path: Path, servers: int, secret: str) -> None:
    done = launch(
        "hosts.py", 2, ON_HOSTS="tabled.py", ON_HOSTS_TABLE=str(tmp_path), ON_HOSTS_SERVERS=str(servers),
        OPHOOK_SIM_HCCL_SECRET=secret, OPHOOK_SIM_FAULTS=NO_ROOT_INFO,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(f"rank {rank} passed" in done.stdout for rank in range(2))


def table() -> dict[str, Any]:
    def device(rank: int) -> dict[str, str]:
        return {"device_id": "0", "device_ip": f"127.0.0.{rank + 2}", "rank_id": str(rank)}

    servers = [{"server_id": f"node_{n}", "device": [device(n)]} for n in range(2)]
    return {"status": "completed", "version": "1.0", "server_count": "2", "server_list": servers}


@pytest.fixture
def hccl() -> ctypes.CDLL:
    torch.npu.set_device(0)
    return ctypes.CDLL("libhccl.so")


def said() -> str:
    acl = ctypes.CDLL("libascendcl.so")
    acl.aclGetRecentErrMsg.restype = ctypes.c_char_p
    return (acl.aclGetRecentErrMsg() or b"").decode()


def device(key: str, value: str | None, server: int = 1) -> Callable[[dict[str, Any]], None]:
    def change(table: dict[str, Any]) -> None:
        fields = table["server_list"][server]["device"][0]
        fields.pop(key) if value is None else fields.update({key: value})

    return change


def top(**fields: Any) -> Callable[[dict[str, Any]], None]:
    return lambda table: table.update(fields)


# HcclResult: 1 a wrong value, 5 not simulated, 6 a field that is missing, 7 not what this process is, 9 timeout.
BAD = [
    (lambda table: table.pop("status"), 6, "EI0017: Config status is missing"),
    (lambda table: table.pop("server_list"), 6, "EI0017: Config server_list is missing"),
    (top(status="initializing"), 9, "EI0004"),
    (top(version="7"), 5, "version 7"),
    (top(server_count="3"), 1, "EI0014: Value [3] for config [server_count]"),
    (top(server_count=2), 1, "EI0017: Config server_count"),
    (lambda table: (top(version="1.2")(table), device("super_device_id", "")(table)), 1, "super_device_id[] is"),
    (device("rank_id", None), 6, "EI0017: Config rank_id is missing"),
    (device("rank_id", "x"), 1, "EI0014: Value [x] for config [rank_id]"),
    (device("rank_id", "0"), 1, "no other device has"),
    (device("rank_id", "2"), 7, "1 is missing"),
    (device("device_id", "99"), 1, "[device_id]"),
    (device("device_ip", None), 1, "EI0014: Value [] for config [device_ip]"),
    (device("device_ip", "nowhere"), 1, "an IPv4 or IPv6 address"),
    (device("device_ip", "127.0.0.2"), 1, "no other device has"),
    (device("device_port", "0"), 1, "[device_port]"),
    (device("device_ip", "192.0.2.1", 0), 7, "no interface of this machine"),
    (device("device_id", "0"), 5, "OPHOOK_SIM_HCCL_SECRET"),
]


@pytest.mark.parametrize(("change", "code", "text"), BAD)
def test_a_bad_rank_table_is_refused_as_cann_refuses_it(
    hccl: ctypes.CDLL, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable, code: int, text: str
) -> None:
    if code == 7:
        monkeypatch.setenv("OPHOOK_SIM_HCCL_SECRET", "known to all the ranks")
    given = copy.deepcopy(table())
    change(given)
    file = tmp_path / "table.json"
    file.write_text(json.dumps(given))
    comm = ctypes.c_void_p()
    assert hccl.HcclCommInitClusterInfo(str(file).encode(), 0, ctypes.byref(comm)) == code
    assert text in said()


@pytest.mark.parametrize("content", [None, "", "{", '{"status": "completed"', "[1, 2", '{"a": }', "[" * 1000])
def test_a_file_that_is_no_rank_table(hccl: ctypes.CDLL, tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "table.json"
    if content is not None:
        file.write_text(content)
    comm = ctypes.c_void_p()
    assert hccl.HcclCommInitClusterInfo(str(file).encode(), 0, ctypes.byref(comm)) == 1
    assert "EI0004: The ranktable or rank is invalid" in said()


@pytest.mark.parametrize(
    ("variables", "code", "text"),
    [
        ({"HCCL_IF_IP": "elsewhere"}, 1, "EI0001: Value elsewhere for environment variable HCCL_IF_IP is invalid"),
        ({"HCCL_SOCKET_IFNAME": "=none0"}, 6, "EI0001: Value =none0 for environment variable HCCL_SOCKET_IFNAME"),
        ({"HCCL_SOCKET_IFNAME": "=lo", "HCCL_SOCKET_FAMILY": "IPX"}, 1, "AF_INET or AF_INET6"),
        ({"HCCL_IF_IP": "192.0.2.1"}, 7, "EI0019: Failed to enable listening"),
        ({"HCCL_IF_IP": "127.0.0.2", "HCCL_HOST_SOCKET_PORT_RANGE": "7-"}, 1, "HCCL_HOST_SOCKET_PORT_RANGE"),
        ({"HCCL_CONNECT_TIMEOUT": "119"}, 1, "Expected value: range[120, 7200]"),
        ({"HCCL_CONNECT_TIMEOUT": "120.5"}, 1, "Value 120.5 for environment variable HCCL_CONNECT_TIMEOUT"),
        ({"HCCL_EXEC_TIMEOUT": "-1"}, 1, "a non-negative number with up to 2 decimals"),
        ({"HCCL_EXEC_TIMEOUT": "1.234"}, 1, "a non-negative number with up to 2 decimals"),
        ({"HCCL_IF_IP": "127.0.0.2", "HCCL_IF_BASE_PORT": "80"}, 1, "Expected value: range[1024, 65520]"),
    ],
)
def test_variables_of_the_network_are_refused_as_documented(
    hccl: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], code: int, text: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert hccl.HcclGetRootInfo(ctypes.create_string_buffer(4108)) == code
    assert text in said()


@pytest.mark.parametrize(
    ("rule", "listens"), [("=lo", True), ("lo", True), ("^=lo", False), ("^l", False), ("=eth9,lo", True)]
)
def test_the_root_listens_at_the_interface_asked_for_alone(
    hccl: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch, rule: str, listens: bool
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setenv("HCCL_SOCKET_IFNAME", rule)
    monkeypatch.setenv("HCCL_HOST_SOCKET_PORT_RANGE", str(port))
    monkeypatch.setenv("OPHOOK_SIM_HCCL_CONNECT_TIMEOUT", "1")
    code = hccl.HcclGetRootInfo(ctypes.create_string_buffer(4108))
    assert code in ((0,) if listens else (0, 6))  # there may be no other interface
    found = [line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines() if line.split()[3] == "0A"]
    at_port = [place for place in found if place.endswith(f":{port:04X}")]
    assert (at_port == [f"0100007F:{port:04X}"]) if listens else all("0100007F" not in place for place in at_port)


@pytest.mark.parametrize(("given", "seconds"), [("", 1836), ("7", 7), ("0.25", 1), ("0", 2**31 - 1)])
def test_a_collective_waits_as_long_as_documented(
    hccl: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch, given: str, seconds: int
) -> None:
    """0 is for ever."""
    monkeypatch.setenv("HCCL_EXEC_TIMEOUT", given)
    hccl.ophook_hccl_patience.restype = ctypes.c_int64
    assert hccl.ophook_hccl_patience() == seconds


def test_nothing_listens_on_a_network_where_all_ranks_are_here(hccl: ctypes.CDLL) -> None:
    before = Path("/proc/net/tcp").read_text().count(" 0A ")
    info = ctypes.create_string_buffer(4108)
    assert hccl.HcclGetRootInfo(info) == 0
    assert Path("/proc/net/tcp").read_text().count(" 0A ") <= before
