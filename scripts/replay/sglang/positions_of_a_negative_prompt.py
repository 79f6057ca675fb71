"""A longer negative prompt: its positions are counted from itself, not from the prompt."""

from types import SimpleNamespace

import torch
import torch_npu  # noqa: F401
from taken import take

taken = take(
    "python/sglang/multimodal_gen/configs/pipeline_configs/zimage.py",
    "ZImagePipelineConfig.prepare_neg_cond_kwargs",
    get_sp_world_size=lambda: 1,
)
config = SimpleNamespace(get_freqs_cis=lambda prompt, *rest: torch.arange(prompt.shape[0], device=prompt.device))
batch = SimpleNamespace(
    prompt_embeds=[torch.ones(3, 8, device="npu")], negative_prompt_embeds=[torch.ones(5, 8, device="npu")],
    width=16, height=16,
)  # fmt: skip
found = taken.prepare_neg_cond_kwargs(config, batch, torch.device("npu"), None, torch.float32)["freqs_cis"]
assert len(found) == 5, f"{len(found)} positions for a negative prompt of 5 tokens"
