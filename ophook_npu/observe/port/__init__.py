"""A porting report: what stands between a program and an Ascend."""

from ophook_npu.observe.port.finding import KINDS, Finding
from ophook_npu.observe.port.port import Enough, Port
from ophook_npu.observe.port.report import Report, grown, read
from ophook_npu.observe.port.report import diff as differences

__all__ = ["KINDS", "Enough", "Finding", "Port", "Report", "differences", "grown", "read"]
