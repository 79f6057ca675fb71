"""Address registers of the C interface of Ascend 950: what the device's compiler makes of a loop around them.

``asc_update_addr_reg_b16(step)`` gives ``i * step``, and ``i`` is the innermost loop's variable: nothing in the call
says so. Of several dimensions the pages name the innermost one first, their example the outermost one: refused.
"""

from __future__ import annotations

import re

from ophook_npu.errors import OphookError
from ophook_npu.kernel.text import closing

CALL = re.compile(r"asc_(?<!\wasc_)(?:update_addr|create_iter)_reg_b(?:8|16|32)\s*\(")
_LOOP = re.compile(
    r"\bfor\s*\(\s*(?:(?:\w|::)+\s+)+(\w+)\s*=\s*0[uU]?\s*;[^;{}]*;\s*(?:\+\+\s*\1|\1\s*\+\+|\1\s*\+=\s*1)\s*\)\s*"
)


def translated(text: str) -> str:
    """A preprocessed source in which such calls have the variable.

    Raises:
        OphookError: a call in no loop that counts from 0, or with several steps.
    """
    pieces, at = [], 0
    for call in CALL.finditer(text):
        if "= delete;" in text[call.start() : text.find(";", call.end()) + 1]:
            continue  # the declaration
        end = closing(text, call.end() - 1)
        if "," in re.sub(r"\([^()]*\)", "", text[call.end() : end]):
            what = f"{text[call.start() : end + 1]}: addresses of several dimensions are not simulated"
            raise OphookError("bisheng", what, todo="give loads and stores a number instead of an address register")
        loops = [one for one in _LOOP.finditer(text, 0, call.start()) if _end(text, one.end()) > call.start()]
        if not loops:
            what = f"{text[call.start() : end + 1]}: no loop around it counts from 0 by one"
            raise OphookError("bisheng", what, todo="give loads and stores a number instead of an address register")
        pieces += [text[at : call.start()], f"::ophook::c::address_in_loop({loops[-1][1]}, "]
        at = call.end()
    return "".join([*pieces, text[at:]])


def _end(text: str, begin: int) -> int:
    """Where the statement that begins there ends."""
    return closing(text, begin) if text[begin : begin + 1] == "{" else text.find(";", begin)
