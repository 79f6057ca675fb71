"""LSTM and GRU. Weights have to be constants: they are laid out anew while the model is converted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ophook_npu.sim.atc.ge_graph import Tensor
from ophook_npu.sim.atc.onnx_node import Array, Convert, Node, like

_END = np.iinfo(np.int64).max


@dataclass
class Direction:
    """One of the layer's directions: its number, and whether it runs from the end."""

    number: int
    backwards: bool


@dataclass
class Result:
    """Of all times, in their order, and of the last step."""

    y: Tensor
    last: list[Tensor]


def _directions(node: Node) -> list[Direction]:
    told = node.attribute("direction")
    named = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}
    if told not in named:
        node.refuse_attribute("direction", told, f"it is one of {', '.join(named)}")
    return [Direction(i, backwards) for i, backwards in enumerate(named[told])]


def _only_plain(node: Node, activations: list[str]) -> None:
    count = len(_directions(node))
    given = [one.lower() for one in node.attribute("activations") or activations * count]
    if given != [one.lower() for one in activations * count]:
        node.refuse_attribute("activations", given, f"CANN takes {', '.join(activations)}")
    for name in ("activation_alpha", "activation_beta", "clip"):
        node.only(name, None, "CANN takes none")
    node.attribute("hidden_size")


def _all_times(node: Node, x: Tensor, index: int) -> None:
    """Refuses sequences that are shorter than x."""
    if node.given(index) is None:
        return
    lengths, time = node.value(index), x.shape[0] if x.shape else -1
    if lengths is None or time < 0 or (lengths != time).any():
        node.refuse("its sequence_lens has to be the length of its input, for each sequence")


def _batch_in_front(node: Node) -> bool:
    return node.opset >= 14 and bool(node.attribute("layout"))


def _layer(
    node: Node, states: list[int], run: Callable[[Tensor, Direction, list[Tensor | None]], Result]
) -> list[Tensor]:
    """Runs each direction; of the states, one input each."""
    x, turned = node.input(0), _batch_in_front(node)
    if turned:
        shape = None if x.shape is None else (x.shape[1], x.shape[0], x.shape[2])
        x = like(node.add("Transpose", x, node.const([1, 0, 2])), x.dtype, shape)
    _all_times(node, x, 4)
    found = []
    for one in _directions(node):
        first = [_state(node, index, one, turned) for index in states]
        found.append(run(x, one, first))
    ys = _joined(node, [node.add("Unsqueeze", one.y, axes=[1]) for one in found], 1)
    lasts = [_joined(node, list(each), 0) for each in zip(*(one.last for one in found), strict=True)]
    if turned:
        ys = node.add("Transpose", ys, node.const([2, 0, 1, 3]))
        lasts = [node.add("Transpose", one, node.const([1, 0, 2])) for one in lasts]
    return [ys, *lasts]


def _state(node: Node, index: int, one: Direction, turned: bool) -> Tensor | None:
    given = node.given(index)
    if given is None:
        return None
    if turned:
        given = node.add("Transpose", given, node.const([1, 0, 2]))
    return _part(node, given, one.number, one.number + 1)


def _part(node: Node, x: Tensor, start: int, end: int) -> Tensor:
    return node.add("StridedSliceV2", x, node.const([start]), node.const([end]), node.const([0]), node.const([1]))


def _joined(node: Node, parts: list[Tensor], axis: int) -> Tensor:
    return parts[0] if len(parts) == 1 else node.add("ConcatD", parts, concat_dim=axis, N=len(parts))


def _last(node: Node, y: Tensor, backwards: bool) -> Tensor:
    return _part(node, y, 0, 1) if backwards else _part(node, y, -1, _END)


def _gates(matrix: Array, order: list[int]) -> Array:
    """Rows of gates in another order."""
    parts = np.split(matrix, len(order), axis=0)
    return np.concatenate([parts[i] for i in order], axis=0)


def lstm(node: Node) -> list[Tensor]:
    _only_plain(node, ["Sigmoid", "Tanh", "Tanh"])
    node.only("input_forget", 0, "CANN takes 0")
    if node.given(7) is not None:
        node.refuse("its peepholes are not simulated")
    w, r, b = node.constant(1), node.constant(2), node.value(3)
    if node.given(3) is not None:
        b = node.constant(3)
    order = [0, 3, 2, 1]  # ONNX has the gates i, o, f, c; here they are i, j (which is c), f, o

    def run(x: Tensor, one: Direction, states: list[Tensor | None]) -> Result:
        weight = np.concatenate([_gates(w[one.number], order), _gates(r[one.number], order)], axis=1).T
        bias = np.zeros(weight.shape[1], w.dtype) if b is None else np.sum(np.split(b[one.number], 2), axis=0)
        y, h, c, *_ = node.add_all(
            "DynamicRNN", x, node.const(weight, x.dtype), node.const(_gates(bias, order), x.dtype), None, *states,
            gate_order="ijfo", direction="REDIRECTIONAL" if one.backwards else "UNIDIRECTIONAL", is_training=False,
        )  # fmt: skip
        return Result(y, [_last(node, h, one.backwards), _last(node, c, one.backwards)])

    return _layer(node, [5, 6], run)


def gru(node: Node) -> list[Tensor]:
    _only_plain(node, ["Sigmoid", "Tanh"])
    after = bool(node.attribute("linear_before_reset"))
    w, r, b = node.constant(1), node.constant(2), node.value(3)
    if node.given(3) is not None:
        b = node.constant(3)

    def run(x: Tensor, one: Direction, states: list[Tensor | None]) -> Result:
        of_input, of_hidden = w[one.number].T, r[one.number].T
        biases = [np.zeros(of_input.shape[1], w.dtype)] * 2 if b is None else np.split(b[one.number], 2)
        turned = node.add("ReverseV2", x, node.const([0])) if one.backwards else x
        y = node.add(
            "DynamicGRUV2", turned, node.const(of_input, x.dtype), node.const(of_hidden, x.dtype),
            node.const(biases[0], x.dtype), node.const(biases[1], x.dtype), None, *states,
            gate_order="zrh", reset_after=after, is_training=False,
        )  # fmt: skip
        last = _last(node, y, False)
        return Result(node.add("ReverseV2", y, node.const([0])) if one.backwards else y, [last])

    return _layer(node, [5], run)


OPERATORS: dict[str, Convert] = {"GRU": gru, "LSTM": lstm}
