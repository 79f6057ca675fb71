"""Stats and Profile via="record_function" on `npu:0`: real torch_npu over the simulated Ascend."""

from __future__ import annotations

import threading

import torch
from torch import nn

from ophook_npu import observe


def training_step():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)).npu()
    data = torch.randn(5, 8).npu()

    def run(hook=None):
        model.zero_grad()
        hidden = model(data)
        if hook is not None:
            hidden.register_hook(hook)
        hidden.square().mean().backward()

    run()
    return run


def test_forward_and_backward_are_counted_on_the_threads_they_run_on():
    run = training_step()
    with observe.Stats(["aten::addmm", "aten::mm", "aten::threshold_backward"]) as expected:
        run()
    threads = []
    with observe.Stats(["aten::addmm", "aten::mm", "aten::threshold_backward"], via="record_function") as stats:
        run(lambda gradient: threads.append(threading.get_ident()))
    assert threads and threads[0] != threading.get_ident()  # the engine has a thread of its own for the device
    assert stats.by_operator == expected.by_operator and stats.seen == expected.seen > 3


def test_profile_measures_the_host_and_says_so():
    run = training_step()
    with observe.Profile(via="record_function") as profile:
        run()
    rows = {row.name: row for row in profile.rows()}
    assert rows["aten::addmm"].calls == 2 and rows["aten::addmm"].total > 0
    assert all(row.device is None for row in rows.values()) and "measures host time only" in profile.how
    assert {row.name for row in profile.rows("phase")} == {"forward", "backward"}


def test_operators_of_torch_npu_are_seen():
    x = torch.randn(4, 8).npu()
    with observe.Stats(["npu::*"], via="record_function") as stats:
        torch.ops.npu.npu_rms_norm(x, torch.ones(8).npu(), 1e-6)
    assert stats.by_operator["npu::npu_rms_norm"]["calls"] == 1
