"""Which aclnn functions are installed: those of CANN, or of the simulator, and of custom operator packages."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path


def packages() -> list[Path]:
    """The installed custom operator packages, most important first, where torch_npu looks for them."""
    found = [Path(entry) for entry in os.environ.get("ASCEND_CUSTOM_OPP_PATH", "").split(":") if entry]
    opp = os.environ.get("ASCEND_OPP_PATH")
    if opp:
        vendors = Path(opp) / "vendors"
        config = vendors / "config.ini"
        lines = config.read_text().splitlines() if config.is_file() else []
        for line in lines:
            key, _, value = line.partition("=")
            if key.strip() == "load_priority":
                found += [vendors / name.strip() for name in value.split(",") if name.strip()]
    return found


def missing(function: str) -> str | None:
    """Why ``function`` (such as ``aclnnAdd``) cannot be called, or None."""
    libraries = [str(package / "op_api" / "lib" / "libcust_opapi.so") for package in packages()]
    for library in [*libraries, "libcust_opapi.so", "libopapi.so"]:
        try:
            loaded = ctypes.CDLL(library)
        except OSError:
            continue
        if hasattr(loaded, f"{function}GetWorkspaceSize") and hasattr(loaded, function):
            return None
    return f"no installed operator package has {function}"
