"""Stats and Profile via="record_function": what C++ counts and times is what ran, on the threads asked for."""

from __future__ import annotations

import collections
import contextlib
import gc
import json
import threading
import time

import pytest
import torch
from programs import mlp, step, transformer, transformer_step

from ophook_npu import OphookError, hooks, observe, toolchain
from ophook_npu.hooks import _recorder
from ophook_npu.observe.profile import diff

VIA = "record_function"


@contextlib.contextmanager
def torchs_profiler():
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        yield profiler


@pytest.mark.parametrize(("make", "run"), [(mlp, step), (transformer, transformer_step)])
def test_calls_are_those_of_torchs_profiler(make, run):
    model = make()
    with torchs_profiler() as profiler, observe.Stats(via=VIA) as stats:
        run(model)
    # Its averages leave out calls of an operator by itself, so its events are counted; not the engine's regions.
    names = [event.name() for event in profiler.profiler.kineto_results.events()]
    counts = collections.Counter()
    for name, entry in stats.by_operator.items():
        counts[name.split(".")[0]] += entry["calls"]
    assert counts == collections.Counter(name for name in names if name.startswith("aten::"))
    assert stats.seen == sum(counts.values()) and stats.hook.hits == stats.seen


def test_totals_and_self_times_agree_with_torchs_profiler():
    torch.manual_seed(0)
    a = torch.randn(384, 384, requires_grad=True)
    b = torch.randn(384, 384)
    # Both measure the same run, so that what else the machine does counts for both.
    with torchs_profiler() as profiler, observe.Profile(via=VIA) as profile:
        for _ in range(5):
            ((a @ b).relu() @ b).softmax(-1).sum().backward()
    theirs = {event.key: event for event in profiler.key_averages()}
    ours = {row.name.split(".")[0]: row for row in profile.rows()}
    for name in ("aten::matmul", "aten::mm", "aten::softmax", "aten::_softmax", "aten::_softmax_backward_data"):
        assert ours[name].calls == theirs[name].count
        assert ours[name].total == pytest.approx(theirs[name].cpu_time_total, rel=0.1)
    of_operators = [event for name, event in theirs.items() if name.startswith("aten::")]
    assert profile.total == pytest.approx(sum(event.self_cpu_time_total for event in of_operators), rel=0.1)


def test_stats_say_shapes_dtypes_and_bytes_as_the_dispatch_mode_does():
    names = ["aten::addmm", "aten::mm", "aten::relu", "aten::threshold_backward", "aten::cat", "aten::split.Tensor"]
    names += ["aten::native_layer_norm", "aten::index.Tensor"]

    def run(model):
        step(model)
        x = torch.arange(12.0).reshape(3, 4)
        torch.cat([x, torch.ones(1, 4, dtype=torch.float64)])
        x.split(2)
        torch.layer_norm(x, (4,))
        x[torch.tensor([0, 2])]
        torch.tensor(3.0).relu()

    with observe.Stats(names) as expected:
        run(mlp())
    with observe.Stats(names, via=VIA) as stats:
        run(mlp())
    assert set(expected.by_operator) == set(names)
    assert stats.by_operator == expected.by_operator
    assert json.loads(json.dumps(stats.to_json()))["calls"] == stats.seen and "aten::relu" in stats.report()


def test_composite_operators_are_calls_around_what_they_call():
    a = torch.randn(64, 64)
    with observe.Profile(["aten::linear", "aten::mm"], via=VIA) as profile:
        for _ in range(5):
            torch.nn.functional.linear(a, a)
    rows = {row.name: row for row in profile.rows()}
    assert rows["aten::linear"].calls == rows["aten::mm"].calls == 5
    assert rows["aten::linear"].self_time == pytest.approx(rows["aten::linear"].total - rows["aten::mm"].total)
    assert profile.total == pytest.approx(rows["aten::linear"].total)
    assert rows["aten::mm"].memory == 5 * 64 * 64 * 4


def test_slow_calls_show_and_p95_is_within_its_bucket():
    with torch.library._scoped_library("napping", "DEF") as library:
        library.define("nap(Tensor x, float seconds) -> Tensor")

        def nap(x, seconds):
            time.sleep(seconds)
            return x.clone()

        library.impl("nap", nap, "CPU")
        with observe.Profile(via=VIA) as profile:
            for seconds in (0.005,) * 18 + (0.05,) * 2:
                torch.ops.napping.nap(torch.ones(2), seconds)
    row = profile.rows()[0]
    assert row.name == "napping::nap" and row.calls == 20
    assert 190_000 <= row.total < 400_000 and row.mean == pytest.approx(row.total / 20)
    assert 48_000 <= row.p95 < 75_000  # 19 of 20 took no longer than the shorter of the two long ones


def test_forward_and_backward_are_told_apart():
    model = mlp()
    with observe.Profile(via=VIA) as both:
        step(model)
    with observe.Stats(via=VIA, phase="backward") as backward:
        step(model)
    rows = {row.name: row for row in both.rows("phase")}
    assert rows["backward"].calls == backward.seen > 0 and rows["forward"].calls > 0
    assert "aten::threshold_backward" in backward.by_operator and "aten::relu" not in backward.by_operator


ENGINE = """
import threading
import torch
from ophook_npu import observe
from ophook_npu.hooks import _host_device

x = torch.ones(4, 4).to(_host_device.ensure()).requires_grad_()
y = x.relu()
thread = []
y.register_hook(lambda gradient: thread.append(threading.get_ident()))
with observe.Stats(via="record_function") as stats, observe.Profile(via="record_function") as profile:
    y.sum().backward()
assert thread[0] != threading.get_ident()
assert stats.by_operator["aten::threshold_backward"]["calls"] == 1, stats.report()
(row,) = [row for row in profile.rows() if row.name == "aten::threshold_backward"]
assert row.calls == 1 and row.total > 0
(row,) = [row for row in profile.rows("phase") if row.name == "backward"]
print(row.calls, "on the engine's thread")
"""


def test_backward_on_a_thread_of_the_engine_is_seen(run_python):
    # In a process of its own: the engine counts devices when it starts.
    run = run_python("-c", ENGINE)
    assert run.returncode == 0 and run.stdout.endswith("on the engine's thread\n"), run.stderr[-2000:]


def adds(count):
    x = torch.ones(2)
    for _ in range(count):
        torch.add(x, x)


def in_threads(number, function, *args):
    threads = [threading.Thread(target=function, args=args) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_this_thread_or_all_threads():
    with observe.Stats("aten::add.Tensor", via=VIA) as mine:
        adds(3)
        in_threads(2, adds, 5)
    assert mine.seen == 3 and "this thread and its backward passes" in mine.how
    with observe.Stats("aten::add.Tensor", via=VIA, needs="threads") as all_of_them:
        adds(3)
        in_threads(4, adds, 2000)
    assert all_of_them.seen == 3 + 4 * 2000 and "all threads" in all_of_them.how
    in_threads(1, adds, 5)
    assert all_of_them.seen == 3 + 4 * 2000


def test_it_is_read_while_other_threads_record():
    over = threading.Event()

    def busy():
        while not over.is_set():
            adds(50)

    with observe.Profile("aten::add.Tensor", via=VIA, needs="threads", timeline=10) as profile:
        threads = [threading.Thread(target=busy) for _ in range(3)]
        for thread in threads:
            thread.start()
        seen = 0
        for _ in range(30):
            (row, *_) = profile.rows() or [observe.profile.Row("none")]
            assert row.calls >= seen
            seen = row.calls
        profile.clear()
        over.set()
        for thread in threads:
            thread.join()
    assert sum(row.calls for row in profile.rows()) == profile.seen


def test_calls_of_other_threads_while_it_is_cleared_are_in_both_counts(monkeypatch):
    with observe.Profile("aten::add.Tensor", via=VIA, needs="threads") as profile:
        adds(3)
        clear = profile.recorder.clear

        def clear_while_others_call():
            clear()
            thread = threading.Thread(target=adds, args=(5,))
            thread.start()
            thread.join()

        monkeypatch.setattr(profile.recorder, "clear", clear_while_others_call)
        profile.clear()
        adds(2)
    assert sum(row.calls for row in profile.rows()) == profile.seen == 7


def test_nesting_and_order_of_leaving():
    one, two = observe.Stats("aten::add.Tensor", via=VIA), observe.Profile("aten::add.Tensor", via=VIA)
    with one:
        with one, two:
            adds(2)
        adds(1)
    one.hook.enable()
    two.hook.enable()
    one.hook.disable()
    adds(4)
    two.hook.disable()
    adds(8)
    assert (one.seen, two.seen) == (3, 6)


def test_calls_that_raise_are_not_counted_and_leave_the_stack_right():
    with observe.Profile(via=VIA) as profile:
        for _ in range(3):
            with pytest.raises(RuntimeError):
                torch.matmul(torch.ones(2, 3), torch.ones(2, 3))
        torch.relu(torch.ones(2))
    rows = {row.name: row for row in profile.rows()}
    assert "aten::mm" not in rows and "aten::matmul" not in rows and rows["aten::relu"].calls == 1
    assert all(row.total >= row.self_time >= 0 for row in rows.values())


def test_sampling_clearing_and_going_on():
    stats = observe.Stats("aten::add.Tensor", via=VIA, every=4)
    for _ in range(2):
        with stats:
            adds(40)
    assert stats.seen == 20
    stats.clear()
    assert stats.seen == 0 and stats.by_operator == {}
    with stats:
        adds(8)
    assert stats.by_operator["aten::add.Tensor"]["calls"] == 2


def test_nothing_seen_is_said():
    with pytest.warns(observe.NothingSeenWarning, match=r"\[stats\] saw no call. record_function"):
        with observe.Stats("aten::bmm", via=VIA):
            torch.ones(2)


def test_compiled_functions_run_eagerly_meanwhile_or_it_says_what_is_not_seen():
    compiled = torch.compile(lambda x: x.sin().cos() + 1, backend="aot_eager")
    x = torch.ones(4)
    compiled(x)
    with observe.Stats(via=VIA) as stats:
        compiled(x)
    assert {"aten::sin", "aten::cos", "aten::add.Tensor"} <= set(stats.by_operator)
    assert "not seen" in observe.Stats(via=VIA, on_miss="ignore").how
    with pytest.raises(OphookError, match=r"compile \(calls inside torch.compile.*next: via='dynamo' sees them"):
        observe.Stats(via=VIA, needs="compile")


def test_chrome_trace_html_and_diff(tmp_path):
    with observe.Profile(via=VIA, timeline=5) as profile:
        step(mlp())
    profile.chrome_trace(tmp_path / "trace.json")
    data = json.loads((tmp_path / "trace.json").read_text())
    assert len(data["traceEvents"]) == 5 and data["otherData"]["left out"] == profile.seen - 5
    assert data["traceEvents"][0]["dur"] > 0 and data["traceEvents"][0]["args"]["phase"] == "forward"
    profile.html(tmp_path / "profile.html")
    assert "aten::addmm" in (tmp_path / "profile.html").read_text()
    assert "aten::linear" in diff(profile, profile)


def test_what_it_cannot_do_is_refused():
    with pytest.raises(OphookError, match=r"\[log\] via='record_function' counts and times.*serves Stats and Profile"):
        observe.Log(via=VIA)
    for make in (observe.Stats, observe.Profile):
        with pytest.raises(OphookError, match="by_module=True: via='record_function' knows no modules"):
            make(via=VIA, by_module=True)
        with pytest.raises(OphookError, match="knows no modules"):
            make(via=VIA, modules="layers.*")
        with pytest.raises(OphookError, match="unknown option 'devices'"):
            make(via=VIA, devices=["cpu"])
        with pytest.raises(OphookError, match="not something to hook"):
            make(mlp(), via=VIA)
    with pytest.raises(OphookError, match="rows by module were not recorded"):
        observe.Profile(via=VIA).rows("module")


def test_too_many_recorders_are_refused_and_given_back():
    gc.collect()
    held = []
    with pytest.raises(OphookError, match="16 observers record already"):
        for _ in range(17):
            held.append(observe.Stats(via=VIA))
    assert len(held) > 8
    held.clear()
    gc.collect()
    with observe.Stats("aten::add.Tensor", via=VIA) as stats:
        adds(1)
    assert stats.seen == 1


def test_without_a_compiler_it_says_what_to_do(monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    toolchain.compiler.cache_clear()
    _recorder.library.cache_clear()
    try:
        with pytest.raises(OphookError, match=r"no-such-compiler is not on PATH.*a dispatch mode needs no compiler"):
            observe.Stats(via=VIA)
    finally:
        monkeypatch.undo()
        toolchain.compiler.cache_clear()
        _recorder.library.cache_clear()


@pytest.fixture(autouse=True)
def _clean():
    yield
    hooks.purge()
    torch._dynamo.reset()
