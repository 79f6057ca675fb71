"""A profile run of a drafter gives its model no more tokens than the run was asked for."""

from contextlib import nullcontext
from types import SimpleNamespace

import torch
import torch_npu  # noqa: F401
from taken import take

taken = take(
    "vllm_ascend/spec_decode/dflash_proposer.py",
    "AscendDflashProposer.dummy_run",
    CUDAGraphMode=SimpleNamespace(NONE=0, FULL=2),
    set_ascend_forward_context=lambda *given, **named: nullcontext(),
    get_forward_context=lambda: SimpleNamespace(cudagraph_runtime_mode=0),
    _EXTRA_CTX=SimpleNamespace(capturing=False),
)
ran = []


class Model:
    def precompute_and_store_context_kv(self, states: torch.Tensor, positions: torch.Tensor) -> None:
        ran.append(len(positions))

    def __call__(self, input_ids: torch.Tensor, positions: torch.Tensor, inputs_embeds: None) -> None:
        ran.append(len(input_ids))
        rotated = torch.zeros(len(positions), 4, device="npu") * positions[:, None]
        assert len(input_ids) == len(rotated) <= 8, f"{len(input_ids)} tokens and {len(positions)} positions for 8"


zeros = torch.zeros(64, dtype=torch.int64, device="npu")
proposer = SimpleNamespace(
    max_query_tokens=8, use_cuda_graph=False, num_speculative_tokens=3, _context_positions_buffer=zeros,
    hidden_states=torch.zeros(64, 4, device="npu"), token_indices_to_sample=zeros, vllm_config=None, input_ids=zeros,
    model=Model(), _get_positions=lambda n: zeros[:n],
    runner=SimpleNamespace(attn_groups=[], _sync_metadata_across_dp=lambda n, is_draft_model: (n, None, None)),
)  # fmt: skip
taken.dummy_run(proposer, 8, num_reqs=4, is_profile=True)
assert ran == [8, 8]
