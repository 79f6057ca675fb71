"""Attention takes the positions of text, in two dimensions; those of pictures are for the rotation alone."""

from types import SimpleNamespace

import torch
import torch_npu  # noqa: F401
from taken import take

seen = []


def layer(x: torch.Tensor, position_ids: torch.Tensor, **more: object) -> torch.Tensor:
    seen.append(position_ids)
    return x


layer.layer_type = "full_attention"
taken = take(
    "mindspeed_mm/fsdp/models/qwen3_5/modeling_qwen3_5.py",
    "Qwen3_5TextModel.forward",
    check_model_inputs=lambda function: function,
    auto_docstring=lambda function: function,
    create_causal_mask=lambda **given: None,
    Qwen3_5ModelOutputWithPast=SimpleNamespace,
)
model = SimpleNamespace(
    config=SimpleNamespace(num_hidden_layers=1), layers=[layer], norm=lambda x: x, rotary_emb=lambda x, ids: ids,
    _update_linear_attn_mask=lambda *given: None,
)  # fmt: skip
taken.forward(model, inputs_embeds=torch.ones(2, 4, 8, device="npu"))
assert seen[0].shape == (2, 4), f"positions of shape {tuple(seen[0].shape)} for 2 sequences of 4 tokens"
