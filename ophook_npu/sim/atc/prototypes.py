"""The ports of the GE operators that models are converted to: inputs, ``*`` where one is dynamic, then outputs.

``tests/sim/test_atc_onnx.py`` holds them to the prototypes of the simulated graph engine.
"""

from __future__ import annotations


def _words(text: str) -> list[str]:
    return text.split()


_UNARY = _words(
    "Abs Acos Acosh Adds Asin Asinh Atan Atanh AvgPool3D AvgPoolV2 Cast Ceil CeluV2 Cos Cosh DepthToSpace Elu Erf Exp "
    "FastGelu FlattenV2 Floor GeluV2 GlobalAveragePool HardMax HardSwish Identity Invert IsInf IsNan LRN LeakyRelu Log "
    "LogicalNot LpNormV2 MatrixDeterminant MaxPool3D MaxPoolV3 Mish Muls Neg NonZero Reciprocal Relu Round Rsqrt Selu "
    "Shape Sigmoid Sign Sin Sinh Size SoftmaxV2 Softplus Softsign SpaceToDepth Sqrt Square Squeeze Tan Tanh TensorMove "
    "ThresholdV2D Tril Triu Unsqueeze"
)
_BINARY = _words(
    "Add BitwiseAnd BitwiseOr BitwiseXor Div Equal FloorDiv FloorMod Greater GreaterEqual Less LessEqual LogicalAnd "
    "LogicalOr Maximum Minimum Mod Mul NotEqual Pow RealDiv Sub"
)
_REDUCE = _words("ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum")

PROTOTYPES = {
    **dict.fromkeys(_UNARY, "x -> y"),
    **dict.fromkeys(_BINARY, "x1 x2 -> y"),
    **dict.fromkeys(_REDUCE, "x axes -> y"),
    **dict.fromkeys(["ScatterNdAdd", "ScatterNdMax", "ScatterNdMin", "ScatterNdUpdate"], "var indices updates -> var"),
    "AccumulateNV2": "x* -> y",
    "AddRmsNorm": "x1 x2 gamma -> y rstd x",
    "ArgMaxGrad": "var indices updates -> y",
    "ArgMaxV2": "x dimension -> y",
    "ArgMin": "x dimension -> y",
    "BNInfer": "x scale offset mean variance -> y",
    "BatchMatMulV2": "x1 x2 bias -> y",
    "BoundingBoxDecode": "rois deltas -> bboxes",
    "BoundingBoxEncode": "anchor_box ground_truth_box -> delats",
    "BroadcastTo": "x shape -> y",
    "CIoU": "bboxes gtboxes -> overlap atan_sub",
    "ClipByValue": "x clip_value_min clip_value_max -> y",
    "Col2im": "x output_size -> y",
    "ConcatD": "x* -> y",
    "Conv2D": "x filter bias -> y",
    "Conv2DTranspose": "input_size x filter bias -> y",
    "Conv3D": "x filter bias -> y",
    "Conv3DTranspose": "input_size x filter bias -> y",
    "Cumsum": "x axis -> y",
    "DIoU": "bboxes gtboxes -> overlap",
    "DynamicGRUV2": "x weight_input weight_hidden bias_input bias_hidden seq_length init_h -> "
    "y output_h update reset new hidden_new",
    "DynamicRNN": "x w b seq_length init_h init_c -> y output_h output_c i j f o tanhc",
    "Einsum": "x* -> y",
    "Expand": "x shape -> y",
    "ExpandDims": "x axis -> y",
    "Eye": "-> y",
    "Fill": "dims value -> y",
    "GIoU": "bboxes gtboxes -> overlap",
    "GatherElements": "x index -> y",
    "GatherNd": "x indices -> y",
    "GatherV2": "x indices axis -> y",
    "GeGluV2": "x -> y gelu",
    "GridSampler2D": "x grid -> y",
    "GridSampler3D": "x grid -> y",
    "GroupNormSilu": "x gamma beta -> y mean variance",
    "GroupNormV2": "x gamma beta -> y mean rstd",
    "HardSigmoid": "input_x -> output_y",
    "Iou": "bboxes gtboxes -> overlap",
    "LayerNormV3": "x gamma beta -> y mean rstd",
    "LeftShift": "x y -> z",
    "LogSoftmaxV2": "logits -> logsoftmax",
    "MatMulV2": "x1 x2 bias -> y",
    "MaxPoolWithArgmaxV3": "x -> y argmax",
    "NLLLoss": "x target weight -> y total_weight",
    "NMSWithMask": "box_scores -> selected_boxes selected_idx selected_mask",
    "NonMaxSuppressionV6": "boxes scores max_output_size iou_threshold score_threshold -> selected_indices",
    "OneHot": "x depth on_value off_value -> y",
    "PRelu": "x weight -> y",
    "PSROIPoolingV2": "x rois -> y",
    "Pack": "x* -> y",
    "PadV3": "x paddings constant_values -> y",
    "ROIAlign": "features rois -> y",
    "Range": "start limit delta -> y",
    "Reshape": "x shape -> y",
    "ResizeBilinearV2": "x size -> y",
    "ResizeNearestNeighborV2": "x size -> y",
    "ReverseSequence": "x seq_lengths -> y",
    "ReverseV2": "x axis -> y",
    "RightShift": "x y -> z",
    "RmsNorm": "x gamma -> y rstd",
    "RotaryMul": "x r1 r2 -> y",
    "ScatterElements": "data indices updates -> y",
    "SelectV2": "condition then else -> result",
    "Shrink": "input_x -> output_y",
    "SignBitsPack": "x -> y",
    "Slice": "x offsets size -> y",
    "SoftmaxCrossEntropyWithLogits": "features labels -> loss backprop",
    "SplitD": "x -> y*",
    "SplitV": "x size_splits split_dim -> y*",
    "StridedSlice": "x begin end strides -> y",
    "StridedSliceV2": "x begin end axes strides -> y",
    "Tile": "x multiples -> y",
    "TopK": "x k -> values indices",
    "Transpose": "x perm -> y",
    "UniqueWithCountsExt2": "x axis -> y idx count inverse",
}
