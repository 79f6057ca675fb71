"""Cube and vector cores at one work, each running the source as it is compiled for its kind."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from ophook_npu.kernel import Entry
from ophook_npu.kernel.findings import KernelReport
from ophook_npu.kernel.memory import Block
from ophook_npu.kernel.source import INPUT, OUTPUT, WORKSPACE, Argument, Settings

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
