"""What C++ counts and times through torch's RecordFunction: built where it is used, read by the observers."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import functools
import json
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from ophook_npu import native
from ophook_npu.errors import OphookError

_WHERE = "record_function"


@dataclasses.dataclass(frozen=True)
class SeenTensor:
    """``shape`` is ``None`` where a tensor has no sizes of its own: nested tensors, sizes that are symbols."""

    dtype: str
    itemsize: int
    shape: tuple[int, ...] | None


@dataclasses.dataclass(frozen=True)
class CallKind:
    """All calls of one thread that look the same. Times in ns; ``times`` within 3.2 %: duration -> how many."""

    op: str
    phase: str
    ins: tuple[SeenTensor, ...]
    outs: tuple[SeenTensor, ...]
    calls: int
    total: int
    own: int
    memory: int
    times: Counter[int]


@dataclasses.dataclass(frozen=True)
class Span:
    kind: CallKind
    start: int
    took: int
    thread: int


class Recorder:
    """What one observer records.

    Args:
        names: only these operators (``aten::add.Tensor``); ``None`` for all.
        phase: only ``"forward"`` or ``"backward"``.
        every: only every n-th call.
        times: measure, not only count.
        spans: how many calls to keep one by one.

    Raises:
        OphookError: it cannot be built here, or too many recorders exist.
    """

    def __init__(
        self, names: Iterable[str] | None, phase: str | None, every: int, *, times: bool, spans: int = 0
    ) -> None:
        self._library = library()
        wanted = None if names is None else "\n".join(names).encode()
        which = {None: 0, "forward": 1, "backward": 2}[phase]
        self._slot = self._library.ophook_open(wanted, which, every, int(times))
        if self._slot < 0:
            raise OphookError(
                _WHERE,
                "16 observers record already",
                todo="disable some of them, or take one without via='record_function'",
            )
        self._close = weakref.finalize(self, self._library.ophook_close, self._slot)
        self._spans = spans
        self.clear()

    @contextlib.contextmanager
    def recording(self, everywhere: bool) -> Iterator[None]:
        """Records what this thread calls and its backward passes, on whatever thread they run; or what all threads
        call."""
        handle = self._library.ophook_enable(self._slot, int(everywhere))
        try:
            yield
        finally:
            self._library.ophook_disable(self._slot, handle)

    @property
    def calls(self) -> int:
        calls: int = self._library.ophook_calls(self._slot)
        return calls

    def clear(self) -> None:
        self._library.ophook_clear(self._slot, self._spans)

    def kinds(self) -> list[CallKind]:
        return [kind for kinds, _ in self._tables() for kind in kinds.values()]

    def spans(self) -> list[Span]:
        return [Span(kinds[number], *times) for kinds, spans in self._tables() for number, *times in spans]

    def _tables(self) -> Iterator[tuple[dict[int, CallKind], list[list[int]]]]:
        text = self._library.ophook_dump(self._slot)
        try:
            tables = json.loads(ctypes.string_at(text))
        finally:
            self._library.ophook_free(text)
        for table in tables:
            yield {kind["number"]: _kind(kind) for kind in table["kinds"]}, table["spans"]


def _kind(data: dict[str, Any]) -> CallKind:
    ins, outs = (
        tuple(SeenTensor(dtype, size, None if shape is None else tuple(shape)) for dtype, size, shape in data[name])
        for name in ("ins", "outs")
    )
    phase = "backward" if data["backward"] else "forward"
    calls, total, own, memory = (data[name] for name in ("calls", "total", "own", "memory"))
    return CallKind(data["op"], phase, ins, outs, calls, total, own, memory, Counter(dict(data["times"])))


@functools.cache
def library() -> ctypes.CDLL:
    """The compiled recorder; built on first use.

    Raises:
        OphookError: there is no C++ compiler, or it cannot compile against the installed torch.
    """
    try:
        path = native.library("libophook_record_function.so")
    except OphookError as error:
        raise OphookError(
            _WHERE,
            f"it is compiled where it is used, and that failed: {error}",
            todo="fix that, or leave out via='record_function': a dispatch mode needs no compiler",
        ) from error
    loaded = ctypes.CDLL(str(path))
    slot, number = ctypes.c_int, ctypes.c_uint64
    for name, result, *arguments in (
        ("open", slot, ctypes.c_char_p, ctypes.c_int, number, ctypes.c_int),
        ("close", None, slot),
        ("enable", number, slot, ctypes.c_int),
        ("disable", None, slot, number),
        ("calls", number, slot),
        ("clear", None, slot, ctypes.c_int64),
        ("dump", ctypes.c_void_p, slot),
        ("free", None, ctypes.c_void_p),
    ):
        function = getattr(loaded, f"ophook_{name}")
        function.restype, function.argtypes = result, arguments
    return loaded
