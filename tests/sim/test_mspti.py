"""MSPTI: device events in torch's own profiler, and records in the buffers of a tool."""

from __future__ import annotations

import ctypes
import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.profiler import ProfilerActivity, profile, schedule

INVALID, SECOND, NO_MORE, NOTHING_PUSHED, NOT_PRELOADED, NOT_SIMULATED = 1, 2, 3, 5, 6, 999
MARKER, KERNEL, API, HCCL, MEMCPY, EXTERNAL, COMMUNICATION, ACL_API, NODE_API = 1, 2, 3, 4, 7, 8, 9, 10, 11

_REQUEST = ctypes.CFUNCTYPE(
    None, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_size_t), ctypes.POINTER(ctypes.c_size_t)
)
_COMPLETE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)


class _Kernel(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("kind", ctypes.c_uint32), ("start", ctypes.c_uint64), ("end", ctypes.c_uint64),
                ("device", ctypes.c_uint32), ("stream", ctypes.c_uint32), ("correlation", ctypes.c_uint64),
                ("type", ctypes.c_char_p), ("name", ctypes.c_char_p)]  # fmt: skip


class _External(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("kind", ctypes.c_uint32), ("external_kind", ctypes.c_uint32), ("external", ctypes.c_uint64),
                ("correlation", ctypes.c_uint64)]  # fmt: skip


class _Api(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("kind", ctypes.c_uint32), ("start", ctypes.c_uint64), ("end", ctypes.c_uint64),
                ("process", ctypes.c_uint32), ("thread", ctypes.c_uint32), ("correlation", ctypes.c_uint64),
                ("name", ctypes.c_char_p)]  # fmt: skip


_TYPES: dict[int, type[Any]] = {KERNEL: _Kernel, EXTERNAL: _External, ACL_API: _Api, NODE_API: _Api}


class Tool:
    """A program that MSPTI gives records to, in buffers of ``size`` bytes."""

    def __init__(self, size: int = 1 << 21) -> None:
        self.library = ctypes.CDLL("libmspti.so")
        self.library.msptiActivityIsEnabled.restype = ctypes.c_bool
        self.records: list[Any] = []
        self.buffers: dict[int, Any] = {}
        self.handed_over = 0
        self._size = size
        self._functions = _REQUEST(self._request), _COMPLETE(self._complete)
        assert self.library.msptiActivityRegisterCallbacks(*self._functions) == 0

    def _request(self, buffer: Any, size: Any, most: Any) -> None:
        memory = ctypes.create_string_buffer(self._size)
        self.buffers[ctypes.addressof(memory)] = memory
        buffer[0], size[0], most[0] = ctypes.addressof(memory), self._size, 0

    def _complete(self, buffer: int, size: int, valid: int) -> None:
        assert size == self._size
        self.handed_over += 1
        found = ctypes.c_void_p()
        while not self.library.msptiActivityGetNextRecord(
            ctypes.c_void_p(buffer), ctypes.c_size_t(valid), ctypes.byref(found)
        ):
            kind = ctypes.c_uint32.from_address(found.value or 0).value
            record = _TYPES[kind]()
            ctypes.memmove(ctypes.byref(record), found, ctypes.sizeof(record))
            self.records.append(record)

    def of(self, kind: int) -> list[Any]:
        return [one for one in self.records if one.kind == kind]


@pytest.fixture
def tool() -> Iterator[Tool]:
    torch.ones(1).npu()
    made = Tool()
    yield made
    for kind in range(1, 13):
        made.library.msptiActivityDisable(kind)
    made.library.msptiActivityFlushAll(0)


def test_a_tool_gets_kernels_calls_and_what_they_belong_to(tool: Tool) -> None:
    library = tool.library
    x = torch.randn(16, 16).npu()
    torch.relu(x)
    torch.npu.synchronize()
    for kind in (KERNEL, EXTERNAL, ACL_API, NODE_API):
        assert library.msptiActivityEnable(kind) == 0 and library.msptiActivityIsEnabled(kind)
    before = time.time_ns()
    library.msptiActivityPushExternalCorrelationId(2, ctypes.c_uint64(77))
    for _ in range(3):
        torch.relu(x)
    torch.npu.synchronize()
    popped = ctypes.c_uint64()
    assert library.msptiActivityPopExternalCorrelationId(2, ctypes.byref(popped)) == 0 and popped.value == 77
    torch.mm(x, x)
    torch.npu.synchronize()
    after = time.time_ns()
    assert library.msptiActivityDisable(KERNEL) == 0 and not library.msptiActivityIsEnabled(KERNEL)
    torch.relu(x)
    torch.npu.synchronize()
    assert library.msptiActivityFlushAll(0) == 0

    kernels = tool.of(KERNEL)
    assert Counter(one.name for one in kernels) == {b"aclnnRelu": 3, b"aclnnMm": 1}
    assert all(before - 1_000_000 <= one.start <= one.end <= after + 1_000_000 for one in kernels)
    assert {one.device for one in kernels} == {0} and {one.type for one in kernels} == {b"KERNEL_AICORE"}
    ids = {one.correlation for one in kernels}
    assert len(ids) == 4 and ids <= {one.correlation for one in tool.of(NODE_API)}
    named = {one.correlation: one.external for one in tool.of(EXTERNAL)}
    assert [named.get(one.correlation) for one in sorted(kernels, key=lambda one: one.start)] == [77, 77, 77, None]
    assert any(one.name == b"aclnnRelu" and one.correlation in ids for one in tool.of(ACL_API))


def test_nodes_of_a_graph_have_their_names(tool: Tool) -> None:
    import torchair

    torch._dynamo.reset()
    program = torch.compile(lambda x: torch.relu(x @ x), backend=torchair.get_npu_backend())
    x = torch.randn(4, 4).npu()
    program(x)
    torch.npu.synchronize()
    assert tool.library.msptiActivityEnable(KERNEL) == 0
    program(x)
    torch.npu.synchronize()
    assert tool.library.msptiActivityFlushAll(0) == 0
    product, relu = sorted(tool.of(KERNEL), key=lambda one: one.start)
    assert b"MatMul" in product.name and b"Relu" in relu.name


def test_small_buffers_are_handed_over_as_they_fill() -> None:
    tool = Tool(1024)
    x = torch.randn(4).npu()
    torch.npu.synchronize()
    assert tool.library.msptiActivityEnable(KERNEL) == 0
    for _ in range(100):
        torch.abs(x)
    torch.npu.synchronize()
    assert tool.library.msptiActivityDisable(KERNEL) == 0 and tool.library.msptiActivityFlushAll(0) == 0
    assert Counter(one.name for one in tool.of(KERNEL)) == {b"aclnnAbs": 100}
    assert tool.handed_over >= 100 * ctypes.sizeof(_Kernel) // 1024


def test_what_is_refused(tool: Tool, capfd: pytest.CaptureFixture[str]) -> None:
    library, first, second = tool.library, ctypes.c_void_p(), ctypes.c_void_p()
    assert library.msptiSubscribe(None, None, None) == INVALID
    assert library.msptiSubscribe(ctypes.byref(first), None, None) == 0
    assert library.msptiSubscribe(ctypes.byref(second), None, None) == SECOND
    assert library.msptiUnsubscribe(ctypes.c_void_p(8)) == INVALID
    assert library.msptiUnsubscribe(first) == 0 == library.msptiSubscribe(ctypes.byref(second), None, None)
    assert library.msptiUnsubscribe(second) == 0
    assert library.msptiActivityRegisterCallbacks(None, None) == INVALID
    assert library.msptiActivityEnable(0) == library.msptiActivityEnable(99) == INVALID
    assert library.msptiActivityEnable(HCCL) == library.msptiActivityEnable(MEMCPY) == NOT_PRELOADED
    assert library.msptiEnableDomain(1, first, 1) == NOT_PRELOADED
    assert library.msptiActivityPopExternalCorrelationId(2, None) == INVALID
    assert library.msptiActivityPopExternalCorrelationId(2, ctypes.byref(ctypes.c_uint64())) == NOTHING_PUSHED
    assert library.msptiActivityGetNextRecord(None, ctypes.c_size_t(0), ctypes.byref(first)) == INVALID
    memory = ctypes.create_string_buffer(8)
    assert library.msptiActivityGetNextRecord(memory, ctypes.c_size_t(0), ctypes.byref(first)) == NO_MORE
    capfd.readouterr()
    assert library.msptiActivityEnable(MARKER) == library.msptiActivityEnable(API) == NOT_SIMULATED
    assert "MSPTI_ACTIVITY_KIND_MARKER is not simulated" in capfd.readouterr().err


def work(x: torch.Tensor, weight: torch.Tensor) -> None:
    torch.relu(x @ weight).sum().backward()
    torch.npu.synchronize()


def traced(made: profile, path: Path) -> list[dict[str, Any]]:
    made.export_chrome_trace(str(path))
    return list(json.loads(path.read_text())["traceEvents"])


def test_torch_profiler_has_kernels_and_flows_to_them(tmp_path: Path) -> None:
    x, weight = torch.randn(8, 8).npu(), torch.randn(8, 8).npu().requires_grad_()
    work(x, weight)
    with profile() as made:  # as a user writes it: all activities that there are
        for _ in range(3):
            work(x, weight)
    events = traced(made, tmp_path / "trace.json")
    kernels = [one for one in events if one.get("cat") == "kernel"]
    assert Counter(one["name"] for one in kernels)["aclnnRelu"] == 3
    assert all(one["args"]["type"] == "KERNEL_AICORE" and "streamId" in one["args"] for one in kernels)
    operators = [one for one in events if one.get("cat") == "cpu_op"]
    begin = min(one["ts"] for one in operators)
    end = max(one["ts"] + one["dur"] for one in operators)
    assert all(begin - 1000 <= one["ts"] <= end + 1_000_000 for one in kernels)
    flows = {side: {one["id"] for one in events if one.get("cat") == "ac2g" and one["ph"] == side} for side in "sf"}
    assert flows["s"] and flows["s"] == flows["f"]
    assert "aten::relu" in made.key_averages().table()


def test_torch_profiler_with_a_schedule(tmp_path: Path) -> None:
    x, weight = torch.randn(8, 8).npu(), torch.randn(8, 8).npu().requires_grad_()
    windows: list[list[dict[str, Any]]] = []
    with profile(
        activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1],
        schedule=schedule(wait=1, warmup=1, active=2, repeat=2),
        on_trace_ready=lambda made: windows.append(traced(made, tmp_path / f"{len(windows)}.json")),
    ) as made:
        for _ in range(8):
            work(x, weight)
            made.step()
    counts = [sum(one.get("cat") == "kernel" and one["name"] == "aclnnRelu" for one in each) for each in windows]
    assert counts == [2, 2]
