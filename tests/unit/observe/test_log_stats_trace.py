"""Log, Stats and Trace: what they say is what ran."""

from __future__ import annotations

import collections
import io
import json
import warnings

import pytest
import torch
from programs import mlp, step, transformer, transformer_step
from torch.utils._python_dispatch import TorchDispatchMode

from ophook_npu import OphookError, hooks, observe


class Count(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.ops = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.ops.append(func._name)
        return func(*args, **(kwargs or {}))


def reference(run):
    with Count() as count:
        run()
    return count.ops


def test_log_line_is_the_documented_one():
    out = io.StringIO()
    with observe.Log(to=out):
        torch.ones(3, 3) + torch.ones(3, 3)
    tensor = "Tensor(device=cpu, dtype=torch.float32, shape=(3, 3), requires_grad=False)"
    assert out.getvalue().splitlines()[-1] == f"[DISPATCH] op=aten::add.Tensor | args=[{tensor}, {tensor}]"


@pytest.mark.parametrize(("make", "run"), [(mlp, step), (transformer, transformer_step)])
def test_log_sees_each_operator_in_order_forward_and_backward(make, run, tmp_path):
    model = make()
    expected = reference(lambda: run(model))
    model.zero_grad()
    path = tmp_path / "log.jsonl"
    with observe.Log(to=path, as_json=True):
        model.zero_grad(set_to_none=True)
        run(model)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    model.zero_grad(set_to_none=True)
    assert [line["op"] for line in lines] == reference(lambda: run(model))
    assert len(lines) == len(expected)
    assert {line["phase"] for line in lines} == {"forward", "backward"}
    assert all(line["module"] is None for line in lines if line["phase"] == "backward")


def test_log_filters_and_results():
    out = io.StringIO()
    model = mlp()
    with observe.Log("aten::addmm", to=out, as_json=True, results=True, modules="2"):
        step(model)
    call, result = map(json.loads, out.getvalue().splitlines())
    assert (call["op"], call["module"], call["args"][1]["shape"]) == ("aten::addmm", "2", [5, 16])
    assert result["n"] == call["n"] and result["result"]["shape"] == [5, 4]


def test_sampling_and_phase():
    model, fresh = mlp(), mlp()
    total = len(reference(lambda: step(model)))
    with observe.Log(to=None, every=4) as sampled:
        step(fresh)
    assert sampled.seen == pytest.approx(total / 4, abs=2)
    with observe.Log(to=None, phase="forward") as forward, observe.Log(to=None, phase="backward") as backward:
        step(mlp())
    with observe.Log(to=None) as both:
        step(mlp())
    assert forward.seen + backward.seen == both.seen and forward.seen and backward.seen


def test_nothing_seen_is_never_silent():
    with pytest.warns(observe.NothingSeenWarning, match=r"\[stats\] saw no call. impl_override"):
        with observe.Stats("aten::bmm", via="impl_override"):
            torch.ones(2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ZeroDivisionError), observe.Stats():
            raise ZeroDivisionError


def test_wrong_filters_are_refused():
    with pytest.raises(OphookError, match="unknown phase 'fwd'; allowed: forward, backward"):
        observe.Log(phase="fwd")
    with pytest.raises(OphookError, match="every=0"):
        observe.Log(every=0)


def test_stats_counts_shapes_bytes_and_modules():
    model = mlp()
    other = mlp()
    expected = collections.Counter(reference(lambda: step(other)))
    with observe.Stats(by_module=True) as stats:
        step(model)
    table = stats.by_operator
    assert {name: entry["calls"] for name, entry in table.items()} == expected
    addmm = table["aten::addmm"]
    assert addmm["shapes"] == {"16, 5x8, 8x16": 1, "4, 5x16, 16x4": 1}
    assert addmm["bytes_in"] == 4 * (16 + 40 + 128 + 4 + 80 + 64) and addmm["bytes_out"] == 4 * (80 + 20)
    assert addmm["dtypes"] == {"float32": 2}
    assert stats.by_module["0"]["calls"] == 2 and stats.by_module["(backward)"]["calls"] > 5
    assert sum(entry["calls"] for entry in stats.by_module.values()) == stats.seen
    assert "aten::addmm" in stats.report() and json.loads(json.dumps(stats.to_json()))["calls"] == stats.seen
    stats.clear()
    assert stats.seen == 0 and stats.by_operator == {}


def test_stats_of_lists_of_tensors():
    with observe.Stats("aten::cat") as stats:
        torch.cat([torch.ones(2), torch.ones(3, dtype=torch.float64)])
    assert stats.by_operator["aten::cat"]["shapes"] == {"2, 3": 1}
    assert stats.by_operator["aten::cat"]["bytes_in"] == 8 + 24


def test_stats_add_up_over_blocks():
    stats = observe.Stats("aten::add.Tensor")
    for _ in range(3):
        with stats:
            torch.ones(2) + 1
    assert stats.by_operator["aten::add.Tensor"]["calls"] == 3


def helper(x):
    return x.sin()


def test_trace_names_the_users_frames_and_counts():
    x = torch.ones(2, requires_grad=True)
    with observe.Trace() as trace:
        for _ in range(5):
            helper(x).sum().backward()
    sin = [site for site in trace.sites if site.op == "aten::sin"]
    assert len(sin) == 1 and sin[0].count == 5
    file, line, function = sin[0].stack[-1]
    assert file == __file__ and function == "helper" and line == helper.__code__.co_firstlineno + 1
    assert sin[0].stack[-2][2] == "test_trace_names_the_users_frames_and_counts"
    assert {site.phase for site in trace.sites if site.op == "aten::cos"} == {"backward"}
    assert all("/torch/" not in f and "/ophook_npu/" not in f for site in trace.sites for f, _, _ in site.stack)


def test_trace_tells_ways_apart_and_adds_up_what_looks_the_same():
    x = torch.ones(2)
    with observe.Trace("aten::sin") as trace, observe.Trace("aten::sin", depth=1) as innermost:
        for _ in range(3):
            helper(x), helper(x)
        helper(x)
    assert [site.count for site in trace.sites] == [6, 1] and [site.count for site in innermost.sites] == [7]
    assert (trace.seen, innermost.seen) == (7, 7)
    trace.clear()
    assert (trace.seen, trace.sites) == (0, [])


def test_trace_knows_modules_of_a_transformer():
    model = transformer()
    with observe.Trace("aten::addmm", depth=1) as trace:
        transformer_step(model)
    modules = {site.module for site in trace.sites if site.phase == "forward"}
    assert "transformer.h.1.attn.c_attn" in modules
    assert sum(site.count for site in trace.sites) == trace.seen


@pytest.mark.parametrize("via", ["dispatch_mode", "impl_override"])
def test_other_mechanisms_bring_the_same_calls(via):
    a = torch.ones(3, 3)
    with observe.Stats("aten::mm", via=via) as stats:
        torch.mm(a, a)
        a @ a
    assert stats.by_operator["aten::mm"]["calls"] == 2 and via in stats.how


def test_modules_as_targets():
    model = mlp()
    with observe.Stats(model[0], via="module_hook") as stats:
        model(torch.ones(5, 8))
    assert stats.by_operator["Linear"]["shapes"] == {"5x8": 1}


def test_compiled_functions_are_seen():
    compiled = torch.compile(lambda x: x.sin().cos() + 1, backend="aot_eager")
    x = torch.ones(4)
    compiled(x)
    with observe.Stats() as stats:
        compiled(x)
    assert {"aten::sin", "aten::cos", "aten::add.Tensor"} <= set(stats.by_operator)


@pytest.fixture(autouse=True)
def _clean():
    yield
    hooks.purge()
    torch._dynamo.reset()
    assert torch.utils._python_dispatch._get_current_dispatch_mode_stack() == []
