"""Logits of an adapter (LoRA): a buffer as wide as its rank. The two kernels of its own are written out in torch."""

from types import SimpleNamespace

import torch
import torch_npu  # noqa: F401
from taken import take


def shrink(x: torch.Tensor, weights: torch.Tensor, out: torch.Tensor, which: torch.Tensor, scale: float) -> None:
    out += scale * torch.bmm(weights[which].float(), x.float()[..., None])[..., 0]


def expand(x: torch.Tensor, weights: torch.Tensor, out: torch.Tensor, which: torch.Tensor, add_inputs: bool) -> None:
    out += torch.bmm(weights[which].float(), x[..., None])[..., 0]


taken = take(
    "vllm_ascend/lora/punica_npu.py", "PunicaWrapperNPU.add_lora_logits",
    is_310p=lambda: False, bgmv_shrink=shrink, bgmv_expand=expand,
)  # fmt: skip
tokens, wide, rank, words = 3, 16, 4, 32
torch.manual_seed(0)
x, y = torch.randn(tokens, wide), torch.zeros(tokens, words)
a, b = torch.randn(2, rank, wide), torch.randn(2, words, rank)
out, which = y.npu(), torch.tensor([0, 1, 1])
taken.add_lora_logits(SimpleNamespace(sampler_indices=which.npu()), out, x.npu(), a.npu(), b.npu(), 0.5)
exact = torch.stack([0.5 * b[i] @ (a[i] @ row) for i, row in zip(which, x, strict=True)])
assert torch.allclose(out.cpu(), exact, atol=1e-3)
