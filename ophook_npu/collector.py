"""How often Python's garbage collector runs. Importing torch and torch_npu is a fifth slower with its usual thresholds:
each module adds objects that stay, and makes it look through those before.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_before: tuple[int, int, int] | None = None


def rarely() -> None:
    """For imports and for commands of this package, which make few cycles."""
    global _before
    if _before is None:
        _before = gc.get_threshold()
        gc.set_threshold(100_000, *_before[1:])


@contextmanager
def usually() -> Iterator[None]:
    """While a program of the user's runs: as it was before `rarely`."""
    now = gc.get_threshold()
    gc.set_threshold(*(_before or now))
    try:
        yield
    finally:
        gc.set_threshold(*now)


@contextmanager
def not_in_forks() -> Iterator[None]:
    """While modules are imported that forks of this process share: the collector never looks at them again. The first
    collection in a fork would copy every page that holds an object.
    """
    gc.disable()
    try:
        yield
        gc.collect()
        gc.freeze()
    finally:
        gc.enable()
