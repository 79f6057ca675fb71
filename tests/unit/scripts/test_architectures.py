"""scripts/architectures.py: when two models are equal, and what the page says of the others."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "scripts"))
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "scripts" / "architectures"))
import architectures
import makers
import worker


def test_both_processes_have_the_same_names() -> None:
    assert set(architectures.PACKAGES) == set(makers.LIBRARIES)
    assert tuple(worker.WAYS) == architectures.WAYS


def test_of_each_family_the_smallest_whatever_its_size() -> None:
    def make(name: str) -> torch.nn.Module:
        if name == "d1":
            raise RuntimeError("cannot be measured")
        return torch.nn.Linear(int(name[1:]), 1)

    assert makers.smallest(["a3", "a2", "b5", "d1"], lambda name: name[0], make) == ["a2", "b5", "d1"]


def test_distance() -> None:
    wanted = {"out": torch.ones(100).double(), "gradient of a": torch.ones(4).double()}
    assert worker.distance(wanted, wanted)[0] == 0
    far, where = worker.distance({**wanted, "out": wanted["out"] * 1.5}, wanted)
    assert far == pytest.approx(0.5) and where == "out"
    assert worker.distance({"out": wanted["out"]}, wanted) == (float("inf"), "other tensors: gradient of a")
    assert worker.distance({**wanted, "out": torch.ones(99).double()}, wanted)[1] == "out: (99,), not (100,)"
    infinite = {**wanted, "out": torch.full((100,), torch.inf).double()}
    assert worker.distance(infinite, infinite)[0] == 0
    assert worker.distance(infinite, wanted)[1] == "out: infinities or NaN elsewhere"
    # A gradient that is nothing beside the others is measured by theirs.
    small = {**wanted, "gradient of b": torch.full((4,), 1e-9).double()}
    assert worker.distance({**small, "gradient of b": -small["gradient of b"]}, small)[0] < 1e-6


def test_a_model_that_differs_or_stops_is_not_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    def made(name: str) -> makers.Made:
        if name == "none":
            raise makers.CannotMake("no rule")
        return torch.nn.Linear(2, 2), (torch.ones(1, 2),)

    def way(model: torch.nn.Module, inputs: object) -> dict[str, object]:
        with worker.on_device():
            if model.training and way_stops:
                raise RuntimeError("507015")
        return {"far": far, "own": 1e-6, "where": "out"}

    monkeypatch.setitem(makers.LIBRARIES, "timm", (lambda: ["a"], made))
    monkeypatch.setitem(worker.WAYS, "training", way)
    way_stops, far = False, 1e-5
    assert worker.run("timm", "training", "a")["state"] == "equal"
    far = 1e-3
    assert worker.run("timm", "training", "a")["state"] == "differs"
    way_stops = True
    stopped = worker.run("timm", "training", "a")
    assert stopped["state"] == "stops" and stopped["said"].startswith("RuntimeError: 507015 (test_architectures.py")
    assert worker.run("timm", "training", "none") == {"state": "not made", "said": "CannotMake: no rule"}


def test_the_table_counts_what_was_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    reasons = tmp_path / "reasons.txt"
    reasons.write_text("[torch_npu: it refuses]\nnot supported\n")
    monkeypatch.setattr(architectures, "REASONS", reasons)
    of = [
        {"name": "a", "state": "equal"},
        {"name": "b", "state": "not made", "said": "no rule"},
        {"name": "c", "state": "stops", "said": "RuntimeError: not supported"},
    ]
    text = architectures.table(
        {"timm": {"training": of, "graph": [*of, {"name": "d", "state": "differs", "where": "out"}]}}
    )
    assert "| timm | training | 3 | 2 | 1 | 1 |" in text and "| timm | graph | 4 | 3 | 1 | 2 |" in text
    assert "| torch_npu | it refuses | `c`, `c` (graph) |" in text and "| open | d differs out | `d` (graph) |" in text
