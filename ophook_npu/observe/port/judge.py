"""From what was counted to what is said of it: refusals, conversions, fallbacks, waits and copies."""

from __future__ import annotations

from typing import Any

import torch

from ophook_npu.observe.port import rescue
from ophook_npu.observe.port.calls import COLLECTIVES, Calls, Tally
from ophook_npu.observe.port.device import Seen
from ophook_npu.observe.port.finding import Findings, key
from ophook_npu.observe.port.where import BEFORE, Where

_aten = torch.ops.aten
_MOVES = {_aten._to_copy.default, _aten.copy_.default}
_SHAPES = {
    "aten::nonzero", "aten::masked_select", "aten::_unique2", "aten::unique_dim", "aten::unique_consecutive",
    "aten::index.Tensor", "aten::index_put_", "aten::bincount", "aten::repeat_interleave.Tensor", "aten::_unique",
}  # fmt: skip
_CASTS = {"aclnnCast", "aclnnCastV2"}
_COPIES = {"aclnnInplaceCopy", "aclnnCopy"}
_OF_VIEWS = {"slice_backward", "select_backward", "diagonal_backward", "unfold_backward"}
# What changes layout or type because it was asked to.
_ASKED = {
    "aten::clone", "aten::contiguous", "aten::copy_", "aten::_to_copy", "aten::cat", "aten::fill_.Scalar",
    "aten::stack", "aten::_reshape_copy", "npu::npu_format_cast", "npu::_npu_format_cast", "npu::npu_dtype_cast",
    "npu::_npu_dtype_cast",
}  # fmt: skip
# Functions of torch's whose caller has asked for the data type.
_DTYPES_ASKED = {"Module.double", "Module.to", "Module.type"}


def judge(calls: Calls, into: Findings, several: bool) -> None:
    """Adds the findings of the operator calls; ``several``: the program made more than one step."""
    for made, tally in calls.tallies.items():
        op, signature, where = made
        if signature == "cpu" or op == "cpu":
            continue
        if several and tally.before == tally.count:
            where = where._replace(phase=BEFORE)
        name = op._name if hasattr(op, "_name") else str(op)
        seen = calls.seen_in(made)
        _refused(name, tally, where, seen, into)
        for promised, given in () if tally.way == "narrowed" else seen.changed:
            asked, got = (str(one).removeprefix("torch.") for one in (promised, given))
            into.add(key("refused", "retyped", name, where, asked=asked, got=got), tally.count)
        if not tally.fell:
            _waited(op, name, tally, where, into)
            _copied(op, name, signature, tally, where, seen, into)
    for (name, where), (count, size) in calls.fallbacks.items():
        into.add(key("fallback", "fallback", name, where), count, size)


def _refused(name: str, tally: Tally, where: Where, seen: Seen, into: Findings) -> None:
    messages: dict[str, list[str]] = {}
    for family, _, message in seen.refused:
        said = message.replace(family, "{product}")
        messages.setdefault(said, []).append(family)
    told = None if tally.failed is None else brief(tally.failed)
    for said, families in messages.items():
        text = said.replace("{product}", "/".join(families))
        if told is not None and told in {brief(said.replace("{product}", family)) for family in families}:
            told = brief(text)  # the call was refused for this here: it is no second finding
            continue
        code = "absent" if " does not exist on " in said else "refused"
        into.add(key("rules", code, name, where, "pages", message=text, products=families), tally.count)
    if told is not None:
        own = rescue.is_simulator(tally.failed or "")
        code, known = ("not_simulated", "simulator") if own else ("refused_here", "torch_npu")
        kind = "collective" if name.partition("::")[0] in COLLECTIVES else "refused"
        code = tally.met or code
        into.add(key(kind, code, name, where, known, message=told), tally.count)


def _waited(op: Any, name: str, tally: Tally, where: Where, into: Findings) -> None:
    if not tally.waited:
        return
    if op in _MOVES:
        return  # with copies: which way they go says more
    code = "item" if name == "aten::_local_scalar_dense" else "shape" if name in _SHAPES else "waits"
    into.add(key("synchronizes", code, name, where, inside=tally.inside), tally.waited)


def _copied(op: Any, name: str, signature: Any, tally: Tally, where: Where, seen: Seen, into: Findings) -> None:
    inputs = [one for one in signature if isinstance(one, tuple)]
    if op in _MOVES:
        _moved(op, name, signature, inputs, tally, where, into)
    elif op is _aten.clone.default and inputs and not inputs[0][3] and torch.contiguous_format in signature:
        into.add(key("copies", "contiguous", name, where, inside=tally.inside), tally.count, tally.bytes)
    elif "format_cast" in name:
        into.add(key("copies", "format", name, where), tally.count, tally.bytes)
    elif name not in _ASKED and inputs:
        made = [one for one in seen.functions if one in _COPIES]
        casts = [one for one in seen.functions if one in _CASTS]
        if made and not all(one[3] for one in inputs) and not _copies_anyway(op, name):
            functions = ", ".join(dict.fromkeys(made))
            into.add(key("copies", "made_contiguous", name, where, "torch_npu", functions=functions), tally.count)
        if casts:
            asked = ", ".join(dict.fromkeys(str(one[0]).removeprefix("torch.") for one in inputs))
            functions = ", ".join(dict.fromkeys(casts))
            into.add(
                key("refused", "converted", name, where, "torch_npu", asked=asked, functions=functions), tally.count
            )


def _copies_anyway(op: Any, name: str) -> bool:
    """Whether torch_npu copies however the arguments lie: into a result that it then changes in place, or that a
    gradient is only a part of."""
    packet = name.partition("::")[2].partition(".")[0]
    changes = name.startswith("aten::") and hasattr(_aten, f"{packet}_")
    return changes or packet.endswith(("_", "_scatter")) or packet in _OF_VIEWS


def _moved(op: Any, name: str, signature: Any, inputs: list[Any], tally: Tally, where: Where, into: Findings) -> None:
    if tally.way == "narrowed":
        inside = "" if tally.inside in _DTYPES_ASKED else tally.inside
        narrowed = key("refused", "narrowed", name, where, asked="float64", got="float32", inside=inside)
        into.add(narrowed, tally.count, tally.bytes)
    elif tally.waited and tally.way == "to_host":
        into.add(key("synchronizes", "to_host", name, where, inside=tally.inside), tally.waited, tally.bytes)
    elif tally.waited and tally.way in ("pageable", "blocking"):
        into.add(key("copies", tally.way, name, where, inside=tally.inside), tally.waited, tally.bytes)


def brief(message: str) -> str:
    """The lines of an error that say what is wrong, without stacks and numbers of error codes."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    told = [line for line in lines if "[simulated Ascend]" in line] or lines[:1]
    text = told[0].split("[simulated Ascend]")[-1].strip() if told else message
    return text if len(text) <= 300 else f"{text[:297]}..."
