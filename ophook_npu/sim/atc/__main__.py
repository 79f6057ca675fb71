"""``atc``: convert a model to an .om file that the simulated AscendCL loads.

    atc --framework=5 --model=net.onnx --output=net --soc_version=Ascend910B4
    atc --framework=0 --model=net.prototxt --weight=net.caffemodel --output=net --soc_version=Ascend910B4
    atc --framework=1 --model=export.air --output=net --soc_version=Ascend910B4
    atc --singleop=ops.json --output=folder --soc_version=Ascend910B4

Options, messages and codes are those of CANN's atc; --framework=3 (TensorFlow) is not simulated.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ophook_npu import soc
from ophook_npu.errors import OphookError
from ophook_npu.sim.atc import aipp, aipp_graph, model, options, precision
from ophook_npu.sim.atc.engine import Engine
from ophook_npu.sim.atc.errors import AtcError
from ophook_npu.sim.atc.messages import messages
from ophook_npu.sim.atc.om import FileKind, packed
from ophook_npu.sim.atc.single import write_models

_CAFFE, _AIR, _TENSORFLOW, _ONNX = "0", "1", "3", "5"
_MOST_BYTES = 2 << 30  # of a message of protobuf


def main(arguments: list[str]) -> int:
    """Convert, and say how it went; gives the exit status."""
    if not arguments or any(one in ("-h", "--help", "--h") for one in arguments):
        print(__doc__)
        for title, names in (("Options", options.USED), ("Without effect here", options.WITHOUT_EFFECT)):
            print(f"{title}: {', '.join(f'--{name}' for name in sorted(names))}")
        return 0
    print("ATC start working now, please wait for a moment.", flush=True)
    try:
        convert(options.read(arguments))
    except (AtcError, OphookError) as error:
        print("ATC run failed, Please check the detail log, Try 'atc --help' for more information")
        print(error)
        return 1
    print("ATC run success, welcome to the next use.")
    return 0


def convert(given: Mapping[str, str]) -> list[Path]:
    """Convert what the options name; gives the files that were written.

    Raises:
        AtcError: an option or the model is refused.
    """
    if given.get("mode") == "graph":  # what aclgrphParseONNX asks for
        return [_write_graph(given)]
    chip = _soc(given)
    if given.get("mode", "0") != "0":
        raise AtcError("E10055", f"--mode={given['mode']} is not simulated.", todo="leave it out: 0 makes an .om file")
    output = _needed(given, "output")
    if given.get("singleop"):
        if given.get("insert_op_conf"):
            raise AtcError("E10001", f"Value {given['singleop']} for parameter --singleop is invalid. Reason: When "
                           "--singleop is specified, --insert_op_conf is not supported.")  # fmt: skip
        return write_models(Path(given["singleop"]), Path(output), chip)
    os.environ["OPHOOK_SIM_SOC"] = chip
    shapes = model.input_shapes(given.get("input_shape", "") or given.get("input_shape_range", ""))
    gears = model.gears(given, shapes)
    images = _aipp(given)
    graph, names = _graph(given, shapes)
    model.set_inputs(graph, shapes, given.get("input_format", "ND" if given.get("framework") == _AIR else "NCHW"))
    names = model.choose_outputs(graph, given.get("out_nodes", ""), names)
    half_inputs = [name for name in given.get("input_fp16_nodes", "").split(";") if name]
    placed = aipp_graph.insert(graph, images, shapes, gears, chip, half_inputs)
    lines = [("soc", chip), *(placed.gears.text(placed.shapes) if placed.gears else []), *placed.lines]
    lines += [
        (f"range:{name}", ",".join(f"{least},{most}" for least, most in shape.ranges))
        for name, shape in placed.shapes.items()
        if shape.ranged
    ]
    lines.append(("outputs", ";".join(names)))
    engine = Engine()
    graph = _typed(engine, graph, given, lines, names, half_inputs)
    bytes_ = om_of(graph, lines)
    compiled = engine.compile(bytes_)
    if gears and not compiled.is_static:
        raise AtcError("E10009", "A shape within the model depends on values, so that gears cannot be compiled.")
    plain = compiled.is_static or "exact_output" in given
    path = Path(output if plain else f"{output}_{platform.system().lower()}_{platform.machine()}")
    path = path.with_name(path.name.removesuffix(".om") + ".om")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes_)
    return [path]


def _write_graph(given: Mapping[str, str]) -> Path:
    graph, _ = _graph(given, {})
    whole = messages().ModelDef(name=graph.name)
    whole.graph.append(graph)
    path = Path(_needed(given, "output"))
    path.write_bytes(whole.SerializeToString())
    return path


def _aipp(given: Mapping[str, str]) -> list[aipp.Aipp]:
    path = given.get("insert_op_conf", "")
    if path and given.get("dynamic_dims"):
        raise AtcError("E10001", f"Value {path} for parameter --insert_op_conf is invalid. Reason: The dynamic dims "
                       "function does not support AIPP.")  # fmt: skip
    return aipp.read(Path(path)) if path else []


def _typed(
    engine: Engine,
    graph: Any,
    given: Mapping[str, str],
    lines: list[tuple[str, str]],
    names: list[str],
    half_inputs: list[str],
) -> Any:
    mode = precision.chosen(given)
    if mode != "keep" or half_inputs:
        clips = given.get("is_weight_clip", "1") != "0"
        graph = precision.apply(graph, engine.compile(om_of(graph, lines)), mode, half_inputs, clips=clips)
    wanted = model.output_types(given.get("output_type", ""), names)
    return precision.set_output_types(graph, engine.compile(om_of(graph, lines)), wanted) if wanted else graph


def om_of(graph: Any, lines: list[tuple[str, str]]) -> bytes:
    """The .om file of a GraphDef, with these lines of text.

    Raises:
        AtcError: E10055, it is too large.
    """
    whole = messages().ModelDef(name=graph.name)
    whole.graph.append(graph)
    if whole.ByteSize() >= _MOST_BYTES:
        raise AtcError("E10055", f"The model has {whole.ByteSize()} bytes; more than 2 GiB are not simulated.")
    return packed(FileKind.MODEL, lines, whole.SerializeToString())


def _soc(given: Mapping[str, str]) -> str:
    name = _needed(given, "soc_version")
    if name not in soc.names():
        raise AtcError(
            "E10001",
            f"Value {name} for parameter --soc_version is invalid. Reason: the simulator has no such SoC.",
            todo=f"use one of {', '.join(soc.names())}",
        )
    return name


def _needed(given: Mapping[str, str], name: str) -> str:
    if not given.get(name):
        raise AtcError("E10004", f"Value for --{name} is empty.", todo=f"give --{name}=…")
    return given[name]


def _graph(given: Mapping[str, str], shapes: Mapping[str, model.Shape]) -> tuple[Any, list[str]]:
    """The graph of the model's file, and the names of its outputs."""
    framework = given.get("framework", "")
    path = Path(_needed(given, "model"))
    if framework == _TENSORFLOW:
        raise AtcError("E10055", "--framework=3: models of TensorFlow are not simulated.",
                       todo="export the model as ONNX")  # fmt: skip
    if framework not in (_CAFFE, _AIR, _ONNX):
        raise AtcError(
            "E10007", "--framework is required. The value must be 0(Caffe) or 1(MindSpore) or 3(TensorFlow) or 5(Onnx)."
        )
    if given.get("weight") and framework != _CAFFE:
        raise AtcError("E10055", "--weight is for models of Caffe.", todo="leave the option out")
    if not path.is_file():
        raise AtcError("E10041", f"Failed to load the model from {path}: there is no such file.")
    if framework == _AIR:
        return _air(path)
    try:
        import onnx  # noqa: F401
    except ImportError:
        raise AtcError("E19999", "Models of Caffe and ONNX are read with the package onnx, which is not installed.",
                       todo="pip install 'ophook-npu[atc]'") from None  # fmt: skip
    sizes = {name: shape.sizes for name, shape in shapes.items()}
    return _onnx(path, sizes) if framework == _ONNX else _caffe(path, Path(_needed(given, "weight")), sizes)


def _onnx(path: Path, shapes: Mapping[str, Sequence[int]]) -> tuple[Any, list[str]]:
    import onnx

    from ophook_npu.sim.atc.onnx_graph import graph_of

    try:
        whole = onnx.load(path)
    except Exception as error:
        raise AtcError("E16001", f"Failed to load the model from {path}: it is no ONNX model ({error}).") from error
    graph = graph_of(whole, input_shapes=shapes)
    return graph, [one.decode() for one in model.net_output(graph).attr["_output_names"].list.s]


def _caffe(path: Path, weights: Path, shapes: Mapping[str, Sequence[int]]) -> tuple[Any, list[str]]:
    from ophook_npu.sim.atc.caffe import onnx_of
    from ophook_npu.sim.atc.onnx_graph import graph_of

    whole, names = onnx_of(path, weights, shapes)
    return graph_of(whole, input_shapes=shapes), names


def _air(path: Path) -> tuple[Any, list[str]]:
    """The graph of torchair's dynamo_export."""
    whole = messages().ModelDef()
    try:
        whole.ParseFromString(path.read_bytes())
    except Exception as error:
        raise AtcError("E10041", f"Failed to load the model from {path}: it is no ModelDef ({error}).") from error
    if not whole.graph:
        raise AtcError("E10041", f"Failed to load the model from {path}: it holds no graph.")
    graph = whole.graph[0]
    return graph, list(model.net_output(graph).input)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
