"""Put your own operator under any PyTorch model on Huawei Ascend, and prove it on a machine that has no NPU.

Importing this package is inert: it loads neither torch nor torch_npu and patches nothing. Public names resolve on first
use.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# public name -> module that defines it
_PUBLIC: dict[str, str] = {
    "OphookError": "ophook_npu.errors",
    "Call": "ophook_npu.hooks",
    "Hook": "ophook_npu.hooks",
    "MissWarning": "ophook_npu.hooks",
    "hook": "ophook_npu.hooks",
    "original": "ophook_npu.hooks",
    "swap": "ophook_npu.hooks",
}
_SUBPACKAGES = ("cli", "dispatch", "hooks", "npu", "observe", "ops", "patch", "sim")

__all__ = [*_PUBLIC, *_SUBPACKAGES, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    if name in _SUBPACKAGES:
        return import_module(f"ophook_npu.{name}")
    raise AttributeError(f"module 'ophook_npu' has no attribute {name!r}; it has {', '.join(sorted(__all__))}")


def __dir__() -> list[str]:
    return sorted(__all__)
