"""Stop in the debugger where the program is, not inside the observer that found something."""

from __future__ import annotations

import pdb
import sys
import traceback

from ophook_npu.observe._describe import is_framework


def debug() -> None:
    """Opens pdb in the innermost frame of the program; its steps go on from there.

    A ``sys.breakpointhook`` of one's own, or ``PYTHONBREAKPOINT``, is obeyed as by ``breakpoint()``.

    Raises:
        KeyboardInterrupt: the user left the debugger with ``q``.
    """
    frames = [frame for frame, _ in traceback.walk_stack(sys._getframe(1))]
    frame = next((frame for frame in frames if not is_framework(frame.f_code.co_filename)), None)
    if frame is None or sys.breakpointhook is not sys.__breakpointhook__:
        breakpoint()
        return
    debugger = pdb.Pdb(nosigint=True)
    debugger.reset()
    # As set_trace does, for every frame that a step may return to; but the prompt comes now, and in that frame.
    above = frame
    while above is not None:
        above.f_trace = debugger.trace_dispatch
        debugger.botframe = above
        above = above.f_back  # type: ignore[assignment]
    debugger.interaction(frame, None)
    if debugger.quitting:
        raise KeyboardInterrupt
    if debugger.stoplineno != -1:  # "continue" sets -1; all else is a step
        sys.settrace(debugger.trace_dispatch)
