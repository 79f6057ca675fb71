"""Which formula stands for an operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ophook_npu.observe.references.products import matmul_backward

REFERENCES: Mapping[str, Callable[..., Any]] = {"aten::matmul_backward": matmul_backward}


def reference_of(name: str) -> Callable[..., Any] | None:
    """The formula for operator ``name``, if there is one."""
    if name.startswith("npu::"):
        # Only who runs such an operator pays for these.
        from ophook_npu.observe.references.npu import NPU_REFERENCES

        return NPU_REFERENCES.get(name)
    return REFERENCES.get(name)
