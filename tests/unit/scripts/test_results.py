"""docs/results.md lists each function of the simulator's rows once, as scripts/results.py finds it."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[3]


def test_the_page_is_up_to_date(results: ModuleType) -> None:
    page = results.PAGE.read_text(encoding="utf-8")
    assert results.text() in page, "run scripts/results.py"
    assert sum(map(len, results.lists().values())) > 690


def test_a_row_is_read_whatever_its_arguments_hold(results: ModuleType) -> None:
    rows = (
        "ACLNN(Add, (In, a, Out, out), (f(a, b), g({a})), at::add_out(out, a, {b, 1}))",
        "ACL_FUNCTION(aclF, F, (In, x), c, h(x))",
    )
    source = "\n".join(rows)
    assert results.rows(source) == {"aclnnAdd": "at::add_out(out, a, {b, 1})", "aclF": "h(x)"}


@pytest.mark.parametrize(
    "body, own",
    [
        ("at::add_out(out, a, b)", False),
        ("write(out, at::relu(wide(self)).square())", False),
        ("self.copy_(at::get<0>(at::max(x)))", False),
        ("write(out, kernels::glu(self, dim))", True),
        ("rrelu(self, out)", True),
    ],
)
def test_what_is_the_simulators_own(results: ModuleType, body: str, own: bool) -> None:
    assert results.own(body) == own
