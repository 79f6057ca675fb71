"""Programs that every observer is tried on."""

from __future__ import annotations

import sys

import torch
from torch import nn


def mlp() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))


def step(model: nn.Module, seed: int = 1) -> torch.Tensor:
    """One forward and backward, where the model is; returns the loss."""
    torch.manual_seed(seed)
    loss = model(torch.randn(5, 8).to(place(model))).square().mean()
    loss.backward()
    return loss.detach()


def place(model: nn.Module) -> torch.device:
    return next(model.parameters()).device


def transformer() -> nn.Module:
    """A GPT-2 of two small layers, from configuration alone."""
    import transformers.utils

    if "torch_npu" not in sys.modules:
        # Where torch_npu is installed but CANN is not, transformers' look for NPUs would end in an ImportError.
        transformers.utils.is_torch_npu_available = lambda *_, **__: False
        transformers.utils.import_utils.is_torch_npu_available = lambda *_, **__: False
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    config = GPT2Config(n_layer=2, n_head=2, n_embd=32, vocab_size=50, n_positions=16, use_cache=False)
    return GPT2LMHeadModel(config)


def transformer_step(model: nn.Module) -> torch.Tensor:
    torch.manual_seed(1)
    ids = torch.randint(0, 50, (2, 8)).to(place(model))
    loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    return loss.detach()
