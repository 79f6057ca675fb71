"""The table for npu in docs/hooks-matrix.md is what the experiments say over the simulated Ascend."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ophook_npu.hooks import matrix

pytestmark = pytest.mark.slow

DOCUMENT = Path(__file__).parents[2] / "docs" / "hooks-matrix.md"


@pytest.fixture(scope="module")
def cells() -> list[matrix.Cell]:
    # In a process of its own: some experiments fail while a graph is compiled, which other tests should not inherit.
    command = [sys.executable, "-m", "ophook_npu", "hooks", "matrix", "--device", "npu", "--json"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert result.returncode == 0, result.stderr[-2000:]
    return [matrix.Cell(**row) for row in json.loads(result.stdout[result.stdout.index("[\n") :])]


def test_every_no_has_a_reason_and_nothing_raised(cells: list[matrix.Cell]) -> None:
    assert {cell.situation for cell in cells} == set(matrix.SITUATIONS)
    for cell in cells:
        assert bool(cell.reason) == (cell.answer in (matrix.NO, matrix.ABSENT)), cell
        assert "Error" not in cell.reason, cell


def test_compilers_for_npu_were_really_tried(cells: list[matrix.Cell]) -> None:
    at = {(cell.mechanism, cell.situation): cell.answer for cell in cells}
    assert at["pattern_rewrite", "torchair"] == at["pattern_rewrite", "npugraph_ex"] == matrix.YES
    assert at["impl_override", "torchair"] == at["impl_override", "npugraph_ex"] == matrix.EAGER
    assert {answer for (_, situation), answer in at.items() if situation == "undo"} == {matrix.YES}


def test_document_is_what_was_measured(cells: list[matrix.Cell]) -> None:
    """The document is for one version of torch_npu; on another the experiments may answer differently."""
    text = DOCUMENT.read_text(encoding="utf-8")
    if f"With {matrix.versions('npu')}." in text:
        assert matrix.updated(text, cells, "npu") == text, (
            "regenerate it: ophook-npu run -- -m ophook_npu hooks matrix --device npu --update docs/hooks-matrix.md"
        )
    else:
        assert "With torch 2.13.0 and torch_npu 2.13.0." in text
