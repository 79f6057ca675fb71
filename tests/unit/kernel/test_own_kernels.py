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


def picked_by_bits(a: Array, b: Array) -> Array:
    ends = np.arange(WIDTH) % 4 % 3 == 0  # 0b1001; the second pattern is 0b0001
    r = np.zeros_like(a)
    r[:, : WIDTH // 2] = a[:, ends]
    r[:, WIDTH // 2 :][:, :48] = np.concatenate([a[:, :64][:, ends[:64]], a[:, 64:128:4]], 1)
    return r


def masks_in_counter_mode(a: Array, b: Array) -> Array:
    r = np.zeros_like(a)
    r[:, :70] = a[:, :70] + 1
    r[:, 128:].reshape(ROWS, -1, 16)[:, :2, :8] = 2 * a[:, :16].reshape(ROWS, 2, 8)
    r[:, 160:164] = 2 * a[:, 16:20]
    return r


def masks_from_outside(a: Array, b: Array) -> Array:
    r = np.zeros_like(a)
    r[:, :100] = a[:, :100] + 1
    r[:, 132:136] = 2 * a[:, 4:8]
    return r


def masks_from_calls(a: Array, b: Array) -> Array:
    r = np.zeros_like(a)
    r[:, :8] = a[:, :8] + 1
    r[:, 64:192].reshape(ROWS, 2, 64)[..., :8] = 2 * a[:, :128].reshape(ROWS, 2, 64)[..., :8]
    r[:, 192:] = 2 * a[:, :64]  # the call for the first elements has ended counter mode
    return r


def copies_in_counter_mode(a: Array, b: Array) -> Array:
    r = np.zeros_like(a)
    r[:, :72], r[:, 128:200] = a[:, :72], a[:, 80:152]
    return r


def bits_of_32(a: Array, b: Array) -> Array:
    whole = np.trunc(a).astype(np.int32)
    return np.concatenate([whole[:, :64] & 3, whole[:, 64:128], whole[:, 128:] | 3], 1)  # 128 lanes of 16 bits are 64


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


def in_bytes(x: Array, scale: Array | float, offset: Array | float) -> Array:
    steps = half(half(half(x) * np.float16(scale)) + np.float16(offset))
    return np.clip(np.rint(steps.astype(np.float32)), -128, 127)


def four_rows(x: Array) -> Array:
    return x.reshape(ROWS, 4, 64)


def scaled(x: Array, axes: int | tuple[int, ...] = -1) -> Array:
    """By mean and variance over these axes."""
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5)


def affine(x: Array, b: Array) -> Array:
    return x * b[:, None, :64] + b[:, None, 64:128]


def by_channel(x: Array, b: Array) -> Array:
    return x * b[:, :4, None] + b[:, 8:12, None]


def used(x: Array, columns: int) -> Array:
    return np.where(np.arange(64) < columns, x, 0)


def gradient_of_layer_norm(a: Array, b: Array) -> Array:
    factor, off, inner = (2 + 1e-5) ** -0.5, four_rows(b) - 0.25, four_rows(a) * b[:, None, :64]
    variance = (-0.5 * inner * off * factor**3).sum(-1, keepdims=True)
    mean = (-inner * factor).sum(-1, keepdims=True) + variance / 64 * (-2 * off).sum(-1, keepdims=True)
    return inner * factor + variance * 2 / 64 * off + mean / 64


def moments_in_pieces(a: Array, b: Array) -> Array:
    out = np.zeros((ROWS, 9))
    out[:, 0], out[:, 8] = a[:, :128].mean(1), a[:, :128].var(1)
    return out


def softmax_shifted_by_means(a: Array, b: Array) -> Array:
    x = half(np.concatenate([a, b], 1)).astype(np.float64).reshape(ROWS, 8, 64)
    x = x - (x.mean((1, 2), keepdims=True) - x.mean(2, keepdims=True)) * 15  # 0.9375 / (1 - 0.9375)
    return half(np.exp(x - x.max((1, 2), keepdims=True)).reshape(ROWS, 512)[:, :WIDTH])


def softmax_in_parts_packed(a: Array, b: Array) -> Array:
    first, second = four_rows(a), four_rows(b)
    before, part = first.max(-1), second.max(-1)
    most = np.maximum(before, part)
    factor, values = np.exp(before - most), np.exp(second - most[..., None])
    total = factor * np.exp(first - before[..., None]).sum(-1) + values.sum(-1)
    out = np.zeros((ROWS, WIDTH))
    for i, each in enumerate((total, most, factor, part)):
        out[:, 8 * i : 8 * i + 4] = each
    out[:, 64:] = values[:, :3].reshape(ROWS, 192)
    return out


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
    "mask_of_a_tail": lambda a, b: np.maximum(a[:, :37], 0),
    "sums_two_by_two": lambda a, b: np.full((ROWS, 1), WIDTH - 4),
    "half_sums_two_by_two": lambda a, b: np.full((ROWS, 1), 2174),
    "mean_and_variance": lambda a, b: np.repeat(np.stack([a.mean(1), a.var(1)], 1), 8, 1),
    "softmax": lambda a, b: softmax(a),
    "log_softmax": lambda a, b: np.log(softmax(a.astype(np.float64))),
    "layer_norm": normalized,
    "rms_norm": lambda a, b: a / np.sqrt((a * a).mean(1, keepdims=True)) * b,
    "reversed": lambda a, b: a[:, ::-1],
    "rolled": lambda a, b: np.roll(a, -3, 1),
    "even_elements": lambda a, b: a[:, ::2],
    "picked_by_bits": picked_by_bits,
    "sign_bits": lambda a, b: (np.floor(a) < 0).astype(np.float32),
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
    "sum_from_the_register": lambda a, b: np.repeat(a.sum(1, keepdims=True), 16, 1),
    "greatest_from_the_register": lambda a, b: np.repeat(np.stack([a.max(1), a.argmax(1), a.min(1)], 1), 8, 1),
    "sums_of_even_lanes": lambda a, b: a.reshape(ROWS, 4, 32, 2)[..., 0].sum(2),
    "sums_of_few_lanes": lambda a, b: np.pad(
        np.stack([a.reshape(ROWS, 4, 64)[:, :2, lanes].sum(2) for lanes in (slice(40), slice(4, 8))], 1),
        ((0, 0), (0, 0), (0, 6)),
    ).reshape(ROWS, 16),
    "sums_in_counter_mode": lambda a, b: (
        a[:, :-32].reshape(ROWS, 7, 32).sum(2).reshape(ROWS, 7)[:, [0, 2, 4, 6]]
        + np.pad(a[:, :-32].reshape(ROWS, 7, 32).sum(2)[:, [1, 3, 5]], ((0, 0), (0, 1)))
    ),
    "masks_in_counter_mode": masks_in_counter_mode,
    "masks_from_outside": masks_from_outside,
    "masks_from_calls": masks_from_calls,
    "copies_in_counter_mode": copies_in_counter_mode,
    "gather_mask_ends_counting": lambda a, b: np.concatenate([a[:, :64:2], np.zeros((ROWS, 32)), a[:, :64] + 1], 1),
    "sum_of_a_mask_from_outside": lambda a, b: np.where(
        np.isin(np.arange(16), range(1, 8)), 0, a[:, :70].sum(1, keepdims=True)
    ),
    "chosen_by_an_address": np.minimum,
    "chosen_as_before": lambda a, b: np.tile(np.where(np.arange(64) % 16 < 8, a[:, :64], b[:, :64]), 2),
    "fractals_from_rows": lambda a, b: (
        np.where(np.arange(16) < 12, square(a), 0).reshape(ROWS, 16, 2, 8).transpose(0, 2, 1, 3)
    ),
    "gather_in_place": lambda a, b: a[:, 63::-1],
    "transpose_in_place": lambda a, b: square(half(a)).transpose(0, 2, 1),
    "bits_of_32": bits_of_32,
    "quantized_by_one": lambda a, b: in_bytes(a, 10, 0.5),
    "quantized_by_channel": lambda a, b: in_bytes(a, np.tile(b[:, :32], 8), np.tile(b[:, 32:64], 8)),
    "dequantized": lambda a, b: (
        np.trunc(a).reshape(ROWS, 8, 32) * np.pad(b[:, None, :16], ((0, 0), (0, 0), (0, 16)), constant_values=1)
    ),
    "antiquantized": lambda a, b: half(
        half(in_bytes(a, 10, 0) + half(np.tile(b[:, 32:64], 8))) * half(np.tile(b[:, :32], 8))
    ),
    "four_bits": lambda a, b: np.clip(np.rint(half(a)), -8, 7),
    "rows_normalized": lambda a, b: used(
        affine(np.pad(scaled(four_rows(a)[..., :60]), ((0, 0), (0, 0), (0, 4))), b), 60
    ),
    "with_given_moments": lambda a, b: affine((four_rows(a) - 0.5) / np.sqrt(2 + 1e-5), b),
    "deep_norm": lambda a, b: scaled(2 * four_rows(a) + four_rows(b)) * b[:, None, 64:128] + b[:, None, :64],
    "gradient_of_layer_norm": gradient_of_layer_norm,
    "gradients_of_gamma_and_beta": lambda a, b: np.concatenate(
        [(four_rows(a) * four_rows(b)).sum(1), four_rows(b).sum(1)], 1
    ),
    "batch_norm": lambda a, b: by_channel(scaled(four_rows(a), 1), b),
    "group_norm": lambda a, b: used(
        np.pad(
            by_channel(scaled(four_rows(a)[..., :60].reshape(ROWS, 2, 2, 60), (2, 3)).reshape(ROWS, 4, 60), b),
            ((0, 0), (0, 0), (0, 4)),
        ),
        60,
    ),
    "moments_in_pieces": moments_in_pieces,
    "chosen_by_masks_of_bytes": lambda a, b: np.where((a > 0) | (b < 0.5), np.where((a > 0) & (b < 0.5), a, 2), -2),
    "low_bytes_of_pairs": lambda a, b: np.trunc(half(np.abs(a) * 20))[:, :16:2],
    "softmax_shifted_by_means": softmax_shifted_by_means,
    "softmax_in_parts_packed": softmax_in_parts_packed,
    "fractals_to_rows": lambda a, b: np.stack([square(half(a)), square(half(b))], 2)[:, :8],
    "fractals_merged": lambda a, b: np.concatenate([square(half(a)), square(half(b))], 2)[:, :8],
    "channels_last": lambda a, b: square(half(a)).transpose(0, 2, 1),
    "chosen_by_one_repeat": lambda a, b: np.where(np.arange(WIDTH) % 16 < 8, a, b),
    "compared_in_the_register": lambda a, b: np.maximum(a, b)[:, :64],
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
    pattern = r'^(?:KERNEL\(|extern "C" __global__ __aicore__ void )(\w+)'
    assert re.findall(pattern, SOURCE.read_text(), re.MULTILINE) == list(KERNELS)
    assert len(KERNELS) >= 40
