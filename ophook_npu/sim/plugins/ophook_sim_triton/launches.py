"""Each launch in Triton's interpreter, held to what an Ascend has: its grid, what one program needs of a core's local
memories (`needs`), and what its programs do to the same global memory (`races`).

A grid that a device refuses is refused. What a kernel needs is an estimate, so it is told on standard error, once for
each kernel and each set of block sizes, unless OPHOOK_SIM_TRITON says ``error`` or ``off``.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ophook_sim_triton.needs import ProgramTrace
from ophook_sim_triton.races import Accesses

# The runtime takes no more blocks: triton-ascend's docs/en/programming_guide.md, and its launcher's own words.
MOST_BLOCKS = 65535
_ALL_PARALLEL = "TRITON_ALL_BLOCKS_PARALLEL"
_MODES = ("warn", "error", "off")


class _Launch:
    """What is watched of the launch that runs."""

    def __init__(self, kernel: Callable[..., Any], key: Any, traced: bool) -> None:
        self.key = key
        self.trace = ProgramTrace(kernel) if traced else None
        self.accesses = Accesses(kernel)
        self.begun = 0  # programs


class Watch:
    def __init__(self, interpreter: ModuleType, mode: str, soc: Any) -> None:
        self._interpreter, self._mode, self._soc = interpreter, mode, soc
        self._builder = interpreter.interpreter_builder
        self._launch: _Launch | None = None
        self._needs: dict[Any, list[tuple[str, Exception]]] = {}  # by key: what does not fit
        self._told: set[str] = set()
        self._depth = 0
        self.tuning = False  # what does not compile for a device is no configuration that a tuner may choose
        self._next: tuple[Callable[..., Any], Any]

    def install(self) -> None:
        """Where each launch begins and ends, where each program of a grid begins, and every operation."""
        executor, builder, reductions = (
            self._interpreter.GridExecutor,
            self._builder,
            self._interpreter.ReduceScanOpInterface,
        )
        run, begin_grid, begin_program, reduce = (
            executor.__call__,
            builder.set_grid_dim,
            builder.set_grid_idx,
            reductions.apply,
        )

        def launch(executed: Any, *args: Any, **kwargs: Any) -> Any:
            outer, self._launch = self._launch, None
            key = self._key(executed, args, kwargs)
            self._next = executed.fn, key
            try:
                result = run(executed, *args, **kwargs)
                self._end()
                return result
            finally:
                self._launch = outer

        def grid(*sizes: int) -> None:
            self._begin(sizes)
            begin_grid(*sizes)

        def program(*index: int) -> None:
            if self._launch:
                self._launch.begun += 1
                self._launch.accesses.program = self._launch.begun
            begin_program(*index)

        def reduced(operation: Any, given: Any) -> Any:
            result = reduce(operation, given)
            if isinstance(given, tuple) and (trace := self.tracing()):  # one tensor alone calls itself with a tuple
                trace.operation("reduce", [one.handle for one in given], [one.handle for one in result])
            return result

        executor.__call__, reductions.apply = launch, reduced
        builder.set_grid_dim, builder.set_grid_idx = grid, program
        for name in dir(builder):
            if name.startswith("create_"):
                setattr(builder, name, self._watched(name, getattr(builder, name)))

    def _watched(self, name: str, operation: Callable[..., Any]) -> Callable[..., Any]:
        short = name.removeprefix("create_")
        handle = self._interpreter.TensorHandle

        def watched(*args: Any, **kwargs: Any) -> Any:
            if not (launch := self._launch):
                return operation(*args, **kwargs)
            if short in ("masked_load", "masked_store", "atomic_rmw", "atomic_cas"):
                launch.accesses.operation(short, *args)
            self._depth += 1  # an operation that another one makes is part of it
            try:
                result = operation(*args, **kwargs)
            finally:
                self._depth -= 1
            if not self._depth and (trace := self.tracing()):
                outs = result if isinstance(result, tuple) else (result,)
                given = [one for one in (*args, *kwargs.values()) if isinstance(one, handle)]
                trace.operation(short, given, [one for one in outs if isinstance(one, handle)])
            return result

        return watched

    def tracing(self) -> ProgramTrace | None:
        return self._launch.trace if self._launch and self._launch.begun == 1 else None

    def _key(self, executed: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What decides what a kernel needs: its constants and its arguments' types."""

        def kind(name: str, value: Any) -> Any:
            if name in executed.constexprs and getattr(type(value), "__hash__", None):
                return value
            return getattr(value, "dtype", type(value))

        named = {**dict(zip(executed.arg_names, args, strict=False)), **kwargs}
        return executed.fn, tuple(sorted((name, str(kind(name, value))) for name, value in named.items()))

    def _begin(self, sizes: tuple[int, ...]) -> None:
        kernel, key = self._next
        blocks = math.prod(sizes)
        if blocks > MOST_BLOCKS and os.environ.get(_ALL_PARALLEL) != "1":
            raise RuntimeError(
                f"[simulated Ascend] {kernel.__name__}: a grid of {'x'.join(map(str, sizes))} is {blocks} blocks, "
                f"and the runtime takes {MOST_BLOCKS}; next: let each program loop over several blocks, or set "
                f"{_ALL_PARALLEL}=1 if the programs may run in any order"
            )
        self._launch = _Launch(kernel, key, self._soc is not None and key not in self._needs)

    def _end(self) -> None:
        launch = self._launch
        if launch is None:
            return
        if launch.trace:
            self._needs[launch.key] = list(launch.trace.told(self._soc))
        needs = self._needs.get(launch.key, [])
        if needs and self.tuning:
            raise needs[0][1]
        for told, error in [*needs, *launch.accesses.told(self._interpreter)]:
            if self._mode == "error":
                raise error
            if told not in self._told:
                self._told.add(told)
                print(f"[simulated Ascend] {told}", file=sys.stderr, flush=True)


running: Watch | None = None


def watch(interpreter: ModuleType) -> None:
    """Watches what the module runs from now on."""
    mode = os.environ.get("OPHOOK_SIM_TRITON", "warn")
    if mode not in _MODES:
        raise RuntimeError(f"OPHOOK_SIM_TRITON={mode}; allowed: {', '.join(_MODES)}")
    if mode == "off":
        return
    asked = ("GridExecutor", "ReduceScanOpInterface", "TensorHandle", "interpreter_builder")
    if missing := [name for name in asked if not hasattr(interpreter, name)]:
        print(
            f"[simulated Ascend] this Triton's interpreter has no {missing[0]}: launches are not checked",
            file=sys.stderr,
        )
        return
    global running
    try:
        from ophook_npu.kernel import socs
    except ImportError as error:  # the simulator's variables are set in another environment
        print(f"[simulated Ascend] {error}: what kernels of Triton need of a core is not checked", file=sys.stderr)
        soc = None
    else:
        soc = socs.find(os.environ.get("OPHOOK_SIM_SOC"))
    running = Watch(interpreter, mode, soc)
    running.install()
