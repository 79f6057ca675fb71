"""The C structures of csrc/ascendc/runtime/launch.h and host/host.h."""

from __future__ import annotations

import ctypes as c
import os
from pathlib import Path
from typing import Any

from ophook_npu.kernel.socs import Soc

MAX_DIMS = 25


class Memory(c.Structure):
    _fields_ = [
        ("name", c.c_char_p), ("data", c.c_void_p), ("bytes", c.c_uint64), ("allocated", c.c_uint64),
        ("role", c.c_int32), ("element", c.c_int32),
    ]  # fmt: skip


class Options(c.Structure):
    _fields_ = [
        ("checks", c.c_int32), ("strict", c.c_int32), ("on_wait", c.c_int32), ("architecture", c.c_int32),
        ("kind", c.c_int32), ("ub", c.c_uint64), ("l1", c.c_uint64), ("l0a", c.c_uint64), ("l0b", c.c_uint64),
        ("l0c", c.c_uint64), ("bt", c.c_uint64), ("fb", c.c_uint64), ("timeline", c.c_int32),
        ("sequential", c.c_int32), ("both_units", c.c_int32),
    ]  # fmt: skip


class Launch(c.Structure):
    _fields_ = [
        ("entry", c.c_void_p), ("arguments", c.POINTER(Memory)), ("argument_count", c.c_int32),
        ("block_dim", c.c_int32), ("tiling_key", c.c_uint64), ("options", Options), ("summary", c.c_char_p),
        ("summary_capacity", c.c_size_t), ("cube_entry", c.c_void_p), ("allocation", c.c_void_p),
        ("touched", c.c_void_p), ("wires", c.c_void_p), ("contexts", c.c_void_p), ("context_count", c.c_size_t),
        ("reach", c.c_void_p),
    ]  # fmt: skip


class HostTensor(c.Structure):
    _fields_ = [("dtype", c.c_int32), ("rank", c.c_int32), ("dims", c.c_int64 * MAX_DIMS), ("data", c.c_void_p)]


class Attr(c.Structure):
    _fields_ = [
        ("kind", c.c_int32), ("whole", c.c_int64), ("real", c.c_double), ("text", c.c_char_p),
        ("wholes", c.POINTER(c.c_int64)), ("reals", c.POINTER(c.c_float)), ("count", c.c_size_t),
        ("lengths", c.POINTER(c.c_size_t)), ("lists", c.c_size_t),
    ]  # fmt: skip


class HostSoc(c.Structure):
    _fields_ = [
        ("name", c.c_char_p), ("cube_cores", c.c_uint32), ("vector_cores", c.c_uint32), ("ub", c.c_uint64),
        ("l1", c.c_uint64), ("l0a", c.c_uint64), ("l0b", c.c_uint64), ("l0c", c.c_uint64), ("l2", c.c_uint64),
        ("hbm", c.c_uint64),
    ]  # fmt: skip


class HostCall(c.Structure):
    _fields_ = [
        ("type", c.c_char_p), ("inputs", c.POINTER(HostTensor)), ("input_counts", c.POINTER(c.c_int32)),
        ("input_parameters", c.c_size_t), ("outputs", c.POINTER(HostTensor)), ("output_counts", c.POINTER(c.c_int32)),
        ("output_parameters", c.c_size_t), ("attrs", c.POINTER(Attr)), ("attr_count", c.c_size_t), ("soc", HostSoc),
    ]  # fmt: skip


class Tiling(c.Structure):
    _fields_ = [
        ("block_dim", c.c_uint32), ("need_atomic", c.c_uint32), ("tiling_key", c.c_uint64),
        ("workspace", c.c_uint64), ("size", c.c_uint64), ("data", c.c_uint8 * 65536),
    ]  # fmt: skip


def options(soc: Soc, *, kind: int, checks: bool, strict: bool, on_wait: bool, timeline: bool = False) -> Options:
    memories = (soc.ub, soc.l1, soc.l0a, soc.l0b, soc.l0c, soc.bt, soc.fb)
    return Options(checks, strict, on_wait, soc.architecture, kind, *memories, timeline, 0, soc.both_units)


def host_soc(soc: Soc) -> HostSoc:
    memories = (soc.ub, soc.l1, soc.l0a, soc.l0b, soc.l0c, soc.l2, soc.hbm)
    return HostSoc(soc.name.encode(), soc.cube_cores, soc.vector_cores, *memories)


def runtime(path: str) -> Any:
    """The process's runtime: kernels bind to the first that is there, so one that a package brought is used."""
    try:
        library = c.CDLL(Path(path).name, mode=os.RTLD_NOW | os.RTLD_NOLOAD)
    except OSError:
        library = c.CDLL(path, mode=c.RTLD_GLOBAL)
    library.ascendc_run.argtypes = [c.POINTER(Launch), c.POINTER(c.c_void_p)]
    library.ascendc_release.argtypes = [c.c_void_p]
    return library


def host(path: str) -> Any:
    library = c.CDLL(path)
    library.ascendc_describe.restype = c.c_char_p
    library.ascendc_prelude.restype = c.c_char_p
    library.ascendc_prelude.argtypes = [c.c_char_p]
    library.ascendc_templates.restype = c.c_char_p
    library.ascendc_templates.argtypes = [c.c_char_p]
    library.ascendc_tile.argtypes = [c.POINTER(HostCall), c.POINTER(Tiling), c.c_char_p, c.c_size_t]
    library.ascendc_infer.argtypes = [c.POINTER(HostCall), c.c_char_p, c.c_size_t]
    return library
