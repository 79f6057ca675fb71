"""``forward`` of modules and of module classes, replaced in layers that may be taken off in any order."""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable
from typing import Any
from weakref import finalize, ref

Forward = Callable[..., Any]
Owner = Any  # an nn.Module or a class of them
Layer = Callable[[Owner, Forward], Forward]
"""From a module (or class) and the ``forward`` below to the one that stands in its place."""

_lock = threading.RLock()


def put(owner: Owner, layer: Layer) -> Callable[[], None]:
    """Puts ``layer`` on top of the forward of ``owner``; returns what takes it off, which may be called again."""
    with _lock:
        stack = _stacks.get(id(owner))
        if stack is None:
            stack = _stacks[id(owner)] = _Stack(owner)
            # Not a WeakKeyDictionary: a module may be of a class without a hash.
            finalize(owner, _stacks.pop, id(owner), None).atexit = False
        entry = [layer]  # a layer may be on twice
        stack.layers.append(entry)
        stack.apply(owner)

    def off() -> None:
        with _lock:
            if any(found is entry for found in stack.layers):
                stack.layers = [found for found in stack.layers if found is not entry]
                stack.apply(owner)
                if not stack.layers:
                    _stacks.pop(id(owner), None)

    return off


class _Stack:
    # It holds no module: one that is thrown away with layers on must not live on in _stacks.
    def __init__(self, owner: Owner) -> None:
        self.layers: list[list[Layer]] = []
        self._found: Forward | None = vars(owner).get("forward")
        self._of_class: Forward | None = None
        if isinstance(owner, type):
            self._of_class = next(vars(base)["forward"] for base in owner.__mro__ if "forward" in vars(base))
        self._put: Callable[[], Forward | None] = lambda: self._found

    def apply(self, owner: Owner) -> None:
        """Sets the forward that follows from the layers."""
        if vars(owner).get("forward") is not self._put():
            warnings.warn(
                f"[forward of {owner.__name__ if isinstance(owner, type) else type(owner).__name__}] something else "
                "replaced it in the meantime, and stays in place; undo that first",
                RuntimeWarning,
                stacklevel=4,
            )
            return
        forward = self._found
        if self.layers:
            forward = self._found or self._of_class or _of_its_class(owner)
            for (layer,) in self.layers:
                forward = layer(owner, forward)
        if forward is None:
            del owner.forward
        else:
            owner.forward = forward
        self._put = ref(forward) if self.layers else lambda: self._found


_stacks: dict[int, _Stack] = {}


def _of_its_class(module: Any) -> Forward:
    """What a module without a forward of its own calls, also when its class gets another one later."""

    @functools.wraps(type(module).forward)
    def forward(*args: Any, **kwargs: Any) -> Any:
        return type(module).forward(module, *args, **kwargs)

    return forward
