"""Kernels of our own of many kinds, on two cores, against numpy: elementwise, reductions, softmax, norms, moves,
sorting, quantization, matrices, attention. One library, one process.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ophook_npu.kernel import Entry
from ophook_npu.kernel.memory import Block
from ophook_npu.kernel.source import INPUT, OUTPUT, Argument, Settings

SOURCE = Path(__file__).parent / "own_kernels.cpp"
CORES, ROWS, WIDTH = 2, 6, 256
RANDOM = np.random.default_rng(11)
A, B = ((RANDOM.standard_normal((ROWS, WIDTH)) * 2).astype(np.float32) for _ in range(2))
Array = np.ndarray[Any, Any]


def half(x: Array) -> Array:
    return x.astype(np.float16)


def bfloat16(x: Array) -> Array:
    bits = x.view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16 << 16).astype(np.uint32).view(np.float32)


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def largest_and_place(a: Array, b: Array) -> Array:
    return np.stack([a.max(1), a.argmax(1).astype(np.uint32).view(np.float32)], 1)


def quantized(a: Array, b: Array) -> Array:
    scale = np.abs(a).max(1, keepdims=True) / np.float32(127)
    return np.rint(half(a * (1 / scale))).astype(np.float32) * scale


def normalized(a: Array, b: Array) -> Array:
    return (a - a.mean(1, keepdims=True)) / np.sqrt(a.var(1, keepdims=True) + 1e-5) * b


def scattered(a: Array, b: Array) -> Array:
    r = np.zeros_like(a)
    r[:, np.arange(64) * 37 % WIDTH] = a[:, :64]
    return r


def three_taps(a: Array, b: Array) -> Array:
    padded = np.pad(a, ((0, 0), (1, 1)), mode="edge")
    return 0.25 * padded[:, :-2] + 0.5 * a + 0.25 * padded[:, 2:]


def square(x: Array) -> Array:
    return x.reshape(-1, 16, 16)


def gelu(x: Array) -> Array:
    return x / (1 + np.exp(-1.5957691216 * (x + 0.044715 * x**3)))


def softmax_gradient(a: Array, b: Array) -> Array:
    x, y = a.reshape(ROWS, 4, 64), b.reshape(ROWS, 4, 64)
    return (x - (x * y).sum(-1, keepdims=True)) * y


def attended(a: Array, b: Array) -> Array:
    return softmax(square(a) @ square(b).transpose(0, 2, 1) * 0.25) @ square(a)


# What each kernel computes; what is narrower than a row has zeros after it.
KERNELS: dict[str, Callable[[Array, Array], Array]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / (b + 10),
    "maximum": np.maximum,
    "minimum": np.minimum,
    "axpy": lambda a, b: b + 2 * a,
    "affine": lambda a, b: 3 * a - 1,
    "absolute": lambda a, b: np.abs(a),
    "exponential": lambda a, b: np.exp(a),
    "log1p_abs": lambda a, b: np.log1p(np.abs(a)),
    "root": lambda a, b: np.sqrt(np.abs(a)),
    "inverse_root": lambda a, b: 1 / np.sqrt(np.abs(a) + 1),
    "reciprocal": lambda a, b: 1 / (a * a + 1),
    "relu": lambda a, b: np.maximum(a, 0),
    "leaky_relu": lambda a, b: np.where(a >= 0, a, np.float32(0.1) * a),
    "clamp": lambda a, b: np.clip(a, -1, 1),
    "silu": lambda a, b: a / (1 + np.exp(-a)),
    "gelu": lambda a, b: gelu(a),
    "softplus": lambda a, b: np.log1p(np.exp(a)),
    "hardswish": lambda a, b: a * np.clip(a + 3, 0, 6) / 6,
    "tanh_of": lambda a, b: np.tanh(a),
    "sigmoid_of": lambda a, b: 1 / (1 + np.exp(-a)),
    "error_function": lambda a, b: np.vectorize(math.erf)(a),
    "squared_by_power": lambda a, b: a * a,
    "floor_of": lambda a, b: np.floor(a),
    "masked": lambda a, b: np.where(np.arange(WIDTH) % 64 < 32, 2 * a, 0),
    "greater_of_two": np.maximum,
    "only_positive": lambda a, b: np.where(a >= 0, a, -5),
    "add_in_half": lambda a, b: half(a) + half(b),
    "through_bfloat16": lambda a, b: bfloat16(a),
    "integers": lambda a, b: np.trunc(a * 100).astype(np.int32) >> 2,
    "dequantize": lambda a, b: half(np.trunc(a * 100) / 4),
    "low_bits": lambda a, b: np.rint(half(a * 100)).astype(np.int16) & 15,
    "quantize": quantized,
    "row_sum": lambda a, b: a.sum(1, keepdims=True),
    "row_max_and_place": largest_and_place,
    "row_min": lambda a, b: a.min(1, keepdims=True),
    "sums_of_eight": lambda a, b: a.reshape(ROWS, 32, 8).sum(2),
    "sums_of_64": lambda a, b: a.reshape(ROWS, 4, 64).sum(2),
    "mean_and_variance": lambda a, b: np.repeat(np.stack([a.mean(1), a.var(1)], 1), 8, 1),
    "softmax": lambda a, b: softmax(a),
    "log_softmax": lambda a, b: np.log(softmax(a.astype(np.float64))),
    "layer_norm": normalized,
    "rms_norm": lambda a, b: a / np.sqrt((a * a).mean(1, keepdims=True)) * b,
    "reversed": lambda a, b: a[:, ::-1],
    "rolled": lambda a, b: np.roll(a, -3, 1),
    "even_elements": lambda a, b: a[:, ::2],
    "each_eight_times": lambda a, b: np.repeat(a[:, :32], 8, 1),
    "transpose": lambda a, b: square(half(a)).transpose(0, 2, 1),
    "scatter": scattered,
    "running_sum": lambda a, b: np.cumsum(a, 1),
    "three_taps": three_taps,
    "sorted": lambda a, b: -np.sort(-a, 1),
    "eight_largest_places": lambda a, b: np.argsort(-a, 1, kind="stable")[:, :8],
    "matmul": lambda a, b: square(a) @ square(b),
    "attention": attended,
    "gelu_of": lambda a, b: gelu(a),
    "faster_gelu_of": lambda a, b: a / (1 + np.exp(-1.702 * a)),
    "gated_gelu": lambda a, b: a * gelu(b),
    "gated_relu": lambda a, b: a * np.maximum(b, 0),
    "gated_swish": lambda a, b: a * b / (1 + np.exp(-2 * b)),
    "swish_of": lambda a, b: a / (1 + np.exp(-2 * a)),
    "exponential_of": lambda a, b: np.exp(a),
    "at_most": lambda a, b: np.minimum(a, 0.5),
    "powers": lambda a, b: np.abs(a) ** 3,
    "cumulated": lambda a, b: np.cumsum(a.reshape(ROWS, 4, 64), 1),
    "columns_broadcast": lambda a, b: np.repeat(a[:, :16], 16, 1),
    "padded": lambda a, b: np.pad(a[:, :240].reshape(ROWS, 16, 15), ((0, 0), (0, 0), (0, 1)), constant_values=7),
    "unpadded": lambda a, b: square(a)[:, :, :15],
    "gradient_of_softmax": softmax_gradient,
    "dropped": lambda a, b: np.where(np.arange(WIDTH) % 2, 0, 2 * a),
    "chosen_by_bytes": lambda a, b: np.where(np.arange(WIDTH) % 2, a, -5),
    "blocks_backwards": lambda a, b: a.reshape(ROWS, 32, 8)[:, ::-1],
    "sum_from_the_register": lambda a, b: np.repeat(a.sum(1, keepdims=True), 8, 1),
    "sums_of_even_lanes": lambda a, b: a.reshape(ROWS, 4, 32, 2)[..., 0].sum(2),
    "sums_in_counter_mode": lambda a, b: (
        a[:, :-32].reshape(ROWS, 7, 32).sum(2).reshape(ROWS, 7)[:, [0, 2, 4, 6]]
        + np.pad(a[:, :-32].reshape(ROWS, 7, 32).sum(2)[:, [1, 3, 5]], ((0, 0), (0, 1)))
    ),
}


@pytest.mark.parametrize("name", KERNELS)
def test_equals_the_reference(name: str) -> None:
    wanted = np.asarray(KERNELS[name](A, B), np.float32).reshape(ROWS, -1)
    wanted = np.pad(wanted, ((0, 0), (0, WIDTH - wanted.shape[1])))
    result = Block((ROWS, WIDTH), 0)
    arguments = [
        Argument("x", Block.of(A, name), INPUT), Argument("y", Block.of(B, name), INPUT),
        Argument("z", result, OUTPUT),
    ]  # fmt: skip
    report = Entry(SOURCE, name=name).run(arguments, CORES, settings=Settings(on_wait=True))
    assert not report.findings, [str(f) for f in report.findings]
    if name == "row_max_and_place":  # a place is a whole number in a float's bits
        assert np.array_equal(result.array(False).view(np.uint32)[:, 1], A.argmax(1))
    assert np.allclose(result.array(False), wanted, rtol=2e-4, atol=2e-4)


def test_all_of_them_are_here() -> None:
    assert re.findall(r"^KERNEL\((\w+),", SOURCE.read_text(), re.MULTILINE) == list(KERNELS)
    assert len(KERNELS) >= 40
