"""The check of order: what docs/order.md says is found is found in one run, and nothing where there is an order."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ophook_npu import sim, toolchain
from ophook_npu.sim import program as kernels

PROGRAMS = Path(__file__).parent / "programs"


def checked(
    folder: Path, *program: str, devices: int = 1, soc: str = "Ascend910B4", run: Callable[..., Any] | None = None
) -> tuple[subprocess.CompletedProcess[str], list[dict]]:
    """With ``run``, which is ``run_command``, the program is a fork, or else started anew."""
    report = folder / "order.jsonl"
    command = ["run", "--device", "sim", "--devices", str(devices), "--soc", soc]
    command += ["--check-order", "--order-report", str(report), "--", *program]
    if run is None:
        command = [sys.executable, "-m", "ophook_npu", *command]
        done = subprocess.run(command, capture_output=True, text=True, timeout=280)
    else:
        done = run(*command)
    return done, [json.loads(line) for line in report.read_text().splitlines()] if report.exists() else []


def places(access: dict) -> set[str]:
    return {frame.split()[-1] for frame in access["from"]}


def test_each_mistake_is_found_once_and_nothing_else(run_command, tmp_path: Path) -> None:
    done, found = checked(tmp_path, str(PROGRAMS / "order.py"), run=run_command)
    source = (PROGRAMS / "order.py").read_text()
    wrong = {line.split()[1].split("(")[0] for line in source.splitlines() if line.startswith("def wrong_")}
    assert len(wrong) == 8 and done.returncode == 1, done.stderr
    seen = [(places(one["first"]) | places(one["second"])) & (wrong | {"in_graph"}) for one in found]
    assert sorted(name for names in seen for name in names if name != "in_graph") == sorted(wrong), done.stderr
    assert not any(name.startswith("right_") for one in found for name in places(one["first"]) | places(one["second"]))
    assert done.stderr.count("nothing orders them") == len(found)
    by = {next(iter(names & wrong)): one for names, one in zip(seen, found, strict=True)}
    assert by["wrong_no_event"]["kind"] == "write and read"
    assert "; what lies there was made by aclnnInplaceOne at " in by["wrong_no_event"]["memory"]

    def at(name: str, text: str) -> str:
        begin = source.index(f"def {name}(")
        return f"order.py:{source.count(chr(10), 0, source.index(text, begin)) + 1}"

    assert by["wrong_no_event"]["memory"].endswith(f"{at('ones', 'torch.ones(')} ones")
    for name, first, second, remedy in (
        ("wrong_no_event", "x.mul_(2)", "x + 1", "`torch.npu.current_stream().wait_stream(s)`, s being stream 0"),
        ("wrong_no_record_stream", "x + 1", "torch.empty(", "; where the tensor of order.py:"),
        ("wrong_early_read", "there.copy_(", "there.sum()", "`event.synchronize()`, where `event.record()` follows"),
    ):
        missing = by[name]["missing"]
        assert missing.startswith(f"before {at(name, second)}: ") and at(name, first) in missing and remedy in missing
    assert "`tensor.record_stream(s)`" in by["wrong_no_record_stream"]["missing"]
    assert by["wrong_two_writes"]["kind"] == "write and write"
    assert by["wrong_no_record_stream"]["kind"] == "read and write"
    assert by["wrong_in_a_graph"]["graph"] and not by["wrong_around_a_replay"]["graph"]
    assert by["wrong_early_read"]["first"]["task"] == "aclrtMemcpyAsync" and by["wrong_early_read"]["first"]["writes"]
    assert by["wrong_source_overwritten"]["kind"] == "read and write"
    assert by["wrong_blocking_copy"]["second"]["stream"] == -1
    assert f"before {at('copied', 'aclrtMemcpy(')}: `event.synchronize()`" in by["wrong_blocking_copy"]["missing"]


def test_programs_in_cpp(tmp_path: Path) -> None:
    root, program = sim.active(), tmp_path / "order"
    command = [*toolchain.compiler(), "-std=c++17", f"-I{root}/include", str(PROGRAMS / "order.cpp"), f"-L{root}/lib64"]
    subprocess.run([*command, "-lascendcl", "-o", str(program)], check=True, timeout=200)
    done, found = checked(tmp_path, str(program))
    assert [one["kind"] for one in found] == ["write and read", "write and read"] and done.returncode == 1, done.stderr
    assert found[0]["first"]["task"] == "aclrtMemsetAsync" and found[1]["second"]["stream"] == -1
    assert found[0]["first"]["from"][0].startswith("order+0x"), found
    (tmp_path / "order.jsonl").unlink()
    done, found = checked(tmp_path, str(program), "in order")
    assert (done.returncode, done.stdout, found) == (0, "1\n", []), done.stderr

    def ran(*options: str, argument: str = "") -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "ophook_npu", "run", "--device", "sim", *options, "--", str(program)]
        return subprocess.run(
            [*command, *([argument] if argument else [])], capture_output=True, text=True, timeout=280
        )

    # The same schedule gives the same wrong number each time, and a program in order has none.
    assert [ran("--jitter", one).stdout for one in ("only:", "only:1", "only:1", "only:2")] == [
        "1\n",
        "0\n",
        "0\n",
        "0\n",
    ]
    explored = ran("--explore", "20")
    assert explored.returncode == 1 and "it prints something else" in explored.stdout, explored.stdout + explored.stderr
    assert explored.stdout.count("launch ") == 1 and "again: --jitter only:" in explored.stdout
    explored = ran("--explore", "20", argument="in order")
    assert (explored.returncode, "in 20 schedules" in explored.stdout) == (0, True), explored.stdout + explored.stderr
    assert ran("--explore", "2", "--check-order").returncode == ran("--jitter", "x").returncode == 2


@pytest.mark.parametrize("how", ["key", "handle"])
def test_memory_of_two_processes(tmp_path: Path, how: str) -> None:
    root, program = sim.active(), tmp_path / "windows"
    command = [*toolchain.compiler(), "-std=c++17", f"-I{root}/include", str(PROGRAMS / "order_windows.cpp")]
    command += [f"-L{root}/lib64", "-lascendcl", "-lhccl", "-o", str(program)]
    subprocess.run(command, check=True, timeout=200)
    done, found = checked(tmp_path, str(program), how, "wrong", devices=2)
    names = done.stdout.split()
    races = [line for line in found if "kind" in line]
    parts = sorted(int(race["memory"].split()[3]) // 4096 for race in races)
    assert parts == list(range(len(names))) and len(names) == 7 and done.returncode == 1, (done.stderr, found)
    for race in races:
        tasks = {race["first"]["task"], race["second"]["task"]}
        assert "aclrtMemsetAsync of process" in " ".join(tasks) and len(tasks) == 2, race
        assert race["first"]["from"][0].startswith("windows+0x"), race
    (tmp_path / "order.jsonl").unlink()
    done, found = checked(tmp_path, str(program), how, "right", devices=2)
    assert (done.returncode, done.stdout.split(), found) == (0, names, []), (done.stderr, found)


def test_a_program_in_order_has_its_own_exit_status(tmp_path: Path) -> None:
    done, found = checked(tmp_path, "-c", "import torch; print(torch.ones(2).npu() + 1); raise SystemExit(7)")
    assert (done.returncode, found) == (7, []) and "order" not in done.stderr, done.stderr


@pytest.mark.parametrize(
    "program, least",
    [
        ("order_table.py", 58),
        ("order_fixes.py", 19),
        ("order_more.py", 14),
        ("order_loops.py", 34),
        ("order_servers.py", 21),
    ],
)
def test_every_planted_fault_is_found_and_none_of_its_twins(run_python, program: str, least: int) -> None:
    done = run_python(str(PROGRAMS / program), TASK_QUEUE_ENABLE="0", OPHOOK_SIM_AFTER_FAILURE="continue")
    assert done.returncode == 0, done.stderr[-3000:]
    table = [line.split(" ", 2) for line in done.stdout.splitlines()]
    assert len(table) >= least and not [name for fault, _, name in table if fault == "0"], done.stdout
    assert not [name for _, twin, name in table if twin != "0"], done.stdout + done.stderr[-3000:]


RACE = """
import torch
def test_right():
    assert torch.ones(2).npu().sum().item() == 2
def test_race():
    x, side = torch.ones(64, 64, device="npu"), torch.npu.Stream()
    torch.npu.synchronize()
    x.mul_(2)
    with torch.npu.stream(side):
        x + 1
    torch.npu.synchronize()
"""


def test_a_block_of_a_program_is_checked(run_python, tmp_path: Path) -> None:
    (tmp_path / "known.txt").write_text("aclnnInplaceMuls test_race  # on purpose\n")
    program = f"""{RACE}
from pathlib import Path
from ophook_npu import sim
test_race()
for known in (None, None, Path({str(tmp_path / "known.txt")!r})):
    with sim.check_order(known) as found:
        test_race()
    print(found.summary())
with sim.check_order() as found:
    test_right()
print(found.summary())
test_race()
"""
    done = run_python("-c", program, TASK_QUEUE_ENABLE="0")
    assert done.returncode == 0 and done.stderr.count("nothing orders them") == 3, done.stderr
    one = "order: 1 place where nothing orders two accesses"
    none = one.replace("1 place", "0 places")
    assert done.stdout.splitlines() == [one, one, f"{none}, 1 suppressed", none]
    done = run_python("-c", "import torch_npu; from ophook_npu import sim; sim.check_order().__enter__()")
    assert "set TASK_QUEUE_ENABLE=0 before torch is imported" in done.stderr, done.stderr


def test_a_copy_between_devices_is_ordered(run_python) -> None:
    """torch_npu orders it by events that processes can share (ACL_EVENT_IPC)."""
    program = """
import torch
from ophook_npu import sim
a, side = torch.ones(1000, device="npu:0"), torch.npu.Stream("npu:1")
for ordered in (True, False):
    torch.npu.synchronize("npu:0"), torch.npu.synchronize("npu:1")
    with sim.check_order() as found:
        b = a.to("npu:1")
        if ordered:
            side.wait_stream(torch.npu.current_stream("npu:1"))
        b + 1
        with torch.npu.stream(side):
            b * 2
    print(found.summary())
"""
    done = run_python("-c", program, options=("--devices", "2"), TASK_QUEUE_ENABLE="0")
    assert done.returncode == 0, done.stderr
    assert [line.split()[1] for line in done.stdout.splitlines()] == ["0", "1"], done.stdout + done.stderr


def test_tests_that_race_fail(tmp_path: Path) -> None:
    (tmp_path / "test_user.py").write_text(RACE)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--npu-device",
        "sim",
        "--npu-check-order",
    ]
    done = subprocess.run([*command, "test_user.py"], cwd=tmp_path, capture_output=True, text=True, timeout=280)
    assert done.returncode == 1 and "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "next: before test_user.py:10: `torch.npu.current_stream().wait_stream(s)`" in done.stdout


def test_a_backward_pass_is_named_by_the_line_that_began_it(run_python) -> None:
    program = """
import torch
from ophook_npu import sim
x, side = torch.ones(64, 64, device="npu", requires_grad=True), torch.npu.Stream()
torch.npu.synchronize()
with sim.check_order() as found:
    with torch.npu.stream(side):
        (x * 2).sum().backward()
    x.grad + 1
    torch.npu.synchronize()
for race in found.races:
    print(race.first.frames[0], race.first.frames[-1], race.todo)
"""
    done = run_python("-c", program, TASK_QUEUE_ENABLE="0")
    assert done.returncode == 0, done.stderr
    assert "<string>:8 <module> a thread of this backward pass before <string>:9: `torch" in done.stdout


def test_faults_of_collectives_are_found_on_each_rank_and_none_of_their_twins(run_command, tmp_path: Path) -> None:
    ranks = [str(PROGRAMS / name) for name in ("ranks.py", "order_ranks.py")]
    done, _ = checked(tmp_path, *ranks, "2", devices=2, run=run_command)
    table: dict[str, list[tuple[int, int]]] = {}
    for line in done.stdout.splitlines():
        fault, twin, name = line.split(" ", 2)
        table.setdefault(name, []).append((int(fault), int(twin)))
    order = table.pop("two groups in two orders")  # told of by the rank that comes last
    assert any(fault for fault, _ in order) and not any(twin for _, twin in order), done.stdout
    assert len(table) == 20 and all(len(each) == 2 for each in table.values()), done.stdout + done.stderr[-3000:]
    assert all(fault and not twin for each in table.values() for fault, twin in each), done.stdout
    assert "rank 0 launches" in done.stderr and "rank 1 launches" in done.stderr


@pytest.mark.parametrize("way", ["wrong", "right"])
def test_a_window_that_another_rank_writes(run_command, tmp_path: Path, way: str) -> None:
    ranks = [str(PROGRAMS / name) for name in ("ranks.py", "order_workers.py")]
    done, found = checked(tmp_path, *ranks, "4", way, devices=4, soc="Ascend910_9391", run=run_command)
    assert done.returncode == int(way == "wrong"), done.stdout + done.stderr
    tasks = {tuple(sorted((one["first"]["task"], one["second"]["task"]))) for one in found if "kind" in one}
    wanted = (
        {("aclnnAttentionToFFN", writer, reader) for writer in "23" for reader in "01"} if way == "wrong" else set()
    )
    assert {(first.split()[0], first[-1], second[-1]) for first, second in tasks} == wanted, (done.stderr, tasks)


def test_kernels_of_a_program_say_what_they_touched(tmp_path: Path) -> None:
    binary = tmp_path / "kernels"
    kernels.compile([str(PROGRAMS / "asc" / "order.asc"), "-o", str(binary)])
    done, found = checked(tmp_path, str(binary))
    assert done.returncode == 1 and {one["first"]["task"] for one in found} == {"increase"}, done.stderr
    assert sorted(one["kind"] for one in found) == ["write and read", "write and write"]
    (tmp_path / "order.jsonl").unlink()
    done, found = checked(tmp_path, str(binary), "in order")
    assert (done.returncode, done.stdout, found) == (0, "2\n", []), done.stderr


def test_pinned_copies_beside_the_kernels_of_their_stream(run_command) -> None:
    text = (
        "import torch; x = torch.ones(64, device='npu'); x.copy_(torch.ones(64).pin_memory(), non_blocking=True); x + 1"
    )
    for how, status in (("ordered", 0), ("unordered", 1)):
        done = run_command("run", "--device", "sim", "--check-order", "--pinned-copies", how, "--", "-c", text)
        assert done.returncode == status, done.stderr
    assert "first: aclrtMemcpyAsync on stream 0 writes" in done.stderr, done.stderr


def test_collectives_of_two_ranks_are_in_order(run_command, tmp_path: Path) -> None:
    ranks = [str(PROGRAMS / name) for name in ("ranks.py", "collectives.py")]
    done, found = checked(tmp_path, *ranks, "2", devices=2, run=run_command)
    assert done.returncode == 0 and not found, done.stderr[-3000:]
    assert "rank 1: reductions passed" in done.stdout
