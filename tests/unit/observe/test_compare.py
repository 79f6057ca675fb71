"""Compare finds a planted error in one operator of many and raises no other alarm."""

from __future__ import annotations

import contextlib
import json
import re
import sys

import pytest
import torch
from programs import mlp, step, transformer, transformer_step

from ophook_npu import OphookError, hook, observe, original, swap
from ophook_npu.observe.references.find import REFERENCES

OUTSIDE = re.compile(r"""(src|href)\s*=|url\(|@import|https?://""")


def two_hundred(x):
    """200 operators; the planted one is the only `aten::erf`."""
    for index in range(66):
        x = (x.sin() + 0.5).tanh()
        if index == 40:
            x = x.erf()
        if index == 50:
            x = x @ x.t() / 64
    return x


def planted(x):
    y = original()(x)
    return y + 1e-3


def test_finds_one_planted_error_in_two_hundred_operators_and_nothing_else():
    x = torch.randn(64, 64)
    with hook("aten::erf", replace=planted), observe.Compare() as found:
        two_hundred(x)
    assert found.seen >= 200
    (row,) = found.failures
    assert row is found.first and row.op == "aten::erf" and row.max_abs == pytest.approx(1e-3, rel=1e-2)
    assert row.stack[-1][2] == "two_hundred" and row.stack[-1][0] == __file__
    assert "first divergence" in found.report() and "aten::erf" in found.report()


@pytest.mark.parametrize(
    ("make", "run", "dtype"),
    [
        (mlp, step, torch.float32),
        (transformer, transformer_step, torch.float32),
        (transformer, transformer_step, torch.bfloat16),
    ],
)
def test_no_false_alarm_in_healthy_models_forward_and_backward(make, run, dtype):
    model = make().to(dtype)
    with observe.Compare() as found:
        run(model)
    assert found.failed == 0, found.report()
    assert found.compared > 12
    assert {row.phase for row in found.worst.values()} == {"forward", "backward"}
    assert not [reason for reason in found.skipped if reason.startswith("the reference cannot run")], found.skipped


def test_planted_error_in_backward():
    model = mlp()
    with (
        hook("aten::threshold_backward", replace=lambda g, x, t: original()(g, x, t) * 1.01),
        observe.Compare() as found,
    ):
        step(model)
    assert {row.op for row in found.failures} == {"aten::threshold_backward"}
    assert found.first.phase == "backward"


def test_the_program_is_not_changed():
    expected = step(mlp())
    with observe.Compare(drift=True):
        assert torch.equal(step(mlp()), expected)


def test_in_place_and_aliased_arguments():
    x = torch.full((4,), 3.0)
    with observe.Compare() as found:
        x.mul_(x).add_(x)
        torch.add(x, 1, out=torch.empty(4))
    assert found.failed == 0 and found.compared >= 3 and x[0] == 18
    with hook("aten::mul_.Tensor", replace=lambda a, b: original()(a, b).add_(0.01)), observe.Compare() as found:
        x.mul_(2)
    assert found.first.op == "aten::mul_.Tensor"


def test_random_operators_and_views_are_no_alarm():
    x = torch.ones(100)
    with observe.Compare() as found:
        torch.nn.functional.dropout(x, 0.5)
        torch.randn(10)
        x.view(10, 10).t()
        torch.empty(1000)
    assert found.failed == 0
    assert found.skipped["random"] >= 2 and found.skipped["view"] >= 2
    assert found.skipped["memory that nobody has written yet"] >= 1


def test_drift_separates_fresh_from_inherited_error():
    x = torch.randn(32)
    with hook("aten::sin", replace=lambda t: original()(t) + 1e-2), observe.Compare(drift=True) as found:
        y = x.sin()
        z = y * 2
        z.view(4, 8).cos()
    rows = found.worst
    assert [row.op for row in found.failures] == ["aten::sin"]
    assert rows["aten::mul.Tensor"].max_abs < 1e-6 and rows["aten::mul.Tensor"].drift == pytest.approx(2e-2, rel=0.01)
    assert rows["aten::cos"].drift > 1e-3 > rows["aten::cos"].max_abs


def test_arguments_that_are_overwritten_and_not_returned_are_compared():
    def wrong(tensors, *rest):
        original()(tensors, *rest)
        tensors[1].add_(1e-2)

    both = [torch.ones(3), torch.ones(2)]
    with hook("aten::_foreach_mul_.Scalar", replace=wrong), observe.Compare() as compared:
        torch._foreach_mul_(both, 3.0)
        torch._foreach_add_(both, 1.0)
    assert [(row.op, row.output) for row in compared.failures] == [("aten::_foreach_mul_.Scalar", 1)]
    assert compared.compared == 4


def test_a_tensor_first_seen_where_it_is_overwritten_has_not_drifted():
    with observe.Compare(drift=True) as compared:
        torch.ones(3).add_(1)
    x, both = torch.ones(3), [torch.ones(3), torch.ones(2)]
    with observe.Compare(drift=True) as compared:
        x.add_(1).mul_(3)
        torch._foreach_add_(both, 1.0)
        both[0].exp()
    assert compared.failed == compared.drifted == 0 and compared.compared == 5, compared.report()


def test_a_formula_that_refuses_an_argument_is_quoted():
    def partly(x):
        raise NotImplementedError("no formula for argument x")

    with observe.Compare(implementations={"aten::exp": partly}) as compared:
        torch.ones(2).exp()
    assert compared.skipped["the reference cannot run aten::exp: no formula for argument x"] == 1


def test_other_references():
    x = torch.randn(8, 8)
    with observe.Compare(reference="cpu") as found:
        x @ x
    assert found.failed == 0 and found.worst["aten::mm"].max_abs == 0
    with observe.Compare("aten::mm", implementations={"aten::mm": lambda a, b: a @ b + 1}) as found:
        x @ x
    assert found.failed == 1
    with observe.Compare("aten::mm", reference=lambda op, args, kwargs: op(*args, **kwargs) * 2) as found:
        x @ x
    assert found.failed == 1
    with pytest.raises(OphookError, match="unknown reference 'float63'; allowed: 'float64', a device"):
        observe.Compare(reference="float63")


def test_numbers():
    one = torch.ones(4)
    after = torch.nextafter(torch.nextafter(one, one * 2), one * 2)
    with hook("aten::neg", replace=lambda x: after, check="off"), observe.Compare("aten::neg") as found:
        torch.full((4,), -1.0).neg()
    row = found.worst["aten::neg"]
    assert row.ulp == 2 and row.cosine == pytest.approx(1) and row.max_abs == pytest.approx(2.4e-7, rel=0.1) and row.ok


def test_integers_must_be_equal():
    with hook("aten::argmax", replace=lambda *a, **k: original()(*a, **k) + 1), observe.Compare() as found:
        torch.tensor([1.0, 3.0, 2.0]).argmax()
    assert found.first.op == "aten::argmax" and found.first.ulp == 1


def test_infinities_that_agree_are_no_error():
    with observe.Compare() as found:
        torch.tensor([0.0, 1.0]).log()
        torch.tensor([1e30]).half()
        torch.tensor([-1.0]).sqrt()
    assert found.failed == 0, found.report()


def test_results_as_json_lines_data_and_html(tmp_path):
    lines, page = tmp_path / "rows.jsonl", tmp_path / "compare.html"
    with hook("aten::erf", replace=planted), observe.Compare(to=lines) as found:
        two_hundred(torch.randn(64, 64))
    rows = [json.loads(line) for line in lines.read_text().splitlines()]
    assert len(rows) == found.compared and [r["op"] for r in rows if not r["ok"]] == ["aten::erf"]
    found.html(page)
    assert "First divergence" in page.read_text() and "aten::erf" in page.read_text()
    assert not OUTSIDE.search(page.read_text())
    assert json.loads(json.dumps(found.to_json()))["failed"] == 1


def test_results_as_parquet(tmp_path):
    import pyarrow.parquet

    path = tmp_path / "rows.parquet"
    with hook("aten::erf", replace=planted), observe.Compare(to=path) as found:
        two_hundred(torch.randn(64, 64))
    rows = pyarrow.parquet.read_table(path).to_pylist()
    assert len(rows) == found.compared and [row["op"] for row in rows if not row["ok"]] == ["aten::erf"]
    (bad,) = (row for row in rows if not row["ok"])
    assert bad["shape"] == [64, 64] and bad["max_abs"] == pytest.approx(1e-3, rel=1e-2) and bad["drift"] is None
    assert bad["stack"][-1].startswith(__file__) and bad["stack"][-1].endswith("two_hundred")


def test_parquet_without_pyarrow_is_refused_by_name(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(OphookError, match=r"pyarrow is not installed.*gets JSON lines.*pip install pyarrow"):
        observe.Compare(to=tmp_path / "rows.parquet")
    with pytest.raises(OphookError, match="no such folder"):
        observe.Compare(to=tmp_path / "nowhere" / "rows.jsonl")


def test_accumulated_error_is_named_where_it_becomes_too_much():
    x = torch.linspace(-1, 1, 64)

    def slightly(t):
        return original()(t) * (1 + 8e-5)  # within tolerance alone, not twice over

    with hook("aten::tanh", replace=slightly), observe.Compare(drift=True) as found:
        y = x.tanh().tanh().tanh()
        y.neg()
    assert found.failed == 0 and found.first is None and found.drifted == 3
    first = found.first_drifted
    assert first.op == "aten::tanh" and first.number == 2 and 0 < first.inherited < first.drift
    assert "accumulated error is out of tolerance in 3 results, first in call 2: aten::tanh" in found.report()
    assert found.to_json()["first_drifted"]["op"] == "aten::tanh"
    found.clear()
    assert found.drifted == 0 and found.first_drifted is None and found.course == []


@pytest.mark.parametrize(
    ("a", "b"),
    [((4,), (4,)), ((4,), (4, 5)), ((3, 4), (4,)), ((3, 4), (4, 5)), ((2, 3, 4), (4, 5)), ((6, 1, 3, 4), (2, 4, 5))],
)
def test_the_reference_of_matmuls_gradient_is_autograds(a, b):
    x, y = (
        torch.randn(a, dtype=torch.float64, requires_grad=True),
        torch.randn(b, dtype=torch.float64, requires_grad=True),
    )
    product = x @ y
    grad = torch.randn_like(product)
    wanted = torch.autograd.grad(product, [x, y], grad)
    with torch.no_grad():
        torch.testing.assert_close(REFERENCES["aten::matmul_backward"](grad, x, y, [True, True]), wanted)


def test_operators_without_a_kernel_on_the_cpu_have_a_reference_of_their_own():
    x, y, grad = torch.randn(2, 3, 4), torch.randn(4, 5), torch.randn(2, 3, 5)

    def kernel(grad, a, b, mask):  # what an accelerator has
        return (grad @ b.t(), (a.reshape(-1, 4).t() @ grad.reshape(-1, 5)) * factor)

    library = torch.library.Library("aten", "IMPL")
    library.impl("matmul_backward", kernel, "CPU")
    try:
        for factor, failed in ((1, 0), (1.01, 1)):  # noqa: B007  the kernel uses it
            with observe.Compare("aten::matmul_backward") as found:
                torch.ops.aten.matmul_backward(grad, x, y, [True, True])
            assert (found.compared, found.failed, dict(found.skipped)) == (2, failed, {})
    finally:
        library._destroy()


def test_attention_without_dropout_is_compared():
    q = torch.randn(1, 2, 8, 16)
    with observe.Compare() as found:
        torch.nn.functional.scaled_dot_product_attention(q, q, q)
    assert "aten::_scaled_dot_product_flash_attention_for_cpu" in found.worst and found.failed == 0
    with observe.Compare() as found:
        torch.nn.functional.scaled_dot_product_attention(q, q, q, dropout_p=0.5)
    assert found.skipped["random"] >= 1 and found.failed == 0


def test_the_course_of_a_long_run_stays_short():
    x = torch.ones(4)
    off = iter(range(10**6))
    with (
        hook("aten::sin", replace=lambda t: original()(t) + (next(off) == 1500)),
        observe.Compare("aten::sin") as found,
    ):
        for _ in range(2000):
            x.sin()
    assert found.compared == 2000 and len(found.course) <= 600
    assert [point.number for point in found.course if not point.ok] == [1501]
    numbers = [point.number for point in found.course]
    assert numbers == sorted(numbers) and numbers[-1] > 1990


def test_reasons_stay_few_however_the_messages_vary():
    shapes = iter(range(1, 10**6))

    def refuses(op, args, kwargs):
        raise RuntimeError(f"shape {next(shapes)} is not supported")

    with observe.Compare("aten::sin", reference=refuses) as found:
        for _ in range(300):
            torch.ones(2).sin()
    assert len(found.skipped) <= 201 and sum(found.skipped.values()) == 300


def test_memory_is_bounded():
    with (
        hook("aten::sin", replace=lambda t: original()(t) + 1),
        observe.Compare("aten::sin", keep=3, drift=True) as found,
    ):
        for _ in range(20):
            torch.ones(4).sin()
    assert found.failed == 20 and len(found.failures) == 3
    assert len(found._shadows) <= 2


@pytest.mark.parametrize(
    "observer",
    [
        lambda folder: observe.Compare(drift=True),
        lambda folder: observe.Validate(),
        lambda folder: observe.Digest(inputs=True),
        lambda folder: observe.Capture(folder),
    ],
    ids=["compare", "validate", "digest", "capture"],
)
def test_a_process_wide_hook_sees_the_program_and_not_what_an_observer_computes(observer, tmp_path):
    names = ("mul", "sub", "sum", "norm", "isfinite", "to", "_to_copy", "clone", "sigmoid", "abs", "max")
    with observer(tmp_path), contextlib.ExitStack() as hooks:
        hooked = [hooks.enter_context(hook(f"aten::{name}", before=print, via="impl_override")) for name in names]
        torch.ones(8).sigmoid()
        hits = {name: one.hits for name, one in zip(names, hooked, strict=True) if one.hits}
    assert hits == {"sigmoid": 1}


def test_what_a_process_wide_hook_of_the_program_puts_in_place_is_compared():
    with observe.Compare() as compare, hook("aten::sigmoid", replace=lambda x: original()(x) + 1, via="impl_override"):
        torch.ones(8).sigmoid()
    assert compare.first is not None and compare.first.op == "aten::sigmoid" and compare.first.max_abs > 0.9
    assert not any("replaced" in reason for reason in compare.skipped)
    for via in ("dispatch_mode", "custom_op"):  # above what compare sees: it says so, and what to do about it
        with observe.Compare() as compare, hook("aten::sigmoid", replace=lambda x: original()(x) + 1, via=via):
            torch.ones(8).sigmoid()
        (reason,) = compare.skipped
        assert compare.first is None and reason.startswith("a hook of the program replaced aten::sigmoid, so")
        assert reason.endswith("is not seen here; with via='impl_override' it is")
    with observe.Compare() as compare, swap("aten::mul.Tensor", "aten::add.Tensor") as swapped:
        torch.ones(8) * 3  # a number is not swapped
    assert compare.worst["aten::mul.Tensor"].cosine == pytest.approx(1) and swapped.eager == 0
