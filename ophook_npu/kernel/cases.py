"""Inputs to check a kernel with: from a declaration here, from the user's file, from .npy files, or made up."""

from __future__ import annotations

import runpy
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ophook_npu.errors import OphookError
from ophook_npu.kernel.memory import name_of
from ophook_npu.kernel.project import DYNAMIC, OPTIONAL, OpParameter, Prototype

# Dense and odd shapes: tails that are no multiple of 32 bytes, fewer elements than cores, more than one tile a core.
SHAPES = ((8, 2048), (1, 7), (33, 257), (1, 32), (64, 4096), (3, 5, 11))
LAST = (5, 13)  # of the third tensor of a list, behind two of these


@dataclass(frozen=True)
class Case:
    """Arguments of one call, and what it should give where that is known."""

    label: str
    inputs: tuple[Any, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    expected: Callable[[], Any] | None = None


Declared = Callable[[Prototype], list[Case]]
"""The cases of an operator that something else knows, such as its declaration; none where it does not."""


def unknown(prototype: Prototype) -> list[Case]:
    """Knows no operator."""
    return []


def cases(prototype: Prototype, given: Sequence[Path] = (), declared: Declared = unknown) -> list[Case]:
    """``declared`` is asked where nothing is given; what it does not know is made up.

    Raises:
        OphookError: a file that is not there or has no ``inputs``.
    """
    for path in given:
        if not path.is_file():
            raise OphookError("kernel check", f"no such file: {path}", allowed="a .py file or .npy files")
    if given and given[0].suffix == ".py":
        return _from_file(given[0])
    if given:
        return [Case(", ".join(path.name for path in given), tuple(map(_array, given)))]
    return declared(prototype) or _made_up(prototype)


def _array(path: Path) -> Any:
    try:
        return np.load(path, allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        allowed = "a .npy file with numbers, or a .py file with inputs()"
        raise OphookError("kernel check", f"{path.name} cannot be read: {error}", allowed=allowed) from None


def _from_file(path: Path) -> list[Case]:
    """``inputs()`` gives tuples of arguments; ``reference(*arguments)``, if there, what the kernel should give."""
    allowed = "inputs() -> list of tuples, one value for each input and attribute"
    try:
        names = runpy.run_path(str(path))
        if not callable(names.get("inputs")):
            raise OphookError("kernel check", f"{path.name} has no function inputs()", allowed=allowed)
        given = list(names["inputs"]())
    except OphookError:
        raise
    except Exception as error:
        raise OphookError("kernel check", f"{path.name} does not run: {_told(error, path)}", allowed=allowed) from error
    if not given:
        raise OphookError("kernel check", f"inputs() of {path.name} gives nothing to run", allowed=allowed)
    found = []
    for number, arguments in enumerate(given):
        if not isinstance(arguments, tuple | list):
            what = f"inputs()[{number}] of {path.name} is of type {type(arguments).__name__}"
            raise OphookError("kernel check", what, allowed=allowed)
        expected = _expected(path, names.get("reference"), arguments)
        found.append(Case(f"inputs()[{number}]", tuple(arguments), {}, expected))
    return found


def _expected(path: Path, reference: Any, arguments: Sequence[Any]) -> Callable[[], Any] | None:
    if not callable(reference):
        return None

    def expected() -> Any:
        try:
            wanted = reference(*arguments)
        except Exception as error:
            raise OphookError("reference", f"reference() of {path.name} fails: {_told(error, path)}") from error
        for value in flat(wanted):
            if not hasattr(value, "shape"):
                what = f"reference() of {path.name} gives {type(value).__name__}"
                raise OphookError("reference", what, allowed="an array or a tensor for each output")
        return wanted

    return expected


def flat(values: Any) -> list[Any]:
    """One output, or several, of which any may be a list."""
    return [one for value in values for one in flat(value)] if isinstance(values, tuple | list) else [values]


def _told(error: BaseException, path: Path) -> str:
    """What an exception says, and in which line of the user's file it was."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename) == path]
    said = f"{error.msg} (line {error.lineno})" if isinstance(error, SyntaxError) else str(error)
    return f"{type(error).__name__}: {said}" + (f" (line {lines[-1]})" if lines else "")


def describe(values: Sequence[Any]) -> str:
    return ", ".join(_description(value) for value in values)


def _description(value: Any) -> str:
    if isinstance(value, list | tuple) and all(hasattr(one, "shape") for one in value):
        return f"[{describe(value)}]"
    return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}" if hasattr(value, "shape") else repr(value)


def _made_up(prototype: Prototype) -> list[Case]:
    found = []
    for choice in prototype.combinations():
        for shape in SHAPES:
            random = np.random.default_rng(0)
            inputs = tuple(_input(random, p, shape, choice) for p in prototype.inputs)
            found.append(Case(describe([v for v in inputs if v is not None]), inputs))
    return found


def _input(random: np.random.Generator, of: OpParameter, shape: tuple[int, ...], choice: dict[str, int]) -> Any:
    if of.kind == OPTIONAL:
        return None
    if of.kind == DYNAMIC:
        return [_values(random, one, choice[of.name]) for one in (shape, shape, LAST)]
    return _values(random, shape, choice[of.name])


def _values(random: np.random.Generator, shape: tuple[int, ...], dtype: int) -> Any:
    name = name_of(dtype)
    if name == "bool":
        return random.integers(0, 2, shape).astype(bool)
    if name.startswith(("int", "uint")):
        return random.integers(0, 100, shape).astype(name)
    values = random.standard_normal(shape).astype("float32")
    if name == "bfloat16":
        import torch

        return torch.from_numpy(values).bfloat16()
    return values.astype(name)
