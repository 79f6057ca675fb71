"""Put your own operator under any PyTorch model on Huawei Ascend, and prove it on a machine that has no NPU.

Importing this package is inert: it loads neither torch nor torch_npu and patches nothing. Public names resolve on first
use.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the same names, for type checkers and editors
    from ophook_npu import dispatch, hooks, kernel, npu, observe, ops, patch, sim
    from ophook_npu.errors import OphookError
    from ophook_npu.hooks import Call, Hook, MissWarning, Swap, hook, original, swap

__version__ = "0.1.0"

__all__ = [
    "Call",
    "Hook",
    "MissWarning",
    "OphookError",
    "Swap",
    "__version__",
    "dispatch",
    "hook",
    "hooks",
    "kernel",
    "npu",
    "observe",
    "ops",
    "original",
    "patch",
    "sim",
    "swap",
]

if not TYPE_CHECKING:

    def __getattr__(name):
        from importlib import import_module

        if name not in __all__:
            raise AttributeError(f"module 'ophook_npu' has no attribute {name!r}; it has {', '.join(__all__)}")
        if name == "OphookError":
            return import_module("ophook_npu.errors").OphookError
        if name in ("Call", "Hook", "MissWarning", "Swap", "hook", "original", "swap"):
            return getattr(import_module("ophook_npu.hooks"), name)
        return import_module(f"ophook_npu.{name}")


def __dir__() -> list[str]:
    return sorted(__all__)
