"""Device memory for one run: every tensor in an allocation of its own, padded as torch_npu pads, and views of it."""

from __future__ import annotations

import functools
import re
import sys
from typing import Any

import numpy as np

from ophook_npu.errors import OphookError
from ophook_npu.soc import CSRC

ALIGN = 512

# ge::DataType: (its name, the C++ type in a kernel, numpy's type; bf16 has none and is moved as bits)
DTYPES: dict[int, tuple[str, str, str]] = {
    0: ("DT_FLOAT", "float", "float32"), 1: ("DT_FLOAT16", "half", "float16"), 2: ("DT_INT8", "int8_t", "int8"),
    3: ("DT_INT32", "int32_t", "int32"), 4: ("DT_UINT8", "uint8_t", "uint8"), 6: ("DT_INT16", "int16_t", "int16"),
    7: ("DT_UINT16", "uint16_t", "uint16"), 8: ("DT_UINT32", "uint32_t", "uint32"), 9: ("DT_INT64", "int64_t", "int64"),
    10: ("DT_UINT64", "uint64_t", "uint64"), 11: ("DT_DOUBLE", "double", "float64"), 12: ("DT_BOOL", "bool", "bool"),
    27: ("DT_BF16", "bfloat16_t", "bfloat16"),
}  # fmt: skip
_BY_NAME = {numpy: number for number, (_, _, numpy) in DTYPES.items()}


def name_of(dtype: int) -> str:
    """numpy's name of a ge::DataType, or the graph engine's of one that no array has."""
    return DTYPES[dtype][2] if dtype in DTYPES else _others().get(dtype, f"data type {dtype}")


def label_of(dtype: int) -> str:
    """The graph engine's name of it, DT_FLOAT."""
    return DTYPES[dtype][0] if dtype in DTYPES else _others()[dtype]


@functools.cache
def _others() -> dict[int, str]:
    text = (CSRC / "ascendc" / "host" / "details" / "graph_types.inc").read_text()
    return {int(number): name for name, number in re.findall(r"^DATA_TYPE\((\w+), (\d+),", text, re.MULTILINE)}


def size_of(dtype: int) -> int:
    return 2 if dtype == 27 else int(np.dtype(DTYPES[dtype][2]).itemsize)


def is_tensor(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def dtype_of(value: Any, where: str) -> int:
    """The ge::DataType of an array or tensor.

    Raises:
        OphookError: an operator cannot have that type.
    """
    name = str(value.dtype).removeprefix("torch.")
    if name not in _BY_NAME:
        raise OphookError(where, f"an argument has dtype {name}", allowed=", ".join(_BY_NAME))
    return _BY_NAME[name]


class Block:
    """One allocation. ``view`` is its tensor's bytes."""

    def __init__(self, shape: tuple[int, ...], dtype: int) -> None:
        self.shape, self.dtype = shape, dtype
        self.bytes = int(np.prod(shape, dtype=np.int64)) * size_of(dtype)
        self.allocated = (self.bytes + 32 + ALIGN - 1) // ALIGN * ALIGN
        # NaN in every floating-point type, and 64 KiB on both sides that no argument owns
        self._raw = np.full(self.allocated + ALIGN + 2 * 65536, 0xFF, dtype=np.uint8)
        self.offset = 65536 + (-(self._raw.ctypes.data + 65536)) % ALIGN
        self.address = self._raw.ctypes.data + self.offset
        self.view = self._raw[self.offset : self.offset + self.bytes]

    @classmethod
    def of(cls, value: Any, where: str) -> Block:
        block = cls(tuple(value.shape), dtype_of(value, where))
        block.view[:] = as_bytes(value)
        return block

    def become(self, shape: tuple[int, ...]) -> None:
        """Have this shape from now on.

        Raises:
            OphookError: it has not the room.
        """
        count = int(np.prod(shape, dtype=np.int64)) * size_of(self.dtype)
        if count > self.bytes:
            what = f"the kernel tells the shape {shape}"
            raise OphookError("kernel", what, allowed=f"what fits into {self.shape}")
        self.shape, self.bytes, self.view = shape, count, self.view[:count]

    def array(self, like_torch: bool) -> Any:
        """The contents: a tensor where ``like_torch``, else an array (bfloat16 as its bits in uint16)."""
        name = name_of(self.dtype)
        if like_torch:
            import torch

            dtype = getattr(torch, name)
            if not self.bytes:
                return torch.empty(self.shape, dtype=dtype)
            return torch.from_numpy(self.view.copy()).view(dtype).reshape(self.shape)
        return self.view.copy().view("uint16" if name == "bfloat16" else name).reshape(self.shape)


def as_bytes(value: Any) -> np.ndarray[Any, Any]:
    if is_tensor(value):
        import torch

        flat = value.detach().cpu().contiguous().reshape(-1)
        array: np.ndarray[Any, Any] = flat.view(torch.uint8).numpy() if flat.numel() else np.empty(0, np.uint8)
        return array
    return np.ascontiguousarray(value).reshape(-1).view(np.uint8)
