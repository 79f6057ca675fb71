"""Attention over compressed keys is captured: what is kept for its later updates holds no memory of the graph."""

import enum
from types import SimpleNamespace

import torch
import torch_npu
from taken import take

State = enum.Enum("State", "SpecDecoding ChunkedPrefill DecodeOnly")
weak = torch_npu._C._weak_ref_tensor
params = SimpleNamespace(events={2: []}, workspaces={}, handles={2: []}, attn_params={2: []})
taken = take(
    "vllm_ascend/attention/mla_v1.py", "AscendMLAImpl._forward_decode", torch_npu=torch_npu,
    AscendAttentionState=State, get_graph_params=lambda: params, weak_ref_tensors=weak,
    get_forward_context=lambda: SimpleNamespace(capturing=True),
    update_graph_params_workspaces=lambda tokens, workspace: params.workspaces.update({tokens: workspace}),
)  # fmt: skip
heads, rank, rope, block = 16, 512, 64, 128
layer = SimpleNamespace(
    enable_kv_nz=False, num_kv_heads=1, kv_lora_rank=rank, qk_rope_head_dim=rope, num_heads=heads, scale=0.1,
    speculative_config=None, _v_up_proj=lambda out: out.sum(),
)  # fmt: skip
table = torch.zeros(2, 1, dtype=torch.int32, device="npu")
told = SimpleNamespace(
    attn_state=State.DecodeOnly,
    decode=SimpleNamespace(block_table=table, seq_lens_list=[3, 4], attn_mask=None, actual_seq_lengths_q=None),
)
keys = [torch.ones(1, block, 1, n, dtype=torch.float16, device="npu") for n in (rank, rope)]
graph = torch.npu.NPUGraph()
before = torch.npu.memory_allocated()
with torch.npu.graph(graph):
    q = [torch.ones(2, heads, n, dtype=torch.float16, device="npu") for n in (rank, rope)]
    out = taken._forward_decode(layer, *q, *keys, block, told)
    del q
held = torch.npu.memory_allocated() - before
assert held < 16384, f"{held} bytes of the graph are held"
