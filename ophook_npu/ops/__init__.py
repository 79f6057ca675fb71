"""Custom operators: each is declared once, in one file, and registered when it is first asked for.

``ophook_npu.ops.npu_add_custom(x, y)`` registers and calls; ``ophook_npu.ops.register("npu_add_custom")`` registers
only,
after which ``torch.ops.npu.npu_add_custom`` is there. Operators of your own: ``ophook_npu.ops.register(Operator(…))``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ophook_npu.errors import OphookError
from ophook_npu.npu import autoload

if TYPE_CHECKING:
    from torch._ops import OpOverloadPacket

    from ophook_npu.ops.declare import Operator
    from ophook_npu.ops.rules import broadcast, divided, reduced, same_as

    npu_add_custom: OpOverloadPacket
    npu_rms_norm_custom: OpOverloadPacket
    npu_swiglu_custom: OpOverloadPacket
    npu_cache_update_custom: OpOverloadPacket
    crop: OpOverloadPacket
    paste: OpOverloadPacket
    numpy_sin: OpOverloadPacket
    numpy_matmul: OpOverloadPacket

# operator -> module and name of its declaration
_OPERATORS: dict[str, tuple[str, str]] = {
    "npu_add_custom": ("ophook_npu.ops.add_custom", "OPERATOR"),
    "npu_rms_norm_custom": ("ophook_npu.ops.rms_norm_custom", "OPERATOR"),
    "npu_swiglu_custom": ("ophook_npu.ops.swiglu_custom", "OPERATOR"),
    "npu_cache_update_custom": ("ophook_npu.ops.cache_update_custom", "OPERATOR"),
    "crop": ("ophook_npu.ops.pillow_ops", "CROP"),
    "paste": ("ophook_npu.ops.pillow_ops", "PASTE"),
    "numpy_sin": ("ophook_npu.ops.numpy_ops", "SIN"),
    "numpy_matmul": ("ophook_npu.ops.numpy_ops", "MATMUL"),
}
# what declarations are made of -> its module
_KIT = {
    "Operator": "ophook_npu.ops.declare",
    "broadcast": "ophook_npu.ops.rules",
    "divided": "ophook_npu.ops.rules",
    "reduced": "ophook_npu.ops.rules",
    "same_as": "ophook_npu.ops.rules",
}

__all__ = [
    "Operator",
    "broadcast",
    "crop",
    "declaration",
    "divided",
    "npu_add_custom",
    "npu_cache_update_custom",
    "npu_rms_norm_custom",
    "npu_swiglu_custom",
    "numpy_matmul",
    "numpy_sin",
    "paste",
    "reduced",
    "register",
    "same_as",
    "shipped",
]


def shipped() -> tuple[str, ...]:
    """The names of the operators that ship here."""
    return tuple(_OPERATORS)


def declaration(name: str) -> Operator:
    """The declaration of an operator that ships here; ``name`` with or without its namespace.

    Raises:
        OphookError: there is no such operator.
    """
    known = _OPERATORS.get(name.split("::")[-1])
    autoload.settle()  # the declarations import torch
    if known is not None:
        found: Operator = getattr(import_module(known[0]), known[1])
        if name in (found.name, found.qualname):
            return found
    raise OphookError("ops.register", f"no operator {name!r}", allowed=", ".join(_OPERATORS))


def register(operator: str | Operator) -> Any:
    """Register an operator for every backend that is here and return its ``torch.ops`` packet. May be called again.

    Args:
        operator: the name of one that ships here, or a declaration.

    Raises:
        OphookError: there is no such operator, or torch already has one of this name with another schema.
    """
    autoload.settle()
    from ophook_npu.ops._register import register as register_declaration

    return register_declaration(declaration(operator) if isinstance(operator, str) else operator)


if not TYPE_CHECKING:

    def __getattr__(name):
        if name in _OPERATORS:
            return register(name)
        if name in _KIT:
            autoload.settle()
            return getattr(import_module(_KIT[name]), name)
        raise AttributeError(f"module 'ophook_npu.ops' has no attribute {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted(__all__)
