"""Save chosen operator calls, run them again elsewhere, and turn one into a test that stands alone."""

from __future__ import annotations

import dataclasses
import json
import statistics
import time
from collections import Counter
from pathlib import Path
from typing import Any

import torch
from typing_extensions import Unpack

from ophook_npu.errors import OphookError
from ophook_npu.hooks import Call
from ophook_npu.observe import _capture_form as form
from ophook_npu.observe._capture_test import write_test
from ophook_npu.observe._describe import is_real, size, tensors, user_stack
from ophook_npu.observe._numbers import TOLERANCES, error
from ophook_npu.observe._observer import EVERYTHING, Filters, Observer
from ophook_npu.observe._operators import draws, leaves_memory_unwritten
from ophook_npu.plural import counted

__all__ = ["Capture", "Replay", "best_device", "load", "replay", "write_test"]


class Capture(Observer):
    """Writes calls to a folder: ``0001_aten.mm.json`` says what was called, ``0001_aten.mm.safetensors`` holds the
    tensors.

    Args:
        folder: where to; made if it is not there. Numbers go on after those already in it.
        target, modules, phase, every, via, on_miss: see :class:`Observer`.
        limit: how many calls at most. per_operator: of each operator at most.
        max_bytes: calls with more than this in tensors are left out, and counted in :attr:`left_out`.

    Nothing is pickled: a capture is numbers and text. What has no plain form (a generator, a sparse tensor) leaves
        the call out.
    """

    NAME = "capture"
    COMPUTES = True

    def __init__(
        self,
        folder: str | Path,
        target: Any = EVERYTHING,
        *,
        limit: int = 100,
        per_operator: int | None = None,
        max_bytes: int = 64 << 20,
        **filters: Unpack[Filters],
    ) -> None:
        form.safetensors()
        self.folder = Path(folder)
        self.saved: list[Path] = []
        self.left_out: Counter[str] = Counter()
        self._limit = limit
        self._per_operator = per_operator
        self._max_bytes = max_bytes
        self._counts: Counter[str] = Counter()
        super().__init__(target, **filters)

    def before(self, call: Call) -> None:
        call.state = None
        if len(self.saved) >= self._limit or self._counts[call.name] == self._per_operator:
            self.left_out["over the limit of calls"] += 1
            return
        # Now, not afterwards: in-place operators overwrite their arguments.
        call.state = self._write_down([*call.args], dict(call.kwargs))

    def after(self, call: Call) -> None:
        if call.state is None:
            return
        arguments, stored = call.state
        result = self._write_down([call.result], {}, stored)
        if result is None:
            return
        if not self.put(lambda: self.folder.mkdir(parents=True, exist_ok=True)):
            self.left_out["the disk took no more"] += 1
            return
        number = 1 + max((int(p.name[:4]) for p in self.folder.glob("[0-9][0-9][0-9][0-9]_*.json")), default=0)
        path = self.folder / f"{number:04}_{call.name.replace('::', '.')}.json"
        record = {
            "format": form.FORMAT,
            "op": call.name,
            "args": arguments[0],
            "kwargs": arguments[1],
            "result": result[0][0][0],
            "phase": call.phase,
            "module": call.module_path,
            "node": call.node,
            "stack": [f"{f.filename}:{f.lineno} {f.name}" for f in user_stack(call)],
            "torch": torch.__version__,
        }
        numbers = path.with_suffix(".safetensors")

        def write() -> None:
            form.safetensors().save_file(stored, numbers)
            path.write_text(json.dumps(record, indent=1) + "\n")

        if not self.put(write):
            self.left_out["the disk took no more"] += 1
            for half in (numbers, path):
                half.unlink(missing_ok=True)
            return
        self.saved.append(path)
        self._counts[call.name] += 1

    def report(self) -> str:
        lines = [f"{len(self.saved)} of {counted(self.seen, 'call')} saved in {self.folder}"]
        lines += [f"left out: {count} x {reason}" for reason, count in self.left_out.items()]
        return "\n".join([*lines, self.how])

    def to_json(self) -> dict[str, Any]:
        return {
            "how": self.how,
            "calls": self.seen,
            "saved": list(map(str, self.saved)),
            "left_out": dict(self.left_out),
        }

    def _write_down(
        self, args: list[Any], kwargs: dict[str, Any], stored: dict[str, torch.Tensor] | None = None
    ) -> Any:
        stored = {} if stored is None else stored
        every = list(tensors(*args, *kwargs.values()))
        if any(not is_real(t) or t.layout != torch.strided or t.is_quantized for t in every):
            self.left_out["a tensor without plain values (fake, sparse, quantized, a subclass)"] += 1
            return None
        if sum(t.numel() * t.element_size() for t in every) > self._max_bytes:
            self.left_out[f"more than {size(self._max_bytes)} of tensors"] += 1
            return None
        try:
            return (
                [form.encode(a, stored) for a in args],
                {k: form.encode(v, stored) for k, v in kwargs.items()},
            ), stored
        except TypeError as error:
            self.left_out[str(error)] += 1
            return None


@dataclasses.dataclass
class Replay:
    """A captured call, ready to run again.

    Attributes:
        op: the operator's name. args, kwargs: what it was called with. expected: what it returned then.
        record: everything the capture says: phase, module, stack, torch's version.
        operator: the overload called ``op``.
    """

    op: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    expected: Any
    record: dict[str, Any]
    operator: Any

    @property
    def differs_by_nature(self) -> str | None:
        """Why a second run gives other numbers: ``"draws random numbers"`` and the like; ``None`` if it should not."""
        op = self.operator
        if draws(Call(op, self.args, self.kwargs)):
            return "draws random numbers"
        return "returns memory that nobody has written" if leaves_memory_unwritten(op) else None

    def run(self) -> Any:
        """Calls the operator on fresh copies of the arguments."""
        args, kwargs = _copies(self.args), {name: _copies(value) for name, value in self.kwargs.items()}
        return self.operator(*args, **kwargs)

    def errors(self, result: Any = None) -> list[str]:
        """How ``result`` (of :meth:`run`, by default) differs from what was captured; empty if it does not.

        Tolerances are :data:`ophook_npu.observe.compare.TOLERANCES`, by dtype.
        """
        given, wanted = list(tensors(self.run() if result is None else result)), list(tensors(self.expected))
        if len(given) != len(wanted):
            return [f"{counted(len(given), 'tensor')}, not {len(wanted)}"]
        found = []
        for index, (a, b) in enumerate(zip(given, wanted, strict=True)):
            a = a.detach().to(b.device)
            if a.shape != b.shape or a.dtype != b.dtype:
                found.append(f"result {index}: {a.dtype} {tuple(a.shape)}, not {b.dtype} {tuple(b.shape)}")
                continue
            if a.numel() == 0:
                continue
            if not (a.is_floating_point() or a.is_complex()):
                wrong = int((a != b).sum())
                found += [f"result {index}: {wrong} of {a.numel()} elements differ"] if wrong else []
                continue
            off, largest = error(a, b)
            atol, rtol = TOLERANCES.get(b.dtype, (0.0, 0.0))
            if not off <= atol + rtol * largest:
                found.append(f"result {index}: off by {off:.6g}, allowed {atol + rtol * largest:.6g}")
        return found

    def time(self, repeat: int = 20) -> float:
        """Median time of a run in µs, arguments copied beforehand; on an accelerator until it is done."""
        device = next((t.device for t in tensors(*self.args) if t.device.type not in ("cpu", "meta")), None)
        times = []
        for _ in range(repeat):
            args, kwargs = _copies(self.args), {name: _copies(value) for name, value in self.kwargs.items()}
            if device is not None:
                torch.get_device_module(device).synchronize()
            start = time.perf_counter()
            self.operator(*args, **kwargs)
            if device is not None:
                torch.get_device_module(device).synchronize()
            times.append(time.perf_counter() - start)
        return statistics.median(times) * 1e6


def load(path: str | Path, device: str | None = None) -> Replay:
    """Reads a captured call.

    Args:
        path: its ``.json`` file.
        device: put the tensors there; by default on the CPU.

    Raises:
        OphookError: no such capture, one of another format, or one that no capture made: nothing in it is believed.
            The operator must be registered here, must not open files, and its results must not be of a size that has
            nothing to do with the capture's.
    """
    path = Path(path)
    if not path.is_file():
        raise OphookError("replay", f"no such capture: {path}", todo="give the .json file of one")
    captured = form.read(path, _device(device or "cpu"))
    record = captured.record
    return Replay(record["op"], captured.args, captured.kwargs, captured.expected, record, captured.operator)


def _device(name: str) -> torch.device:
    try:
        place = torch.device(name)
        torch.empty(0, device=place)
    except (RuntimeError, AssertionError, ModuleNotFoundError) as error:
        raise OphookError(
            "replay",
            f"there is no device {name!r} here: {str(error).splitlines()[0]}",
            allowed=", ".join(dict.fromkeys([best_device(), "cpu"])),
            todo="ophook-npu replay --device sim has a simulated npu",
        ) from error
    return place


def best_device() -> str:
    """The accelerator of this process if it has one, else ``"cpu"``."""
    found = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    return "cpu" if found is None else found.type


def replay(path: str | Path, device: str | None = None) -> list[str]:
    """Runs a captured call again, on ``device``; gives the differences, which are none if it reproduces."""
    return load(path, device).errors()


def _copies(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.clone()
    return type(value)(map(_copies, value)) if isinstance(value, (list, tuple)) else value
