"""For test_order.py: planted faults of views, of memory that two share, and of host functions, as in order_table.py."""

import contextlib
import ctypes
import threading
from collections.abc import Callable

import torch
from order_table import DEVICE_TO_DEVICE, acl, from_row, handle, material, run

FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
KEPT = []


def host_function(stream: torch.npu.Stream, call: Callable[[], object]) -> None:
    KEPT.append(FUNCTION(lambda _: call()))
    assert acl.aclrtLaunchHostFunc(ctypes.c_void_p(stream.npu_stream), KEPT[-1], None) == 0


def copied_rows(m) -> None:
    to, of = ctypes.c_void_p(m.x.data_ptr()), ctypes.c_void_p(m.y.data_ptr())
    assert acl.aclrtMemcpy2dAsync(to, 128, of, 128, 64, 32, DEVICE_TO_DEVICE, handle()) == 0


ROWS = {
    "a diagonal, and a view of one's own strides": (
        lambda m: m.x.diagonal().add_(1), lambda m: m.x.as_strided((16, 2), (64, 1), 33).sum()
    ),
    "a column that is expanded": (lambda m: m.kept.append(m.x + m.y[:, :1].expand(32, 32)), lambda m: m.y[7].zero_()),
    "another tensor of the same storage": (
        lambda m: torch.empty(0, device="npu").set_(m.x.untyped_storage(), 64, (8, 8), (8, 1)).add_(1),
        lambda m: m.x[2] * 2,
    ),
    "pyACL: rows of a pitch": (copied_rows, lambda m: m.x[:, 15:].sum()),
}  # fmt: skip


def apart(first: Callable, meets: Callable, misses: Callable) -> Callable[[bool], None]:
    """The twin has no order either, and needs none: its second view shares no byte with the first."""

    def fault(ordered: bool) -> None:
        m, side = material(), torch.npu.Stream()
        torch.npu.synchronize()
        first(m)
        with torch.npu.stream(side):
            m.kept.append((misses if ordered else meets)(m))
        torch.npu.synchronize()

    return fault


APART = {
    "two halves that share a column": (
        lambda m: m.x[:, :17].mul_(2), lambda m: m.x[:, 16:].sum(), lambda m: m.x[:, 17:].sum()
    ),
    "each second row, and each third": (
        lambda m: m.x[::2].mul_(2), lambda m: m.x[::3].sum(), lambda m: m.x[1::2].sum()
    ),
    "a channel of an image, channels last": (
        lambda m: m.image.permute(0, 2, 3, 1)[..., 0].mul_(2), lambda m: m.image[0, 0].sum(),
        lambda m: m.image[0, 1].sum(),
    ),
}  # fmt: skip


def data_replaced(ordered: bool) -> None:
    m, side = material(), torch.npu.Stream()
    x = torch.ones(700, 700, device="npu")
    torch.npu.synchronize()
    with torch.npu.stream(side):
        m.kept.append(x * 2)
    if ordered:
        x.record_stream(side)
    x.data = torch.empty(0, device="npu")
    m.kept.append(torch.zeros(700, 700, device="npu"))


def event_of_two_streams(ordered: bool) -> None:
    m, one, two, side = material(), torch.npu.Stream(), torch.npu.Stream(), torch.npu.Stream()
    event, other = torch.npu.Event(), torch.npu.Event()
    torch.npu.synchronize()
    with torch.npu.stream(one):
        m.x.mul_(2)
        event.record()
    with torch.npu.stream(two):
        m.y.mul_(2)
        (other if ordered else event).record()
    side.wait_event(event)
    with torch.npu.stream(side):
        m.kept.append(m.x + 1)


def graphs_of_one_pool(ordered: bool) -> None:
    m, side = material(), torch.npu.Stream()
    one, two = torch.npu.NPUGraph(), torch.npu.NPUGraph()
    torch.npu.synchronize()
    with torch.npu.graph(one):
        m.out = (m.x * 2 + 1).relu()
    with torch.npu.graph(two, pool=one.pool()):
        m.other = (m.y * 3 + 1).relu()
    torch.npu.synchronize()
    one.replay()
    if ordered:
        side.wait_stream(torch.npu.current_stream())
    with torch.npu.stream(side):
        two.replay()
    torch.npu.synchronize()


def freed_by_a_host_function(ordered: bool) -> None:
    m, one, two, memory = material(), torch.npu.Stream(), torch.npu.Stream(), ctypes.c_void_p()
    assert acl.aclrtMalloc(ctypes.byref(memory), 4096, 0) == 0
    torch.npu.synchronize()
    with torch.npu.stream(two):
        to = ctypes.c_void_p(m.x.data_ptr())
        assert acl.aclrtMemcpyAsync(to, 4096, memory, 4096, DEVICE_TO_DEVICE, handle()) == 0
    if ordered:
        one.wait_stream(two)
    host_function(one, lambda: acl.aclrtFree(memory))
    with contextlib.suppress(RuntimeError):  # on a busy machine the copy comes too late, and fails
        torch.npu.synchronize()


def after_a_copy(to_host: bool) -> Callable[[bool], None]:
    def fault(ordered: bool) -> None:
        m, one, two = material(), torch.npu.Stream(), torch.npu.Stream()
        value = ctypes.c_float.from_address(m.pinned.data_ptr())
        torch.npu.synchronize()
        with torch.npu.stream(two):
            (m.pinned.copy_(m.x, non_blocking=True) if to_host else m.x.copy_(m.pinned, non_blocking=True))
        if ordered:
            one.wait_stream(two)
        host_function(one, (lambda: value.value) if to_host else (lambda: setattr(value, "value", 7.0)))
        torch.npu.synchronize()

    return fault


def before_a_copy(ordered: bool) -> None:
    m, one, two, launched = material(), torch.npu.Stream(), torch.npu.Stream(), threading.Event()
    value = ctypes.c_float.from_address(m.pinned.data_ptr())
    torch.npu.synchronize()
    host_function(one, lambda: (launched.wait(60), setattr(value, "value", 7.0)))
    with torch.npu.stream(one if ordered else two):
        m.x.copy_(m.pinned, non_blocking=True)
    launched.set()
    one.synchronize()  # before the host waits for the copy
    torch.npu.synchronize()


if __name__ == "__main__":
    run(
        {name: from_row(*row) for name, row in ROWS.items()}
        | {name: apart(*row) for name, row in APART.items()}
        | {
            "data replaced while in use": data_replaced,
            "an event that another stream records": event_of_two_streams,
            "two graphs of one pool": graphs_of_one_pool,
            "freed by a host function": freed_by_a_host_function,
            "a host function reads what a copy writes": after_a_copy(to_host=True),
            "a host function overwrites a copy's source": after_a_copy(to_host=False),
            "a host function writes a copy's source late": before_a_copy,
        }
    )
