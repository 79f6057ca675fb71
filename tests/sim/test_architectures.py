"""scripts/architectures.py with architectures of transformers, on the simulated device."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts" / "architectures"))
import makers
import worker


@pytest.mark.parametrize("way", ["training", "bfloat16", "graph"])
def test_a_language_model(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(makers, "FOR_GRAPHS", way == "graph")
    result = worker.run("transformers", way, "qwen3")
    assert result["state"] == "equal", result
    # Against the CPU; against eager a graph may be equal to the bit, as on a CPU without vector units.
    assert way == "graph" or result["far"] > 0, result


@pytest.mark.parametrize("kind", ["t5", "vit", "wav2vec2", "mamba"])
def test_inputs_of_other_kinds(kind: str) -> None:
    model, _ = makers.transformers_made(kind)
    assert sum(one.numel() for one in model.parameters()) < 5e6
    assert worker.run("transformers", "training", kind)["state"] == "equal"


def test_what_no_rule_makes_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(makers, "MOST", 1e3)
    with pytest.raises(makers.CannotMake, match="million parameters"):
        makers.transformers_made("llama")
