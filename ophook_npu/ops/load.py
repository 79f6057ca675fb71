"""Find a declaration: by the name of an operator that ships here, or in a Python file."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from ophook_npu.errors import OphookError
from ophook_npu.ops import declaration
from ophook_npu.ops.declare import Operator


def load(name_or_file: str) -> list[Operator]:
    """The declaration of this name, or all those in the file, in its order.

    Raises:
        OphookError: no such operator or file, the file does not run, or it declares nothing.
    """
    path = Path(name_or_file)
    if path.suffix != ".py":
        return [declaration(name_or_file)]
    if not path.is_file():
        raise OphookError(
            "op", f"no file {path}", allowed="a Python file with declarations, or the name of an operator"
        )
    spec = importlib.util.spec_from_file_location(path.stem, path.resolve())
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    try:
        spec.loader.exec_module(module)
    except OphookError:
        raise
    except Exception as error:
        raise OphookError("op", f"{path} does not run: {type(error).__name__}: {error}") from error
    found = [value for value in vars(module).values() if isinstance(value, Operator)]
    if not found:
        raise OphookError("op", f"{path} declares no operator", allowed="module-level Operator(…) objects")
    return list({id(op): op for op in found}.values())
