"""``via="record_function"``: calls are counted and timed in C++, through torch's own RecordFunction, without Python.

No function of Python's can be called for a call, so it serves the observers that only count and measure.
"""

from __future__ import annotations

import contextlib
import threading

from ophook_npu.hooks import _stance
from ophook_npu.hooks._protocol import Installed, Spec
from ophook_npu.hooks._recorder import Recorder

__all__ = ["KINDS", "NAME", "OPTIONS", "SEES", "SUMMARY", "install", "refuse"]

NAME = "record_function"
SUMMARY = (
    "torch's RecordFunction, in C++: every operator the dispatcher is asked for, so composite ones and those that "
    "kernels call are calls of their own, inside the one that called them"
)
KINDS = frozenset({"op"})
SEES = {
    "compile": "compiled functions run eagerly while the observer is on; of compiled code it would see the kernels "
    "that are called through the dispatcher, not those that the compiler wrote",
    "autograd": "yes",
    "threads": "yes",
    "vmap": "yes",
    "inference": "yes",
}
_BLIND = "It knows no modules, counts no FLOPs and measures host time only"
OPTIONS = {"recorder": "what counts and times; observers make it"}


def refuse(spec: Spec) -> str | None:
    if not isinstance(spec.options.get("recorder"), Recorder):
        return "it counts and times calls in C++ and shows none of them to Python; observe.Stats and Profile take it"
    return None


def install(spec: Spec) -> Installed:
    return _Recording(spec)


class _Recording:
    def __init__(self, spec: Spec) -> None:
        self._recorder: Recorder = spec.options["recorder"]
        self._handler = spec.handler
        self.per_thread = "threads" not in spec.needs
        self._place = threading.local() if self.per_thread else _Anywhere()
        threads = "this thread and its backward passes" if self.per_thread else "all threads"
        self.notes = [f"It records {threads}", _BLIND]
        if self._handler.on_miss == "ignore":
            self.notes.append("Kernels that a compiler wrote are not seen")

    def enable(self) -> None:
        with contextlib.ExitStack() as undo:
            _stance.enter(undo, _stance.for_unseen_regions(self._handler))
            undo.enter_context(self._recorder.recording(everywhere=not self.per_thread))
            self._place.undo = undo.pop_all()

    def disable(self) -> None:
        self._place.undo.close()

    def remove(self) -> None:
        pass


class _Anywhere:
    undo: contextlib.ExitStack
