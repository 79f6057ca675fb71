"""What may give other numbers on an NPU than on a CPU: a list of ours, from documents of PyTorch and torch_npu."""

from __future__ import annotations

from typing import Any

import torch

from ophook_npu.observe.port.calls import Calls
from ophook_npu.observe.port.finding import Findings, key
from ophook_npu.observe.port.where import BEFORE

RANDOM = frozenset(
    [
        "native_dropout",
        "bernoulli",
        "bernoulli_",
        "normal",
        "normal_",
        "uniform",
        "uniform_",
        "randn",
        "rand",
        "randperm",
        "randint",
        "multinomial",
        "exponential_",
        "log_normal_",
        "geometric_",
        "cauchy_",
        "random_",
        "rand_like",
        "randn_like",
        "randint_like",
        "poisson",
        "rrelu_with_noise",
    ]
)
"""Each device has its own generator: the same seed gives other numbers on it (PyTorch's notes on reproducibility)."""

UNORDERED = frozenset(
    [
        "index_add",
        "index_add_",
        "scatter_add",
        "scatter_add_",
        "scatter_reduce",
        "scatter_reduce_",
        "embedding_dense_backward",
        "bincount",
        "histc",
        "upsample_bilinear2d_backward",
        "upsample_bicubic2d_backward",
        "upsample_linear1d_backward",
        "upsample_trilinear3d_backward",
        "_adaptive_avg_pool2d_backward",
        "adaptive_max_pool2d_backward",
        "reflection_pad2d_backward",
        "replication_pad2d_backward",
        "_ctc_loss_backward",
        "grid_sampler_2d_backward",
    ]
)
"""Sums into shared places, whose order may differ from run to run (from PyTorch's list of deterministic algorithms)."""

CONVOLUTIONS = frozenset(
    ["convolution", "convolution_overrideable", "convolution_backward", "npu_conv2d", "npu_conv3d"]
)
PRODUCTS = frozenset(["mm", "addmm", "bmm", "baddbmm", "matmul", "linear", "npu_linear", "npu_bmmV2"])


def judge(calls: Calls, into: Findings, several: bool) -> None:
    """Adds the operators of the run that are on the lists; ``several``: the program made more than one step."""
    for (op, signature, where), tally in calls.tallies.items():
        if signature == "cpu" or not hasattr(op, "_name"):
            continue
        if several and tally.before == tally.count:
            where = where._replace(phase=BEFORE)
        count = tally.count
        name = op._name.split("::")[1].split(".")[0]
        if name in RANDOM:
            into.add(key("numerics", "random", op._name, where, "list"), count)
        elif name in UNORDERED and not torch.are_deterministic_algorithms_enabled():
            into.add(key("numerics", "unordered", op._name, where, "list"), count)
        elif any(one[0] is torch.float32 for one in signature if isinstance(one, tuple)) and _hf32(name):
            into.add(key("numerics", "hf32", op._name, where), count)


def _hf32(name: str) -> bool:
    npu: Any = getattr(torch, "npu", None)
    part = "conv" if name in CONVOLUTIONS else "matmul" if name in PRODUCTS else None
    return bool(part and getattr(getattr(npu, part, None), "allow_hf32", False))
