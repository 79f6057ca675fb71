"""Custom operators: each is declared in one file and registered when it is first asked for.

``ophook_npu.ops.npu_add_custom(x, y)`` registers and calls; ``ophook_npu.ops.register("npu_add_custom")`` registers only,
after which ``torch.ops.npu.npu_add_custom`` is there.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ophook_npu.errors import OphookError

# operator -> module that declares it; the module's register() returns the torch.ops packet
_OPERATORS: dict[str, str] = {"npu_add_custom": "ophook_npu.ops.add_custom"}

__all__ = [*_OPERATORS, "register"]


def register(name: str) -> Any:
    """Register the operator for every backend that is here and return its ``torch.ops`` packet. May be called again.

    Raises:
        OphookError: there is no such operator, or torch already has one of this name with another schema.
    """
    if name not in _OPERATORS:
        raise OphookError("ops.register", f"no operator {name!r}", allowed=", ".join(_OPERATORS))
    return import_module(_OPERATORS[name]).register()


def __getattr__(name: str) -> Any:
    if name in _OPERATORS:
        return register(name)
    raise AttributeError(f"module 'ophook_npu.ops' has no attribute {name!r}; it has {', '.join(__all__)}")
