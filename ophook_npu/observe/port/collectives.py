"""The collectives of a program, against what HCCL offers.

What torch_npu refuses of them fails here as on hardware, and is found by that. What some products refuse is a list.
"""

from __future__ import annotations

import torch

from ophook_npu.observe.port.calls import COLLECTIVES, Calls
from ophook_npu.observe.port.finding import Findings, key

_REDUCES = ("allreduce", "all_reduce", "reduce_")
NOT_REDUCED = {"Ascend950": (torch.int64,)}
"""By product family: what HCCL's pages leave out of the data types that it reduces elsewhere."""


def used(calls: Calls) -> list[tuple[str, int, int]]:
    """(operator, calls, bytes of the tensors given), the most frequent first."""
    found: dict[str, list[int]] = {}
    for (op, signature, _), tally in calls.tallies.items():
        if getattr(op, "namespace", "") in COLLECTIVES and signature != "cpu":
            entry = found.setdefault(op._name, [0, 0])
            entry[0] += tally.count
            entry[1] += tally.bytes
    return sorted(((name, count, size) for name, (count, size) in found.items()), key=lambda row: -row[1])


def judge(calls: Calls, into: Findings) -> None:
    """Adds the reductions that HCCL has not for their data type on some product."""
    for (op, signature, where), tally in calls.tallies.items():
        if getattr(op, "namespace", "") not in COLLECTIVES or signature == "cpu" or tally.failed is not None:
            continue
        if not op._schema.name.partition("::")[2].lstrip("_").startswith(_REDUCES):
            continue
        types = {one[0] for one in signature if isinstance(one, tuple)}
        for family, left_out in NOT_REDUCED.items():
            if wrong := types & set(left_out):
                names = ", ".join(sorted(str(one).removeprefix("torch.") for one in wrong))
                found = key("collective", "reduces", op._name, where, "pages", dtypes=names, products=(family,))
                into.add(found, tally.count)
