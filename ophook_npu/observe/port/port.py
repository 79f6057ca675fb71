"""``Port``: what stands between a program and an Ascend, found while the program runs on the simulated one."""

from __future__ import annotations

import functools
import sys
import threading
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.optim.optimizer import register_optimizer_step_post_hook

from ophook_npu.errors import OphookError
from ophook_npu.hooks._protocol import keywords_of
from ophook_npu.observe.pages.port import port_page
from ophook_npu.observe.port import collectives, numerics
from ophook_npu.observe.port import device as devices
from ophook_npu.observe.port.apply import Trial, optimizer
from ophook_npu.observe.port.calls import Calls
from ophook_npu.observe.port.compared import AgainstFloat64
from ophook_npu.observe.port.cuda import Cuda
from ophook_npu.observe.port.finding import KINDS, Finding, Findings, key
from ophook_npu.observe.port.fused import OPTIMIZERS, missed
from ophook_npu.observe.port.graphs import Modules, trace
from ophook_npu.observe.port.judge import brief, judge
from ophook_npu.observe.port.memory import MemoryCourse
from ophook_npu.observe.port.report import Report
from ophook_npu.observe.port.where import OWN, Finder, Where, kind_of
from ophook_npu.observe.program import Terminated


class Enough(BaseException):
    """Ends the program after the steps that were asked for."""


class Port:
    """Finds, while its block runs, what an Ascend refuses, leaves to the CPU, waits for, copies or lacks.

    Args:
        steps: end the block after so many optimizer steps, or, where there are none, calls of the outermost module; by
            raising :class:`Enough`, which the block lets pass. ``None``: no end.
        transferred: torch_npu's ``transfer_to_npu`` is in force.
        go_on: what the device refuses is run on the CPU, so that one run finds everything; else the error is raised.
        main: the program's file, for what its source names but does not run; an attribute as well.
        graph: after the block, :meth:`trace` may run the outermost modules once more; their first arguments are kept.
        compare: run each call of the device also on the CPU in float64, and report results that differ by more than
            their data type explains (the tolerances of :class:`~ophook_npu.observe.Compare`). Costs several times the
            run.
        apply: :meth:`trace` also tries the fused operators that were missed, with the program's numbers, and reports
            how far off they are from float64 on the CPU. Its optimizers are kept until then.

    Raises:
        OphookError: ``steps`` is not a positive number, ``apply`` without ``graph``, or an unknown keyword.
    """

    NAME = "port"

    @keywords_of("port")
    def __init__(
        self,
        *,
        steps: int | None = None,
        transferred: bool = False,
        go_on: bool = True,
        main: Path | None = None,
        graph: bool = True,
        compare: bool = False,
        apply: bool = False,
    ) -> None:
        if steps is not None and steps < 1:
            raise OphookError(self.NAME, f"steps={steps}", allowed="a whole number from 1 on")
        if apply and not graph:
            raise OphookError(self.NAME, "apply=True with graph=False", todo="fused operators are found in the graphs")
        self._optimized = self._forwards = 0
        self._trains = False
        self._began = False  # a module was called
        self._limit, self._transferred, self.main = steps, transferred, main
        self._device = devices.simulated()
        self._finder = Finder()
        self._extra = Findings()
        self._calls = Calls(self._device, self._finder, go_on)
        self._compared = AgainstFloat64(self._calls, self._finder) if compare else None
        self._cuda = Cuda(self._extra, transferred)
        self._memory = MemoryCourse()
        self._modules = Modules()
        self._graph = graph
        self._graphs = Findings()
        self._apply = apply
        self._optimizers: dict[tuple[str, Where], list[torch.optim.Optimizer]] = {}
        self._tried: set[tuple[str, Where]] = set()
        self._undo: list[Callable[[], None]] = []
        self.interrupted = False
        self.error: str | None = None

    # ---- running

    def __enter__(self) -> Port:
        self._cuda.__enter__()
        self._undo.append(lambda: self._cuda.__exit__())
        self._memory.__enter__()
        self._undo.append(lambda: self._memory.__exit__())
        self._watch_waits()
        self._watch_printing()
        self._watch_checks()
        self._watch_steps()
        self._calls.__enter__()
        self._undo.append(lambda: self._calls.__exit__(None))
        if self._compared is not None:
            self._compared.hook.__enter__()
            self._undo.append(self._compared.hook.__exit__)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, stack: Any) -> bool:
        while self._undo:
            self._undo.pop()()
        self._finder.ended()
        if kind in (KeyboardInterrupt, Terminated):
            self.interrupted = True
        elif kind is not None and kind is not Enough and not _is_clean_exit(error):
            self.error = brief(f"{kind.__name__}: {error}") + _raised_at(stack)
        return kind is Enough

    def _watch_steps(self) -> None:
        """A step is one of an optimizer, also one that a GradScaler leaves out because of an overflow; of a program
        without any, a call of the outermost module."""
        depth, steps = threading.local(), threading.local()
        init = torch.optim.Optimizer.__init__

        def made(optimizer: Any, *args: Any, **kwargs: Any) -> None:
            self._trains = True
            name = type(optimizer).__name__
            if type(optimizer).__module__.startswith("torch.optim") and name in OPTIMIZERS:
                made_here = self._optimizers.setdefault((name, self._finder.here()), [])
                made_here += [optimizer] if self._apply else []
            init(optimizer, *args, **kwargs)

        # Dynamo traces a module's hooks with it; what it compiles is run under others.
        traced = torch.compiler.is_compiling

        def stepped(*_: Any) -> None:
            steps.now = getattr(steps, "now", 0) + 1
            self._optimized += 1
            self._finder.forget()
            self._memory.stepped()
            self._end(self._optimized)

        def enters(module: Any, args: Any) -> None:
            if traced():
                return
            depth.now = getattr(depth, "now", 0) + 1
            if depth.now == 1 and not self._began:
                self._began = True
                self._calls.begin()
            if depth.now == 1 and self._graph:
                given = sys._getframe(1).f_locals  # of the module's call: hooks for all modules get no keywords
                self._modules.called(module, args, dict(given.get("kwargs") or {}))

        def leaves(module: Any, *_: Any) -> None:
            if traced():
                return
            self._finder.left(module)
            depth.now -= 1
            if depth.now == 0:
                self._forwards += 1
                if not self._trains:
                    self._memory.stepped()
                    self._end(self._forwards)

        def watch_scaler(kind: Any) -> None:
            inner = kind.step

            @functools.wraps(inner)
            def scaled(*args: Any, **kwargs: Any) -> Any:
                before = getattr(steps, "now", 0)
                result = inner(*args, **kwargs)
                if getattr(steps, "now", 0) == before:
                    stepped()
                return result

            self._put(kind, "step", scaled)

        for kind in _scalers():
            watch_scaler(kind)
        self._put(torch.optim.Optimizer, "__init__", made)
        handles = [
            register_optimizer_step_post_hook(stepped),
            register_module_forward_pre_hook(enters),
            register_module_forward_hook(leaves, always_call=True),
        ]
        self._undo += [handle.remove for handle in handles]

    def _end(self, steps: int) -> None:
        if self._limit is not None and steps >= self._limit:
            raise Enough

    @property
    def steps(self) -> int:
        """Optimizer steps until now, or calls of the outermost module where there are none."""
        return self._optimized or self._forwards

    def _watch_printing(self) -> None:
        """Printing switches dispatch modes off, so its copies to the host are not seen as operators."""
        inner: Any = torch._tensor_str._str

        def printed(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            if isinstance(tensor, torch.Tensor) and tensor.device.type not in ("cpu", "meta"):
                where = self._finder.here()
                size = tensor.numel() * tensor.element_size()
                self._extra.add(key("synchronizes", "print", "print(tensor)", where), 1, size)
            return inner(tensor, *args, **kwargs)

        self._put(torch._tensor_str, "_str", printed)

    def _watch_checks(self) -> None:
        """Recurrent modules compare data types in Python, before any function is called: where float64 meets float32
        by torch_npu's doing, the function that they call is told, and the report goes on from there."""
        inner = torch.nn.RNNBase.check_input

        def checked(module: Any, given: torch.Tensor, batch_sizes: Any) -> None:
            try:
                inner(module, given, batch_sizes)
            except ValueError as error:
                if not self._calls.mixed(given, *module.parameters()):
                    raise
                self._calls.refused_before = error

        self._put(torch.nn.RNNBase, "check_input", checked)

    def _put(self, owner: Any, name: str, new: Any) -> None:
        """``new`` in the place of an attribute, until the block ends."""
        old = getattr(owner, name)
        setattr(owner, name, new)
        self._undo.append(lambda: setattr(owner, name, old))

    def _watch_waits(self) -> None:
        """The waits that a program asks for by name, which no operator does."""
        npu = getattr(torch, "npu", None)
        if self._device is None or npu is None:
            return
        for owner, name, shown in (
            (npu, "synchronize", "torch.npu.synchronize"),
            (torch.cuda, "synchronize", "torch.cuda.synchronize"),  # torch_npu's, where it has taken CUDA's place
            (torch.accelerator, "synchronize", "torch.accelerator.synchronize"),
            (npu.Stream, "synchronize", "Stream.synchronize"),
            (npu.Event, "synchronize", "Event.synchronize"),
        ):
            inner = owner.__dict__.get(name)
            if isinstance(inner, types.FunctionType) and inner.__module__ != "torch.cuda":
                self._watch_wait(owner, name, shown, inner)

    def _watch_wait(self, owner: Any, name: str, shown: str, inner: Any) -> None:
        @functools.wraps(inner)
        def watched(*args: Any, **kwargs: Any) -> Any:
            where, inside = self._finder.here(), self._finder.inside()
            if where.file:
                self._extra.add(key("synchronizes", "waits_as_written", shown, where, inside=inside))
            return inner(*args, **kwargs)

        self._put(owner, name, watched)

    # ---- what was found

    @property
    def seen(self) -> int:
        """Operator calls, on the device and on the CPU."""
        return self._calls.total

    @property
    def findings(self) -> list[Finding]:
        """Everything, by kind, the most frequent first."""
        return self.result().findings

    def result(self) -> Report:
        """The report of what ran until now."""
        found = Findings()
        several = self._began and self.steps > 1
        judge(self._calls, found, several)
        numerics.judge(self._calls, found, several)
        found.settle()
        if self._compared is not None:
            self._compared.judge(found)
        collectives.judge(self._calls, found)
        product = devices.product() if self._device is not None else "npu"
        self._memory.judge(product, found)
        for one in [one for one in found.all() if _host_waits(one)]:
            if one.key.where.module is not None and one.key.where.phase == "forward":
                found.add(key("graph", "capture", one.key.operator, one.key.where), one.count)
        self._cuda.read_sources(self.main)
        for one in [*self._extra.all(), *self._graphs.all()]:
            found.add(one.key, one.count, one.bytes)
        for name, where in self._optimizers:
            if (name, where) not in self._tried:
                found.add(key("fused", "optimizer", name, where, fused=OPTIMIZERS[name]))
        on_device = {k: t for k, t in self._calls.tallies.items() if k[1] != "cpu"}
        return Report(
            product=product,
            peaks=list(self._memory.peaks),
            alive=[(_short(where), size, count) for where, size, count in self._memory.alive],
            collectives=collectives.used(self._calls),
            torch_npu=getattr(sys.modules.get("torch_npu"), "__version__", ""),
            steps=self.steps,
            calls=sum(t.count for t in on_device.values()),
            on_cpu=self._calls.total - sum(t.count for t in on_device.values()),
            operators=len({k[0] for k in on_device}),
            findings=found.all(),
            error=self.error,
            interrupted=self.interrupted,
            transferred=self._transferred,
        )

    def trace(self) -> None:
        """What graph compilers make of the program's outermost modules, and the fused operators that they miss.

        Runs each once more, with the arguments of its first call: after the program, as it changes their buffers.
        """
        self._graphs.clear()
        trial = Trial() if self._apply and self._device is not None else None
        graphs = trace(self._modules, self._graphs, trial)
        missed(graphs, self._graphs, None if trial is None else trial.said)
        if trial is not None:
            for (name, where), made in self._optimizers.items():
                for one in made:
                    self._tried.add((name, where))
                    optimizer(one, where, self._graphs)

    def report(self, lang: str = "en") -> str:
        """The verdict and the findings, as text."""
        return self.result().text(lang)

    def to_json(self) -> dict[str, Any]:
        """The report for ``json.dumps``, as ``ophook-npu port --json`` writes it."""
        return self.result().to_json()

    def html(self, path: str | Path, title: str = "", lang: str = "en") -> None:
        """Writes one self-contained page."""
        Path(path).write_text(port_page(self.result(), title, lang), encoding="utf-8")

    def remove(self) -> None:
        """Gives back what it holds; it cannot be used again."""
        self._calls.remove()
        if self._compared is not None:
            self._compared.hook.remove()


def _host_waits(found: Finding) -> bool:
    """Whether the host waits for the device in these calls, which no stream that is captured allows."""
    return found.kind in ("synchronizes", "fallback") or found.key.code in ("pageable", "blocking")


def _scalers() -> list[Any]:
    """The classes of torch and torch_npu that scale losses and have a step of their own."""
    npu = getattr(torch, "npu", None)
    kinds = [torch.amp.GradScaler, getattr(getattr(npu, "amp", None), "GradScaler", None)]
    return [kind for kind in kinds if kind is not None and "step" in vars(kind)]


def _raised_at(stack: Any) -> str:
    """`` (train.py:12)``, the innermost line of the program that an error went through."""
    at = ""
    while stack is not None:
        code = stack.tb_frame.f_code
        if kind_of(code.co_filename) == OWN:
            at = f" ({Path(code.co_filename).name}:{stack.tb_lineno})"
        stack = stack.tb_next
    return at


def _short(where: Where) -> str:
    return f"{Path(where.file).name}:{where.line} {where.function}" if where.file else ""


def _is_clean_exit(error: BaseException | None) -> bool:
    return isinstance(error, SystemExit) and error.code in (None, 0)


__all__ = ["KINDS", "Enough", "Port"]
