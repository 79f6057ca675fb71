"""The simulated device as a driver of Triton's: ``triton.runtime.driver.active`` of programs for an NPU.

It is active for Triton alone: other projects take an active driver for a compiler (vLLM does), and there is none.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import sys
import time
from collections.abc import Callable, Sequence
from types import ModuleType, SimpleNamespace
from typing import Any

from ophook_sim_triton import extensions
from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase

_INTERPRETER = "triton.runtime.interpreter"


class SimulatedDriver(DriverBase):  # type: ignore[misc]
    def __init__(self) -> None:
        self.utils = SimpleNamespace(get_device_properties=_properties)

    @classmethod
    def is_active(cls) -> bool:
        return sys._getframe(1).f_globals.get("__name__") == "triton.runtime.driver"

    def map_python_to_cpp_type(self, ty: str) -> str:
        raise RuntimeError(f"no C++ type for {ty}: triton-ascend's compiler is not simulated")

    def get_current_target(self) -> Any:
        return GPUTarget("npu", os.environ["OPHOOK_SIM_SOC"], 0)

    def get_device_interface(self) -> Any:
        return _torch().npu

    def get_current_device(self) -> int:
        return int(_torch().npu.current_device())

    def get_current_stream(self, device: int) -> int:
        return int(_torch().npu.current_stream(device).npu_stream)

    def get_active_torch_device(self) -> Any:
        return _torch().device("npu", self.get_current_device())

    def get_benchmarker(self) -> Callable[..., list[float]]:
        """One call: the interpreter's time says nothing of a device's, so more of it would not choose better."""

        def once(call: Callable[[], object], *, quantiles: Sequence[float], **_: Any) -> list[float]:
            from ophook_sim_triton import launches

            begin = time.perf_counter()
            if launches.running is None:
                call()
            else:
                launches.running.tuning = True
                try:
                    call()
                finally:
                    launches.running.tuning = False
            return [1000 * (time.perf_counter() - begin)] * len(quantiles)

        return once


SimulatedDriver.__abstractmethods__ = frozenset()  # what another release asks for is no reason to fail its import


def _torch() -> Any:
    import torch
    import torch_npu  # noqa: F401

    return torch


def _properties(device: int) -> dict[str, int]:
    """What triton-ascend's driver says (its programming guide: num_aicore, num_vectorcore)."""
    found = _torch().npu.get_device_properties(device)
    return {"num_aicore": found.cube_core_num, "num_vectorcore": found.vector_core_num}


def _widen(interpreter: ModuleType) -> None:
    from ophook_sim_triton import language, launches

    extensions.join(interpreter)
    language.widen(interpreter)
    launches.watch(interpreter)


class _TritonLoader(importlib.abc.Loader):
    def __init__(self, loader: importlib.abc.Loader, then: Callable[[ModuleType], None]) -> None:
        self._loader, self._then = loader, then

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        self._then(module)


class _TritonFinder(importlib.abc.MetaPathFinder):
    """What is to be done once with a module of Triton's, as soon as it is there."""

    def __init__(self, name: str, then: Callable[[ModuleType], None]) -> None:
        self._name, self._then = name, then

    def find_spec(
        self, name: str, path: Any, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != self._name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec and spec.loader:
            spec.loader = _TritonLoader(spec.loader, self._then)
        return spec


extensions.offer()
if extensions.EXTRA in sys.modules:
    extensions.adopt(sys.modules[extensions.EXTRA])
else:
    sys.meta_path.insert(0, _TritonFinder(extensions.EXTRA, extensions.adopt))
if os.environ.get("TRITON_INTERPRET") == "1" and _INTERPRETER not in sys.modules:
    sys.meta_path.insert(0, _TritonFinder(_INTERPRETER, _widen))
