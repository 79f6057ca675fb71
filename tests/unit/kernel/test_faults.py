"""Each planted fault is found, in its line, and its twin without the fault gives no finding. 20 runs say the same."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from ophook_npu.kernel import Entry, Report
from ophook_npu.kernel.memory import Block
from ophook_npu.kernel.source import INPUT, OUTPUT, WORKSPACE, Argument, Settings

FAULTS = Path(__file__).parent / "faults"
CORES, COUNT = 2, 1024
_FAULT = re.compile(r"// FAULT(-WITHOUT-LINE)? (\w+)$")


def planted() -> list[tuple[Path, str, str, int]]:
    """(file, name, kind, line or 0) of every fault."""
    found = []
    for path in sorted(FAULTS.glob("*.cpp")):
        kind, line = "", 0
        for number, text in enumerate(path.read_text().splitlines(), 1):
            if mark := _FAULT.search(text):
                kind, line = mark.group(2), 0 if mark.group(1) else number
            if export := re.match(r"EXPORT\((\w+)\)", text):
                assert kind, f"{path.name}:{number}: {export.group(1)} has no line marked FAULT"
                found.append((path, export.group(1), kind, line))
                kind = ""
    return found


STRICT = {"missing_barrier", "missing_scalar_sync", "iterations_overlap"}


def run(path: Path, name: str, strict: bool = False) -> Report:
    x, y = (np.random.default_rng(i).standard_normal(CORES * COUNT, dtype=np.float32) for i in range(2))
    arguments = [
        Argument("x", Block.of(x, name), INPUT), Argument("y", Block.of(y, name), INPUT),
        Argument("z", Block(x.shape, 0), OUTPUT), Argument("workspace", Block((CORES * COUNT,), 0), WORKSPACE),
    ]  # fmt: skip
    return Entry(path, name=name).run(arguments, CORES, settings=Settings(strict=strict))


ALL = planted()


@pytest.mark.parametrize(("path", "name", "kind", "line"), ALL, ids=[name for _, name, _, _ in ALL])
def test_fault_is_found_and_its_twin_is_clean(path: Path, name: str, kind: str, line: int) -> None:
    findings = run(path, f"{name}_wrong", kind in STRICT).findings
    found = [f for f in findings if f.kind == kind and (f.line == line or not line)]
    assert found, f"{kind} in line {line} was not found, but: {[str(f) for f in findings]}"
    if line:
        assert Path(found[0].file).name == path.name
    assert found[0].what and found[0].todo
    told = {f.kind for f in findings}
    if kind in ("alignment", "local_bounds", "data_type", "mask", "repeat", "parameter", "position", "queue_empty"):
        assert not told & {"uninitialized", "unwritten", "not_freed", "left_in_queue"}, "these follow from it"
    clean = [f for f in run(path, f"{name}_right", kind in STRICT).findings if f.kind != "written_twice"]
    assert not clean, [str(f) for f in clean]


def test_a_tensor_may_be_a_part_of_its_buffer() -> None:
    told = {(f.kind, f.severity) for f in run(FAULTS / "instructions.cpp", "count_beyond_the_tensor").findings}
    assert told <= {("beyond_tensor", "note"), ("written_twice", "note")} and told


def test_an_instruction_may_read_behind_its_buffer_where_nobody_uses_it() -> None:
    def told(name: str) -> set[tuple[str, str]]:
        findings = run(FAULTS / "instructions.cpp", f"{name}_what_is_behind_its_buffer").findings
        return {(f.kind, f.severity) for f in findings if f.kind != "written_twice"}

    assert told("leaves") == {("beyond_buffer", "note")}
    assert told("uses") == {("beyond_buffer", "note"), ("uninitialized", "error")}


def test_there_are_faults_of_many_kinds() -> None:
    assert len(ALL) >= 40
    assert len({kind for _, _, kind, _ in ALL}) >= 25


@pytest.mark.parametrize("name", ["reads_another_cores_result", "no_wait_for_the_copy", "one_core_ends_early"])
def test_findings_do_not_depend_on_the_run(name: str) -> None:
    first = run(FAULTS / "order.cpp", f"{name}_wrong").findings
    assert first
    for _ in range(19):
        assert run(FAULTS / "order.cpp", f"{name}_wrong").findings == first
