"""Which nodes of a graph compute in float16: what --precision_mode and --precision_mode_v2 say.

The engine is asked, node by node, which data types the node takes; casts stand only where one node writes a type and
another reads a different one. A constant is converted once, as ATC does it: what float16 cannot hold becomes its
largest number (--is_weight_clip).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy

from ophook_npu.sim.atc.engine import Compiled
from ophook_npu.sim.atc.errors import AtcError
from ophook_npu.sim.atc.ge_graph import add_cast, from_proto, unused
from ophook_npu.sim.atc.messages import messages
from ophook_npu.sim.atc.model import net_output

FLOAT, FLOAT16 = 0, 1  # ge::DataType
_DATA = ("Data", "RefData")
_CONST = ("Const", "Constant")
# Products of matrices and convolutions, which a cube unit computes: allow_fp32_to_fp16 is about them alone.
_CUBE = (
    "MatMul",
    "BatchMatMul",
    "Conv",
    "DepthwiseConv",
    "Gemm",
    "FullyConnection",
    "LSTM",
    "DynamicRNN",
    "DynamicGRU",
)
# What reads sizes, or places in an image, as float32 whatever the mode is.
_KEPT = ("Resize", "Upsample", "NonMaxSuppression", "ROIAlign", "RoiAlign", "Range", "Quant", "AscendQuant", "Dequant",
         "AscendDequant", "RandomUniform", "RandomNormal", "Bernoulli", "Multinomial", "TopK", "Cast")  # fmt: skip

# Statistics and scales are float32 whatever the images are: REG_OP(BNInfer) of hicann/ops-nn has no other type.
_FIRST_ALONE = ("BNInfer", "BatchNorm")

# By the name of each option: keep, all or cube.
MODES = {
    "precision_mode": {
        "force_fp16": "all", "force_fp32": "keep", "cube_fp16in_fp32out": "keep", "allow_fp32_to_fp16": "cube",
        "must_keep_origin_dtype": "keep", "allow_mix_precision": "all", "allow_mix_precision_fp16": "all",
    },
    "precision_mode_v2": {
        "fp16": "all", "origin": "keep", "cube_fp16in_fp32out": "keep", "mixed_float16": "all",
    },
}  # fmt: skip


def chosen(options: Mapping[str, str]) -> str:
    """``all``, ``cube`` or ``keep``: which nodes compute in float16.

    Raises:
        AtcError: E10001, E10056; E10055 for bfloat16.
    """
    given = [name for name in MODES if name in options]
    if len(given) > 1:
        raise AtcError(
            "E10056", "Cannot configure both parameters --precision_mode and --precision_mode_v2 simultaneously."
        )
    if not given:
        return "all"  # force_fp16 is the default
    name, value = given[0], options[given[0]]
    if value in MODES[name]:
        return MODES[name][value]
    if "bf16" in value or value in ("mixed_bfloat16", "mixed_hif8", "cube_hif8"):
        raise AtcError("E10055", f"--{name}={value} is not simulated.", todo="keep the types of the model instead")
    raise AtcError("E10001", f"Value {value} for parameter --{name} is invalid. Reason: it has to be one of "
                   f"{', '.join(MODES[name])}.")  # fmt: skip


@dataclass
class _Source:
    """What a node reads: an output of another, with the name under which each data type of it is there."""

    native: int
    versions: dict[int, str] = field(default_factory=dict)


def _in_proto(kind: int) -> int:
    return int(messages().DataType.DT_FLOAT16 if kind == FLOAT16 else messages().DataType.DT_FLOAT)


def _in_half(op: Any, mode: str) -> bool:
    if mode == "keep" or op.type in (*_DATA, *_CONST, "NetOutput") or op.type.startswith(_KEPT):
        return False
    return mode == "all" or op.type.startswith(_CUBE)


class _Casts:
    """The graph while it is written anew."""

    def __init__(self, graph: Any, clips: bool = True) -> None:
        self.clips = clips
        self.out = messages().GraphDef(name=graph.name)
        self.sources: dict[str, _Source] = {}
        self.constants = {op.name: op for op in graph.op if op.type in _CONST}
        self.names = {op.name for op in graph.op}

    def add(self, op: Any, types: Sequence[int]) -> None:
        self.out.op.append(op)
        for port, native in enumerate(types):
            key = f"{op.name}:{port}"
            self.sources[key] = _Source(native, {native: key})

    def read(self, key: str, wanted: int) -> str:
        """The name under which an output is there with this type; a cast is written where it is not."""
        source = self.sources[key]
        if wanted not in source.versions:
            constant = self.constants.get(key.rpartition(":")[0])
            if constant is not None:
                source.versions[wanted] = f"{self._converted(constant, wanted)}:0"
            else:
                source.versions[wanted] = self.cast(key, _in_proto(source.native), _in_proto(wanted))
        return source.versions[wanted]

    def _new_name(self, stem: str) -> str:
        name = unused(self.names, stem)
        self.names.add(name)
        return name

    def cast(self, key: str, of: int, to: int) -> str:
        """A Cast's output; `of` and `to` are ge.proto's numbers."""
        node, _, port = key.rpartition(":")
        return add_cast(self.out, self._new_name(f"trans_Cast_{node}_{port}"), key, of, to)

    def _converted(self, constant: Any, wanted: int) -> str:
        made = messages().OpDef()
        made.CopyFrom(constant)
        made.name = self._new_name(f"{constant.name}_{'fp16' if wanted == FLOAT16 else 'fp32'}")
        of, to = (numpy.float32, numpy.float16) if wanted == FLOAT16 else (numpy.float16, numpy.float32)
        values = numpy.frombuffer(constant.attr["value"].t.data, of)
        if wanted == FLOAT16 and self.clips:
            limit = numpy.finfo(numpy.float16).max
            values = numpy.clip(values, -limit, limit)
        kind = _in_proto(wanted)
        with numpy.errstate(over="ignore"):  # without clipping, infinity is what was asked for
            made.attr["value"].t.data = values.astype(to).tobytes()
        made.attr["value"].t.desc.dtype = kind
        made.output_desc[0].dtype = kind
        self.out.op.append(made)
        return str(made.name)


def apply(graph: Any, compiled: Compiled, mode: str, half_inputs: Sequence[str] = (), *, clips: bool = True) -> Any:
    """The graph with casts, and float16 inputs where --input_fp16_nodes names them. ``clips``: --is_weight_clip.

    Raises:
        AtcError: E10016 for an input that is not there.
    """
    casts = _Casts(graph, clips)
    data = {op.name for op in graph.op if op.type in _DATA}
    for name in half_inputs:
        if name not in data:
            raise AtcError("E10016", f"Op name {name} specified in --input_fp16_nodes is not found in the model.")
    half = messages().DataType.DT_FLOAT16
    for op in in_order(graph):
        types = [compiled.dtype(op.name, port) for port in range(len(op.output_desc))]
        made = messages().OpDef()
        made.CopyFrom(op)
        if op.name in half_inputs and types == [FLOAT]:
            made.output_desc[0].dtype, types = half, [FLOAT16]
        inputs = [(i, key) for i, key in enumerate(op.input) if key and key in casts.sources]
        originals = [compiled.dtype(*_place(key)) for _, key in inputs]
        wanted = originals
        if op.type != "NetOutput" and inputs:
            wanted, types = _chosen_types(op, originals, types, compiled, _in_half(op, mode))
        for (i, key), kind in zip(inputs, wanted, strict=True):
            if kind != casts.sources[key].native:
                made.input[i] = casts.read(key, kind)
        casts.add(made, types)
    return casts.out


def _place(key: str) -> tuple[str, int]:
    node, _, port = key.rpartition(":")
    return node, int(port)


def _chosen_types(
    op: Any, originals: list[int], types: list[int], compiled: Compiled, wants_half: bool
) -> tuple[list[int], list[int]]:
    """As many inputs in float16 as the node takes: all, the first alone, or none."""
    floats = [i for i, kind in enumerate(originals) if kind == FLOAT]
    choices = (floats[:1],) if op.type.startswith(_FIRST_ALONE) else (floats, floats[:1])
    for tried in choices if wants_half and floats else ():
        asked = [FLOAT16 if i in tried else kind for i, kind in enumerate(originals)]
        made = compiled.retyped(op.name, asked, len(types))
        if made is not None:
            return asked, made
    return originals, types


def in_order(graph: Any) -> list[Any]:
    """The nodes, each after those that it reads."""
    nodes = {op.name: op for op in graph.op}
    done: set[str] = set()
    ordered: list[Any] = []
    for start in graph.op:
        waiting = [start.name]
        while waiting:
            name = waiting[-1]
            before = [
                source for key in nodes[name].input if key for source in [key.rpartition(":")[0]] if source not in done
            ]
            if name in done or not before:
                waiting.pop()
                if name not in done:
                    done.add(name)
                    ordered.append(nodes[name])
            else:
                waiting.extend(before)
    return ordered


def set_output_types(graph: Any, compiled: Compiled, wanted: Mapping[int, int]) -> Any:
    """The graph with a Cast in front of each output that has to have another type; ge.proto's numbers."""
    casts = _Casts(graph)
    casts.out.CopyFrom(graph)
    output = net_output(casts.out)
    for place, kind in wanted.items():
        key = output.input[place]
        if compiled.dtype(*_place(key)) != from_proto(kind):
            output.input[place] = casts.cast(key, messages().DataType.DT_UNDEFINED, kind)
    return casts.out
