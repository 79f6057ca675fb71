"""Small models of the transformers package, unedited, on `npu:0`: the CPU's losses, gradients and generated tokens."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch

SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "vocab_size": 99,
}
VISION = {key: value for key, value in SIZES.items() if key != "vocab_size"} | {"image_size": 32, "patch_size": 8}
GROUPED = {**SIZES, "num_key_value_heads": 2}

# class -> arguments of its configuration, and what it is fed
TEXT = {
    "GPT2LMHeadModel": {"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 99, "n_positions": 64},
    "LlamaForCausalLM": GROUPED,
    "Qwen2ForCausalLM": GROUPED,
    "MixtralForCausalLM": {**GROUPED, "num_local_experts": 4},
    "Gemma2ForCausalLM": {**GROUPED, "head_dim": 8},
    "MambaForCausalLM": {"hidden_size": 32, "num_hidden_layers": 2, "vocab_size": 99, "state_size": 4},
    "T5ForConditionalGeneration": {
        "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4, "vocab_size": 99,
        "decoder_start_token_id": 0,
    },
}  # fmt: skip
CLASSIFIERS = {
    "BertForSequenceClassification": SIZES,
    "DebertaV2ForSequenceClassification": {**SIZES, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]},
}
IMAGES = {
    "ViTForImageClassification": VISION,
    "ResNetForImageClassification": {
        "embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1], "layer_type": "basic",
    },
    "ConvNextForImageClassification": {"hidden_sizes": [8, 16], "depths": [1, 1], "num_stages": 2},
    "SwinForImageClassification": {
        "image_size": 32, "patch_size": 4, "embed_dim": 8, "depths": [1, 1], "num_heads": [2, 2], "window_size": 4,
    },
}  # fmt: skip


def build(name: str, arguments: dict[str, Any]) -> torch.nn.Module:
    import transformers

    torch.manual_seed(0)
    model = getattr(transformers, name)
    return model(model.config_class(**arguments)).eval()  # without dropout, whose random numbers are the device's own


def same_training_step(model: torch.nn.Module, feed: dict[str, torch.Tensor]) -> torch.nn.Module:
    on_npu = copy.deepcopy(model).npu()
    want = model(**feed).loss
    got = on_npu(**{key: value.npu() for key, value in feed.items()}).loss
    torch.testing.assert_close(got.cpu(), want, rtol=1e-5, atol=1e-6)
    want.backward()
    got.backward()
    for (name, one), other in zip(model.named_parameters(), on_npu.parameters(), strict=True):
        assert (one.grad is None) == (other.grad is None), name
        if one.grad is not None:
            torch.testing.assert_close(
                other.grad.cpu(), one.grad, rtol=1e-3, atol=1e-5, msg=lambda m, n=name: f"{n}: {m}"
            )
    return on_npu


@pytest.mark.parametrize("name", TEXT)
def test_language_models(name: str) -> None:
    model = build(name, TEXT[name])
    tokens = torch.randint(3, 99, (2, 9), generator=torch.Generator().manual_seed(1))
    on_npu = same_training_step(model, {"input_ids": tokens, "labels": tokens.flip(0)})
    for settings in ({}, {"num_beams": 2}):
        settings = {"max_new_tokens": 5, "do_sample": False, **settings}
        want = model.generate(tokens, **settings)
        assert torch.equal(on_npu.generate(tokens.npu(), **settings).cpu(), want)
    sampled = on_npu.generate(tokens.npu(), max_new_tokens=3, do_sample=True, top_k=5, top_p=0.9)
    assert sampled.shape[0] == 2 and int(sampled.max()) < 99


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers(name: str) -> None:
    tokens = torch.randint(3, 99, (2, 9), generator=torch.Generator().manual_seed(1))
    mask = torch.ones(2, 9, dtype=torch.long)
    mask[1, 5:] = 0
    feed = {"input_ids": tokens, "attention_mask": mask, "labels": torch.tensor([0, 1])}
    same_training_step(build(name, CLASSIFIERS[name]), feed)


@pytest.mark.parametrize("name", IMAGES)
def test_image_models(name: str) -> None:
    pixels = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(1))
    same_training_step(build(name, IMAGES[name]), {"pixel_values": pixels, "labels": torch.tensor([0, 1])})
