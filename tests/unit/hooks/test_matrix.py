"""The matrix in the docs is what the experiments say on this torch, and the guide asks the mechanisms themselves."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ophook_npu import OphookError
from ophook_npu.hooks import guide, matrix

pytestmark = pytest.mark.slow

DOCUMENT = Path(__file__).parents[3] / "docs" / "hooks-matrix.md"


@pytest.fixture(scope="module")
def cells():
    # As a user gets them: in a process of its own. A crash in torch fails these tests then, and leaves its stack.
    command = [sys.executable, "-X", "faulthandler", "-m", "ophook_npu", "hooks", "matrix", "--json"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)
    assert result.returncode == 0, result.stderr[-20000:]
    return [matrix.Cell(**row) for row in json.loads(result.stdout)]


def test_every_no_has_a_reason_and_nothing_raised(cells):
    for cell in cells:
        assert cell.answer in (matrix.YES, matrix.EAGER, matrix.CAPTURE, matrix.NO, matrix.ABSENT)
        assert bool(cell.reason) == (cell.answer in (matrix.NO, matrix.ABSENT)), cell
        assert "Error" not in cell.reason, cell


def test_undo_is_exact_for_every_mechanism(cells):
    assert {cell.mechanism: cell.answer for cell in cells if cell.situation == "undo"} == dict.fromkeys(
        {cell.mechanism for cell in cells}, matrix.YES
    )


def test_document_is_what_was_measured(cells):
    """The document is for one version of torch; on another the experiments may answer differently."""
    text = DOCUMENT.read_text(encoding="utf-8")
    if f"With {matrix.versions()}." in text:
        assert matrix.updated(text, cells) == text, (
            "regenerate it: ophook-npu hooks matrix --update docs/hooks-matrix.md"
        )
    else:
        assert "With torch 2.13.0." in text


def test_updating_one_device_leaves_the_other(cells):
    other = "## On zzz\n\nWith nothing.\n\n1. reason\n"
    once = matrix.updated(f"# Old\n\n{other}", cells)
    assert once.startswith(matrix.PREFACE) and once.endswith(f"\n{other}") and matrix.markdown(cells) in once
    assert matrix.updated(once, cells) == once
    changed = [*cells[:-1], matrix.Cell("pattern_rewrite", "undo", matrix.NO, "a reason")]
    assert matrix.updated(once, changed) != once


def test_a_miss_shows(monkeypatch):
    """The experiments can fail: with a hook that does nothing, every cell that was seen is not."""
    from ophook_npu.hooks._handler import Handler

    for entry in ("_substitute", "_substitute_only"):
        monkeypatch.setattr(Handler, entry, lambda self, op, args, kwargs, proceed: proceed(*args, **kwargs))
    for situation in ("eager", "inference_mode", "compile warm"):
        cell = matrix._cell("impl_override", situation, matrix.SITUATIONS[situation], "cpu")
        assert cell.answer == matrix.NO


def test_guide():
    advice = guide.advise("aten::mm", ["threads"])
    assert advice.via == "impl_override"
    assert "belongs to one thread" in advice.rejected["dispatch_mode"]
    assert "ophook_npu.hook(\"aten::mm\", before=print, needs={'threads'})" in advice.example
    with pytest.raises(OphookError, match="allowed: aten::mm"):
        guide.advise("aten::mmm")
    with pytest.raises(OphookError, match="unknown need"):
        guide.advise("aten::mm", ["speed"])
