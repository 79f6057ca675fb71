"""Ten steps of transformers' Trainer, evaluation, a checkpoint, and two more from it. Arguments: MODE OUT"""

import json
import sys

import torch
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    Trainer,
    TrainingArguments,
    set_seed,
)

MODES = {
    "fp32": {},
    "llama": {},
    "bf16": {"bf16": True, "gradient_checkpointing": True},
    "fp16": {"fp16": True, "optim": "adamw_torch"},
    "fp16-default": {"fp16": True},
    "npu-fused": {"optim": "adamw_torch_npu_fused"},
    "accumulate": {"gradient_accumulation_steps": 2, "max_grad_norm": 0.5, "lr_scheduler_type": "cosine"},
    "fsdp2": {"fsdp": True, "fsdp_config": {"version": 2, "reshard_after_forward": True}},
}
mode, out = sys.argv[1:]
no_device = not (hasattr(torch, "npu") and torch.npu.is_available())
llama = LlamaConfig(
    vocab_size=96, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=2, max_position_embeddings=64,
)  # fmt: skip
gpt2 = GPT2Config(
    vocab_size=96, n_positions=64, n_embd=32, n_layer=2, n_head=2, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0
)
texts = torch.randint(96, (80, 24), generator=torch.Generator().manual_seed(1))
data = [{"input_ids": text, "labels": text} for text in texts]


def trainer(steps: int) -> Trainer:
    arguments = TrainingArguments(
        output_dir="checkpoints", max_steps=steps, per_device_train_batch_size=4, learning_rate=1e-3, logging_steps=1,
        save_steps=10, eval_steps=10, eval_strategy="steps", report_to=[], disable_tqdm=True, use_cpu=no_device,
        **MODES.get(mode, {}),
    )  # fmt: skip
    set_seed(0)
    model = LlamaForCausalLM(llama) if mode == "llama" else GPT2LMHeadModel(gpt2)
    return Trainer(model=model, args=arguments, train_dataset=data, eval_dataset=data[:8])


first = trainer(10)
first.train()
first.accelerator.wait_for_everyone()  # the checkpoint is whole
again = trainer(12)
again.train(resume_from_checkpoint=True)
if again.is_world_process_zero():
    log = again.state.log_history
    results = {
        "loss": [entry["loss"] for entry in log if "loss" in entry],
        "eval": [entry["eval_loss"] for entry in log if "eval_loss" in entry],
        "norm": [float(entry["grad_norm"]) for entry in log if "grad_norm" in entry],
    }
    print(again.args.device, results)
    with open(out, "w") as file:
        json.dump(results, file)
if torch.distributed.is_initialized():
    # Else gloo's threads end with the process, which now and then aborts it, on the CPU alone.
    torch.distributed.destroy_process_group()
