"""What a kernel for an Ascend may do and Triton's interpreter stops at, where this Triton has the known places."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

# Casts, by what they make; and what moves numbers without looking at them. All else computes.
_CASTS = {"fp_to_fp", "fp_ext", "fp_trunc", "si_to_fp", "ui_to_fp", "fp_to_si", "fp_to_ui", "int_cast"}
_MOVES = re.compile(
    "load|store|splat|broadcast|reshape|expand_dims|trans|join|split|cat|bitcast|addptr|make_range|gather|select|atomic|"
    "slice|get_element|ptr|descriptor|pointer|barrier|assert|print|advance"
)


def widen(interpreter: ModuleType) -> None:
    _bfloat16(interpreter)
    _truth_values(interpreter)
    _any_length()
    _scalars_as_numbers(interpreter)
    _unrolled_loops_and_loads(interpreter)
    _counters(interpreter)
    _own_gluon(interpreter)


def own_gluon() -> None:
    """triton-ascend's Triton has no gluon, and vllm-ascend puts empty modules there. This Triton looks into its own."""
    gluon = "triton.experimental.gluon"
    if gluon in sys.modules and sys.modules[gluon].__spec__ is None:
        for name in [name for name in sys.modules if name.startswith(gluon)]:
            del sys.modules[name]


def _own_gluon(interpreter: ModuleType) -> None:
    executor = interpreter.GridExecutor
    run = executor.__call__

    def launch(executed: Any, *args: Any, **kwargs: Any) -> Any:
        own_gluon()
        return run(executed, *args, **kwargs)

    executor.__call__ = launch


def _truth_values(interpreter: ModuleType) -> None:
    """A comparison gives truth values. The interpreter notes the type of what was compared, so that one of two scalars
    becomes floats where it is spread over a block, and floats have no `&`.
    """
    builder = interpreter.interpreter_builder
    splat = builder.create_splat

    def spread(*given: Any) -> Any:  # the type and the scalar; in older ones the scalar and the shape
        block = splat(*given)
        kinds = [getattr(getattr(getattr(one, "data", None), "dtype", None), "kind", "") for one in given]
        if "b" in kinds:
            block.data = block.data.astype(bool)
        return block

    builder.create_splat = spread


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
            scope.set_attr(tensor, "cast", _saturating(tensor.cast))

    interpreter._patch_lang_tensor = patched  # type: ignore[attr-defined]


def _saturating(plain: Callable[..., Any]) -> Callable[..., Any]:
    """``x.cast(tl.int8, overflow_mode="saturate")``: triton-ascend's docs/zh/triton_api/Creation_Ops/cast.md."""

    def cast(self: Any, dtype: Any, *more: Any, overflow_mode: Any = None, **named: Any) -> Any:
        from triton import language as tl

        mode, kind = getattr(overflow_mode, "value", overflow_mode), getattr(dtype, "value", dtype)
        if mode not in (None, "trunc", "saturate"):
            raise ValueError(f"overflow_mode={mode}; allowed: trunc, saturate")
        if mode == "saturate" and kind.is_int():
            if kind.primitive_bitwidth > 16:
                raise NotImplementedError(f"[simulated Ascend] a cast to {kind} that saturates is not simulated")
            most = (1 << (kind.primitive_bitwidth - kind.is_int_signed())) - 1
            least = -most - 1 if kind.is_int_signed() else 0
            self = plain(self, tl.float32 if self.dtype.is_floating() else tl.int32)
            self = tl.minimum(tl.maximum(self, least), most)
        return plain(self, dtype, *more, **named)

    return cast


def _caring(plain: Callable[..., Any]) -> Callable[..., Any]:
    """``tl.load(…, mask=m, care_padding=False)``: what the mask leaves out is anything, unless `other` says what it is
    (triton-ascend's guide to care_padding). Here it is NaN, or 90.
    """

    def load(
        pointer: Any, mask: Any = None, other: Any = None, *more: Any, care_padding: bool = True, **named: Any
    ) -> Any:
        if not care_padding and mask is not None and other is None:
            other = float("nan") if pointer.dtype.element_ty.is_floating() else 90
        return plain(pointer, mask, other, *more, **named)

    load.caring = True  # type: ignore[attr-defined]
    return load


def _unrolled_loops_and_loads(interpreter: ModuleType) -> None:
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
            if not hasattr(lang.load, "caring"):  # each call of a kernel by a kernel comes by here
                scope.set_attr(lang, "load", _caring(lang.load))

    interpreter._patch_lang_core = patched  # type: ignore[attr-defined]


def _counters(interpreter: ModuleType) -> None:
    """``for i in range(n): i.to(tl.int64)``: a loop's counter is a scalar to a compiler, and here a number."""
    transformer = getattr(interpreter, "ASTTransformer", None)
    if transformer is None:
        return

    class Counter(int):
        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            return getattr(interpreter.interpreter_semantic.to_tensor(int(self), False), name)

    def visit_for(self: ast.NodeTransformer, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        called = node.iter.func if isinstance(node.iter, ast.Call) else None
        if getattr(called, "id", getattr(called, "attr", "")) == "range":
            node.iter = ast.Call(ast.Name("counters", ast.Load()), [node.iter], [])
        return node

    interpreter.counters = lambda numbers: map(Counter, numbers)  # type: ignore[attr-defined]
    transformer.visit_For = visit_for


def _bfloat16(interpreter: ModuleType) -> None:
    """The interpreter keeps bfloat16 as bits, and computes with these as whole numbers. Here they are numbers: computed
    in float32, and rounded to the nearest.
    """
    import numpy as np
    from triton import language as tl

    builder, handle = interpreter.interpreter_builder, interpreter.TensorHandle

    def is_narrow(one: Any) -> bool:
        return isinstance(one, handle) and one.get_element_ty() == tl.bfloat16 and one.data.dtype == np.uint16

    def wide(one: Any) -> Any:
        if not is_narrow(one):
            return one
        return handle((one.data.astype(np.uint32) << 16).view(np.float32), tl.float32)

    def narrow(one: Any) -> Any:
        bits = np.ascontiguousarray(one.data).view(np.uint32).astype(np.uint64)
        rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
        data = np.where(np.isnan(one.data), bits >> 16 | 0x40, rounded).astype(np.uint16)
        return handle(data.reshape(one.data.shape), tl.bfloat16)

    def computed(operation: Callable[..., Any]) -> Callable[..., Any]:
        def compute(*args: Any, **kwargs: Any) -> Any:
            floats = [one for one in args if isinstance(one, handle) and one.get_element_ty().is_floating()]
            if not any(is_narrow(one) for one in floats):
                return operation(*args, **kwargs)
            result = operation(*map(wide, args), **kwargs)
            ours = isinstance(result, handle) and result.data.dtype == np.float32  # no comparison
            return narrow(result) if ours and all(is_narrow(one) for one in floats) else result

        return compute

    def cast(operation: Callable[..., Any]) -> Callable[..., Any]:
        def convert(src: Any, dst_type: Any, *more: Any) -> Any:
            to_narrow = dst_type.scalar == tl.bfloat16
            if not to_narrow and not is_narrow(src):
                return operation(src, dst_type, *more)
            src = wide(src)
            if not to_narrow and dst_type.scalar == tl.float32:
                return src
            if not to_narrow or "RTZ" in str(more):
                return operation(src, dst_type, *more)
            return narrow(src if src.get_element_ty() == tl.float32 else operation(src, tl.float32, *more))

        return convert

    if not hasattr(builder, "get_bf16"):
        builder.get_bf16 = lambda value: narrow(handle(np.array([value], dtype=np.float32), tl.float32))
    for function in vars(tl.math).values():
        _take_16_bits(function)
    for name in dir(builder):
        short = name.removeprefix("create_")
        if short in _CASTS:
            setattr(builder, name, cast(getattr(builder, name)))
        elif name.startswith("create_") and not _MOVES.search(short):
            setattr(builder, name, computed(getattr(builder, name)))


def _take_16_bits(function: Any) -> None:
    """Triton's mathematical functions take what libdevice takes, float32 and float64; triton-ascend's take float16 and
    bfloat16, too (its docs/zh/triton_api/Math_Ops).
    """
    while function is not None:
        cells = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
        for dtypes in cells:
            if isinstance(dtypes, list) and "fp32" in dtypes:
                dtypes += [one for one in ("fp16", "bf16") if one not in dtypes]
        function = getattr(function, "__wrapped__", None)
