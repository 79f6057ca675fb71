"""Adapters (LoRA): x times one of several matrices, chosen by token or by sequence."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from published.case import SGL, VLLM, Case, Maker

BATCH, RANK, HIDDEN, OUT, ADAPTERS = 7, 16, 512, 1024, 3
LENGTHS = (3, 1, 3)  # of the sequences; tokens of one use one adapter


def _data() -> tuple[np.ndarray, ...]:
    random = np.random.default_rng(3)
    x = random.standard_normal((BATCH, HIDDEN)).astype(np.float16)
    shrink = (random.standard_normal((ADAPTERS, RANK, HIDDEN)) / 16).astype(np.float16)
    lora = random.standard_normal((BATCH, RANK)).astype(np.float32)
    expand = (random.standard_normal((ADAPTERS, OUT, RANK)) / 4).astype(np.float16)
    y = random.standard_normal((BATCH, OUT)).astype(np.float16)
    return x, shrink, lora, expand, y


def _adapter(by_sequence: bool) -> np.ndarray:
    """Of each token; -1: none."""
    if by_sequence:
        return np.repeat(np.array([2, 0, 1]), LENGTHS)
    return np.array([0, 1, 2, 2, 0, 1, 0])


def _shrunk(which: np.ndarray, scale: float) -> np.ndarray:
    x, weights, *_ = _data()
    wide = weights.astype(np.float32)
    return np.stack([wide[a] @ token for a, token in zip(which, x.astype(np.float32), strict=True)]) * np.float32(scale)


def _expanded(which: np.ndarray) -> np.ndarray:
    *_, lora, weights, y = _data()
    wide = weights.astype(np.float32)
    sums = [wide[a] @ token for a, token in zip(which, lora, strict=True)]
    return (y.astype(np.float32) + np.stack(sums)).astype(np.float16)


def _indices(case: Case, by_sequence: bool, dtype: type) -> Case:
    if not by_sequence:
        return case.input("indices", _adapter(False).astype(dtype)).value(BATCH)
    case.input("loraIndices", np.array([2, 0, 1], dtype)).value(len(LENGTHS))
    return case.input("seqLen", np.array(LENGTHS, dtype)).value(len(LENGTHS))


def _shrink(repository: str, source: str, name: str, by_sequence: bool) -> Case:
    x, weights, *_ = _data()
    case = Case(repository, source, name, 4, "float16, rank 16, 7 tokens on 4 cores")
    case.input("x", x).input("weight", weights)
    _indices(case, by_sequence, np.int64).output("y", _shrunk(_adapter(by_sequence), 0.5))
    return case.value(BATCH, 2, HIDDEN, RANK).real(0.5)


def _expand(repository: str, source: str, name: str, by_sequence: bool) -> Case:
    *_, lora, weights, y = _data()
    case = Case(repository, source, name, 4, "float16, rank 16, 7 tokens on 4 cores")
    case.input("x", lora).input("weight", weights)
    _indices(case, by_sequence, np.int64)
    case.input("yIn", y).output("yOut", _expanded(_adapter(by_sequence)))
    return case.value(BATCH, 2, RANK, OUT, 0, OUT)


def _sgemmv_shrink() -> Case:
    x, weights, *_ = _data()
    case = Case(
        SGL,
        "csrc/lora/op_kernel/sgemmv_shrink_kernel.cpp",
        "sgemmv_shrink_half",
        4,
        "float16, rank 16, 7 tokens on 4 cores",
    )
    case.input("x", x).input("weight", weights)
    _indices(case, True, np.int32)
    case.input("loraRanks", np.full(ADAPTERS, RANK, np.int32)).value(ADAPTERS)
    case.input("loraScales", np.full(ADAPTERS, 0.5, np.float16)).value(ADAPTERS)
    return case.output("y", _shrunk(_adapter(True), 0.5)).value(BATCH, 2, HIDDEN, RANK)


def _sgemmv_expand() -> Case:
    *_, lora, weights, y = _data()
    offsets = np.array([0, OUT // 4, OUT], np.int32)
    case = Case(
        SGL,
        "csrc/lora/op_kernel/sgemmv_expand_kernel.cpp",
        "sgemmv_expand_half",
        8,
        "float16, rank 16, two slices, 8 cores",
    )
    case.input("x", np.concatenate([lora, lora], 1)).input("weight", weights)
    _indices(case, True, np.int32)
    case.input("loraRanks", np.full(ADAPTERS, RANK, np.int32)).value(ADAPTERS)
    case.input("sliceOffsets", offsets).value(len(offsets))
    case.input("yIn", y).output("yOut", _expanded(_adapter(True)))
    return case.value(BATCH, 2, RANK, OUT)


def cases() -> Iterator[Maker]:
    for repository, place, end in ((SGL, "csrc/lora/op_kernel", "_kernel.cpp"), (VLLM, "csrc/kernels", ".cpp")):
        for kind, by_sequence in (("bgmv", False), ("sgmv", True)):
            for make, step in ((_shrink, "shrink"), (_expand, "expand")):
                source, name = f"{place}/{kind}_{step}{end}", f"{kind}_{step}_half"
                yield partial(make, repository, source, name, by_sequence)
    yield _sgemmv_shrink
    yield _sgemmv_expand
