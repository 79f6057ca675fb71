"""For test_captures.py: what a call answers while a stream is captured; prints the rows whose code is another one.

A row: the call, the mode of the capture, who calls, the mode that the calling thread has chosen, the code. The codes
are those of the checks in CANN's runtime (cann/runtime 681ef7610df1): api_error.cc, api_impl.cc, context_aclgraph.cc.
"""

import ctypes
import sys
import threading
from collections.abc import Callable

acl = ctypes.CDLL("libascendcl.so")
P, SIZE = ctypes.c_void_p, 64
GLOBAL, THREAD_LOCAL, RELAXED = range(3)
TO_DEVICE, WITHIN, IPC = 1, 3, 0x40
OK, PARAM, DEPENDENCY, MODEL, STREAM, EVENT = 0, 107000, 107024, 107026, 107027, 107028
MODE, IMPLICIT, CONFLICT, WRONG_THREAD, BLOCKS = 107030, 107031, 107032, 107038, 107041
FEATURE, INVALID = 207000, 507903


def made(call: str, *arguments) -> P:
    out = P()
    code = getattr(acl, call)(ctypes.byref(out), *arguments)
    assert code == 0, (call, code)
    return out


def event(flags: int = 1) -> P:
    return made("aclrtCreateEventExWithFlag", flags)


class Here:
    """What calls are made with."""

    def __init__(self) -> None:
        self.stream, self.other, self.side = (made("aclrtCreateStream") for _ in range(3))
        self.x, self.y = (made("aclrtMalloc", ctypes.c_size_t(SIZE), 0) for _ in range(2))
        self.pinned, self.host = made("aclrtMallocHost", ctypes.c_size_t(SIZE)), ctypes.create_string_buffer(SIZE)
        self.within, self.outside, self.shared = event(), event(), event(IPC)
        self.done, self.model, self.number = ctypes.c_int(), P(), ctypes.c_float()
        assert acl.aclmdlRICaptureBegin(self.stream, GLOBAL) == 0
        assert acl.aclmdlRICaptureEnd(self.stream, ctypes.byref(self.model)) == 0
        assert acl.aclrtRecordEvent(self.outside, self.other) == 0 == acl.aclrtSynchronizeStream(self.other)

    def copy(self, to, of, kind: int, on: P | None = None) -> int:
        if on is None:
            return acl.aclrtMemcpy(to, ctypes.c_size_t(SIZE), of, ctypes.c_size_t(SIZE), kind)
        return acl.aclrtMemcpyAsync(to, ctypes.c_size_t(SIZE), of, ctypes.c_size_t(SIZE), kind, on)

    def rows(self, on: P | None = None) -> int:
        size = ctypes.c_size_t(8)
        if on is None:
            return acl.aclrtMemcpy2d(self.x, size, self.y, size, size, size, WITHIN)
        return acl.aclrtMemcpy2dAsync(self.x, size, self.host, size, size, size, TO_DEVICE, on)

    def capturing(self) -> P:
        model, status = P(), ctypes.c_int()
        acl.aclmdlRICaptureGetInfo(self.stream, ctypes.byref(status), ctypes.byref(model))
        return model


def size(count: int) -> ctypes.c_size_t:
    return ctypes.c_size_t(count)


CALLS: dict[str, Callable[[Here], int]] = {
    # those that wait and touch memory
    "aclrtMemcpy": lambda h: h.copy(h.x, h.y, WITHIN),
    "aclrtMemcpy, to the device": lambda h: h.copy(h.x, h.host, TO_DEVICE),
    "aclrtMemcpy2d": lambda h: h.rows(),
    "aclrtMemset": lambda h: acl.aclrtMemset(h.x, size(SIZE), 0, size(SIZE)),
    "aclrtMemset, of the host": lambda h: acl.aclrtMemset(h.host, size(SIZE), 0, size(SIZE)),
    "aclrtMemsetD32": lambda h: acl.aclrtMemsetD32(h.x, size(SIZE), 0, size(SIZE // 4)),
    "aclrtMemcpyAsync of pageable memory, on another stream": lambda h: h.copy(h.x, h.host, TO_DEVICE, h.other),
    "aclrtMemcpy2dAsync of pageable memory, on another stream": lambda h: h.rows(h.other),
    "aclrtMemsetAsync of pinned memory": lambda h: acl.aclrtMemsetAsync(h.pinned, size(SIZE), 0, size(SIZE), h.other),
    # tasks
    "aclrtMemcpyAsync": lambda h: h.copy(h.x, h.y, WITHIN, h.stream),
    "aclrtMemcpyAsync of pinned memory": lambda h: h.copy(h.x, h.pinned, TO_DEVICE, h.stream),
    "aclrtMemcpyAsync of pageable memory": lambda h: h.copy(h.x, h.host, TO_DEVICE, h.stream),
    "aclrtMemcpy2dAsync of pageable memory": lambda h: h.rows(h.stream),
    "aclrtMemcpyAsync, on another stream": lambda h: h.copy(h.x, h.y, WITHIN, h.other),
    "aclrtMemsetAsync": lambda h: acl.aclrtMemsetAsync(h.x, size(SIZE), 0, size(SIZE), h.stream),
    # memory, which no capture forbids
    "aclrtMalloc": lambda h: acl.aclrtMalloc(ctypes.byref(P()), size(SIZE), 0),
    "aclrtMallocHost": lambda h: acl.aclrtMallocHost(ctypes.byref(P()), size(SIZE)),
    # synchronizations and queries
    "aclrtSynchronizeStream": lambda h: acl.aclrtSynchronizeStream(h.stream),
    "aclrtSynchronizeStreamWithTimeout": lambda h: acl.aclrtSynchronizeStreamWithTimeout(h.stream, 100),
    "aclrtSynchronizeStream, another": lambda h: acl.aclrtSynchronizeStream(h.other),
    "aclrtSynchronizeDevice": lambda h: acl.aclrtSynchronizeDevice(),
    "aclrtStreamQuery": lambda h: acl.aclrtStreamQuery(h.stream, ctypes.byref(h.done)),
    "aclrtStreamQuery, another": lambda h: acl.aclrtStreamQuery(h.other, ctypes.byref(h.done)),
    "aclrtSynchronizeEvent": lambda h: acl.aclrtSynchronizeEvent(h.within),
    "aclrtSynchronizeEventWithTimeout": lambda h: acl.aclrtSynchronizeEventWithTimeout(h.within, 100),
    "aclrtQueryEventStatus": lambda h: acl.aclrtQueryEventStatus(h.within, ctypes.byref(h.done)),
    "aclrtEventElapsedTime": lambda h: acl.aclrtEventElapsedTime(ctypes.byref(h.number), h.within, h.outside),
    "aclrtSynchronizeEvent, recorded outside": lambda h: acl.aclrtSynchronizeEvent(h.outside),
    "aclrtQueryEventStatus, recorded outside": lambda h: acl.aclrtQueryEventStatus(h.outside, ctypes.byref(h.done)),
    # streams, events and models
    "aclrtDestroyStream": lambda h: acl.aclrtDestroyStream(h.stream),
    "aclrtSetStreamOverflowSwitch": lambda h: acl.aclrtSetStreamOverflowSwitch(h.stream, 0),
    "aclrtGetOverflowStatus": lambda h: acl.aclrtGetOverflowStatus(h.x, size(SIZE), h.stream),
    "aclrtResetOverflowStatus": lambda h: acl.aclrtResetOverflowStatus(h.stream),
    "aclrtRecordEvent of ACL_EVENT_IPC": lambda h: acl.aclrtRecordEvent(h.shared, h.stream),
    "aclrtStreamWaitEvent of ACL_EVENT_IPC": lambda h: acl.aclrtStreamWaitEvent(h.stream, h.shared),
    "aclrtStreamWaitEvent, on the default stream": lambda h: acl.aclrtStreamWaitEvent(None, h.within),
    "aclrtStreamWaitEvent, recorded outside": lambda h: acl.aclrtStreamWaitEvent(h.stream, h.outside),
    "aclmdlRIExecuteAsync": lambda h: acl.aclmdlRIExecuteAsync(h.model, h.stream),
    "aclmdlRIExecuteAsync, on another stream": lambda h: acl.aclmdlRIExecuteAsync(h.model, h.other),
    "aclmdlRIDestroy": lambda h: acl.aclmdlRIDestroy(h.capturing()),
    "aclmdlRICaptureBegin, once more": lambda h: acl.aclmdlRICaptureBegin(h.stream, GLOBAL),
    "aclmdlRICaptureThreadExchangeMode of 3": lambda h: acl.aclmdlRICaptureThreadExchangeMode(
        ctypes.byref(ctypes.c_int(3))
    ),
    "aclmdlRICaptureThreadExchangeMode of nothing": lambda h: acl.aclmdlRICaptureThreadExchangeMode(None),
}  # fmt: skip
WAITS = list(CALLS)[:9]
IN_EVERY_MODE = dict.fromkeys(list(CALLS)[9:], OK) | {
    "aclrtMemcpyAsync of pageable memory": PARAM,
    "aclrtMemcpy2dAsync of pageable memory": PARAM,
    "aclrtSynchronizeStream": STREAM,
    "aclrtSynchronizeStreamWithTimeout": STREAM,
    "aclrtSynchronizeDevice": STREAM,
    "aclrtStreamQuery": STREAM,
    "aclrtSynchronizeEvent": EVENT,
    "aclrtSynchronizeEventWithTimeout": EVENT,
    "aclrtQueryEventStatus": EVENT,
    "aclrtEventElapsedTime": EVENT,
    "aclrtDestroyStream": STREAM,
    "aclrtSetStreamOverflowSwitch": STREAM,
    "aclrtGetOverflowStatus": STREAM,
    "aclrtResetOverflowStatus": STREAM,
    "aclrtRecordEvent of ACL_EVENT_IPC": FEATURE,
    "aclrtStreamWaitEvent of ACL_EVENT_IPC": FEATURE,
    "aclrtStreamWaitEvent, on the default stream": IMPLICIT,
    "aclrtStreamWaitEvent, recorded outside": DEPENDENCY,
    "aclmdlRIExecuteAsync": STREAM,
    "aclmdlRIDestroy": MODEL,
    "aclmdlRICaptureBegin, once more": STREAM,
    "aclmdlRICaptureThreadExchangeMode of 3": PARAM,
    "aclmdlRICaptureThreadExchangeMode of nothing": PARAM,
}
# capture's mode, whether the thread that began it calls, that thread's chosen mode: whether what waits is forbidden
FORBIDS = {
    (GLOBAL, True, GLOBAL): True, (GLOBAL, True, THREAD_LOCAL): True, (GLOBAL, True, RELAXED): False,
    (GLOBAL, False, GLOBAL): True, (GLOBAL, False, THREAD_LOCAL): False, (GLOBAL, False, RELAXED): False,
    (THREAD_LOCAL, True, GLOBAL): True, (THREAD_LOCAL, True, THREAD_LOCAL): True, (THREAD_LOCAL, True, RELAXED): False,
    (THREAD_LOCAL, False, GLOBAL): False, (THREAD_LOCAL, False, THREAD_LOCAL): False,
    (THREAD_LOCAL, False, RELAXED): False,
    (RELAXED, True, GLOBAL): False, (RELAXED, True, THREAD_LOCAL): False, (RELAXED, True, RELAXED): False,
    (RELAXED, False, GLOBAL): False, (RELAXED, False, THREAD_LOCAL): False, (RELAXED, False, RELAXED): False,
}  # fmt: skip
wrong: list[str] = []
seen = 0


def expect(what: str, code: int, expected: int) -> None:
    global seen
    seen += 1
    if code != expected:
        wrong.append(f"{what}: {code}, expected {expected}")


def on_a_thread(body: Callable[[], object]) -> None:
    thread = threading.Thread(target=body)
    thread.start()
    thread.join()


def table(h: Here) -> None:
    for (mode, own, chosen), forbidden in FORBIDS.items():
        assert acl.aclmdlRICaptureBegin(h.stream, mode) == 0 == acl.aclrtRecordEvent(h.within, h.stream)

        def calls(mode=mode, own=own, chosen=chosen, forbidden=forbidden) -> None:
            assert acl.aclrtSetDevice(0) == 0
            before = ctypes.c_int(chosen)
            assert acl.aclmdlRICaptureThreadExchangeMode(ctypes.byref(before)) == 0 == before.value
            at = f"mode {mode}, {'the same' if own else 'another'} thread, its mode {chosen}"
            for name in WAITS:
                code = (BLOCKS if "Async of pageable" in name else MODE) if forbidden else OK
                expect(f"{at}: {name}", CALLS[name](h), code)
            if chosen == GLOBAL:
                for name, code in IN_EVERY_MODE.items():
                    expect(f"{at}: {name}", CALLS[name](h), code)
            assert acl.aclmdlRICaptureThreadExchangeMode(ctypes.byref(before)) == 0 and before.value == chosen

        calls() if own else on_a_thread(calls)
        # what was refused leaves the capture as it was
        expect(f"mode {mode}: aclmdlRICaptureEnd", acl.aclmdlRICaptureEnd(h.stream, ctypes.byref(P())), OK)
        expect("aclrtMemcpy after the capture", CALLS["aclrtMemcpy"](h), OK)


def ends(h: Here) -> None:
    """What only the end of a capture tells."""
    expect("aclmdlRICaptureBegin, mode 3", acl.aclmdlRICaptureBegin(h.stream, 3), PARAM)
    expect("aclmdlRICaptureBegin, the default stream", acl.aclmdlRICaptureBegin(None, GLOBAL), PARAM)
    for mode, code in ((GLOBAL, WRONG_THREAD), (THREAD_LOCAL, WRONG_THREAD), (RELAXED, OK)):
        assert acl.aclmdlRICaptureBegin(h.stream, mode) == 0

        def end(mode=mode, code=code) -> None:
            expect(f"end, another thread, mode {mode}", acl.aclmdlRICaptureEnd(h.stream, ctypes.byref(P())), code)

        on_a_thread(end)
    for stream in (h.stream, h.side):
        assert acl.aclmdlRICaptureBegin(stream, GLOBAL) == 0
    assert acl.aclrtRecordEvent(h.within, h.stream) == 0
    expect("an event of another capture", acl.aclrtStreamWaitEvent(h.side, h.within), CONFLICT)
    for stream in (h.stream, h.side):
        expect("the end of both", acl.aclmdlRICaptureEnd(stream, ctypes.byref(P())), INVALID)
    # a stream with work of its own joins
    assert acl.aclmdlRICaptureBegin(h.stream, GLOBAL) == 0 == acl.aclrtRecordEvent(h.within, h.stream)
    CALLS["aclrtMemcpyAsync, on another stream"](h)
    expect("a join", acl.aclrtStreamWaitEvent(h.other, h.within), OK)
    expect("an end without a join back", acl.aclmdlRICaptureEnd(h.stream, ctypes.byref(P())), 107025)
    # a reset of the device ends the capture, and what it forbids
    assert acl.aclmdlRICaptureBegin(h.stream, GLOBAL) == 0
    assert acl.aclrtResetDeviceForce(0) == 0 == acl.aclrtSetDevice(0)
    x = made("aclrtMalloc", size(SIZE), 0)
    expect("aclrtMemset after a reset", acl.aclrtMemset(x, size(SIZE), 0, size(SIZE)), OK)


if __name__ == "__main__":
    assert acl.aclInit(None) == 0 == acl.aclrtSetDevice(0)
    here = Here()
    table(here)
    ends(here)
    print(seen, len(wrong), *wrong, sep="\n")
    sys.exit(bool(wrong))
