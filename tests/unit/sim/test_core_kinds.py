"""Which cores a kernel runs on that does not say it, by what is left of it for each kind."""

from __future__ import annotations

import pytest

from ophook_npu.kernel.source import KINDS
from ophook_npu.sim.core_kinds import kind_of

PIPE, CUBE, VECTOR = {"pipe_begin", "copy_in"}, {"mmad", "fixpipe"}, {"binary", "copy_out"}


@pytest.mark.parametrize(
    ("vector", "cube", "kind"),
    [
        (set(), PIPE | CUBE, "AIC_ONLY"),
        (PIPE | VECTOR, set(), "AIV_ONLY"),
        (PIPE | VECTOR, PIPE | CUBE, "MIX_AIC_1_2"),
        (PIPE | CUBE, PIPE | CUBE, "AIC_ONLY"),  # it does not tell them apart, and has work of one kind
        (PIPE | VECTOR, PIPE | VECTOR, "AIV_ONLY"),
        ({"cross_wait"}, PIPE | CUBE, "MIX_AIC_1_2"),  # a part that only waits
        (set(), set(), "AIV_ONLY"),
    ],
)
def test_kinds(vector: set[str], cube: set[str], kind: str) -> None:
    assert kind_of(vector, cube) == KINDS[kind]
