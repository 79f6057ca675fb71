"""Two runs are aligned on their first divergence, whatever else they do."""

from __future__ import annotations

import pytest
import torch
from programs import mlp, step, transformer, transformer_step

from ophook_npu import OphookError, hook, hooks, observe, original
from ophook_npu.observe.digest import align


def run(function, **options):
    with observe.Digest(**options) as digest:
        function()
    return digest


@pytest.mark.parametrize(("make", "go"), [(mlp, step), (transformer, transformer_step)])
def test_a_run_agrees_with_itself(make, go, tmp_path):
    first, second = make(), make()
    found = align(run(lambda: go(first), to=tmp_path / "a.jsonl"), run(lambda: go(second)))
    assert found.first is None and found.pairs > 10 and not found.only_a and not found.only_b
    assert "all that correspond agree" in str(found)


def test_first_divergence_of_a_planted_error():
    first, second = transformer(), transformer()
    a = run(lambda: transformer_step(first))
    with hook("aten::native_layer_norm", replace=wrong_once()):
        b = run(lambda: transformer_step(second))
    found = align(a, b)
    assert found.first[0]["op"] == "aten::native_layer_norm" and found.first[0]["module"] == "transformer.h.1.ln_1"
    assert found.differing > 3 and "first divergence: aten::native_layer_norm" in str(found)


def wrong_once():
    calls = []

    def replacement(*args):
        calls.append(1)
        out, *rest = original()(*args)
        return (out + 1e-2 if len(calls) == 3 else out, *rest)

    return replacement


def test_runs_with_different_operators():
    x = torch.randn(6, 6)

    def fused():
        return (x @ x).softmax(-1).sin()

    def written_out(error=0.0):
        y = x @ x
        e = (y - y.max(-1, keepdim=True).values).exp()
        return (e / e.sum(-1, keepdim=True) + error).sin()

    a = run(fused)
    good = align(a, run(written_out))
    assert good.first is None and good.pairs == 2  # mm and sin
    assert [row["op"] for row in good.only_a] == ["aten::_softmax"] and len(good.only_b) >= 4
    bad = align(a, run(lambda: written_out(0.01)))
    assert bad.first[0]["op"] == "aten::sin"


def test_eager_against_compiled():
    def function(x):
        return (x.sin() * x).cos().sum()

    x = torch.randn(8)
    eager = run(lambda: function(x))
    compiled = torch.compile(function, backend="aot_eager")
    graph = run(lambda: compiled(x), via="dynamo")
    found = align(eager, graph)
    assert found.first is None and found.pairs == 4


def test_permuted_elements_are_noticed():
    x = torch.randn(32)
    a = run(lambda: x.sin())
    with hook("aten::sin", replace=lambda t: original()(t).flip(0)):
        b = run(lambda: x.sin())
    assert align(a, b).first[0]["op"] == "aten::sin"


def test_random_operators_do_not_diverge():
    found = align(run(lambda: torch.randn(100)), run(lambda: torch.randn(100)))
    assert found.first is None and found.pairs == 1


def test_coarser_dtype_decides():
    x = torch.randn(64, 64)
    low = x.bfloat16()
    assert align(run(lambda: x @ x), run(lambda: low @ low)).first is None
    assert align(run(lambda: x @ x), run(lambda: low @ low), tolerance=1e-6).first is not None


def test_missing_file():
    with pytest.raises(OphookError, match=r"no such file: nothing.jsonl"):
        align("nothing.jsonl", "nothing.jsonl")


@pytest.fixture(autouse=True)
def _clean():
    yield
    hooks.purge()
    torch._dynamo.reset()
