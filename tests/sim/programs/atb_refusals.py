"""Calls of ATB operations that must be refused, one after the other, and one that must not."""

import torch
import torch_npu

x, total = torch.randn(6, 4).half().npu(), torch.zeros(4, 4).npu()
query, out = torch.randn(2, 4, 16).half().npu(), torch.empty(2, 4, 16).half().npu()
cache = torch.randn(8, 4, 2, 16).half().npu()
table, lengths = torch.zeros(2, 3, dtype=torch.int32).npu(), torch.tensor([3, 5], dtype=torch.int32)
packed = torch.randn(8, 4, 16).half().npu()


def paged(heads=4, key_heads=2, lengths=lengths):
    torch_npu._npu_paged_attention(query, cache, cache, key_heads, heads, 1.0, table, lengths, out)


refused = (
    lambda: torch_npu._npu_matmul_add_fp32(x, x[:5], total),
    lambda: torch_npu._npu_matmul_add_fp32(x.float(), x.float(), total),
    lambda: torch_npu._npu_rotary_embedding(
        torch.arange(6).npu(), x.repeat(1, 2), x.repeat(1, 2), 8, torch.randn(8, 8).npu(), True
    ),
    lambda: paged(lengths=lengths.npu()),
    lambda: paged(lengths=lengths + 8),
    lambda: paged(key_heads=4),
    lambda: paged(key_heads=3),
    lambda: torch_npu._npu_paged_attention_quant(
        query, cache, cache, 2, 4, 1.0, table, lengths, 1, 1, torch.ones(32).npu(), torch.ones(32).npu(), out
    ),
    lambda: torch_npu._npu_flash_attention_unpad(packed, packed, packed, lengths + 1, 1.0, 4, 4, packed),
    lambda: torch_npu._npu_group_topk(x, k=5, group_num=4),
)  # fmt: skip
for call in refused:
    try:
        call()
        torch.npu.synchronize()
        print("taken")
    except RuntimeError:
        print("refused")
paged()
torch.npu.synchronize()
print("fine")
