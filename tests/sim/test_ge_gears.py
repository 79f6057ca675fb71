"""Graphs with gears: torchair.inference.set_dim_gears, and what the graph engine says of gears that cannot be."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torchair
from torch import nn
from torchair._ge_concrete_graph import ge_apis
from torchair.core import _torchair
from torchair.ge._ge_graph import DataType, GeGraph


def compiled(program: Callable[..., Any], policy: str = "zip") -> tuple[Callable[..., Any], Any]:
    """The program as a whole graph by torchair, and the list that tells how often it was made."""
    config = torchair.CompilerConfig()
    config.inference_config.dynamic_gears_merge_policy = policy
    backend, made = torchair.get_npu_backend(compiler_config=config), []

    def counted(graph: Any, example_inputs: Any) -> Any:
        made.append(graph)
        return backend(graph, example_inputs)

    torch._dynamo.reset()
    return torch.compile(program, backend=counted, dynamic=True, fullgraph=True), made


def same(got: Any, expected: Any) -> None:
    for one, other in zip(got, expected, strict=True):
        torch.testing.assert_close(one.cpu(), other)


class Model(nn.Module):
    """Its output's shape, a view's, a sum over the gear's dimension and a constant of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 6)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        hidden = torch.relu(self.linear(x)) + torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], device=x.device)
        return hidden, hidden.reshape(-1), hidden.sum(0) * x.shape[0], y + 1


def test_one_graph_runs_with_every_gear() -> None:
    model = Model()
    on_device = Model().npu()
    on_device.load_state_dict(model.state_dict())
    graph, made = compiled(on_device)
    for rows in (4, 2, 8, 8, 2, 4):
        x, y = torch.randn(rows, 4), torch.randn(3)
        given = x.npu()
        if rows == 4 and not made:
            torchair.inference.set_dim_gears(given, {0: [2, 4, 8]})
        same(graph(given, y.npu()), model(x, y))
    assert len(made) == 1


@pytest.mark.parametrize(
    "policy, gears, shapes",
    [
        ("zip", {0: [2, 4], 1: [3, 6]}, [(2, 3), (4, 6), (2, 3)]),
        ("product", {0: [2, 4], 1: [3, 6]}, [(2, 3), (4, 3), (2, 6), (4, 6)]),
    ],
)
def test_gears_of_two_dimensions(policy: str, gears: dict[int, list[int]], shapes: list[tuple[int, int]]) -> None:
    def program(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x.t().contiguous(), torch.softmax(x, 1), x.reshape(-1) * 2

    graph, made = compiled(program, policy)
    for shape in shapes:
        x = torch.randn(shape)
        given = x.npu()
        if not made:
            torchair.inference.set_dim_gears(given, gears)
        same(graph(given), program(x))
    assert len(made) == 1


def test_gears_of_two_inputs() -> None:
    def program(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (x @ y,)

    graph, made = compiled(program)
    for rows in (2, 5, 2):
        x, y = torch.randn(rows, 7), torch.randn(7, rows)
        first, second = x.npu(), y.npu()
        if not made:
            torchair.inference.set_dim_gears(first, {0: [2, 5]})
            torchair.inference.set_dim_gears(second, {1: [2, 5]})
        same(graph(first, second), program(x, y))
    assert len(made) == 1


def test_the_size_of_no_gear_is_another_graph() -> None:
    graph, made = compiled(lambda x: (x + 1,))
    given = torch.zeros(2, 4).npu()
    torchair.inference.set_dim_gears(given, {0: [2, 4]})
    same(graph(given), [torch.ones(2, 4)])
    same(graph(torch.zeros(3, 4).npu()), [torch.ones(3, 4)])
    assert len(made) == 2


# ---- what torchair would not send ----
def model() -> bytes:
    with GeGraph() as graph:
        x = ge_apis.Data(index=0, dtype=DataType.DT_FLOAT, shape=[-1, 4], placement="NPU", node_name="x")
        y = ge_apis.Data(index=1, dtype=DataType.DT_FLOAT, shape=[-1, 4], placement="NPU", node_name="y")
        ge_apis.NetOutput([ge_apis.Add(x, y)])
        return graph.SerializeToString()


GEARS = {"ge.inputShape": "x:-1,4;y:-1,4", "ge.dynamicDims": "2,2;4,4", "ge.dynamicNodeType": "1"}


def engine(**changed: str | None) -> Any:
    options = {**GEARS, **{f"ge.{name}": value for name, value in changed.items()}}
    made = _torchair.TorchNpuGraphBase("gears")
    made.load(model(), {name: value for name, value in options.items() if value is not None}, [1, 1], [0], 1)
    made.set_hint_shape([[-1, 4], [-1, 4]], [[-1, 4]])
    made.compile()
    return made


def test_sizes_of_no_gear_are_refused_when_the_graph_runs() -> None:
    graph = engine()

    def run(rows: int, others: int) -> Any:
        return graph.run(([torch.ones(rows, 4).npu(), torch.ones(others, 4).npu()], [], None))

    same(run(4, 4), [torch.full((4, 4), 2.0)])
    same(run(2, 2), [torch.full((2, 4), 2.0)])
    with pytest.raises(RuntimeError, match=r"the inputs have sizes of no gear; allowed: \[2, 2\], \[4, 4\]"):
        run(3, 3)
    with pytest.raises(RuntimeError, match="the inputs have sizes of no gear"):
        run(2, 4)
    same(run(2, 2), [torch.full((2, 4), 2.0)])


@pytest.mark.parametrize(
    "changed, words",
    [
        ({"inputShape": None}, "ge.dynamicDims needs ge.inputShape"),
        ({"inputShape": "x:-1,4;z:-1,4"}, "the graph has no input 'z'"),
        ({"inputShape": "x:-1,4;y:-1"}, "input 'y' has 2 dimensions, not 1"),
        ({"inputShape": "x:-1,four"}, "'x:-1,four' is not name:number,number"),
        ({"inputShape": "x:2,4;y:2,4"}, "no dimension is -1"),
        ({"dynamicDims": "2;4"}, "'2'; allowed: 2 positive numbers"),
        ({"dynamicDims": "2,2;4,0"}, "'4,0'; allowed: 2 positive numbers"),
        ({"dynamicDims": ""}, "has 0 gears; allowed: 1 to 100"),
        ({"dynamicDims": ";".join(f"{n},{n}" for n in range(1, 102))}, "has 101 gears"),
        ({"dynamicNodeType": "0"}, "ge.dynamicNodeType has to be 1"),
        ({"dynamicBatchSize": "1,2"}, "option ge.dynamicBatchSize is not simulated; ge.dynamicDims is"),
    ],
)
def test_gears_that_cannot_be(changed: dict[str, str | None], words: str) -> None:
    with pytest.raises(RuntimeError) as error:
        engine(**changed)
    assert words in str(error.value)
