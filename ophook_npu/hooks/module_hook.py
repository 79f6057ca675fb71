"""``via="module_hook"``: calls of modules, through their ``forward``."""

from __future__ import annotations

import contextlib
import fnmatch
import functools
import threading
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from ophook_npu.errors import OphookError
from ophook_npu.hooks import _stance
from ophook_npu.hooks._handler import Handler
from ophook_npu.hooks._protocol import Installed, Spec

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
    return _Installed(spec)


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


class _Installed:
    per_thread = False

    def __init__(self, spec: Spec) -> None:
        self._handler = spec.handler
        self._owners = _owners(spec)
        self._undo = contextlib.ExitStack()
        self.notes: list[str] = []
        if len(self._owners) > 1:
            self.notes.append(f"{len(self._owners)} modules")

    def enable(self) -> None:
        with contextlib.ExitStack() as undo:
            _stance.enter(undo, _stance.for_unseen_regions(self._handler))
            for owner in self._owners:
                _add(owner, self._handler)
                undo.callback(_drop, owner, self._handler)
            self._undo = undo.pop_all()

    def disable(self) -> None:
        self._undo.close()

    def remove(self) -> None:
        pass


_lock = threading.RLock()
_forwards: dict[int, _Forward] = {}


class _Forward:
    """Stands for the ``forward`` of one module or class while any hook on it is on."""

    def __init__(self, owner: Owner) -> None:
        self.owner = owner
        self.handlers: tuple[Handler, ...] = ()
        self._found = vars(owner).get("forward")
        native: Callable[..., Any] = owner.forward
        put = self._through

        if isinstance(owner, type):

            @functools.wraps(native)
            def forward(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
                return put(module, functools.partial(native, module), args, kwargs)

        else:

            @functools.wraps(native)
            def forward(*args: Any, **kwargs: Any) -> Any:
                return put(owner, native, args, kwargs)

        owner.forward = forward

    def restore(self) -> None:
        if self._found is None:
            del self.owner.forward
        else:
            self.owner.forward = self._found

    def _through(self, module: nn.Module, native: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        return _chain(self.handlers, module, native, args, kwargs)


def _chain(handlers: tuple[Handler, ...], module: nn.Module, native: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    if not handlers:
        return native(*args, **kwargs)
    rest = handlers[1:]
    return handlers[0].run(module, args, kwargs, lambda *a, **k: _chain(rest, module, native, a, k))


def _add(owner: Owner, handler: Handler) -> None:
    with _lock:
        forward = _forwards.get(id(owner))
        if forward is None:
            forward = _forwards[id(owner)] = _Forward(owner)
        forward.handlers = (handler, *forward.handlers)


def _drop(owner: Owner, handler: Handler) -> None:
    with _lock:
        forward = _forwards[id(owner)]
        forward.handlers = tuple(h for h in forward.handlers if h is not handler)
        if not forward.handlers:
            forward.restore()
            del _forwards[id(owner)]
