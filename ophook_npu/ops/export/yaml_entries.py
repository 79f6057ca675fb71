"""op-plugin's YAML entries, in the form that a release reads."""

from __future__ import annotations

import re

from ophook_npu.errors import OphookError
from ophook_npu.ops.declare import Operator

_VERSION = re.compile(r"^v?(\d+)\.(\d+)(?:\..*)?$")


def signature(op: Operator) -> str:
    return op.schema.split("::", 1)[1]


def functions(op: Operator, torch_npu: str | None = None) -> str:
    """``op_plugin_functions.yaml``: an entry for every version that the tree knows, or from ``torch_npu`` on.

    Raises:
        OphookError: the version does not read as one.
    """
    covered = "all_version"
    if torch_npu is not None:
        match = _VERSION.match(torch_npu)
        if match is None:
            raise OphookError(
                f"op export {op.qualname}",
                f"{torch_npu!r} is no version of torch_npu",
                allowed="such as 2.13 or 2.13.0",
            )
        covered = f"[v{match[1]}.{match[2]}, newest]"
    return (
        "# The entry that `ophook-npu patch apply` puts under `custom:` of op-plugin's file, "
        "with the version key of that tree.\n"
        f"  - func: {signature(op)}\n    op_api: {covered}\n"
    )


def derivatives(op: Operator) -> str | None:
    """``derivatives.yaml``; None where the gradient is a Python function, which has no entry."""
    if not op.derivatives:
        return None
    lines = [
        "# Used by `ophook-npu patch apply --autograd` only: without it, ophook_npu registers the gradient from "
        "Python.",
        "# Autograd sums the gradient over the dimensions that were broadcast.",
        f"- name: {signature(op)}",
        *(f"  {name}: {formula}" for name, formula in op.derivatives.items()),
        "  version: all_version",
    ]
    return "\n".join(lines) + "\n"
