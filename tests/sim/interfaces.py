"""Calls libopapi's two operator interfaces directly, with CPU tensors: aclnn functions, whose parameters each of them
tells (``aclnnAddParameters``), over device memory, and types of the graph engine's table, by their prototypes.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import functools
import itertools
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import torch

from ophook_npu.sim import rules

# Host memory that was never anything else: the heap may have been given addresses at which device memory lay before,
# and then what is said of them names that.
HOST = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, "PyBaseObject_Type")))

CODES = {
    torch.float32: 0, torch.float16: 1, torch.int8: 2, torch.int32: 3, torch.uint8: 4, torch.int16: 6, torch.int64: 9,
    torch.uint32: 8, torch.uint64: 10, torch.float64: 11, torch.bool: 12, torch.complex64: 16, torch.bfloat16: 27,
    torch.float8_e5m2: 35, torch.float8_e4m3fn: 36, torch.float8_e8m0fnu: 37,
}  # fmt: skip
DTYPES = {code: dtype for dtype, code in CODES.items()}
_ABSENT, _ND = 28, 2
FORMATS = {"NCHW": 0, "NHWC": 1, "ND": _ND, "HWCN": 16, "NDHWC": 27, "FRACTAL_NZ": 29, "NCDHW": 30, "NCL": 47}
_RANKS = 16


@dataclasses.dataclass
class Pairs:
    """A tensor of numbers of 4 bits of which torch has no type, two in each of these bytes."""

    data: torch.Tensor
    code: int
    in_byte: ClassVar[int] = 2


class HiFloat8(Pairs):
    """A tensor of HIFLOAT8, of which torch has no type either: one in each of these bytes."""

    in_byte = 1

    def __init__(self, data: torch.Tensor) -> None:
        super().__init__(data, 34)


class Tiles(Pairs):
    """A matrix of these in FRACTAL_NZ: its memory has tiles of 16 rows by 32 bytes."""

    def __init__(self, of: torch.Tensor | Pairs) -> None:
        given = of if isinstance(of, Pairs) else None
        super().__init__(given.data if given else of, given.code if given else CODES[of.dtype])
        self.many = given.in_byte if given else 1

    def memory(self) -> torch.Tensor:
        return self.data.unflatten(-1, (-1, 32)).unflatten(-3, (-1, 16)).movedim(-2, -4).contiguous()


def format_for(one: rules.Parameter | None, rank: int, dtype: str = "") -> int:
    """ND, or where CANN's check does not take it what torch_npu gives a tensor of so many dimensions."""
    relations = [key.partition(":")[0] for key in one.relations] if one else []
    if {"tiled", "formats_of_2" if rank == 2 else "", f"formats_of_{dtype}"} & {*relations}:
        return FORMATS["FRACTAL_NZ"]
    lists = list(one.formats.values()) if one and "formats" in one.relations.get("checked", ()) else []
    lists += [one.relations[of]] if one and (of := f"formats_of_{rank}") in one.relations else []
    named = [name for name in FORMATS if all(name in names for names in lists)]
    usual = {3: "NCL", 4: "NCHW", 5: "NCDHW"}.get(rank, "ND")
    return FORMATS[next(name for name in ("ND", usual, *named, "ND") if name in named)] if named else _ND


class Refused(Exception):
    """The interface's answer to a call that it does not take."""


@functools.cache
def libraries() -> tuple[ctypes.CDLL, ctypes.CDLL]:
    """libopapi and libascendcl, with a device for this thread."""
    opapi, acl = ctypes.CDLL("libopapi.so"), ctypes.CDLL("libascendcl.so")
    acl.aclGetRecentErrMsg.restype = ctypes.c_char_p
    opapi.ophook_ge_proto.restype = opapi.ophook_ge_type.restype = ctypes.c_char_p
    opapi.ophook_ge_function.restype = ctypes.c_char_p
    opapi.ophook_ge_type.argtypes = [ctypes.c_size_t]
    acl.aclInit(None)
    assert acl.aclrtSetDevice(0) == 0
    return opapi, acl


# ---- aclnn -----------------------------------------------------------------------------------------------------------
def parameters(function: str) -> list[str]:
    """The kinds of a function's parameters: ``In``, ``Out``, ``double``, …"""
    told = getattr(libraries()[0], f"{function}Parameters")
    told.restype = ctypes.c_char_p
    return [item.strip() for item in told().decode().strip("()").split(",")][::2]


def _made(name: str, *arguments: Any) -> ctypes.c_void_p:
    function = getattr(libraries()[0], name)
    function.restype = ctypes.c_void_p
    return ctypes.c_void_p(function(*arguments))


def _int64s(values: Sequence[int]) -> Any:
    return (ctypes.c_int64 * max(len(values), 1))(*values)


_TO_DEVICE, _TO_HOST = 1, 2


class _OnDevice:
    """The storages of a call's tensors, once each, in device memory."""

    def __init__(self) -> None:
        self.copies: dict[int, tuple[ctypes.c_void_p, torch.UntypedStorage]] = {}

    def address(self, value: torch.Tensor) -> int | None:
        storage = value.untyped_storage()
        begin, size = storage.data_ptr(), ctypes.c_size_t(storage.nbytes())
        if not size.value:
            return None
        if begin not in self.copies:
            acl, memory = libraries()[1], ctypes.c_void_p()
            assert acl.aclrtMalloc(ctypes.byref(memory), size, 0) == 0
            assert acl.aclrtMemcpy(memory, size, ctypes.c_void_p(begin), size, _TO_DEVICE) == 0
            self.copies[begin] = memory, storage
        return (self.copies[begin][0].value or 0) + value.data_ptr() - begin

    def take_back(self) -> None:
        acl = libraries()[1]
        for begin, (memory, storage) in self.copies.items():
            size = ctypes.c_size_t(storage.nbytes())
            assert acl.aclrtMemcpy(ctypes.c_void_p(begin), size, memory, size, _TO_HOST) == 0
            assert acl.aclrtFree(memory) == 0


def _tensor(given: torch.Tensor | Pairs, device: _OnDevice, one: rules.Parameter | None) -> ctypes.c_void_p:
    value = given.data if isinstance(given, Pairs) else given
    sizes, strides, elements = (
        [*value.shape],
        [*value.stride()],
        value.untyped_storage().nbytes() // value.element_size(),
    )
    if isinstance(given, Pairs):
        many = given.many if isinstance(given, Tiles) else given.in_byte
        if sizes:
            sizes[-1], strides[:-1] = many * sizes[-1], [many * stride for stride in strides[:-1]]
        elements *= many
    return _made(
        "aclCreateTensor", _int64s(sizes), ctypes.c_uint64(value.dim()),
        given.code if isinstance(given, Pairs) else CODES[value.dtype], _int64s(strides), ctypes.c_int64(0),
        FORMATS["FRACTAL_NZ"] if isinstance(given, Tiles) else format_for(one, len(sizes)), _int64s([elements]),
        ctypes.c_uint64(1),
        ctypes.c_void_p(device.address(given.memory() if isinstance(given, Tiles) else value)),
    )  # fmt: skip


def _scalar(value: float, _device: _OnDevice, _one: rules.Parameter | None) -> ctypes.c_void_p:
    held = ctypes.c_double(value) if isinstance(value, float) else ctypes.c_int64(value)
    return _made(
        "aclCreateScalar", ctypes.byref(held), CODES[torch.float64 if isinstance(value, float) else torch.int64]
    )


_NUMBERS = {
    "bool": ctypes.c_bool, "float": ctypes.c_float, "double": ctypes.c_double, "Cube": ctypes.c_int8,
    "int8_t": ctypes.c_int8,
    "int": ctypes.c_int32, "int32_t": ctypes.c_int32, "int64_t": ctypes.c_int64, "uint64_t": ctypes.c_uint64,
}  # fmt: skip
_ARRAYS = {
    "Ints": ("IntArray", ctypes.c_int64),
    "Floats": ("FloatArray", ctypes.c_float),
    "Bools": ("BoolArray", ctypes.c_bool),
}
_LISTS = {"List": ("TensorList", _tensor), "Nums": ("ScalarList", _scalar)}


def _argument(
    kind: str,
    value: Any,
    drops: list[tuple[str, ctypes.c_void_p]],
    device: _OnDevice,
    one: rules.Parameter | None,
) -> Any:
    if kind in _NUMBERS:
        return _NUMBERS[kind](value)
    if kind == "Dtype":
        return ctypes.c_int(value if isinstance(value, int) else CODES[value])
    if value is None:
        return ctypes.c_void_p()
    if isinstance(value, ctypes.c_void_p):
        return value  # an object of the caller's
    if kind == "Text":
        return ctypes.c_char_p(value.encode())
    if kind in _ARRAYS:
        name, element = _ARRAYS[kind]
        made = _made(f"aclCreate{name}", (element * max(len(value), 1))(*value), ctypes.c_uint64(len(value)))
    elif kind in _LISTS:
        name, make = _LISTS[kind]
        members = [make(member, device, one).value for member in value]
        made = _made(
            f"aclCreate{name}", (ctypes.c_void_p * max(len(members), 1))(*members), ctypes.c_uint64(len(members))
        )
    else:
        name, make = ("Scalar", _scalar) if kind in ("Num", "MaybeNum") else ("Tensor", _tensor)
        made = make(value, device, one)
    drops.append((f"aclDestroy{name}", made))
    return made


def aclnn(function: str, *values: Any) -> None:
    """Calls both phases and waits. Tensors are written where they lie.

    Raises:
        Refused: a phase, or the work on the stream, gives an error.
    """
    opapi, acl = libraries()
    kinds, drops, device = parameters(function), [], _OnDevice()
    assert len(kinds) == len(values), f"{function} has {len(kinds)} parameters, not {len(values)}"
    known = rules.table()[function].parameters if function in rules.table() else ()
    each = known if len(known) == len(kinds) else [None] * len(kinds)
    made = [_argument(kind, value, drops, device, one) for kind, value, one in zip(kinds, values, each, strict=True)]
    size, executor, workspace = ctypes.c_uint64(), ctypes.c_void_p(), ctypes.c_void_p()
    status = getattr(opapi, f"{function}GetWorkspaceSize")(*made, ctypes.byref(size), ctypes.byref(executor))
    if status == 0:
        if size.value:
            assert acl.aclrtMalloc(ctypes.byref(workspace), ctypes.c_size_t(size.value), 0) == 0
        status = getattr(opapi, function)(workspace, size, executor, None) or acl.aclrtSynchronizeStream(None)
    elif executor:
        opapi.aclDestroyAclOpExecutor(executor)
    reason = (acl.aclGetRecentErrMsg() or b"").decode() if status else ""
    for name, handle in drops:
        getattr(opapi, name)(handle)
    if workspace:
        acl.aclrtFree(workspace)
    device.take_back()
    if status:
        raise Refused(f"{status}: {reason}")


@contextlib.contextmanager
def rules_of(family: str) -> Iterator[None]:
    """Calls are judged by the rules of this product, such as ``Ascend950``: it has functions that others lack."""
    choose = libraries()[0].ophook_rules_family
    before = choose(rules.FAMILIES.index(family))
    try:
        yield
    finally:
        choose(before)


# ---- the graph engine's table ----------------------------------------------------------------------------------------
class _GeTensor(ctypes.Structure):
    _fields_ = (
        ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32), ("dims", ctypes.c_int64 * _RANKS),
        ("data", ctypes.c_void_p), ("format", ctypes.c_int32),
    )  # fmt: skip


class _GeAttr(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p), ("kind", ctypes.c_int), ("i", ctypes.c_int64), ("f", ctypes.c_double),
        ("s", ctypes.c_char_p), ("ints", ctypes.POINTER(ctypes.c_int64)), ("floats", ctypes.POINTER(ctypes.c_float)),
        ("count", ctypes.c_size_t),
    )  # fmt: skip


class _GeCall(ctypes.Structure):
    _fields_ = (
        ("type", ctypes.c_char_p), ("inputs", ctypes.POINTER(_GeTensor)), ("input_count", ctypes.c_size_t),
        ("outputs", ctypes.POINTER(_GeTensor)), ("output_count", ctypes.c_size_t), ("attrs", ctypes.POINTER(_GeAttr)),
        ("attr_count", ctypes.c_size_t), ("input_counts", ctypes.POINTER(ctypes.c_size_t)),
    )  # fmt: skip


_ATTR_KINDS = {
    name: code
    for code, name in enumerate(("Int", "Float", "Bool", "String", "Type", "ListInt", "ListFloat", "ListListInt"))
}


def types() -> list[str]:
    """The table's operator types."""
    out: list[str] = []
    while (name := libraries()[0].ophook_ge_type(len(out))) is not None:
        out.append(name.decode())
    return out


@functools.cache
def functions() -> dict[str, str]:
    """The types that are functions of libopapi, and which."""
    told = {of: libraries()[0].ophook_ge_function(of.encode()) for of in types()}
    return {of: function.decode().split()[0] for of, function in told.items() if function}


def prototype(of: str) -> tuple[list[str], list[str], dict[str, str]]:
    """Inputs and outputs as the prototype writes them (``bias?``, ``x*``), and the kinds of the attributes."""
    ports, _, attributes = libraries()[0].ophook_ge_proto(of.encode()).decode().partition("|")
    inputs, outputs = (side.split() for side in ports.split("->"))
    kinds = (tuple(word.partition("=")[0].split(":")) for word in attributes.split())
    return inputs, outputs, dict(kinds)


def _ge_attr(name: str, kind: str, value: Any) -> _GeAttr:
    attr = _GeAttr(name=name.encode(), kind=_ATTR_KINDS[kind])
    if kind == "ListListInt":  # one behind the other, each behind its length
        kind, value = "ListInt", [number for one in value for number in (len(one), *one)]
    if kind == "String":
        attr.s = value.encode()
    elif kind == "Float":
        attr.f = value
    elif kind in ("ListInt", "ListFloat"):
        element, field = (ctypes.c_int64, "ints") if kind == "ListInt" else (ctypes.c_float, "floats")
        setattr(attr, field, (element * max(len(value), 1))(*value))
        attr.count = len(value)
    else:
        attr.i = CODES[value] if isinstance(value, torch.dtype) else int(value)
    return attr


def _ge_tensor(value: torch.Tensor | None) -> _GeTensor:
    if value is None:
        return _GeTensor(dtype=_ABSENT)
    assert value.is_contiguous()
    told = _GeTensor(dtype=CODES[value.dtype], rank=value.dim(), data=value.data_ptr())
    told.dims[: value.dim()] = value.shape
    return told


class Node:
    """A node of a graph, as the engine hands it to the table. An input may be None, where it is optional, or a list,
    where it is dynamic; a dynamic output has as many members as the first dynamic input, or `results` of them.
    """

    def __init__(self, of: str, *inputs: Any, results: int | None = None, **attributes: Any) -> None:
        ports, outs, kinds = prototype(of)
        assert len(ports) >= len(inputs), f"{of} has {len(ports)} inputs, not {len(inputs)}"
        inputs = tuple(
            [] if given is None and port.endswith("*") else given
            for port, given in itertools.zip_longest(ports, inputs)
        )
        self.tensors = [one for given in inputs for one in (given if isinstance(given, list) else [given])]
        self.counts = (ctypes.c_size_t * max(len(ports), 1))(
            *(len(given) if isinstance(given, list) else 1 for given in inputs)
        )
        many = results or next((len(given) for given in inputs if isinstance(given, list)), 1)
        self.given = (_GeTensor * len(self.tensors))(*map(_ge_tensor, self.tensors))
        attrs = [_ge_attr(name, kinds[name], value) for name, value in attributes.items()]
        self.attrs = (_GeAttr * max(len(attrs), 1))(*attrs)
        self.made = (_GeTensor * sum(many if port.endswith("*") else 1 for port in outs))()
        self.call = _GeCall(
            of.encode(), self.given, len(self.given), self.made, len(self.made), self.attrs, len(attrs), self.counts
        )

    def _phase(self, function: Any) -> None:
        error = ctypes.create_string_buffer(1024)
        if function(ctypes.byref(self.call), error, ctypes.c_size_t(len(error))):
            raise Refused(error.value.decode())

    def infer(self) -> list[tuple[int, list[int] | None]]:
        """Data type and shape of each output; -1 is an unknown dimension, None an unknown rank.

        Raises:
            Refused: the operator's rule refuses the call.
        """
        self._phase(libraries()[0].ophook_ge_check)
        self._phase(libraries()[0].ophook_ge_infer)
        return [(told.dtype, None if told.rank < 0 else list(told.dims[: told.rank])) for told in self.made]

    def run(self) -> list[torch.Tensor]:
        """What it computes, after ``infer``.

        Raises:
            Refused: the operator's kernel refuses the call.
        """
        results = [torch.empty(list(told.dims[: told.rank]), dtype=DTYPES[told.dtype]) for told in self.made]
        for told, result in zip(self.made, results, strict=True):
            told.data = result.data_ptr()
        self._phase(libraries()[0].ophook_ge_run)
        return results


def graph(of: str, *inputs: Any, **attributes: Any) -> list[torch.Tensor]:
    """Infers a node's outputs and computes them.

    Raises:
        Refused: the operator's rule or its kernel refuses the call.
    """
    node = Node(of, *inputs, **attributes)
    node.infer()
    return node.run()
