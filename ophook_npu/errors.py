"""The one error type of the package: it says where, what came, what is allowed and what to do next."""

from __future__ import annotations


class OphookError(Exception):
    """An error a user can act on.

    The text reads ``[where] what; allowed: …; next: …``. The parts stay readable as attributes, so that the command
    line can lay them out and tests can look at each.
    """

    def __init__(self, where: str, what: str, *, allowed: str | None = None, todo: str | None = None) -> None:
        self.where = where
        self.what = what
        self.allowed = allowed
        self.todo = todo
        text = f"[{where}] {what}"
        if allowed:
            text += f"; allowed: {allowed}"
        if todo:
            text += f"; next: {todo}"
        super().__init__(text)
