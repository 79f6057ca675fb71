"""ONNX models as GE graphs: names, shapes, and what is refused. test_atc_onnx.py runs them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from ophook_npu.sim.atc.__main__ import convert
from ophook_npu.sim.atc.errors import AtcError
from ophook_npu.sim.atc.onnx_graph import graph_of

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def model_of(
    nodes: Sequence[Any],
    inputs: dict[str, Sequence[int | str] | None],
    outputs: Sequence[str],
    *,
    opset: int = 17,
    constants: dict[str, Any] | None = None,
    dtype: int = FLOAT,
) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info(name, dtype, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, FLOAT, None) for name in outputs],
        [onnx.numpy_helper.from_array(np.asarray(value), name) for name, value in (constants or {}).items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid("npu", 1)])


def one(of: str, *, opset: int = 17, shape: Sequence[int | str] | None = (2, 3), **attributes: Any) -> onnx.ModelProto:
    """A model with this operator alone."""
    return model_of([helper.make_node(of, ["x"], ["y"], **attributes)], {"x": shape}, ["y"], opset=opset)


def refused(model: onnx.ModelProto, **told: Any) -> str:
    with pytest.raises(AtcError) as error:
        graph_of(model, **told)
    return f"{error.value.code}: {error.value.text}"


def by_name(graph: Any) -> dict[str, Any]:
    return {op.name: op for op in graph.op}


# ---- what comes of a model -------------------------------------------------------------------------------------------
def test_names_and_order() -> None:
    nodes = [
        helper.make_node("MatMul", ["b", "w"], ["m"], name="first"),
        helper.make_node("Add", ["m", "a"], ["s"]),
        helper.make_node("Softmax", ["s"], ["y"], name="soft/max"),
    ]
    graph = graph_of(model_of(nodes, {"a": (2, 4), "b": (2, 3)}, ["y", "m"], constants={"w": np.eye(3, 4)}))
    ops = by_name(graph)
    assert graph.name == "net" and graph_of(one("Relu"), name="other").name == "other"
    assert {name: op.type for name, op in ops.items()} == {
        "a": "Data", "b": "Data", "w_Initializer_0": "Const", "first": "BatchMatMulV2", "Add_0": "Add",
        "soft/max": "SoftmaxV2", "Node_Output": "NetOutput",
    }  # fmt: skip
    assert [ops[name].attr["index"].i for name in "ab"] == [0, 1]
    assert ops["first"].input == ["b:0", "w_Initializer_0:0"]
    assert [desc.name for desc in ops["first"].input_desc] == ["x1", "x2"]
    assert ops["Node_Output"].input == ["soft/max:0", "first:0"]
    assert ops["Node_Output"].attr["_output_names"].list.s == [b"soft/max:0:y", b"first:0:m"]


def test_an_operator_of_several_types_ends_in_its_own_name() -> None:
    ops = graph_of(one("ReduceLogSum", axes=[1], keepdims=0)).op
    assert [(op.name, op.type) for op in ops[1:-1]] == [
        ("ReduceLogSum_0/Const", "Const"), ("ReduceLogSum_0/ReduceSum", "ReduceSum"), ("ReduceLogSum_0", "Log"),
    ]  # fmt: skip


def test_an_input_with_a_value_is_a_constant() -> None:
    node = helper.make_node("Add", ["x", "w"], ["y"])
    graph = graph_of(model_of([node], {"w": (3,), "x": (2, 3)}, ["y"], constants={"w": np.ones(3, np.float32)}))
    assert [(op.name, op.type) for op in graph.op[:2]] == [("x", "Data"), ("w_Initializer_0", "Const")]


def test_shapes_of_inputs() -> None:
    model = one("Relu", shape=("n", 3))
    assert graph_of(model).op[0].output_desc[0].shape.dim == [-1, 3]
    assert graph_of(model, input_shapes={"x": [4, 3]}).op[0].output_desc[0].shape.dim == [4, 3]
    assert refused(model, input_shapes={"z": [4, 3]}).startswith("E10016: Op name z specified in --input_shape is not")
    assert refused(model, input_shapes={"x": [4]}) == (
        "E10049: Dimension count 1 configured in --input_shape does not match dimension count 2 of the node."
    )


def test_constants_that_are_computed_of_shapes() -> None:
    """The end of such a chain is an attribute of a GE operator."""
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "i"], ["d"]),
        helper.make_node("Sub", ["d", "two"], ["a"]),
        helper.make_node("Unsqueeze", ["x", "a"], ["y"]),
    ]
    constants = {"i": np.asarray([1]), "two": np.asarray([2])}
    model = model_of(nodes, {"x": ("n", 3)}, ["y"], constants=constants)
    assert refused(model) == (
        "E14001: Argument for Op Unsqueeze_3 with optype Unsqueeze is invalid. Reason: its input 'axes' has to be a "
        "constant, 'a' is none."
    )
    ops = by_name(graph_of(model, input_shapes={"x": [2, 3]}))
    assert ops["Unsqueeze_3"].attr["axes"].list.i == [1]


def test_the_branch_of_a_known_condition() -> None:
    def branch(of: str) -> Any:
        out = helper.make_tensor_value_info("r", FLOAT, None)
        return helper.make_graph([helper.make_node(of, ["x"], ["r"])], of, [], [out])

    node = helper.make_node("If", ["c"], ["y"], then_branch=branch("Relu"), else_branch=branch("Tanh"))
    model = model_of([node], {"x": (2, 3)}, ["y"], constants={"c": np.asarray(False)})
    assert [op.type for op in graph_of(model).op] == ["Data", "Tanh", "NetOutput"]
    model = model_of([node], {"x": (2, 3), "c": ()}, ["y"])
    assert refused(model) == "E10501: IR for Op If_0 with optype If is not registered."


def test_operators_of_torch_npus_exporter() -> None:
    node = helper.make_node("NPURmsNorm", ["x", "w"], ["y", "r"], domain="npu", epsilon=0.5)
    op = by_name(graph_of(model_of([node], {"x": (2, 3), "w": (3,)}, ["y"])))["NPURmsNorm_0"]
    assert (op.type, op.attr["epsilon"].f) == ("RmsNorm", 0.5)


# ---- what is refused -------------------------------------------------------------------------------------------------
def test_no_parser() -> None:
    assert refused(one("RegexFullMatch", opset=20)) == (
        "E16002: No ONNX parser is registered for optype ai.onnx::20::RegexFullMatch."
    )
    assert refused(one("Relu", opset=19)) == "E16002: No ONNX parser is registered for optype ai.onnx::19::Relu."
    assert refused(one("Relu", opset=7)) == "E16002: No ONNX parser is registered for optype ai.onnx::7::Relu."
    assert refused(one("ReduceL1", opset=18)).endswith("ai.onnx::18::ReduceL1.")
    assert graph_of(one("Relu", opset=19), opsets=range(1, 30)).op[1].type == "Relu"
    with pytest.raises(AtcError, match="Next: export the model with an opset from 8 to 18"):
        graph_of(one("Relu", opset=21))
    foreign = model_of([helper.make_node("Relu", ["x"], ["y"], domain="mine")], {"x": (2,)}, ["y"])
    assert refused(foreign) == "E19999: The opset of domain[mine] has no responding version."


def test_models_without_a_graph_an_input_or_an_output() -> None:
    assert refused(onnx.ModelProto()) == "E16004: ONNX model has no graph."
    relu = helper.make_node("Relu", ["x"], ["y"])
    assert refused(model_of([relu], {}, ["y"], constants={"x": np.ones(2)})) == "E16001: The model has no input node."
    assert refused(model_of([relu], {"x": (2,)}, [])) == "E16001: The model has no output node."


def test_what_would_be_lost() -> None:
    fast = helper.make_node("NPUFastGelu", ["x"], ["y"], domain="npu", exact=1)
    assert refused(model_of([fast], {"x": (2,)}, ["y"])) == (
        "E13014: Value 1 of parameter exact for Op NPUFastGelu_0 is invalid. Reason: the conversion does not take it."
    )
    assert "Value max of parameter mode for Op RoiAlign_0" in refused(
        model_of(
            [helper.make_node("RoiAlign", ["x", "r", "i"], ["y"], mode="max")],
            {"x": (1, 1, 4, 4), "r": (2, 4), "i": (2,)},
            ["y"],
        )
    )
    dropped = helper.make_node("Dropout", ["x", "r", "t"], ["y"])
    model = model_of([dropped], {"x": (2,)}, ["y"], constants={"r": np.float32(0.5), "t": np.asarray(True)})
    assert "its training_mode has to be false" in refused(model)
    two = helper.make_node("NPUFastGelu", ["x"], ["y", "z"], domain="npu")
    assert "its output 'z' is not converted" in refused(model_of([two], {"x": (2,)}, ["y"]))


def test_texts_and_values_that_nobody_writes() -> None:
    told = refused(model_of([helper.make_node("Identity", ["x"], ["y"])], {"x": (2,)}, ["y"], dtype=TensorProto.STRING))
    assert told == (
        "E13014: Value STRING of parameter data type for Op x is invalid. Reason: GE graphs hold tensors of numbers."
    )
    missing = model_of([helper.make_node("Relu", ["z"], ["y"])], {"x": (2,)}, ["y"])
    assert refused(missing) == "E19999: The value 'z' is read, and no node of the model writes it."


def test_what_does_not_fit_the_schema() -> None:
    assert "Unrecognized attribute: activation" in refused(one("Relu", activation="Sigmoid"))
    assert "Required attribute 'kernel_shape' is missing" in refused(one("MaxPool", shape=(1, 1, 4, 4)))
    few = model_of([helper.make_node("Conv", ["x"], ["y"])], {"x": (1, 1, 4, 4)}, ["y"])
    assert "E14001: Argument for Op Conv_0 with optype Conv is invalid. Reason: Node" in refused(few)
    odd = model_of(
        [helper.make_node("Resize", ["x", "", "s"], ["y"])], {"x": (1, 1, 4, 4)}, ["y"],
        constants={"s": np.ones(3, np.float32)},
    )  # fmt: skip
    assert "its shapes, or the values of its constants and attributes, do not fit" in refused(odd)


def test_lacking_operators_are_named() -> None:
    told = refused(one("SequenceConstruct"))
    assert told == "E10501: IR for Op SequenceConstruct_0 with optype SequenceConstruct is not registered."


def test_draws_that_would_be_others() -> None:
    assert refused(one("RandomNormalLike", dtype=TensorProto.BFLOAT16)) == (
        "E13014: Value 16 of parameter dtype for Op RandomNormalLike_0 is invalid. Reason: CANN draws float32, "
        "float16, float64."
    )
    assert refused(one("Multinomial", sample_size=4)).endswith("Reason: CANN draws one.")
    assert refused(one("Multinomial", dtype=INT64)).endswith("Reason: CANN draws int32.")


def test_without_onnx(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(one("Relu").SerializeToString())
    monkeypatch.setitem(sys.modules, "onnx", None)
    given = {"framework": "5", "model": str(path), "output": str(tmp_path / "net"), "soc_version": "Ascend910B4"}
    monkeypatch.setenv("OPHOOK_SIM_SOC", given["soc_version"])  # which the conversion sets: undone after the test
    with pytest.raises(AtcError, match=r"Next: pip install 'ophook-npu\[atc\]'"):
        convert(given)
    assert not [*tmp_path.glob("*.om")]


def test_no_torch_is_imported() -> None:
    """It starts fast, and needs no device."""
    program = (
        "import sys, onnx; from onnx import helper; from ophook_npu.sim.atc.onnx_graph import graph_of\n"
        "info = [helper.make_tensor_value_info(n, 1, [2]) for n in 'xy']\n"
        "graph = helper.make_graph([helper.make_node('Relu', ['x'], ['y'])], 'g', info[:1], info[1:])\n"
        "made = graph_of(helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)]))\n"
        "print(made.op[1].type, sorted({'torch', 'torch_npu', 'onnx.reference'} & {*sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("Relu []\n", "")
