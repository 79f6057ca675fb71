"""Which ranks run, and which of them the others repeat."""

from __future__ import annotations

import json

import pytest

from ophook_npu.errors import OphookError
from ophook_npu.sim import repeated


@pytest.mark.parametrize(
    ("real", "ranks", "twins"),
    [
        ("0", 4, [0, 0, 0, 0]),
        ("0-1", 6, [0, 1, 0, 1, 0, 1]),
        ("0,1,4,5", 8, [0, 1, 0, 1, 4, 5, 4, 5]),  # pipeline stages outermost: replicas within each
        ("0,1,8", 10, [0, 1, 0, 1, 0, 1, 0, 1, 8, 8]),
        ("0-3", 4, [0, 1, 2, 3]),
    ],
)
def test_neighbours_are_repeated_up_to_the_next_that_run(real: str, ranks: int, twins: list[int]) -> None:
    numbers = repeated.real_ranks(real, ranks)
    assert [repeated.twin(numbers, ranks, rank) for rank in range(ranks)] == twins
    table = json.loads(repeated.rank_table(numbers, ranks))["server_list"][0]["device"]
    assert [numbers[int(one["device_id"])] for one in table] == twins
    assert [int(one["rank_id"]) for one in table] == list(range(ranks))


@pytest.mark.parametrize(
    ("real", "said"),
    [
        ("", "numbers and ranges"),
        ("0-x", "numbers and ranges"),
        ("-1", "numbers and ranges"),
        ("0,9", "0 to 7"),
        ("1", "let rank 0 run"),
        ("0-2", "3 ranks from 0 on do not fit into the 8 up to rank 8"),
        ("0-2,4", "3 ranks from 0 on do not fit into the 4 up to rank 4"),
    ],
)
def test_what_cannot_be_repeated_is_refused(real: str, said: str) -> None:
    with pytest.raises(OphookError, match=said):
        repeated.real_ranks(real, 8)
