"""Observers: what a model's operators do, seen through any hook mechanism. Each is one file over the hook protocol."""

# ruff: noqa: E402
from ophook_npu.npu import autoload

autoload.settle()  # what follows imports torch

from ophook_npu.observe._align import Alignment, align
from ophook_npu.observe._comparison import Comparison
from ophook_npu.observe._observer import EVERYTHING, NothingSeenWarning, Observer
from ophook_npu.observe.bisect import Bisection, bisect, bisect_device
from ophook_npu.observe.capture import Capture, Replay, replay
from ophook_npu.observe.compare import Compare
from ophook_npu.observe.digest import Digest
from ophook_npu.observe.log import Log
from ophook_npu.observe.port import Port
from ophook_npu.observe.profile import Profile
from ophook_npu.observe.stats import Stats
from ophook_npu.observe.trace import Site, Trace
from ophook_npu.observe.validate import Problem, Validate, ValidateWarning

__all__ = [
    "EVERYTHING",
    "Alignment",
    "Bisection",
    "Capture",
    "Compare",
    "Comparison",
    "Digest",
    "Log",
    "NothingSeenWarning",
    "Observer",
    "Port",
    "Problem",
    "Profile",
    "Replay",
    "Site",
    "Stats",
    "Trace",
    "Validate",
    "ValidateWarning",
    "align",
    "bisect",
    "bisect_device",
    "replay",
]


def __dir__() -> list[str]:
    return sorted(__all__)
