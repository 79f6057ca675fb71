"""Observers and the dispatcher explained, on `npu:0`: real torch_npu over the simulated Ascend."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from ophook_npu import dispatch, hook, observe, original
from ophook_npu.observe.bisect import bisect
from ophook_npu.observe.capture import load


def training_step():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)).npu()
    data = torch.randn(5, 8).npu()

    def run():
        model.zero_grad()
        loss = model(data).square().mean()
        loss.backward()
        return loss.detach()

    run()
    return run


def test_explain_reaches_the_kernels_of_torch_npu():
    found = dispatch.why("aten::mm", "npu, requires_grad")
    assert (
        found.ran and found.agrees and found.chain == [("aten::mm", "AutogradPrivateUse1"), ("aten::mm", "PrivateUse1")]
    )
    assert "torch_npu" in found.steps[1].row.file
    assert dispatch.table("aten::mm").only(["npu"])[0].key == "PrivateUse1"
    step = dispatch.explain(training_step())
    assert step.agrees and step.error is None
    scalar = dispatch.explain(lambda: torch.ones(2, device="npu") + 1)
    assert scalar.agrees and scalar.error is None


def test_vmap_on_npu():
    found = dispatch.why("aten::add", "npu, vmap")
    assert found.agrees and [key for _, key in found.chain][-1] == "PrivateUse1"


def test_profile_has_device_time_forward_and_backward():
    run = training_step()
    with observe.Profile(by_module=True) as profile:
        run()
    rows = {row.name: row for row in profile.rows()}
    assert rows["aten::addmm"].calls == 2 and rows["aten::addmm"].device > 0 and rows["aten::addmm"].flops > 0
    assert {row.name for row in profile.rows("phase")} == {"forward", "backward"}


def test_healthy_step_is_valid_and_agrees_with_float64():
    run = training_step()
    with observe.Validate(mode="raise") as valid, observe.Stats() as stats:
        run()
    assert valid.found == 0 and stats.by_operator["aten::addmm"]["calls"] == 2
    with observe.Compare(drift=True) as compared:
        run()
    assert compared.failed == 0 and compared.compared > 10, compared.report()


@pytest.mark.parametrize("op", ["aten::relu", "aten::threshold_backward"])
def test_compare_names_a_planted_wrong_kernel(op):
    run = training_step()
    with hook(op, replace=lambda *args: original()(*args) + 1e-2), observe.Compare() as compared:
        run()
    assert {row.op for row in compared.failures} == {op}


def test_capture_on_npu_replays_on_npu_and_cpu(tmp_path):
    run = training_step()
    with observe.Capture(tmp_path) as captured:
        run()
    assert len(captured.saved) == captured.seen
    assert [p for p in captured.saved if load(p, "npu").errors() or load(p, "cpu").errors()] == []
    assert load(captured.saved[0], "npu").time(3) > 0


def test_bisect_on_npu():
    run = training_step()
    right = run()

    def bad(*args):
        return original()(*args) * 1.1

    def good(*args):
        return original()(*args)

    ops = ("aten::addmm", "aten::relu", "aten::mean", "aten::pow.Tensor_Scalar")
    replacements = {op: bad if op == "aten::relu" else good for op in ops}
    found = bisect(run, lambda loss: torch.allclose(loss, right, rtol=1e-4), replacements)
    assert found.guilty == ["aten::relu"]


@pytest.mark.parametrize("observer", ["Stats", "Profile", "Validate", "Compare", "Digest", "Capture", "Trace", "Port"])
def test_a_graph_is_recorded_under_an_observer(observer, tmp_path):
    given = (tmp_path,) if observer == "Capture" else ()
    graph, x = torch.npu.NPUGraph(), torch.zeros(4).npu()
    with getattr(observe, observer)(*given) as watch:
        with torch.npu.graph(graph):
            y = (x * 2 + 1).clone()
        x.fill_(3)
        graph.replay()
        assert y.tolist() == [7] * 4
    assert watch.report()
