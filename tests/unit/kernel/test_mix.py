"""Cube and vector cores at one work, each running the source as it is compiled for its kind."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from test_matmul import tiling

from ophook_npu.kernel import Entry
from ophook_npu.kernel.findings import KernelReport
from ophook_npu.kernel.memory import Block
from ophook_npu.kernel.source import INPUT, OUTPUT, TILING, WORKSPACE, Argument, Settings

SOURCE = Path(__file__).parent / "mix.cpp"
BLOCKS, SIDE = 3, 32


def run(name: str) -> tuple[torch.Tensor, torch.Tensor, KernelReport]:
    generator = torch.Generator().manual_seed(2)
    x, y = (torch.randn(BLOCKS, SIDE, SIDE, generator=generator).half() for _ in range(2))
    z = Block((BLOCKS, SIDE, SIDE), 0)
    arguments = [
        Argument("x", Block.of(x, name), INPUT), Argument("y", Block.of(y, name), INPUT), Argument("z", z, OUTPUT),
        Argument("workspace", Block((BLOCKS * SIDE * SIDE,), 0), WORKSPACE),
    ]  # fmt: skip
    report = Entry(SOURCE, name=name).run(arguments, BLOCKS, settings=Settings(on_wait=True))
    return z.array(True), x.float() @ y.float() + torch.arange(SIDE)[:, None], report


def test_the_vector_cores_wait_for_the_cube_core() -> None:
    z, wanted, report = run("right")
    assert not report.findings, [str(f) for f in report.findings]
    torch.testing.assert_close(z, wanted, rtol=1e-4, atol=1e-4)


def test_a_missing_flag_is_found() -> None:
    _, _, report = run("without_a_flag")
    found = [f for f in report.errors if f.kind == "missing_sync_all"]
    assert found and "core 1 reads what core 0 writes" in found[0].what, [str(f) for f in report.findings]


@pytest.mark.parametrize(
    ("name", "kinds"), [("flags_are_taken", set()), ("flags_are_left", {"set_twice", "set_without_wait"})]
)
def test_a_flag_counts_to_fifteen_while_the_others_can_take_it(name: str, kinds: set[str]) -> None:
    _, _, report = run(name)
    assert {f.kind for f in report.findings} - {"unwritten"} == kinds, [str(f) for f in report.findings]


def groups(name: str) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, KernelReport]:
    generator = torch.Generator().manual_seed(3)
    x, y = (torch.randn(parts, 16, 16, generator=generator).half() for parts in (21, 1))
    z = Block((21 * 256 + 6 * 16,), 0)
    t = tiling(
        **dict.fromkeys(("N", "Ka", "Kb", "singleCoreM", "singleCoreN", "singleCoreK", "baseM", "baseN", "baseK"), 16)
    )
    arguments = [
        Argument("x", Block.of(x, name), INPUT), Argument("y", Block.of(y, name), INPUT), Argument("z", z, OUTPUT),
        Argument("workspace", Block.of(np.zeros(1 << 15, np.uint8), name), WORKSPACE), Argument("tiling", t, TILING),
    ]  # fmt: skip
    report = Entry(SOURCE.with_name("cube_groups.cpp"), name=name).run(arguments, BLOCKS)
    return z.array(True), x, y, report


def test_groups_of_cube_cores_answer_messages() -> None:
    z, x, y, report = groups("groups")
    assert not report.findings, [str(f) for f in report.findings]
    torch.testing.assert_close(z[: 21 * 256].view(21, 16, 16), x.float() @ y.float(), rtol=1e-4, atol=1e-4)
    told = z[21 * 256 :].view(6, 16)
    # The last core has the first queue, and the cube core goes through them in a row.
    assert told[:, 0].tolist() == [2 * core + 1000 * (5 - core) for core in range(6)]
    assert bool((told == told[:, :1]).all())


@pytest.mark.parametrize(
    ("name", "kind", "what"),
    [
        ("nobody_quits", "deadlock", "waits for a message to be VALID or QUIT or FAKE, and it stays FREE"),
        ("one_queue_of_two_cores", "parameter", "the queue is already core"),
        ("no_such_queue", "parameter", "the group has fewer queues"),
        ("without_a_queue", "parameter", "AssignQueue was not called"),
        ("fewer_queues_than_cubes", "parameter", "each cube core needs a queue"),
        ("two_modes", "parameter", "pipeMode is not that of AllocMessage"),
        ("in_two_groups", "parameter", "this cube core is in another group"),
        ("the_end_of_ub", "local_capacity", "it takes the last 1728 bytes of UB"),
        ("addresses_of_its_own", "parameter", "the kernel manages the addresses"),
    ],
)
def test_faults_of_groups(name: str, kind: str, what: str) -> None:
    *_, report = groups(name)
    assert any(f.kind == kind and what in f.what for f in report.errors), [str(f) for f in report.findings]
