"""Operators that are none of ONNX's: those that torch_npu's exporter writes, in the domain ``npu`` or in ONNX's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ophook_npu.sim.atc.ge_graph import Tensor
from ophook_npu.sim.atc.onnx_node import Convert, Node

# An attribute of the GE operator: what the node says, or the plugin's default.
Told = Callable[[Node], Any]


def number(name: str, default: int | None = None) -> Told:
    return lambda node: _given(node, name, default)


def real(name: str, default: float | None = None) -> Told:
    return lambda node: float(_given(node, name, default))


def flag(name: str, default: bool = False) -> Told:
    return lambda node: bool(_given(node, name, int(default)))


def choice(name: str, *texts: str) -> Told:
    """The text whose place the number is; the first for any other."""
    return lambda node: dict(enumerate(texts)).get(node.attribute(name, 0), texts[0])


def fixed(value: Any) -> Told:
    return lambda node: value


def four(name: str, default: float) -> Told:
    """A list that the node has as four attributes."""
    return lambda node: [float(node.attribute(f"{name}{i}", default)) for i in range(4)]


def _given(node: Node, name: str, default: Any) -> Any:
    value = node.attribute(name, default)
    return node.refuse(f"its attribute '{name}' is not given") if value is None else value


def custom(of: str, **attributes: Told) -> Convert:
    """All inputs and outputs in their order."""

    def convert(node: Node) -> list[Tensor]:
        told = {name: value(node) for name, value in attributes.items()}
        return node.add_all(of, *node.inputs, **told)

    return convert


def group_norm_silu(node: Node) -> list[Tensor]:
    groups = node.attribute("group", node.attribute("num_groups"))
    if groups is None:
        node.refuse("its attribute 'num_groups' is not given")
    return node.add_all("GroupNormSilu", *node.inputs, num_groups=groups, eps=node.attribute("eps", 1e-5))


def cut_out(node: Node) -> Tensor:
    offsets, sizes = (node.const(_given(node, name, None)) for name in ("offsetss", "sizes"))
    return node.add("Slice", node.input(0), offsets, sizes)


def strided(node: Node) -> Tensor:
    parts = [node.const(_given(node, name, None)) for name in ("begins", "ends", "strides")]
    masks = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
    return node.add("StridedSlice", node.input(0), *parts, **{name: node.attribute(name, 0) for name in masks})


def format_cast(node: Node) -> Tensor:
    """Formats are the engine's own affair."""
    node.asked |= {"acl_format", "customize_dtype"}
    return node.add("Identity", node.input(0))


_BOXES = {"trans": flag("trans"), "mode": choice("mode", "iou", "iof")}
_MEANS = {"means": four("means", 0.0), "stds": four("stds", 1.0)}
_NAMED: dict[str, Convert] = {
    "NPUAddRmsNorm": custom("AddRmsNorm", epsilon=real("epsilon", 1e-6)),
    "NPUBoundingBoxDecode": custom(
        "BoundingBoxDecode", **_MEANS, max_shape=number("max_shapes"), wh_ratio_clip=real("wh_ratio_clip", 0.016)
    ),
    "NPUBoundingBoxEncode": custom("BoundingBoxEncode", **_MEANS),
    "NPUCiou": custom("CIoU", **_BOXES, is_cross=flag("is_cross", True), atan_sub_flag=flag("atan_sub_flag")),
    "NPUDiou": custom("DIoU", **_BOXES, is_cross=flag("is_cross")),
    "NPUFastGelu": custom("FastGelu"),
    "NPUFormatCast": format_cast,
    "NPUGeglu": custom("GeGluV2", dim=fixed(-1), approximate=fixed(1)),
    "NPUGiou": custom("GIoU", **_BOXES, is_cross=flag("is_cross")),
    "NPUGroupNormSilu": group_norm_silu,
    "NPUIndexing": strided,
    "NPUIou": custom("Iou", mode=choice("mode", "iou", "iof"), eps=fixed(0.01), aligned=fixed(False)),
    "NPUMish": custom("Mish"),
    "NPUNmsWithMask": custom("NMSWithMask", iou_threshold=real("iou_threshold", 0.5)),
    "NPUPsRoiPooling": custom(
        "PSROIPoolingV2",
        spatial_scale=real("spatial_scale"), output_dim=number("output_dim"), group_size=number("group_size"),
    ),
    "NPURmsNorm": custom("RmsNorm", epsilon=real("epsilon", 1e-6)),
    "NPURoiAlign": custom(
        "ROIAlign",
        spatial_scale=real("spatial_scale"), pooled_height=number("pooled_height"),
        pooled_width=number("pooled_width"), sample_num=number("sample_num", 2), roi_end_mode=number("roi_end_mode", 1),
    ),
    "NPURotaryMul": custom("RotaryMul"),
    "NPUScatter": custom("ArgMaxGrad", dimension=number("dim")),
    "NPUSignBitsPack": custom("SignBitsPack", size=number("size")),
    "NPUSlice": cut_out,
    "NPUSoftmaxCrossEntropyWithLogits": custom("SoftmaxCrossEntropyWithLogits"),
}  # fmt: skip
# CANN has plugins for these too.
_NOT_YET = """
    NPUAnchorResponseFlags NPUAntiQuant NPUAscendQuantV2 NPUBatchNms NPUDeformableConv2d NPUDropoutWithAddSoftmax
    NPUDtypeCast NPUDynamicQuant NPUDynamicQuantV2 NPUFusedAddRmsNorm NPUGeluV2 NPUGridAssignPositive NPUGroupQuant
    NPUGru NPULstm NPULstmCell NPUNmsV4 NPUOneHot NPUQuantize NPURotatedIou NPURotatedOverlaps NPUSignBitsUnpack
    NPUYoloBoxesEncode
"""


def _not_yet(node: Node) -> Any:
    node.refuse(f"CANN converts {node.proto.op_type}, the simulated atc does not yet")


OPERATORS: dict[tuple[str, str], Convert] = {
    (domain, name): convert
    for domain in ("npu", "ai.onnx")
    for name, convert in (_NAMED | dict.fromkeys(_NOT_YET.split(), _not_yet)).items()
}
