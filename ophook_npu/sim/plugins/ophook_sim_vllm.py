"""vLLM's plugin of the simulator: the Triton kernels that vllm-ascend calls all the same run in Triton's interpreter.

Where there is no Triton with a driver, vLLM puts stand-ins in its place, and `triton.jit` leaves a kernel the
function that it was. vllm-ascend then does without Triton where it can. Where a request's tokens lie in the cache is
found by a kernel in any case, which takes triton-ascend and its compiler. Triton's own interpreter runs the same
kernel, from and to memory of the device.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import os
import sys
import textwrap
from collections.abc import Callable
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any

# vLLM's names for the stand-ins, and what they stand for.
_STANDS_FOR = {"triton": "triton", "tl": "triton.language", "tldevice": "triton.language.extra.libdevice"}


def register() -> None:
    """Called by vLLM in each of its processes. Leaves vLLM as it is where it uses a Triton of its own."""
    vllm = import_module("vllm.triton_utils")
    if vllm.HAS_TRITON or getattr(vllm.triton, "jit", None) is _jit:
        return
    vllm.triton.jit = _jit  # for the modules that come after this
    vllm.triton.__getattr__ = _of_triton
    there = [vars(module) for name, module in list(sys.modules.items()) if name.startswith("vllm") and module]
    kernels: dict[FunctionType, _Interpreted] = {}
    for names in there:
        for name, value in list(names.items()):
            if isinstance(value, FunctionType) and _is_kernel(value, vllm.triton):
                names[name] = kernels.setdefault(value, _Interpreted(value, {}))


def _of_triton(name: str) -> Any:
    """What the stand-in lacks, such as `runtime`: a function that calls a kernel may ask for the device's cores."""
    try:
        if not name.startswith("__"):
            return getattr(import_module("triton"), name)
    except ImportError:
        pass
    raise AttributeError(f"module 'triton' has no attribute {name!r}")


def _is_kernel(function: FunctionType, triton: ModuleType) -> bool:
    """Also one that has `triton.heuristics` or `triton.autotune` before `triton.jit`."""
    code = function.__code__
    if function.__globals__.get("triton") is not triton:
        return False
    first = linecache.getline(code.co_filename, code.co_firstlineno).lstrip()
    return first.startswith("@triton.") and any(
        ast.unparse(decorator).startswith("triton.jit") for decorator in _decorators(function)
    )


def _decorators(function: FunctionType) -> list[ast.expr]:
    code = function.__code__
    lines = linecache.getlines(code.co_filename)[code.co_firstlineno - 1 :]
    defined = ast.parse(textwrap.dedent("".join(inspect.getblock(lines)))).body[0]
    return defined.decorator_list if isinstance(defined, ast.FunctionDef) else []


def _jit(kernel: FunctionType | None = None, **options: Any) -> _Interpreted | Callable[[FunctionType], _Interpreted]:
    return _Interpreted(kernel, options) if kernel else lambda kernel: _Interpreted(kernel, options)


class _Interpreted:
    """``kernel[grid](…)``; Triton is imported when a kernel is called, not by each process that loads the plugin."""

    def __init__(self, kernel: FunctionType, options: dict[str, Any]) -> None:
        self._kernel, self._options = kernel, options
        self._jit: Any = None

    def __getitem__(self, grid: Any) -> Any:
        return self._compiled()[grid]

    def __call__(self, *arguments: Any, **named: Any) -> Any:  # from another kernel
        return self._compiled()(*arguments, **named)

    def _compiled(self) -> Any:
        if self._jit is None:
            self._jit = self._compile()
        return self._jit

    def _compile(self) -> Any:
        name = f"{self._kernel.__module__}.{self._kernel.__qualname__}"
        if os.environ.get("TRITON_INTERPRET") != "1":
            raise RuntimeError(
                f"{name} is a Triton kernel, and there is no compiler for it here; "
                "next: leave TRITON_INTERPRET unset, or set it to 1"
            )
        try:
            triton = import_module("triton")
        except ImportError as error:
            raise RuntimeError(
                f"{name} is a Triton kernel, and Triton is not installed; "
                "next: pip install triton, whose interpreter runs it on the simulator"
            ) from error
        vllm = import_module("vllm.triton_utils")
        own = {id(getattr(vllm, name, None)): import_module(module) for name, module in _STANDS_FOR.items()}
        names = self._kernel.__globals__
        names.update({name: own[id(value)] for name, value in names.items() if id(value) in own})
        # The stand-in for `tl.constexpr` is None.
        types = self._kernel.__annotations__
        types.update({name: triton.language.constexpr for name, value in types.items() if value is None})
        if "<locals>" in name:
            return triton.jit(self._kernel, **self._options)
        kernel: Any = self._kernel
        for decorator in reversed(_decorators(self._kernel)):  # the stand-ins did nothing with them
            kernel = eval(compile(ast.Expression(decorator), name, "eval"), names)(kernel)
        return kernel
