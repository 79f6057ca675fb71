"""Functions of each element and reductions of Ascend C: each with each data type of its page, against NumPy.

One program a product is made from the table: a call stands beside what it is to give.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
import torch

Array = npt.NDArray[np.generic]
Function = Callable[..., object]

COUNT, ROOM, ROWS = 256, 2048, (4, 64)  # elements of an operand, the bytes that it has, its shape for reductions
TYPES: dict[str, npt.DTypeLike] = {
    "bool": np.bool_, "int8_t": np.int8, "uint8_t": np.uint8, "int16_t": np.int16, "uint16_t": np.uint16,
    "int32_t": np.int32, "uint32_t": np.uint32, "int64_t": np.int64, "uint64_t": np.uint64, "half": np.float16,
    "bfloat16_t": ml_dtypes.bfloat16, "float": np.float32,
}  # fmt: skip
REALS, BRAIN = ("half", "float"), ("half", "float", "bfloat16_t")
WHOLES = tuple(name for name in TYPES if "int" in name)
ALL = (*WHOLES, *BRAIN)
# A result that is computed in float and rounded once may differ from the exact one by so much of itself.
BOUND = {"half": 1e-3, "bfloat16_t": 8e-3, "float": 1e-5}


@dataclass(frozen=True)
class Case:
    """``call``: of the tensors y, which is the result, and z, another, and of the operands a, b and c of a type."""

    call: str
    dtype: str
    result: str
    wanted: Function
    setup: str = ""  # of a constant


def _operands() -> dict[str, tuple[Array, Array, Array]]:
    """By data type: numbers of both signs, zeros, nan and infinities; others; powers' exponents and shifts."""
    rng = np.random.default_rng(7)
    made: dict[str, tuple[Array, Array, Array]] = {}
    for name, dtype in TYPES.items():
        if name in BRAIN:
            a = rng.normal(size=COUNT) * 4
            a[:6] = [0, np.nan, np.inf, -np.inf, -0.0, 1]
            made[name] = (
                a.astype(dtype),
                (rng.random(COUNT) + 0.5).astype(dtype),
                (rng.normal(size=COUNT)).astype(dtype),
            )
        elif name == "bool":
            made[name] = tuple(rng.integers(0, 2, COUNT).astype(bool) for _ in range(3))  # type: ignore[assignment]
        else:
            info = np.iinfo(dtype)  # type: ignore[arg-type]
            a = rng.integers(info.min, info.max, COUNT, dtype=dtype, endpoint=True)  # type: ignore[call-overload]
            b = rng.integers(info.min, info.max, COUNT, dtype=dtype, endpoint=True)  # type: ignore[call-overload]
            a[:4] = [0, info.min, info.max, 1]
            made[name] = (a, b, rng.integers(0, 5, COUNT).astype(dtype))
    flags = rng.integers(0, 2, ROWS)
    flags[0], flags[1] = 1, 0
    for name in ("uint8_t", "float"):
        made[f"{name} of flags"] = (flags.ravel().astype(TYPES[name]),) * 3
    return made


OPERANDS = _operands()


def _shifted(a: Array, by: Array) -> Array:
    """To the left; what is below 0 to the right. Python's numbers have all bits."""
    bits = a.dtype.itemsize * 8
    whole = [int(x) << int(n) if n > 0 else int(x) >> -int(n) for x, n in zip(a, by, strict=True)]
    return np.array([x & (1 << bits) - 1 for x in whole], f"u{a.dtype.itemsize}").view(a.dtype)


def _clamped(a: Array, least: object, most: object) -> Array:
    return np.where(a == a, np.minimum(np.maximum(a, least), most), a)  # type: ignore[call-overload,no-any-return]


def _newer() -> Iterator[Case]:
    for t in ALL:
        truth = "bool"
        yield Case("LogicalAnd(y, a, b, n)", t, truth, lambda a, b, c: (a != 0) & (b != 0))
        yield Case("LogicalOr(y, a, c, n)", t, truth, lambda a, b, c: (a != 0) | (c != 0))
        yield Case("LogicalXor(y, a, c, n)", t, truth, lambda a, b, c: (a != 0) ^ (c != 0))
        yield Case("LogicalNot(y, a, n)", t, truth, lambda a, b, c: a == 0)
        yield Case("LogicalAnds(y, a, T(2), n)", t, truth, lambda a, b, c: a != 0)
        yield Case(
            "LogicalOrs<left>(y, a, c, n)",
            t,
            truth,
            lambda a, b, c: (a[0] != 0) | (c != 0),
            "LogicalOrsConfig left{false, 0}",
        )
        both = lambda a, b: np.stack([a, b], 1).ravel()  # noqa: E731
        yield Case("Interleave(y, z, a, b, n)", t, t, lambda a, b, c, both=both: both(a, b)[:COUNT])
        yield Case("Interleave(z, y, a, b, n)", t, t, lambda a, b, c, both=both: both(a, b)[COUNT:])
        yield Case("DeInterleave(z, y, a, b, n)", t, t, lambda a, b, c: np.concatenate([a, b])[1::2])
        yield Case("DeInterleave(y, z, a, 64)", t, t, lambda a, b, c: a[:64:2])
        yield Case("Copy(y, a, n)", t, t, lambda a, b, c: a)
        yield Case("Clamp(y, a, T(1), b, n)", t, t, lambda a, b, c: _clamped(a, a.dtype.type(1), b))
        yield Case("Clamp(y, a, b, T(1), n)", t, t, lambda a, b, c: _clamped(a, b, a.dtype.type(1)))
    for t in ("bool", *ALL):
        yield Case(
            "Where(y, a, T(1), flags, n)", t, t, lambda a, b, c: np.where(OPERANDS["bool"][0], a, a.dtype.type(1))
        )
        yield Case("Where(y, a, b, flags, n)", t, t, lambda a, b, c: np.where(OPERANDS["bool"][0], a, b))
    for t in WHOLES:
        for name, function in (("And", np.bitwise_and), ("Or", np.bitwise_or), ("Xor", np.bitwise_xor)):
            yield Case(f"Bitwise{name}(y, a, b, n)", t, t, lambda a, b, c, function=function: function(a, b))
        yield Case("BitwiseNot(y, a, n)", t, t, lambda a, b, c: ~a)
        yield Case("ShiftLeft(y, a, by, n)", t, t, lambda a, b, c: _shifted(a, OPERANDS["int8_t"][0]))
        yield Case(
            "ShiftRight(y, a, by, n)", t, t, lambda a, b, c: _shifted(a, -OPERANDS["int8_t"][0].astype(np.int64))
        )
    for t in ("int32_t", "uint32_t"):
        yield Case("Mull(y, z, a, b, n)", t, t, lambda a, b, c: a * b)
        yield Case(
            "Mull(z, y, a, b, n)",
            t,
            t,
            lambda a, b, c: (a.astype(np.int64 if a.dtype.kind == "i" else np.uint64) * b) >> 32,
        )
    for t in BRAIN:
        yield Case("IsFinite(y, a, n)", t, "bool", lambda a, b, c: np.isfinite(a))
        yield Case("IsFinite(y, a, n)", t, t, lambda a, b, c: np.isfinite(a))
        for mode, function in (("RINT", np.rint), ("FLOOR", np.floor), ("CEIL", np.ceil), ("TRUNC", np.trunc)):
            yield Case(f"Truncate<T, RoundMode::CAST_{mode}>(y, a, n)", t, t, lambda a, b, c, f=function: f(a))
        for call in ("Hypot(y, a, b, tmp, n)", "Hypot(y, a, b)"):
            yield Case(call, t, t, lambda a, b, c: np.hypot(a, b))
    for t in REALS:
        for tmp in ("", "tmp, "):
            yield Case(f"IsInf(y, a, {tmp}n)", t, "bool", lambda a, b, c: np.isinf(a))
            yield Case(f"IsNan(y, a, {tmp}n)", t, t, lambda a, b, c: np.isnan(a))
            yield Case(f"Rint(y, a, {tmp}n)", t, t, lambda a, b, c: np.rint(a))
            yield Case(f"Fma(y, a, b, c, {tmp}n)", t, t, lambda a, b, c: a.astype(np.float64) * b + c)
            yield Case(f"SinCos(y, z, b, {tmp}n)", t, t, lambda a, b, c: np.sin(b.astype(np.float64)))
            yield Case(f"SinCos(z, y, b, {tmp}n)", t, t, lambda a, b, c: np.cos(b.astype(np.float64)))
        yield Case("Prelu(y, a, b, n)", t, t, lambda a, b, c: np.where(a >= 0, a, a * b))
        yield Case("AbsSub(y, a, b, n)", t, t, lambda a, b, c: np.abs(a - b))
        yield Case("ExpSub(y, c, b, n)", t, "float", lambda a, b, c: np.exp(c.astype(np.float64) - b))
    for t in ("int8_t", "int16_t", "half", "int32_t", "float", "int64_t"):
        yield Case("Neg(y, a, n)", t, t, lambda a, b, c: -a)
    yield from _sorts()
    yield from _scalars()
    yield from _algorithms()
    for t in WHOLES:
        yield Case("ReduceMax<T, Pattern::Reduce::AR>(y, a, rows, true)", t, t, lambda a, b, c: a.reshape(ROWS).max(1))
        yield Case(
            "ReduceMin<T, Pattern::Reduce::RA>(y, a, tmp, rows, true)", t, t, lambda a, b, c: a.reshape(ROWS).min(0)
        )
    for t in ("int32_t", "uint32_t", "int64_t", "uint64_t"):
        yield Case(
            "ReduceSum<T, Pattern::Reduce::RA>(y, a, rows, true)",
            t,
            t,
            lambda a, b, c: a.reshape(ROWS).sum(0, dtype=a.dtype),
        )
    yield Case(
        "ReduceMax<T, Pattern::Reduce::RA>(y, b, rows, true)",
        "bfloat16_t",
        "bfloat16_t",
        lambda a, b, c: b.reshape(ROWS).max(0),
    )


def _scalars() -> Iterator[Case]:
    """A scalar on either side: a value, an element of a tensor."""
    left = "BinaryConfig left{0}"
    operations: dict[str, tuple[tuple[str, ...], Function]] = {
        "Adds": (
            ("half", "bfloat16_t", "int16_t", "float", "int32_t", "uint8_t", "int8_t", "uint64_t", "int64_t"),
            lambda a, b: a + b,
        ),
        "Subs": (("half", "bfloat16_t", "int16_t", "float", "int32_t", "uint64_t", "int64_t"), lambda a, b: a - b),
        "Muls": (("half", "bfloat16_t", "int16_t", "float", "int32_t", "uint64_t", "int64_t"), lambda a, b: a * b),
        "Maxs": (
            ("half", "bfloat16_t", "int16_t", "float", "int32_t", "uint8_t", "int8_t", "uint64_t", "int64_t"),
            np.maximum,
        ),
        "Mins": (
            ("half", "bfloat16_t", "int16_t", "float", "int32_t", "uint8_t", "int8_t", "uint64_t", "int64_t"),
            np.minimum,
        ),
        "Divs": (REALS, lambda a, b: a / b),
        "Ands": (("int16_t", "uint16_t", "int64_t", "uint64_t"), np.bitwise_and),
        "Ors": (("int16_t", "uint16_t", "int64_t", "uint64_t"), np.bitwise_or),
    }
    for name, (types, function) in operations.items():
        for t in types:
            yield Case(f"{name}(y, T(3), b, n)", t, t, lambda a, b, c, f=function: f(b.dtype.type(3), b))
            yield Case(f"{name}(y, b, T(3), n)", t, t, lambda a, b, c, f=function: f(b, b.dtype.type(3)))
            yield Case(f"{name}(y, b, c[5], n)", t, t, lambda a, b, c, f=function: f(b, c[5]))
            yield Case(
                f"{name}<BinaryDefaultType, true, left>(y, c[5], b, n)",
                t,
                t,
                lambda a, b, c, f=function: f(c[5], b),
                left,
            )
    for t in ALL:
        bits = "uint8_t"
        yield Case("Compares(y, T(1), a, CMPMODE::LT, n)", t, bits, lambda a, b, c: _bits(a.dtype.type(1) < a))
        yield Case("Compares(y, a, b[3], CMPMODE::GE, n)", t, bits, lambda a, b, c: _bits(a >= b[3]))
        call = "Select<BinaryDefaultType, uint8_t, left>(y, chosen, c[5], a, SELMODE::VSEL_TENSOR_SCALAR_MODE, n)"
        yield Case(call, t, t, lambda a, b, c: np.where(_chosen(), c[5], a), left)
        call = "Select(y, chosen, T(1), a, SELMODE::VSEL_TENSOR_SCALAR_MODE, n)"
        yield Case(call, t, t, lambda a, b, c: np.where(_chosen(), a.dtype.type(1), a))
    yield Case("Subs(y, T(3), b, 16, 2, {1, 1, 8, 8})", "float", "float", lambda a, b, c: 3 - b[:16])
    yield Case("MulsCast(y, b, 1e5f, n)", "float", "half", lambda a, b, c: np.minimum(b * np.float32(1e5), 65504))


def _sorts() -> Iterator[Case]:
    down, up = "SortConfig how{SortType::RADIX_SORT, true}", "SortConfig how{SortType::MERGE_SORT, false}"
    for t in ALL:
        yield Case("Sort<T, false, how>(y, b, n)", t, t, lambda a, b, c: np.sort(b)[::-1], down)
        call = "Sort<T, false>(other, y, b, tmp, n)"
        yield Case(call, t, "uint32_t", lambda a, b, c: np.argsort(b, kind="stable"))
        call = "TopK<T, false, false, false, TopKMode::TOPK_NORMAL, how>(y, places, b, places, flags, 5, {}, info)"
        setup = "TopKConfig how{TopKAlgo::RADIX_SELECT, TopKOrder::UNSET, %s}"
        yield Case(call, t, t, lambda a, b, c: np.sort(b[:60])[:-6:-1], setup % "true")
        yield Case(
            call,
            t,
            t,
            lambda a, b, c: b[np.sort(np.argsort(-b[:60].astype(float), kind="stable")[:5])],
            setup % "false",
        )
    for t in REALS:
        yield Case("Sort<T, false, how>(y, b, n)", t, t, lambda a, b, c: np.sort(b), up)


def _algorithms() -> Iterator[Case]:
    """How a function is computed does not change what it gives."""
    for name, algorithm, types in (
        ("Sin", "RADIAN_REDUCTION", REALS), ("Cos", "RADIAN_REDUCTION", REALS),
        ("Tanh", "SUBSECTION_COMPENSATION", REALS),
        ("Erf", "SUBSECTION_POLYNOMIAL_APPROXIMATION", REALS), ("Atan", "POLYNOMIAL_APPROXIMATION", ("float",)),
    ):  # fmt: skip
        function = getattr(torch, name.lower())
        for t in types:
            setup = f"{name}Config how{{{name}Algo::{algorithm}}}"
            wanted = lambda a, b, c, f=function: f(torch.from_numpy(b.astype(np.float64))).numpy()  # noqa: E731
            yield Case(f"{name}<T, false, how>(y, b, tmp, n)", t, t, wanted, setup)
    for name, algorithm, types, function in (
        ("Exp", "PRECISION_1ULP_FTZ_FALSE", REALS, np.exp), ("Ln", "PRECISION_1ULP_FTZ_FALSE", REALS, np.log),
        ("Sqrt", "FAST_INVERSE", ("float",), np.sqrt),
        ("Rsqrt", "PRECISION_0ULP_FTZ_FALSE", ("float",), lambda x: 1 / np.sqrt(x)),
        ("Reciprocal", "PRECISION_1ULP_FTZ_TRUE", REALS, lambda x: 1 / x),
    ):  # fmt: skip
        for t in types:
            setup = f"{name}Config how{{{name}Algo::{algorithm}}}"
            yield Case(f"{name}<T, how>(y, b, n)", t, t, lambda a, b, c, f=function: f(b.astype(np.float64)), setup)
    yield Case(
        "Div<T, how>(y, c, b, n)", "float", "float", lambda a, b, c: c / b, "DivConfig how{DivAlgo::DIFF_COMPENSATION}"
    )
    yield Case(
        "Div<T, true, how>(y, c, b, 64, 4, {1, 1, 1, 8, 8, 8})",
        "float",
        "float",
        lambda a, b, c: c / b,
        "DivConfig how{DivAlgo::DIFF_COMPENSATION}",
    )
    yield Case(
        "Fmod<T, false, how>(y, c, b)",
        "float",
        "float",
        lambda a, b, c: np.fmod(c, b),
        "FmodConfig how{FmodAlgo::ITERATION_COMPENSATION, 3}",
    )
    how = "PowerConfig how{PowerAlgo::DOUBLE_FLOAT_TECH}"
    for t in BRAIN:
        yield Case(
            "Power<T, false, how>(y, b, c, tmp, n)",
            t,
            t,
            lambda a, b, c: b.astype(np.float64) ** c.astype(np.float64),
            how,
        )
        yield Case("Power<T, false, how>(y, T(2), c)", t, t, lambda a, b, c: 2 ** c.astype(np.float64), how)
    for t in ("uint8_t", "int8_t", "uint16_t", "int16_t", "uint32_t", "int32_t"):
        yield Case("Power(y, b, c, n)", t, t, lambda a, b, c: b**c)


def _both() -> Iterator[Case]:
    """What all products have."""
    for t in REALS:
        for call in ("Digamma(y, b, n)", "Digamma(y, b, tmp, n)"):
            yield Case(call, t, t, lambda a, b, c: torch.digamma(torch.from_numpy(b.astype(np.float64))).numpy())
        digamma = lambda a, b, c: torch.digamma(torch.from_numpy(c.astype(np.float64))).numpy()  # noqa: E731
        yield Case("Digamma(y, c, n)", t, t, digamma)
        yield Case("ReduceMax<T, Pattern::Reduce::RA>(y, b, rows, true)", t, t, lambda a, b, c: b.reshape(ROWS).max(0))
    yield Case(
        "ReduceProd<T, Pattern::Reduce::AR>(y, b, tmp, rows, true)",
        "float",
        "float",
        lambda a, b, c: b.reshape(ROWS).prod(1),
    )
    yield Case(
        "ReduceProd<T, Pattern::Reduce::RA>(y, b, rows, true)",
        "float",
        "float",
        lambda a, b, c: b.reshape(ROWS).prod(0),
    )
    yield Case(
        "ReduceSum<T, Pattern::Reduce::AR>(y, b, rows, true)", "float", "float", lambda a, b, c: b.reshape(ROWS).sum(1)
    )
    yield Case(
        "ReduceMean<T, Pattern::Reduce::RA>(y, b, rows, true)",
        "float",
        "float",
        lambda a, b, c: b.reshape(ROWS).mean(0),
    )
    for t in ("uint8_t", "float"):
        of_flags = f"{t} of flags"
        yield Case(
            "ReduceAny<T, Pattern::Reduce::RA>(y, a, rows, true)", of_flags, t, lambda a, b, c: a.reshape(ROWS).max(0)
        )
        yield Case(
            "ReduceAny<T, Pattern::Reduce::AR>(y, a, tmp, rows, true)",
            of_flags,
            t,
            lambda a, b, c: a.reshape(ROWS).max(1),
        )
        yield Case(
            "ReduceAll<T, Pattern::Reduce::RA>(y, a, tmp, rows, true)",
            of_flags,
            t,
            lambda a, b, c: a.reshape(ROWS).min(0),
        )
        yield Case(
            "ReduceAll<T, Pattern::Reduce::AR>(y, a, rows, true)", of_flags, t, lambda a, b, c: a.reshape(ROWS).min(1)
        )
    yield Case(
        "ReduceXorSum(y, a, b, n)",
        "int16_t",
        "int16_t",
        lambda a, b, c: np.clip((a ^ b).astype(np.int64).sum(), -32768, 32767).reshape(1),
    )
    yield Case(
        "ReduceXorSum(y, c, b, tmp, 3)",
        "int16_t",
        "int16_t",
        lambda a, b, c: np.clip((c ^ b)[:3].astype(np.int64).sum(), -32768, 32767).reshape(1),
    )


def _chosen() -> Array:
    """The first bytes of an operand, as bits of the elements."""
    return np.unpackbits(OPERANDS["uint8_t"][0], bitorder="little")[:COUNT].astype(bool)


def _bits(flags: Array) -> Array:
    return np.packbits(flags, bitorder="little")


HOST = """
#pragma GCC optimize("O0")  // it is compiled in a fifth of the time
#include <cstdio>
#include <vector>
#include "acl/acl.h"
#include "kernel_operator.h"
using namespace AscendC;
constexpr uint32_t n = %(count)d, kRoom = %(room)d;
struct Memory {
  __aicore__ Memory(GM_ADDR at, GM_ADDR to, int set) {
    x.SetGlobalBuffer(reinterpret_cast<__gm__ int16_t*>(at));
    out.SetGlobalBuffer(reinterpret_cast<__gm__ int16_t*>(to));
    for (auto& each : raw) each = all.Alloc<int16_t>(kRoom / 2);
    const int from[] = {3 * set, 3 * set + 1, 3 * set + 2, 3 * %(flags)d, 3 * %(bytes)d, 3 * %(chosen)d};
    for (int i = 0; i < 6; ++i) DataCopy(raw[i], x[uint64_t(from[i]) * kRoom / 2], kRoom / 2);
    for (int i = 6; i < 9; ++i) Duplicate(raw[i], int16_t(0), int32_t(kRoom / 2));
    PipeBarrier<PIPE_ALL>();
  }
  __aicore__ void end(int place) {
    PipeBarrier<PIPE_ALL>();
    DataCopy(out[uint64_t(place) * kRoom / 2], raw[6], kRoom / 2);
    PipeBarrier<PIPE_ALL>();
  }
  template <typename T>
  __aicore__ LocalTensor<T> as(int i) { return raw[i].template ReinterpretCast<T>()[0]; }
  LocalMemAllocator<> all;
  GlobalTensor<int16_t> x, out;
  LocalTensor<int16_t> raw[9];
};
#define CASE(place, set, Y, X, ...)                                                                            \\
  {                                                                                                           \\
    using T = X;                                                                                              \\
    Memory m(x, out, set);                                                                                    \\
    [[maybe_unused]] LocalTensor<T> a = m.as<T>(0), b = m.as<T>(1), c = m.as<T>(2);                           \\
    [[maybe_unused]] LocalTensor<Y> y = m.as<Y>(6), z = m.as<Y>(7);                                           \\
    [[maybe_unused]] LocalTensor<T> other = m.as<T>(7);                                                       \\
    [[maybe_unused]] LocalTensor<int32_t> places = m.as<int32_t>(8);                                          \\
    [[maybe_unused]] LocalTensor<bool> flags = m.as<bool>(3);                                                 \\
    [[maybe_unused]] LocalTensor<int8_t> by = m.as<int8_t>(4);                                                \\
    [[maybe_unused]] LocalTensor<uint8_t> chosen = m.as<uint8_t>(5), tmp = m.as<uint8_t>(8);                  \\
    __VA_ARGS__;                                                                                              \\
    m.end(place);                                                                                             \\
  }
extern "C" __global__ __vector__ void each(GM_ADDR x, GM_ADDR out) {
  [[maybe_unused]] const uint32_t rows[] = {%(rows)s};
  TopKInfo info;
  info.outter = 4, info.inner = 64, info.n = 60;
%(cases)s
}
int main() {
  std::vector<char> x(3 * %(sets)d * kRoom), y(%(results)d * kRoom);
  FILE* file = std::fopen("x.bin", "rb");
  if (!file || std::fread(x.data(), 1, x.size(), file) != x.size()) return 2;
  std::fclose(file);
  aclInit(nullptr);
  aclrtSetDevice(0);
  aclrtStream stream;
  aclrtCreateStream(&stream);
  void *from, *to;
  aclrtMalloc(&from, x.size(), ACL_MEM_MALLOC_HUGE_FIRST);
  aclrtMalloc(&to, y.size(), ACL_MEM_MALLOC_HUGE_FIRST);
  aclrtMemcpy(from, x.size(), x.data(), x.size(), ACL_MEMCPY_HOST_TO_DEVICE);
  each<<<1, nullptr, stream>>>(static_cast<uint8_t*>(from), static_cast<uint8_t*>(to));
  const int status = aclrtSynchronizeStream(stream);
  aclrtMemcpy(y.data(), y.size(), to, y.size(), ACL_MEMCPY_DEVICE_TO_HOST);
  std::fwrite(y.data(), 1, y.size(), std::fopen("y.bin", "wb"));
  std::fflush(nullptr);
  return status ? 1 : 0;
}
"""
SETS = list(OPERANDS)


def _source(cases: list[Case]) -> str:
    lines = []
    for place, case in enumerate(cases):
        setup = f"static constexpr {case.setup};" if case.setup else ""
        dtype = case.dtype.removesuffix(" of flags")
        lines.append(f"  {{ {setup} CASE({place}, {SETS.index(case.dtype)}, {case.result}, {dtype}, {case.call}) }}")
    return HOST.replace("\\\\", "\\") % {
        "count": COUNT, "room": ROOM, "rows": ", ".join(map(str, ROWS)), "cases": "\n".join(lines), "sets": len(SETS),
        "results": len(cases), "flags": SETS.index("bool"), "bytes": SETS.index("int8_t"),
        "chosen": SETS.index("uint8_t"),
    }  # fmt: skip


def _run(cases: list[Case], soc: str, folder: Path) -> list[Array]:
    source = folder / "each.asc"
    source.write_text(_source(cases))
    room = bytearray()
    for name in SETS:
        for operand in OPERANDS[name]:
            room += operand.tobytes().ljust(ROOM, b"\0")
    (folder / "x.bin").write_bytes(room)
    command = [sys.executable, "-m", "ophook_npu", "kernel", "run", "--soc", soc, str(source)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    every = (folder / "y.bin").read_bytes()
    return [
        np.frombuffer(every, TYPES[case.result], offset=place * ROOM, count=COUNT) for place, case in enumerate(cases)
    ]


@pytest.mark.parametrize(
    ("soc", "cases"), [("Ascend910B1", _both), ("Ascend950PR_9589", lambda: (*_both(), *_newer()))]
)
def test_each_function_gives_what_its_page_says(soc: str, cases: Callable[[], Iterator[Case]], tmp_path: Path) -> None:
    every = list(cases())
    wrong = []
    with np.errstate(all="ignore"):
        for case, found in zip(every, _run(every, soc, tmp_path), strict=True):
            wanted = np.asarray(case.wanted(*OPERANDS[case.dtype]))
            if case.result in BOUND:
                got = found[: wanted.size].astype(np.float64)
                bound, exact = BOUND[case.result], wanted.astype(TYPES[case.result]).astype(np.float64)
                good = np.allclose(got, exact, rtol=bound, atol=bound / 10, equal_nan=True)
            else:
                good = np.array_equal(found[: wanted.size], wanted.astype(TYPES[case.result]))
            if not good:
                wrong.append(f"{case.call} of {case.dtype}: {found[:8]}, wanted {wanted[:8]}")
    assert not wrong, "\n".join(wrong)
