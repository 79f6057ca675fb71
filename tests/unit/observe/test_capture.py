"""A captured call comes back bit for bit, and becomes a test that fails before a fix and passes after it."""

from __future__ import annotations

import json

import pytest
import torch
from programs import mlp, step, transformer, transformer_step

from ophook_npu import OphookError, hook, observe, original
from ophook_npu.observe.capture import load, replay, write_test


@pytest.mark.parametrize(("make", "run"), [(mlp, step), (transformer, transformer_step)])
def test_every_call_of_a_training_step_reproduces(make, run, tmp_path):
    model = make()
    with observe.Capture(tmp_path, limit=1000) as captured:
        run(model)
    assert len(captured.saved) == captured.seen > 20
    random = (
        "aten::randint",
        "aten::randn",
        "aten::rand",
        "aten::bernoulli",
        "aten::native_dropout",
        "aten::empty",
        "aten::new_empty",
    )
    for path in captured.saved:
        replayed = load(path)
        if not replayed.op.startswith(random):
            assert replayed.errors() == [], replayed.op
    assert load(captured.saved[-1]).time(3) > 0


def test_arguments_are_those_before_the_call_with_their_layout(tmp_path):
    x = torch.arange(6.0).reshape(2, 3).t()
    with observe.Capture(tmp_path, "aten::add_") as captured:
        x.add_(1, alpha=2)
    replayed = load(captured.saved[0])
    assert (
        torch.equal(replayed.args[0], torch.arange(6.0).reshape(2, 3).t()) and replayed.args[0].stride() == x.stride()
    )
    assert torch.equal(replayed.expected, x) and torch.equal(replayed.run(), x)
    assert not list(tmp_path.glob("*.pt")) and len(list(tmp_path.iterdir())) == 2


def test_all_kinds_of_arguments(pytest_status, tmp_path):
    mask = torch.tensor([True, False])
    with observe.Capture(tmp_path) as captured:
        torch.zeros(2).masked_fill(mask, float("-inf"))
        torch.cat([torch.ones(2, dtype=torch.bfloat16), torch.ones(1, dtype=torch.bfloat16)])
        torch.ones(2, dtype=torch.complex64) * (1 + 2j)
        torch.zeros(2, dtype=torch.int8, device="cpu")
        torch.ones(4, 3).max(dim=1)
    by_name = {load(path).op: path for path in captured.saved}
    assert {"aten::masked_fill.Scalar", "aten::cat", "aten::zeros", "aten::max.dim"} <= set(by_name)
    assert [replay(path) for path in captured.saved] == [[]] * len(captured.saved)
    to = write_test(by_name["aten::masked_fill.Scalar"], tmp_path / "test_fill.py")
    assert "float('-inf')" in to.read_text()


@pytest.fixture
def pytest_status(run_python):
    return lambda path: run_python("-m", "pytest", "-q", "-p", "no:cacheprovider", str(path)).returncode


def test_the_emitted_test_fails_before_the_fix_and_passes_after(pytest_status, tmp_path):
    # A good run is captured; the kernel that is under test lives in a conftest, first broken, then fixed.
    with observe.Capture(tmp_path / "calls", "aten::erf") as captured:
        torch.linspace(-1, 1, 9).erf()
    write_test(captured.saved[0], tmp_path / "test_erf.py")
    kernel = (
        "import torch, math\nlibrary = torch.library.Library('aten', 'IMPL')\n"
        "library.impl('erf', lambda x: torch.tensor([math.erf(v) for v in x.tolist()]) * {factor}, 'CPU')\n"
    )
    conftest = tmp_path / "conftest.py"
    conftest.write_text(kernel.format(factor=1.01))
    assert pytest_status(tmp_path / "test_erf.py") == 1
    conftest.write_text(kernel.format(factor=1))
    assert pytest_status(tmp_path / "test_erf.py") == 0
    text = (tmp_path / "test_erf.py").read_text()
    assert "ophook_npu" not in text and "torch.ops.aten.erf.default(t['t0'])" in text


def test_replay_finds_a_wrong_kernel(tmp_path):
    with observe.Capture(tmp_path, "aten::sin") as captured:
        torch.ones(3).sin()
    with hook("aten::sin", replace=lambda x: original()(x) + 1e-2):
        (difference,) = replay(captured.saved[0])
    assert difference.startswith("result 0: off by 0.0099")


def test_limits(tmp_path):
    with observe.Capture(tmp_path, limit=3, per_operator=2, max_bytes=64) as captured:
        for _ in range(5):
            torch.ones(2).sin()
        torch.ones(100).sin()
    names = [path.name for path in captured.saved]
    assert len(names) == 3 and sum("sin" in name for name in names) <= 2
    assert sum(captured.left_out.values()) + len(names) == captured.seen
    assert "3 of" in captured.report()


def test_a_second_capture_goes_on_counting(tmp_path):
    for _ in range(2):
        with observe.Capture(tmp_path, "aten::sin") as captured:
            torch.ones(2).sin()
    assert captured.saved[0].name == "0002_aten.sin.json"


def test_errors(tmp_path):
    with pytest.raises(OphookError, match="no such capture"):
        load(tmp_path / "nothing.json")
    (tmp_path / "old.json").write_text(json.dumps({"format": 0}))
    with pytest.raises(OphookError, match="has format 0; allowed: format 1"):
        load(tmp_path / "old.json")
