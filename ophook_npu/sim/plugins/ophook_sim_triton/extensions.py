"""Operations of triton-ascend's language that Triton's lacks, as its pages say: docs/zh/triton_api/Extension_Ops.

Kernels call them by ``triton.language`` or by ``triton.language.extra.cann.extension``. Other names of that module are
missing, and say so.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

_MODULE = "triton.language.extra.cann.extension"


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


def offer() -> None:
    """The module of the operations, unless this Triton has it."""
    if _MODULE in sys.modules:
        return
    package, module = ModuleType(_MODULE.rpartition(".")[0]), ModuleType(_MODULE, __doc__)
    package.__path__ = []
    package.extension = module  # type: ignore[attr-defined]
    for function in (extract_slice, insert_slice, get_element):
        setattr(module, function.__name__, function)
    module.__getattr__ = _missing  # type: ignore[method-assign]
    sys.modules.setdefault(package.__name__, package)
    sys.modules[_MODULE] = module


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

    for operation in (create_extract_slice, create_insert_slice, create_get_element):
        setattr(builder, operation.__name__, operation)
    for function in (extract_slice, insert_slice, get_element):
        if not hasattr(tl, function.__name__):
            setattr(tl, function.__name__, function)


def _missing(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(f"[simulated Ascend] {_MODULE} has no {name}: of it, slices and get_element are simulated")


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
