"""Which aclnn functions are installed: those of CANN, or of the simulator, and of custom operator packages."""

from __future__ import annotations

import ctypes
import os

from ophook_npu.npu import vendors


def missing(function: str) -> str | None:
    """Why ``function`` (such as ``aclnnAdd``) cannot be called, or None."""
    libraries = [str(package / "op_api" / "lib" / "libcust_opapi.so") for package, _ in vendors.packages(os.environ)]
    for library in [*libraries, "libcust_opapi.so", "libopapi.so"]:
        try:
            loaded = ctypes.CDLL(library)
        except OSError:
            continue
        if hasattr(loaded, f"{function}GetWorkspaceSize") and hasattr(loaded, function):
            return None
    return f"no installed operator package has {function}"
