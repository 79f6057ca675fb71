"""docs/aclnn-api.md: every function with a page, and why some are not there."""

import importlib.util
from pathlib import Path

import pytest

from ophook_npu import sim
from ophook_npu.errors import OphookError
from ophook_npu.sim import rules

ROOT = Path(__file__).parents[2]
_spec = importlib.util.spec_from_file_location("aclnn_pages", ROOT / "scripts" / "aclnn_pages.py")
pages = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(pages)


def test_the_document_is_what_is_there() -> None:
    have = pages.simulated(Path(sim.build()))
    assert len(have) > 1000
    assert pages.TARGET.read_text(encoding="utf-8") == pages.document(have), "run scripts/aclnn_pages.py"


def test_what_is_not_there_has_a_reason_and_nothing_else_has_one() -> None:
    have = pages.simulated(Path(sim.build()))
    with pytest.raises(OphookError, match=r"no reason for aclnnAdd$"):
        pages.why_not(rules.table(), have - {"aclnnAdd"})
    refused = next(iter(pages.reasons()))
    with pytest.raises(OphookError, match=rf"nobody asks for: {refused}$"):
        pages.why_not(rules.table(), have | {refused})
