"""Act when torchair is loaded, without loading it.

torch_npu puts a proxy named ``torchair`` into ``sys.modules`` and imports the real package,
`torch_npu.dynamo.torchair`, on first use, which takes seconds and needs the graph engine. What must be registered with
torchair waits for that moment.
"""

from __future__ import annotations

import importlib.machinery
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

REAL_NAME = "torch_npu.dynamo.torchair"

_waiting: list[Callable[[ModuleType], None]] = []


class _Loader:
    """The package's own loader, with the waiting calls made once the package has run."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def create_module(self, spec: Any) -> Any:
        return self._inner.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._inner.exec_module(module)
        if _Finder in sys.meta_path:
            sys.meta_path.remove(_Finder)
        while _waiting:
            _waiting.pop(0)(module)


class _Finder:
    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> Any:
        if name != REAL_NAME:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)  # type: ignore[assignment]
        return spec


def when_loaded(call: Callable[[ModuleType], None]) -> None:
    """Call ``call(torchair)`` now if torchair is loaded, else right after it has been.

    ``torchair`` is the real package; the proxy named torchair is not usable yet at that moment.
    """
    module = sys.modules.get(REAL_NAME)
    if module is not None and hasattr(module, "register_fx_node_ge_converter"):
        call(module)
        return
    _waiting.append(call)
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)
