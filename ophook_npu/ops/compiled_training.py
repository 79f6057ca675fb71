"""What training in a graph compiled by torch_npu 2.13 needs besides the compilers' defaults, through their own options.

Both are torch_npu's limits, met without any custom operator; docs/custom-operators.md shows each in a few lines. Remove
a function when the test that expects its limit fails.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import fx


def torchair_decompositions() -> dict[Any, Callable[..., Any]]:
    """For ``torchair.get_npu_backend(custom_decompositions=…)``: the gradients of silu, for which torchair has no
    converter, and of a Linear without bias on three and more dimensions.

    On npu the latter is ``aten::matmul_backward``. torchair decomposes it by registering a composite kernel, which
    torch has passed over since operators with an autograd kernel of their own are no longer decomposed while tracing;
    what is left is torchair's converter, which wants both gradients and equal ranks.
    """
    return {
        torch.ops.aten.matmul_backward.default: matmul_backward,
        torch.ops.aten.silu_backward.default: silu_backward,
    }


def npugraph_ex_options() -> dict[str, Any]:
    """For ``torch.compile(backend="npugraph_ex", options=…)``: arithmetic on transposed tensors that is saved for
    backward.

    Tracing predicts that ``x.transpose(1, 2) * 2`` keeps the order of strides, as on the CPU. torch_npu's kernels make
    contiguous results, and the backward graph refuses its input: "expected size 4==4, stride …".
    """
    return {"post_grad_custom_post_pass": keep_strides}


def matmul_backward(
    grad: torch.Tensor, self: torch.Tensor, other: torch.Tensor, mask: list[bool]
) -> tuple[torch.Tensor | None, torch.Tensor | None]:
    """``aten::matmul_backward(Tensor grad, Tensor self, Tensor other, bool[2] mask) -> (Tensor, Tensor)``

    self: (…, M, K) or (K,), other: (…, K, N) or (K,), grad: the shape of their product. A gradient that ``mask`` does
    not ask for is None.
    """
    a = self.unsqueeze(0) if self.dim() == 1 else self
    b = other.unsqueeze(-1) if other.dim() == 1 else other
    g = grad.unsqueeze(-2) if self.dim() == 1 and other.dim() > 1 else grad
    g = g.unsqueeze(-1) if other.dim() == 1 else g
    g = g.reshape(1, 1) if self.dim() == other.dim() == 1 else g
    grad_self = grad_other = None
    if mask[0]:
        grad_self = torch.matmul(g, b.mT).sum_to_size(a.shape).reshape(self.shape)
    if mask[1] and b.dim() == 2:  # one product over all of the batch, which a sum over products would not be
        grad_other = torch.mm(a.reshape(-1, a.shape[-1]).t(), g.reshape(-1, g.shape[-1])).reshape(other.shape)
    elif mask[1]:
        grad_other = torch.matmul(a.mT, g).sum_to_size(b.shape).reshape(other.shape)
    return grad_self, grad_other


def silu_backward(grad_output: torch.Tensor, self: torch.Tensor) -> torch.Tensor:
    """``aten::silu_backward(Tensor grad_output, Tensor self) -> Tensor``

    Half types are computed in float, as torch does.
    """
    wide = self.float() if self.dtype in (torch.half, torch.bfloat16) else self
    gate = torch.sigmoid(wide)
    return (grad_output.to(wide.dtype) * gate * (1 + wide * (1 - gate))).to(self.dtype)


def keep_strides(graph: fx.GraphModule, *_: Any) -> None:
    """Give every computed result that leaves the graph, itself or by a view, the strides that tracing predicted.

    A copy for each one whose prediction is a permutation of contiguous strides; no other node is touched.
    """
    (output,) = (node for node in graph.graph.nodes if node.op == "output")
    for node in dict.fromkeys(_computed(result) for result in output.all_input_nodes):
        predicted = node.meta.get("val")
        if node.op != "call_function" or not isinstance(predicted, torch.Tensor) or predicted.is_contiguous():
            continue
        strides = predicted.stride()
        order = sorted(range(len(strides)), key=lambda dim, strides=strides: -strides[dim])  # type: ignore[misc]
        if predicted.permute(order).is_contiguous():
            _copy_in_order(graph.graph, node, order)
    graph.graph.lint()
    graph.recompile()


def _computed(node: fx.Node) -> fx.Node:
    """What ``node`` is a view of."""
    while isinstance(node.target, torch._ops.OpOverload) and isinstance(node.args[0], fx.Node):
        if not any(result.alias_info is not None for result in node.target._schema.returns):
            break
        node = node.args[0]
    return node


def _copy_in_order(graph: fx.Graph, node: fx.Node, order: list[int]) -> None:
    users, predicted = list(node.users), node.meta["val"]
    back = sorted(range(len(order)), key=order.__getitem__)
    with graph.inserting_after(node):
        there = graph.call_function(torch.ops.aten.permute.default, (node, order))
    with graph.inserting_after(there):
        contiguous: dict[str, Any] = {"memory_format": torch.contiguous_format}
        copy = graph.call_function(torch.ops.aten.clone.default, (there,), contiguous)
    with graph.inserting_after(copy):
        result = graph.call_function(torch.ops.aten.permute.default, (copy, back))
    there.meta["val"] = copy.meta["val"] = predicted.permute(order)
    result.meta["val"] = predicted
    for user in users:
        user.replace_input_with(node, result)
