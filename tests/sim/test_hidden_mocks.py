"""scripts/vllm_ascend/hidden.py: the operators in whose places tests put mocks get the same calls."""

from __future__ import annotations

import sys
from pathlib import Path
from unittest import mock

import pytest
import torch
import torch_npu

SCRIPTS = Path(__file__).parents[2] / "scripts" / "vllm_ascend"


def test_what_a_mock_hides_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    from hidden import Hidden

    monkeypatch.delitem(sys.modules, "hidden")
    hidden = Hidden()
    with hidden.watched(), mock.patch("torch_npu.npu_swiglu", return_value=1):
        assert torch_npu.npu_swiglu(torch.ones(2, 4)) == 1
        assert torch_npu.npu_swiglu(torch.ones(2, 3)) == 1
        assert torch_npu.npu_swiglu(mock.MagicMock()) == 1
    taken, refused, unasked = (call["said"] for call in hidden.calls)
    assert taken == "" and "RuntimeError" in refused and "not asked: a mock" in unasked, hidden.calls
    assert {call["operator"] for call in hidden.calls} == {"npu_swiglu"}
    assert torch_npu.npu_swiglu(torch.ones(2, 4).npu()).shape == (2, 2) and len(hidden.calls) == 3
