"""``via="impl_override"``: a Python kernel in the dispatcher's table, seen by every thread and by autograd's
backward."""

from __future__ import annotations

import contextlib

import torch
from torch._ops import OpOverload

from ophook_npu.hooks import _batching, _compat, _stance, _trampoline
from ophook_npu.hooks._protocol import Installed, Spec
from ophook_npu.hooks.targets import is_composite, is_one_composite, is_out
from ophook_npu.plural import counted

__all__ = ["KINDS", "NAME", "OPTIONS", "SEES", "SUMMARY", "install", "refuse"]

NAME = "impl_override"
SUMMARY = (
    "a Python kernel in the dispatcher, right above the device's own: process-wide, and free for operators not hooked"
)
KINDS = frozenset({"op"})
SEES = {
    "compile": "compiled functions run eagerly while the hook is on",
    "autograd": "yes",
    "threads": "yes",
    "vmap": "yes",
    "inference": "yes",
}
OPTIONS = {"devices": "device types whose kernels are overridden; default: cpu and the accelerator, if there is one"}


def refuse(spec: Spec) -> str | None:
    assert spec.targets is not None
    problems = [_trampoline.refuses(op) for op in spec.targets.ops if not is_out(op)]
    if problems and all(problems):
        return f"{spec.targets.label}: {problems[0]}"
    if not _places(spec):
        return f"{spec.targets.label} has no kernel on {', '.join(_devices(spec))}"
    return None


def install(spec: Spec) -> Installed:
    return _Overrides(spec)


def _devices(spec: Spec) -> list[str]:
    given = spec.options.get("devices")
    if given is not None:
        return [torch.device(d).type for d in given]
    return _compat.devices()


def _ops(spec: Spec) -> tuple[OpOverload, ...]:
    """The targets; of a crowd without its composite operators, which would hide the operators they call."""
    assert spec.targets is not None
    if is_one_composite(spec.targets):
        return spec.targets.ops
    return tuple(op for op in spec.targets.ops if not is_composite(op) and _trampoline.refuses(op) is None)


def _places(spec: Spec) -> list[tuple[OpOverload, str]]:
    keys = [torch._C._dispatch_key_for_device(device) for device in _devices(spec)]
    return [
        (op, key)
        for key in keys
        for op in _ops(spec)
        if is_composite(op) or torch._C._dispatch_has_computed_kernel_for_dispatch_key(op._name, key)
    ]


class _Overrides:
    per_thread = False

    def __init__(self, spec: Spec) -> None:
        assert spec.targets is not None
        self._ops = _ops(spec)
        self._handler = spec.handler
        spec.handler.below_autograd = not is_one_composite(spec.targets)
        self._places = _places(spec)
        self._undo = contextlib.ExitStack()
        self.notes: list[str] = []
        absent = set(self._ops) - {op for op, _ in self._places}
        if absent:
            self.notes.append(f"no kernel on {', '.join(_devices(spec))}: {counted(len(absent), 'overload')}")
        refused = [op._name for op in spec.targets.ops if _trampoline.refuses(op)]
        if refused:
            self.notes.append(f"{', '.join(refused)} is left out")
        composite = len(spec.targets.ops) - len(self._ops) - len(refused)
        if composite:
            self.notes.append(
                f"seen as the operators they call: {counted(composite, 'composite operator')} among the targets"
            )

    def enable(self) -> None:
        with contextlib.ExitStack() as undo:
            _stance.enter(undo, _stance.for_unseen_regions(self._handler))
            for op, key in self._places:
                _trampoline.install(op, key, self._handler)
                undo.callback(_trampoline.uninstall, op, key, self._handler)
            _batching.install(undo, self._ops, self._handler)
            self._undo = undo.pop_all()

    def disable(self) -> None:
        self._undo.close()

    def remove(self) -> None:
        _trampoline.purge_if_alone()
