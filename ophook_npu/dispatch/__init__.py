"""Read and explain the dispatcher: an operator's table of kernels, and which of them ran for a call, and why."""

# ruff: noqa: E402
from ophook_npu.npu import autoload

autoload.settle()  # what follows imports torch

from ophook_npu.dispatch._explain import Explanation, explain
from ophook_npu.dispatch._situation import Situation, why
from ophook_npu.dispatch._table import Change, Row, Table, diff, table
from ophook_npu.dispatch._trace import KernelTrace as Trace
from ophook_npu.dispatch._trace import Step, trace

__all__ = [
    "Change",
    "Explanation",
    "Row",
    "Situation",
    "Step",
    "Table",
    "Trace",
    "diff",
    "explain",
    "table",
    "trace",
    "why",
]


def __dir__() -> list[str]:
    return sorted(__all__)
