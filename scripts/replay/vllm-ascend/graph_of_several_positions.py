"""A dummy run of a model with three rows of positions (M-RoPE) updates the graph of its tokens."""

from types import SimpleNamespace

import torch
import torch_npu  # noqa: F401
from taken import take

updated = []
taken = take(
    "vllm_ascend/worker/model_runner_v1.py", "NPUModelRunner._generate_dummy_run_hidden_states",
    CUDAGraphMode=SimpleNamespace(FULL=2), SpecDcodeType=None,
    get_forward_context=lambda: SimpleNamespace(cudagraph_runtime_mode=2, capturing=False),
    update_attn_params=lambda stream, context, tokens: updated.append(tokens),
)  # fmt: skip
runner = SimpleNamespace(
    model=lambda **given: given["input_ids"], use_sparse=False, pcp_size=1, dcp_size=1, update_stream=None,
    drafter=None,
    vllm_config=SimpleNamespace(model_config=SimpleNamespace(use_mla=False)),
)  # fmt: skip
ids, positions = torch.zeros(8, device="npu"), torch.zeros(3, 8, device="npu")
taken._generate_dummy_run_hidden_states(runner, False, False, ids, positions, None, 8, None, None)
assert updated == [8], f"it updates the graph of {updated[0]} tokens, of 8"
