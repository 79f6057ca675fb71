"""``via="record_function"``: calls are counted and timed in C++, through torch's own RecordFunction, without Python.

No function of Python's can be called for a call, so it serves the observers that only count and measure.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable
from typing import Any

from ophook_npu.errors import OphookError
from ophook_npu.hooks import _choose, _stance
from ophook_npu.hooks._handler import Handler, OnMiss
from ophook_npu.hooks._hook import Hook
from ophook_npu.hooks._protocol import NEED_TEXT, NEEDS, Installed, Spec
from ophook_npu.hooks._recorder import Recorder
from ophook_npu.hooks.targets import resolve

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
    return _Installed(spec)


def record(
    where: str,
    target: Any,
    everything: bool,
    *,
    phase: str | None,
    every: int,
    needs: Iterable[str] = (),
    on_miss: OnMiss = "handle",
    times: bool,
    spans: int = 0,
    **options: Any,
) -> tuple[Hook, Recorder]:
    """A hook that only records, and its recorder.

    Raises:
        OphookError: an unknown target, need or option, or what the recorder cannot see or be built from.
    """
    if options:
        raise OphookError(where, f"unknown option {next(iter(options))!r}", allowed=f"none for via={NAME!r}")
    needs = frozenset([needs] if isinstance(needs, str) else needs)
    for need in sorted(needs):
        if need not in NEEDS:
            raise OphookError(where, f"unknown need {need!r}", allowed=", ".join(NEEDS))
        if SEES[need] != "yes":
            raise OphookError(
                where, f"via={NAME!r}: {need} ({NEED_TEXT[need]}): {SEES[need]}", todo="via='dynamo' sees them"
            )
    targets = resolve(target)
    recorder = Recorder(
        None if everything else (op._name for op in targets.ops), phase, every, times=times, spans=spans
    )
    handler = Handler(targets.label, around=_never, counted=lambda: recorder.calls, on_miss=on_miss)
    spec = Spec(targets.label, "op", handler, targets=targets, needs=needs, options={"recorder": recorder})
    return Hook(spec, *_choose.choose(spec, NAME)), recorder


def _never(*call: Any) -> Any:
    raise AssertionError("calls stay in C++")


class _Installed:
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
