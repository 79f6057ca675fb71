"""LoRA on a tiny Llama with peft: ten steps, merged and not, saved and loaded again. Argument: OUT"""

import json
import sys

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

device = "npu" if hasattr(torch, "npu") and torch.npu.is_available() else "cpu"
config = LlamaConfig(
    vocab_size=96, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=2, max_position_embeddings=64,
)  # fmt: skip
torch.manual_seed(0)
base = LlamaForCausalLM(config)
weights = {name: value.clone() for name, value in base.state_dict().items()}
texts = torch.randint(96, (4, 16), generator=torch.Generator().manual_seed(1)).to(device)
results: dict[str, object] = {}
for kind, options in {"lora": {}, "rslora": {"use_rslora": True}, "dora": {"use_dora": True}}.items():
    base = LlamaForCausalLM(config)
    base.load_state_dict(weights)
    torch.manual_seed(2)
    targets = ["q_proj", "v_proj", "down_proj"]
    model = get_peft_model(
        base, LoraConfig(r=4, lora_alpha=8, target_modules=targets, task_type="CAUSAL_LM", **options)
    )
    model.to(device).train()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    losses = []
    for _ in range(10):
        loss = model(input_ids=texts, labels=texts).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    results[kind] = losses
    model.eval()
    with torch.no_grad():
        before = model(input_ids=texts).logits
        model.save_pretrained(f"adapter-{kind}")
        fresh = LlamaForCausalLM(config)
        fresh.load_state_dict(weights)
        loaded = PeftModel.from_pretrained(fresh, f"adapter-{kind}").to(device).eval()
        results[f"{kind} loaded"] = loaded(input_ids=texts).logits.mean((0, 1)).tolist()
        merged = loaded.merge_and_unload()
        torch.testing.assert_close(merged(input_ids=texts).logits, before, atol=1e-4, rtol=1e-4)
    results[f"{kind} tokens"] = merged.generate(
        texts[:, :4], max_new_tokens=8, do_sample=False, pad_token_id=0
    ).tolist()
print(device, results)
with open(sys.argv[1], "w") as file:
    json.dump(results, file)
