"""What Triton asks each backend for: this one has no compiler."""

from __future__ import annotations

from typing import Any

from triton.backends.compiler import BaseBackend

from .language import own_gluon

_NONE = (
    "triton-ascend's compiler is not simulated, Triton's interpreter runs kernels; "
    "next: leave TRITON_INTERPRET unset, or set it to 1"
)


class NoCompiler(BaseBackend):  # type: ignore[misc]
    @staticmethod
    def supports_target(target: Any) -> bool:
        return bool(target.backend == "npu")

    def __init__(self, target: Any) -> None:
        super().__init__(target)
        own_gluon()  # before a launch looks at its arguments

    def hash(self) -> str:
        return "simulated"

    def parse_options(self, options: dict[str, Any]) -> Any:
        raise RuntimeError(_NONE)

    def add_stages(self, stages: Any, options: Any, language: Any = None) -> None:
        raise RuntimeError(_NONE)

    def load_dialects(self, context: Any) -> None:
        raise RuntimeError(_NONE)

    def get_module_map(self) -> dict[str, Any]:
        return {}


NoCompiler.__abstractmethods__ = frozenset()  # what another release asks for is no reason to fail its import
