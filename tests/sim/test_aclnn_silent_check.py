"""One number of a training's gradients, watched from step to step: what is told of it, and what is kept for later."""

from __future__ import annotations

import math

import pytest
import torch
import torch_npu
from interfaces import Refused, aclnn
from values import close, real

NORMAL, ERROR, WARNING = 0, 1, 2


def checked(value: float, history: list[float], step: int, detect: int = 1) -> tuple[int, torch.Tensor, int]:
    kept, steps, result = torch.tensor(history), torch.tensor([step]), torch.tensor([-1], dtype=torch.int32)
    given = torch.tensor(value), torch.ones(4, 2), kept, steps
    aclnn("aclnnSilentCheck", *given, 7, 1000.0, 50.0, 100.0, 5.0, detect, result)
    return int(result), kept, int(steps)


@pytest.mark.parametrize(
    ("value", "step", "result"),
    [
        (13.0, 20, NORMAL), (101.0, 0, WARNING), (1001.0, 0, ERROR), (math.inf, 0, ERROR), (math.nan, 0, ERROR),
        # the range is 2, the last value 11: jumps of 10 and of 100 are told from the seventh step on
        (21.5, 6, NORMAL), (20.5, 7, NORMAL), (21.5, 7, WARNING), (99.0, 7, WARNING), (112.0, 7, ERROR),
    ],
)  # fmt: skip
def test_against_a_bound_and_the_range_before(value: float, step: int, result: int) -> None:
    told, kept, steps = checked(value, [11.0, 10.0, 12.0], step)
    assert (told, steps) == (result, step + 1)
    seen = [] if math.isnan(value) else [value]
    before = [10.0, 12.0] if step else []
    want = [value, min([*before, *seen], default=value), max([*before, *seen], default=value)]
    torch.testing.assert_close(kept, torch.tensor(want), equal_nan=True)


def test_an_error_ends_the_call() -> None:
    assert checked(13.0, [11.0, 10.0, 12.0], 20, 3)[0] == NORMAL
    assert checked(101.0, [11.0, 10.0, 12.0], 20, 2)[0] == WARNING
    for detect in (2, 3):
        with pytest.raises(Refused, match="507"):
            checked(1001.0, [11.0, 10.0, 12.0], 20, detect)
    with pytest.raises(Refused, match="npuAsdDetect 4; allowed: 1, 2, 3"):
        checked(1.0, [11.0, 10.0, 12.0], 20, 4)


def test_a_training_that_jumps() -> None:
    history, step, gradient = torch.zeros(3).npu(), torch.zeros(1, dtype=torch.long).npu(), real(4, 2).npu()
    told = []
    for value in [2.0, 3.0, 2.5, 4.0, 30.0]:
        result = torch_npu._npu_silent_check_v2(
            torch.tensor(value).npu(), gradient, history, step, 4, 1e6, 1e5, 1e4, 5.0, 1
        )
        told.append(int(result.cpu()))
    assert told == [NORMAL] * 4 + [WARNING]
    assert history.cpu().tolist() == [30.0, 2.0, 30.0] and int(step) == 5


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_against_the_mean_before(dtype: torch.dtype) -> None:
    beta, mean, gradient = 0.9, torch.tensor([2.0], dtype=dtype).npu(), real(2, 3).npu()
    step = torch.zeros(1, dtype=torch.long).npu()
    sum_of_all, told = 0.0, []
    for count, value in enumerate([2.0, 3.0, 1.0, 25.0, 2000.0]):
        given = torch.tensor([value], dtype=dtype).npu()
        result = torch_npu._npu_silent_check_v3(given, gradient, step, given, mean, 100.0, 10.0, beta, 1)
        expected = sum_of_all / (1 - beta**count) if count else 2.0
        told.append((int(result.cpu()), ERROR if value > 100 * expected else WARNING * (value > 10 * expected)))
        sum_of_all = beta * sum_of_all + (1 - beta) * value
        close(mean.cpu(), torch.tensor([sum_of_all]), 1e-5 if dtype == torch.float32 else 2e-2)
        assert int(step) == count + 1
    assert all(got == want for got, want in told)
    assert [got for got, _ in told] == [NORMAL, NORMAL, NORMAL, WARNING, ERROR]


def test_what_the_second_form_refuses() -> None:
    def call(value: float = 1.0, step: int = 0, error: float = 100.0, beta: float = 0.9, sizes=(2, 3), detect: int = 2):
        given = torch.tensor([value]), torch.tensor([value]), torch.ones(1), gradient, torch.tensor([step])
        lists = [list(sizes), [3, 1], [0]]
        result = torch.zeros(1, dtype=torch.int32)
        aclnn("aclnnSilentCheckV2", *given, *lists, error, 10.0, beta, detect, result)

    gradient = real(2, 3)
    call()
    assert gradient.any()
    for wrong, message in [
        ({"beta": 1.0}, "beta1 1; allowed"), ({"error": 9.0}, "cThreshL1 9 is not above cThreshL2 10"),
        ({"sizes": (3, 2)}, r"expected \[3, 2\]"), ({"detect": 0}, "npuAsdDetect 0"), ({"step": -1}, "507"),
        ({"value": math.nan, "step": 1}, "507"),
    ]:  # fmt: skip
        with pytest.raises(Refused, match=message):
            call(**wrong)
    assert gradient.any()
    with pytest.raises(Refused, match="507"):
        call(101.0)
    assert not gradient.any()  # the first step takes them away
