"""Training of a mixture of experts: a token's outputs are weighed by the probabilities of the experts it chose."""

from types import SimpleNamespace

import torch
import torch_npu
from taken import take

taken = take(
    "verl/models/transformers/npu_patch.py",
    "NPUGmmFunction",
    "NPUQwen3VLMoeTextExperts",
    ACT2FN={"silu": torch.nn.SiLU()},
    nn=torch.nn,
    torch_npu=torch_npu,
)
torch.manual_seed(0)
tokens, experts, chosen, wide, inner = 6, 4, 2, 32, 16
layer = taken.NPUQwen3VLMoeTextExperts(
    SimpleNamespace(num_experts=experts, moe_intermediate_size=inner, hidden_size=wide, hidden_act="silu")
)
for weight in layer.parameters():
    torch.nn.init.normal_(weight, std=0.2)
x, logits = torch.randn(1, tokens, wide), torch.randn(tokens, experts)
top, indices = logits.softmax(-1).topk(chosen, -1)
spread = torch.zeros_like(logits).scatter_(1, indices, top)
expected = torch.zeros(tokens, wide)
for i, (up, down) in enumerate(zip(layer.gate_up_proj, layer.down_proj, strict=True)):
    a, b = (x[0] @ up).chunk(2, -1)
    expected += spread[:, i, None] * (torch.nn.functional.silu(a) * b @ down)
layer.npu().train()
out = layer(x.npu(), spread.npu(), indices.npu())
assert torch.allclose(out.cpu()[0], expected, atol=1e-3), "the experts are weighed by other probabilities"
