"""scripts/fuzz.py: generated programs agree with the CPU, and one that does not is found, made smaller and told."""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "fuzz.py"


def loaded(script: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(script.stem, script)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[script.stem] = module  # where dataclasses look
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def fuzz() -> ModuleType:
    return loaded(SCRIPT)


def worker(fuzz: ModuleType, match: str = "", seed: int = 11, alias: bool = False):
    return fuzz.Worker(argparse.Namespace(seed=seed, match=match, graphs=0, programs=0, check_order=False, alias=alias))


def test_generated_programs_agree(fuzz: ModuleType) -> None:
    run = worker(fuzz)
    known = {tuple(line.split()[:2]) for line in fuzz.KNOWN.read_text().splitlines() if line[0] != "#"}
    verdicts = []
    for number in range(60):
        program = run.draw(number)
        if program is None:
            continue
        try:
            verdict, why = run.judge(program)
        except fuzz.NoProgram:
            continue
        assert verdict not in fuzz.BAD or (program.op, verdict) in known, f"{program}: {why}"
        verdicts.append(verdict)
    assert verdicts.count("equal") > 40


def test_what_once_differed_still_gets_its_verdict(fuzz: ModuleType) -> None:
    run = worker(fuzz)
    lines = [line.partition(": ") for line in fuzz.FOUND.read_text().splitlines() if line[0] != "#"]
    found = {}
    for _, _, text in lines:
        program = fuzz.Program.told(text)
        assert str(program) == text
        try:
            found[text] = run.judge(program)[0]
        except fuzz.NoProgram:
            found[text] = "no program"
    assert found == {text: verdict for verdict, _, text in lines}


def test_a_race_of_a_program_is_its_verdict(fuzz: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    import contextlib
    import types

    import ophook_npu.sim

    monkeypatch.setattr(
        ophook_npu.sim, "check_order", lambda: contextlib.nullcontext(types.SimpleNamespace(races=["two writes"]))
    )
    run = worker(fuzz, "trunc")
    run.options.check_order = True
    program = next(p for number in range(9) if (p := run.draw(number)) is not None)
    assert run.judge(program) == ("race", "str: two writes")


def test_what_differs_is_found_and_made_smaller(fuzz: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    run = worker(fuzz, "trunc")
    drawn = [program for number in range(400) if (program := run.draw(number)) is not None]
    odd = next(p for p in drawn if p.dtype == "float32" and p.form == "in place" and p.layouts[0] in ("gaps", "offset"))
    assert run.judge(odd) == ("equal", "")
    outcome = run.outcome

    def off_on_npu(program, device, *rest, **named):
        how, found = outcome(program, device, *rest, **named)
        return how, [one + 1 for one in found] if device == "npu" else found

    monkeypatch.setattr(run, "outcome", off_on_npu)
    verdict, why = run.judge(odd)
    assert verdict == "wrong" and "Mismatched elements" in why
    small, told = run.smaller(odd, verdict, why)
    assert small.form == "function" and small.layouts == ("as it is",) and "strides" in told


def test_tensors_in_the_memory_of_the_first(fuzz: ModuleType) -> None:
    import torch

    run = worker(fuzz, "lerp", alias=True)
    drawn = [one for number in range(60) if (one := run.draw(number)) and set(fuzz.ALIASES) & set(one.layouts)]
    assert {run.judge(one)[0] for one in drawn[:8]} <= {"equal", "refused", "both", "taken"} and len(drawn) > 12
    first = torch.arange(6.0).view(2, 3)
    view = fuzz.share(torch, torch.zeros(2, 2), first, fuzz.ALIASES[1])
    assert view.tolist() == [[2.0, 4.0], [3.0, 5.0]] and fuzz.share(torch, first + 1, first, fuzz.ALIASES[0]) is first
    assert fuzz.share(torch, torch.zeros(7), first, fuzz.ALIASES[1]) is None
    writes = fuzz.Program(0, "lerp", "", "float32", 0, "in place", ("as it is", "overlaps the first", "as it is"))
    assert run.judge(writes)[0] in ("taken", "both"), "the CPU refuses to read what it writes elsewhere"


@pytest.mark.parametrize("off", [False, True])
def test_what_schemas_draw(fuzz: ModuleType, off: bool, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    """A gradient gets what its function gives; what differs Hypothesis makes as small as it can be."""
    schemas = loaded(SCRIPT.with_name("fuzz_schemas.py"))
    asked = {"match": "aten::threshold_backward", "programs": 1, "graphs": 0, "check_order": False, "alias": False}
    run = schemas.Worker(argparse.Namespace(seed=1, examples=4, **asked))
    if off:
        monkeypatch.setattr(run, "difference", lambda *given: "off")
    run.run(0)
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    verdicts = [one["verdict"] for one in told if one["verdict"] != "runs"]
    assert verdicts == (["wrong"] if off else ["equal"] * 4)
    assert not off or told[-1]["program"] == "aten::threshold_backward(<float32[]>, <float32[]>, 1.0)"
