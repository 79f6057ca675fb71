"""What a profile keeps of calls that look the same."""

from __future__ import annotations

import math
from array import array
from typing import Any

import torch

from ophook_npu.hooks import Call
from ophook_npu.observe._describe import hinted, is_shaped, tensors
from ophook_npu.observe._fused_flops import flops, formula_of


class Measured:
    """One different call on one thread: operator, place, phase and argument shapes."""

    __slots__ = ("events", "flops", "inside", "memory", "op", "starts", "times")

    def __init__(self, op: Any) -> None:
        self.op = op
        self.starts = array("q")  # ns
        self.times = array("q")
        self.inside = 0  # of all times, what observed calls inside them took
        self.memory = 0
        self.flops = 0
        self.events: list[tuple[DeviceEvent, DeviceEvent]] = []


class DeviceEvent:
    """Recorded on the device's current stream when made."""

    def __init__(self, device: torch.device) -> None:
        module = torch.get_device_module(device)
        self.device = device
        self.event = module.Event(enable_timing=True)
        self.event.record(module.current_stream(device))


def device_time(events: list[tuple[DeviceEvent, DeviceEvent]]) -> float:
    """µs between the two of each pair, in all."""
    for _, end in events:
        end.event.synchronize()
    total: float = sum(start.event.elapsed_time(end.event) for start, end in events)
    return total * 1e3


def new_kind(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Measured:
    call = Call(op, args, kwargs)
    call.result = result
    kind = Measured(op)
    kind.flops = _flops(call)
    kind.memory = _new_memory(call)
    return kind


def _flops(call: Call) -> int:
    from torch.utils.flop_counter import flop_registry

    fused = formula_of(call.op)
    formula = flop_registry.get(getattr(call.op, "overloadpacket", None))
    try:
        if fused is not None:
            return flops(fused, call.op._schema, call.args, call.kwargs, call.result)
        if formula is None:
            return 0
        return int(hinted(formula(*call.args, **call.kwargs, out_val=call.result)))
    except Exception:
        # The formulas assert on layouts they were not written for; an unknown count must not stop the program.
        return 0


def _new_memory(call: Call) -> int:
    old = {t.untyped_storage()._cdata for t in tensors(*call.args, *call.kwargs.values()) if t.layout == torch.strided}
    return sum(
        (math.prod(hinted(t.shape)) if is_shaped(t) else t.numel()) * t.element_size()
        for t in tensors(call.result)
        if t.layout == torch.strided and t.untyped_storage()._cdata not in old
    )
