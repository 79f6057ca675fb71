"""What ``atc`` says where it cannot convert a model: CANN's code, and CANN's text where that is known."""

from __future__ import annotations


class AtcError(Exception):
    """A model or an option that is not converted.

    ``code`` is CANN's, such as ``E16002``, ``text`` is what is wrong and ``todo`` what to do about it.
    """

    def __init__(self, code: str, text: str, *, todo: str = "") -> None:
        self.code = code
        self.text = text
        self.todo = todo
        super().__init__(f"{code}: {text}" + (f" Next: {todo}." if todo else ""))
