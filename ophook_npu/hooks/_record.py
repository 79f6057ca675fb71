"""What observers that only count and measure ask for: a hook whose calls stay in C++, and its recorder."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ophook_npu.errors import OphookError
from ophook_npu.hooks import _choose
from ophook_npu.hooks._handler import Handler, OnMiss
from ophook_npu.hooks._hook import Hook
from ophook_npu.hooks._protocol import NEED_TEXT, NEEDS, Spec
from ophook_npu.hooks._recorder import Recorder
from ophook_npu.hooks.record_function import NAME, SEES
from ophook_npu.hooks.targets import resolve


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
