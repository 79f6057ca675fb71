"""The estimated time line: a pipe works in order, what waits begins after, and double buffering overlaps."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import typer
from typer.testing import CliRunner

from ophook_npu.cli import kernel as commands
from ophook_npu.kernel import Entry
from ophook_npu.kernel.findings import PipeStep
from ophook_npu.kernel.memory import Block
from ophook_npu.kernel.source import INPUT, OUTPUT, Argument, Settings
from ophook_npu.kernel.timeline import PIPES

HERE = Path(__file__).parent
COUNT = 8 * 4096


def steps(name: str) -> list[PipeStep]:
    x = np.linspace(-2, 2, COUNT, dtype=np.float32)
    arguments = [Argument("x", Block.of(x, name), INPUT), Argument("z", Block(x.shape, 0), OUTPUT)]
    report = Entry(HERE / "pipeline.cpp", name=name).run(arguments, 1, settings=Settings(timeline=True))
    assert not report.findings, [str(f) for f in report.findings]
    return report.timeline


def test_a_pipe_does_one_thing_at_a_time() -> None:
    found = steps("twice")
    assert [sum(s.pipe == pipe for s in found) for pipe in ("MTE2", "V", "MTE3")] == [8, 8, 8]
    assert sum(s.bytes for s in found) == 2 * COUNT * 4
    for pipe in PIPES:
        own = [s for s in found if s.pipe == pipe]
        assert all(a.end <= b.start for a, b in itertools.pairwise(own))
    for tile in range(8):  # each tile is copied in, computed, copied out
        copy, compute, out = ([s for s in found if s.pipe == pipe][tile] for pipe in ("MTE2", "V", "MTE3"))
        assert copy.end <= compute.start and compute.end <= out.start
        assert (copy.call, compute.call) == ("DataCopy", "Exp") and Path(compute.file).name == "pipeline.cpp"


def test_two_buffers_overlap() -> None:
    """With one buffer a copy waits until the tile before it was computed; with two it runs beside that."""
    ends = {}
    for name in ("single", "twice"):
        found = steps(name)
        copies, computed = ([s for s in found if s.pipe == pipe] for pipe in ("MTE2", "V"))
        waits = [copy.start >= before.end for copy, before in zip(copies[1:], computed, strict=False)]
        assert all(waits) if name == "single" else not any(waits)
        ends[name] = max(s.end for s in found)
    assert ends["twice"] < ends["single"]


def test_trace_of_a_project(tmp_path: Path) -> None:
    project = HERE.parents[2] / "examples" / "ascendc_matmul"
    (tmp_path / "inputs.py").write_text(
        "import torch\ndef inputs():\n    return [(torch.ones(64, 32), torch.ones(32, 48), torch.ones(48), False)]\n"
    )
    out = tmp_path / "trace.json"
    app = typer.Typer()
    commands.register(app)
    command = ["kernel", "report", str(project), "--inputs", str(tmp_path / "inputs.py"), "--timeline", str(out)]
    result = CliRunner().invoke(app, command, env={"COLUMNS": "220"})
    assert result.exit_code == 0, result.output
    assert "pipes of the slowest core at work (estimate): FIX 9" in result.output
    data = json.loads(out.read_text())
    names = [e["args"]["name"] for e in data["traceEvents"] if e["name"] == "process_name"]
    assert names and all("vector core" in name and "estimate" in name for name in names)
    work = [e for e in data["traceEvents"] if e["ph"] == "X"]
    assert {e["name"] for e in work} == {"IterateAll"} and all(e["dur"] > 0 for e in work)
    assert sum(e["args"]["elements"] for e in work) == 64 * 32 * 48
