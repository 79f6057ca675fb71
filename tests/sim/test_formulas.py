"""Functions with arithmetic of their own compute what their pages say: compared with the formula in float64, in each of
the floating types that a function takes."""

from __future__ import annotations

import pytest
import torch
from formulas import FORMULAS, Drawn, Out
from interfaces import Refused, aclnn
from torch import Tensor

# How far a result may be off: that of a number, and of the numbers that it was summed up from.
OFF = {torch.float32: 2e-5, torch.float16: 2.0**-9, torch.bfloat16: 2.0**-6}


def compare(function: str, dtype: torch.dtype) -> str | None:
    """What is wrong with it, or None.

    Raises:
        Refused: the function does not take this data type.
    """
    parameters, formula = FORMULAS[function]
    torch.manual_seed(0)
    inputs = [one.draw(dtype) for one in parameters if isinstance(one, Drawn)]
    exact = formula(*(one.double() for one in inputs))
    wanted = list(exact) if isinstance(exact, tuple) else [exact]
    kinds = [one for one in parameters if isinstance(one, Out)]
    outs = [torch.full(w.shape, 99.0, dtype=kind.dtype or dtype) for w, kind in zip(wanted, kinds, strict=True)]
    given, made = iter(inputs), iter(outs)
    aclnn(
        function,
        *(next(given) if isinstance(p, Drawn) else next(made) if isinstance(p, Out) else p for p in parameters),
    )
    for place, (got, want) in enumerate(zip(outs, wanted, strict=True)):
        off = (got.double() - want).abs() / (want.abs() + 1)
        if not bool((off <= OFF[dtype]).all()):  # no number is off, too
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
