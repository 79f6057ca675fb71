"""How a module of this folder runs as `python -m`."""

from __future__ import annotations

import sys
from collections.abc import Callable

from ophook_npu.errors import OphookError


def start(main: Callable[[list[str]], int]) -> None:
    """Ends the process with what `main` gives for the command's arguments; with an error's text, and 1, where it raises
    OphookError.
    """
    try:
        sys.exit(main(sys.argv[1:]))
    except OphookError as error:
        sys.exit(str(error))
