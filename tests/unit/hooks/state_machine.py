"""Hooks of all mechanisms installed, nested, raised through and removed in any order, on four threads.

    python tests/unit/hooks/state_machine.py [STEPS]

A program, not a test module: it brings a PrivateUse1 device for ``backend``, which no process gets rid of again.
"""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Callable, Container
from typing import Any

import hypothesis.strategies as st
import torch
from conftest import tables
from hypothesis import HealthCheck, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import ophook_npu
from ophook_npu import hooks
from ophook_npu.hooks import _choose, _compat, _host_device

THREADS = 4
DEVICE = _host_device.ensure()
X = torch.arange(6.0).reshape(2, 3)
W = torch.arange(12.0).reshape(3, 4)
NATIVE = X @ W
X_THERE, W_THERE = X.to(DEVICE), W.to(DEVICE)
PER_THREAD = ("dispatch_mode", "custom_op")
GRAPH = ("dynamo", "pattern_rewrite")
MAKES_EAGER = ("dispatch_mode", "impl_override", "module_hook", "backend")
ON_CPU = {"dispatch_mode", "impl_override", "module_hook", "custom_op"}
ON_DEVICE = {"dispatch_mode", "module_hook", "custom_op", "backend"} | (
    {"impl_override"} if DEVICE in _compat.devices() else set()
)


class Mm(torch.nn.Module):
    def forward(self, x, w):
        return torch.mm(x, w)


class Worker:
    """A thread that does what it is told and tells what came of it."""

    def __init__(self) -> None:
        self._jobs: queue.Queue[Callable[[], Any] | None] = queue.Queue()
        self._results: queue.Queue[Any] = queue.Queue()
        self.thread = threading.Thread(target=self._work, daemon=True)
        self.thread.start()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                self._results.put(job())
            except BaseException as error:
                self._results.put(error)

    def do(self, job: Callable[[], Any]) -> Any:
        self._jobs.put(job)
        result = self._results.get(timeout=60)
        if isinstance(result, BaseException):
            raise result
        return result

    def stop(self) -> None:
        self._jobs.put(None)
        self.thread.join(60)


class Hooks(RuleBasedStateMachine):
    """The model: a shift for each hook, the threads it is on in. The truth: what mm returns on each thread."""

    def __init__(self) -> None:
        super().__init__()
        torch._dynamo.reset()
        self.module = Mm()
        self.before = tables()
        self.stance = torch._dynamo.eval_frame._stance
        self.callback = torch._dynamo.eval_frame._callback_from_stance
        self.workers = [Worker() for _ in range(THREADS)]
        self.shifts: dict[hooks.Hook, float] = {}
        self.on: dict[hooks.Hook, set[int]] = {}
        self.raising = False

    def _replacement(self, shift: float) -> Callable[..., Any]:
        def replace(a, b):
            if self.raising:
                raise ValueError("raised by the test")
            return ophook_npu.original()(a, b) + shift

        return replace

    def _sum(self, thread: int, via: Container[str]) -> float:
        """What the hooks of these mechanisms that are on in a thread add."""
        return sum(shift for h, shift in self.shifts.items() if thread in self.on[h] and h.via in via)

    @initialize()
    def start(self) -> None:
        self.compiled = torch.compile(self.module, backend="eager")
        self.compiled(X, W)

    @precondition(lambda self: len(self.shifts) < 6)
    @rule(via=st.sampled_from(_choose.MECHANISMS), exponent=st.integers(0, 8))
    def install(self, via: str, exponent: int) -> None:
        shift = float(10**3 * 2**exponent)
        if via == "pattern_rewrite":
            h = ophook_npu.hook(
                lambda a, b: torch.mm(a, b),
                replace=lambda a, b: torch.mm(a, b) + shift,
                via=via,
                example_inputs=[X, W],
            )
        else:
            target = self.module if via == "module_hook" else torch.ops.aten.mm.default
            h = ophook_npu.hook(target, replace=self._replacement(shift), via=via)
        self.shifts[h], self.on[h] = shift, set()

    @precondition(lambda self: self.shifts)
    @rule(data=st.data(), thread=st.integers(0, THREADS - 1), how=st.sampled_from(["enable", "disable", "twice"]))
    def switch(self, data: st.DataObject, thread: int, how: str) -> None:
        h = data.draw(st.sampled_from(list(self.shifts)))
        where = {thread} if h.via in PER_THREAD else set(range(THREADS))
        if how == "disable":
            self.workers[thread].do(h.disable)
            self.on[h] -= where
        else:
            self.workers[thread].do(h.enable)
            if how == "twice":
                self.workers[thread].do(h.enable)
            self.on[h] |= where

    @precondition(lambda self: self.shifts)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        h = data.draw(st.sampled_from(list(self.shifts)))
        for thread in sorted(self.on[h]) if h.via in PER_THREAD else ():
            self.workers[thread].do(h.disable)
        h.remove()
        del self.shifts[h], self.on[h]

    @precondition(lambda self: self.shifts)
    @rule(data=st.data(), thread=st.integers(0, THREADS - 1))
    def nest_and_raise(self, data: st.DataObject, thread: int) -> None:
        h = data.draw(st.sampled_from(list(self.shifts)))
        was_on = thread in self.on[h]

        def job() -> bool:
            try:
                with h, h:
                    self.raising = True
                    self.module(X, W)
            except ValueError:
                return True
            finally:
                self.raising = False
            return False

        seen_in_eager = h.via in ON_CPU or any(
            thread in places and other.via in ON_CPU for other, places in self.on.items()
        )
        assert self.workers[thread].do(job) is seen_in_eager
        assert (thread in self.on[h]) == was_on

    @rule(thread=st.integers(0, THREADS - 1))
    def call_compiled(self, thread: int) -> None:
        # Where an eager hook is on anywhere, compiled functions run eagerly, and a hook that rewrites them has no say.
        eager = any(places for h, places in self.on.items() if h.via in MAKES_EAGER)
        seen = ON_CPU if eager else {*ON_CPU, *GRAPH}
        if any(thread in places and h.via == "custom_op" for h, places in self.on.items()):
            seen = seen - {"pattern_rewrite"}  # what is redirected is another operator in the graph
        expected = self._sum(thread, seen)
        assert torch.equal(self.workers[thread].do(lambda: self.compiled(X, W)), NATIVE + expected)

    @invariant()
    def every_thread_computes_what_its_hooks_say(self) -> None:
        for thread, worker in enumerate(self.workers):
            here = worker.do(lambda: self.module(X, W))
            assert torch.equal(here, NATIVE + self._sum(thread, ON_CPU))
            there = worker.do(lambda: self.module(X_THERE, W_THERE)).cpu()
            assert torch.equal(there, NATIVE + self._sum(thread, ON_DEVICE))

    def teardown(self) -> None:
        for h in list(self.shifts):
            for thread in sorted(self.on[h]) if h.via in PER_THREAD else ():
                self.workers[thread].do(h.disable)
            h.remove()
        for worker in self.workers:
            worker.stop()
        hooks.purge()
        assert hooks.registered() == []
        assert tables() == self.before
        assert torch._dynamo.eval_frame._stance == self.stance
        assert torch._dynamo.eval_frame._callback_from_stance is self.callback
        assert "forward" not in vars(self.module)
        assert torch.equal(self.module(X, W), NATIVE)


def main() -> None:
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    run_state_machine_as_test(
        Hooks,
        settings=settings(
            max_examples=max(1, steps // 40),
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            database=None,
        ),
    )


if __name__ == "__main__":
    main()
