"""Two runs are aligned on their first divergence, whatever else they do."""

from __future__ import annotations

import json

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import mlp, step, transformer, transformer_step

from ophook_npu import OphookError, hook, hooks, observe, original
from ophook_npu.observe import _align, align


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


@pytest.mark.parametrize("count", [1, 16, 17, 271, 272, 273, 139263, 139264, 139265, 300001])
def test_figures_of_results_shorter_and_longer_than_a_block(count):
    run(lambda: torch.full((4096,), float("nan")) + 1)  # what an earlier result left behind must not be read
    x = torch.randn(count)
    (result,) = run(lambda: x.neg()).rows[0]["results"]
    values = -x.double()
    assert result["norm"] == pytest.approx(values.norm().item(), rel=1e-9)
    assert result["mean"] == pytest.approx(values.mean().item(), rel=1e-9, abs=1e-12)
    assert result["weighted"] == pytest.approx((values * (torch.arange(count) % 17)).sum().item(), rel=1e-9)


def test_random_operators_do_not_diverge():
    found = align(run(lambda: torch.randn(100)), run(lambda: torch.randn(100)))
    assert found.first is None and found.pairs == 1


def test_coarser_dtype_decides():
    x = torch.randn(64, 64)
    low = x.bfloat16()
    assert align(run(lambda: x @ x), run(lambda: low @ low)).first is None
    assert align(run(lambda: x @ x), run(lambda: low @ low), tolerance=1e-6).first is not None


def row(number, op, value=1.0):
    figures = {"shape": [2], "dtype": "float32", "norm": value, "mean": value, "weighted": value}
    return {"n": number, "op": op, "phase": "forward", "module": None, "random": False, "results": [figures]}


def sequence(names):
    return [row(number, f"aten::{name}") for number, name in enumerate(names, 1)]


@settings(max_examples=80, deadline=None)
@given(st.lists(st.sampled_from("abcd"), max_size=40), st.lists(st.sampled_from("abcd"), max_size=40))
def test_every_row_is_accounted_for_in_order_whatever_the_window(one, other):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_align, "_WINDOW", 8)
        patch.setattr(_align, "_LARGEST", 16)
        together = list(_align._correspondence(iter(sequence(one)), iter(sequence(other))))
    assert [left["n"] for left, _ in together if left is not None] == list(range(1, len(one) + 1))
    assert [right["n"] for _, right in together if right is not None] == list(range(1, len(other) + 1))
    assert all(left["op"] == right["op"] for left, right in together if left is not None and right is not None)


def test_long_runs_with_detours_are_aligned(tmp_path):
    # 40 000 calls each: if all were compared with all, this would not end.
    step = [f"op{index % 37}" for index in range(400)]
    one, other = step * 100, (step[:150] + ["extra"] * 5 + step[150:]) * 50 + ["warmup"] * 3000 + step * 50
    a, b = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    for path, names in ((a, one), (b, other)):
        path.write_text("".join(json.dumps(line) + "\n" for line in sequence(names)))
    found = align(a, b)
    assert found.pairs == len(one) and not found.ops_a and found.ops_b == {"aten::extra": 250, "aten::warmup": 3000}
    assert len(found.only_b) == 1000  # the first; the rest is only counted


def flaky():
    turn = iter(range(10**6))

    def replacement(*args):
        result = original()(*args)
        return result if next(turn) % 3 else result * (1 + 1e-6)

    return replacement


@pytest.mark.parametrize(("make", "go"), [(mlp, step), (transformer, transformer_step)])
def test_planted_nondeterminism_is_found_and_named(make, go):
    # The same program twice; one operator's result differs in the last bits from call to call.
    model = make()
    for turn in range(2):
        model.zero_grad()
        assert align(run(lambda: go(model), exact=True), run(lambda: go(make()), exact=True)).first is None, turn
    with hook("aten::addmm", replace=flaky()):
        a, b = (run(lambda: go(make()), exact=True, inputs=True) for _ in range(2))
    found = align(a, b)
    assert found.first is not None and found.first[0]["op"] == "aten::addmm"
    assert {left["op"] for left, _ in found.fresh} == {"aten::addmm"} and found.differing > len(found.fresh)
    assert "made an error themselves: aten::addmm" in str(found)
    # So small a difference is within tolerance: only a comparison bit for bit sees it.
    assert align(a, b, tolerance=1e-4).first is None


def test_fresh_errors_are_told_from_inherited_ones():
    x = torch.randn(8, 8)

    def program():
        (x.sin() @ x).cos().exp().tanh()

    with (
        hook("aten::sin", replace=lambda t: original()(t) + 0.1),
        hook("aten::exp", replace=lambda t: original()(t) * 2),
    ):
        wrong = run(program, inputs=True)
    found = align(run(program, inputs=True), wrong)
    # exp is wrong too, but its input already was: what it adds cannot be told from this run alone.
    assert [left["op"] for left, _ in found.fresh] == ["aten::sin"] and found.differing == 5
    with hook("aten::exp", replace=lambda t: original()(t) * 2):
        found = align(run(program, inputs=True), run(program, inputs=True, to=None))
    assert found.first is None


def test_reports_of_an_alignment(tmp_path):
    x = torch.randn(6, 6)
    a = run(lambda: (x @ x).softmax(-1).sin())
    with hook("aten::sin", replace=lambda t: original()(t) + 0.01):
        b = run(lambda: (x @ x).softmax(-1).sin().cos())
    found = align(a, b)
    assert "only in b: aten::cos 1x" in found.report() and found.to_json()["differing"] == 1
    page = tmp_path / "align.html"
    found.html(page, title="CPU against NPU")
    assert "First divergence: aten::sin" in page.read_text() and "CPU against NPU" in page.read_text()


@pytest.mark.parametrize(
    ("figures", "shown"),
    [
        ((1.12385488, 1.16630418), "1.124 1.166"),
        ((34.4140405, 35.757616), "34.4 35.8"),
        ((1.0, 1.00000123), "1 1.00000123"),
        ((0.0, 0.0), "0 0"),
    ],
)
def test_figures_are_printed_with_the_digits_that_tell_them_apart(figures, shown):
    digits = _align._digits(*figures)
    assert " ".join(f"{value:.{digits}g}" for value in figures) == shown


def test_nothing_in_common_is_said():
    found = align(run(lambda: torch.ones(2).sin()), run(lambda: torch.zeros(3).cos()))
    assert found.pairs == 0 and "no call in common" in str(found)


def test_rows_that_were_not_kept_are_counted(tmp_path):
    x = torch.ones(2)
    with observe.Digest("aten::sin", keep=2) as digest:
        for _ in range(5):
            x.sin()
    assert len(digest.rows) == 2 and "3 rows dropped beyond keep=2" in digest.report()
    (tmp_path / "bad.jsonl").write_text('{"op": 1}\n')
    with pytest.raises(OphookError, match=r"bad.jsonl:1 is not a row of a digest"):
        align(tmp_path / "bad.jsonl", digest)


def test_missing_file():
    with pytest.raises(OphookError, match=r"no such file: nothing.jsonl"):
        align("nothing.jsonl", "nothing.jsonl")


@pytest.fixture(autouse=True)
def _clean():
    yield
    hooks.purge()
    torch._dynamo.reset()
