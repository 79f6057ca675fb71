"""Observers: what a model's operators do, seen through any hook mechanism. Each is one file over the hook protocol."""

from ophook_npu.observe._observer import EVERYTHING, NothingSeenWarning, Observer
from ophook_npu.observe.log import Log
from ophook_npu.observe.profile import Profile
from ophook_npu.observe.stats import Stats
from ophook_npu.observe.trace import Site, Trace

__all__ = ["EVERYTHING", "Log", "NothingSeenWarning", "Observer", "Profile", "Site", "Stats", "Trace"]
