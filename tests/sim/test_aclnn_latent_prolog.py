"""What goes before latent attention, with weights as they are and as whole numbers: against the formula in float64."""

from __future__ import annotations

import pytest
import torch
import torch_npu
from values import close, real, steps_close, whole

BF16 = torch.bfloat16
WIDTH, RANK, KEY_RANK, HEADS, DEPTH, ROPE = 64, 32, 32, 2, 16, 8
SIZE, TOKENS = 4, 5
NZ = 29


def normalized(x: torch.Tensor, gamma: torch.Tensor) -> torch.Tensor:
    return x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt() * gamma.double()


def turned(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    pairs = torch.cat([x[..., ::2], x[..., 1::2]], -1)
    first, second = pairs.chunk(2, -1)
    return pairs * cos.double() + torch.cat([-second, first], -1) * sin.double()


class Case:
    """The inputs, and what the page computes of them; `weights`: how many of the products are of whole numbers."""

    def __init__(self, weights: str, cache: bool) -> None:
        self.weights, self.cache = weights, cache
        full = weights == "all"
        out = HEADS * (DEPTH + ROPE)
        small = 0.2
        self.x = whole(TOKENS, WIDTH) if full else real(TOKENS, WIDTH, dtype=BF16)
        self.down = whole(WIDTH, RANK, seed=1) if full else (real(WIDTH, RANK, seed=1) * small).to(BF16)
        self.up = (real(RANK, out, seed=2) * small).to(BF16) if weights == "none" else whole(RANK, out, seed=2)
        self.key_down = (
            whole(WIDTH, KEY_RANK + ROPE, seed=4) if full
            else (real(WIDTH, KEY_RANK + ROPE, seed=4) * small).to(BF16)
        )  # fmt: skip
        self.absorbed = (real(HEADS, DEPTH, KEY_RANK, seed=3) * small).to(BF16)
        self.gamma, self.key_gamma = real(RANK, seed=5, dtype=BF16), real(KEY_RANK, seed=6, dtype=BF16)
        self.sin, self.cos = (real(TOKENS, ROPE, seed=seed, dtype=BF16) for seed in (7, 8))
        self.index = torch.tensor([3, 0, 9, 5, 7])
        self.key_cache = torch.full((3, SIZE, 1, KEY_RANK), 9, dtype=torch.int8 if cache else BF16)
        self.rope_cache = torch.full(
            (3, SIZE, 1, ROPE), 9, dtype=torch.int8 if cache and not full else BF16
        )  # fmt: skip
        self.scales = {}
        if full:
            self.scales |= {
                "dequant_scale_x": real(TOKENS, 1, seed=9).abs() * 0.02 + 0.01,
                "dequant_scale_w_dq": real(1, RANK, seed=10).abs() * 0.01 + 0.01,
                "dequant_scale_w_dkv_kr": real(1, KEY_RANK + ROPE, seed=11).abs() * 0.01 + 0.01,
            }
        if weights != "none":
            self.scales["dequant_scale_w_uq_qr"] = real(1, out, seed=12).abs() * 0.002 + 0.002
            self.scales["smooth_scales_cq"] = real(1, RANK, seed=13).abs() + 0.5
        if cache:
            self.scales["quant_scale_ckv"] = torch.full((1, KEY_RANK), 25.0)
            if not full:
                self.scales["quant_scale_ckr"] = real(1, ROPE, seed=15).abs() * 10 + 10

    def want(self, query_factor: float = 1.0, key_factor: float = 1.0) -> dict[str, torch.Tensor]:
        scale = {name: value.double() for name, value in self.scales.items()}
        x, full = self.x.double(), self.weights == "all"
        low, both = x @ self.down.double(), x @ self.key_down.double()
        if full:
            low = low * scale["dequant_scale_x"] * scale["dequant_scale_w_dq"]
            both = both * scale["dequant_scale_x"] * scale["dequant_scale_w_dkv_kr"]
        low = query_factor * normalized(low, self.gamma)
        made = {"low": low}
        if self.weights != "none":
            smoothed = low * scale["smooth_scales_cq"]
            step = smoothed.abs().amax(-1, keepdim=True) / 127
            made["low"], made["step"] = smoothed / step, step
            high = (smoothed / step).round() @ self.up.double() * step * scale["dequant_scale_w_uq_qr"]
        else:
            high = low @ self.up.double()
        high = high.reshape(TOKENS, HEADS, DEPTH + ROPE)
        made["query"] = torch.einsum("thd,hdk->thk", high[..., :DEPTH], self.absorbed.double())
        made["rope"] = turned(high[..., DEPTH:], self.cos[:, None], self.sin[:, None])
        if full and self.cache:
            made["scale"] = made["query"].abs().amax(-1, keepdim=True) / 127
            made["query"] = made["query"] / made["scale"]
            made["rope"] = made["rope"] * 25 / made["scale"]
        made["key"] = key_factor * normalized(both[:, :KEY_RANK], self.key_gamma)
        made["key rope"] = turned(both[:, KEY_RANK:], self.cos, self.sin)
        return made

    def inputs(self) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        weights = [torch_npu.npu_format_cast(x.npu(), NZ) for x in (self.down, self.up, self.key_down)]
        first = [self.x.npu(), weights[0], weights[1], self.absorbed.npu(), weights[2], self.gamma.npu()]
        return first + [x.npu() for x in (self.key_gamma, self.sin, self.cos)], [
            x.npu() for x in (self.key_cache, self.rope_cache)
        ]

    def options(self) -> dict[str, torch.Tensor]:
        return {name: value.npu() for name, value in self.scales.items()}

    def check(self, got: tuple, caches: list[torch.Tensor], want: dict[str, torch.Tensor], mode: str) -> None:
        query, rope, scale = (x.cpu() for x in got[:3])
        if query.dtype == torch.int8:
            off = (query.double() - want["query"]).abs()
            assert off.max() < 2.5, off.max()  # two roundings stand before
            close(scale, want["scale"], 2e-2)
            close(rope / want["rope"].abs().amax(), want["rope"] / want["rope"].abs().amax(), 2e-2)
        else:
            close(query, want["query"], 5e-2)
            close(rope, want["rope"], 5e-2)
        names = ("quant_scale_ckv", "quant_scale_ckr")
        for cache, name, factor in zip(caches, ("key", "key rope"), names, strict=True):
            mine = cache.cpu()
            width = mine.shape[-1]
            if mode == "PA_NZ":
                mine = mine.reshape(3, -1, SIZE, 32 if mine.dtype == torch.int8 else min(16, width)).transpose(1, 2)
            mine = mine.reshape(-1, width)
            for row, value in zip(self.index.tolist(), want[name], strict=True):
                if mine.dtype == torch.int8:
                    off = mine[row].double() - (value * self.scales[factor].double()[0]).clamp(-128, 127)
                    assert off.abs().max() <= 1.5
                else:
                    close(mine[row], value, 3e-2)
            assert (mine[[row for row in range(12) if row not in self.index.tolist()]] == 9).all()


KINDS = [("none", False), ("one", False), ("one", True), ("all", False), ("all", True)]


@pytest.mark.parametrize(("weights", "cache"), KINDS)
def test_second_form(weights: str, cache: bool) -> None:
    case = Case(weights, cache)
    inputs, caches = case.inputs()
    got = torch_npu.npu_mla_prolog_v2(
        *inputs, case.index.npu(), *caches, rmsnorm_epsilon_cq=1e-5, rmsnorm_epsilon_ckv=1e-5, cache_mode="PA_BSND",
        **case.options(),
    )  # fmt: skip
    query, rope, key_cache, rope_cache, scale = got
    case.check((query, rope, scale if scale is not None else query), [key_cache, rope_cache], case.want(), "PA_BSND")


@pytest.mark.parametrize(("weights", "cache"), KINDS)
def test_third_form(weights: str, cache: bool) -> None:
    case = Case(weights, cache)
    inputs, caches = case.inputs()
    full = weights == "all"
    query, rope, scale, low, step = torch_npu.npu_mla_prolog_v3(
        *inputs, *caches, cache_index=case.index.npu(), rmsnorm_epsilon_cq=1e-5, rmsnorm_epsilon_ckv=1e-5,
        cache_mode="PA_BSND", query_norm_flag=True, weight_quant_mode={"none": 0, "one": 1, "all": 2}[weights],
        kv_cache_quant_mode=(1 if full else 2) if cache else 0, query_quant_mode=int(full and cache), qc_qr_scale=2.0,
        kc_scale=0.5, **case.options(),
    )  # fmt: skip
    want = case.want(2.0, 0.5)
    case.check((query, rope, scale if scale is not None else query), caches, want, "PA_BSND")
    if weights == "none":
        close(low.cpu(), want["low"], 3e-2)
    else:
        steps_close(low.cpu(), want["low"]) if full else None
        close(step.cpu(), want["step"], 2e-2)


def test_what_is_refused() -> None:
    case = Case("none", False)
    inputs, caches = case.inputs()

    def call(mode: str = "PA_BSND", **options: object) -> None:
        torch_npu.npu_mla_prolog_v3(*inputs, *caches, cache_index=case.index.npu(), cache_mode=mode, **options)

    for options, message in (
        ({"mode": "BSND"}, "cache_mode 'BSND'; allowed: PA_BSND, PA_NZ"),
        ({"kv_cache_quant_mode": 3}, "kv_cache_quant_mode 3 is not simulated"),
        ({"ckvkr_repo_mode": 1}, "ckvkr_repo_mode"),
        ({"k_nope_clip_alpha": torch.ones(1).npu()}, "k_nope_clip_alpha is not simulated"),
        ({"smooth_scales_cq": torch.ones(1, RANK).npu()}, "smooth_scales_cq goes with weight_uq_qr of 8 bits"),
        ({"quant_scale_ckv": torch.ones(1, KEY_RANK).npu()}, "quant_scale_ckv goes with tensors of 8 bits"),
    ):
        with pytest.raises(RuntimeError, match=message):
            call(**options)
