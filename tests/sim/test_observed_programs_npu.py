"""The programs that every observer is tried on, on `npu:0`: an MLP, a tiny transformer, planted faults."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest
import torch
from torch import nn

from ophook_npu import dispatch, hook, hooks, observe, original

_FILE = Path(__file__).parents[1] / "unit" / "observe" / "programs.py"
_spec = importlib.util.spec_from_file_location("observed_programs", _FILE)
programs = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(programs)

PROGRAMS = {
    "mlp": (programs.mlp, programs.step, "aten::addmm"),
    "transformer": (programs.transformer, programs.transformer_step, "aten::native_layer_norm"),
}


@pytest.fixture(params=PROGRAMS)
def program(request):
    make, step, op = PROGRAMS[request.param]
    model = make().npu().eval()  # the same numbers each time: no dropout
    step(model)
    model.zero_grad()
    return lambda: step(model), op


@pytest.fixture(autouse=True)
def _clean():
    yield
    hooks.purge()
    torch._dynamo.reset()


def test_log_stats_and_trace_see_forward_and_backward(program, tmp_path):
    run, op = program
    log = tmp_path / "log.jsonl"
    with observe.Log(to=log, as_json=True), observe.Stats(by_module=True) as stats, observe.Trace(depth=2) as trace:
        run()
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert len(lines) == stats.seen == trace.seen and {line["phase"] for line in lines} == {"forward", "backward"}
    on_npu = [a["device"] for line in lines for a in line["args"] if isinstance(a, dict) and "device" in a]
    assert on_npu.count("npu:0") > len(on_npu) / 2
    assert stats.by_operator[op]["calls"] == sum(line["op"] == op for line in lines) > 0
    assert sum(site.count for site in trace.sites if site.op == op) == stats.by_operator[op]["calls"]


def test_profile_has_device_time_flops_and_a_page(program, tmp_path):
    run, op = program
    with observe.Profile(by_module=True) as profile:
        run()
    rows = {row.name: row for row in profile.rows()}
    assert rows[op].device > 0 and any(row.flops for row in rows.values())
    page = tmp_path / "profile.html"
    profile.html(page)
    assert "Device time by operator" in page.read_text() and op in page.read_text()


def test_healthy_programs_raise_no_alarm(program):
    run, _ = program
    with observe.Validate(mode="raise") as valid, observe.Compare(drift=True) as compared:
        run()
    assert valid.found == 0 and compared.failed == 0 and compared.drifted == 0, compared.report()
    assert compared.compared > 10 and set(compared.skipped) <= {"view", "random"}


def test_dropout_and_views_raise_no_alarm():
    model = nn.Sequential(nn.Linear(8, 16), nn.Dropout(0.5), nn.ReLU(), nn.Linear(16, 4)).npu()
    with observe.Compare(drift=True) as compared:
        programs.step(model)
        torch.randn(10, device="npu").view(2, 5).t().contiguous()
    assert compared.failed == 0, compared.report()
    assert compared.skipped["random"] >= 2 and compared.skipped["takes the random state of another device"] >= 1


def test_planted_nan_is_found_where_it_is_born():
    model = programs.mlp().npu()
    with (
        hook("aten::relu", replace=lambda x: original()(x).log()),
        observe.Validate(mode="record") as found,
    ):
        programs.step(model)
    # relu's planted logarithm of zero; everything after it only inherits.
    assert (found.first.op, found.first.module, found.first.kind) == ("aten::relu", "1", "inf") and found.inherited > 3


def test_planted_wrong_kernel_is_named_with_its_module(program):
    run, op = program

    def wrong(*args):
        result = original()(*args)
        return (result[0] + 1e-2, *result[1:]) if isinstance(result, tuple) else result + 1e-2

    with hook(op, replace=wrong), observe.Compare(drift=True) as compared:
        run()
    assert {row.op for row in compared.failures} == {op} and compared.first.module is not None
    assert compared.drifted > compared.failed  # what comes after inherits


def test_planted_nondeterminism_is_named(program):
    run, op = program
    turn = iter(range(10**6))

    def flaky(*args):
        result = original()(*args)
        first = result[0] if isinstance(result, tuple) else result
        first = first if next(turn) % 3 else first * (1 + 1e-6)
        return (first, *result[1:]) if isinstance(result, tuple) else first

    def digest():
        with observe.Digest(exact=True, inputs=True) as found:
            run()
        return found

    assert observe.align(digest(), digest()).first is None
    with hook(op, replace=flaky):
        found = observe.align(digest(), digest())
    assert found.first[0]["op"] == op and {pair[0]["op"] for pair in found.fresh} == {op}


def test_the_run_on_the_npu_is_aligned_with_the_run_on_the_cpu():
    def digest(model):
        with observe.Digest(inputs=True) as found:
            programs.transformer_step(model)
        return found

    cpu, npu = digest(programs.transformer().eval()), programs.transformer().npu().eval()
    good = observe.align(cpu, digest(npu))
    assert good.first is None and good.pairs > 60, str(good)
    with hook("aten::tanh", replace=lambda x: original()(x) + 1e-2):
        bad = observe.align(cpu, digest(npu))
    assert bad.first[0]["op"] == "aten::tanh" and bad.first[0]["module"] == "transformer.h.0.mlp.act"


def test_capture_reproduces_on_npu_and_cpu_and_becomes_a_test(program, tmp_path):
    from ophook_npu.observe.capture import load, write_test

    run, op = program
    with observe.Capture(tmp_path, op, limit=2) as captured:
        run()
    assert all(load(path, place).errors() == [] for path in captured.saved for place in ("npu", "cpu"))
    assert "DEVICE = 'npu'" in write_test(captured.saved[0], tmp_path / "test_it.py", "npu").read_text()


def test_two_wrong_kernels_of_the_device_are_found_by_moving_operators_to_the_cpu():
    model = programs.mlp()
    expected = programs.step(model)
    model = programs.mlp().npu()
    library = torch.library.Library("aten", "IMPL")
    try:
        library.impl("relu", lambda x: torch.ops.aten.clamp_min(x, 0) * 1.05, "PrivateUse1")
        library.impl("threshold_backward", lambda g, x, t: torch.zeros_like(g), "PrivateUse1")

        def run():
            model.zero_grad()
            loss = programs.step(model)
            return loss.cpu(), model[0].weight.grad.norm().cpu()

        reference = programs.mlp()
        programs.step(reference)
        wanted = expected, reference[0].weight.grad.norm()
        found = observe.bisect_device(
            run, lambda got: all(torch.allclose(a, b, rtol=1e-4) for a, b in zip(got, wanted, strict=True))
        )
        assert sorted(found.guilty) == ["aten::relu", "aten::threshold_backward"]
    finally:
        library._destroy()


def test_compiled_code_on_the_npu_names_its_nodes():
    model = programs.mlp().npu()
    compiled = torch.compile(model, backend="aot_eager")
    with observe.Trace(via="dynamo") as trace:
        programs.step(compiled)
    nodes = {site.node.split(": ")[1] for site in trace.sites if site.phase == "forward"}
    assert {"addmm", "relu", "addmm_1"} <= nodes
    assert {site.module for site in trace.sites if site.op == "aten::relu"} == {"1"}


def test_explain_in_odd_corners_of_the_npu():
    x = torch.ones(2, 3, 8, 8, device="npu")
    with torch.inference_mode():
        born = torch.ones(2, 3, 8, 8, device="npu"), torch.ones(4, 3, 3, 3, device="npu")
    situations = {
        "inference": lambda: nn.functional.conv2d(*born),
        "vmap": lambda: torch.vmap(lambda t: t.sin() * 2)(x),
        "func.grad": lambda: torch.func.grad(lambda t: (t * t).sum())(x),
        "in place": lambda: x.clone().add_(1).mul_(2).view(-1),
        "numbers": lambda: (x * 2.5, 1 - x, x.sum().item()),
        "factory": lambda: (torch.zeros(2, device="npu"), torch.arange(3, device="npu"), torch.randn(2, device="npu")),
        "copies": lambda: (x.cpu(), x.half(), x.cpu().npu()),
    }
    for name, run in situations.items():
        found = dispatch.explain(run)
        wrong = [(step.op, step.key, step.considered) for step in found.steps if step.how == "unexplained"]
        assert found.error is None and not wrong, (name, found.error, wrong)
