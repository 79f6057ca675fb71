"""The source route: put an operator into op-plugin's tree, check what upstream generates from it, take it out again."""

from ophook_npu.patch.finding import TreeCheck as Finding
from ophook_npu.patch.generated import check_generated
from ophook_npu.patch.layout import Layout, find_layout
from ophook_npu.patch.plan import Applied, Reverted
from ophook_npu.patch.preflight import preflight
from ophook_npu.patch.spec import PatchOperator as Operator
from ophook_npu.patch.spec import load_operator
from ophook_npu.patch.tree import Status, apply, revert, status

__all__ = [
    "Applied",
    "Finding",
    "Layout",
    "Operator",
    "Reverted",
    "Status",
    "apply",
    "check_generated",
    "find_layout",
    "load_operator",
    "preflight",
    "revert",
    "status",
]


def __dir__() -> list[str]:
    return sorted(__all__)
