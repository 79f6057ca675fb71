"""Without the fused indexer each rank keeps its own queries, as what it computes from them is put together later."""

from types import SimpleNamespace

import torch
import torch_npu  # noqa: F401
from taken import take

taken = take(
    "mindspeed_llm/tasks/models/transformer/dsa_indexer.py",
    "DSAIndexer.all_gather_qk_weight_kvallgather",
    gather_from_sp_cp=lambda x: torch.cat([x, x]),
    gather_from_sequence_parallel_region=lambda x, group: torch.cat([x, x]),
    parallel_state=SimpleNamespace(get_tensor_model_parallel_group=lambda: None),
)
q, k, weights = (torch.ones(4, 2, 8, device="npu") for _ in range(3))
layer = SimpleNamespace(use_fused_lightning_indexer=False)
found, keys, _ = taken.all_gather_qk_weight_kvallgather(layer, q, k, weights)
assert keys.shape[0] == 8 and found.shape[0] == 4, f"queries of {found.shape[0]} tokens on a rank with 4"
