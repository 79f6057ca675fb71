"""What torch_npu runs by type in the compile mode that asks for it, ``jit_compile=True``: the same as on the CPU."""

from __future__ import annotations

import colorsys
import ctypes
import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any

import interfaces
import pytest
import torch
import torch_npu
from torch.nn import functional as F

# The types that must run, the tensors of a call, and the call. What the CPU does not have is compared with itself in
# the other compile mode. `f`: float32, `h`: float16, `i`: from 0 to 4.
CALLS = """
NonZero | x=f(3, 4).relu() | x.nonzero()
NonZero | x=f(()) | x.nonzero()
NonZero | x=f(3, 4) > 9 | x.nonzero()
NonZero | x=f(3, 4).relu() | x.nonzero(as_tuple=True)
NonZero | x=f(3, 4) > 0 | torch.where(x)
NonZero | x=f(4, 3), m=f(4) > 0 | x[m]
MaskedSelect | x=f(3, 4), m=f(3, 4) > 0 | x.masked_select(m)
MaskedSelect | x=f(3, 4), m=f(4) > 0 | x.masked_select(m)
MaskedSelect | x=i(3, 4), m=f(3, 4) > 9 | x.masked_select(m)
MaskedScatter | x=f(3, 4), m=f(4) > 0, s=f(20) | x.masked_scatter(m, s)
UniqueWithCountsAndSorting | x=i(3, 4) | torch.unique(x)
UniqueWithCountsAndSorting | x=i(3, 4) | torch.unique(x, return_inverse=True, return_counts=True)
UniqueWithCountsAndSorting | x=i(3, 4) | torch.unique(x, return_inverse=True)
UniqueWithCountsAndSorting | x=i(3, 4) | torch.unique(x, return_counts=True)
UniqueWithCountsAndSorting | x=h(3, 4).round() | torch.unique(x, return_counts=True)
UniqueConsecutive | x=i(12).sort().values | torch.unique_consecutive(x, return_inverse=True, return_counts=True)
UniqueConsecutive | x=i(12).sort().values | torch.unique_consecutive(x)
UniqueConsecutive | x=i(6, 2) // 2 | torch.unique_consecutive(x, return_counts=True, dim=0)
UniqueWithCountsExt2 | x=i(6, 2) // 2 | torch.unique(x, return_inverse=True, return_counts=True, dim=0)
IndexPutV2 | x=f(5, 4), k=i(3), v=f(3, 4) | x.index_put_((k,), v)
IndexPutV2 | x=f(5, 4), k=torch.tensor([1, 1, 3]), v=f(3, 4) | x.index_put_((k,), v, accumulate=True)
IndexPutV2 | x=f(5, 4, 6), k=torch.tensor([1, 0, 3]), v=f(5, 3, 6) | put(x, (slice(None), k), v)
IndexPutV2 | x=h(5, 4), k=torch.tensor([1, 0, 3]), v=h(3) | put(x, (k, k), v)
IndexPutV2 | x=f(5, 4), m=f(5, 4) > 0 | put(x, m, 2.0)
BinaryCrossEntropy, BinaryCrossEntropyGrad | x=f(3, 4).sigmoid(), y=f(3, 4).sigmoid() | grads(lambda x: F.binary_cross_entropy(x, y), x)
BinaryCrossEntropy, BinaryCrossEntropyGrad | x=f(3, 4).sigmoid(), y=f(3, 4).sigmoid(), w=f(3, 4).abs() | grads(lambda x: F.binary_cross_entropy(x, y, w, reduction="none"), x)
SigmoidCrossEntropyWithLogitsV2 | x=f(3, 4), y=f(3, 4).sigmoid(), w=f(3, 4).abs(), p=f(3, 4).abs() | F.binary_cross_entropy_with_logits(x, y, w, pos_weight=p)
SigmoidCrossEntropyWithLogitsV2 | x=f(3, 4), y=f(3, 4).sigmoid() | F.binary_cross_entropy_with_logits(x, y, reduction="none")
SmoothL1LossV2, SmoothL1LossGradV2 | x=f(3, 4), y=f(3, 4) | grads(lambda x: F.smooth_l1_loss(x, y, beta=0.5), x)
SmoothL1LossV2, SmoothL1LossGradV2 | x=f(3, 4), y=f(3, 4) | grads(lambda x: F.smooth_l1_loss(x, y, reduction="sum"), x)
KLDiv, KlDivLossGrad | x=f(3, 4).log_softmax(1), y=f(3, 4).softmax(1) | grads(lambda x: F.kl_div(x, y, reduction="batchmean"), x)
KLDiv, KlDivLossGrad | x=f(3, 4).log_softmax(1), y=f(3, 4).softmax(1) | grads(lambda x: F.kl_div(x, y, reduction="sum"), x)
KLDiv, KlDivLossGrad | x=f(3, 4).log_softmax(1), y=f(3, 4).softmax(1) | grads(lambda x: F.kl_div(x, y, reduction="none"), x)
KLDiv, KlDivLossGrad | x=f(3, 4).log_softmax(1), y=f(3, 4).log_softmax(1) | grads(lambda x: torch.kl_div(x, y, 1, log_target=True), x)
LpLoss, L1LossGrad | x=f(3, 4), y=f(3, 4) | grads(lambda x: F.l1_loss(x, y), x)
LpLoss, L1LossGrad | x=f(3, 4), y=f(3, 4) | grads(lambda x: F.l1_loss(x, y, reduction="none"), x)
SoftMarginLoss, SoftMarginLossGrad | x=f(3, 4), y=f(3, 4).sign() | grads(lambda x: F.soft_margin_loss(x, y), x)
MultilabelMarginLoss | x=f(2, 4), y=torch.tensor([[3, 0, -1, 1], [1, -1, 2, 0]]) | F.multilabel_margin_loss(x, y)
LayerNorm, LayerNormGrad | x=9 * f(3, 4, 6), w=f(6), b=f(6) | grads(lambda x, w, b: F.layer_norm(x, (6,), w, b), x, w, b)
LayerNorm | x=f(3, 4, 6) | F.layer_norm(x, (4, 6))
LayerNormV3 | x=f(3, 4, 6), w=f(6), b=f(6) | torch_npu.npu_layer_norm_eval(x, (6,), w, b)
GroupNormSwish | x=f(2, 6, 3, 4), w=f(6), b=f(6) | F.group_norm(x, 3, w, b)
CeluV2 | x=f(3, 4) | F.celu(x, 0.5)
SoftShrink, SoftShrinkGrad | x=f(3, 4) | grads(lambda x: F.softshrink(x, 0.25), x)
ThresholdV2D | x=f(3, 4) | F.threshold(x, 0.25, 3.0)
SiluGrad | x=f(3, 4) | grads(F.silu, x)
Roll | x=f(3, 4) | x.roll((1, -1), (0, 1))
Roll | x=f(3, 4) | x.roll(5)
Renorm | x=f(3, 4) | x.renorm(1.5, 1, 0.5)
Cummax | x=f(3, 4) | torch.cummax(x, 1)
Cummin | x=f(3, 4) | torch.cummin(x, 0)
TensorEqual | x=f(3, 4) | torch.tensor([torch.equal(x, x), torch.equal(x, x + 1)])
IsClose | x=f(3, 4), y=f(3, 4) | torch.isclose(x, y, rtol=0.5, atol=0.25)
Im2col | x=f(2, 3, 5, 6) | F.unfold(x, (2, 3), padding=1, stride=(2, 1))
Col2im | x=f(2, 18, 24) | F.fold(x, (5, 6), (2, 3), padding=(0, 1))
DepthwiseConv2D | x=f(2, 3, 6, 7), w=f(3, 1, 3, 3) | depthwise(x, w)
AvgPool3D, AvgPool3DGrad | x=f(2, 3, 4, 6, 8) | grads(lambda x: F.avg_pool3d(x, 2), x)
AvgPool3D, AvgPool3DGrad | x=f(2, 3, 4, 6, 8) | grads(lambda x: F.avg_pool3d(x, (2, 3, 2), (1, 2, 2), 1, count_include_pad=False), x)
MaxPool3D, MaxPool3DGrad | x=f(2, 3, 4, 6, 8) | grads(lambda x: F.max_pool3d(x, (2, 3, 2), (1, 2, 2), 1), x)
MaxPool3D | x=f(2, 3, 5, 6, 7) | F.max_pool3d(x, 2, 2, ceil_mode=True)
UpsampleNearest3d, UpsampleNearest3dGrad | x=f(1, 2, 3, 4, 5) | grads(lambda x: F.interpolate(x, (4, 6, 9)), x)
UpsampleTrilinear3d, UpsampleTrilinear3dGrad | x=f(1, 2, 3, 4, 5) | grads(lambda x: F.interpolate(x, (4, 6, 9), mode="trilinear"), x)
UpsampleTrilinear3d | x=f(1, 2, 3, 4, 5) | F.interpolate(x, (4, 6, 9), mode="trilinear", align_corners=True)
ResizeBilinearV2, ResizeBilinearV2Grad | x=f(1, 2, 4, 5) | grads(lambda x: F.interpolate(x, (6, 9), mode="bilinear"), x)
ResizeBilinearV2 | x=f(1, 2, 4, 5) | F.interpolate(x, (6, 9), mode="bilinear", align_corners=True)
ResizeD | x=f(1, 2, 4, 5) | F.interpolate(x, (6, 9), mode="bicubic")
ResizeD | x=f(1, 2, 4, 5) | F.interpolate(x, (6, 9), mode="bicubic", align_corners=True)
ResizeGradD | x=f(1, 2, 4, 5) | grads(lambda x: F.interpolate(x, (6, 9), mode="bicubic"), x)
ResizeD | x=f(1, 2, 5) | F.interpolate(x, 9, mode="linear")
ReduceMeanD | x=f(3, 4) | torch.std_mean(x, 1)
ReduceMeanD | x=f(3, 4) | x.std((0, 1))
RangeD | d=f(()) | torch.range(1, 9, 2, device=d.device)
RangeD | d=f(()) | torch.range(0.5, 2, 0.25, device=d.device)
Eye | d=f(()) | torch.eye(3, 4, device=d.device)
Eye | d=f(()) | torch.eye(3, dtype=torch.int32, device=d.device)
Trace | x=f(4, 4) | x.trace()
Dot | x=f(4), y=f(4) | x.dot(y)
Cross | x=f(4, 3), y=f(4, 3) | torch.linalg.cross(x, y)
Cdist | x=f(4, 3), y=f(5, 3) | torch.cdist(x, y, 1.5)
Pdist | x=f(4, 3) | F.pdist(x, 1.5)
Bincount | x=i(12) | torch.bincount(x)
Bincount | x=i(12), w=f(12) | torch.bincount(x, w, 20)
Histogram | x=f(40) | torch.histc(x, 8, -1, 1)
LogAddExp | x=f(3, 4), y=f(4) | torch.logaddexp(x, y)
LogAddExp | x=f(3, 4), y=f(4) | torch.logaddexp2(x, y)
LeftShift | x=i(3, 4), y=i(3, 4) | x << y
LogSpaceD | d=f(()) | torch.logspace(0, 2, 5, device=d.device)
Qr | x=f(5, 3) | torch.linalg.qr(x)[1].abs()
FillDiagonal | x=f(5, 3) | x.clone().fill_diagonal_(2.5)
IndexFillD | x=f(5, 3), k=torch.tensor([0, 2]) | x.index_fill(0, k, 2.5)
ScatterNdAdd | x=f(5, 3), k=torch.tensor([0, 2, 2]), v=f(3) | x.put_(k, v, accumulate=True)
GatherV2D, Renorm, ScatterUpdate | x=f(5, 3), k=torch.tensor([0, 2]) | torch.embedding_renorm_(x, k, 0.5, 2.0)
AffineGrid | x=f(2, 2, 3) | F.affine_grid(x, (2, 3, 4, 5), align_corners=False)
BNTrainingReduce | x=f(3, 4, 5, 2) | torch_npu.batch_norm_reduce(x, 1e-5)
ShuffleChannel | x=f(2, 6, 3, 4) | torch.channel_shuffle(x, 3)
AddLayerNorm | x=f(3, 4), y=f(3, 4), w=f(4), b=f(4) | torch_npu.npu_add_layer_norm(x, y, w, b, 1e-5, True)
DeepNorm | x=f(3, 4), y=f(3, 4), w=f(4), b=f(4) | torch_npu.npu_deep_norm(x, y, b, w)
ScaledMaskedSoftmax, ScaledMaskedSoftmaxGrad | x=h(2, 3, 32, 32), m=f(2, 1, 32, 32) > 0 | grads(lambda x, m: torch_npu.npu_scaled_masked_softmax(x, m, 0.5, False), x, m)
BNTrainingReduce, BNTrainingUpdate | x=f(4, 3, 5, 2), w=f(3), b=f(3), m=f(3), v=f(3).abs() | [grads(lambda x, w, b: F.batch_norm(x, m, v, w, b, training=True), x, w, b), m, v]
BN3DTrainingReduce, BN3DTrainingUpdate, BN3DTrainingReduceGrad | x=f(4, 3, 5, 2, 2), w=f(3), b=f(3), m=f(3), v=f(3).abs() | [grads(lambda x, w, b: F.batch_norm(x, m, v, w, b, training=True), x, w, b), m, v]
ReduceMeanWithCount, SyncBatchNormGatherStatsWithCounts, SyncBNTrainingUpdate | x=f(4, 3, 2, 2), s=f(2, 3), r=f(2, 3).abs(), m=f(3), v=f(3).abs(), n=torch.tensor([9.0, 12.0]) | [*torch.batch_norm_gather_stats_with_counts(x, s, r, m, v, 0.1, 1e-5, n), m, v]
Index | x=f(5, 4, 6), k=torch.tensor([1, 0, 3]) | x[k]
Index | x=f(5, 4, 6), k=torch.tensor([[1, 0], [3, 2]]) | x[:, k, k]
Index | x=f(5, 4, 6), k=torch.tensor([1, 0, 3]) | x[k, :, k]
SoftplusV2Grad | x=f(3, 4) | grads(lambda x: F.softplus(x, 2.0, 1.0), x)
ReduceStdV2Update | x=f(3, 4) | x.var(1)
ReduceStdV2Update | x=f(3, 4) | torch.var_mean(x, (0, 1), correction=0)
RepeatInterleave | x=f(3, 4) | x.repeat_interleave(2, 1)
RepeatInterleave | x=f(3, 4), k=torch.tensor([1, 0, 3]) | x.repeat_interleave(k, 0)
GridSampler3DGrad | x=f(1, 2, 3, 4, 5), g=f(1, 2, 3, 2, 3) / 2 | grads(lambda x, g: F.grid_sample(x, g, align_corners=False), x, g)
MatrixTriangularSolve | x=f(2, 3, 3).tril() + 3 * torch.eye(3), b=f(2, 3, 2) | torch.triangular_solve(b, x, upper=False)[0]
Svd | x=f(3, 4) | torch.linalg.svdvals(x)
ArgMaxGrad | x=f(3, 4), k=torch.tensor([0, 2, 1], dtype=torch.int32), u=f(3) | torch_npu.npu_scatter(x, k, u, 1)
"""  # noqa: E501
NOT_OF_THE_CPU = ("torch_npu.", "gather_stats")

# Types that no call of torch leads to in this version: as a node's arguments, the tensors, and what they have to give.
NODES = """
Selu(x) | x=f(3, 4) | F.selu(x)
SeluGrad(g, F.selu(x)) | g=f(3, 4), x=f(3, 4) | back(F.selu, g, x)
Diag(x, diagonal=-1) | x=f(4) | torch.diag(x, -1)
DiagPart(x, diagonal=1) | x=f(3, 4) | torch.diag(x, 1)
LogMatrixDeterminant(x) | x=f(2, 4, 4) | torch.linalg.slogdet(x)
MatrixInverse(x) | x=f(2, 4, 4) + 4 * torch.eye(4) | torch.linalg.inv(x)
SigmoidCrossEntropyWithLogitsGradV2(x, y, g, w, p) | x=f(3, 4), y=f(3, 4).sigmoid(), g=f(()), w=f(3, 4).abs(), p=f(4).abs() | back(lambda x: F.binary_cross_entropy_with_logits(x, y, w, pos_weight=p), g, x)
DepthwiseConv2DBackpropInput(s, w.transpose(0, 1).contiguous(), g, strides=[1, 1, 2, 2], pads=[1, 1, 0, 0], data_format="NCHW") | s=torch.tensor([2, 3, 6, 7]), x=f(2, 3, 6, 7), w=f(3, 1, 3, 3), g=f(2, 3, 3, 3) | back(lambda x: F.conv2d(x, w, None, 2, (1, 0), groups=3), g, x)
AddLayerNormGrad(g, x, y, r, m, w) | x=f(3, 4), y=f(3, 4), w=f(4), g=f(3, 4), m=f(3, 1), r=f(3, 1) | added(g, x + y, m, r, w)
ArgMaxGrad(x, k, u, dimension=0) | x=f(3, 4), k=torch.tensor([0, 2, 1, 1], dtype=torch.int32), u=f(4) | x.scatter(0, k[None].long(), u[None])
BiasAdd(x, b) | x=f(2, 4, 5, 3), b=f(3) | x + b
BiasAdd(x, b, data_format="NCDHW") | x=h(2, 3, 4, 5, 2), b=h(3) | x + b.view(3, 1, 1, 1)
Relu6(x) | x=4 * f(3, 4) | F.relu6(x)
Relu6(x) | x=3 * i(3, 4).int() | F.relu6(x)
Relu6Grad(g, x) | g=f(3, 4), x=4 * f(3, 4) | back(F.relu6, g, x)
ReduceStd(x, dim=[1], keepdim=True) | x=f(3, 4) | torch.std_mean(x, 1, keepdim=True)
ReduceStd(x, unbiased=False) | x=f(3, 4) | torch.std_mean(x, correction=0)
LpNorm(x, p=3, axes=[0]) | x=f(3, 4) | x.norm(3, 0)
LpNorm(x, p=2147483647, keepdim=True) | x=f(3, 4) | x.abs().amax((0, 1), keepdim=True)
L2Loss(x) | x=f(3, 4) | (x * x).sum() / 2
L2Normalize(x, axis=[1]) | x=f(3, 4) | F.normalize(x, dim=1)
L2Normalize(x, axis=[0], eps=9.0) | x=f(3, 4) | x / (x * x).sum(0).clamp_min(9).sqrt()
L2NormalizeGrad(x, F.normalize(x, dim=1), g, dim=[1]) | x=f(3, 4), g=f(3, 4) | back(lambda x: F.normalize(x, dim=1), g, x)
SigmoidCrossEntropyWithLogits(x, y) | x=f(3, 4), y=f(3, 4).sigmoid() | F.binary_cross_entropy_with_logits(x, y, reduction="none")
SigmoidCrossEntropyWithLogitsGrad(x, y, g) | x=f(3, 4), y=f(3, 4).sigmoid(), g=f(3, 4) | back(lambda x: F.binary_cross_entropy_with_logits(x, y, reduction="none"), g, x)
SparseSoftmaxCrossEntropyWithLogits(x, k) | x=f(3, 4), k=torch.tensor([0, 3, 1]) | (F.cross_entropy(x, k, reduction="none"), x.softmax(1) - F.one_hot(k, 4))
Cumprod(x, torch.tensor([1]), exclusive=True) | x=f(3, 4) | torch.cat([torch.ones(3, 1), x[:, :-1].cumprod(1)], 1)
Cumprod(x, torch.tensor([0]), reverse=True) | x=f(3, 4) | x.flip(0).cumprod(0).flip(0)
CumprodD(x, axis=-1, exclusive=True, reverse=True) | x=f(3, 4) | torch.cat([x[:, 1:].flip(1).cumprod(1).flip(1), torch.ones(3, 1)], 1)
CumsumD(x, axis=0, reverse=True) | x=f(3, 4) | x.flip(0).cumsum(0).flip(0)
ParallelConcat([x, y], shape=[2, 4], N=2) | x=f(1, 4), y=f(1, 4) | torch.cat([x, y])
Concat(k, [x, y], N=2) | k=torch.tensor(1), x=f(3, 4), y=f(3, 2) | torch.cat([x, y], 1)
DataFormatDimMap(x) | x=torch.tensor([0, 1, 2, 3, -1], dtype=torch.int32) | torch.tensor([0, 2, 3, 1, 1], dtype=torch.int32)
DataFormatVecPermute(x) | x=torch.tensor([[1, 2], [3, 4], [5, 6], [7, 8]]) | x[[0, 3, 1, 2]]
DataFormatVecPermute(x, src_format="NHWC", dst_format="CNWH") | x=torch.tensor([5, 6]) | torch.tensor([6, 5])
ConfusionMatrix(x, y, num_classes=4, dtype="int32") | x=torch.tensor([0, 1, 1, 3]).int(), y=torch.tensor([1, 2, 1, 3]).int() | torch.tensor([[0, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 0], [0, 0, 0, 1]]).int()
ConfusionMatrix(x, x, w, num_classes=2, dtype="float32") | x=torch.tensor([0, 1, 1, 0]).int(), w=f(4) | torch.diag(torch.stack([w[0] + w[3], w[1] + w[2]]))
HistogramFixedWidth(x, torch.tensor([0.0, 5]), torch.tensor(5, dtype=torch.int32)) | x=torch.tensor([-1.0, 0, 1.5, 2, 5, 15]) | torch.tensor([2, 1, 1, 0, 2]).int()
HistogramFixedWidthD(x, torch.tensor([-2.0, 2]), nbins=8) | x=f(9, 9).clamp(-2, 1.999) | torch.histc(x, 8, -2, 2).int()
CheckValid(x, torch.tensor([2.0, 1, 3])) | x=torch.linspace(0, 6, 12).view(3, 4) | torch.tensor([1, 0, 0]).to(torch.int8)
ResizeBilinearV2(x, torch.tensor([4, 3], dtype=torch.int32)) | x=f(1, 2, 4, 9) | x[..., ::3]
ResizeBilinearV2(x, torch.tensor([1, 4], dtype=torch.int32)) | x=f(1, 2, 1, 2) | torch.stack([x[..., 0], x.mean(3), x[..., 1], x[..., 1]], 3)
ResizeBilinearV2Grad(g, x) | g=f(1, 2, 1, 4), x=f(1, 2, 1, 2) | torch.stack([g[..., 0] + g[..., 1] / 2, g[..., 1] / 2 + g[..., 2] + g[..., 3]], 3)
ResizeArea(x, torch.tensor([2, 3], dtype=torch.int32)) | x=f(2, 4, 9, 3) | F.avg_pool2d(x.movedim(3, 1), (2, 3)).movedim(1, 3)
ResizeArea(x, torch.tensor([2, 2], dtype=torch.int32)) | x=f(1, 3, 2, 1) | torch.stack([(2 * x[:, 0] + x[:, 1]) / 3, (x[:, 1] + 2 * x[:, 2]) / 3], 1)
ScaleAndTranslate(x, torch.tensor([4, 4], dtype=torch.int32), torch.ones(2), torch.tensor([1.0, 1]), kernel_type="triangle") | x=f(1, 3, 3, 2) | F.pad(x, (0, 0, 1, 0, 1, 0))
ScaleAndTranslate(x, torch.tensor([2, 2], dtype=torch.int32), torch.ones(2), torch.ones(2)) | x=torch.tensor([9.0, 5, 2, 1, 6, 1, 9, 7]).view(1, 2, 4, 1) | torch.tensor([0.0, 0, 0, 9]).view(1, 2, 2, 1)
ScaleAndTranslate(x, torch.tensor([3, 3], dtype=torch.int32), torch.tensor([0.5, 0.5]), torch.zeros(2), kernel_type="triangle") | x=f(1, 6, 6, 2) | F.interpolate(x.movedim(3, 1), (3, 3), mode="bilinear", antialias=True).movedim(1, 3)
ScaleAndTranslateGrad(g, x, torch.tensor([0.5, 0.5]), torch.zeros(2), kernel_type="triangle") | g=f(1, 3, 3, 2), x=f(1, 6, 6, 2) | back(lambda x: F.interpolate(x.movedim(3, 1), (3, 3), mode="bilinear", antialias=True).movedim(1, 3), g, x)
RGBToHSV(x) | x=f(4, 5, 3).sigmoid() | hsv(x)
AdjustHue(x, torch.tensor(0.7)) | x=f(4, 5, 3).sigmoid() | rgb((hsv(x) + torch.tensor([0.7, 0, 0])) % 1.0)
AdjustSaturation(x, torch.tensor(1.7)) | x=f(4, 5, 3).sigmoid() | rgb((hsv(x) * torch.tensor([1, 1.7, 1])).clamp(0, 1))
CTCLoss(x, k, v, t) | x=f(6, 2, 5), k=torch.tensor([[0, 0], [0, 1], [1, 0]]), v=torch.tensor([1, 1, 3]).int(), t=torch.tensor([6, 4]).int() | ctc(x, torch.tensor([[1, 1], [3, 0]]), t, [2, 1])
CTCLoss(x, k, v, t, preprocess_collapse_repeated=True) | x=f(6, 2, 5), k=torch.tensor([[0, 0], [0, 1], [1, 0]]), v=torch.tensor([1, 1, 3]).int(), t=torch.tensor([6, 4]).int() | ctc(x, torch.tensor([[1], [3]]), t, [1, 1])
RNNTLoss(x, k, t, n) | x=f(2, 3, 3, 4), k=torch.tensor([[1, 2], [3, 0]]).int(), t=torch.tensor([3, 2]).int(), n=torch.tensor([2, 1]).int() | transducer(x, k, t, n)
SpaceToBatchD(x, block_size=2, paddings=[1, 1, 0, 2]) | x=f(2, 4, 6, 3) | torch.cat([F.pad(x, (0, 0, 0, 2, 1, 1))[:, i::2, j::2] for i in (0, 1) for j in (0, 1)])
SpaceToBatch(x, torch.tensor([[1, 1], [0, 2]]), block_size=2) | x=f(2, 4, 6, 3) | torch.cat([F.pad(x, (0, 0, 0, 2, 1, 1))[:, i::2, j::2] for i in (0, 1) for j in (0, 1)])
SpaceToBatchND(x, torch.tensor([1, 3]), torch.tensor([[0, 0], [1, 2]])) | x=f(2, 4, 6) | torch.cat([F.pad(x, (1, 2))[:, :, j::3] for j in (0, 1, 2)])
SpaceToBatchNDD(x, block_shape=[2], paddings=[0, 0]) | x=f(2, 4, 6) | torch.cat([x[:, ::2], x[:, 1::2]])
BatchToSpaceD(torch.cat([x[:, i::2, j::2] for i in (0, 1) for j in (0, 1)]), block_size=2, crops=[1, 0, 0, 2]) | x=f(2, 4, 6, 3) | x[:, 1:, :-2]
BatchToSpace(torch.cat([x[:, i::2, j::2] for i in (0, 1) for j in (0, 1)]), torch.tensor([[1, 0], [0, 2]]), block_size=2) | x=f(2, 4, 6, 3) | x[:, 1:, :-2]
BatchToSpaceND(torch.cat([x[:, :, j::3] for j in (0, 1, 2)]), torch.tensor([1, 3]), torch.tensor([[0, 1], [1, 2]])) | x=f(2, 4, 6) | x[:, :-1, 1:-2]
BatchToSpaceNDD(torch.cat([x[:, ::2], x[:, 1::2]]), block_shape=[2], crops=[0, 0]) | x=f(2, 4, 6, 2) | x
CheckNumerics(x, message="x") | x=f(3, 4) | x
EditDistance(i, x, torch.tensor([1, 1, 2]), k, y, torch.tensor([2, 2, 2])) | i=torch.tensor([[0, 0, 0], [1, 0, 1], [1, 1, 1]]), x=torch.tensor([1.0, 2, 3]), k=torch.tensor([[0, 1, 0], [0, 0, 1], [1, 1, 0], [1, 0, 1]]), y=torch.tensor([1.0, 3, 2, 1]) | torch.ones(2, 2)
EditDistance(i, x, torch.tensor([3, 7]), k, y, torch.tensor([2, 6]), normalize=False) | i=torch.tensor([[0, j] for j in range(7)] + [[2, 0]]), x=torch.tensor([*b"sitting!"]), k=torch.tensor([[0, j] for j in range(6)] + [[1, 0], [1, 1]]), y=torch.tensor([*b"kitten??"]) | torch.tensor([3.0, 2, 1])
EditDistance(i, x, torch.tensor([2, 7]), k, y, torch.tensor([2, 6])) | i=torch.tensor([[0, j] for j in range(7)] + [[1, 0]]), x=torch.tensor([*b"sitting!"]), k=torch.tensor([[0, j] for j in range(6)]), y=torch.tensor([*b"kitten"]) | torch.tensor([0.5, float("inf")])
"""  # noqa: E501


class _Run(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p)]  # the first member of sim_task_run


_TASK = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Run), ctypes.c_void_p)
_CALL = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_TOOL = 2  # sim_watcher_tool of core/sim.h


class _Observer(ctypes.Structure):
    _fields_ = [("task", _TASK), ("call", _CALL)]


@pytest.fixture(scope="module")
def ran() -> Iterator[list[str]]:
    """The names of the tasks that were run, as they are: those of operators by type are the types."""
    names: list[str] = []
    observer = _Observer(_TASK(lambda run, _: names.append(run.contents.name.decode())), _CALL(lambda _: None))
    core = ctypes.CDLL("libophook_sim_core.so")
    core.sim_observe(_TOOL, ctypes.byref(observer))
    yield names
    core.sim_observe(_TOOL, None)


@pytest.fixture
def by_type() -> Iterator[None]:
    """Backward, too: a thread of autograd keeps the mode that it began with."""
    torch.npu.set_compile_mode(jit_compile=True)
    with torch.autograd.set_multithreading_enabled(False):
        yield
    torch.npu.set_compile_mode(jit_compile=False)


def made(tensors: str) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)

    def real(*sizes: Any) -> torch.Tensor:
        return torch.randn(*sizes, generator=generator)

    def whole(*sizes: int) -> torch.Tensor:
        return torch.randint(0, 5, sizes, generator=generator)

    return eval(f"dict({tensors})", {"f": real, "h": lambda *sizes: real(*sizes).half(), "i": whole, "torch": torch})


def grads(function: Callable[..., torch.Tensor], *tensors: torch.Tensor) -> list[torch.Tensor]:
    """What it gives, and the gradients of the tensors."""
    leaves = [one.requires_grad_(one.is_floating_point()) for one in tensors]
    out = function(*leaves)
    weight = torch.linspace(0.5, 1.5, out.numel()).view(out.shape).to(out)
    return [out, *torch.autograd.grad(out, [one for one in leaves if one.requires_grad], weight)]


def put(x: torch.Tensor, where: Any, value: Any) -> torch.Tensor:
    x[where] = value
    return x


def depthwise(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    if x.device.type == "cpu":  # which has no operator of its own for it
        return F.conv2d(x, w, padding=1, groups=len(w))
    return torch.ops.aten._conv_depthwise2d(x, w, (3, 3), None, (1, 1), (1, 1), (1, 1))


def run(call: str, tensors: str, device: str) -> Any:
    names = {"torch": torch, "torch_npu": torch_npu, "F": F, "grads": grads, "put": put, "depthwise": depthwise}
    given = {name: one.to(device) for name, one in made(tensors).items()}
    out = eval(call, {**names, **given})
    return torch.utils._pytree.tree_map(lambda one: one.detach().cpu(), out)


def calls() -> list[tuple[str, str, str]]:
    return [tuple(part.strip() for part in line.split(" | ")) for line in CALLS.strip().splitlines()]  # type: ignore[misc]


@pytest.mark.filterwarnings("ignore:torch.range is deprecated")
@pytest.mark.parametrize(("types", "tensors", "call"), calls(), ids=[f"{one[0]}-{i}" for i, one in enumerate(calls())])
def test_it_is_what_the_cpu_computes(types: str, tensors: str, call: str, ran: list[str], by_type: None) -> None:
    if any(words in call for words in NOT_OF_THE_CPU):
        torch.npu.set_compile_mode(jit_compile=False)
        expected = run(call, tensors, "npu")
        torch.npu.set_compile_mode(jit_compile=True)
    else:
        expected = run(call, tensors, "cpu")
    ran.clear()
    got = run(call, tensors, "npu")
    # CANN runs nothing whose outputs are all empty (IsAllTensorEmpty in its aclopCompileAndExecute).
    empty = isinstance(got, torch.Tensor) and not got.numel() and types == "NonZero" and "f(())" in tensors
    assert {*types.split(", ")} <= {*ran} or (empty and not ran)
    torch.testing.assert_close(got, expected, rtol=1e-3, atol=1e-4)


def back(function: Callable[..., torch.Tensor], grad: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    leaf = x.clone().requires_grad_()
    return torch.autograd.grad(function(leaf), leaf, grad)[0]


def added(grad: torch.Tensor, total: torch.Tensor, mean: torch.Tensor, rstd: torch.Tensor, w: torch.Tensor) -> Any:
    return torch.ops.aten.native_layer_norm_backward(grad, total, w.shape, mean, rstd, w, w, [True] * 3)


def hsv(x: torch.Tensor) -> torch.Tensor:
    return torch.tensor([colorsys.rgb_to_hsv(*one) for one in x.reshape(-1, 3).tolist()]).view(x.shape)


def rgb(x: torch.Tensor) -> torch.Tensor:
    return torch.tensor([colorsys.hsv_to_rgb(*one) for one in x.reshape(-1, 3).tolist()]).view(x.shape)


def ctc(x: torch.Tensor, labels: torch.Tensor, times: torch.Tensor, lengths: list[int]) -> Any:
    """The last class is the blank."""
    leaf = x.clone().requires_grad_()
    of = F.ctc_loss(leaf.log_softmax(2), labels, times.long(), torch.tensor(lengths), x.shape[2] - 1, reduction="none")
    return of.detach(), torch.autograd.grad(of.sum(), leaf)[0]


def transducer(x: torch.Tensor, labels: torch.Tensor, times: torch.Tensor, lengths: torch.Tensor) -> Any:
    """All paths one by one: at each place a blank, the first class, which takes time, or the next label."""
    leaf = x.clone().requires_grad_()
    chance, losses = leaf.log_softmax(3), []
    for sample, (time, count) in enumerate(zip(times.tolist(), lengths.tolist(), strict=True)):
        paths = []
        for labels_at in itertools.combinations(range(time + count - 1), count):
            t, u, path = 0, 0, torch.tensor(0.0)
            for step in range(time + count):  # the last one is a blank
                label = int(labels[sample, u]) if step in labels_at else 0
                path = path + chance[sample, t, u, label]
                t, u = (t, u + 1) if step in labels_at else (t + 1, u)
            paths.append(path)
        losses.append(-torch.stack(paths).logsumexp(0))
    of = torch.stack(losses)
    return of.detach(), torch.autograd.grad(of.sum(), leaf)[0]


@pytest.mark.parametrize("line", NODES.strip().splitlines(), ids=lambda line: line.partition("(")[0])
def test_a_node_gives_what_torch_does(line: str) -> None:
    call, tensors, wanted = (part.strip() for part in line.split(" | "))
    helpers = {"back": back, "added": added, "hsv": hsv, "rgb": rgb, "ctc": ctc, "transducer": transducer}
    names = {"torch": torch, "F": F, **helpers, **made(tensors)}
    of, _, arguments = call.partition("(")
    given, named = eval(f"(lambda *a, **k: (a, k))({arguments}", names)
    got, expected = interfaces.graph(of, *given, **named), eval(wanted, names)
    expected = list(expected) if isinstance(expected, tuple) else [expected]
    torch.testing.assert_close(got, expected, rtol=1e-3, atol=1e-4)


def test_numbers_that_are_none_are_counted() -> None:
    with pytest.raises(interfaces.Refused, match="of the loss: 2 of 3 numbers are infinite or none"):
        interfaces.graph("CheckNumerics", torch.tensor([1, float("nan"), float("inf")]), message="of the loss")


def test_slices_are_told_with_their_first_places(by_type: None) -> None:
    x = torch.tensor([[2, 2], [1, 3], [2, 2], [1, 1]])
    found = torch.unique(x.npu(), return_inverse=True, return_counts=True, dim=0)
    for one, other in zip(found, torch.unique(x, return_inverse=True, return_counts=True, dim=0), strict=True):
        torch.testing.assert_close(one.cpu(), other)


@pytest.mark.parametrize("tensor", ["f(3, 4)", "i(3, 4)", "f(40, 40)", "f(5) > 0", "torch.tensor([1.0, float('nan')])"])
def test_it_prints_as_on_the_cpu(tensor: str, ran: list[str], by_type: None) -> None:
    x = made(f"x={tensor}")["x"]
    ran.clear()
    assert re.sub(r",\s+device='npu:0'", "", repr(x.npu())) == repr(x)
    assert {"NonZero", "MaskedSelect"} & {*ran} or not x.is_floating_point()
