"""Offline models are not simulated: each function refuses by its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn


def __getattr__(name: str) -> Callable[..., Any]:
    if name.startswith("_"):
        raise AttributeError(f"module 'acl.mdl' has no attribute {name!r}")

    def refuse(*_: object, **__: object) -> NoReturn:
        raise NotImplementedError(f"[simulated Ascend] acl.mdl.{name} is not implemented: offline models (.om) are not")

    refuse.__name__ = refuse.__qualname__ = name
    return refuse
