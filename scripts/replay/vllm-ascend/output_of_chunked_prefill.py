"""Attention by torch's operators writes into an output of (tokens, heads * size), which is what its caller has."""

import torch
import torch_npu  # noqa: F401
from taken import take

taken = take("vllm_ascend/ops/attention.py", "vanilla_chunked_prefill")
tokens, heads, size, block = 4, 2, 8, 4
q = torch.randn(tokens, heads, size, device="npu")
keys, values = (torch.randn(2, block, heads, size, device="npu") for _ in range(2))
output = torch.zeros(tokens, heads * size, device="npu")
begins = torch.tensor([0, tokens], device="npu")
table = torch.tensor([[1]], device="npu")
taken.vanilla_chunked_prefill(output, q, keys, values, table, begins, begins, tokens, tokens, size**-0.5, None)
k, v, ours = keys[1].cpu().transpose(0, 1), values[1].cpu().transpose(0, 1), q.cpu().transpose(0, 1)
expected = torch.nn.functional.scaled_dot_product_attention(ours, k, v, is_causal=True).transpose(0, 1)
assert torch.allclose(output.cpu().view(tokens, heads, size), expected, atol=1e-4)
