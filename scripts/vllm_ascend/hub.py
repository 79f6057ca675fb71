"""A hub as huggingface_hub keeps it: tiny models of random weights for vllm-ascend's end-to-end tests.

usage: hub.py HUB PROMPTS…

hub.toml names the models, and their kinds in transformers; one tokenizer for all is trained on the texts PROMPTS. A
kind's own configuration has smaller sizes, two layers and that tokenizer. Models of one description are one folder.
HUB/assets gets pictures under the names of those that vLLM would load.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import tomllib
import torch
import transformers
from PIL import Image
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers.models.auto.feature_extraction_auto import FEATURE_EXTRACTOR_MAPPING
from transformers.models.auto.image_processing_auto import IMAGE_PROCESSOR_MAPPING
from transformers.models.auto.processing_auto import PROCESSOR_MAPPING
from transformers.models.auto.video_processing_auto import VIDEO_PROCESSOR_MAPPING

TOLD = tomllib.loads(Path(__file__).with_name("hub.toml").read_text())
SPECIAL = ["<pad>", "<s>", "</s>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>"]
SPECIAL += ["<|image_pad|>", "<|video_pad|>", "<think>", "</think>"]
MARKS = {"image": "<|image_pad|>", "video": "<|video_pad|>", "vision_start": "<|vision_start|>"}
MARKS |= {"vision_end": "<|vision_end|>", "boi": "<|vision_start|>", "eoi": "<|vision_end|>"}
WORDS, LONGEST = 2048, 32768
CHAT = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
TASKS = {"classifier": transformers.AutoModelForSequenceClassification, "encoder": transformers.AutoModel}
RANK, PIXELS = 8, 224


def tokenizer(texts: list[str], two_ends: bool) -> transformers.PreTrainedTokenizerFast:
    """Pairs of bytes; `two_ends` puts the marks of a text around it, as encoders have them."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=WORDS, special_tokens=SPECIAL, initial_alphabet=alphabet)
    made.train_from_iterator(texts, trainer)
    made.add_tokens([f" {number}" for number in range(made.get_vocab_size(), WORDS)])  # each number is some text
    if two_ends:
        ends = [(name, SPECIAL.index(name)) for name in ("<s>", "</s>")]
        made.post_processor = processors.TemplateProcessing("<s> $A </s>", "<s> $A </s> $B </s>", ends)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", bos_token="<s>", eos_token="</s>",
        chat_template=None if two_ends else CHAT,
        extra_special_tokens={f"{name}_token": MARKS[name] for name in ("image", "boi", "eoi")},
    )  # fmt: skip


def smaller(values: dict[str, Any], longest: int) -> dict[str, Any]:
    """A configuration with the sizes of hub.toml, and those of the parts within it."""
    small = {}
    for name, value in values.items():
        if isinstance(value, dict) and name.endswith("config"):
            small[name] = smaller(value, longest)
        elif value is not None or name in ("num_experts_per_tok", "n_group", "topk_group"):
            small[name] = TOLD["sizes"].get(name, value)
    layers = small.get("num_hidden_layers", 0)
    if kinds := small.get("layer_types"):  # each kind of layer that the model has
        kinds = list(dict.fromkeys(kinds))
        small |= {"layer_types": (kinds * layers)[: max(layers, len(kinds))]}
        small["num_hidden_layers"] = len(small["layer_types"])
    if "vocab_size" in small:
        small |= {"vocab_size": WORDS, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    if "max_position_embeddings" in small:
        small["max_position_embeddings"] = min(longest, max(small["max_position_embeddings"], 4096))
    for name, value in small.items():
        if name.endswith(("_token_id", "_token_index")) and isinstance(value, int) and value >= WORDS:
            small[name] = SPECIAL.index(MARKS.get(name.rpartition("_token")[0], "<think>"))
    return small


def told(folder: Path, **values: Any) -> None:
    """More values for a configuration."""
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | values))


def minicpm(folder: Path) -> None:
    """MiniCPM, which transformers lacks: Llama's weights, and three scales."""
    told(folder, architectures=["MiniCPMForCausalLM"], scale_emb=12, scale_depth=1.4, dim_model_base=256)


def next_layer(folder: Path) -> None:
    """A layer of DeepSeek's that predicts one more token, with the weights of the last."""
    config = json.loads((folder / "config.json").read_text())
    last, size = config["num_hidden_layers"] - 1, config["hidden_size"]
    file = folder / "model.safetensors"
    kept = load_file(file)
    begins, own = f"model.layers.{last}.", f"model.layers.{last + 1}."
    more = {name.replace(begins, own): weight.clone() for name, weight in kept.items() if name.startswith(begins)}
    more |= {f"{own}{norm}.weight": torch.ones(size).bfloat16() for norm in ("enorm", "hnorm", "shared_head.norm")}
    more[f"{own}eh_proj.weight"] = torch.randn(size, 2 * size).bfloat16() * 0.1
    more[f"{own}embed_tokens.weight"] = kept["model.embed_tokens.weight"].clone()
    more[f"{own}shared_head.head.weight"] = kept["lm_head.weight"].clone()
    save_file(kept | more, file, {"format": "pt"})
    told(folder, num_nextn_predict_layers=1)


def pard(folder: Path) -> None:
    """A draft that makes several tokens at once, and the token that stands for those."""
    told(folder, pard_token=SPECIAL.index("<think>"))


def draft(folder: Path) -> None:
    """A draft of EAGLE-3: one layer of Llama's for the states of two layers of the model and for the last token."""
    file = folder / "model.safetensors"
    size = json.loads((folder / "config.json").read_text())["hidden_size"]
    kept = {}
    for name, weight in load_file(file).items():
        if name.startswith("model.layers.0."):
            wide = name.endswith(("q_proj.weight", "k_proj.weight", "v_proj.weight"))
            kept[name.replace("model.layers.0", "midlayer")] = torch.cat([weight, weight], 1) if wide else weight
    kept |= {f"{norm}.weight": torch.ones(size).bfloat16() for norm in ("norm", "midlayer.hidden_norm")}
    kept |= {"fc.weight": torch.randn(size, 2 * size).bfloat16() * 0.1}
    kept |= {"lm_head.weight": torch.randn(WORDS, size).bfloat16() * 0.1}
    save_file(kept, file, {"format": "pt"})
    layers = {"num_hidden_layers": 1, "num_aux_hidden_states": 2, "eagle_aux_hidden_state_layer_ids": [0, 1]}
    told(folder, draft_vocab_size=WORDS, **layers)


def eight_bits(folder: Path) -> None:
    """Weights of linear layers as ModelSlim's W8A8_DYNAMIC has them: a scale for each row, and no offset."""
    file = folder / "model.safetensors"
    kept, kinds = {}, {"model_quant_type": "W8A8_DYNAMIC"}
    for name, weight in load_file(file).items():
        linear = name.endswith(("_proj.weight", "_proj_with_mqa.weight")) and weight.dim() == 2
        kinds[name] = "W8A8_DYNAMIC" if linear and "kv_b_proj" not in name else "FLOAT"
        if kinds[name] == "FLOAT":
            kept[name] = weight
            continue
        scale = weight.float().abs().amax(1, keepdim=True).clamp(min=1e-6) / 127
        quantized = {"weight": (weight.float() / scale).round().to(torch.int8), "weight_scale": scale.to(weight.dtype)}
        quantized["weight_offset"] = torch.zeros_like(quantized["weight_scale"])
        for part, value in quantized.items():
            kept[name.removesuffix("weight") + part] = value
            kinds[name.removesuffix("weight") + part] = "W8A8_DYNAMIC"
    save_file(kept, file, {"format": "pt"})
    (folder / "quant_model_description.json").write_text(json.dumps(kinds))


def model(folder: Path, description: str, texts: list[str]) -> None:
    kind, *options = description.split()
    longest = 512 if kind == "bert" else LONGEST
    like = transformers.CONFIG_MAPPING[kind]
    values = smaller(like().to_dict(), longest)
    if kind == "xlm-roberta":
        values["max_position_embeddings"] += 2
    if "classifier" in options:
        values |= {"id2label": {0: "0"}, "label2id": {"0": 0}} if "bert" in kind else {}
    if "minicpm" in options:  # which does not ask how long its heads are
        values["head_dim"] = values["hidden_size"] // values["num_attention_heads"]
    if kind == "qwen3_vl_moe":  # what vLLM asks for, and transformers leaves out
        values["text_config"]["norm_topk_prob"] = True
    if "experts" in options:  # of Gemma 4, whose own values have none, and no pictures
        vision = transformers.CONFIG_MAPPING["gemma4_vision"]().to_dict()
        values["vision_config"] = smaller(vision, longest) | {"default_output_length": 280}
        values["text_config"] |= {"enable_moe_block": True, "num_experts": 8, "top_k_experts": 2}
        values["text_config"] |= {"moe_intermediate_size": TOLD["sizes"]["moe_intermediate_size"]}
    config = like(**values, dtype=torch.bfloat16)
    task = next((TASKS[option] for option in options if option in TASKS), None)
    if task is None:
        text = type(config) in transformers.AutoModelForCausalLM._model_mapping
        both = type(config) in transformers.AutoModelForImageTextToText._model_mapping
        task = transformers.AutoModelForImageTextToText if both or not text else transformers.AutoModelForCausalLM
    torch.manual_seed(0)
    made = task.from_config(config, dtype=torch.bfloat16)
    for name, weight in made.named_parameters():
        if "classifier" in options and name.startswith(("score", "classifier")):
            weight.data.mul_(0.1)  # else what bfloat16 rounds away is more than the tests allow
    made.save_pretrained(folder)
    words = tokenizer(texts, "bert" in kind)
    words.save_pretrained(folder)
    for each in (kind, kind.removesuffix("_moe")):  # with experts, Qwen3-VL has the processor that it has without
        if transformers.CONFIG_MAPPING[each] in IMAGE_PROCESSOR_MAPPING:
            processor(transformers.CONFIG_MAPPING[each], config.vision_config, words).save_pretrained(folder)
            break
    if kind == "deepseek_v3":  # what vLLM asks for, and transformers leaves out
        told(folder, topk_method="noaux_tc", scoring_func="sigmoid")
    for option in options:
        if option in CHANGES:
            CHANGES[option](folder)


def pooled(folder: Path, mode: str) -> None:
    """How sentence-transformers, and vLLM, make one vector of a text."""
    size = json.loads((folder / "config.json").read_text())["hidden_size"]
    modes = {f"pooling_mode_{each}": each == mode for each in ("cls_token", "mean_tokens", "lasttoken")}
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": size} | modes))
    parts = [("Transformer", ""), ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize")]
    modules = [
        {"idx": number, "name": str(number), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for number, (kind, path) in enumerate(parts)
    ]
    (folder / "modules.json").write_text(json.dumps(modules))


def encoder(folder: Path) -> None:
    pooled(folder, "mean_tokens")


def embedding(folder: Path) -> None:
    pooled(folder, "lasttoken")


CHANGES = {"w8a8": eight_bits, "minicpm": minicpm, "mtp": next_layer, "eagle3": draft}
CHANGES |= {"pard": pard, "encoder": encoder, "embedding": embedding}


def processor(config: Any, vision: Any, words: Any) -> Any:
    """What makes numbers of pictures, with the values that transformers gives a kind; for Qwen of small ones."""
    parts = {"image_processor": IMAGE_PROCESSOR_MAPPING, "video_processor": VIDEO_PROCESSOR_MAPPING}
    parts["feature_extractor"] = FEATURE_EXTRACTOR_MAPPING
    made = {}
    for name, mapping in parts.items():
        if config in mapping:
            found = mapping[config]
            kind = next(filter(None, found.values())) if isinstance(found, dict) else found
            made[name] = kind()
            if hasattr(made[name], "merge_size"):  # Qwen's: pictures in patches of the model's size
                sizes = {"patch_size": vision.patch_size, "merge_size": vision.spatial_merge_size}
                made[name] = kind(**sizes, size={"shortest_edge": 56**2, "longest_edge": 448**2})
    return PROCESSOR_MAPPING[config](tokenizer=words, chat_template=CHAT, **made)


def adapter(folder: Path, base: Path) -> None:
    """LoRA of rank 8 for the queries and the values of each layer."""
    torch.manual_seed(1)
    parts = {}
    for name, weight in load_file(base / "model.safetensors").items():
        if name.endswith(("q_proj.weight", "v_proj.weight")):
            layer = f"base_model.model.{name.removesuffix('.weight')}"
            parts[f"{layer}.lora_A.weight"] = torch.randn(RANK, weight.shape[1]).bfloat16() * 0.1
            parts[f"{layer}.lora_B.weight"] = torch.randn(weight.shape[0], RANK).bfloat16() * 0.1
    folder.mkdir(parents=True)
    save_file(parts, folder / "adapter_model.safetensors", {"format": "pt"})
    config = {"peft_type": "LORA", "r": RANK, "lora_alpha": 2 * RANK, "bias": "none"}
    config["target_modules"] = ["q_proj", "v_proj"]
    (folder / "adapter_config.json").write_text(json.dumps(config))


def put(hub: Path, name: str, made: Path) -> None:
    """The folder where huggingface_hub looks in its cache for this name, and where ModelScope does."""
    entry, commit = hub / f"models--{name.replace('/', '--')}", "0" * 40
    (entry / "refs").mkdir(parents=True)
    (entry / "refs" / "main").write_text(commit)
    (entry / "snapshots").mkdir()
    (entry / "snapshots" / commit).symlink_to(made)
    other = hub / "models" / name.replace(".", "___")
    other.parent.mkdir(parents=True, exist_ok=True)
    other.symlink_to(made)


def pictures(folder: Path) -> None:
    """Squares of random colours, where vLLM keeps the pictures that its assets name."""
    folder.mkdir(parents=True)
    random = np.random.default_rng(2)
    for name in TOLD["pictures"]["names"]:
        colours = Image.fromarray(random.integers(0, 256, (8, 8, 3), dtype=np.uint8))
        colours.resize((PIXELS, PIXELS), Image.Resampling.NEAREST).save(folder / f"{name}.jpg")


def main(hub: Path, prompts: list[Path]) -> None:
    texts = [prompt.read_text() for prompt in prompts]
    pictures(hub / "assets" / "vllm_public_assets")
    made = hub.absolute() / "made"
    for name, description in TOLD["models"].items():
        folder = made / description.replace(" ", "-")
        try:
            if not folder.exists():
                model(folder, description, texts)
        except Exception as error:  # the tests of this model will say that it is missing
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
            continue
        put(hub, name, folder)
    for name, kind in TOLD["adapters"].items():
        folder = made / f"lora-{name.replace('/', '-')}"
        if (made / kind / "model.safetensors").exists():
            adapter(folder, made / kind)
            put(hub, name, folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(argument) for argument in sys.argv[2:]])
