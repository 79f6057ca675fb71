"""What an operator's schema and tags say about its calls."""

from __future__ import annotations

import functools
from typing import Any

import torch

from ophook_npu.hooks import Call
from ophook_npu.observe._describe import is_real, tensors


@functools.cache
def written(op: Any) -> frozenset[str]:
    """Names of the arguments that an operator writes to."""
    schema = getattr(op, "_schema", None)
    if schema is None:
        return frozenset()
    said = (a.name for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write)
    return frozenset(said) | _WRITTEN_UNSAID.get(schema.name, frozenset())


# Operators that overwrite arguments which their schema says they only read.
_WRITTEN_UNSAID = {"npu::npu_apply_rotary_pos_emb": frozenset({"query", "key"})}


def overwritten(call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """The arguments that a call overwrote and did not return, and those of another run with ``args, kwargs``."""
    names = written(call.op)
    if not names:
        return [], []
    returned = {id(t) for t in tensors(call.result)}
    order = [a.name for a in call.op._schema.arguments]
    here = dict(zip(order, call.args, strict=False)) | call.kwargs
    there = dict(zip(order, args, strict=False)) | kwargs
    places = [name for name in order if name in names and name in here]
    places = [name for name in places if not returned.issuperset(map(id, tensors(here[name])))]
    return [here[name] for name in places], [there[name] for name in places]


@functools.cache
def leaves_memory_unwritten(op: Any) -> bool:
    name = getattr(op, "_name", "").split("::")[-1].split(".")[0]
    return "empty" in name or name in ("resize_", "resize_as_", "set_")


# Arguments that say how much is dropped, and their value for nothing: attention that could draw numbers, but does not.
_DROPOUT = {"dropout_p": 0.0, "keep_prob": 1.0}


@functools.cache
def is_random(op: Any) -> bool:
    """Whether ``op`` can draw random numbers. Its integer results are then seeds and offsets, not numbers computed."""
    if torch.Tag.nondeterministic_seeded in getattr(op, "tags", ()):
        return True
    schema = getattr(op, "_schema", None)
    if schema is None or "backward" in schema.name or "grad" in schema.name:
        return False
    return any(argument.name in _DROPOUT for argument in schema.arguments)


def is_computed(op: Any, result: torch.Tensor) -> bool:
    """Whether a result is computed from the arguments: not a seed or an offset."""
    return result.is_floating_point() or result.is_complex() or not is_random(op)


def computed(op: Any, results: Any) -> list[torch.Tensor]:
    """The tensors among the results that are computed from the arguments, without seeds and offsets."""
    return [t for t in tensors(results) if is_computed(op, t)]


def leaves_out(call: Call) -> frozenset[int]:
    """Which results a call leaves unwritten, because no argument that they are the gradient of requires one."""
    places = _GRADIENTS.get(call.name)
    if places is None:
        return frozenset()
    arguments = dict(zip((a.name for a in call.op._schema.arguments), call.args, strict=False)) | call.kwargs
    wanted = any(arguments[name].requires_grad for name in places.values())
    return frozenset() if wanted else frozenset(places)


# Results that are only computed if one of these arguments requires a gradient.
_GRADIENTS = {"npu::npu_rotary_mul_backward": {1: "r1", 2: "r2"}}


@functools.cache
def only_moves(op: Any) -> bool:
    returns = op._schema.returns
    return bool(returns) and all(r.alias_info is not None and not r.alias_info.is_write for r in returns)


@functools.cache
def takes_random_state(op: Any) -> bool:
    """Whether ``op`` is the backward of a random operator: its mask or seed is in its device's own form."""
    space, _, name = getattr(op, "_name", "").partition("::")
    forward = name.split(".")[0].removesuffix("_backward")
    packet = getattr(getattr(torch.ops, space), forward, None) if forward != name.split(".")[0] else None
    return packet is not None and any(is_random(getattr(packet, overload)) for overload in packet.overloads())


@functools.cache
def communicates(op: Any) -> bool:
    """Whether other processes take part: it is given the group of them, or its name."""
    arguments = [(argument.name, str(argument.type)) for argument in op._schema.arguments]
    named = any(name.startswith(("group", "hcom")) and ("str" in kind or kind == "Any") for name, kind in arguments)
    return named or op.namespace == "symm_mem" or any("ProcessGroup" in kind for _, kind in arguments)


WITHOUT_VALUES = "tensors without values (fake, meta, nested, a subclass, or recorded as a graph of the device)"


def uncompared(call: Call) -> str | None:
    """Why a call's results cannot be compared with a second run's, or ``None``."""
    op = call.op
    if not hasattr(op, "_schema"):
        return "not an operator"
    if communicates(op):
        return "runs with other processes"  # a second run here alone would take their next message, or wait for ever
    if draws(call):
        return "random"
    if leaves_memory_unwritten(op):
        return "memory that nobody has written yet"
    if op.is_view or only_moves(op):
        return "view"
    if (takes_random_state(op) or _drops(call)) and any(t.device.type != "cpu" for t in tensors(*call.args)):
        return "takes the random state of another device"
    if not all(map(is_real, tensors(*call.args, *call.kwargs.values()))):
        return WITHOUT_VALUES
    return None


def draws(call: Call) -> bool:
    """Whether a call draws random numbers; attention with a dropout of zero could, but does not."""
    if not is_random(call.op):
        return False
    return _drops(call) or not _dropping(call.op)


@functools.cache
def _dropping(op: Any) -> frozenset[str]:
    """The arguments of an operator that say how much is dropped."""
    return frozenset(a.name for a in op._schema.arguments) & _DROPOUT.keys()


def _drops(call: Call) -> bool:
    """Whether an argument says that something is dropped; the backward gets it too, with the state of the forward."""
    names = _dropping(call.op)
    if not names:
        return False
    given = dict(zip((a.name for a in call.op._schema.arguments), call.args, strict=False)) | call.kwargs
    return any(given.get(name, _DROPOUT[name]) != _DROPOUT[name] for name in names)
