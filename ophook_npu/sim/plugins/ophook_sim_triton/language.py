"""What a kernel for an Ascend may do and Triton's interpreter stops at, where this Triton has the known places."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any


def widen(interpreter: ModuleType) -> None:
    _any_length()
    _scalars_as_numbers(interpreter)
    _unrolled_loops(interpreter)


def _any_length() -> None:
    """Blocks of any length: triton-ascend asks for no power of two (its docs/zh/triton_api/Creation_Ops/arange.md)."""
    from triton import _utils
    from triton import language as tl
    from triton.language import semantic

    owner = getattr(semantic, "TritonSemantic", None)
    if owner is None or not hasattr(_utils, "is_power_of_two"):
        return
    _utils.is_power_of_two = lambda length: True
    arange = owner.arange

    def any_length(self: Any, start: int, end: int, *, ret_ty: Any = None) -> Any:
        lengths = isinstance(start, int) and isinstance(end, int) and 0 <= start < end < 1 << 31
        if not lengths or ret_ty is not None or (end - start) & (end - start - 1) == 0:
            return arange(self, start, end, ret_ty=ret_ty)
        ret_ty = tl.block_type(tl.int32, [end - start])
        return self.tensor(self.builder.create_make_range(ret_ty.to_ir(self.builder), start, end), ret_ty)

    owner.arange = any_length


def _scalars_as_numbers(interpreter: ModuleType) -> None:
    """``range(tl.program_id(0), n)``: a scalar is an array of one element, and numpy 2.4 takes that for no number."""
    patch = getattr(interpreter, "_patch_lang_tensor", None)
    if patch is None:
        return

    def patched(tensor: Any, scope: Any) -> None:
        patch(tensor, scope)
        if hasattr(scope, "set_attr"):
            scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.item()))

    interpreter._patch_lang_tensor = patched  # type: ignore[attr-defined]


def _unrolled_loops(interpreter: ModuleType) -> None:
    """The trace of a launch is told where a loop of ``tl.static_range`` begins and ends."""
    patch = getattr(interpreter, "_patch_lang_core", None)
    if patch is None:
        return

    def patched(lang: Any, scope: Any) -> None:
        patch(lang, scope)
        plain = lang.static_range

        def unrolled(*args: Any, **kwargs: Any) -> Iterator[int]:
            from ophook_sim_triton import launches

            trace = launches.running.tracing() if launches.running else None
            begin = trace.at if trace else 0
            yield from plain(*args, **kwargs)
            if trace:
                trace.unrolled(begin)

        if hasattr(scope, "set_attr"):
            scope.set_attr(lang, "static_range", unrolled)

    interpreter._patch_lang_core = patched  # type: ignore[attr-defined]
