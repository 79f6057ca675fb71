"""What scripts/onnx_backend.py makes of ONNX's tests: their operators, constants for inputs, and its table."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from ophook_npu.sim.atc.errors import AtcError

SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    monkeypatch.delitem(sys.modules, "onnx_backend", raising=False)
    return importlib.import_module("onnx_backend")


def model_of(*nodes: Any, inputs: dict[str, int]) -> onnx.ModelProto:
    infos = [helper.make_tensor_value_info(name, dtype, [2]) for name, dtype in inputs.items()]
    graph = helper.make_graph(nodes, "g", infos, [helper.make_empty_tensor_value_info("y")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def test_the_operator_that_a_test_is_about(script: ModuleType) -> None:
    relu, cast = helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Cast", ["r"], ["y"], to=10)

    def operator(name: str, *nodes: Any) -> str:
        return str(script.operator_of(SimpleNamespace(name=name, model=model_of(*nodes, inputs={"x": 1}))))

    assert operator("test_anything", relu) == "Relu"
    assert operator("test_cast_FLOAT_to_FLOAT16", relu, cast) == "Cast"
    assert operator("test_castlike_FLOAT_expanded", relu, cast) == "CastLike"
    assert operator("test_operator_rrelu", relu, cast) == "Relu"


def test_inputs_that_have_to_be_constants(script: ModuleType) -> None:
    node = helper.make_node("Unsqueeze", ["x", "axes"], ["y"])
    model, axes = model_of(node, inputs={"x": 1, "axes": 7}), np.asarray([0, 2])
    graph, fed = script.converted(model, [np.ones(2, np.float32), axes], range(8, 19))
    assert [one.shape for one in fed] == [(2,)]
    assert [op.type for op in graph.op] == ["Data", "Unsqueeze", "NetOutput"]
    assert graph.op[1].attr["axes"].list.i == [0, 2]
    with pytest.raises(AtcError, match="E16002"):
        script.converted(model_of(node, inputs={"x": 1, "axes": 7}), [], range(1, 2))


def test_models_that_draw(script: ModuleType) -> None:
    drawn = helper.make_node("RandomUniformLike", ["x"], ["r"])
    greater = helper.make_node("Greater", ["r", "x"], ["y"])
    assert script.draws(model_of(drawn, greater, inputs={"x": 1}))
    assert not script.draws(model_of(greater, inputs={"x": 1, "r": 1}))


def test_the_table(script: ModuleType) -> None:
    results = {
        "a": (script.EQUAL, ""), "b": (script.DIFFERS, "[1], expected [2]"), "c": (script.REFUSED, "E1: a | b\nmore"),
    }  # fmt: skip
    assert script.table(results, {"a": "Add", "b": "Add", "c": "Sub"}).splitlines() == [
        "| operator | equal | drawn | refused | refused by the engine | differs | what |",
        "|---|---|---|---|---|---|---|",
        "| Add | 1 | 0 | 0 | 0 | 1 | [1], expected [2] |",
        "| Sub | 0 | 0 | 1 | 0 | 0 | E1: a \\| b |",
        "",
        "1 equal, 0 drawn, 1 refused, 0 refused by the engine, 1 differs; of 3 tests",
    ]
