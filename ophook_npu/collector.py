"""How often Python's garbage collector runs. Importing torch and torch_npu is a fifth slower with its usual thresholds:
each module adds objects that stay, and makes it look through those before.
"""

import gc

_before: tuple[int, int, int] | None = None


def rarely() -> None:
    """For imports and for commands of this package, which make few cycles."""
    global _before
    _before = gc.get_threshold()
    gc.set_threshold(100_000, *_before[1:])


def usually() -> None:
    """For a program of the user's: as it was before `rarely`."""
    if _before is not None:
        gc.set_threshold(*_before)
