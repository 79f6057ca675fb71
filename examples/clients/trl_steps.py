"""Four steps of a trainer of trl on a tiny GPT-2 with random weights. Arguments: KIND OUT"""

import json
import sys

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast, set_seed
from trl import DPOConfig, DPOTrainer, GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer

kind, out = sys.argv[1:]
words = ["[PAD]", "[UNK]", "[EOS]", "plus", "is"]
numbers = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
words += numbers
plain = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
plain.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=plain, pad_token="[PAD]", unk_token="[UNK]", eos_token="[EOS]")
set_seed(0)
config = GPT2Config(
    vocab_size=len(words), n_positions=64, n_embd=32, n_layer=2, n_head=2, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0,
    bos_token_id=2, eos_token_id=2, pad_token_id=0,
)  # fmt: skip
model = GPT2LMHeadModel(config)
model.save_pretrained("tiny")
tokenizer.save_pretrained("tiny")
prompts = [f"{a} plus {b} is " for a in numbers[:4] for b in numbers[:4]]
right = [numbers[i // 4 + i % 4 + 1] for i in range(16)]
common = {
    "output_dir": "trained", "max_steps": 4, "per_device_train_batch_size": 4, "save_strategy": "no", "bf16": False,
    "learning_rate": 1e-5 if kind == "dpo" else 1e-3, "logging_steps": 1, "report_to": [], "disable_tqdm": True,
    "gradient_checkpointing": False, "use_cpu": not (hasattr(torch, "npu") and torch.npu.is_available()),
}  # fmt: skip
if kind == "sft":
    data = Dataset.from_dict({"text": [prompt + answer for prompt, answer in zip(prompts, right, strict=True)]})
    trainer = SFTTrainer(model, SFTConfig(max_length=32, **common), train_dataset=data, processing_class=tokenizer)
elif kind == "dpo":
    wrong = [numbers[(i * 7) % 10] for i in range(16)]
    data = Dataset.from_dict({"prompt": prompts, "chosen": right, "rejected": wrong})
    settings = DPOConfig(max_length=32, **common)
    trainer = DPOTrainer("tiny", args=settings, train_dataset=data, processing_class=tokenizer)
else:
    # Each device has random numbers of its own: the CPU draws the tokens. (With top_k=1 nothing is random, but all
    # completions of a prompt are the same then, and the gradient is zero.)
    draw, seed = torch.multinomial, torch.Generator().manual_seed(1)

    def multinomial(probabilities: torch.Tensor, num_samples: int) -> torch.Tensor:
        return draw(probabilities.cpu(), num_samples, generator=seed).to(probabilities.device)

    torch.multinomial = multinomial

    def reward(completions: list[str], **_: object) -> list[float]:
        return [len(set(text.split())) + 0.5 * text.split().count("is") for text in completions]

    data = Dataset.from_dict({"prompt": prompts})
    settings = GRPOConfig(num_generations=4, max_completion_length=6, beta=0.05, **common)
    trainer = GRPOTrainer("tiny", reward, args=settings, train_dataset=data, processing_class=tokenizer)
trainer.train()
wanted = ("loss", "grad_norm", "reward", "kl", "rewards/margins", "mean_token_accuracy", "completions/mean_length")
results = {
    name: [float(entry[name]) for entry in trainer.state.log_history if name in entry]
    for name in wanted
    if any(name in entry for entry in trainer.state.log_history)
}
weights = trainer.model.state_dict()
results["weights"] = [weights[name].float().mean().item() for name in sorted(weights)]
print(trainer.args.device, results)
with open(out, "w") as file:
    json.dump(results, file)
