"""Brackets in C++ text."""

_ENDS = {"(": ")", "{": "}", "[": "]"}


def closing(text: str, at: int) -> int:
    """Where the bracket at ``at`` ends; the text's end where it does not."""
    begins, ends, depth = text[at], _ENDS[text[at]], 0
    for i in range(at, len(text)):
        if text[i] == begins:
            depth += 1
        elif text[i] == ends:
            depth -= 1
            if not depth:
                return i
    return len(text)
