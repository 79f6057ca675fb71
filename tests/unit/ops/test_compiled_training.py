"""The decomposition against autograd, and the pass against kernels that make contiguous results, as torch_npu's do."""

import itertools
from typing import Any

import pytest
import torch
from torch import fx
from torch._functorch.aot_autograd import aot_function

from ophook_npu.ops.compiled_training import keep_strides, matmul_backward, silu_backward

LEFT = [(4,), (3, 4), (2, 3, 4), (5, 1, 3, 4)]
RIGHT = [(4,), (4, 6), (2, 4, 6), (1, 2, 4, 6)]
PAIRS = [*itertools.product(LEFT, RIGHT), ((0, 3, 4), (4, 6)), ((0, 3, 4), (4,)), ((0, 3, 4), (1, 4, 6))]


@pytest.mark.parametrize(("left", "right"), PAIRS, ids=str)
def test_the_gradient_of_matmul(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    x = torch.randn(left, dtype=torch.double, requires_grad=True)
    y = torch.randn(right, dtype=torch.double, requires_grad=True)
    product = torch.matmul(x, y)
    grad = torch.randn_like(product)
    expected = torch.autograd.grad(product, (x, y), grad)
    torch.testing.assert_close(matmul_backward(grad, x.detach(), y.detach(), [True, True]), expected)
    only_y = matmul_backward(grad, x.detach(), y.detach(), [False, True])
    assert only_y[0] is None
    torch.testing.assert_close(only_y[1], expected[1])
    assert matmul_backward(grad, x.detach(), y.detach(), [True, False])[1] is None


@pytest.mark.parametrize("dtype", [torch.double, torch.float, torch.half, torch.bfloat16])
def test_the_gradient_of_silu(dtype: torch.dtype) -> None:
    x, grad = torch.randn(5, 7).to(dtype), torch.randn(5, 7).to(dtype)
    torch.testing.assert_close(silu_backward(grad, x), torch.ops.aten.silu_backward(grad, x))


class ContiguousKernels(fx.Interpreter):
    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        made = super().call_function(target, args, kwargs)
        view = any(r.alias_info is not None for r in target._schema.returns)
        return made if view or not isinstance(made, torch.Tensor) else made.contiguous()


def strides_of_results(program: Any, inputs: list[torch.Tensor], repaired: bool) -> tuple[list[Any], list[Any], str]:
    """Of the forward graph of ``program``: what tracing predicted, what such kernels give, and its code."""
    told: list[Any] = []

    def compiler(graph: fx.GraphModule, given: list[torch.Tensor]) -> Any:
        (output,) = (node for node in graph.graph.nodes if node.op == "output")
        predicted = [node.meta["val"].stride() for node in output.args[0]]
        if repaired:
            keep_strides(graph)
        made = ContiguousKernels(graph).run(*[torch.empty_strided(t.shape, t.stride()).normal_() for t in given])
        told.extend([predicted, [tensor.stride() for tensor in made], graph.code])
        return graph.forward

    def unused(graph: fx.GraphModule, given: Any) -> Any:
        return graph.forward

    result = aot_function(program, compiler, unused)(*inputs)
    torch.testing.assert_close(result, program(*inputs))
    return told[0], told[1], told[2]


PROGRAMS = {
    "transposed": lambda x: (x.transpose(1, 2) * 2).sin(),
    "a view of it": lambda x: (x.transpose(1, 2) * 2).transpose(1, 2).sin(),
    "both": lambda x: torch.cat([x.permute(3, 0, 2, 1).exp(), x.permute(3, 0, 2, 1).exp()]).cos(),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_have_the_predicted_strides(name: str) -> None:
    x = torch.randn(2, 3, 4, 5, requires_grad=True)
    predicted, made, _ = strides_of_results(PROGRAMS[name], [x], repaired=True)
    assert made == predicted
    predicted, made, _ = strides_of_results(PROGRAMS[name], [x], repaired=False)
    assert made != predicted  # without the pass, such kernels do contradict the prediction


def test_a_graph_without_such_results_is_left_alone() -> None:
    x = torch.randn(2, 3, 4, 5, requires_grad=True)
    _, _, code = strides_of_results(lambda x: (x * 2).sin().transpose(1, 2), [x], repaired=True)
    assert "clone" not in code and "permute" not in code
