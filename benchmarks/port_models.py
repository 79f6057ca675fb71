"""Programs for the porting report: eight tiny models, each trained for some steps on the NPU.

    ophook-npu port -- benchmarks/port_models.py gpt2          one of them, under the report
    ophook-npu run -- benchmarks/port_models.py                all, in one process: what the report finds and costs
    ophook-npu run -- benchmarks/port_models.py --write        and the tables of docs/will-it-run.md and its translation

Prints; asserts nothing. transformers is needed for those that come from there.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when torch is loaded; see port_overhead.py

import torch
from torch import nn

from ophook_npu import hooks, observe
from ophook_npu.observe.port import KINDS, Report

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
TITLES = {
    "gpt2": ("GPT-2", "GPT-2"), "llama": ("Llama", "Llama"), "mixtral": ("Mixtral", "Mixtral"), "vit": ("ViT", "ViT"),
    "unet": ("UNet", "UNet"), "whisper": ("Whisper", "Whisper"), "tagger": ("LSTM tagger", "LSTM 标注器"),
    "detector": ("detection head", "检测头"),
}  # fmt: skip
GRAPH = ("break", "no_converter")
BEGIN = "<!-- models: generated by benchmarks/port_models.py --write -->"
END = "<!-- end of models -->"
HEADS = (
    ["model", "calls a step", "refused here", "refused by pages", "to the CPU", "waits a step", "copies a step",
     "graph breaks, without converter", "fused operators missed, places; error of the fused", "cost of the report"],
    ["模型", "每步调用", "在此被拒绝", "按文档被拒绝", "回退到 CPU", "每步等待", "每步拷贝",
     "图中断、无转换器", "未使用的融合算子（处）；融合算子的误差", "报告的代价"],
)  # fmt: skip


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


def reported(name: str, steps: int = 2) -> Report:
    """The whole report of one model: its calls, its graphs, and the fused operators that were missed, tried."""
    port = observe.Port(apply=True)
    with port:
        train(name, steps)
    port.trace()
    result = port.result()
    port.remove()
    return result


def row(name: str, report: Report, cost: tuple[float, float], lang: int) -> list[str]:
    """One line of the documents' table, in English (0) or Chinese (1)."""
    graph = Counter({code: sum(one.key.code == code for one in report.of("graph")) for code in GRAPH})
    tried = [one for one in report.of("fused") if one.key.code == "fused_tried"]
    others = [one for one in report.of("fused") if one.key.code in ("fused", "fused_off", "fused_failed")]
    fused = Counter({one.key.operator: one.count for one in others})
    for one in tried:
        fused[one.key.operator] += one.count
    worst = max((float(dict(one.key.values)["off"]) for one in tried), default=0.0)
    names = ", ".join(f"{operator} {count}" for operator, count in sorted(fused.items()))
    pages: dict[str, set[str]] = {}
    for one in report.of("rules"):
        pages.setdefault(one.key.operator.partition("::")[2], set()).update(one.key.products)
    refused = ", ".join(f"{operator} ({', '.join(sorted(socs))})" for operator, socs in sorted(pages.items()))
    here = sum(report.refused_here(one) for one in report.findings)
    waits, copies = (sum(one.count for one in report.of(kind) if one.in_steps) for kind in ("synchronizes", "copies"))
    off = ("; off by at most ", "；误差不超过 ")[lang]
    return [
        TITLES[name][lang], f"{report.per_step(report.calls):.0f}", str(here), refused,
        str(len(report.of("fallback"))), f"{report.per_step(waits):.3g}", f"{report.per_step(copies):.3g}",
        f"{graph['break']}, {graph['no_converter']}", f"{names}{off}{worst:.0e}" if tried else names,
        f"{cost[1] / cost[0]:.2f}",
    ]  # fmt: skip


def write(reports: dict[str, Report], costs: dict[str, tuple[float, float]]) -> None:
    """The tables of docs/will-it-run*.md."""
    for lang, name in enumerate(("will-it-run.md", "will-it-run.zh.md")):
        path = Path(__file__).parents[1] / "docs" / name
        table = [HEADS[lang], ["---"] * len(HEADS[lang])]
        table += [row(model, report, costs[model], lang) for model, report in reports.items()]
        lines = [f"| {' | '.join(cells)} |".replace("|  |", "| |") for cells in table]
        before, _, rest = path.read_text().partition(f"{BEGIN}\n")
        _, _, after = rest.partition(f"{END}\n")
        path.write_text("\n".join([f"{before}{BEGIN}", *lines, f"{END}\n"]) + after)


def main() -> None:
    names = [one for one in sys.argv[1:] if not one.startswith("--")]
    if names and "--write" not in sys.argv:
        for name in names:
            train(name)
        return
    from port_overhead import cost

    reports, costs = {}, {}
    for name in names or MODELS:
        result = reports[name] = reported(name)
        costs[name] = cost(name)
        print(f"{name}: {result.calls} calls, {result.operators} operators; " + "; ".join(result.verdict()))
        for kind in KINDS:
            for one in result.of(kind):
                values = {k: v for k, v in one.key.values if k in ("message", "reason", "off", "gradients", "places")}
                print(f"  {kind}: {one.key.code} {one.key.operator} {one.count} {one.place} {values or ''}")
        print(f"  cost: {1e3 * costs[name][0]:.1f} ms a step without, {1e3 * costs[name][1]:.1f} ms with", flush=True)
    hooks.purge()
    if "--write" in sys.argv:
        write(reports, costs)


if __name__ == "__main__":
    main()
