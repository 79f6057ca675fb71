"""Make a tiny Llama and a tiny Qwen2 with random weights, and what transformers generates with them on the CPU.

usage: models.py FOLDER      (FOLDER/llama and FOLDER/qwen2, each with tokens.json: prompts and tokens)
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
from transformers import LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM

# Wide weights make logits that differ.
SHAPE = {
    "vocab_size": 512, "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 256, "bos_token_id": 1, "eos_token_id": 2,
    "initializer_range": 0.3, "tie_word_embeddings": False,
}  # fmt: skip
LENGTHS = (5, 18, 4)
NEW_TOKENS = 16
LEAD = 0.2  # what the greatest logit has to lead by in each step: many times what float16 rounds away
KINDS = {"llama": (LlamaConfig, LlamaForCausalLM), "qwen2": (Qwen2Config, Qwen2ForCausalLM)}


def generated(model: torch.nn.Module, prompt: list[int]) -> list[int] | None:
    """The greedy tokens; None where rounding could decide one of them."""
    tokens = list(prompt)
    for _ in range(NEW_TOKENS):
        best = model(torch.tensor([tokens])).logits[0, -1].float().topk(2)
        if best.values[0] - best.values[1] < LEAD:
            return None
        tokens.append(int(best.indices[0]))
    return tokens[len(prompt) :]


def found(model: torch.nn.Module, length: int) -> tuple[list[int], list[int]]:
    """The first of random prompts of that length whose tokens no rounding decides, and its tokens."""
    for _ in range(1000):
        prompt = torch.randint(3, SHAPE["vocab_size"], (length,)).tolist()
        if tokens := generated(model, prompt):
            return prompt, tokens
    raise SystemExit(f"no prompt of {length} tokens has a lead of {LEAD} in each step")


@torch.no_grad()
def main() -> None:
    for name, (config, kind) in KINDS.items():
        torch.manual_seed(0)
        model = kind(config(**SHAPE)).to(torch.float16).eval()
        folder = Path(sys.argv[1]) / name
        model.save_pretrained(folder)
        made = [found(model, length) for length in LENGTHS]
        told = {"prompts": [prompt for prompt, _ in made], "tokens": [tokens for _, tokens in made]}
        (folder / "tokens.json").write_text(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
