"""Products of groups of rows that add up or go through SwiGLU, the choice of experts backwards: against float64."""

from __future__ import annotations

import pytest
import torch
import torch_npu
from interfaces import Tiles, aclnn
from values import close, gradients, real, steps_close, whole


@pytest.fixture
def in_blocks():
    """Weights in FRACTAL_NZ, which torch_npu makes only where this is set."""
    before, torch.npu.config.allow_internal_format = torch_npu._C._npu_getOption("ALLOW_INTERNAL_FORMAT"), True
    yield lambda weight: torch_npu.npu_format_cast(weight.npu(), 29)
    torch.npu.config.allow_internal_format = before == b"enable"


@pytest.mark.parametrize(("dtype", "kind"), [(torch.float16, 0), (torch.bfloat16, 0), (torch.float16, 1)], ids=str)
def test_grouped_matmul_add(dtype: torch.dtype, kind: int) -> None:
    sizes, m, n = [3, 0, 7], 5, 4
    x, weight, y = real(12, m, dtype=dtype), real(12, n, seed=1, dtype=dtype), real(3, m, n, seed=2)
    counts = torch.tensor(sizes)
    ends = [0, 3, 3, 10]
    want = torch.stack(
        [
            y[i].double() + x[ends[i] : ends[i + 1]].double().t() @ weight[ends[i] : ends[i + 1]].double()
            for i in range(3)
        ]
    )
    if kind:  # torch_npu passes it on an Ascend950 only
        aclnn("aclnnGroupedMatmulAddV2", x, weight, counts, y, True, False, 2, kind)
        return close(y, want)
    groups = counts.cumsum(0).npu()
    got = torch_npu.npu_grouped_matmul_add(y.npu(), x.npu(), weight.npu(), groups)
    close(got.cpu(), want)
    on_npu = y.npu()
    torch_npu.npu_grouped_matmul_add_(on_npu, x.npu(), weight.npu(), groups)
    close(on_npu.cpu(), want)
    with pytest.raises(RuntimeError, match="groupType 0; allowed: 2"):
        torch_npu.npu_grouped_matmul_add(y.npu(), x.npu(), weight.npu(), groups, group_type=0)


def swiglu_quantized(x, weight, scale, row_scale, ends):
    """The numbers before they are rounded, and their scales, for the rows that belong to a group."""
    rows = []
    for expert, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
        product = x[start:end].double() @ weight[expert].double() * scale[expert].double()
        a, b = (product * row_scale[start:end].double()[:, None]).chunk(2, 1)
        rows.append(a / (1 + (-a).exp()) * b)
    value = torch.cat(rows)
    largest = value.abs().amax(1) / 127
    return value / largest[:, None], largest


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize("fractal", [False, True])
def test_grouped_matmul_swiglu_quant(kind: int, fractal: bool, in_blocks) -> None:
    x, weight = whole(10, 32), whole(3, 32, 64, seed=1)
    scale, row_scale = real(3, 64, seed=2).abs() * 0.1, real(10, seed=3).abs() * 0.1
    ends = torch.tensor([4, 4, 9])
    groups = (torch.diff(ends, prepend=torch.zeros(1, dtype=torch.long)) if kind else ends).npu()
    value, largest = swiglu_quantized(x, weight, scale, row_scale, ends.tolist())
    given = x.npu(), [in_blocks(weight) if fractal else weight.npu()], [scale.npu()], row_scale.npu(), groups
    if not fractal:
        with pytest.raises(RuntimeError, match="weight of INT8 has format NCL; Ascend910B allows FRACTAL_NZ"):
            torch_npu.npu_grouped_matmul_swiglu_quant_v2(*given, group_list_type=kind)
        return
    got, got_scale = torch_npu.npu_grouped_matmul_swiglu_quant_v2(*given, group_list_type=kind)
    steps_close(got.cpu()[:9], value)
    close(got_scale.cpu()[:9], largest)
    on_npu = given[1][0].view(3, 2, 2, 16, 32)  # of its tiles
    got, _ = torch_npu.npu_grouped_matmul_swiglu_quant_v2(given[0], [on_npu], *given[2:], group_list_type=kind)
    steps_close(got.cpu()[:9], value)
    out, out_scale, apart = torch.zeros(10, 32, dtype=torch.int8), torch.zeros(10), [Tiles(one) for one in weight]
    aclnn(
        "aclnnGroupedMatmulSwigluQuantV2", x, apart, [*scale], None, None, row_scale, None, groups.cpu(), 0, 0, 0,
        kind, None, out, out_scale,
    )  # fmt: skip
    steps_close(out[:9], value)
    if not kind:
        got, got_scale, _ = torch_npu.npu_grouped_matmul_swiglu_quant(
            x.npu(), on_npu, groups, scale.npu(), row_scale.npu()
        )
        steps_close(got.cpu()[:9], value)
        close(got_scale.cpu()[:9], largest)


def packed(numbers: torch.Tensor) -> torch.Tensor:
    """Eight numbers of 4 bits in a word."""
    nibbles = (numbers.long() & 15).unflatten(-1, (-1, 8)) << torch.arange(0, 32, 4)
    return nibbles.sum(-1).to(torch.int32)


def as_read(scale: torch.Tensor) -> torch.Tensor:
    """Scales as the matrix unit takes them: the upper 19 bits of a float, in 64."""
    return (scale.view(torch.int32) & -8192).long() & 0xFFFFFFFF


def in_tiles(words: torch.Tensor) -> torch.Tensor:
    experts, k, n = words.shape
    return words.reshape(experts, k // 16, 16, n // 8, 8).permute(0, 3, 1, 2, 4).contiguous()


def test_grouped_matmul_swiglu_quant_of_8_bits_by_4(in_blocks) -> None:
    """The first form, whose bias is the matrix that goes with a weight of 4 bits: that was cast as bytes."""
    k, n, ends = 64, 128, torch.tensor([4, 4, 9])
    x, weight = whole(10, k, low=-128, high=128), whole(3, k, n, seed=1, low=-8, high=8)
    encoded = as_read(real(3, n, seed=2).abs() * 0.1)
    scaled = weight.double() * encoded.to(torch.int32).view(torch.float32).double()[:, None]
    row_scale, assist = real(10, seed=3).abs() * 0.1, (8 * scaled.sum(1)).float()
    value, largest = swiglu_quantized(x, scaled, torch.ones(3, 1), row_scale, ends.tolist())
    tiles = in_blocks(packed(weight).view(torch.int8)).view(torch.int32).view(3, n // 64, k // 16, 16, 8)
    got, got_scale, _ = torch_npu.npu_grouped_matmul_swiglu_quant(
        x.npu(), tiles, ends.npu(), encoded.npu(), row_scale.npu(), bias=assist.npu()
    )
    steps_close(got.cpu()[:9], value)
    close(got_scale.cpu()[:9], largest)
    with pytest.raises(RuntimeError, match="weightAssistMatrix goes with x of int8 and a weight of int4"):
        torch_npu.npu_grouped_matmul_swiglu_quant(x.npu(), tiles, ends.npu(), encoded.npu(), row_scale.npu())


def test_grouped_matmul_of_8_bits_by_words_of_4() -> None:
    """CANN's check of aclnnGroupedMatmulV5 unpacks a weight of INT32, which its page leaves out."""
    k, n = 64, 128
    x, weight = whole(4, k, low=-128, high=128), whole(2, k, n, seed=1, low=-8, high=8)
    encoded, row_scale = as_read(real(2, 1, n, seed=2).abs() * 0.1), real(4, seed=3).abs() * 0.1
    scaled = weight.double() * encoded.to(torch.int32).view(torch.float32).double()
    (got,) = torch_npu.npu_grouped_matmul(
        [x.npu()], [packed(weight).npu()], scale=[encoded.npu()], bias=[(8 * scaled.sum(1)).float().npu()],
        per_token_scale=[row_scale.npu()], group_list=torch.tensor([1, 3]).npu(), split_item=2, group_type=0,
        group_list_type=1, output_dtype=torch.bfloat16,
    )  # fmt: skip
    products = torch.cat([x[:1].double() @ scaled[0], x[1:].double() @ scaled[1]]) * row_scale[:, None]
    torch.testing.assert_close(got.cpu().double(), products, rtol=2**-7, atol=1e-2)


@pytest.mark.parametrize("tiles", [0, 3, 5])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("small_x", [True, False])
def test_grouped_matmul_swiglu_quant_of_4_bits(small_x: bool, groups: int, tiles: int, in_blocks) -> None:
    """Weights as they are, in FRACTAL_NZ, and as a view of its tiles; a scale for all of k, or each half of it."""
    k, n, ends = 64, 128, torch.tensor([4, 4, 9])
    x = whole(10, k, low=-8, high=8) if small_x else whole(10, k, low=-128, high=128)
    weight = whole(3, k, n, seed=1, low=-8, high=8)
    encoded = as_read(real(3, groups, n, seed=2).abs() * 0.1)
    scale = encoded.to(torch.int32).view(torch.float32)
    row_scale, smooth = real(10, seed=3).abs() * 0.1, real(3, n // 2, seed=4)
    scaled = weight.double() * scale.double().repeat_interleave(k // groups, 1)
    value, largest = swiglu_quantized(x, scaled, torch.ones(3, 1), row_scale, ends.tolist())
    words = packed(weight)
    on_npu = words.npu() if not tiles else in_blocks(words) if tiles == 3 else in_tiles(words).npu()
    given = {"dequant_mode": int(groups > 1), "dequant_dtype": torch.float32}
    if not small_x:
        given["weight_assist_matrix"] = [(8 * scaled.sum(1)).float().npu()]
    encoded = (encoded if groups > 1 else encoded[:, 0]).npu()
    left = packed(x).npu() if small_x else x.npu()
    got, got_scale = torch_npu.npu_grouped_matmul_swiglu_quant_v2(
        left, [on_npu], [encoded], row_scale.npu(), ends.npu(), **given
    )
    steps_close(got.cpu()[:9], value)
    close(got_scale.cpu()[:9], largest)
    if small_x:
        for factor in (smooth, smooth[:, 0].contiguous()):
            rows = factor[[0] * 4 + [2] * 5].double().reshape(9, -1)
            want = value * largest[:, None] * rows
            got, got_scale = torch_npu.npu_grouped_matmul_swiglu_quant_v2(
                left, [on_npu], [encoded], row_scale.npu(), ends.npu(), smooth_scale=factor.npu(), **given
            )
            close(got_scale.cpu()[:9], want.abs().amax(1) / 127)
            steps_close(got.cpu()[:9], want / (want.abs().amax(1, keepdim=True) / 127))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_gating_top_k_backward(dtype: torch.dtype) -> None:
    x, k, factor, eps = real(6, 8), 3, 2.5, 1e-20
    chosen = x.topk(k).indices
    grad = real(6, k, seed=1, dtype=dtype)

    def forward(scores: torch.Tensor) -> torch.Tensor:
        kept = scores.sigmoid().gather(1, chosen)
        return kept / (kept.sum(-1, keepdim=True) + eps) * factor

    (want,) = gradients(forward, x, grad=grad)
    got = torch_npu.npu_moe_gating_top_k_backward(
        x.sigmoid().npu(), grad.npu(), chosen.int().npu(), norm_type=1, routed_scaling_factor=factor, eps=eps
    )
    assert got.dtype == dtype
    close(got.cpu(), want, 1e-5 if dtype == torch.float32 else 2e-2)
    with pytest.raises(RuntimeError, match="normType 0"):
        torch_npu.npu_moe_gating_top_k_backward(x.sigmoid().npu(), grad.npu(), chosen.int().npu())


def test_products_with_weights_in_blocks(in_blocks) -> None:
    """addmm and a grouped product, whose weight lies in FRACTAL_NZ."""
    x, weight, bias = (real(*shape, seed=seed).half() for seed, shape in enumerate(((6, 32), (32, 48), (48,))))
    blocks = in_blocks(weight)
    assert torch_npu.get_npu_format(blocks) == 29
    close(torch.addmm(bias.npu(), x.npu(), blocks).cpu(), bias.double() + x.double() @ weight.double(), 1e-2)
    experts = real(2, 32, 48, seed=4).half()
    blocks = in_blocks(experts)
    groups = torch.tensor([2, 6]).npu()
    (got,) = torch_npu.npu_grouped_matmul([x.npu()], [blocks], group_list=groups, split_item=3, group_type=0)
    want = torch.cat([x[:2].double() @ experts[0].double(), x[2:].double() @ experts[1].double()])
    close(got.cpu(), want, 1e-2)
