"""What all observers share: one hook, filters, a context manager, and the promise never to report nothing silently."""

from __future__ import annotations

import fnmatch
import inspect
import itertools
import sys
import threading
import warnings
from collections.abc import Callable, Iterable
from typing import Any, Literal

from typing_extensions import Unpack

from ophook_npu.errors import OphookError
from ophook_npu.hooks import Call, Hook, record_function
from ophook_npu.hooks._call import Proceed
from ophook_npu.hooks._handler import Check, OnMiss
from ophook_npu.hooks._hook import plan
from ophook_npu.hooks._protocol import MechanismOptions, Need, refuse_unknown
from ophook_npu.hooks._recorder import Recorder
from ophook_npu.hooks._trampoline import unhooked
from ophook_npu.hooks.targets import is_composite

EVERYTHING = "*::*"

# Whose calls a mechanism sees, in words for readers who did not choose it.
_WHOSE = {"dispatch_mode": "of this thread", "impl_override": "of all threads"}

Phase = Literal["forward", "backward"]


class HookOptions(MechanismOptions, total=False):
    """What an observer hands on to :func:`ophook_npu.hook`."""

    needs: Iterable[Need]
    check: Check


class Filters(HookOptions, total=False):
    """The keywords that every observer takes."""

    modules: str | Iterable[str] | None
    phase: Phase | None
    every: int
    via: str
    on_miss: OnMiss


class NothingSeenWarning(UserWarning):
    """An observer's block ended without a single call: the report is empty, and the warning says why it may be."""


class Observer:
    """Looks at calls of operators while its ``with`` block runs. Subclasses say what they do with a call.

    Args:
        target: which operators, as for :func:`ophook_npu.hook`; all of them by default.
        modules: only calls from modules whose path matches one of these globs, such as ``"layers.*.attn"``. Backward
            has no module.
        phase: only ``"forward"`` or ``"backward"``.
        every: look at every n-th call only (sampling).
        via, on_miss, options: as for :func:`ophook_npu.hook`. The default sees every operator of this thread,
            forward and backward; compiled functions run eagerly meanwhile. ``via="dynamo"`` looks inside compiled
            graphs instead. ``via="record_function"`` counts and times in C++ (Stats and Profile only); with
            ``needs="threads"`` on all threads.

    A file that cannot be written, as on a full disk, ends the writing and not the program: it is said once, on standard
    error, and :attr:`unwritten` is why.

    ``with`` nests and may be entered again; what is seen adds up until :meth:`clear`. :attr:`how` says what the
    mechanism can see, :attr:`cut_short` what ended the block early: an exception, an exit status, a signal.
    """

    NAME = "observer"
    COMPUTES = False  # whether it computes with the tensors of calls, which no hook of the program may see
    warns = True  # if the block ends without a single call; who reads :attr:`seen` switches it off

    def __init__(
        self,
        target: Any = EVERYTHING,
        *,
        modules: str | Iterable[str] | None = None,
        phase: Phase | None = None,
        every: int = 1,
        via: str = "auto",
        on_miss: OnMiss = "handle",
        **options: Unpack[HookOptions],
    ) -> None:
        own = inspect.getfullargspec(type(self).__init__).kwonlyargs
        refuse_unknown(self.NAME, options, {*own, *Filters.__annotations__})
        if phase not in (None, "forward", "backward"):
            raise OphookError(self.NAME, f"unknown phase {phase!r}", allowed="forward, backward, or None for both")
        if every < 1:
            raise OphookError(self.NAME, f"every={every}", allowed="a whole number from 1 on")
        self.cut_short: str | None = None
        self._phase = phase
        self._plain = via == "auto" and not options
        self.chosen = _chosen(target, modules, phase)  # in words; empty for all calls
        self.unwritten: str | None = None
        self._lock = threading.Lock()
        self.recorder: Recorder | None = None
        if via == record_function.NAME:
            if modules is not None:
                raise OphookError(self.NAME, f"modules={modules!r}: via={via!r} knows no modules", todo="leave out via")
            self.hook, self.recorder = self._record_natively(
                target, target == EVERYTHING, phase=phase, every=every, on_miss=on_miss, **options
            )
            return
        kind = type(self)
        around = kind.around is not Observer.around
        alone = _unhooked if self.COMPUTES else lambda function: function
        self.hook = Hook(
            *plan(
                target,
                before=alone(self.before) if kind.before is not Observer.before else None,
                after=alone(self.after) if kind.after is not Observer.after else None,
                around=self.around if around else None,
                counted=self.counted if around else None,
                reads=self.COMPUTES,
                when=_filter(modules, phase, every),
                via=via,
                on_miss=on_miss,
                **options,
            )
        )

    def before(self, call: Call) -> None:
        """Called before the operator runs."""

    def after(self, call: Call) -> None:
        """Called after it ran, unless it raised."""

    def around(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], proceed: Proceed) -> Any:
        """Instead of both, where every µs counts: runs the call and returns its result. No Call is made, and
        :meth:`counted` says how many there were."""
        raise NotImplementedError

    def counted(self) -> int:
        """How many calls went through :meth:`around`."""
        raise NotImplementedError

    def _record_natively(self, target: Any, everything: bool, **filters: Any) -> tuple[Hook, Recorder]:
        raise OphookError(
            self.NAME,
            f"via={record_function.NAME!r} counts and times calls in C++ and shows none of them to Python",
            allowed="it serves Stats and Profile",
            todo="leave out via",
        )

    def clear(self) -> None:
        """Forgets what was seen."""
        self.cut_short = None
        if self.recorder is not None:
            self.recorder.clear()
        self.hook.reset(recorded=None if self.recorder is None else 0)

    def report(self) -> str:
        """What was seen, as text."""
        raise NotImplementedError

    def to_json(self) -> Any:
        """What was seen, as plain data."""
        raise NotImplementedError

    def put(self, write: Callable[[], Any]) -> bool:
        """Calls ``write``, which writes to a file; ``False`` if it could not, or an earlier one could not."""
        if self.unwritten is not None:
            return False
        try:
            write()
        except Exception as error:
            if not isinstance(error, OSError) and type(error).__name__ != "SafetensorError":
                raise
            with self._lock:
                if self.unwritten is None:
                    self.unwritten = (getattr(error, "strerror", None) or str(error)).strip().splitlines()[0]
                    text = f"[{self.NAME}] cannot write: {self.unwritten}."
                    print(f"{text} The program goes on; no later call is written", file=sys.stderr)
            return False
        return True

    @property
    def in_graphs(self) -> bool:
        """Whether calls of compiled graphs are seen, each of which has a node."""
        return self.hook.via == "dynamo"

    @property
    def seen(self) -> int:
        """How many calls were looked at."""
        return self.hook.hits

    @property
    def how(self) -> str:
        """How calls are observed, and what that cannot see."""
        text = self._seen_plainly() if self._plain and self.hook.via in _WHOSE else self.hook.why
        for reason, count in self.hook.misses.items():
            text += f"\nnot seen: {count} x {reason}"
        if self.cut_short is not None:
            text += f"\nended early by {self.cut_short}: this is what ran until then"
        return text

    def _seen_plainly(self) -> str:
        calls = f"calls that match {self.chosen}," if self.chosen else "all operators"
        phases = "" if self._phase else ", forward and backward"
        apart = self.hook.via == "dispatch_mode" and any(map(is_composite, self.hook.ops))
        inside = "; composite ones as the operators they call" if apart else ""
        return f"Seen: {calls} {_WHOSE[self.hook.via]}{phases}{inside}"

    def __enter__(self) -> Any:
        self.hook.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, *exc: object) -> None:
        self.hook.__exit__()
        self.cut_short = _end(kind, exc[0] if exc else None) or self.cut_short
        if kind is None and self.seen == 0 and self.warns:
            warnings.warn(
                f"[{self.NAME}] saw no call. {self.how}. If operators ran, they ran on another thread, "
                "in compiled code, or a filter left them out",
                NothingSeenWarning,
                stacklevel=2,
            )


def _end(kind: type[BaseException] | None, error: object) -> str | None:
    """What ended a block, unless it ended well."""
    if kind is None or (issubclass(kind, SystemExit) and getattr(error, "code", 0) in (None, 0)):
        return None
    if kind is SystemExit:
        code = getattr(error, "code", 1)
        return f"exit status {code if isinstance(code, int) else 1}"
    return {"KeyboardInterrupt": "Ctrl-C", "Terminated": "SIGTERM"}.get(kind.__name__, kind.__name__)


def _unhooked(function: Callable[[Call], None]) -> Callable[[Call], None]:
    def run(call: Call) -> None:
        with unhooked():
            function(call)

    return run


def _chosen(target: Any, modules: str | Iterable[str] | None, phase: str | None) -> str:
    def words(value: Any) -> str:
        return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)

    parts = [] if target == EVERYTHING else [f"op {words(target)}"]
    parts += [] if modules is None else [f"module {words(modules)}"]
    parts += [] if phase is None else [f"phase {phase}"]
    return " and ".join(parts)


def _filter(modules: str | Iterable[str] | None, phase: str | None, every: int) -> Callable[[Call], bool] | None:
    tests: list[Callable[[Call], bool]] = []
    if phase is not None:
        tests.append(lambda call: call.phase == phase)
    if modules is not None:
        globs = [modules] if isinstance(modules, str) else list(modules)

        def in_modules(call: Call) -> bool:
            path = call.module_path
            return path is not None and any(fnmatch.fnmatchcase(path, glob) for glob in globs)

        tests.append(in_modules)
    if every > 1:
        turn = itertools.cycle([True] + [False] * (every - 1))
        tests.append(lambda call: next(turn))
    if not tests:
        return None
    return tests[0] if len(tests) == 1 else lambda call: all(test(call) for test in tests)
