"""A number and what it counts, as English has it."""

from __future__ import annotations


def counted(number: int, one: str, many: str | None = None) -> str:
    """``1 problem``, ``1,024 problems``; ``many`` is the plural where it is not ``one`` with an s."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def every(number: int, one: str) -> str:
    """``the one problem``, ``all 1,024 problems``."""
    return f"the one {one}" if number == 1 else f"all {counted(number, one)}"
