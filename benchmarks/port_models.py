"""Programs for the porting report: eight tiny models, each trained for some steps on the NPU.

    ophook-npu port -- benchmarks/port_models.py gpt2          one of them, under the report
    ophook-npu run -- benchmarks/port_models.py                all, in one process: what the report finds of each

Prints; asserts nothing. transformers is needed for those that come from there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

Made = tuple[nn.Module, dict[str, torch.Tensor]]
WIDTH, TOKENS, WORDS = 32, 16, 100


def _words() -> torch.Tensor:
    return torch.randint(0, WORDS, (2, TOKENS))


def gpt2() -> Made:
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(GPT2Config(vocab_size=WORDS, n_positions=TOKENS, n_embd=WIDTH, n_layer=2, n_head=4))
    words = _words()
    return model, {"input_ids": words, "labels": words}


def llama() -> Made:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=WORDS, hidden_size=WIDTH, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2,
    )  # fmt: skip
    words = _words()
    return LlamaForCausalLM(config), {"input_ids": words, "labels": words}


def mixtral() -> Made:
    from transformers import MixtralConfig, MixtralForCausalLM

    config = MixtralConfig(
        vocab_size=WORDS, hidden_size=WIDTH, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, num_local_experts=4,
    )  # fmt: skip
    words = _words()
    return MixtralForCausalLM(config), {"input_ids": words, "labels": words}


def vit() -> Made:
    from transformers import ViTConfig, ViTForImageClassification

    config = ViTConfig(
        hidden_size=WIDTH, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, image_size=32, patch_size=8
    )
    return ViTForImageClassification(config), {
        "pixel_values": torch.randn(2, 3, 32, 32),
        "labels": torch.tensor([0, 1]),
    }


def whisper() -> Made:
    from transformers import WhisperConfig, WhisperForConditionalGeneration

    config = WhisperConfig(
        vocab_size=WORDS, d_model=WIDTH, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64, num_mel_bins=16, max_source_positions=32,
        max_target_positions=TOKENS, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
    )  # fmt: skip
    return WhisperForConditionalGeneration(config), {"input_features": torch.randn(2, 16, 64), "labels": _words()}


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.down = nn.Conv2d(3, 16, 3, padding=1), nn.Conv2d(16, 32, 3, stride=2, padding=1)
        self.norm, self.up = nn.GroupNorm(4, 32), nn.ConvTranspose2d(32, 16, 2, stride=2)
        self.last = nn.Conv2d(32, 3, 1)

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        skipped = nn.functional.silu(self.first(pixels))
        inner = nn.functional.silu(self.norm(self.down(skipped)))
        return self.last(torch.cat([skipped, self.up(inner)], 1)).square().mean()


def unet() -> Made:
    return UNet(), {"pixels": torch.randn(2, 3, 16, 16)}


class Tagger(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.lstm = nn.Embedding(WORDS, WIDTH), nn.LSTM(WIDTH, WIDTH, bidirectional=True, batch_first=True)
        self.tags = nn.Linear(2 * WIDTH, 5)

    def forward(self, words: torch.Tensor, tags: torch.Tensor) -> torch.Tensor:
        hidden, _ = self.lstm(self.words(words))
        return nn.functional.cross_entropy(self.tags(hidden).flatten(0, 1), tags.flatten(), ignore_index=-1)


def tagger() -> Made:
    return Tagger(), {"words": _words(), "tags": torch.randint(-1, 5, (2, TOKENS))}


class Detector(nn.Module):
    """A head that looks for boxes: scores, offsets, and a choice of the best by value."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.scores, self.boxes = nn.Conv2d(3, 16, 3, padding=1), nn.Conv2d(16, 2, 1), nn.Conv2d(16, 4, 1)

    def forward(self, pixels: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        found = torch.relu(self.body(pixels))
        scores, boxes = self.scores(found).flatten(2), self.boxes(found).flatten(2).transpose(1, 2)
        best = scores.softmax(1)[:, 1] > 0.5
        kept = boxes[best]
        if kept.shape[0] == 0:
            kept = boxes.flatten(0, 1)
        return nn.functional.smooth_l1_loss(kept, target.expand_as(kept)) + scores.logsumexp(1).mean()


def detector() -> Made:
    return Detector(), {"pixels": torch.randn(2, 3, 16, 16), "target": torch.rand(4)}


MODELS: dict[str, Callable[[], Made]] = {
    "gpt2": gpt2, "llama": llama, "mixtral": mixtral, "vit": vit, "unet": unet, "whisper": whisper, "tagger": tagger,
    "detector": detector,
}  # fmt: skip


def train(name: str, steps: int = 2) -> None:
    torch.manual_seed(0)
    model, inputs = MODELS[name]()
    model = model.to("npu").train()
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(steps):
        batch = {key: value.to("npu") for key, value in inputs.items()}
        result: Any = model(**batch)
        loss = getattr(result, "loss", result)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(name, "loss", f"{loss.item():.3f}")


def main() -> None:
    names = sys.argv[1:]
    if names:
        for name in names:
            train(name)
        return
    from ophook_npu import hooks, observe
    from ophook_npu.observe.port import KINDS

    for name in MODELS:
        port = observe.Port()
        with port:
            train(name)
        result = port.result()
        port.remove()
        print(f"{name}: {result.calls} calls, {result.operators} operators")
        for kind in KINDS:
            for one in result.of(kind):
                print(f"  {kind}: {one.key.code} {one.key.operator} {one.count} {one.place}")
    hooks.purge()


if __name__ == "__main__":
    main()
