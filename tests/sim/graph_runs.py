"""A GE graph as torchair's C++ binding runs it: compiled by the graph engine, fed with tensors on the device."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch_npu  # noqa: F401
import torchair  # noqa: F401  # makes its parts importable by their short names

from ophook_npu.sim.atc.messages import messages

_VIEWS = {"bfloat16": torch.bfloat16, "float8_e4m3fn": torch.float8_e4m3fn, "float8_e5m2": torch.float8_e5m2}


@functools.cache
def _binding() -> Any:
    """The engine is initialized once a process, so as torchair does it where nothing is configured."""
    from torchair._ge_concrete_graph.fx2ge_converter import GeConcreteGraph
    from torchair.configs.compiler_config import CompilerConfig
    from torchair.core import _torchair

    GeConcreteGraph(CompilerConfig())
    return _torchair.TorchNpuGraphBase


def to_tensor(array: Any) -> torch.Tensor:
    array = np.array(array, order="C")  # torch wants to be able to write
    if array.dtype.name in _VIEWS:
        raw = torch.from_numpy(array.view(np.int16 if array.itemsize == 2 else np.uint8))
        return raw.view(_VIEWS[array.dtype.name])
    return torch.from_numpy(array)


def run(graph: Any, inputs: Sequence[Any], outputs: Sequence[tuple[int, int]]) -> list[torch.Tensor]:
    """What the graph makes of numpy arrays.

    outputs: of each the data type, as ``ge::DataType`` numbers them, and the number of dimensions

    Raises RuntimeError, with what the engine said.
    """
    model = messages().ModelDef(name="model")
    model.graph.add().CopyFrom(graph)
    runner = _binding()(f"{graph.name}")
    tensors = [to_tensor(one).npu() for one in inputs]
    runner.load(model.SerializeToString(), {}, [1] * len(tensors), [dtype for dtype, _ in outputs], 1)
    shapes = [list(op.output_desc[0].shape.dim) for op in graph.op if op.type == "Data"]
    results = [list(one.shape.dim) for one in graph.op[-1].input_desc]
    # A number of dimensions that is not known is no hint.
    results = [[-1] * rank if told == [-2] else told for told, (_, rank) in zip(results, outputs, strict=True)]
    runner.set_hint_shape(shapes, results)
    runner.compile()
    return [one.cpu() for one in runner.run((tensors, [], None))]


def to_array(tensor: torch.Tensor, dtype: Any) -> Any:
    """As numpy has it."""
    if tensor.dtype in _VIEWS.values():
        return tensor.view(torch.int16 if tensor.itemsize == 2 else torch.uint8).numpy().view(dtype)
    return tensor.numpy()
