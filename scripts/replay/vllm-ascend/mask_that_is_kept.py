"""The mask of a chunk of a prompt leaves the builder's own mask as it was."""

import torch
import torch_npu  # noqa: F401
from taken import take

taken = take("vllm_ascend/attention/attention_mask.py")
device = torch.device("npu", torch.npu.current_device())
builder = taken.AttentionMaskBuilder(4, torch.bfloat16)
for _ in range(2):
    position = torch.tensor([2, 3], device=device)
    mask = builder.get_splitfuse_attn_mask([4], [2], position, torch.bfloat16, device)
    assert (mask.cpu() <= 0).all(), f"a mask with {mask.cpu().max().item()}"
kept = builder.get_attn_mask(4, torch.bfloat16, device).cpu().float()
assert torch.equal(kept, torch.ones(4, 4).triu(1)), f"the builder's mask has {kept.min().item()}"
