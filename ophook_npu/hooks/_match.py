"""Finds a small graph inside a large one.

Unlike torch.fx's matcher, one value may stand for several inputs of the pattern (``x * y + x`` is an ``a * b +
c``), numbers may stand for inputs, and ``a + b`` is also found as ``b + a``. A number of the pattern is also found
where torch.compile(dynamic=True) made a variable of it; the graph is then for that number only.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import add, mul
from typing import Any

import torch
from torch import fx

from ophook_npu.hooks import _compat

Binding = dict[fx.Node, Any]
"""For each node of the pattern what it was found to be: a node, or for an input also a constant."""

_aten = torch.ops.aten
_COMMUTATIVE = {
    add,
    mul,
    torch.add,
    torch.mul,
    _aten.add.Tensor,
    _aten.mul.Tensor,
    _aten.maximum.default,
    _aten.minimum.default,
}


def find_all(gm: fx.GraphModule, pattern: fx.GraphModule) -> list[Binding]:
    """Each occurrence of ``pattern``, those that share no inner value; the graph stays as it is."""
    root = output_of(pattern)
    inputs = [node for node in pattern.graph.nodes if node.op == "placeholder"]
    found: list[Binding] = []
    taken: set[int] = set()
    for node in reversed(list(gm.graph.nodes)):
        binding = next((b for b in _match(root, node, {}) if _is_closed(b, root, inputs)), None)
        if binding is None:
            continue
        inner = {id(value) for place, value in binding.items() if place not in inputs}
        if not inner & taken:
            taken |= inner
            found.append(binding)
    return found


def replace_all(gm: fx.GraphModule, pattern: fx.GraphModule, target: Any) -> int:
    """Replaces each occurrence of ``pattern`` by a call of ``target`` with the pattern's inputs; returns how many.

    Where occurrences overlap, the later one is taken. One whose inner values are used elsewhere too is left.
    """
    gm.graph.eliminate_dead_code()
    root = output_of(pattern)
    inputs = [node for node in pattern.graph.nodes if node.op == "placeholder"]
    found = 0
    for node in reversed(list(gm.graph.nodes)):
        if node._erased:
            continue
        binding = next((b for b in _match(root, node, {}) if _is_closed(b, root, inputs)), None)
        if binding is None:
            continue
        with gm.graph.inserting_before(node):
            call = gm.graph.call_function(target, tuple(binding[i] for i in inputs))
        call.meta = dict(node.meta)
        node.replace_all_uses_with(call)
        inner = {id(value): value for place, value in binding.items() if place not in inputs}
        for old in reversed([n for n in gm.graph.nodes if id(n) in inner]):
            gm.graph.erase_node(old)
        found += 1
    gm.graph.eliminate_dead_code()
    gm.recompile()
    return found


def output_of(pattern: fx.GraphModule) -> Any:
    """The node whose value a pattern returns; anything else if it does not return one value."""
    returned = next(node for node in pattern.graph.nodes if node.op == "output").args[0]
    return returned[0] if isinstance(returned, (tuple, list)) and len(returned) == 1 else returned


def _match(place: Any, value: Any, binding: Binding) -> Iterator[Binding]:
    """Each way in which ``value`` can be what stands at ``place`` in the pattern."""
    if not isinstance(place, fx.Node):
        if isinstance(place, (list, tuple)):
            if isinstance(value, (list, tuple)) and len(place) == len(value):
                yield from _match_all(list(place), list(value), binding)
        elif isinstance(value, fx.Node):
            if _compat.is_symbol_for(value.meta.get("val"), place):
                yield binding
        elif type(place) is type(value) and place == value:
            yield binding
        return
    if place in binding:
        if binding[place] is value or (not isinstance(value, fx.Node) and binding[place] == value):
            yield binding
        return
    if place.op == "placeholder":
        yield {**binding, place: value}
        return
    if not isinstance(value, fx.Node) or (place.op, place.target) != (value.op, value.target):
        return
    if set(place.kwargs) != set(value.kwargs) or len(place.args) != len(value.args):
        return
    names = list(place.kwargs)
    found = {**binding, place: value}
    orders = [list(value.args)]
    if place.target in _COMMUTATIVE and len(value.args) >= 2:
        orders.append([value.args[1], value.args[0], *value.args[2:]])
    for order in orders:
        yield from _match_all(
            [*place.args, *(place.kwargs[n] for n in names)], [*order, *(value.kwargs[n] for n in names)], found
        )


def _match_all(places: list[Any], values: list[Any], binding: Binding) -> Iterator[Binding]:
    if not places:
        yield binding
        return
    for found in _match(places[0], values[0], binding):
        yield from _match_all(places[1:], values[1:], found)


def _is_closed(binding: Binding, root: fx.Node, inputs: list[fx.Node]) -> bool:
    if set(inputs) - set(binding):
        return False
    inner = {id(value) for place, value in binding.items() if place not in inputs}
    return all(
        id(user) in inner
        for place, value in binding.items()
        if place not in inputs and place is not root
        for user in value.users
    )
