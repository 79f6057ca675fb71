"""The graph engine of the simulator, as the converter asks it: `csrc/ge/offline.h` has the functions."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from pathlib import Path

from ophook_npu.sim.atc.errors import AtcError

_ROOM = 2048  # bytes of an error's text
_MOST_OUTPUTS = 1024


class _Description(ctypes.Structure):
    _fields_ = [
        ("input_count", ctypes.c_size_t),
        ("output_count", ctypes.c_size_t),
        ("inputs", ctypes.c_void_p),
        ("outputs", ctypes.c_void_p),
        ("gear_kind", ctypes.c_int),
        ("gear_count", ctypes.c_size_t),
        ("gear_width", ctypes.c_size_t),
        ("gears", ctypes.c_void_p),
        ("work_size", ctypes.c_size_t),
        ("weight_size", ctypes.c_size_t),
        ("is_static", ctypes.c_int),
        ("soc", ctypes.c_char_p),
    ]


def _root() -> Path:
    from ophook_npu.sim.activate import active
    from ophook_npu.sim.build import build

    return active() or build()


@functools.cache
def _operators() -> ctypes.CDLL:
    library = ctypes.CDLL(str(_root() / "lib64" / "libopapi.so"), mode=ctypes.RTLD_GLOBAL)
    library.ophook_ge_proto.restype = ctypes.c_char_p
    return library


@functools.cache
def ports(of: str) -> tuple[list[str], list[str]]:
    """The inputs and the outputs of a type in the order of its prototype, ``*`` behind one that is dynamic."""
    inputs, _, outputs = _operators().ophook_ge_proto(of.encode()).decode().partition("|")[0].partition("->")
    return inputs.replace("?", "").split(), outputs.split()


class Engine:
    """The engine's library, loaded from the simulator's folder."""

    def __init__(self) -> None:
        _operators()  # whose symbols the engine needs
        self.library = ctypes.CDLL(str(_root() / "lib64" / "libge_runner.so"))
        self.library.ophook_om_describe.restype = ctypes.POINTER(_Description)
        self.library.ophook_om_node.restype = ctypes.c_char_p

    def compile(self, om: bytes) -> Compiled:
        """A model as it would be loaded.

        Raises:
            AtcError: the engine refuses it, with the node's name and type.
        """
        handle, error = ctypes.c_void_p(), ctypes.create_string_buffer(_ROOM)
        if self.library.ophook_om_open(
            om, ctypes.c_size_t(len(om)), ctypes.byref(handle), error, ctypes.c_size_t(_ROOM)
        ):
            raise AtcError("E19999", error.value.decode(errors="replace"))
        return Compiled(self, handle)


class Compiled:
    """A compiled model: whether its shapes are known, and the data types of its nodes' outputs (ge::DataType)."""

    def __init__(self, engine: Engine, handle: ctypes.c_void_p) -> None:
        self._library = engine.library
        self._handle = handle
        about = self._library.ophook_om_describe(handle).contents
        self.is_static = bool(about.is_static)
        self.work_size, self.weight_size = int(about.work_size), int(about.weight_size)
        self._index: dict[str, int] = {}
        self._outputs: dict[str, list[int]] = {}
        room = (ctypes.c_int32 * _MOST_OUTPUTS)()
        while (name := self._node(len(self._index), room)) is not None:
            self._index[name] = len(self._index)
            self._outputs[name] = list(room)

    def _node(self, index: int, room: ctypes.Array[ctypes.c_int32]) -> str | None:
        name = self._library.ophook_om_node(self._handle, ctypes.c_size_t(index), room, ctypes.c_size_t(len(room)))
        return None if name is None else str(name.decode())

    def dtype(self, node: str, port: int) -> int:
        """The data type of an output."""
        return self._outputs[node][port]

    def retyped(self, node: str, inputs: Sequence[int], outputs: int) -> list[int] | None:
        """The data types of a node's outputs with inputs of these; None where it takes no such inputs."""
        given, made = (ctypes.c_int32 * len(inputs))(*inputs), (ctypes.c_int32 * outputs)()
        counts = ctypes.c_size_t(len(inputs)), ctypes.c_size_t(outputs)
        index = ctypes.c_size_t(self._index[node])
        refused = self._library.ophook_om_retyped(self._handle, index, given, counts[0], made, counts[1])
        return None if refused else list(made)

    def close(self) -> None:
        """Let go of it."""
        self._library.ophook_om_close(self._handle)
