"""Validate names the call in which a planted problem is born, and nothing else."""

from __future__ import annotations

import subprocess
import sys
import warnings

import pytest
import torch
from programs import mlp, step, transformer, transformer_step
from torch import nn

from ophook_npu import OphookError, hook, observe


class Planted(nn.Module):
    """log of a value that is negative in one element."""

    def forward(self, x):
        y = x * 2
        y = (y - 1).log()  # planted
        return (y + 1).relu().sum()


LINE = Planted.forward.__code__.co_firstlineno + 2


def test_names_the_call_that_made_the_first_nan():
    model = nn.Sequential(nn.Identity(), Planted())
    with observe.Validate(mode="record") as found:
        model(torch.tensor([0.4, 2.0, 3.0]))
    (problem,) = found.problems
    assert problem is found.first
    assert (problem.kind, problem.op, problem.module, problem.phase) == ("nan", "aten::log", "1", "forward")
    assert problem.stack[-1] == (__file__, LINE, "forward")
    assert problem.text == "NaN in 1 of 3 elements; no argument had one"
    assert found.inherited == 3  # add, relu, sum
    assert "shape=(3,)" in problem.inputs[0]


@pytest.mark.parametrize(("make", "run"), [(mlp, step), (transformer, transformer_step)])
def test_healthy_models_raise_no_alarm(make, run):
    model = make()
    with observe.Validate(mode="raise") as found:
        run(model)
    assert found.seen > 20 and found.found == 0


def test_backward():
    x = torch.zeros(3, requires_grad=True)
    with observe.Validate(mode="record") as found:
        (x * x).sum().sqrt().backward()
    assert found.first.phase == "backward" and found.first.kind in ("nan", "inf")


def test_in_place_operators_are_judged_by_what_they_overwrote():
    x = torch.tensor([float("nan"), 1.0])
    with observe.Validate(mode="record") as found:
        x.add_(1)
    assert (found.found, found.inherited) == (0, 1)
    y = torch.tensor([1.0, 0.0])
    with observe.Validate(mode="record") as found:
        y.reciprocal_()
    assert (found.first.kind, found.first.op) == ("inf", "aten::reciprocal_")


def test_numbers_are_inputs_and_unwritten_memory_is_not_looked_at():
    with observe.Validate(mode="record") as found:
        torch.zeros(2).masked_fill(torch.tensor([True, False]), float("-inf"))
        torch.full((2,), float("inf"))
        for _ in range(20):
            torch.empty(1000).fill_(1)
    assert found.found == 0


def test_overflow_on_cast_is_told_from_other_infinities():
    with observe.Validate(mode="record") as found:
        torch.tensor([1.0, 70000.0]).half()
    assert found.first.kind == "overflow"
    assert found.first.text == "cast to float16 overflowed: 70000 is over 65504"


@pytest.mark.parametrize(("value", "texts"), [
    (2.0, []),
    (float("nan"), []),
    (70000.0, ["cast to float8_e5m2 overflowed: 70000 is over 57344"]),
])  # fmt: skip
def test_results_of_eight_bits(value, texts):
    x = torch.tensor([1.0, value])
    with observe.Validate(mode="record") as found:
        x.to(torch.float8_e5m2).to(torch.float16)
    assert [p.text for p in found.problems] == texts
    assert found.inherited == {2.0: 0, 70000.0: 1}.get(value, 2)


def test_dtype_and_device_surprises():
    with observe.Validate(mode="record", checks=("dtype", "device")) as found:
        torch.ones(2) * torch.ones(2)
        torch.ones(2).double()
    assert found.found == 0
    wide = hook("aten::sin", replace=lambda x: torch.ops.aten.cos(x).double(), check="off")
    away = hook("aten::tan", replace=lambda x: torch.empty_like(x, device="meta"), check="off")
    found = observe.Validate(mode="record", checks=("dtype", "device"))
    with wide, away, found:
        torch.ones(2).sin()
        torch.ones(2).tan()
    assert [p.kind for p in found.problems] == ["dtype", "device"]
    assert found.problems[0].text == "the result is float64, the arguments are float32"
    assert found.problems[1].text == "the result is on meta, the arguments on cpu"


def test_contracts_of_the_user():
    def positive(call):
        return None if bool((call.result >= 0).all()) else f"negative: {call.result.min():.1f}"

    with observe.Validate(mode="record", contracts={"aten::add": positive}) as found:
        torch.ones(2) + 1
        torch.ones(2) + -3
    (problem,) = found.problems
    assert (problem.kind, problem.text) == ("contract", "negative: -2.0")


def test_modes():
    bad = torch.tensor([-1.0])
    with (
        pytest.raises(OphookError, match=r"\[validate aten::log\] \(forward\): NaN in 1 of 1 elements"),
        observe.Validate(mode="raise"),
    ):
        bad.log()
    with pytest.warns(observe.ValidateWarning, match="aten::log"), observe.Validate():
        bad.log()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with observe.Validate(mode="record", limit=1) as found:
            bad.log()
            bad.sqrt()
    assert found.found == 2 and len(found.problems) == 1
    with pytest.raises(OphookError, match="unknown mode 'shout'; allowed: warn, raise, record"):
        observe.Validate(mode="shout")
    with pytest.raises(OphookError, match="unknown check 'nans'"):
        observe.Validate(checks=("nans",))


def test_report_and_data():
    with observe.Validate(mode="record") as found:
        torch.tensor([-1.0]).log()
    assert "aten::log" in found.report() and "1 problem in 2 calls" in found.report()
    assert found.to_json()["problems"][0]["op"] == "aten::log"
    found.clear()
    assert found.found == 0 and "no problem found" in found.report()


def test_the_debugger_stops_in_the_program(tmp_path):
    program = tmp_path / "bad.py"
    program.write_text(
        "import torch\ndef loss(x):\n    y = x - 1\n    z = y.log()\n    return z.mean()\n"
        "print(loss(torch.linspace(0, 3, 4)))\n"
    )
    command = [sys.executable, "-m", "ophook_npu", "validate", "--debugger", "--", str(program)]

    def typed(text):
        return subprocess.run(command, input=text, capture_output=True, text=True, check=False)

    stopped = typed("p y.tolist()\nn\np 'now', z.shape\nc\n")
    assert "[-1.0, 0.0, 1.0, 2.0]" in stopped.stdout and "bad.py(4)loss()" in stopped.stdout
    # A step leads to the program's next line, not into the observer.
    assert "bad.py(5)loss()" in stopped.stdout and "('now', torch.Size([4]))" in stopped.stdout
    assert "tensor(nan)" in stopped.stdout and stopped.returncode == 1
    left = typed("q\n")
    assert left.returncode == 130 and "tensor(nan)" not in left.stdout and "aten::log" in left.stderr


def test_debugger(monkeypatch, capsys):
    stopped = []
    monkeypatch.setattr("sys.breakpointhook", lambda: stopped.append(True))
    with observe.Validate(mode="record", debugger=True):
        torch.tensor([-1.0]).log()
    assert stopped == [True] and "aten::log" in capsys.readouterr().out
