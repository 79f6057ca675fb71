"""Functions with arithmetic of their own compute what their pages say: compared with the formula in float64, in each of
the floating types that a function takes."""

from __future__ import annotations

from typing import Any

import formulas_math  # noqa: F401
import formulas_nn  # noqa: F401
import pytest
import torch
from formulas import FORMULAS, Drawn, Out, Written
from interfaces import Refused, aclnn, rules_of
from torch import Tensor

from ophook_npu.sim import rules

# How far a result may be off: that of a number, and of the numbers that it was summed up from.
OFF = {torch.float32: 2e-5, torch.float16: 2.0**-9, torch.bfloat16: 2.0**-6}


def drawn(one: Any, dtype: torch.dtype) -> Any:
    if isinstance(one, list) and one and isinstance(one[0], Drawn):
        return [each.draw(dtype) for each in one]
    if isinstance(one, Written):
        return [one.value.draw(dtype)] if one.listed else one.value.draw(dtype)
    return one.draw(dtype) if isinstance(one, Drawn) else one


def is_input(one: Any) -> bool:
    return isinstance(one, (Drawn, Written)) or (isinstance(one, list) and bool(one) and isinstance(one[0], Drawn))


def exactly(one: Any, told: Any) -> Any:
    numbers = [each.double() for each in one] if isinstance(one, list) else one.double()
    return numbers[0] if isinstance(told, Written) and told.listed else numbers


def families_of(function: str) -> tuple[str, ...]:
    return rules.table()[function].families if function in rules.table() else rules.FAMILIES


def compare(function: str, dtype: torch.dtype) -> str | None:
    """What is wrong with it, or None.

    Raises:
        Refused: the function does not take this data type.
    """
    parameters, formula = FORMULAS[function]
    torch.manual_seed(0)
    given = [drawn(one, dtype) for one in parameters]
    exact = formula(*(exactly(one, told) for one, told in zip(given, parameters, strict=True) if is_input(told)))
    wanted = list(exact) if isinstance(exact, tuple) else [exact]
    places = [at for at, one in enumerate(parameters) if isinstance(one, (Out, Written))]
    for place, want in zip(places, wanted, strict=True):
        if isinstance(kind := parameters[place], Out):
            given[place] = torch.full(want.shape, 99.0, dtype=kind.dtype or dtype)
    with rules_of(next(name for name in rules.FAMILIES if name in families_of(function))):
        aclnn(function, *given)
    outs = [one[0] if isinstance(one := given[place], list) else one for place in places]
    for place, (got, want) in enumerate(zip(outs, wanted, strict=True)):
        off = (got.double() - want).abs() / (want.abs() + 1)
        bits = want.dtype == torch.int64  # which are those of the page, or not
        if not bool((off <= (0 if bits else OFF[dtype])).all()):  # no number is off, too
            return f"{function} of {dtype}, result {place}: off by {off.max():.3g}"
    return None


def test_results_are_those_of_the_formulas() -> None:
    wrong, compared = [], 0
    for function in FORMULAS:
        taken = 0
        for dtype in OFF:
            try:
                problem = compare(function, dtype)
            except Refused as refused:
                assert "161002" in str(refused), f"{function} of {dtype}: {refused}"
                continue
            taken += 1
            if problem:
                wrong.append(problem)
        assert taken >= 1, f"{function} takes no data type"
        compared += taken
    assert wrong == []
    assert compared > 2 * len(FORMULAS)


@pytest.mark.parametrize("function", ["aclnnGelu", "aclnnRmsNorm"])
def test_another_formula_is_found(function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parameters, formula = FORMULAS[function]

    def other(*inputs: Tensor) -> Tensor | tuple[Tensor, ...]:
        result = formula(*inputs)
        return tuple(one * (1 + 1e-4) for one in result) if isinstance(result, tuple) else result * (1 + 1e-4)

    monkeypatch.setitem(FORMULAS, function, (parameters, other))
    assert compare(function, torch.float32) is not None


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("rows", [1, 16])
@pytest.mark.parametrize("turned", [False, True])
def test_products_add_up_in_float32(dtype: torch.dtype, rows: int, turned: bool) -> None:
    """As a cube unit does: a sum of ones in float16 ends at 2048, in bfloat16 at 256."""
    terms = 8192
    left = torch.ones(rows, terms, dtype=dtype).npu()
    right = torch.ones(4, terms, dtype=dtype).npu().t() if turned else torch.ones(terms, 4, dtype=dtype).npu()
    bias = torch.zeros(4, dtype=dtype).npu()
    for product in (left @ right, torch.addmm(bias, left, right), torch.bmm(left[None], right[None])[0]):
        assert product.cpu().eq(terms).all()
