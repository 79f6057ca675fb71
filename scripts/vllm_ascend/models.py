"""Make a tiny Llama and a tiny Qwen2 with random weights, and what transformers generates with them on the CPU.

usage: models.py FOLDER      (FOLDER/llama and FOLDER/qwen2, each with tokens.json: prompts, tokens, and the least gap)
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
from transformers import LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM

# Wide weights make logits that differ, so that no rounding decides which token is the greatest.
SHAPE = {
    "vocab_size": 512, "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 256, "bos_token_id": 1, "eos_token_id": 2,
    "initializer_range": 0.3, "tie_word_embeddings": False,
}  # fmt: skip
PROMPTS = [[1, 5, 9, 17, 33], [1, *range(40, 57)], [1, 100, 200, 300]]
NEW_TOKENS = 16
KINDS = {"llama": (LlamaConfig, LlamaForCausalLM), "qwen2": (Qwen2Config, Qwen2ForCausalLM)}


def generated(model: torch.nn.Module, prompt: list[int]) -> tuple[list[int], float]:
    """The greedy tokens, and by how much the greatest logit led the second in the narrowest step."""
    tokens, gap = list(prompt), float("inf")
    for _ in range(NEW_TOKENS):
        first, second = model(torch.tensor([tokens])).logits[0, -1].float().topk(2).values.tolist()
        gap = min(gap, first - second)
        tokens.append(int(model(torch.tensor([tokens])).logits[0, -1].argmax()))
    return tokens[len(prompt) :], gap


@torch.no_grad()
def main() -> None:
    for name, (config, kind) in KINDS.items():
        torch.manual_seed(0)
        model = kind(config(**SHAPE)).to(torch.float16).eval()
        folder = Path(sys.argv[1]) / name
        model.save_pretrained(folder)
        made = [generated(model, prompt) for prompt in PROMPTS]
        told = {"prompts": PROMPTS, "tokens": [tokens for tokens, _ in made], "gap": min(gap for _, gap in made)}
        (folder / "tokens.json").write_text(json.dumps(told) + "\n")
        print(
            f"{name}: {len(PROMPTS)} prompts, {NEW_TOKENS} tokens each; "
            f"the greatest logit leads by {told['gap']:.3f} or more"
        )


if __name__ == "__main__":
    main()
