"""The collectives of a program, against what HCCL offers."""

from __future__ import annotations

import torch

from ophook_npu.observe.port.calls import Calls
from ophook_npu.observe.port.finding import Findings, key

OFFERED = frozenset(
    [
        "allreduce_",
        "allreduce_coalesced_",
        "broadcast_",
        "allgather_",
        "_allgather_base_",
        "allgather_coalesced_",
        "allgather_into_tensor_coalesced_",
        "reduce_scatter_",
        "_reduce_scatter_base_",
        "reduce_scatter_tensor_coalesced_",
        "alltoall_",
        "alltoall_base_",
        "reduce_",
        "send",
        "recv_",
        "scatter_",
        "barrier",
    ]
)
"""What torch_npu's ProcessGroupHCCL implements; of the others it says by itself that it does not."""

REDUCES = frozenset(["allreduce_", "allreduce_coalesced_", "reduce_", "reduce_scatter_", "_reduce_scatter_base_"])
REDUCIBLE = (torch.float32, torch.float16, torch.bfloat16, torch.int8, torch.int16, torch.int32, torch.int64)
"""The data types of HCCL's reductions."""


def judge(calls: Calls, into: Findings) -> None:
    """Adds the collectives that HCCL has not, or not for their data type."""
    for (op, signature, where), tally in list(calls.tallies.items()):
        name = getattr(op, "_name", "")
        if not name.startswith("c10d::") or signature == "cpu":
            continue
        short = name.removeprefix("c10d::").split(".")[0]
        types = {one[0] for one in signature if isinstance(one, tuple)}
        if short not in OFFERED:
            into.add(key("collective", "not_offered", name, where, "list"), tally.count)
        elif short in REDUCES and types - set(REDUCIBLE):
            wrong = ", ".join(sorted(str(one).removeprefix("torch.") for one in types - set(REDUCIBLE)))
            into.add(key("collective", "reduces", name, where, "list", dtypes=wrong), tally.count)
