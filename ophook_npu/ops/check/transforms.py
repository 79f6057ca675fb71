"""vmap against a loop; torch.compile and torch.export with the operator as one node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ophook_npu.ops._checks import tensors_of
from ophook_npu.ops.check.outcome import Failure, NotHere, call, compare, copied, results, shown
from ophook_npu.ops.declare import Operator
from ophook_npu.plural import counted

_BATCH = 3


def vmap(op: Operator) -> str:
    """All tensors batched, and each of them alone, against a loop."""
    if op.vmap is None:
        raise NotHere("no vmap rule is declared")
    tried = 0
    for args in op.examples():
        tensors = [i for i, value in enumerate(args) if isinstance(value, torch.Tensor)]
        for chosen in [tensors, *([i] for i in tensors if len(tensors) > 1)]:
            names = [a.name for a in op.arguments]
            if any(i not in chosen for i, name in enumerate(names[: len(args)]) if name in op.mutated):
                continue  # refused by definition: one memory for all
            _against_a_loop(op, args, chosen)
            tried += 1
    return f"{counted(tried, 'batch', 'batches')} against a loop"


def _against_a_loop(op: Operator, args: Sequence[Any], chosen: list[int]) -> None:
    plain = copied(args)
    batches = {i: [_other(plain[i], n) for n in range(_BATCH)] for i in chosen}

    def one(n: int) -> list[Any]:
        return [batches[i][n].clone() if i in chosen else value for i, value in enumerate(plain)]

    written = [i for i, a in enumerate(op.arguments) if a.name in op.mutated]
    loop: list[list[torch.Tensor]] = []
    for n in range(_BATCH):
        arguments = one(n)
        loop.append([*results(call(op, op.packet, arguments)), *(arguments[i] for i in written)])
    expected = [torch.stack(parts) for parts in zip(*loop, strict=True)]
    stacked = [torch.stack(batches[i]) if i in chosen else value for i, value in enumerate(plain)]
    dims = [0 if i in chosen else None for i in range(len(plain))]

    def program(*given: Any) -> Any:
        made = call(op, op.packet, given)
        return made if op.outputs else tuple(given[i] for i in written)  # vmap wants a result

    made = torch.vmap(program, in_dims=tuple(dims))(*stacked)
    got = [*(results(made) if op.outputs else []), *(stacked[i] for i in written)]
    compare(op, f"vmap with in_dims {tuple(dims)}", got, expected, args)


def _other(tensor: torch.Tensor, n: int) -> torch.Tensor:
    return tensor + n if tensor.is_floating_point() else tensor.clone()


def compiled(op: Operator) -> str:
    """One graph that has the operator as one node; the same values as without."""
    for args in op.examples():
        for dynamic in (False, True):
            torch._dynamo.reset()
            graphs: list[torch.fx.GraphModule] = []

            def backend(graph: torch.fx.GraphModule, inputs: Any, graphs: list[Any] = graphs) -> Any:
                graphs.append(graph)
                return graph.forward

            def program(*given: Any) -> Any:
                return call(op, op.packet, given)

            ours, theirs = copied(args), copied(args)
            got = torch.compile(program, backend=backend, fullgraph=True, dynamic=dynamic)(*ours)
            expected = call(op, op.packet, theirs)
            _one_node(op, graphs, args)
            compare(op, f"torch.compile(dynamic={dynamic})", got, expected, args)
            _same_arguments(op, "torch.compile", ours, theirs, args)
    torch._dynamo.reset()
    return "one graph, one node, static and dynamic"


def _one_node(op: Operator, graphs: list[torch.fx.GraphModule], args: Sequence[Any]) -> None:
    nodes = [node for graph in graphs for node in graph.graph.nodes if node.target in (op.packet, op.packet.default)]
    if len(graphs) != 1 or len(nodes) != 1:
        raise Failure(
            f"{counted(len(graphs), 'graph')} with {counted(len(nodes), 'node')} of it, "
            f"instead of 1 and 1, for ({shown(args)})"
        )


def _same_arguments(op: Operator, what: str, ours: Sequence[Any], theirs: Sequence[Any], args: Sequence[Any]) -> None:
    for a, one, other in zip(op.arguments, ours, theirs, strict=False):
        if isinstance(one, torch.Tensor) and not torch.equal(one.nan_to_num(), other.nan_to_num()):
            raise Failure(f"{what} leaves another {a.name} for ({shown(args)})")


def exported(op: Operator) -> str:
    """`torch.export` keeps the operator, and the exported program computes the same."""

    class Program(torch.nn.Module):
        """Its inputs are the tensors; what else there is, is part of it: a program that is exported takes no dtypes."""

        def __init__(self, args: tuple[Any, ...]) -> None:
            super().__init__()
            self.constants = {i: value for i, value in enumerate(args) if not tensors_of(value)}

        def forward(self, *given: Any) -> Any:
            inputs = iter(given)
            count = len(given) + len(self.constants)
            return call(
                op, op.packet, [self.constants[i] if i in self.constants else next(inputs) for i in range(count)]
            )

    for args in op.examples():
        inputs = [i for i, value in enumerate(args) if tensors_of(value)]
        given = copied(args)
        program = torch.export.export(Program(given), tuple(given[i] for i in inputs))
        names = [str(node.target) for node in program.graph.nodes]
        wanted = (f"{op.namespace}.{op.name}", "auto_functionalized")  # the second holds an operator that writes
        if not any(part in name for name in names for part in wanted):
            raise Failure(f"the exported program has lost the operator: {', '.join(names)}")
        ours, theirs = copied(args), copied(args)
        exported = program.module()(*(ours[i] for i in inputs))
        compare(op, "torch.export", exported, call(op, op.packet, theirs), args)
        _same_arguments(op, "torch.export", ours, theirs, args)
    return "kept as a node"
