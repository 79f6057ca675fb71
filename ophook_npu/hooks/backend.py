"""``via="backend"``: kernels of a PrivateUse1 device (the NPU, or a host-memory device built here)."""

from __future__ import annotations

import contextlib

import torch
from torch._ops import OpOverload

from ophook_npu.hooks import _batching, _host_device, _stance, _trampoline
from ophook_npu.hooks._protocol import Installed, Spec
from ophook_npu.hooks.targets import is_composite, is_one_composite, is_out

__all__ = ["KINDS", "NAME", "OPTIONS", "SEES", "SUMMARY", "install", "refuse"]

NAME = "backend"
SUMMARY = (
    "a kernel of the extension device (npu, or one built here over host memory): only tensors on that device are seen"
)
KINDS = frozenset({"op"})
SEES = {
    "compile": "compiled functions run eagerly while the hook is on",
    "autograd": "yes",
    "threads": "yes",
    "vmap": "yes",
    "inference": "yes",
}
OPTIONS: dict[str, str] = {}


def refuse(spec: Spec) -> str | None:
    assert spec.targets is not None
    if is_one_composite(spec.targets):
        return f"{spec.targets.label} is composite: devices implement the operators it calls; hook those"
    problems = [_trampoline.refuses(op) for op in spec.targets.ops if not is_out(op)]
    if problems and all(problems):
        return f"{spec.targets.label}: {problems[0]}"
    return None


def install(spec: Spec) -> Installed:
    return _InBackend(spec)


class _InBackend:
    per_thread = False

    def __init__(self, spec: Spec) -> None:
        assert spec.targets is not None
        device = _host_device.ensure()
        self._handler = spec.handler
        spec.handler.below_autograd = True
        self._ops: tuple[OpOverload, ...] = tuple(
            op for op in spec.targets.ops if not is_composite(op) and _trampoline.refuses(op) is None
        )
        self._undo = contextlib.ExitStack()
        self.notes: list[str] = [
            f"it sees tensors on {torch.device(device)!s} only; model.to({device!r}) puts a model there"
        ]

    def enable(self) -> None:
        with contextlib.ExitStack() as undo:
            _stance.enter(undo, _stance.for_unseen_regions(self._handler))
            for op in self._ops:
                _trampoline.install(op, "PrivateUse1", self._handler)
                undo.callback(_trampoline.uninstall, op, "PrivateUse1", self._handler)
            _batching.install(undo, self._ops, self._handler)
            self._undo = undo.pop_all()

    def disable(self) -> None:
        self._undo.close()

    def remove(self) -> None:
        _trampoline.purge_if_alone()
