"""Operators of our own that stand for a hooked one inside graphs: same schema, same meta kernel, and a body that
runs the hook.

A compiler sees one opaque operator and calls it at run time, so the hook's Python functions run for real: numpy,
print and breakpoints included. They are defined once for each (hook, operator) and live as long as the hook.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import fx
from torch._ops import OpOverload
from torch.utils import _pytree as pytree

from ophook_npu.hooks import _compat
from ophook_npu.hooks._call import GraphNode, graph
from ophook_npu.hooks._handler import Handler

_numbers = itertools.count()
# The argument by which a call in a compiled graph says which node it is; further than this, the graph is forgotten.
_NODE = "ophook_node"
_nodes: list[GraphNode] = []

bodies: dict[OpOverload, Callable[..., Any]] = {}
"""The Python function that each stand-in runs. A dispatch mode that meets a stand-in runs it with itself on, as torch
takes composite operators apart; else the operators the stand-in calls would be hidden from hooks that want to see
them."""


_origins: dict[OpOverload, OpOverload] = {}


def origin(op: Any) -> Any:
    """The operator a stand-in stands for, through other stand-ins; any other operator itself."""
    return _origins.get(op, op)


_TENSORS = ("Tensor", "Optional[Tensor]", "List[Tensor]")


def refuses(op: OpOverload) -> str | None:
    """Why ``op`` cannot be stood for by an opaque operator, or ``None``."""
    if op._schema.is_mutable:
        return "it writes into an argument"
    if any(r.alias_info is not None for r in op._schema.returns):
        return "it returns a view of its argument"
    if not op._schema.returns or any(str(r.type) not in _TENSORS for r in op._schema.returns):
        return "it does not return tensors"
    if torch.Tag.nondeterministic_seeded in op.tags:
        return "it draws random numbers, and a compiler cannot know that of an opaque operator"
    return None


def numbers_for_tensors(node: fx.Node) -> frozenset[str]:
    """The arguments of a graph's call that are declared as tensors and given as Python or symbolic numbers."""
    target = node.target
    assert isinstance(target, OpOverload)
    given = {a.name: value for a, value in zip(target._schema.arguments, node.args, strict=False)} | node.kwargs

    def is_number(value: Any) -> bool:
        if isinstance(value, fx.Node):
            value = value.meta.get("val", value.meta.get("example_value"))
        return isinstance(value, (bool, int, float, complex, torch.SymInt, torch.SymFloat, torch.SymBool))

    declared = (a.name for a in target._schema.arguments if str(a.type) == "Tensor")
    return frozenset(name for name in declared if is_number(given.get(name)))


def tell_node(node: fx.Node, number: int) -> None:
    """Lets a call of a stand-in say at run time which node of graph ``number`` it is."""
    if _NODE in node.kwargs:
        return  # an earlier hook's stand-in stands inside this one and was told
    modules = node.meta.get("nn_module_stack") or {}
    paths = tuple(path for path, _ in modules.values())
    _nodes.append(GraphNode(f"graph {number}: {node.name}", paths, node.meta.get("stack_trace") or ""))
    node.kwargs = {**node.kwargs, _NODE: len(_nodes) - 1}


class Opaque:
    """The stand-ins of one hook.

    Args:
        handler: gets the calls.
        is_on: asked for each call, so that code compiled with the stand-in obeys the hook's switch.
        autograd: give the stand-ins the original's gradient (needed above autograd only).
        nodes: the stand-ins take what :func:`tell_node` adds to a call.
    """

    def __init__(
        self, handler: Handler, is_on: Callable[[], bool], *, autograd: bool = False, nodes: bool = False
    ) -> None:
        self._handler = handler
        self._is_on = is_on
        self._autograd = autograd
        self._takes_node = nodes
        self._library = torch.library.Library("ophook", "FRAGMENT")
        self._known: dict[tuple[OpOverload, ...], tuple[OpOverload, ...]] = {}
        self._with_numbers: dict[tuple[OpOverload, frozenset[str]], OpOverload] = {}

    def standin(self, op: OpOverload, numbers: frozenset[str] = frozenset()) -> OpOverload:
        """The stand-in of one operator, which may itself be the stand-in of another hook: that one runs inside.

        Args:
            numbers: arguments declared as tensors that the call gives as Python numbers. torch takes them for its own
                operators only, so this stand-in declares them as scalars.
        """
        if not numbers:
            return self.standins((op,))[0]
        if (op, numbers) not in self._with_numbers:
            self._with_numbers[op, numbers] = self._define(op, next(_numbers), numbers=numbers)
        return self._with_numbers[op, numbers]

    def standins(
        self, ops: tuple[OpOverload, ...], passing: frozenset[OpOverload] = frozenset()
    ) -> tuple[OpOverload, ...]:
        """Stand-ins of several overloads; those of one packet are one packet again, whose call chooses among them.

        Args:
            passing: of ``ops``, those that are only there to be chosen, and do not run the hook.
        """
        if ops not in self._known:
            number = next(_numbers)
            self._known[ops] = tuple(self._define(op, number, op not in passing) for op in ops)
        return self._known[ops]

    def _define(
        self, op: OpOverload, number: int, is_hooked: bool = True, numbers: frozenset[str] = frozenset()
    ) -> OpOverload:
        packet = f"{origin(op)._schema.name.replace('::', '_')}_{number}"
        name = packet if op._overloadname == "default" else f"{packet}.{op._overloadname}"
        schema = str(op._schema)
        for argument in numbers:
            schema = re.sub(rf"\bTensor {argument}\b", f"Scalar {argument}", schema)
        inner_takes_node = f"{_NODE}=" in schema
        if self._takes_node and not inner_takes_node:
            star = "" if any(a.kwarg_only for a in op._schema.arguments) else "*, "
            schema = schema.replace(") -> ", f", {star}int {_NODE}=-1) -> ", 1)
        self._library.define(name + schema[schema.index("(") :], tags=(torch.Tag.pt2_compliant_tag,))
        handler, is_on, seen = self._handler, self._is_on, origin(op)
        is_recording = _compat.recording()

        def inner(number: int) -> Callable[..., Any]:
            return partial(op, **{_NODE: number}) if inner_takes_node else op

        def run(*args: Any, **kwargs: Any) -> Any:
            if is_recording is not None and is_hooked and is_on() and is_recording():
                handler.miss(
                    f"{seen._name} is being recorded into a graph: the hook runs now, and not at a replay",
                    todo="give an operator as replacement, as swap() does",
                    handled=False,
                )
            number = kwargs.pop(_NODE, -1)
            outer, graph.node = graph.node, _nodes[number] if number >= 0 else None
            try:
                # The replacement's own Python calls must not be redirected to this operator again.
                with torch._C.DisableTorchFunction():
                    if is_hooked and is_on():
                        result = handler.run(seen, args, kwargs, inner(number))
                    else:
                        result = inner(number)(*args, **kwargs)
            finally:
                graph.node = outer
            return _fresh(result, (args, kwargs))

        def fake(*args: Any, **kwargs: Any) -> Any:
            return inner(kwargs.pop(_NODE, -1))(*args, **kwargs)

        self._library.impl(name, run, "CompositeExplicitAutograd")
        torch.library.register_fake(f"ophook::{name}", fake, lib=self._library)
        standin: OpOverload = getattr(getattr(torch.ops.ophook, packet), op._overloadname)
        bodies[standin] = run
        _origins[standin] = origin(op)
        if self._autograd:
            _give_gradient(origin(op), f"ophook::{name}", self._library)
        return standin


def _give_gradient(op: OpOverload, name: str, library: torch.library.Library) -> None:
    """The gradient of ``op`` itself, whatever ran forward: as for a kernel replaced below autograd."""

    def setup(ctx: Any, inputs: tuple[Any, ...], output: Any, keyword_only_inputs: Any = None) -> None:
        leaves, ctx.spec = pytree.tree_flatten(inputs)
        ctx.save_for_backward(*[leaf for leaf in leaves if isinstance(leaf, torch.Tensor)])
        ctx.others = [None if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        ctx.places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
        ctx.keywords = keyword_only_inputs or {}

    # A gradient is for a tensor or a list of tensors; for a list of numbers it is None, not a list.
    takes_gradient = ["Tensor" in str(a.type) for a in op._schema.arguments if not a.kwarg_only]

    def backward(ctx: Any, *grads: Any) -> Any:
        tensors = list(ctx.saved_tensors)
        wanted = [i for i, tensor in enumerate(tensors) if _is_differentiable(tensor)]

        def again(*variables: torch.Tensor) -> tuple[torch.Tensor, ...]:
            values = list(tensors)
            for i, variable in zip(wanted, variables, strict=True):
                values[i] = variable
            leaves = list(ctx.others)
            for place, value in zip(ctx.places, values, strict=True):
                leaves[place] = value
            results = pytree.tree_leaves(op(*pytree.tree_unflatten(leaves, ctx.spec), **ctx.keywords))
            has_gradient[:] = [isinstance(r, torch.Tensor) and _is_differentiable(r) for r in results]
            return tuple(r for r, has in zip(results, has_gradient, strict=True) if has)

        has_gradient: list[bool] = []
        outputs, vjp, *_ = torch.func.vjp(again, *[tensors[i] for i in wanted])
        given = [g for g, has in zip(pytree.tree_leaves(list(grads)), has_gradient, strict=True) if has]
        found = vjp(tuple(torch.zeros_like(o) if g is None else g for g, o in zip(given, outputs, strict=True)))
        leaves = [None] * len(ctx.others)
        for i, grad in zip(wanted, found, strict=True):
            leaves[ctx.places[i]] = grad
        for_each = pytree.tree_unflatten(leaves, ctx.spec)
        # The inputs have their defaults filled in, but there are gradients for those only that the caller gave.
        some = zip(for_each, takes_gradient, strict=True)
        return tuple(grad if takes else None for grad, takes in some)[: len(ctx.needs_input_grad)]

    torch.library.register_autograd(name, backward, setup_context=setup, lib=library)


def _is_differentiable(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


def _fresh(result: Any, inputs: Any) -> Any:
    """Compilers rely on results being new memory; ``original`` may have returned an input (``contiguous``, ``to``)."""
    known = {t.untyped_storage().data_ptr() for t in pytree.tree_leaves(inputs) if _has_memory(t)}
    return pytree.tree_map_only(
        torch.Tensor, lambda t: t.clone() if _has_memory(t) and t.untyped_storage().data_ptr() in known else t, result
    )


def _has_memory(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.layout == torch.strided and value.device.type != "meta"
