"""Profile: totals agree with torch's profiler, self times add up, files can be read."""

from __future__ import annotations

import itertools
import json
import re
import time

import pytest
import torch
from programs import mlp, step, transformer, transformer_step

from ophook_npu import OphookError, observe
from ophook_npu.observe.profile import diff


def work():
    torch.manual_seed(0)
    a = torch.randn(384, 384, requires_grad=True)
    b = torch.randn(384, 384)

    def run():
        ((a @ b).relu() @ b).softmax(-1).sum().backward()

    return run


def test_totals_agree_with_torchs_profiler():
    run = work()
    names = ("aten::mm", "aten::_softmax", "aten::_softmax_backward_data")
    run()
    # Both measure the same run, so that what else the machine does counts for both.
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities) as reference, observe.Profile() as profile:
        for _ in range(5):
            run()
    for name in names:
        (row,) = [row for row in profile.rows() if row.name == name]
        events = [e for e in reference.profiler.kineto_results.events() if e.name() == name]
        spans = [(e.start_ns(), e.start_ns() + e.duration_ns()) for e in events]
        # Each call is there twice: as it comes to the dispatch mode, and, inside, as it goes on from there.
        inner = [(a, b) for a, b in spans if any(c <= a and b <= d and (a, b) != (c, d) for c, d in spans)]
        assert row.calls == len(inner) == len(spans) / 2
        # Profile's clock runs around the inner calls and within the outer ones, however busy the machine is.
        within = sum(b - a for a, b in inner) / 1e3
        around = sum(b - a for a, b in spans) / 1e3 - within
        assert 0.98 * within <= row.total <= 1.02 * around, name


@pytest.mark.parametrize(("make", "run"), [(mlp, step), (transformer, transformer_step)])
def test_rows_by_operator_module_shape_and_phase_are_the_same_calls(make, run):
    model = make()
    with observe.Profile(by_module=True) as profile:
        run(model)
    for by in ("operator", "module", "shape", "phase"):
        rows = profile.rows(by)
        assert sum(row.calls for row in rows) == profile.seen
        assert sum(row.self_time for row in rows) == pytest.approx(profile.total)
        assert all(row.mean <= row.total and row.total >= row.self_time > 0 for row in rows)
    assert {row.name for row in profile.rows("phase")} == {"forward", "backward"}


def test_numbers_of_one_operator(monkeypatch):
    took = itertools.chain.from_iterable((0, call * 1000) for call in range(1, 21))  # µs: 1, 2, … 20
    monkeypatch.setattr("ophook_npu.observe.profile.perf_counter_ns", took.__next__)
    a, b = torch.randn(64, 32), torch.randn(32, 16)
    with observe.Profile("aten::mm") as profile:
        for _ in range(20):
            torch.mm(a, b)
    (row,) = profile.rows()
    assert (row.name, row.calls, row.flops, row.memory) == ("aten::mm", 20, 20 * 2 * 64 * 32 * 16, 20 * 64 * 16 * 4)
    assert (row.total, row.mean, row.p95, row.device) == (pytest.approx(210), pytest.approx(10.5), 19, None)


def test_slow_calls_show():
    with torch.library._scoped_library("slowtest", "DEF") as library:
        library.define("nap(Tensor x) -> Tensor")

        def nap(x):
            time.sleep(0.02)
            return x.clone()

        library.impl("nap", nap, "CPU")
        with observe.Profile() as profile:
            for _ in range(3):
                torch.ops.slowtest.nap(torch.ones(2))
    top = profile.rows()[0]
    assert top.name == "slowtest::nap" and 60_000 <= top.total < 120_000 and top.mean >= 20_000


def test_views_are_not_new_memory():
    a = torch.randn(8, 8)
    with observe.Profile("aten::t") as profile:
        a.t()
    assert profile.rows()[0].memory == 0


def test_nested_calls_count_once_in_self_time():
    model = mlp()
    with observe.Profile((model, "*"), via="module_hook") as profile:
        model(torch.randn(5, 8))
    rows = {row.name: row for row in profile.rows()}
    outer = rows["Sequential"]
    assert outer.calls == 1 and rows["Linear"].calls == 2
    inner = sum(row.total for name, row in rows.items() if name != "Sequential")
    assert outer.self_time == pytest.approx(outer.total - inner)
    assert profile.total == pytest.approx(outer.total)


def test_an_exception_in_an_operator_does_not_confuse_the_stack():
    with observe.Profile() as profile:
        for _ in range(3):
            with pytest.raises(RuntimeError):
                torch.mm(torch.ones(2, 3), torch.ones(2, 3))
        torch.ones(2) + 1
    rows = profile.rows()
    assert sum(row.calls for row in rows if row.name == "aten::mm") == 0
    assert all(row.self_time == pytest.approx(row.total) for row in rows)


def test_chrome_trace(tmp_path):
    with observe.Profile(by_module=True, timeline=5) as profile:
        step(mlp())
    path = tmp_path / "trace.json"
    profile.chrome_trace(path)
    data = json.loads(path.read_text())
    assert len(data["traceEvents"]) == 5 and data["otherData"]["left out"] == profile.seen - 5
    event = data["traceEvents"][0]
    assert event["ph"] == "X" and event["dur"] > 0 and "module" in event["args"]


def test_html_is_self_contained(tmp_path):
    with observe.Profile(by_module=True) as profile:
        step(mlp())
    path = tmp_path / "profile.html"
    profile.html(path, title="a <b> title")
    text = path.read_text()
    assert "a &lt;b&gt; title" in text and "<svg" in text and "aten::addmm" in text
    assert not re.search(r"""(src|href)\s*=|url\(|@import|https?://""", text)


def test_diff_names_what_became_slower():
    a = torch.randn(256, 256)
    with observe.Profile() as before:
        a @ a
    with observe.Profile() as after:
        for _ in range(10):
            a @ a
        a.sin()
    assert diff(before.to_json(), json.loads(json.dumps(after.to_json()))) == diff(before, after)
    old, new = before.to_json(), after.to_json()
    times = {"aten::mm": (10.0, 100.0), "aten::sin": (0.0, 50.0)}  # not those of a machine that does other things, too
    for rows, which in ((old["by_operator"], 0), (new["by_operator"], 1)):
        for row in rows:
            row["total"] = times[row["name"]][which]
    lines = diff(old, new).splitlines()
    assert lines[1].startswith("aten::mm") and "10.00" in lines[1]
    assert lines[2].startswith("aten::sin") and "new" in lines[2]


def test_modules_must_have_been_recorded():
    allowed = "rows by module were not recorded; allowed: operator, shape; next: make it with by_module=True"
    with pytest.raises(OphookError, match=allowed):
        observe.Profile().rows("module")
