"""A tiny Qwen2 with random weights, a tokenizer of bytes, an adapter and small data sets, as trainers of language
models take them; then what such a trainer left.

Arguments: make, or make moe (a Qwen3 with experts), or read OUT FOLDER…
"""

import json
import sys
from pathlib import Path


def make(experts: bool) -> None:
    import pyarrow
    import torch
    from peft import LoraConfig, get_peft_model
    from pyarrow import parquet
    from safetensors.torch import save_file
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM, Qwen3MoeConfig, Qwen3MoeForCausalLM

    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    words = [*special, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    plain = Tokenizer(models.BPE({word: i for i, word in enumerate(words)}, merges=[]))
    plain.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    plain.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=plain, pad_token="<|endoftext|>", eos_token="<|im_end|>", additional_special_tokens=special
    )
    tokenizer.chat_template = (
        "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
    )
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "max_position_embeddings": 512}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2}
    ends = {"bos_token_id": 0, "eos_token_id": 2, "pad_token_id": 0}
    common = {"vocab_size": len(words), "initializer_range": 0.1, "summary_dropout_prob": 0.0, **sizes, **heads, **ends}
    if experts:
        more = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "head_dim": 16}
        model = Qwen3MoeForCausalLM(Qwen3MoeConfig(**common, **more))
    else:
        model = Qwen2ForCausalLM(Qwen2Config(**common))
    model.generation_config.do_sample = False
    model.save_pretrained("tiny")
    tokenizer.save_pretrained("tiny")
    # Each device draws random numbers of its own: adapters and a reward's head are drawn here, and nothing is dropped.
    head = {"v_head.summary.weight": torch.randn(1, 32) / 32, "v_head.summary.bias": torch.zeros(1)}
    save_file(head, "tiny/value_head.safetensors")
    targets = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
    if experts:
        targets = targets[:4]
    adapted = get_peft_model(model, LoraConfig(r=8, lora_alpha=16, target_modules=targets, task_type="CAUSAL_LM"))
    adapted.peft_config["default"].base_model_name_or_path = "tiny"
    adapted.save_pretrained("tiny-lora")

    numbers = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    sums = [(f"{a} plus {b}?", numbers[i + j + 1], numbers[i * j]) for i, a in enumerate(numbers[:4])
            for j, b in enumerate(numbers[:4])]  # fmt: skip
    tables = {
        "sums": [{"instruction": ask, "input": "", "output": right} for ask, right, _ in sums],
        "preferred": [{"instruction": ask, "input": "", "chosen": r, "rejected": w} for ask, r, w in sums],
        "liked": [{"instruction": ask, "input": "", "output": (r, w)[i % 2], "kto_tag": i % 2 == 0}
                  for i, (ask, r, w) in enumerate(sums)],
        "texts": [{"text": f"{ask} {right}."} for ask, right, _ in sums],
        "messages": [{"messages": [{"role": "user", "content": ask}, {"role": "assistant", "content": r}]}
                     for ask, r, _ in sums],
        "pairs": [{"messages": [{"role": "user", "content": ask}, {"role": "assistant", "content": r}],
                   "rejected_response": w} for ask, r, w in sums],
    }  # fmt: skip
    answers = {"prompt": "instruction", "query": "input", "response": "output"}
    columns = {
        "sums": {"columns": answers},
        "preferred": {"ranking": True, "columns": {**answers, "chosen": "chosen", "rejected": "rejected"}},
        "liked": {"columns": {**answers, "kto_tag": "kto_tag"}},
        "texts": {"columns": {"prompt": "text"}},
    }
    del columns["preferred"]["columns"]["response"]  # type: ignore[attr-defined]
    folder = Path("data")
    folder.mkdir()
    for name, rows in tables.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    parquet.write_table(pyarrow.Table.from_pylist(tables["messages"]), folder / "messages.parquet")
    told = {name: {"file_name": f"{name}.jsonl", **how} for name, how in columns.items()}
    (folder / "dataset_info.json").write_text(json.dumps(told))


def read(out: str, folders: list[str]) -> None:
    """Losses, norms of gradients, what a trainer logs of rewards, and the weights in each folder; a file's text."""
    from safetensors.torch import load_file

    results: dict[str, object] = {}
    for name in folders:
        folder = Path(name)
        if folder.is_file():
            results[name] = folder.read_text()
            continue
        state = sorted(folder.rglob("trainer_state.json"), key=lambda file: (len(file.parts), file))
        log = json.loads(state[0].read_text())["log_history"] if state else []
        for key in ("loss", "grad_norm", "rewards/margins", "rewards/chosen", "logps/chosen"):
            if values := [float(entry[key]) for entry in log if key in entry]:
                results[f"{name} {key}"] = values
        for file in sorted(folder.glob("*.safetensors")):
            weights = load_file(file)
            results[f"{name} {file.name}"] = {n: weights[n].float().flatten().tolist() for n in sorted(weights)}
    print({key: value for key, value in results.items() if isinstance(value, list)})
    Path(out).write_text(json.dumps(results))


if sys.argv[1] == "make":
    make("moe" in sys.argv)
else:
    read(sys.argv[2], sys.argv[3:])
