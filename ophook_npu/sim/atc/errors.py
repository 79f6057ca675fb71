"""What the converter refuses, with the code under which CANN's pages list it."""

from __future__ import annotations


class AtcError(Exception):
    """A file or an option that cannot be converted; the text reads ``E10001: what came, and what is allowed``."""

    def __init__(self, code: str, text: str) -> None:
        self.code = code
        self.text = text
        super().__init__(f"{code}: {text}")
