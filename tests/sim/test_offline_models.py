"""Offline models: atc's options, and what aclmdl… says, runs and refuses."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import acl
import numpy as np
import offline
import onnx
import pytest
from offline import KEPT, Loaded, converted, loaded
from onnx import TensorProto, helper, numpy_helper

from ophook_npu.sim.atc.errors import AtcError

RANDOM = np.random.default_rng(0)
WEIGHT = RANDOM.standard_normal((8, 5), dtype=np.float32)
BIAS = RANDOM.standard_normal(5, dtype=np.float32)
FILTER = RANDOM.standard_normal((4, 3, 3, 3), dtype=np.float32)


def perceptron(batch: Any = 2, weight: Any = WEIGHT) -> Any:
    """``relu(x @ weight + bias)``."""
    nodes = [
        helper.make_node("MatMul", ["x", "weight"], ["product"], name="product"),
        helper.make_node("Add", ["product", "bias"], ["sum"], name="sum"),
        helper.make_node("Relu", ["sum"], ["y"], name="relu"),
    ]
    return _model(nodes, [("x", [batch, 8])], [("y", [batch, 5])], {"weight": weight, "bias": BIAS})


def convolution(size: Any = 8) -> Any:
    """A 3 by 3 convolution and the mean over the image."""
    nodes = [
        helper.make_node("Conv", ["image", "filter"], ["planes"], name="conv", pads=[1, 1, 1, 1]),
        helper.make_node("GlobalAveragePool", ["planes"], ["y"], name="mean"),
    ]
    return _model(nodes, [("image", [2, 3, size, size])], [("y", [2, 4, 1, 1])], {"filter": FILTER})


def _model(nodes: Any, inputs: Any, outputs: Any, constants: Any) -> Any:
    tensors = [[helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in side] for side in (inputs, outputs)]
    made = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "net", *tensors, made)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def wanted(x: Any, weight: Any = WEIGHT) -> Any:
    return np.maximum(x.astype(np.float64) @ weight + BIAS, 0)


def numbers(*shape: int) -> Any:
    return RANDOM.standard_normal(shape, dtype=np.float32)


def code_of(model: Loaded, read: int, written: int) -> tuple[int, str]:
    code = acl.mdl.execute(model.number, read, written)
    return code, acl.get_recent_err_msg() or ""


def test_a_model_says_what_it_is_and_computes(tmp_path: Path) -> None:
    with loaded(converted(perceptron(), tmp_path, KEPT)) as model:
        assert model.inputs() == [("x", [2, 8], 64)] and model.outputs() == [("relu:0:y", [2, 5], 40)]
        assert acl.mdl.get_input_index_by_name(model.about, "x") == (0, 0)
        assert acl.mdl.get_input_index_by_name(model.about, "z")[1] == 100000
        assert acl.mdl.get_input_dims_range(model.about, 0)[0]["range"] == [[2, 2], [8, 8]]
        assert acl.mdl.get_cur_output_dims(model.about, 0)[0]["dims"] == [2, 5]
        assert acl.mdl.get_dynamic_batch(model.about)[0]["batchCount"] == 0
        for x in (numbers(2, 8), numbers(2, 8)):
            assert np.allclose(model.run(x)[0], wanted(x), atol=1e-5)


def test_a_model_computes_in_float16_unless_it_is_told_not_to(tmp_path: Path) -> None:
    x = numbers(2, 8)
    half = x.astype(np.float16), WEIGHT.astype(np.float16)
    with loaded(converted(perceptron(), tmp_path)) as model:
        assert acl.mdl.get_input_data_type(model.about, 0) == acl.mdl.get_output_data_type(model.about, 0) == 0
        got = model.run(x)[0]
        assert np.allclose(got, wanted(*half), atol=5e-3) and np.array_equal(got, got.astype(np.float16))
    with loaded(converted(perceptron(), tmp_path, "--precision_mode=allow_fp32_to_fp16")) as model:
        got = model.run(x)[0]  # the product alone is rounded
        assert not np.array_equal(got, got.astype(np.float16)) and np.allclose(got, wanted(*half), atol=5e-3)


def test_weights_that_float16_does_not_hold_are_clipped(tmp_path: Path) -> None:
    large = np.full((8, 5), 1e6, np.float32)
    x = np.ones((2, 8), np.float32) / 8
    for option, expected in (("1", 65504), ("0", np.inf)):
        with loaded(converted(perceptron(weight=large), tmp_path, f"--is_weight_clip={option}")) as model:
            assert np.isclose(model.run(x)[0].max(), expected, rtol=1e-3)


def test_types_of_inputs_and_outputs(tmp_path: Path) -> None:
    path = converted(perceptron(), tmp_path, KEPT, "--input_fp16_nodes=x", "--output_type=FP16")
    x = numbers(2, 8).astype(np.float16)
    with loaded(path) as model:
        assert [model.inputs()[0][2], model.outputs()[0][2]] == [32, 20]
        assert np.allclose(model.run(x)[0], wanted(x), atol=1e-2)
    with loaded(
        converted(perceptron(), tmp_path, KEPT, "--out_nodes=sum:0;relu:0", "--output_type=relu:0:INT32")
    ) as model:
        assert [name for name, *_ in model.outputs()] == ["sum:0", "relu:0"]
        x = numbers(2, 8)
        total, cut = model.run(x)
        assert total.min() < 0 and np.array_equal(cut, np.maximum(total, 0).astype(np.int32))


def test_batches_in_gears(tmp_path: Path) -> None:
    path = converted(perceptron("batch"), tmp_path, KEPT, "--input_shape=x:-1,8", "--dynamic_batch_size=1,4,2")
    with loaded(path) as model:
        assert model.inputs() == [("x", [-1, 8], 128), ("ascend_mbatch_shape_data", [1], 4)]
        assert model.outputs() == [("relu:0:y", [4, 5], 80)]
        assert acl.mdl.get_dynamic_batch(model.about)[0]["batch"] == [1, 4, 2]
        x = numbers(4, 8)
        with model.datasets([x, 4], [80]) as (read, written):
            assert code_of(model, read, written)[0] == 0  # nobody set one: the largest
            assert np.allclose(model.read(written).reshape(4, 5), wanted(x), atol=1e-5)
            for batch in (2, 1):
                assert acl.mdl.set_dynamic_batch_size(model.number, read, 1, batch) == 0
                assert acl.mdl.get_cur_output_dims(model.about, 0)[0]["dims"] == [batch, 5]
                assert code_of(model, read, written)[0] == 0
                assert np.allclose(model.read(written).reshape(4, 5)[:batch], wanted(x[:batch]), atol=1e-5)
            assert acl.mdl.set_dynamic_batch_size(model.number, read, 1, 3) == 145013
            assert "1; 4; 2" in acl.get_recent_err_msg()
            assert acl.mdl.set_dynamic_hw_size(model.number, read, 1, 2, 2) == 145013
            assert acl.mdl.set_dynamic_batch_size(model.number, read, 1, 0) == 100000
            assert acl.mdl.set_dynamic_batch_size(model.number, read, 7, 1) == 100000


def test_image_sizes_and_dimensions_in_gears(tmp_path: Path) -> None:
    images = converted(
        convolution("side"), tmp_path, KEPT, "--input_shape=image:2,3,-1,-1", "--dynamic_image_size=4,6;8,8"
    )
    with loaded(images) as model:
        assert model.inputs()[0] == ("image", [2, 3, -1, -1], 2 * 3 * 64 * 4)
        assert acl.mdl.get_dynamic_hw(model.about, -1)[0]["hw"] == [[4, 6], [8, 8]]
        assert acl.mdl.get_input_format(model.about, 0) == 0  # NCHW
        x = numbers(2, 3, 4, 6)
        with model.datasets([x, 8], [32]) as (read, written):
            assert acl.mdl.set_dynamic_hw_size(model.number, read, 1, 4, 6) == 0
            assert code_of(model, read, written)[0] == 0
            first = model.read(written)
    with loaded(converted(convolution("side"), tmp_path, KEPT, "--input_shape=image:2,3,4,6")) as model:
        assert np.allclose(first, model.run(x)[0].reshape(-1), atol=1e-5)
    options = ("--input_shape=x:-1,8", "--dynamic_dims=3;6", "--input_format=ND")
    with loaded(converted(perceptron("rows"), tmp_path, KEPT, *options)) as model:
        assert acl.mdl.get_input_dynamic_gear_count(model.about, -1) == (2, 0)
        gears = acl.mdl.get_input_dynamic_dims(model.about, -1, 2)[0]
        assert [gear["dims"] for gear in gears] == [[3, 8], [6, 8]]
        x = numbers(3, 8)
        with model.datasets([x, 4], [120]) as (read, written):
            assert acl.mdl.set_input_dynamic_dims(model.number, read, 1, gears[0]) == 0
            assert code_of(model, read, written)[0] == 0
            assert np.allclose(model.read(written)[:15].reshape(3, 5), wanted(x), atol=1e-5)
            assert acl.mdl.set_input_dynamic_dims(model.number, read, 1, {"dimCount": 2, "dims": [5, 8]}) == 145013


def test_shapes_that_a_run_says(tmp_path: Path) -> None:
    path = converted(perceptron("rows"), tmp_path, KEPT, "--input_shape=x:1~3,8")
    assert "_linux_" in path  # as ATC names a model of dynamic shapes
    with loaded(path) as model:
        assert model.inputs() == [("x", [-1, 8], 0)] and model.outputs() == [("relu:0:y", [-1, 5], 0)]
        assert acl.mdl.get_input_dims_range(model.about, 0)[0]["range"] == [[1, 3], [8, 8]]
        assert acl.mdl.get_cur_output_dims(model.about, 0)[1] == 200001
        for rows, code in ((3, 0), (1, 0), (4, 100000)):
            x = numbers(rows, 8)
            with model.datasets([x]) as (read, written):
                assert code_of(model, read, written)[0] == 100000  # the shape is not said
                desc = acl.create_tensor_desc(0, [rows, 8], 2)
                acl.mdl.set_dataset_tensor_desc(read, desc, 0)
                acl.destroy_tensor_desc(desc)
                said, text = code_of(model, read, written)
                assert said == code, text
                if code:
                    assert "allowed: 1 to 3" in text
                    continue
                out = acl.mdl.get_dataset_tensor_desc(written, 0)
                assert [acl.get_tensor_desc_dim_v2(out, i)[0] for i in range(2)] == [rows, 5]
                assert np.allclose(model.read(written).reshape(rows, 5), wanted(x), atol=1e-5)
        with model.datasets([numbers(2, 8)], [16]) as (read, written):
            desc = acl.create_tensor_desc(0, [2, 8], 2)
            acl.mdl.set_dataset_tensor_desc(read, desc, 0)
            code, text = code_of(model, read, written)
            assert code == 500002 and "16 bytes" in text
            acl.destroy_tensor_desc(desc)


def test_memory_of_the_callers(tmp_path: Path) -> None:
    path = converted(perceptron(), tmp_path, KEPT)
    assert acl.init() == 0 and acl.rt.set_device(0) == 0
    work, weights, code = acl.mdl.query_size(path)
    assert code == 0 and weights >= WEIGHT.nbytes + BIAS.nbytes
    memory = [acl.rt.malloc(size, 0)[0] for size in (work, weights)]
    number, code = acl.mdl.load_from_file_with_mem(path, memory[0], work, memory[1], weights)
    assert code == 0
    x = numbers(2, 8)
    assert np.allclose(Loaded(number).run(x)[0], wanted(x), atol=1e-5)
    assert acl.mdl.unload(number) == 0
    assert acl.mdl.load_from_file_with_mem(path, memory[0], work, memory[1], weights - 512)[1] == 145000
    assert "the model needs" in acl.get_recent_err_msg()
    for address in memory:
        acl.rt.free(address)


def test_models_from_memory_and_by_a_configuration(tmp_path: Path) -> None:
    path = converted(perceptron(), tmp_path, KEPT)
    content = Path(path).read_bytes()
    held = np.frombuffer(content, np.uint8)
    x = numbers(2, 8)
    library = ctypes.CDLL("libascendcl.so")
    library.aclmdlCreateConfigHandle.restype = ctypes.c_void_p
    handle = ctypes.c_void_p(library.aclmdlCreateConfigHandle())

    def option(attr: int, value: Any) -> int:
        return int(library.aclmdlSetConfigOpt(handle, attr, ctypes.byref(value), ctypes.c_size_t(ctypes.sizeof(value))))

    number = ctypes.c_uint32()
    assert library.aclmdlLoadWithConfig(handle, ctypes.byref(number)) == 100000  # no load type
    assert option(0, ctypes.c_int64(1)) == 100000  # a priority has 4 bytes
    assert option(1, ctypes.c_size_t(3)) == option(3, ctypes.c_void_p(held.ctypes.data)) == 0
    assert option(4, ctypes.c_size_t(len(content))) == 0
    assert library.aclmdlLoadWithConfig(handle, ctypes.byref(number)) == 0
    assert library.aclmdlDestroyConfigHandle(handle) == 0
    for one in (number.value, acl.mdl.load_from_mem(held.ctypes.data, len(content))[0]):
        assert np.allclose(Loaded(one).run(x)[0], wanted(x), atol=1e-5)
        assert acl.mdl.unload(one) == 0


def test_a_run_on_a_stream(tmp_path: Path) -> None:
    with loaded(converted(perceptron(), tmp_path, KEPT)) as model:
        x = numbers(2, 8)
        stream, _ = acl.rt.create_stream()
        with model.datasets([x], [40]) as (read, written):
            assert acl.mdl.execute_async(model.number, read, written, stream) == 0
            assert acl.rt.synchronize_stream(stream) == 0
            assert np.allclose(model.read(written).reshape(2, 5), wanted(x), atol=1e-5)
        with model.datasets([x]) as (read, written):  # its memory would have to be taken while nobody waits
            assert acl.mdl.execute_async(model.number, read, written, stream) != 0
        acl.rt.destroy_stream(stream)


def test_what_is_refused_and_how(tmp_path: Path) -> None:
    path = converted(perceptron(), tmp_path, KEPT)
    with loaded(path) as model:
        for given, room, code in (([128], [40], 0), ([64], [], 500002), ([], [40], 500002), ([64, 64], [40], 500002)):
            with model.datasets(given, room) as (read, written):
                assert code_of(model, read, written)[0] == code, (given, room)
    assert acl.mdl.unload(model.number) == 145003
    content = Path(path).read_bytes()
    for name, damaged, code, says in (
        ("cut", content[:-1], 145006, "is not whole"),
        ("longer", content + b"x", 145006, "is not whole"),
        ("short", content[:8], 145006, "has 8 bytes that are no .om file"),
        ("head", content[:32], 145006, "has 32 bytes that are no .om file"),
        ("other", b"x" * 300, 145006, "has 300 bytes that are no .om file"),
        ("version", content[:8] + b"\2" + content[9:], 145006, "has version 2 of the format; allowed: 1"),
        ("operator", content[:12] + b"\1" + content[13:], 145006, "of a single operator, for aclopLoad"),
        ("hardware", b"IMOD" + content[4:], 200001, "was made by CANN's atc"),
        ("empty", b"", 145002, "is empty"),
        ("model", content[:32] + content[32:].replace(b"MatMulV2", b"MatMulXX"), 545001, "MatMulXX"),
    ):
        file = tmp_path / f"{name}.om"
        file.write_bytes(damaged)
        assert acl.mdl.load_from_file(str(file))[1] == code, name
        assert says in acl.get_recent_err_msg(), name
    assert acl.mdl.load_from_file(str(tmp_path / "nowhere.om"))[1] == 145002
    other = tmp_path / "model.om"
    other.write_bytes(content.replace(b"soc=Ascend910B4", b"soc=Ascend310P3"))
    assert acl.mdl.load_from_file(str(other))[1] == 500002
    assert "another family than Ascend910B4" in acl.get_recent_err_msg()


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--input_shape=z:2,8"], "E10016"),
        (["--out_nodes=nothing:0"], "E10016"),
        (["--output_type=FP7"], "E10001"),
        (["--precision_mode=fast"], "E10001"),
        (["--insert_op_conf=nowhere.cfg"], "E13000"),
        (["--mode=1"], "E10055"),
    ],
)
def test_what_atc_refuses(tmp_path: Path, options: list[str], code: str) -> None:
    with pytest.raises(AtcError) as error:
        converted(perceptron(), tmp_path, *options)
    assert error.value.code == code and not list(tmp_path.glob("*.om"))


def test_a_graph_of_torchair(tmp_path: Path) -> None:
    """AIR: the messages that torchair's dynamo_export writes, without their weights' files."""
    from ophook_npu.sim.atc.messages import messages
    from ophook_npu.sim.atc.onnx_graph import graph_of

    whole = messages().ModelDef(name="air")
    whole.graph.append(graph_of(perceptron()))
    source = tmp_path / "export.air"
    source.write_bytes(whole.SerializeToString())
    given = ["--framework=1", f"--model={source}", f"--output={tmp_path / 'air'}", "--soc_version=Ascend910B4", KEPT]
    x = numbers(2, 8)
    with loaded(str(offline.convert(offline.read(given))[0])) as model:
        assert np.allclose(model.run(x)[0], wanted(x), atol=1e-5)
    source.write_bytes(onnx.ModelProto().SerializeToString() + b"\xff")
    with pytest.raises(AtcError, match="E10041"):
        offline.convert(offline.read(given))
