"""``via="module_hook"``: calls of modules, through their ``forward``."""

from __future__ import annotations

import contextlib
import fnmatch
import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from ophook_npu.errors import OphookError
from ophook_npu.hooks import _forward, _stance
from ophook_npu.hooks._handler import Handler
from ophook_npu.hooks._protocol import Installed, Spec
from ophook_npu.plural import counted

__all__ = ["KINDS", "NAME", "OPTIONS", "SEES", "SUMMARY", "install", "refuse"]

NAME = "module_hook"
SUMMARY = (
    "forward of a module, of all modules of a class, or of those below a path, in front of any hook registered on them"
)
KINDS = frozenset({"module"})
SEES = {
    "compile": "compiled functions run eagerly while the hook is on",
    "autograd": "backward calls no modules; a replacement has the gradient of what it does itself",
    "threads": "yes",
    "vmap": "yes",
    "inference": "yes",
}
OPTIONS: dict[str, str] = {}

Owner = Any  # an nn.Module or a class of them


def refuse(spec: Spec) -> str | None:
    for owner in _owners(spec):
        if isinstance(owner, torch.jit.ScriptModule):
            return "a scripted module runs no Python forward that could be hooked"
    return None


def install(spec: Spec) -> Installed:
    return _OnModules(spec)


def _owners(spec: Spec) -> list[Owner]:
    target: Any = spec.modules
    if isinstance(target, type):
        return [target]
    if isinstance(target, nn.Module):
        return [_inner(target)]
    model, glob = _inner(target[0]), target[1]
    names = [name for name, _ in model.named_modules()]
    found: list[Owner] = [module for name, module in model.named_modules() if fnmatch.fnmatchcase(name, glob)]
    if not found:
        import difflib

        near = difflib.get_close_matches(glob, names, 4, 0.4) or names[1:5]
        raise OphookError(
            f"hook {spec.label}", f"no module below {type(model).__name__} is called {glob!r}", allowed=", ".join(near)
        )
    return found


def _inner(module: nn.Module) -> nn.Module:
    """What torch.compile(module) wraps; hooking the wrapper would not see how parts are called."""
    return getattr(module, "_orig_mod", module)


class _OnModules:
    per_thread = False

    def __init__(self, spec: Spec) -> None:
        self._handler = spec.handler
        self._owners = _owners(spec)
        self._undo = contextlib.ExitStack()
        self.notes: list[str] = []
        if len(self._owners) > 1:
            self.notes.append(counted(len(self._owners), "module"))

    def enable(self) -> None:
        with contextlib.ExitStack() as undo:
            _stance.enter(undo, _stance.for_unseen_regions(self._handler))
            for owner in self._owners:
                undo.callback(_forward.put(owner, _layer(self._handler)))
            self._undo = undo.pop_all()

    def disable(self) -> None:
        self._undo.close()

    def remove(self) -> None:
        pass


def _layer(handler: Handler) -> _forward.Layer:
    def layer(owner: Owner, native: Callable[..., Any]) -> Callable[..., Any]:
        if isinstance(owner, type):

            @functools.wraps(native)
            def forward(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
                return handler.run(module, args, kwargs, functools.partial(native, module))

        else:

            @functools.wraps(native)
            def forward(*args: Any, **kwargs: Any) -> Any:
                return handler.run(owner, args, kwargs, native)

        return forward

    return layer
