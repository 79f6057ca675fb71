"""What the graph engine refuses: in torchair's words where torchair compares, in ours where the engine decides."""

import contextlib
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torchair
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torchair._ge_concrete_graph import ge_apis
from torchair.core import _torchair
from torchair.ge._ge_graph import GeGraph

BACKEND = torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())


@pytest.fixture
def library() -> Iterator[torch.library.Library]:
    made = torch.library.Library("ge_errors", "FRAGMENT")
    yield made
    made._destroy()


@pytest.fixture
def operator(library: torch.library.Library, request: pytest.FixtureRequest) -> Callable[..., Callable[..., Any]]:
    """Defines an operator with a given meta function and converter; gives its compiled call."""
    name = re.sub(r"\W", "_", request.node.name)

    def define(meta: Callable[..., Any], converter: Callable[..., Any], dynamic: bool = False) -> Callable[..., Any]:
        library.define(f"{name}(Tensor x, Tensor y) -> Tensor")
        library.impl(name, meta, "Meta")
        overload = getattr(torch.ops.ge_errors, name).default
        torchair.register_fx_node_ge_converter(overload)(converter)
        torch._dynamo.reset()
        return torch.compile(overload, backend=BACKEND, fullgraph=True, dynamic=dynamic)

    return define


def add_custom(x: Any, y: Any, z: Any = None, meta_outputs: Any = None) -> Any:
    return torchair.ge.custom_op("AddCustom", inputs={"x": x, "y": y}, outputs=["z"])


x, y = torch.ones(4, 8), torch.ones(4, 8)


def call(graph: Callable[..., Any], *tensors: torch.Tensor) -> torch.Tensor:
    return graph(*(tensor.npu() for tensor in tensors or (x, y)))


def test_the_planted_faults_are_the_only_ones(operator: Any) -> None:
    graph = operator(lambda x, y: torch.empty_like(x), add_custom)
    assert torch.equal(call(graph).cpu(), x + y)


def test_a_wrong_meta_shape_is_reported_by_torchair(operator: Any) -> None:
    graph = operator(lambda x, y: x.new_empty(4, 9), add_custom)
    with pytest.raises(RuntimeError, match=r"Ascend GE graph NetOutput.*\[4, 8\].*FX graph NetOutput.*\[4, 9\]"):
        call(graph)


def test_a_wrong_meta_rank_is_reported_by_torchair(operator: Any) -> None:
    graph = operator(lambda x, y: x.new_empty(32), add_custom)
    with pytest.raises(RuntimeError, match=r"dim size of Ascend GE graph NetOutput: \[4, 8\]"):
        call(graph)


def test_a_wrong_meta_dtype_is_reported_by_torchair(operator: Any) -> None:
    graph = operator(lambda x, y: torch.empty_like(x, dtype=torch.float16), add_custom)
    with pytest.raises(RuntimeError, match=r"DT_FLOAT\] is not equal to FX graph NetOutput: \[DT_FLOAT16"):
        call(graph)


@pytest.mark.torch_npu("2.13", "torchair words it in another way")
def test_an_unregistered_operator_type_is_torchairs_error(operator: Any) -> None:
    def converter(x: Any, y: Any, meta_outputs: Any = None) -> Any:
        return torchair.ge.custom_op("AddCustum", inputs={"x": x, "y": y}, outputs=["z"])

    with pytest.raises(RuntimeError, match="AddCustum") as error:
        call(operator(lambda x, y: torch.empty_like(x), converter))
    from torchair._utils.error_messages import ConverterErrorMsg

    expected = str(ConverterErrorMsg.GE_IR_NOT_REGISTERED.format(name="AddCustum")).splitlines()[0]
    assert expected in str(error.value)


def test_an_operator_without_a_row_fails_at_compilation_by_node_and_type(operator: Any) -> None:
    def converter(x: Any, y: Any, meta_outputs: Any = None) -> Any:
        return ge_apis.IgammaGradA(x, y)

    graph = operator(lambda x, y: torch.empty_like(x), converter)
    told = r"node IgammaGradA\w* \(IgammaGradA\): the simulator has no operator of this type"
    with pytest.raises(RuntimeError, match=told):
        call(graph)


def test_a_wrong_input_name_is_refused_with_the_prototypes_names(operator: Any) -> None:
    def converter(x: Any, y: Any, meta_outputs: Any = None) -> Any:
        return torchair.ge.custom_op("AddCustom", inputs={"x": x, "y": y, "bias": x}, outputs=["z"])

    graph = operator(lambda x, y: torch.empty_like(x), converter)
    with pytest.raises(RuntimeError, match=r"\(AddCustom\): it has an input 'bias', its prototype has x, y"):
        call(graph)


def test_a_missing_input_is_refused(operator: Any) -> None:
    def converter(x: Any, y: Any, meta_outputs: Any = None) -> Any:
        return torchair.ge.custom_op("AddCustom", inputs={"x": x}, outputs=["z"])

    graph = operator(lambda x, y: torch.empty_like(x), converter)
    with pytest.raises(RuntimeError, match=r"\(AddCustom\): its required input 'y' is not fed"):
        call(graph)


def test_a_wrong_number_of_outputs_is_refused(operator: Any) -> None:
    def converter(x: Any, y: Any, meta_outputs: Any = None) -> Any:
        return torchair.ge.custom_op("AddCustom", inputs={"x": x, "y": y}, outputs=["z", "w"])[0]

    graph = operator(lambda x, y: torch.empty_like(x), converter)
    with pytest.raises(RuntimeError, match=r"\(AddCustom\): it has 2 outputs, its prototype has z"):
        call(graph)


def test_inputs_of_two_dtypes_are_refused(operator: Any) -> None:
    def converter(x: Any, y: Any, meta_outputs: Any = None) -> Any:
        return ge_apis.Add(x, ge_apis.Cast(y, dst_type=1))

    graph = operator(lambda x, y: torch.empty_like(x), converter)
    expected = r"\(Add\): its inputs must have one data type.*float32\[4, 8\] and float16\[4, 8\]"
    with pytest.raises(RuntimeError, match=expected):
        call(graph)


def test_the_package_inference_refuses_what_does_not_broadcast(operator: Any) -> None:
    graph = operator(lambda x, y: torch.empty_like(x), add_custom)
    expected = r"\(AddCustom\): its shape inference refuses the inputs float32\[4, 8\], float32\[3, 8\]"
    with pytest.raises(RuntimeError, match=expected):
        call(graph, x, torch.ones(3, 8))


def test_shapes_that_do_not_broadcast_only_at_run_time(operator: Any) -> None:
    """A dynamic graph whose input shapes are found wrong when it runs: both are [-1, 8] while it is compiled."""
    graph = operator(lambda x, y: torch.empty_like(x), add_custom, dynamic=True)
    assert torch.equal(call(graph).cpu(), x + y)
    with pytest.raises(RuntimeError, match=r"float32\[5, 8\], float32\[3, 8\]"):
        call(graph, torch.ones(5, 8), torch.ones(3, 8))


def test_a_failure_on_the_device_names_graph_and_node() -> None:
    torch._dynamo.reset()
    graph = torch.compile(lambda x, i: x.index_select(0, i), backend=BACKEND, fullgraph=True, dynamic=False)
    index = torch.tensor([0, 2]).npu()
    assert torch.equal(graph(torch.arange(4.0).npu(), index).cpu(), torch.tensor([0.0, 2.0]))
    graph(torch.arange(4.0).npu(), index + 7)  # found out on the stream
    with pytest.raises(RuntimeError, match=r"graph \w+, node \w+ \(GatherV2\): an index is out of range"):
        torch.npu.synchronize()


def serialized_graph() -> bytes:
    with GeGraph() as graph:
        data = ge_apis.Data(index=0, dtype=0, shape=[4, 8], placement="NPU", node_name="data")
        ge_apis.NetOutput([ge_apis.Reshape(ge_apis.Relu(data), [8, 4])])
    return graph.SerializeToString()


def load_and_compile(model: bytes) -> None:
    engine = _torchair.TorchNpuGraphBase("model")
    engine.load(model, {}, [1], [0], 1)
    engine.set_hint_shape([[4, 8]], [[8, 4]])
    engine.compile()


def test_a_model_cut_short_is_refused() -> None:
    model = serialized_graph()
    load_and_compile(model)
    for length in range(len(model)):
        with pytest.raises(RuntimeError, match="LoadFromSerializedModelArray"):
            load_and_compile(model[:length])


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=4))
def test_a_damaged_model_never_crashes_the_engine(changes: list[tuple[float, int]]) -> None:
    model = bytearray(serialized_graph())
    for place, value in changes:
        model[int(place * len(model))] = value
    with contextlib.suppress(RuntimeError):  # an error with a message is right; so is a graph that is still one
        load_and_compile(bytes(model))
