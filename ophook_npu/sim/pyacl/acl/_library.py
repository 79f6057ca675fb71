"""How pyACL's functions come from ACL's: what a C function writes is returned, with its error code after it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

POINTER, SIZE, TEXT = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p
INT32, UINT32, INT64, UINT64, FLOAT, DOUBLE, BYTE, HALF = (
    ctypes.c_int32, ctypes.c_uint32, ctypes.c_int64, ctypes.c_uint64, ctypes.c_float, ctypes.c_double, ctypes.c_uint8,
    ctypes.c_uint16,
)  # fmt: skip

runtime = ctypes.CDLL("libascendcl.so")


class Out:
    """A parameter that the C function writes."""

    def __init__(self, kind: type[Any]) -> None:
        self.kind = kind


def bind(name: str, *parameters: type[Any] | Out, library: ctypes.CDLL = runtime) -> Callable[..., Any]:
    """The Python function of one that returns aclError: takes what is not `Out`, returns what is, and the code.

    One that takes nothing looks at nothing, as pyACL's: programs call ``synchronize_device(0)``.
    """
    function = getattr(library, name)
    function.restype = ctypes.c_int
    function.argtypes = [POINTER if isinstance(one, Out) else one for one in parameters]
    takes = sum(not isinstance(one, Out) for one in parameters)

    def call(*given: Any) -> Any:
        given = given if takes else ()
        if len(given) != takes:
            raise TypeError(f"{name} takes {takes} arguments, {len(given)} were given")
        values = iter(given)
        written, passed = [], []
        for one in parameters:
            if isinstance(one, Out):
                written.append(one.kind())
                passed.append(ctypes.byref(written[-1]))
            else:
                passed.append(_passed(next(values)))
        code = function(*passed)
        return (*(one.value or 0 for one in written), code) if written else code

    call.__name__ = call.__qualname__ = name
    return call


def value(
    name: str, result: type[Any] | None, *parameters: type[Any], library: ctypes.CDLL = runtime
) -> Callable[..., Any]:
    """The Python function of one that returns a value and no error code; a null pointer is 0."""
    function = getattr(library, name)
    function.restype, function.argtypes = result, list(parameters)

    def call(*given: Any) -> Any:
        found = function(*map(_passed, given if parameters else ()))
        return 0 if found is None and result is POINTER else found

    call.__name__ = call.__qualname__ = name
    return call


def _passed(given: Any) -> Any:
    return given.encode() if isinstance(given, str) else given


def array(kind: type[Any], values: Sequence[Any]) -> Any:
    """A C array of these."""
    return (kind * len(values))(*map(_passed, values))


def absent(module: str, name: str) -> NoReturn:
    """For a module's ``__getattr__``.

    Raises:
        AttributeError: names what the simulator does not have.
    """
    raise AttributeError(f"[simulated Ascend] {module}.{name} is not implemented by the simulator")
