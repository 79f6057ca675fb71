"""Inside compiled graphs observers name the node, the module and the program's lines; they are never silently empty."""

from __future__ import annotations

import json
import warnings

import pytest
import torch
from programs import mlp, transformer, transformer_step
from torch import nn

from ophook_npu import OphookError, hook, hooks, observe, original


class Outer(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x)


@pytest.fixture(autouse=True)
def _clean():
    torch._dynamo.reset()
    yield
    hooks.purge()
    torch._dynamo.reset()


def calls(function, **options):
    seen = []
    with hook("*::*", before=lambda call: seen.append((call.name, call.node, call.module_path, call.phase)), **options):
        function()
    return seen


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_calls_know_their_node_and_the_modules_that_eager_calls_know(backend):
    x = torch.randn(5, 8)
    net = mlp()
    compiled = torch.compile(net, backend=backend)
    found = calls(lambda: compiled(x).sum().backward(), via="dynamo")
    forward = [call for call in found if call[3] == "forward" and "sum" not in call[0]]
    assert [(op, node.split(": ")[1], module) for op, node, module, _ in forward] == [
        ("aten::addmm", "addmm", "0"),
        ("aten::relu", "relu", "1"),
        ("aten::addmm", "addmm_1", "2"),
    ]
    numbers = {
        phase: {node.split(":")[0] for _, node, _, p in found if p == phase} for phase in ("forward", "backward")
    }
    assert len(numbers["forward"]) == len(numbers["backward"]) == 1 and numbers["forward"] != numbers["backward"]
    # Eagerly, by the same function compiled or not, the paths are the same: torch.compile adds no name of its own.
    for function in (net, compiled):
        eager = [call for call in calls(lambda f=function: f(x)) if call[0] in ("aten::addmm", "aten::relu")]
        assert [(op, module) for op, _, module, _ in eager] == [(op, module) for op, _, module, _ in forward]
        assert {node for _, node, _, _ in eager} == {None}


def test_a_compiled_part_of_a_model_has_paths_below_the_whole():
    model = Outer(torch.compile(mlp(), backend="aot_eager"))
    x = torch.randn(5, 8)
    assert {call[2] for call in calls(lambda: model(x), via="dynamo")} == {"inner.0", "inner.1", "inner.2"}
    net = mlp()
    free = torch.compile(lambda x: net(x) * 2, backend="aot_eager")
    found = calls(lambda: free(x), via="dynamo")
    assert [call[2] for call in found] == ["0", "1", "2", None]


def test_stacks_are_those_of_the_program_in_both_phases():
    def loss(x):
        y = x.sin()
        return y.exp().sum()

    compiled = torch.compile(loss, backend="aot_eager")
    with observe.Trace(via="dynamo") as trace:
        compiled(torch.randn(4, requires_grad=True)).backward()
    first = loss.__code__.co_firstlineno
    places = {(site.op, site.phase): site.stack[-1] for site in trace.sites}
    assert places["aten::sin", "forward"] == (__file__, first + 1, "loss")
    assert places["aten::cos", "backward"] == (__file__, first + 1, "loss")
    assert all("eval_with_key" not in file for site in trace.sites for file, _, _ in site.stack)
    assert "graph" in trace.report() and trace.to_json()["sites"][0]["node"].startswith("graph")


def test_every_observer_names_the_node(tmp_path):
    net = mlp()
    x = torch.randn(5, 8)
    compiled = torch.compile(net, backend="aot_eager")
    log, planted = tmp_path / "log.jsonl", hook("aten::relu", replace=lambda t: original()(t) + 1e-2, via="dynamo")
    with observe.Log(to=log, as_json=True, via="dynamo"):
        compiled(x)
    assert [json.loads(line)["node"].split(": ")[1] for line in log.read_text().splitlines()] == [
        "addmm", "relu", "addmm_1",
    ]  # fmt: skip
    with planted, observe.Compare(via="dynamo") as compared:
        compiled(x)
    assert compared.first.op == "aten::relu" and compared.first.node.endswith(": relu") and compared.failed == 1
    assert compared.first.node in str(compared.first) and compared.first.node in compared.report()
    with observe.Validate(via="dynamo", mode="record") as valid:
        compiled(x * float("inf"))
    assert valid.first is None or valid.first.node is not None
    with observe.Digest(via="dynamo") as digest:
        compiled(x)
    assert [row["node"].split(": ")[1] for row in digest.rows] == ["addmm", "relu", "addmm_1"]
    with observe.Capture(tmp_path / "calls", via="dynamo") as captured:
        compiled(x)
    assert "relu" in json.loads(captured.saved[1].read_text())["node"]


@pytest.mark.parametrize("by_module", [False, True])
def test_counts_and_times_are_those_of_nodes(by_module, tmp_path):
    net = mlp()
    x = torch.randn(5, 8)
    compiled = torch.compile(net, backend="aot_eager")
    with (
        observe.Stats(via="dynamo", by_module=by_module) as stats,
        observe.Profile(via="dynamo", by_module=by_module) as profile,
    ):
        for _ in range(3):
            compiled(x)
    names = ["addmm", "relu", "addmm_1"]
    assert {node.split(": ")[1]: entry["calls"] for node, entry in stats.by_node.items()} == dict.fromkeys(names, 3)
    assert set(stats.to_json()["nodes"]) == set(stats.by_node) and "addmm_1" in stats.report()
    rows = profile.rows("node")
    assert sorted(row.name for row in rows) == sorted(stats.by_node) and {row.calls for row in rows} == {3}
    assert sum(row.total for row in rows) == pytest.approx(sum(row.total for row in profile.rows()))
    assert [row.name for row in profile.rows("phase")] == ["forward"]
    assert ("module" in profile.recorded) is by_module
    if by_module:
        assert {row.name for row in profile.rows("module")} == {"0", "1", "2"} == set(stats.by_module)
    data = profile.to_json()
    assert {row["name"] for row in data["by_node"]} == set(stats.by_node) and "addmm_1" in profile.report()
    profile.chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert {event["args"]["node"] for event in events} == set(stats.by_node)
    profile.html(tmp_path / "page.html")
    assert "By node" in (tmp_path / "page.html").read_text()


def test_eager_calls_have_no_nodes_to_group_by():
    with observe.Profile() as profile, observe.Stats() as stats:
        torch.ones(2).add(1)
    assert stats.by_node == {} and "nodes" not in stats.to_json()
    with pytest.raises(OphookError, match="via='dynamo'"):
        profile.rows("node")


def test_nan_born_in_a_compiled_graph_is_found_with_its_node():
    compiled = torch.compile(lambda x: (x - 1).log().mean(), backend="aot_eager")
    with observe.Validate(via="dynamo", mode="record") as found:
        compiled(torch.linspace(0, 3, 4))
    assert (found.first.op, found.first.kind) == ("aten::log", "nan") and found.first.node.endswith(": log")
    assert found.first.node in str(found.first)


def test_two_hooks_on_one_node_both_know_it():
    compiled = torch.compile(mlp(), backend="aot_eager")
    x = torch.randn(5, 8)
    with observe.Trace("aten::addmm", via="dynamo") as one, observe.Trace("aten::addmm", via="dynamo") as two:
        compiled(x)
    nodes = [site.node for site in one.sites]
    assert nodes == [site.node for site in two.sites] and [node.split(": ")[1] for node in nodes] == [
        "addmm",
        "addmm_1",
    ]
    # Switched off again, the code that was compiled with the hooks gives what the model gives.
    assert torch.equal(compiled(x), mlp()(x))


@pytest.mark.parametrize("observer", [observe.Stats, observe.Profile, observe.Trace, observe.Compare, observe.Digest])
def test_no_observer_is_silently_empty_over_compiled_code(observer):
    compiled = torch.compile(mlp(), backend="aot_eager")
    x = torch.randn(5, 8)
    compiled(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with observer() as plain:  # compiled functions run eagerly meanwhile, and the report says how it looked
            compiled(x)
        with observer(via="dynamo") as graph:
            compiled(x)
    assert plain.seen >= 3 and graph.seen == 3 and "compiled" in graph.how
    with pytest.warns(observe.NothingSeenWarning, match="eager calls are not seen"), observer(via="dynamo"):
        mlp()(x)


def test_a_transformer_compiled_is_aligned_with_eager_and_the_planted_operator_named():
    def digest(model, **options):
        with observe.Digest(**options) as found:
            transformer_step(model)
        return found

    eager = digest(transformer())
    compiled = transformer()
    compiled.forward = torch.compile(compiled.forward, backend="aot_eager")
    good = observe.align(eager, digest(compiled, via="dynamo"))
    assert good.first is None and good.pairs > 50, str(good)
    with hook("aten::tanh", replace=lambda t: original()(t) + 1e-2, via="dynamo"):
        bad = observe.align(eager, digest(compiled, via="dynamo"))
    assert bad.first[0]["op"] == "aten::tanh" and bad.first[1]["node"].endswith(": tanh")
    assert bad.first[0]["module"] == bad.first[1]["module"] == "transformer.h.0.mlp.act"
