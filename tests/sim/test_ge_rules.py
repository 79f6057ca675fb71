"""Shape rules and attributes of graph operators: what is unknown stays unknown, what is misspelled is named."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import interfaces
import numpy as np
import pytest
import test_ge_descent
import test_pairs
import torch
import torch_npu
import torchair
from interfaces import Node, Refused

_GATES = "y, h, c, h, c, y, h, c, y, y, y, y, y"
# Calls of operators that are in no pair, by their types: the arguments, and the tensors that they name. Those whose
# inputs are tensors of one shape need no line.
CALLS = """
GIoU | b, b | b=real(4, 6)
Flatten | x, axis=2 | x=real(2, 3, 4, 5)
ReduceSumD | x, axes=[1] | x=real(4, 6)
ReduceMaxD | x, axes=[-1], keep_dims=True | x=real(4, 6)
ReduceMinD | x, axes=[0, 1] | x=real(4, 6)
ReduceAllD | x, axes=[1] | x=flags(4, 6)
ReduceAnyD | x, axes=[1] | x=flags(4, 6)
ArgMinD | x, dimension=1 | x=real(4, 6)
CumsumD | x, axis=1, exclusive=True | x=real(4, 6)
CumprodD | x, axis=0 | x=real(4, 6)
BroadcastToD | x, shape=[2, 4, 6] | x=real(4, 1)
ExpandD | x, shape=[2, 4, 6] | x=real(4, 1)
FillD | x, dims=[2, 3] | x=number(1.5)
TileD | x, multiples=[2, 1] | x=real(4, 6)
ReverseV2D | x, axis=[1] | x=real(4, 6)
SliceD | x, offsets=[1, 2], size=[2, -1] | x=real(4, 6)
StridedSliceD | x, begin=[3, 0], end=[0, 6], strides=[-1, 2] | x=real(4, 6)
ResizeNearestNeighborV2D | x, size=[8, 9] | x=real(2, 3, 4, 5)
ResizeBilinearV2D | x, size=[8, 9], half_pixel_centers=True | x=real(2, 3, 4, 5)
TopKD | x, x, k=2 | x=real(4, 6)
TopKV2D | x, n, x | x=real(4, 6), n=int32(2)
DIoU | b, b, is_cross=False | b=real(4, 6)
BoundingBoxEncode | b, b | b=real(7, 4)
BoundingBoxDecode | b, b, max_shape=[9, 9] | b=real(7, 4)
HcomAllReduce | x, reduction="sum", group="g" | x=real(4, 6)
HcomAllGather | x, rank_size=2, group="g" | x=real(4, 6)
HcomReduceScatter | x, reduction="sum", group="g", rank_size=2 | x=real(4, 6)
HcomBroadcast | [x, y], root_rank=0, group="g" | x=real(4, 6), y=real(3)
HcomAllToAll | x, group="g" | x=real(4, 6)
Aipp | x, aipp_mode=1, input_format=3, network=[3, 4, 6] | x=octets(144).view(2, 4, 6, 3)
Quantize | x, s, dtype="torch.qint8" | x=real(4, 6), s=real(1, 6)
HcomAllToAllV | x, n, n, n, n, group="g" | x=real(9), n=int64(4, 5)
HcomAllGatherV | x, n, m, group="g" | x=real(4, 6), n=int64(4), m=int64(4, 2)
HcomReduceScatterV | x, n, m, reduction="sum", group="g" | x=real(4, 6), n=int64(2), m=int64(2, 2)
HcomSend | x, group="g", sr_tag=0, dest_rank=1 | x=real(4, 6)
HcomReceive | group="g", sr_tag=0, src_rank=1, shape=[4, 6], dtype=torch.float32 | x=real(1)
Cmo | x, max_size=64 | x=real(4, 6)
QuantConv2D | x, w, s, dtype=torch.float16, strides=[1] * 4, pads=[1] * 4, data_format="NCHW" | x=whole(2, 4, 5, 6).char(), w=whole(8, 4, 3, 3).char(), s=real(8)
Conv3D | x, w, strides=[1] * 5, pads=[1] * 6, data_format="NCDHW" | x=real(2, 4, 5, 6, 7), w=real(8, 4, 3, 3, 3)
Conv2DTranspose | n, x, w, strides=[1] * 4, pads=[0] * 4, data_format="NCHW" | n=int64(2, 8, 7, 8), x=real(2, 4, 5, 6), w=real(4, 8, 3, 3)
Conv2DBackpropInput | n, w, x, strides=[1] * 4, pads=[1] * 4, data_format="NCHW" | n=int64(2, 8, 5, 6), x=real(2, 4, 5, 6), w=real(4, 8, 3, 3)
Conv3DBackpropInput | n, w, x, strides=[1] * 5, pads=[1] * 6, data_format="NCDHW" | n=int64(2, 8, 5, 6, 7), x=real(2, 4, 5, 6, 7), w=real(4, 8, 3, 3, 3)
Conv2DBackpropFilter | x, n, x, strides=[1] * 4, pads=[1] * 4, data_format="NCHW" | n=int64(4, 4, 3, 3), x=real(2, 4, 5, 6)
Conv3DBackpropFilter | x, n, x, strides=[1] * 5, pads=[1] * 6, data_format="NCDHW" | n=int64(4, 4, 3, 3, 3), x=real(2, 4, 5, 6, 7)
GIoUGrad | g, b, b, trans=True, is_cross=False | g=real(6), b=real(4, 6)
DIoUGrad | g, b, b, trans=True, is_cross=False | g=real(6), b=real(4, 6)
RotatedOverlaps | b, q | b=real(2, 5, 7), q=real(2, 5, 3)
RotatedIou | b, q | b=real(2, 5, 7), q=real(2, 5, 3)
RotatedNMS | b, s, n, iou_threshold=0.5 | b=real(7, 5), s=real(7), n=whole(1)
PSROIPoolingV2 | x, r, spatial_scale=0.5, output_dim=2, group_size=3 | x=real(2, 18, 5, 6), r=real(2, 5, 4)
PSROIPoolingGradV2D | x, r, spatial_scale=0.5, output_dim=2, group_size=3, input_size=[5, 6] | x=real(8, 2, 3, 3), r=real(2, 5, 4)
NonMaxSuppressionV3 | b, s, n, t, t | b=real(7, 4), s=real(7), n=int64(3), t=number(0.5)
NonMaxSuppressionV4 | b, s, n, t, t, pad_to_max_output_size=True | b=real(7, 4), s=real(7), n=int64(3), t=number(0.5)
BatchMultiClassNonMaxSuppression | b, s, score_threshold=0.1, iou_threshold=0.5, max_size_per_class=3, max_total_size=4 | b=real(2, 7, 1, 4), s=real(2, 7, 3)
AnchorResponseFlags | b, featmap_size=[5, 6], strides=[4, 4], num_base_anchors=3 | b=real(7, 4)
GridAssignPositive | x, o, f, x, i, t, k, n, pos_iou_thr=0.5, min_pos_iou=0.0, gt_max_assign_all=True | x=real(7), o=real(3, 7), f=octets(7), i=whole(7), t=real(3), k=whole(3), n=int64(3)
DeformableOffsets | x, o, strides=[1, 2, 2, 1], pads=[1] * 4, ksize=[3, 3], data_format="NHWC" | x=real(2, 6, 7, 4), o=real(2, 3, 4, 27)
DeformableOffsetsGrad | g, x, o, strides=[1, 2, 2, 1], pads=[1] * 4, ksize=[3, 3], data_format="NHWC" | g=real(2, 9, 12, 4), x=real(2, 6, 7, 4), o=real(2, 3, 4, 27)
AvgPool | x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME" | x=real(2, 4, 7, 8)
AvgPoolGrad | n, y, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME" | n=int64(2, 4, 7, 8), y=real(2, 2, 4, 8)
MaxPool | x, ksize=[1, 1, 3, 2], strides=[1, 1, 2, 2], padding="VALID", data_format="NCHW" | x=real(2, 4, 7, 8)
MaxPoolGrad | x, y, y, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME" | x=real(2, 4, 7, 8), y=real(2, 2, 4, 8)
MaxPoolV3Grad | x, y, y, ksize=[1, 1, 2, 2], strides=[1, 1, 2, 2] | x=real(2, 4, 6, 8), y=real(2, 4, 3, 4)
BiasAdd | x, b | x=real(2, 4, 6), b=real(6)
SparseSoftmaxCrossEntropyWithLogits | x, k | x=real(4, 6), k=whole(4)
CTCLoss | x, i, v, n | x=single(5, 2, 4), i=whole(3, 2), v=whole(3).int(), n=int64(5, 4)
CTCGreedyDecoder | x, n | x=single(5, 2, 4), n=int64(5, 4)
RNNTLoss | x, k, n, n | x=single(2, 5, 3, 4), k=whole(2, 2).int(), n=int64(2, 2)
Conv2DBackpropInputD | w, y, input_size=[2, 4, 7, 8], strides=[1, 1, 2, 2], pads=[0, 1, 0, 0], data_format="NCHW" | w=real(6, 4, 2, 2), y=real(2, 6, 4, 4)
Conv2DBackpropFilterD | x, y, filter_size=[6, 4, 2, 2], strides=[1, 1, 2, 2], pads=[0, 1, 0, 0], data_format="NCHW" | x=real(2, 4, 7, 8), y=real(2, 6, 4, 4)
Conv2DTransposeD | y, w, input_size=[2, 4, 7, 8], strides=[1, 1, 2, 2], pads=[0, 1, 0, 0], data_format="NCHW" | w=real(6, 4, 2, 2), y=real(2, 6, 4, 4)
Conv3DBackpropInputD | w, y, input_size=[2, 4, 3, 7, 8], strides=[1, 1, 1, 2, 2], pads=[0, 0, 0, 1, 0, 0], data_format="NCDHW" | w=real(6, 4, 2, 2, 2), y=real(2, 6, 2, 4, 4)
Conv3DBackpropFilterD | x, y, filter_size=[6, 4, 2, 2, 2], strides=[1, 1, 1, 2, 2], pads=[0, 0, 0, 1, 0, 0], data_format="NCDHW" | x=real(2, 4, 3, 7, 8), y=real(2, 6, 2, 4, 4)
Conv3DTransposeD | y, w, input_size=[2, 4, 3, 7, 8], strides=[1, 1, 1, 2, 2], pads=[0, 0, 0, 1, 0, 0], data_format="NCDHW" | w=real(6, 4, 2, 2, 2), y=real(2, 6, 2, 4, 4)
CumprodD | x, axis=1 | x=real(4, 6)
CumsumD | x, axis=1 | x=real(4, 6)
ConfusionMatrix | k, k, num_classes=5, dtype="int32" | k=whole(7).int()
HistogramFixedWidth | x, r, n | x=real(4, 6), r=real(2), n=int64(5)
HistogramFixedWidthD | x, r, nbins=5 | x=real(4, 6), r=real(2)
Concat | a, [x, x], N=2 | x=real(4, 6), a=int64(1)
ParallelConcat | [x, x], shape=[2, 6], N=2 | x=real(1, 6)
DataFormatVecPermute | x | x=whole(4, 2)
ResizeArea | x, n | x=real(2, 4, 6, 3), n=int64(3, 5)
ScaleAndTranslate | x, n, s, s | x=real(2, 4, 6, 3), n=int64(3, 5), s=single(2)
ScaleAndTranslateGrad | y, x, s, s | x=single(2, 4, 6, 3), y=single(2, 3, 5, 3), s=single(2)
RGBToHSV | x | x=real(4, 3)
AdjustHue | x, d | x=real(4, 3), d=number(0.5)
AdjustSaturation | x, d | x=real(4, 3), d=number(0.5)
CheckValid | b, m | b=real(7, 4), m=real(3)
SpaceToBatch | x, n, block_size=2 | x=real(2, 4, 6, 3), n=int64(1, 1, 0, 0).view(2, 2)
SpaceToBatchD | x, block_size=2, paddings=[1, 1, 0, 0] | x=real(2, 4, 6, 3)
SpaceToBatchND | x, b, n | x=real(2, 4, 6), b=int64(2, 3), n=int64(1, 1, 0, 0).view(2, 2)
SpaceToBatchNDD | x, block_shape=[2], paddings=[1, 1] | x=real(2, 4, 6)
BatchToSpace | x, n, block_size=2 | x=real(8, 4, 6, 3), n=int64(1, 1, 0, 2).view(2, 2)
BatchToSpaceD | x, block_size=2, crops=[1, 1, 0, 0] | x=real(4, 4, 6, 3)
BatchToSpaceND | x, b, n | x=real(12, 4, 6), b=int64(2, 3), n=int64(1, 1, 0, 0).view(2, 2)
BatchToSpaceNDD | x, block_shape=[2], crops=[1, 1] | x=real(2, 4, 6)
CheckNumerics | x, message="x" | x=real(4, 6)
EditDistance | i, x, n, i, x, n | i=whole(4, 3), x=single(4), n=int64(2, 3, 4)
FractionalMaxPool | x, pooling_ratio=[1.0, 1.5, 2.0, 1.0] | x=real(2, 6, 8, 3)
FractionalAvgPool | x, pooling_ratio=[1.0, 1.5, 2.0, 1.0] | x=real(2, 6, 8, 3)
FractionalMaxPoolGrad | x, y, y, i, i | x=real(2, 6, 8, 3), y=real(2, 4, 4, 3), i=int64(0, 1, 3, 4, 6)
FractionalAvgPoolGrad | n, y, i, i | n=int64(2, 6, 8, 3), y=real(2, 4, 4, 3), i=int64(0, 1, 3, 4, 6)
MultiHeadAttention | x, x, x, w, w, w, m, w, attn_head_num=16, attn_dim_per_head=16, src_len=16, tgt_len=16, keep_prob=1.0, softmax_use_float=True | x=real(32, 256).half(), w=real(256, 256).half(), m=real(2, 16, 16, 16).half()
MultiHeadAttentionGrad | x, x, x, w, w, w, w, h, h, h, p, h, x, x, attn_head_num=16, attn_dim_per_head=16, src_len=16, tgt_len=16, keep_prob=1.0, softmax_use_float=True | x=real(32, 256).half(), w=real(256, 256).half(), h=real(2, 16, 16, 16).half(), p=single(2, 16, 16, 16)
IFMR | x, s, s, c, min_percentile=0.9, max_percentile=0.9, search_range=[0.7, 1.3], search_step=0.1, with_offset=False | x=real(4, 6), s=real(1), c=whole(5).int()
StrideAdd | x, x, x1_c1_offset=0, x2_c1_offset=0, c1_len=1 | x=real(2, 9, 4)
RandomChoiceWithMask | x, count=5 | x=flags(4, 6)
NMSWithMask | b | b=real(7, 5)
RotatedBoxEncode | b, b | b=real(2, 5, 7)
RotatedBoxDecode | b, b | b=real(2, 5, 7)
YoloBoxesEncode | b, b, s | b=real(7, 4), s=whole(7)
BallQuery | x, c, min_radius=0.2, max_radius=1.0, sample_num=4 | x=real(2, 3, 9), c=real(5, 2, 3)
ThreeInterpolate | x, i, w | x=real(2, 5, 4), i=whole(2, 7, 3).int() % 5, w=real(2, 7, 3)
ChamferDistance | x, y | x=real(2, 3, 5), y=real(2, 3, 4)
PointsInPolygons | p, q | p=single(5, 2), q=single(8, 3)
PSAMask | x, psa_type=0, num=2, h_feature=4, w_feature=5, h_mask=3, w_mask=3, half_h_mask=1, half_w_mask=1 | x=real(2, 9, 4, 5)
PSAMaskGrad | x, psa_type=1, num=2, h_feature=4, w_feature=5, h_mask=3, w_mask=3, half_h_mask=1, half_w_mask=1 | x=real(2, 20, 4, 5)
ActiveRotatedFilter | x, i | x=real(2, 3, 1, 3, 3), i=(whole(1, 3, 3, 4).int() % 9 + 1)
ActiveRotatedFilterGrad | x, i | x=real(8, 3, 3, 3), i=(whole(1, 3, 3, 4).int() % 9 + 1)
FusedBiasLeakyRelu | x, x | x=real(4, 6)
FusedBiasLeakyReluGrad | x, x | x=real(4, 6)
Axpy | x, x, alpha=2.0 | x=real(4, 6)
AddN | [x, x], N=2 | x=real(4, 6)
Bitcast | x, type=torch.int32 | x=single(4, 6)
IsFinite | x | x=real(4, 6)
SignBitsPack | x, size=2 | x=real(31)
SignBitsUnpack | x, size=2, dtype=torch.float32 | x=octets(8)
Empty | n | n=int64(4, 6)
MirrorPad | x, p, mode="REFLECT" | x=real(4, 6), p=int64(0, 1, 2, 0)
Fill | n, v | n=int64(4, 6), v=number(1.0)
BroadcastTo | x, n | x=real(6), n=int64(4, -1)
Expand | x, n | x=real(4, 1), n=int64(4, 6)
Pad | x, p | x=real(4, 6), p=int64(0, 1, 2, 0)
PadV3Grad | x, p | x=real(4, 6), p=int64(0, 1, 2, 0)
Slice | x, b, n | x=real(4, 6), b=int64(1, 2), n=int64(2, -1)
IndexByTensor | x, [i, i], indices_mask=[1, 0, 1] | x=real(4, 6, 5), i=whole(3)
AsStrided | x, n, s, o | x=real(24), n=int64(3, 2), s=int64(2, 1), o=int64(0)
ViewCopy | x, n, s, o, y, n, s, o | x=real(24), y=real(6), n=int64(3, 2), s=int64(2, 1), o=int64(0)
LpNormReduceV2 | x, axes=[1], keepdim=True | x=real(4, 6)
BNTrainingUpdateGrad | x, x, m, m | x=real(4, 6), m=single(6)
BN3DTrainingUpdateGrad | x, x, m, m | x=real(4, 6, 5), m=single(6)
BNTrainingReduceGrad | x, x, m, m, m, m, m | x=real(4, 6), m=single(6)
BNInferGrad | x, m, m | x=real(4, 6), m=single(6)
MaxPoolWithArgmaxV1 | x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], pads=[1, 0, 0, 1] | x=real(2, 4, 6, 8)
MaxPoolWithArgmaxV3 | x, ksize=[3, 3], strides=[2, 2], pads=[1, 1], dilation=[1, 1], ceil_mode=True | x=real(2, 4, 6, 8)
MaxPoolGradWithArgmaxV1 | x, y, i, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], pads=[1, 0, 0, 1] | x=real(2, 4, 6, 8), y=real(2, 4, 3, 4), i=whole(2, 4, 3, 4)
MaxPoolGradWithArgmaxV3 | x, y, i, ksize=[2, 2], strides=[2, 2], pads=[0, 0] | x=real(2, 4, 6, 8), y=real(2, 4, 3, 4), i=whole(2, 4, 3, 4)
DropOutGenMaskV3 | n, p | n=int64(4, 6), p=number(0.5)
StatelessDropOutGenMask | n, p, s, s | n=int64(4, 60), p=number(0.5), s=int64(1)
StatelessRandomUniformV2 | n, s, s, s | n=int64(4, 6), s=int64(1)
StatelessRandomNormalV2 | n, s, s, s | n=int64(4, 6), s=int64(1)
StatelessBernoulli | n, p, s, s | n=int64(4, 6), p=number(0.5), s=int64(1)
StatelessRandperm | n, s, s | n=int64(9), s=int64(1)
ReduceStdWithMean | x, m, dim=[1], keepdim=True | x=real(4, 6), m=real(4, 1)
DynamicRNN | x, w, b, None, h, h | x=real(5, 2, 3), w=real(7, 16), b=real(16), h=real(1, 2, 4)
DynamicRNNV2 | x, w, r, b | x=real(5, 2, 3), w=real(3, 16), r=real(4, 16), b=real(16)
DynamicRNNGrad | x, w, b, {gates} | x=real(5, 2, 3), w=real(7, 16), b=real(16), h=real(1, 2, 4), c=real(1, 2, 4), y=real(5, 2, 4)
DynamicRNNV2Grad | x, w, r, {gates} | x=real(5, 2, 3), w=real(3, 16), r=real(4, 16), h=real(1, 2, 4), c=real(1, 2, 4), y=real(5, 2, 4)
DynamicGRUV2 | x, w, r, b, b | x=real(5, 2, 3), w=real(3, 12), r=real(4, 12), b=real(12)
DynamicGRUV2Grad | x, w, r, y, h, y, y, h, y, y, y, y | x=real(5, 2, 3), w=real(3, 12), r=real(4, 12), h=real(1, 2, 4), y=real(5, 2, 4)
Reshape | x, n | x=real(4, 6), n=int64(3, -1)
Unsqueeze | x, axes=[0, 2] | x=real(4, 6)
ExpandDims | x, a | x=real(4, 6), a=int64(1)
Squeeze | x, axis=[1] | x=real(4, 1, 6)
FlattenV2 | x | x=real(4, 2, 6)
Transpose | x, p | x=real(4, 6), p=int64(1, 0)
TransposeD | x, perm=[1, 0] | x=real(4, 6)
ConcatV2 | [x, x], a, N=2 | x=real(4, 6), a=int64(1)
Unpack | x, num=4, results=4 | x=real(4, 6)
Split | a, x, num_split=2, results=2 | x=real(4, 6), a=int64(1)
SplitD | x, split_dim=1, num_split=2, results=2 | x=real(4, 6)
SplitV | x, n, a, num_split=2, results=2 | x=real(4, 6), n=int64(2, -1), a=int64(1)
NonZero | x | x=real(4, 6)
UniqueWithCountsExt2 | x, n | x=real(4, 6), n=int64(1)
IndexPutV2 | x, y, n, n, [i] | x=real(4, 6), y=real(3, 6), n=int64(1), i=whole(3)
Index | x, n, m, [i] | x=real(4, 6), m=int64(3, 6), n=int64(1), i=whole(3)
GatherV2 | x, i, n, batch_dims=1 | x=real(3, 4, 6), i=whole(3, 2), n=int64(2)
GatherV2D | x, i, axis=1 | x=real(4, 6), i=whole(3)
Scatter | x, i, y, reduce="update", axis=1 | x=real(3, 6, 4), y=real(3, 2, 4), i=whole(3, 2, below=3)
ScatterUpdate | x, i, y | x=real(4, 6), y=real(3, 6), i=whole(3)
ScatterNdAdd | x, i, y | x=real(4, 6), y=real(3, 6), i=whole(3, 1)
ArgMaxGrad | x, i, y, dimension=1 | x=real(4, 6), y=real(4), i=whole(4)
IndexFillD | x, x, x, dim=0 | x=real(4, 6)
Renorm | x, p=2.0, dim=0, maxnorm=1.0 | x=real(4, 6)
RangeD | x, start=1.0, limit=5.0, delta=1.0 | x=real(4)
FillDiagonal | x, fill_value=1.0 | x=real(4, 6)
MatrixTriangularSolve | x, y | x=real(4, 4), y=real(4, 6)
ReduceStdV2Update | x, x, dim=[1] | x=real(4, 6)
ReduceMeanWithCount | x, x, x, axes=[0] | x=real(4, 6)
SyncBatchNormGatherStatsWithCounts | x, x, x, x, m, m | x=real(4, 6), m=real(1, 6)
BNTrainingReduce | x | x=real(4, 6, 5)
BN3DTrainingReduce | x | x=real(4, 6, 5)
BNTrainingUpdate | x, m, m, m, m, m, m, factor=0.1, epsilon=0.1 | x=real(4, 6, 5), m=single(6)
BN3DTrainingUpdate | x, m, m, m, m, m, m, factor=0.1, epsilon=0.1 | x=real(4, 6, 5), m=single(6)
BN3DTrainingReduceGrad | x, x, m, m, m, m, m | x=real(4, 6), m=single(6)
AxpyWithSoftmaxAndDropOutDoMask | x, x, m, alpha=2.0, input_keep_prob=0.5 | x=real(4, 6), m=octets(24)
DropoutWithMulsAndSoftmaxGrad | x, m, x, alpha=2.0, input_keep_prob=0.5 | x=real(4, 6), m=octets(24)
DepthwiseConv2D | x, w, strides=[1] * 4, pads=[1] * 4, data_format="NCHW" | x=real(2, 4, 5, 6), w=real(1, 4, 3, 3)
DepthwiseConv2DBackpropInput | n, w, x, strides=[1] * 4, pads=[1] * 4, data_format="NCHW" | n=int64(2, 4, 5, 6), x=real(2, 4, 5, 6), w=real(1, 4, 3, 3)
DepthwiseConv2DBackpropFilter | x, n, x, strides=[1] * 4, pads=[1] * 4, data_format="NCHW" | n=int64(1, 4, 3, 3), x=real(2, 4, 5, 6)
MaxPool3D | x, ksize=[2] * 3, strides=[2] * 3, padding="CALCULATED", data_format="NCDHW" | x=real(2, 4, 4, 6, 8)
MaxPool3DGrad | x, y, y, ksize=[2] * 3, strides=[2] * 3, pads=[0] * 6, padding="CALCULATED", data_format="NCDHW" | x=real(2, 4, 4, 6, 8), y=real(2, 4, 2, 3, 4)
ResizeBilinearV2 | x, n, half_pixel_centers=True | x=real(2, 4, 5, 6), n=int64(8, 9)
ResizeBilinearV2Grad | x, y, half_pixel_centers=True | x=real(2, 4, 8, 9), y=real(2, 4, 5, 6)
ResizeD | x, sizes=[8, 9], mode="cubic" | x=real(2, 4, 5, 6)
ResizeGradD | x, original_size=[2, 4, 5, 6], mode="cubic", data_format="HWNC" | x=real(8, 9, 2, 4)
Col2im | x, n, kernel_size=[2, 3], dilation=[1, 1], padding=[0, 1], stride=[1, 1] | x=real(2, 3, 6, 24), n=int64(5, 6)
MaxPoolV3 | x, ksize=[1, 1, 2, 2], strides=[1, 1, 2, 2], pads=[1, 1, 0, 0], ceil_mode=True | x=real(2, 4, 5, 6)
DepthToSpace | x, block_size=2, data_format="NCHW" | x=real(2, 8, 5, 6)
SpaceToDepth | x, block_size=2 | x=real(2, 4, 6, 3)
ReverseSequence | x, n, seq_dim=1 | x=real(4, 6, 5), n=int64(1, 6, 0, 2)
ScatterNdMax | x, i, y | x=real(4, 6), y=real(3, 6), i=whole(3, 1)
ScatterNdMin | x, i, y | x=real(4, 6), y=real(3, 6), i=whole(3, 1)
TopK | x, k, dim=0 | x=real(4, 6), k=int64(3)
MatrixDeterminant | x | x=real(4, 3, 3)
AccumulateNV2 | [x, x], N=2 | x=real(4, 6)
NonMaxSuppressionV6 | b, s, n, t, t | b=real(2, 7, 4), s=real(2, 3, 7), n=int64(3), t=number(0.5)
ForeachNorm | [x, x], n | x=real(4, 6), n=number(2.0)
RandomUniform | n, dtype=0 | n=int64(4, 6)
RandomStandardNormal | n, dtype=0 | n=int64(4, 6)
RandomUniformInt | n, a, b | n=int64(4, 6), a=int64(1), b=int64(5)
TruncatedNormal | n | n=int64(4, 6)
ParameterizedTruncatedNormal | n, m, s, a, b | n=int64(4, 6), m=single(4), s=single_positive(4), a=single_number(-9.0), b=single_number(9.0)
RandomGamma | n, x | n=int64(4, 6), x=single_positive(3)
RandomPoisson | n, x | n=int64(4, 6), x=single_positive(3)
Poisson | x | x=positive(4, 6)
Multinomial | x, n | x=single(4, 6), n=int32(3)
RandomShuffle | x | x=real(4, 6)
DropOutGenMask | n, p | n=int64(4, 6), p=number(0.5)
DropOutGenMaskV4 | n, p | n=int64(4, 6), p=number(0.5)
UniformCandidateSampler | i, num_true=2, num_sampled=3, unique=True, range_max=9 | i=whole(4, 2)
LogUniformCandidateSampler | i, num_true=2, num_sampled=3, unique=True, range_max=9 | i=whole(4, 2)
Randperm | n=5 | x=real(1)
StatelessRandomUniformInt | n, s, a, b | n=int64(4, 6), s=int64(1, 2), a=int64(1), b=int64(5)
StatelessRandomUniformIntV2 | n, a, a, a, a, b | n=int64(4, 6), a=int64(1), b=int64(5)
StatelessTruncatedNormalV2 | n, a, a, a | n=int64(4, 6), a=int64(1)
StatelessRandomGammaV2 | n, s, x | n=int64(4, 6), s=int64(1, 2), x=single_positive(6)
StatelessRandomPoisson | n, s, x, dtype=0 | n=int64(4, 6), s=int64(1, 2), x=single_positive(6)
StatelessMultinomial | x, n, s | x=single(4, 6), n=int32(3), s=int64(1, 2)
DropOutDoMaskV3D | x, m, keep_prob=0.5 | x=single(4, 6), m=octets(24)
ApplyMomentum | x, x, n, x, n | x=real(4, 6), n=number(0.5)
ApplyMomentumD | x, x, n, x, n | x=real(4, 6), n=number(0.5)
ApplyGradientDescent | x, n, x | x=real(4, 6), n=number(0.5)
ApplyAdadelta | x, x, x, n, n, n, x | x=real(4, 6), n=number(0.5)
ApplyAdadeltaD | x, x, x, n, n, n, x | x=real(4, 6), n=number(0.5)
ApplyAdagrad | x, x, n, x | x=real(4, 6), n=number(0.5)
ApplyAdagradV2 | x, x, n, n, x | x=real(4, 6), n=number(0.5)
ApplyAdagradV2D | x, x, n, x, epsilon=0.5 | x=real(4, 6), n=number(0.5)
ApplyAdaMax | x, x, x, n, n, n, n, n, x | x=real(4, 6), n=number(0.5)
ApplyAdaMaxD | x, x, x, n, n, n, n, n, x | x=real(4, 6), n=number(0.5)
SGD | x, x, n, x, n, x | x=real(4, 6), n=number(0.5)
ScatterAdd | x, i, y | x=real(4, 6), y=real(3, 6), i=whole(3, below=3)
ScatterSub | x, i, y | x=real(4, 6), y=real(3, 2, 6), i=whole(3, 2, below=3)
ScatterNdSub | x, i, y | x=real(4, 6), y=real(3, 6), i=whole(3, 1, below=3)
ScatterNonAliasingAdd | x, i, y | x=real(4, 6), y=real(3, 6), i=whole(3, 1, below=3)
TensorScatterUpdate | x, i, y | x=real(4, 6), y=real(3), i=whole(3, 2, below=3)
TensorScatterAdd | x, i, y | x=real(4, 6), y=real(3, 6), i=whole(3, 1, below=3)
TensorScatterSub | x, i, y | x=real(4, 6), y=real(3, 6), i=whole(3, 1, below=3)
TensorScatterMax | x, i, y | x=real(4, 6), y=real(3, 6), i=whole(3, 1, below=3)
TensorScatterMin | x, i, y | x=real(4, 6), y=real(3, 6), i=whole(3, 1, below=3)
ScatterNd | i, y, n | y=real(3, 6), i=whole(3, 1, below=3), n=int64(4, 6)
ScatterNdD | i, y, shape=[4, 6] | y=real(3, 6), i=whole(3, 1, below=3)
InplaceUpdate | x, i, y | x=real(4, 6), y=real(3, 6), i=whole(3, below=3)
InplaceAdd | x, i, y | x=real(4, 6), y=real(3, 6), i=whole(3, below=3)
InplaceSub | x, i, y | x=real(4, 6), y=real(3, 6), i=whole(3, below=3)
InplaceUpdateD | x, y, indices=[1, 0, 2] | x=real(4, 6), y=real(3, 6)
InplaceAddD | x, y, indices=[1, 0, 2] | x=real(4, 6), y=real(3, 6)
InplaceSubD | x, y, indices=[1, 0, 2] | x=real(4, 6), y=real(3, 6)
UnsortedSegmentSum | x, i, n | x=real(4, 6, 5), i=whole(4, 6), n=int64(7)
UnsortedSegmentProd | x, i, n | x=real(4, 6), i=whole(4), n=int64(7)
UnsortedSegmentMax | x, i, n | x=real(4, 6), i=whole(4), n=int64(7)
UnsortedSegmentMin | x, i, n | x=real(4, 6), i=whole(4), n=int64(7)
UnsortedSegmentSumD | x, i.int(), num_segments=7 | x=real(4, 6), i=whole(4)
UnsortedSegmentProdD | x, i.int(), num_segments=7 | x=real(4, 6), i=whole(4)
UnsortedSegmentMaxD | x, i.int(), num_segments=7 | x=real(4, 6), i=whole(4)
UnsortedSegmentMinD | x, i.int(), num_segments=7 | x=real(4, 6), i=whole(4)
Unique | i | i=whole(9)
UniqueWithCounts | i, out_idx=3 | i=whole(9)
UniqueWithPad | i, n | i=whole(9), n=int64(5)
ListDiff | i, n | i=whole(9), n=int64(1, 2)
ComputeAccidentalHits | i, n, num_true=2 | i=whole(4, 2), n=int64(1, 2, 3)
InTopK | x, i, n | x=single(4, 6), i=whole(4), n=int64(2)
InTopKD | x, i, k=2 | x=single(4, 6), i=whole(4)
InTopKV2 | x, i, n | x=single(4, 6), i=whole(4), n=int64(2)
EmbeddingLookup | x, i, n | x=real(4, 6), i=whole(3, 2), n=int64(1)
StridedSliceGrad | n, b, e, s, x | n=int64(5, 8), b=int64(1, 0), e=int64(5, 6), s=int64(1, 1), x=real(4, 6)
Bucketize | x, boundaries=[0.0, 1.0] | x=real(4, 6)
SqueezeV2 | x, axis=[1] | x=real(4, 1, 6)
UnsqueezeV2 | x, axis=[0, 2] | x=real(4, 6)
Flatten | x, axis=2 | x=real(4, 2, 6, 3)
Concat | a, [x, x], N=2 | x=real(4, 6), a=int64(1)
SplitVD | x, size_splits=[2, -1], split_dim=1, num_split=2, results=2 | x=real(4, 6)
TileD | x, multiples=[1, 2] | x=real(4, 6)
ReverseV2D | x, axis=[1] | x=real(4, 6)
FillD | v, dims=[4, 6] | v=number(1.0)
FillV2 | n | n=int64(4, 6)
FillV2D | dims=[4, 6] |
BroadcastToD | x, shape=[4, -1] | x=real(6)
ExpandD | x, shape=[4, 6] | x=real(4, 1)
ReduceSumD | x, axes=[1] | x=real(4, 6)
ReduceMaxD | x, axes=[1] | x=real(4, 6)
ReduceMinD | x, axes=[1] | x=real(4, 6)
ReduceAnyD | x, axes=[1] | x=flags(4, 6)
ReduceAllD | x, axes=[1] | x=flags(4, 6)
ReduceLogSum | x, a | x=positive(4, 6), a=int64(1)
EuclideanNorm | x, a | x=real(4, 6), a=int64(1)
EuclideanNormD | x, axes=[1] | x=real(4, 6)
SquareSumV1 | x, axis=[1] | x=real(4, 6)
SquareSumV2 | x, axis=[1] | x=real(4, 6)
ArgMaxD | x, dimension=1 | x=real(4, 6)
ArgMinD | x, dimension=1 | x=real(4, 6)
RFFT | x, n | x=single(4, 6), n=int32(6)
IRFFT | x, n | x=torch.complex(single(4, 6), single(4, 6)), n=int32(10)
STFT | x, w, n_fft=8 | x=single(2, 40), w=single(8)
FusedMulAddN | x, x, n | x=real(4, 6), n=number(2.0)
FusedMulAddNL2loss | x, x, n | x=real(4, 6), n=number(2.0)
MatrixBandPart | x, n, n | x=real(2, 4, 6), n=int64(1)
MatrixDiagV2 | x, k, n, n, v | x=real(4, 6), k=int32(1), n=int32(-1), v=number(9.0)
MatrixDiagV3 | x, k, n, n, v | x=real(2, 3, 4), k=int32(-1, 1), n=int32(-1), v=number(9.0)
MatrixDiagPartV2 | x, k, v | x=real(2, 4, 6), k=int32(-1), v=number(9.0)
MatrixDiagPartV3 | x, k, v | x=real(2, 4, 6), k=int32(-1, 2), v=number(9.0)
MatrixSetDiag | x, y | x=real(2, 4, 6), y=real(2, 4)
MatrixSetDiagV2 | x, y, k | x=real(2, 4, 6), y=real(2, 2, 4), k=int32(0, 1)
MatrixSetDiagV3 | x, y, k | x=real(2, 4, 6), y=real(2, 2, 4), k=int32(0, 1)
Ger | x, y | x=real(4), y=real(6)
ConjugateTranspose | x, p | x=real(4, 6), p=int64(1, 0)
MatrixSolve | x, y | x=real(2, 4, 4), y=real(2, 4, 6)
TridiagonalSolve | x, y | x=real(2, 3, 4), y=real(2, 4, 6)
Cholesky | x | x=real(2, 4, 4)
Lu | x, output_idx_type=torch.int32 | x=real(2, 4, 4)
SelfAdjointEig | x | x=real(2, 4, 4)
Pinverse | x | x=real(2, 4, 6)
SparseTensorDenseMatMul | i, v, n, x | i=whole(5, 2), v=real(5), n=int64(4, 6), x=real(6, 3)
UnravelIndex | i, n | i=whole(5), n=int64(4, 6)
LowerBound | x, y | x=real(2, 6), y=real(2, 3)
UpperBound | x, y, out_type=torch.int64 | x=real(2, 6), y=real(2, 3)
CumprodD | x, axis=1 | x=real(4, 6)
CumsumD | x, axis=1 | x=real(4, 6)
CumulativeLogsumexp | x, a | x=real(4, 6), a=int32(1)
CumulativeLogsumexpD | x, axis=1 | x=real(4, 6)
""".replace("{gates}", _GATES)  # fmt: skip # noqa: E501
SOURCES = Path(torch_npu.__file__).parent / "dynamo" / "torchair" / "_ge_concrete_graph"


@functools.cache
def calls() -> list[tuple[str, str, str]]:
    """One call or more of each operator: its type, its arguments, its tensors."""
    made = [(one.type, one.inputs, one.tensors) for one in test_pairs.pairs()[0]]
    made += [tuple(part.strip() for part in line.split("|")) for line in CALLS.strip().splitlines()]  # type: ignore[misc]
    made += test_ge_descent.calls()
    there = {of for of, _, _ in made}
    for of in sorted({*interfaces.types()} - {*interfaces.functions()}):
        ports = interfaces.prototype(of)[0]
        if of not in there and not any(port[-1] in "?*" for port in ports):
            made.append((of, ", ".join("x" for _ in ports), "x=real(4, 6)"))
        elif of not in there:
            made.append(
                (of, ", ".join("[x, x]" if port[-1] == "*" else "n" for port in ports), "x=real(4, 6), n=number(1.0)")
            )
    return made


def arguments_of(
    of: str, arguments: str, tensors: str, dtype: torch.dtype = torch.float32
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The inputs and the attributes of a call."""
    helpers: dict[str, Any] = {**test_pairs.tensors(dtype), "torch": torch, "dtype": dtype}
    told = {**helpers, **eval(f"dict({tensors})", helpers), "call": lambda *inputs, **attributes: (inputs, attributes)}
    return eval(f"call({arguments})", told)


def node(of: str, *call: Any) -> Node:
    inputs, attributes = arguments_of(of, *call)
    return Node(of, *inputs, **attributes)


@functools.cache
def known() -> dict[tuple[Any, ...], list[tuple[int, list[int] | None]]]:
    """What is inferred of each call where everything is known."""
    found = {}
    for call in calls():
        errors = []
        # Some take 16 bits only; where a call is made of a prototype, the operator takes numbers of another kind.
        kinds = ("flags(4, 6)", "whole(4, 6)", "torch.complex(single(4, 6), single(4, 6))")
        others = [(*call[:2], f"x={kind}") for kind in kinds if call[2] == "x=real(4, 6)"]
        for other in (call, (*call, torch.float16), *others):
            try:
                found[other] = node(*other).infer()
                break
            except Refused as error:
                errors.append(str(error))
        else:
            raise AssertionError(f"{call}: {errors}")
    return found


def less_known(call: Node) -> Iterator[str]:
    """Makes parts of the inputs unknown, one after the other, and says what."""
    everything = [type(one).from_buffer_copy(one) for one in call.given]
    for i, whole in enumerate(everything):
        if whole.dtype == 28:  # absent
            continue
        for dim in range(whole.rank):
            call.given[i].data, call.given[i].dims[dim] = None, -1
            yield f"dimension {dim} of input {i}"
            call.given[i] = type(whole).from_buffer_copy(whole)
        call.given[i].data = None
        yield f"the values of input {i}"
        call.given[i].rank = -1
        yield f"the rank of input {i}"
        call.given[i] = type(whole).from_buffer_copy(whole)
    for one in call.given:
        one.data = None
        one.dims[: max(one.rank, 0)] = [-1] * max(one.rank, 0)
    yield "all dimensions"
    for one in call.given:
        one.rank = -1 if one.dtype != 28 else one.rank
    yield "all ranks"


def fits(found: tuple[int, list[int] | None], whole: tuple[int, list[int] | None]) -> bool:
    """Whether what is inferred of less can still become what is inferred of everything."""
    if found[0] != whole[0] or found[1] is None or whole[1] is None:
        return found[0] == whole[0]
    return len(found[1]) == len(whole[1]) and all(a in (-1, b) for a, b in zip(found[1], whole[1], strict=True))


def test_each_operator_has_a_call() -> None:
    """Those that are functions of libopapi are in test_ge_functions.py."""
    assert {call[0] for call in known()} | {*interfaces.functions()} == {*interfaces.types()}


def test_what_is_unknown_stays_unknown() -> None:
    wrong, tried = [], 0
    for call, whole in known().items():
        less = node(*call)
        for what in less_known(less):
            tried += 1
            try:
                found = less.infer()
            except Refused as error:
                wrong.append(f"{call[0]} without {what}: {error}")
                continue
            if not all(map(fits, found, whole)):
                wrong.append(f"{call[0]} without {what}: {found}, and {whole} of everything")
    assert not wrong, f"{len(wrong)} of {tried}\n" + "\n".join(wrong)
    assert tried > 2000


def test_dimensions_that_are_computed() -> None:
    for of, dtype, rows in (("SignBitsPack", torch.float32, 2), ("SignBitsUnpack", torch.uint8, 4)):
        made = Node(of, torch.zeros(16, dtype=dtype), size=rows)
        made.given[0].data, made.given[0].dims[0] = None, -1
        assert made.infer()[0][1] == [rows, -1]
    made = Node("ConcatD", [torch.zeros(4, 6), torch.zeros(2, 6)], concat_dim=0)
    made.given[1].data, made.given[1].rank = None, -1
    assert made.infer()[0][1] == [-1, 6]
    with pytest.raises(Refused, match="would have -1 elements along dimension 0"):
        Node("Fill", torch.tensor([-1, 2]), torch.ones(1)).infer()
    with pytest.raises(Refused, match=r"shape \[5\] beside \[2, 6\], expected \(\*n, k\)"):
        Node("LayerNormV4", torch.ones(2, 6), torch.tensor([5])).infer()


def as_base(call: tuple[str, str, str]) -> list[torch.Tensor]:
    """What the type without the D makes of a call, whose attributes are inputs there."""
    of = call[0].removesuffix("D")
    inputs, attributes = arguments_of(*call)
    given = dict(zip(interfaces.prototype(call[0])[0], inputs, strict=False))
    given |= {name: value if torch.is_tensor(value) else torch.tensor(value) for name, value in attributes.items()}
    ports, _, kinds = interfaces.prototype(of)
    rest = {name: value for name, value in attributes.items() if name in kinds}
    return interfaces.graph(of, *(given[port.rstrip("?*")] for port in ports), **rest)


def test_types_that_end_in_d_are_the_others() -> None:
    text = (Path(interfaces.__file__).parents[2] / "ophook_npu/csrc/ge/rows/as_inputs.cpp").read_text()
    types = {f"{name}D" for name in re.findall(r"AS_INPUTS\((\w+), ", text)} - {"typeD"}
    tried = [call for call in calls() if call[0] in types]
    assert {call[0] for call in tried} == types and len(types) > 15
    for call in tried:
        inputs, attributes = arguments_of(*call)
        for got, wanted in zip(interfaces.graph(call[0], *inputs, **attributes), as_base(call), strict=True):
            torch.testing.assert_close(got, wanted, rtol=0, atol=0)


# Shapes of the inputs, -1 for what is unknown and None for a rank; what is inferred, or what is wrong with them.
SHAPES = (
    ("BatchMatMul", [(2, 1, 3, 4), (5, 4, 6)], [[2, 5, 3, 6]]),
    ("BatchMatMul", [(-1, 3, 4), (5, 4, 6)], [[5, 3, 6]]),
    ("BatchMatMul", [(-1, 3, 4), (1, 4, 6)], [[-1, 3, 6]]),
    ("BatchMatMul", [(7, 3, -1), (-1, 4, -1)], [[7, 3, -1]]),
    ("BatchMatMul", [None, (5, 4, 6)], [None]),
    (
        "BatchMatMul",
        [(2, 3, 4), (5, 4, 6)],
        r"\[5, 4, 6\] do not fit \(…, m, k\), \(…, k, n\)",
    ),
    ("BatchMatMul", [(2, 3, 4), (2, 5, 6)], "do not fit"),
    ("BatchMatMul", [(4,), (4, 6)], "do not fit"),
    ("MatMul", [(3, -1), (4, 6), (6,)], [[3, 6]]),
    ("MatMul", [(3, 4), None], [[3, -1]]),
    ("MatMul", [(3, 4), (4, 6), (5,)], "do not fit"),
    ("MatMul", [(2, 3, 4), (4, 6)], "do not fit"),
    ("SoftmaxCrossEntropyWithLogits", [(4, 1), (1, 6)], [[4], [4, 6]]),
    ("SoftmaxCrossEntropyWithLogits", [(4, 5), (4, 6)], "do not fit"),
    ("BatchNormGradV3", [(2, 3, 5), (2, -1, 5), *[(3,)] * 5], [[2, 3, 5], [3], [3]]),
    ("BatchNormGradV3", [(2, 3), (2, 3, 5), *[(3,)] * 5], "do not fit"),
    ("RmsNorm", [(4, -1, 6), (5, -1)], [[4, 5, 6], [4, 1, 1]]),
    ("RmsNorm", [(4, 6), (5,)], r"shape \[5\] beside \[4, 6\], expected \(\*n, k\)"),
    ("RmsNorm", [(-1, 6), (5,)], r"\[-1, 6\] and float32\[5\] do not fit \(\*b, \*n, k\), \(\*n, k\)"),
)


@pytest.mark.parametrize(("of", "given", "found"), SHAPES)
def test_shapes_are_matched_by_name(of: str, given: list[tuple[int, ...] | None], found: Any) -> None:
    made = Node(of, *(torch.zeros([max(size, 1) for size in one or ()]) for one in given))
    for tensor, shape in zip(made.given, given, strict=False):
        tensor.data, tensor.rank = None, -1 if shape is None else len(shape)
        tensor.dims[: len(shape or ())] = list(shape or ())
    if isinstance(found, str):
        with pytest.raises(Refused, match=found):
            made.infer()
    else:
        assert [shape for _, shape in made.infer()] == found


# ---- attributes ------------------------------------------------------------------------------------------------------
def glu(name: str, kind: int, **value: Any) -> list[tuple[int, list[int] | None]]:
    made = Node("GLU", torch.zeros(6, 4), dim=0)
    made.attrs[0] = interfaces._GeAttr(name=name.encode(), kind=kind, **value)
    return made.infer()


def test_an_attribute_is_known_by_name_and_kind() -> None:
    assert glu("dim", 0, i=0) == [(0, [3, 4])]
    assert glu("_op_exec_never_timeout", 2, i=1) == [(0, [6, 2])]  # the engine's own
    for kind, said, value in ((1, "Float", {"f": 1.0}), (3, "String", {"s": b"1"}), (2, "Bool", {"i": 1})):
        with pytest.raises(Refused, match=f"its attribute 'dim' is {said}, it has to be Int"):
            glu("dim", kind, **value)
    with pytest.raises(Refused, match=r"it is given an attribute 'dimm'; it has dim \(Int\)"):
        glu("dimm", 0, i=0)


of_this_wheel = pytest.mark.torch_npu("2.13", "its torchair has other operators")


@functools.cache
def prototypes() -> dict[str, str]:
    """Those of the installed torchair, by type."""
    text = "".join((SOURCES / name).read_text() for name in ("auto_generated_ge_raw_ops.py", "ge_apis.py"))
    return dict(re.findall(r'"""REG_OP\((\w+)\)(.*?)"""', text, re.S))


@of_this_wheel
def test_prototypes_have_torchairs_attributes() -> None:
    """What torchair writes to a node is known by this name and in this kind."""
    fields = {
        "i": "Int",
        "f": "Float",
        "b": "Bool",
        "s": "String",
        "dt": "Type",
        "list.i": "ListInt",
        "list.f": "ListFloat",
    }
    wrong, there = [], {*interfaces.types()}
    for body in re.split(r"^def ", (SOURCES / "auto_generated_ge_raw_ops.py").read_text(), flags=re.M):
        named = re.search(r'op\.type = "(\w+)"', body)
        if not named or named[1] not in there:
            continue
        kinds = interfaces.prototype(named[1])[2]
        for name, field in re.findall(r'op\.attr\["([a-zA-Z]\w*)"\]\.(list\.\w|\w+)', body):
            if field in fields and kinds.get(name) != fields[field]:
                wrong.append(f"{named[1]}: torchair writes {name} as {fields[field]}, the table has {kinds.get(name)}")
    assert not wrong, "\n".join(wrong)


# ---- through torchair ------------------------------------------------------------------------------------------------
IN_GRAPHS = {
    "swiglu_backward": (torch.ops.npu.npu_swiglu_backward, "real(4, 8), real(4, 16), -1"),
    "replication_pad1d": (torch.ops.aten.replication_pad1d, "real(2, 3, 5), [1, 2]"),
    "scatter_update": (torch.ops.npu.scatter_update, "real(3, 6, 4), int64(0, 4, 2), real(3, 2, 4), 1"),
    "masked_softmax": (
        torch.ops.npu.npu_masked_softmax_with_rel_pos_bias,
        "real(1, 2, 3, 4, 4), real(1, 2, 1, 4, 4), real(1, 1, 3, 4, 4), 0.5, 0",
    ),
    "init_routing": (
        torch.ops.npu.npu_moe_init_routing, "real(5, 4), torch.arange(10).int().view(5, 2), whole(5, 2).int(), 3"
    ),
    "finalize_routing": (
        torch.ops.npu.npu_moe_finalize_routing,
        "real(4, 4), real(2, 4), real(2, 4), real(3, 4), real(2, 2), int32(3, 1, 2, 0), whole(2, 2, below=3).int()",
    ),
    "finalize_routing_v2": (
        torch.ops.npu.npu_moe_finalize_routing, "real(4, 4), None, None, None, None, int32(3, 1, 2, 0), None, 2, 2"
    ),
    "gating": (lambda *given: torch.ops.npu.npu_moe_gating_top_k(*given)[:2], "real(5, 8), 2"),
    "dynamic_quant": (torch.ops.npu.npu_dynamic_quant, "real(4, 8)"),
}  # fmt: skip


@pytest.mark.parametrize("name", IN_GRAPHS)
def test_graphs_equal_eager_mode(name: str) -> None:
    op, arguments = IN_GRAPHS[name]
    made = eval(f"[{arguments}]", {**test_pairs.tensors(torch.float16), "torch": torch})
    given = [one.npu() if isinstance(one, torch.Tensor) else one for one in made]
    torch._dynamo.reset()
    compiled = torch.compile(lambda *inputs: op(*inputs), backend=torchair.get_npu_backend(), dynamic=False)
    torch.testing.assert_close(compiled(*given), op(*given))


def test_transforms_of_the_last_dimensions() -> None:
    """By the table: torchair's own converter of them permutes real parts by too few axes."""
    x = torch.complex(torch.randn(3, 4, 6), torch.randn(3, 4, 6))
    torch.testing.assert_close(interfaces.graph("FFT", x)[0], torch.fft.fft(x))
    torch.testing.assert_close(interfaces.graph("FFT2D", x)[0], torch.fft.fft2(x))


@of_this_wheel
def test_the_epsilon_of_group_norm_with_silu_is_the_converters_as_docs_results_says() -> None:
    x = (1e-2 * torch.randn(2, 4, 6)).npu()  # small: epsilon matters

    def norm(epsilon: float | None) -> Any:
        given = () if epsilon is None else (epsilon,)
        return lambda x: torch_npu.npu_group_norm_silu(x, None, None, 2, *given)[0]

    def in_graph(epsilon: float | None) -> torch.Tensor:
        torch._dynamo.reset()
        return torch.compile(norm(epsilon), backend=torchair.get_npu_backend(), dynamic=False)(x)

    torch.testing.assert_close(norm(None)(x), norm(1e-5)(x))
    for epsilon in (None, 1e-5, 1e-4):  # a value that equals the default does not reach the converter
        torch.testing.assert_close(in_graph(epsilon), norm(1e-4)(x))
    torch.testing.assert_close(in_graph(2e-5), norm(2e-5)(x))
    assert not torch.allclose(norm(1e-5)(x), norm(1e-4)(x))


@of_this_wheel
def test_transforms_do_not_compile_as_docs_results_says() -> None:
    torch._dynamo.reset()
    compiled = torch.compile(torch.fft.fft2, backend=torchair.get_npu_backend(), dynamic=False)
    with pytest.raises(RuntimeError, match=r"its permutation has 3 axes, its input is float32\[3, 4, 6, 2\]"):
        compiled(torch.complex(torch.randn(3, 4, 6), torch.randn(3, 4, 6)).npu())


@pytest.mark.parametrize("contiguous", [True, False])
@pytest.mark.parametrize("mode", ["constant", "reflect", "symmetric", "edge", "circular"])
def test_paddings(mode: str, contiguous: bool) -> None:
    x, pads = torch.arange(20.0).view(4, 5), [1, 2, 3, 0]
    numpys: Any = {"circular": "wrap"}.get(mode, mode)
    want = torch.from_numpy(np.pad(x.numpy(), [(1, 2), (3, 0)], numpys))
    paddings = torch.tensor(pads if contiguous else pads[::2] + pads[1::2])
    assert torch.equal(interfaces.graph("PadV3", x, paddings, mode=mode, paddings_contiguous=contiguous)[0], want)
    if mode in ("reflect", "symmetric"):
        assert torch.equal(interfaces.graph("MirrorPad", x, torch.tensor(pads), mode=mode.upper())[0], want)


def test_a_padding_by_another_mode_is_refused() -> None:
    with pytest.raises(Refused, match="mode 'wrap'; allowed: constant, reflect"):
        interfaces.graph("PadV3", torch.ones(3), torch.tensor([1, 1]), mode="wrap")


# ---- what torchair's converters ask for -----------------------------------------------------------------------------
@of_this_wheel
def test_the_table_has_all_that_converters_ask_for() -> None:
    sources = [path.read_text() for path in (SOURCES / "ge_converter").rglob("*.py")]
    asked = {of for text in sources for of in re.findall(r"\bge\.([A-Z]\w+)\(", text) if of in prototypes()}
    asked |= {of for text in sources for of in re.findall(r'\bop_type="([A-Z]\w+)"', text)}
    assert len(asked) > 350 and not asked - {*interfaces.types(), "Const"}
