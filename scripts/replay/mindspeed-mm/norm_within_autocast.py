"""Within autocast a norm computes in float32: queries and keys go on in the type that they came in."""

from types import SimpleNamespace

import torch
import torch_npu  # noqa: F401
from taken import take

seen = []
taken = take(
    "mindspeed_mm/fsdp/models/qwen3_5/chunk_gated_delta_rule.py",
    "chunk_gated_delta_rule",
    ChunkGatedDeltaRuleFunction=SimpleNamespace(apply=lambda q, k, v, *more: seen.append((q, v)) or (v, None)),
    chunk_size=64,
)
q, k, v = (torch.randn(1, 8, 2, 16, dtype=torch.bfloat16, device="npu") for _ in range(3))
g, beta = (torch.rand(1, 8, 2, dtype=torch.bfloat16, device="npu") for _ in range(2))
with torch.autocast("npu", torch.bfloat16):
    taken.chunk_gated_delta_rule(q, k, v, g, beta)
query, value = seen[0]
assert query.dtype == value.dtype, f"queries of {query.dtype} with values of {value.dtype}"
