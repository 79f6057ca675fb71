"""`kernel report`: counts of a run, in a terminal and as a page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import typer
from typer.testing import CliRunner

from ophook_npu.cli import kernel as commands
from ophook_npu.sim.build import CSRC

INPUTS = """
import numpy as np
def inputs():
    dense, tail = np.ones((8, 64), np.float32), np.ones(7, np.float32)
    return [(dense, dense), (tail, tail)]
"""


def test_report(tmp_path: Path) -> None:
    (tmp_path / "inputs.py").write_text(INPUTS)
    page = tmp_path / "report.html"
    command = ["kernel", "report", str(CSRC / "vendor"), "--op", "AddCustom", "--inputs", str(tmp_path / "inputs.py")]
    app = typer.Typer()
    commands.register(app)
    result = CliRunner().invoke(app, [*command, "--html", str(page)], env={"COLUMNS": "220"})
    assert result.exit_code == 0, result.output
    rows = [
        [cell.strip() for cell in line.split("│")[1:-1]] for line in result.output.splitlines() if "│ inputs" in line
    ]
    dense, tail = rows
    size = 8 * 64 * np.dtype(np.float32).itemsize
    assert dense[1] == "pass" and dense[3:5] == [f"{2 * size:,}", f"{size:,}"] and dense[7] == "0%"
    assert tail[3:5] == ["56", "28"] and tail[7] == "100%"  # 28 bytes are no multiple of 32
    assert dense[10].endswith("%") and dense[10] != "0%"
    text = page.read_text()
    assert text.count('class="left name wrap"') == 2  # a long case takes several lines: nothing is cut off at the right
    assert "AddCustom" in text and "inputs()[1]" in text and "times are not known" in text
