"""What torchtune.yaml names: a tiny Llama with random weights, a tokenizer and a data set; then what a recipe left.

Arguments: make, or read OUT
"""

import json
import re
import sys
from pathlib import Path

import sentencepiece
import torch
from safetensors.torch import load_file, save_file
from torchtune.models.convert_weights import tune_to_hf
from torchtune.models.llama2 import llama2

if sys.argv[1] == "make":
    numbers = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    rows = [
        {"input": f"{a} plus {b}", "output": numbers[i + j + 1]}
        for i, a in enumerate(numbers[:5])
        for j, b in enumerate(numbers[:5])
    ]
    folder = Path("tiny")
    folder.mkdir()
    (folder / "data.json").write_text(json.dumps(rows))
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([f"{row['input']} {row['output']}" for row in rows]),
        model_prefix=str(folder / "tokenizer"), vocab_size=28, num_threads=1, minloglevel=2,
    )  # fmt: skip
    torch.manual_seed(0)
    model = llama2(
        vocab_size=28, num_layers=2, num_heads=4, num_kv_heads=2, embed_dim=32, max_seq_len=64, intermediate_dim=64
    )
    weights = tune_to_hf(model.state_dict(), num_heads=4, num_kv_heads=2, dim=32)
    save_file({name: tensor.contiguous() for name, tensor in weights.items()}, folder / "model.safetensors")
    sizes = {"num_attention_heads": 4, "num_key_value_heads": 2, "hidden_size": 32}
    (folder / "config.json").write_text(json.dumps(sizes))
else:
    log = next(Path("out/logs").glob("log_*.txt")).read_text()
    results: dict[str, object] = {
        name: [float(x) for x in re.findall(rf"\b{name}:(\S+)", log)] for name in ("loss", "grad_norm")
    }
    last = max(Path("out").glob("epoch_*"))
    weights = load_file(next(last.glob("*model-*.safetensors")))
    results["weights"] = {name: weights[name].float().flatten().tolist() for name in sorted(weights)}
    print(log)
    with open(sys.argv[2], "w") as file:
        json.dump(results, file)
