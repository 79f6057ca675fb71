"""Operations of triton-ascend's language that Triton's lacks, as its pages say: docs/zh/triton_api/Extension_Ops.

Kernels call them by ``triton.language`` or by ``triton.language.extra.cann.extension``. Functions of one number or two
are in ``triton.language.extra.cann.libdevice``. Other names of these modules are missing, and say so.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from types import ModuleType
from typing import Any

EXTRA = "triton.language.extra"
_PACKAGE = f"{EXTRA}.cann"
_MODULE = f"{_PACKAGE}.extension"
# What libdevice has and numpy too, by numpy's name.
_LIBDEVICE = {
    "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan", "atan2": "arctan2",
    "atanh": "arctanh", "copysign": "copysign", "cosh": "cosh", "expm1": "expm1", "fmod": "fmod", "hypot": "hypot",
    "isinf": "isinf", "isnan": "isnan", "log10": "log10", "log1p": "log1p", "nearbyint": "rint", "pow": "power",
    "reciprocal": "reciprocal", "signbit": "signbit", "sinh": "sinh", "tan": "tan", "tanh": "tanh", "trunc": "trunc",
}  # fmt: skip


def extract_slice(ful: Any, offsets: Any, sizes: Any, strides: Any) -> Any:
    """The numbers of a tensor that begin at the offsets and lie the strides apart."""
    lengths = [_number(size) for size in sizes]
    return _tensor(_builder().create_extract_slice(ful.handle, _places(ful, offsets, lengths, strides)), ful, lengths)


def insert_slice(ful: Any, sub: Any, offsets: Any, sizes: Any, strides: Any) -> Any:
    """The tensor with another one in place of these numbers."""
    lengths = [_number(size) for size in sizes]
    places = _places(ful, offsets, lengths, strides)
    handle = _builder().create_insert_slice(ful.handle, sub.handle, places)
    return _tensor(handle, ful, list(ful.handle.data.shape))


def get_element(src: Any, indice: Any) -> Any:
    """One number of a tensor, as a scalar."""
    from triton import language as tl

    place = tuple(_number(one) for one in indice)
    return tl.core.tensor(_builder().create_get_element(src.handle, place), src.dtype)


def relu(arg0: Any) -> Any:
    """The greater of a number and zero."""
    return _computed("maximum", arg0, 0)


def round(arg0: Any) -> Any:
    """The nearest whole number; of two, the one that is farther from zero."""
    whole = _computed("trunc", arg0)
    return whole + _computed("trunc", (arg0 - whole) * 2)


def offer() -> None:
    """The modules of the operations, unless this Triton has them."""
    if _MODULE in sys.modules:
        return
    package = ModuleType(_PACKAGE)
    package.__path__ = []
    sys.modules.setdefault(_PACKAGE, package)
    modules: dict[str, dict[str, Any]] = {
        "extension": {one.__name__: one for one in (extract_slice, insert_slice, get_element)},
        "libdevice": {name: partial(_computed, function) for name, function in _LIBDEVICE.items()}
        | {one.__name__: one for one in (relu, round)},
    }
    for name, functions in modules.items():
        module = ModuleType(f"{_PACKAGE}.{name}", __doc__)
        vars(module).update(functions)
        module.__getattr__ = partial(_missing, module.__name__, ", ".join(functions))  # type: ignore[method-assign]
        setattr(package, name, module)
        sys.modules[module.__name__] = module


def adopt(extra: ModuleType) -> None:
    """triton-ascend's Triton imports the package with the one above it."""
    if not hasattr(extra, "cann"):
        extra.cann = sys.modules[_PACKAGE]  # type: ignore[attr-defined]


def join(interpreter: ModuleType) -> None:
    """The operations among those of the interpreter, and in ``triton.language``."""
    from triton import language as tl

    handle = interpreter.TensorHandle
    builder = interpreter.interpreter_builder

    def create_extract_slice(ful: Any, places: tuple[slice, ...]) -> Any:
        return handle(ful.data[places].copy(), ful.dtype)

    def create_insert_slice(ful: Any, sub: Any, places: tuple[slice, ...]) -> Any:
        data = ful.data.copy()
        data[places] = sub.data.astype(data.dtype).reshape(data[places].shape)
        return handle(data, ful.dtype)

    def create_get_element(src: Any, place: tuple[int, ...]) -> Any:
        return handle(src.data[place].reshape(1).copy(), src.dtype)

    def create_libdevice(function: str, *args: Any) -> Any:
        import numpy as np

        with np.errstate(all="ignore"):
            data = getattr(np, function)(*(one.data for one in args))
        return handle(data, tl.int1 if data.dtype == np.bool_ else args[0].dtype.scalar)

    for operation in (create_extract_slice, create_insert_slice, create_get_element, create_libdevice):
        setattr(builder, operation.__name__, operation)
    for function in (extract_slice, insert_slice, get_element):
        if not hasattr(tl, function.__name__):
            setattr(tl, function.__name__, function)


def _missing(module: str, has: str, name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(f"[simulated Ascend] {module} has no {name}; of it are simulated: {has}")


def _computed(function: str, *args: Any) -> Any:
    from triton import language as tl

    def tensor(one: Any) -> Any:
        return one if isinstance(one, tl.core.tensor) else tl.full((), getattr(one, "value", one), args[0].dtype)

    first, *others = map(tensor, args)
    for other in others:
        first, _ = tl.broadcast(first, other)
    given = [first, *(tl.broadcast(other, first)[0] for other in others)]
    handle = _builder().create_libdevice(function, *(one.handle for one in given))
    dtype = handle.get_element_ty()
    return tl.core.tensor(handle, tl.core.block_type(dtype, first.shape) if first.type.is_block() else dtype)


def _builder() -> Any:
    from triton.runtime import interpreter

    return interpreter.interpreter_builder


def _places(ful: Any, offsets: Sequence[Any], lengths: Sequence[int], strides: Sequence[Any]) -> tuple[slice, ...]:
    shape = ful.handle.data.shape
    found = []
    for axis, (offset, length, stride) in enumerate(zip(offsets, lengths, strides, strict=True)):
        begin, step = _number(offset), _number(stride)
        last = begin + (length - 1) * step
        if begin < 0 or step < 1 or last >= shape[axis]:
            raise ValueError(
                f"[simulated Ascend] a slice of {length} numbers from {begin}, {step} apart, of {shape[axis]}"
            )
        found.append(slice(begin, last + 1, step))
    return tuple(found)


def _number(value: Any) -> int:
    value = getattr(value, "value", value)
    handle = getattr(value, "handle", None)
    return int(value if handle is None else handle.data.item())


def _tensor(handle: Any, like: Any, shape: list[int]) -> Any:
    from triton import language as tl

    return tl.core.tensor(handle, tl.core.block_type(like.dtype, shape))
