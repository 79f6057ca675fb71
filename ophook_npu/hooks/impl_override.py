"""``via="impl_override"``: a Python kernel in the dispatcher's table, seen by every thread and by autograd's backward."""

from __future__ import annotations

from typing import Any

import torch
from torch._ops import OpOverload

from ophook_npu.hooks import _batching, _stance, _trampoline
from ophook_npu.hooks._protocol import Installed, Spec
from ophook_npu.hooks._targets import is_composite

__all__ = ["KINDS", "NAME", "OPTIONS", "SEES", "SUMMARY", "install", "refuse"]

NAME = "impl_override"
SUMMARY = "a kernel registered over the device's own: process-wide, and free for operators that are not hooked"
KINDS = frozenset({"op"})
SEES = {
    "compile": "only the kernels that compiled code calls one by one; compiled functions run eagerly while the hook is on",
    "autograd": "yes",
    "threads": "yes",
    "vmap": "yes",
    "inference": "yes",
}
OPTIONS = {"devices": "device types whose kernels are overridden; default: cpu and the accelerator, if there is one"}


def refuse(spec: Spec) -> str | None:
    assert spec.targets is not None
    if not _places(spec):
        return f"{spec.targets.label} has no kernel on {', '.join(_devices(spec))}"
    return None


def install(spec: Spec) -> Installed:
    return _Installed(spec)


def _devices(spec: Spec) -> list[str]:
    given = spec.options.get("devices")
    if given is not None:
        return [torch.device(d).type for d in given]
    accelerator = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    return ["cpu"] if accelerator is None else ["cpu", accelerator.type]


def _places(spec: Spec) -> list[tuple[OpOverload, str]]:
    assert spec.targets is not None
    found = []
    for device in _devices(spec):
        key = torch._C._dispatch_key_for_device(device)
        for op in spec.targets.ops:
            if is_composite(op):
                # A composite operator is a program at the autograd key; a kernel at the backend key alone would cut its
                # gradient. The backend key is what inference mode reaches.
                found += [(op, "Autograd" + key), (op, key)]
            elif torch._C._dispatch_has_computed_kernel_for_dispatch_key(op._name, key):
                found.append((op, key))
    return found


class _Installed:
    per_thread = False

    def __init__(self, spec: Spec) -> None:
        assert spec.targets is not None
        self._ops = spec.targets.ops
        self._handler = spec.handler
        self._places = _places(spec)
        self._request: Any = None
        self._batched: list[OpOverload] = []
        absent = set(self._ops) - {op for op, _ in self._places}
        self.notes: list[str] = [f"{len(absent)} overloads have no kernel here and cannot be called"] if absent else []

    def enable(self) -> None:
        self._request = _stance.for_unseen_regions(self._handler)
        if self._request is not None:
            _stance.push(self._request)
        for op, key in self._places:
            _trampoline.install(op, key, self._handler)
        self._batched = _batching.install(self._ops, self._handler)

    def disable(self) -> None:
        _batching.uninstall(self._batched, self._handler)
        for op, key in self._places:
            _trampoline.uninstall(op, key, self._handler)
        if self._request is not None:
            _stance.pop(self._request)

    def remove(self) -> None:
        _trampoline.purge_if_alone()
