"""Two sequences are laid end to end for attention of varying lengths, and come back as they were."""

from types import SimpleNamespace
from typing import List  # noqa: F401, UP035

import torch
import torch_npu
from taken import take

tokens, batch, heads, wide = 8, 2, 2, 16
WAYS = {
    "s b h d -> (b s) h d": lambda x: x.transpose(0, 1).reshape(-1, heads, wide),
    "s b h d -> (s b) h d": lambda x: x.reshape(-1, heads, wide),
    "(b s) h d -> s b (h d)": lambda x: x.view(batch, tokens, -1).transpose(0, 1),
    "(s b) h d -> s b (h d)": lambda x: x.view(tokens, batch, -1),
}
told = SimpleNamespace(
    sparse_mode=2, mtp_num_layers=None, shape_order="TND", mla_fa_divide_qk=False, micro_batch_size=batch,
    pre_tockens=65536, next_tockens=0,
)  # fmt: skip
taken = take(
    "mindspeed_llm/core/context_parallel/dot_product_attention.py",
    "CPDotProductAttentionImpl.forward",
    torch_npu=torch_npu,
    rearrange=lambda x, way, **sizes: WAYS[way](x),
    get_args=lambda: told,
    get_actual_seq_len=lambda: [tokens, 2 * tokens],
    AttnMaskType=SimpleNamespace(no_mask=0),
    ACTUAL_SEQ_LEN_THRESHOLD=2048,
)
layer = SimpleNamespace(
    config=SimpleNamespace(context_parallel_size=1), cp_expanded_by_2d_tp=False, hidden_size_per_attention_head=wide,
    attention_mask=None, alibi=None, pse=None, scale=wide**-0.5, attention_dropout=torch.nn.Dropout(0.0),
)  # fmt: skip
torch.manual_seed(0)
q, k, v = (torch.randn(tokens, batch, heads, wide, dtype=torch.float16) for _ in range(3))
mask = torch.triu(torch.ones(2048, 2048, dtype=torch.bool), 1)
out = taken.forward(layer, q.npu(), k.npu(), v.npu(), mask.npu(), 1).cpu()
wanted = torch.nn.functional.scaled_dot_product_attention(
    *(x.float().permute(1, 2, 0, 3) for x in (q, k, v)), is_causal=True
)
off = (out.view(tokens, batch, heads, wide).float() - wanted.permute(2, 0, 1, 3)).abs().max().item()
assert off < 0.01, f"off by {off:.2f}: the sequences are mixed"
