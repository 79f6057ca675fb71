"""Run by test_every_operator.py: calls each operator named on its input with tensors that have no dimensions, no
elements, one element, or are not contiguous. Prints "NAME calls accepted" when it is through with one.

``aclnn`` functions are called by their C interface, whose parameters each of them tells (``aclnnAddParameters``), and
operator types of the graph engine through its table.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import math
import os
import random
import struct
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch  # noqa: F401  # brings the libraries that libopapi.so needs

from ophook_npu import collector
from ophook_npu.npu import vendors

OPAPI = ctypes.CDLL("libopapi.so", ctypes.RTLD_GLOBAL)
PACKAGES = [package for package, _ in vendors.packages(os.environ)]
VENDORS = [ctypes.CDLL(str(package / "op_api" / "lib" / "libcust_opapi.so")) for package in PACKAGES]
ACL = ctypes.CDLL("libascendcl.so")

FLOAT, HALF, INT8, INT32, INT64, DOUBLE, BOOL, COMPLEX64 = 0, 1, 2, 3, 9, 11, 12, 16
CODES = {FLOAT: "f", HALF: "e", INT8: "b", INT32: "i", INT64: "q", DOUBLE: "d", BOOL: "?", COMPLEX64: "ff"}
TEXTS = (b"", b"none", b"mean", b"sum", b"round", b"BSH", b"BNSD", b"TND", b"silu", b"NCHW", b"constant")
ND, SLOT, SLOTS, ELEMENTS = 2, 4096, 64, 64
Shape = tuple[int, ...]
SHAPES: tuple[Shape, ...] = ((), (0,), (1,), (1, 1), (0, 3), (2,), (3, 2), (2, 2, 2), (1, 2, 3, 2), (2, 1, 2, 2, 1))
DTYPES = (FLOAT, INT64, HALF, INT32, INT8, BOOL, COMPLEX64)


class Memory:
    """Device memory in slots of one size, filled anew with small numbers for each call."""

    def __init__(self) -> None:
        assert ACL.aclInit(None) == 0 and ACL.aclrtSetDevice(0) == 0
        start = ctypes.c_void_p()
        assert ACL.aclrtMalloc(ctypes.byref(start), ctypes.c_size_t(SLOT * SLOTS), 0) == 0
        assert start.value
        self.start, self.next = start.value, 0
        self.contents = {dtype: self._numbers(code) for dtype, code in CODES.items()}

    def _numbers(self, code: str) -> bytes:
        flat = [value % 3 % 2 for value in range(len(code) * ELEMENTS)]
        return struct.pack(f"<{len(flat)}{code[0]}", *flat)

    def take(self, dtype: int) -> int:
        address = self.start + self.next % SLOTS * SLOT
        self.next += 1
        ctypes.memmove(address, self.contents[dtype], len(self.contents[dtype]))
        return address


MEMORY = Memory()
WORKSPACE, WORKSPACE_BYTES = ctypes.c_void_p(), 64 << 20
assert ACL.aclrtMalloc(ctypes.byref(WORKSPACE), ctypes.c_size_t(WORKSPACE_BYTES), 0) == 0


# Most of these are asked for again in each call, and nobody writes to them.
@functools.cache
def contiguous(shape: Shape) -> Shape:
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))


@functools.cache
def transposed(shape: Shape) -> Shape:
    """The strides of a tensor whose dimensions lie in the opposite order."""
    return contiguous(shape[::-1])[::-1]


@functools.cache
def int64s(values: Shape) -> Any:
    return (ctypes.c_int64 * len(values))(*values)


@dataclass
class Case:
    """One call: how its tensors and its numbers are chosen."""

    shape: Shape
    dtypes: Shape
    turn: int
    mixed: bool
    chance: random.Random

    def shape_of_next(self) -> Shape:
        return self.chance.choice(SHAPES) if self.mixed and self.chance.random() < 0.5 else self.shape

    def integer(self) -> int:
        return (0, 1, -1, 2)[self.turn if not self.mixed else self.chance.randrange(4)]

    def integers(self) -> Shape:
        rank = len(self.shape)
        choices: tuple[Shape, ...] = ((), (0,), (*range(rank),), (1,) * rank, (-1,), (1, 1), (2, 2), self.shape)
        return choices[(self.turn * 2 if not self.mixed else self.chance.randrange(8)) % len(choices)]


def cases(name: str) -> Iterator[Case]:
    chance = random.Random(zlib.crc32(name.encode()))
    for shape, dtype, turn, mixed in itertools.product(SHAPES, range(3), range(4), (False, True)):
        dtypes = (DTYPES[dtype],) if not mixed else tuple(chance.choices(DTYPES, weights=(8, 3, 2, 3, 2, 2, 1), k=4))
        yield Case(shape, dtypes, turn, mixed, chance)


# ---- aclnn -----------------------------------------------------------------------------------------------------------
@functools.cache
def maker(name: str) -> Any:
    function = getattr(OPAPI, name)
    function.restype = ctypes.c_void_p
    return function


def handle(name: str, *arguments: Any) -> ctypes.c_void_p:
    return ctypes.c_void_p(maker(name)(*arguments))


@functools.cache
def sizes(shape: Shape) -> tuple[Any, Any, Any]:
    return int64s(shape), ctypes.c_uint64(len(shape)), int64s((math.prod(shape),))


NO_OFFSET, ONE = ctypes.c_int64(0), ctypes.c_uint64(1)


class Arguments:
    """The C arguments of one call, and what has to be destroyed after it."""

    def __init__(self, case: Case) -> None:
        self.case, self.count = case, 0
        self.drops: list[tuple[str, ctypes.c_void_p]] = []

    def _kept(self, kind: str, made: ctypes.c_void_p) -> ctypes.c_void_p:
        self.drops.append((f"aclDestroy{kind}", made))
        return made

    def tensor(self, keep: bool = True) -> ctypes.c_void_p:
        shape, dtype = self.case.shape_of_next(), self.case.dtypes[self.count % len(self.case.dtypes)]
        strides = transposed(shape) if self.count % 2 == 0 else contiguous(shape)
        self.count += 1
        dims, rank, storage = sizes(shape)
        made = handle(
            "aclCreateTensor", dims, rank, dtype, int64s(strides), NO_OFFSET, ND, storage, ONE,
            ctypes.c_void_p(MEMORY.take(dtype)),
        )  # fmt: skip
        return self._kept("Tensor", made) if keep else made

    def scalar(self, keep: bool = True) -> ctypes.c_void_p:
        value = ctypes.c_float(self.case.integer())
        made = handle("aclCreateScalar", ctypes.byref(value), FLOAT)
        return self._kept("Scalar", made) if keep else made

    def several(self, kind: str, make: Callable[[bool], ctypes.c_void_p]) -> ctypes.c_void_p:
        members = (ctypes.c_void_p * 2)(*(make(False).value for _ in range(2)))
        length = (2, 1, 2, 0)[self.case.turn]
        for unused in members[length:]:
            getattr(OPAPI, f"aclDestroy{kind.removesuffix('List')}")(ctypes.c_void_p(unused))
        return self._kept(kind, handle(f"aclCreate{kind}", members, ctypes.c_uint64(length)))

    def array(self, kind: str, element: Any, values: tuple[Any, ...]) -> ctypes.c_void_p:
        made = handle(f"aclCreate{kind}", (element * len(values))(*values), ctypes.c_uint64(len(values)))
        return self._kept(kind, made)

    def make(self, kind: str) -> Any:
        case = self.case
        match kind:
            case "In" | "Out" | "Ref" | "Resized":
                return self.tensor()
            case "Num" | "MaybeNum":
                return self.scalar()
            case "List":
                return self.several("TensorList", self.tensor)
            case "Nums":
                return self.several("ScalarList", self.scalar)
            case "Ints":
                return self.array("IntArray", ctypes.c_int64, case.integers())
            case "Floats":
                return self.array("FloatArray", ctypes.c_float, tuple(map(float, case.integers())))
            case "Bools":
                return self.array("BoolArray", ctypes.c_bool, (True,) * (3 * (case.turn % 2)))
            case "Dtype":
                return ctypes.c_int(case.dtypes[0])
            case "Text":
                return ctypes.c_char_p(case.chance.choice(TEXTS))
            case "bool":
                return ctypes.c_bool(case.turn % 2)
            case "float":
                return ctypes.c_float(case.integer())
            case "double":
                return ctypes.c_double(case.integer())
        widths = {
            "Cube": "int8",
            "int8_t": "int8",
            "int": "int32",
            "int32_t": "int32",
            "int64_t": "int64",
            "uint64_t": "uint64",
        }
        return getattr(ctypes, f"c_{widths[kind]}")(abs(case.integer()) if kind.startswith("u") else case.integer())

    def drop(self) -> None:
        for name, made in self.drops:
            getattr(OPAPI, name)(made)


def call_aclnn(name: str) -> tuple[int, int]:
    library = next(library for library in (OPAPI, *VENDORS) if hasattr(library, name))
    told = getattr(library, f"{name}Parameters")
    told.restype = ctypes.c_char_p
    kinds = [item.strip() for item in told().decode().strip("()").split(",")][::2]
    first, second = getattr(library, f"{name}GetWorkspaceSize"), getattr(library, name)
    calls = accepted = 0
    for case in cases(name):
        arguments, size, executor = Arguments(case), ctypes.c_uint64(), ctypes.c_void_p()
        made = [arguments.make(kind) for kind in kinds]
        if first(*made, ctypes.byref(size), ctypes.byref(executor)) == 0:
            assert size.value <= WORKSPACE_BYTES, f"{name} asks for a workspace of {size.value} bytes"
            # With OPHOOK_SIM_SYNC=1 the work is done, or has failed, when this returns.
            accepted += second(WORKSPACE, size, executor, None) == 0
        elif executor:
            OPAPI.aclDestroyAclOpExecutor(executor)
        calls += 1
        arguments.drop()
    return calls, accepted


# ---- the graph engine's table ----------------------------------------------------------------------------------------
class GeTensor(ctypes.Structure):
    _fields_ = (
        ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32), ("dims", ctypes.c_int64 * 16), ("data", ctypes.c_void_p),
        ("format", ctypes.c_int32),
    )  # fmt: skip


class GeAttr(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p), ("kind", ctypes.c_int), ("i", ctypes.c_int64), ("f", ctypes.c_double),
        ("s", ctypes.c_char_p), ("ints", ctypes.POINTER(ctypes.c_int64)), ("floats", ctypes.POINTER(ctypes.c_float)),
        ("count", ctypes.c_size_t),
    )  # fmt: skip


class GeCall(ctypes.Structure):
    _fields_ = (
        ("type", ctypes.c_char_p), ("inputs", ctypes.POINTER(GeTensor)), ("input_count", ctypes.c_size_t),
        ("outputs", ctypes.POINTER(GeTensor)), ("output_count", ctypes.c_size_t), ("attrs", ctypes.POINTER(GeAttr)),
        ("attr_count", ctypes.c_size_t), ("input_counts", ctypes.POINTER(ctypes.c_size_t)),
    )  # fmt: skip


ATTR_KINDS = ("Int", "Float", "Bool", "String", "Type", "ListInt", "ListFloat")


def ge_attr(case: Case, text: str) -> GeAttr:
    name, kind = text.partition("=")[0].split(":")
    attr = GeAttr(name=name.encode(), kind=ATTR_KINDS.index(kind) if kind in ATTR_KINDS else len(ATTR_KINDS))
    attr.i, attr.f, attr.s = case.integer(), float(case.integer()), case.chance.choice(TEXTS)
    if kind == "Type":
        attr.i = case.dtypes[0]
    values = case.integers()
    attr.ints, attr.floats = int64s(values), (ctypes.c_float * len(values))(*values)
    attr.count = len(values) if kind.startswith("List") else 0
    return attr


def ge_tensors(case: Case, ports: list[str]) -> list[GeTensor]:
    out = []
    for port in ports:
        for _ in range((2, 1, 2, 3)[case.turn] if port.endswith("*") else 1):
            shape, dtype = case.shape_of_next(), case.dtypes[len(out) % len(case.dtypes)]
            if port.endswith("?") and case.chance.random() < 0.5:
                out.append(GeTensor(dtype=28))
                continue
            out.append(GeTensor(dtype=dtype, rank=len(shape), data=MEMORY.take(dtype)))
            out[-1].dims[: len(shape)] = shape
    return out


def unknown(case: Case, tensor: GeTensor) -> GeTensor:
    """As inference sees an input of a dynamic graph: without values, without sizes, without a rank."""
    told = GeTensor(dtype=tensor.dtype, rank=-1 if case.turn == 2 else tensor.rank)
    told.dims[: tensor.rank] = [-1] * tensor.rank if case.turn else tensor.dims[: tensor.rank]
    return told


def fits(tensor: GeTensor) -> bool:
    """Whether inference told the output's shape, and there is memory for it."""
    if tensor.rank < 0 or tensor.dtype not in CODES:
        return False
    size = tensor.dims[: tensor.rank]
    return min(size, default=0) >= 0 and math.prod(size) <= ELEMENTS


def call_type(name: str) -> tuple[int, int]:
    OPAPI.ophook_ge_proto.restype = ctypes.c_char_p
    ports, _, attributes = OPAPI.ophook_ge_proto(name.encode()).decode().partition("|")
    inputs, outputs = (side.split() for side in ports.split("->"))
    error = ctypes.create_string_buffer(1024)

    def call(function: Any, given: list[GeTensor], made: Any, attrs: list[GeAttr]) -> bool:
        all_in, all_attrs = (GeTensor * max(len(given), 1))(*given), (GeAttr * max(len(attrs), 1))(*attrs)
        view = GeCall(name.encode(), all_in, len(given), made, len(made), all_attrs, len(attrs))
        return function(ctypes.byref(view), error, ctypes.c_size_t(len(error))) == 0

    calls = accepted = 0
    for case in cases(name):
        given = ge_tensors(case, inputs)
        count = sum((2, 1, 2, 3)[case.turn] if port.endswith("*") else 1 for port in outputs)
        attrs = [ge_attr(case, text) for text in attributes.split() if "=" not in text or case.chance.random() < 0.5]
        made = (GeTensor * count)()
        if case.mixed:
            call(OPAPI.ophook_ge_infer, [unknown(case, tensor) for tensor in given], made, attrs)
        calls += 1
        made = (GeTensor * count)()
        if not call(OPAPI.ophook_ge_infer, given, made, attrs):
            continue
        if not all(map(fits, made)):
            continue
        for tensor in made:
            tensor.data = MEMORY.take(tensor.dtype)
        accepted += call(OPAPI.ophook_ge_run, given, made, attrs)
    return calls, accepted


def main() -> None:
    collector.rarely()
    assert ACL.aclrtSetOpExecuteTimeOutWithMs(1) == 0  # for what waits: there is nobody to wait for
    print("ready", flush=True)
    for line in sys.stdin:
        name = line.strip()
        calls, accepted = call_aclnn(name) if name.startswith("aclnn") else call_type(name)
        print(name, calls, accepted, flush=True)


main()
