"""Act when a module has been imported, without importing it."""

from __future__ import annotations

import importlib.abc
import importlib.util
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class WhenImported(importlib.abc.MetaPathFinder):
    """Calls ``call(module)`` once, right after the next import of ``name`` has succeeded; until then, or until
    :meth:`cancel`, it stands in ``sys.meta_path``. The module is not in ``sys.modules`` yet when this is made."""

    def __init__(self, name: str, call: Callable[[ModuleType], None]) -> None:
        self._name, self._call = name, call
        sys.meta_path.insert(0, self)

    def cancel(self) -> bool:
        """Whether it was in time: while the module is being imported, the call is still made."""
        if self not in sys.meta_path:
            return False
        sys.meta_path.remove(self)
        return True

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if name != self._name or self not in sys.meta_path:
            return None
        sys.meta_path.remove(self)
        loader = None
        try:
            spec = importlib.util.find_spec(name)  # by those that come after: torch_npu has finders of this kind, too
            loader = spec.loader if spec is not None else None
        finally:
            if loader is None:
                sys.meta_path.insert(0, self)
        if loader is None:
            return spec
        load = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            try:
                load(module)
            except BaseException:
                sys.meta_path.insert(0, self)  # it may be imported again
                raise
            self._call(module)

        loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec
