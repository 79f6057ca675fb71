"""The part of a page that a script writes: what stands between a line that begins it and one that ends it."""

from __future__ import annotations

from pathlib import Path


class NoMarks(Exception):
    """The page, or its marks, are not there."""


def between(page: Path, begin: str, end: str) -> tuple[str, str, str]:
    """What stands before the part, in it, and after it, without the two marks.

    Raises:
        NoMarks: the page cannot be read, or has not each mark once, in this order.
    """
    try:
        text = page.read_text(encoding="utf-8")
    except OSError as error:
        raise NoMarks(str(error)) from None
    before, found, rest = text.partition(f"{begin}\n")
    inside, ended, after = rest.partition(end)
    if not found or not ended or f"{begin}\n" in rest:
        raise NoMarks(f"{page} has no line {begin} with {end} after it; they have to be there once")
    return before, inside, after


def replace(page: Path, begin: str, end: str, text: str) -> None:
    """Put ``text`` there.

    Raises:
        NoMarks: as `between`; the page is as it was.
    """
    before, _, after = between(page, begin, end)
    page.write_text(f"{before}{begin}\n{text}\n{end}{after}", encoding="utf-8")
