"""For test_order.py: functions that begin with ``wrong`` have one mistake in the order of streams, the others none."""

import ctypes

import torch

NPU = "npu"
acl = ctypes.CDLL("libascendcl.so")
DEVICE_TO_HOST = 2


def ones() -> torch.Tensor:
    x = torch.ones(64, 64, device=NPU)
    torch.npu.synchronize()
    return x


def copied(x: torch.Tensor) -> None:
    there = ctypes.create_string_buffer(x.nbytes)
    acl.aclrtMemcpy(there, x.nbytes, ctypes.c_void_p(x.data_ptr()), x.nbytes, DEVICE_TO_HOST)


def wrong_no_event() -> None:
    x, side = ones(), torch.npu.Stream()
    x.mul_(2)
    with torch.npu.stream(side):
        x + 1


def right_event() -> None:
    x, side = ones(), torch.npu.Stream()
    x.mul_(2)
    side.wait_stream(torch.npu.current_stream())
    with torch.npu.stream(side):
        y = x + 1
    torch.npu.current_stream().wait_stream(side)
    y.add_(1)
    x.add_(1)


def right_host_waits() -> None:
    x, side, event = ones(), torch.npu.Stream(), torch.npu.Event()
    x.mul_(2)
    event.record()
    event.synchronize()
    with torch.npu.stream(side):
        x + 1
    while not side.query():
        pass
    x.mul_(2)


def wrong_two_writes() -> None:
    x, side = ones(), torch.npu.Stream()
    with torch.npu.stream(side):
        x.mul_(2)
    x.add_(1)


def right_halves() -> None:
    x, side = ones(), torch.npu.Stream()
    x[:, :32].mul_(2)
    with torch.npu.stream(side):
        x[:, 32:].mul_(2)


def wrong_no_record_stream() -> None:
    x, side = ones(), torch.npu.Stream()
    with torch.npu.stream(side):
        x + 1
    del x
    torch.empty(64, 64, device=NPU).fill_(3)


def right_record_stream() -> None:
    x, side = ones(), torch.npu.Stream()
    with torch.npu.stream(side):
        x + 1
    x.record_stream(side)
    del x
    torch.empty(64, 64, device=NPU).fill_(3)


def wrong_blocking_copy() -> None:
    x, side = ones(), torch.npu.Stream()
    with torch.npu.stream(side):
        x.mul_(2)
    copied(x)


def right_blocking_copy() -> None:
    x, side = ones(), torch.npu.Stream()
    with torch.npu.stream(side):
        x.mul_(2)
    side.synchronize()
    copied(x)


def handle(stream: torch.npu.Stream) -> ctypes.c_void_p:
    return ctypes.c_void_p(stream.npu_stream)


def by_notify(wait_first: bool) -> None:
    x, side, notify = ones(), torch.npu.Stream(), ctypes.c_void_p()
    assert acl.aclrtCreateNotify(ctypes.byref(notify), 0) == 0
    if wait_first:
        assert acl.aclrtWaitAndResetNotify(notify, handle(side), 0) == 0
        with torch.npu.stream(side):
            y = x + 1
        x.record_stream(side)
        acl.aclrtRecordNotify(notify, handle(torch.npu.current_stream()))
    else:
        x.mul_(2)
        acl.aclrtRecordNotify(notify, handle(torch.npu.current_stream()))
        assert acl.aclrtWaitAndResetNotify(notify, handle(side), 0) == 0
        with torch.npu.stream(side):
            y = x + 1
        x.record_stream(side)
    side.synchronize()
    assert y.sum().item() == 64 * 64 * (2 if wait_first else 3)
    assert acl.aclrtDestroyNotify(notify) == 0
    assert acl.aclrtDestroyNotify(notify) == 107000


def right_notify() -> None:
    by_notify(False)


def right_notify_that_is_waited_for_first() -> None:
    by_notify(True)


def right_filled_host_memory() -> None:
    here = ctypes.c_void_p()
    assert acl.aclrtMallocHost(ctypes.byref(here), 16) == 0
    assert acl.aclrtMemsetD32(here, 16, 7, 4) == 0 and acl.aclrtMemsetD32Async(here, 16, 7, 5, None) == 107000
    assert list((ctypes.c_int * 4).from_address(here.value)) == [7] * 4
    assert acl.aclrtMemset(here, 16, 1, 3) == 0
    assert bytes((ctypes.c_char * 4).from_address(here.value)) == bytes([1, 1, 1, 0])
    assert acl.aclrtFreeHost(here) == 0


def wrong_early_read() -> None:
    x, there = ones(), torch.zeros(64, 64).pin_memory()
    there.copy_(x, non_blocking=True)
    there.sum()


def wrong_source_overwritten() -> None:
    here, x = torch.ones(64, 64).pin_memory(), ones()
    x.copy_(here, non_blocking=True)
    here.sum()  # both read
    here.zero_()


def right_pinned() -> None:
    here, there, x = torch.ones(64, 64).pin_memory(), torch.zeros(64, 64).pin_memory(), ones()
    x.copy_(here, non_blocking=True)
    there.copy_(x, non_blocking=True)
    event = torch.npu.Event()
    event.record()
    event.synchronize()
    assert there.sum() == 64 * 64
    here.zero_()


def right_parts_of_a_pinned_buffer() -> None:
    here, x = torch.ones(2, 16).pin_memory(), torch.ones(16, device=NPU)
    x.copy_(here[0], non_blocking=True)
    here[1].zero_()  # of the same page, and not of the copy


def in_graph(ordered: bool) -> None:
    x, side, graph = ones(), torch.npu.Stream(), torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        main = torch.npu.current_stream()
        side.wait_stream(main)
        with torch.npu.stream(side):
            x.mul_(2)
        if ordered:
            main.wait_stream(side)
        x.add_(1)
        if not ordered:
            main.wait_stream(side)
    graph.replay()
    torch.npu.synchronize()


def wrong_in_a_graph() -> None:
    in_graph(False)


def right_in_a_graph() -> None:
    in_graph(True)


def wrong_around_a_replay() -> None:
    x, side, graph = ones(), torch.npu.Stream(), torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        x.mul_(2)
    graph.replay()
    with torch.npu.stream(side):
        x.add_(1)


def right_around_a_replay() -> None:
    x, side, graph = ones(), torch.npu.Stream(), torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        x.mul_(2)
    for _ in range(2):
        graph.replay()
        side.wait_stream(torch.npu.current_stream())
        with torch.npu.stream(side):
            x.add_(1)
        torch.npu.current_stream().wait_stream(side)


if __name__ == "__main__":
    for name, function in list(globals().items()):
        if name.startswith(("wrong_", "right_")):
            function()
            torch.npu.synchronize()
