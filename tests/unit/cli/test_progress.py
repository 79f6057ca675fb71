"""The line that says how far a build is."""

import io

import pytest
from rich.console import Console

from ophook_npu.cli import sim
from ophook_npu.pace import BuildStep


def told(monkeypatch: pytest.MonkeyPatch, terminal: bool) -> str:
    now = [100.0]
    monkeypatch.setattr(sim.time, "perf_counter", lambda: now[0])
    out = io.StringIO()
    with sim.progress_line(Console(file=out, force_terminal=terminal, width=100)) as progress:
        for second in range(61):  # a build of a minute tells once a second
            now[0] = 100.0 + second
            progress(BuildStep(second / 60, 60.0 - second))
    return out.getvalue()


def test_a_log_gets_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = told(monkeypatch, terminal=False).splitlines()
    assert [line.strip() for line in lines if line.strip()] == [
        "simulated Ascend: 27% compiled, about 44 s left",
        "simulated Ascend: 53% compiled, about 28 s left",
        "simulated Ascend: 80% compiled, about 12 s left",
    ]


def test_a_terminal_gets_a_bar_with_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    text = told(monkeypatch, terminal=True)
    assert "simulated Ascend" in text and "about" in text and "s left" in text and "compiled" not in text
