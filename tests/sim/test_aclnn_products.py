"""Products with something before or after them, of 4, 8 and 16 bits: against float64."""

from __future__ import annotations

import pytest
import torch
import torch_npu
from ascend950 import on_ascend950
from interfaces import Pairs, Refused, Tiles, aclnn
from values import close, real, whole

E8M0 = torch.float8_e8m0fnu


# ---- a product, then one more operation ------------------------------------------------------------------------------
def then(value: torch.Tensor, operation: str, third: torch.Tensor | None) -> torch.Tensor:
    if operation in ("add", "mul"):
        return value + third.double() if operation == "add" else value * third.double()
    if operation == "relu":
        return value.clamp_min(0)
    if operation == "gelu_erf":
        return value * 0.5 * (1 + torch.erf(value / 2**0.5))
    if operation == "gelu_tanh":
        return value * 0.5 * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (value + 0.044715 * value**3)))
    return value


@pytest.mark.parametrize("operation", ["", "16cast32", "add", "mul", "gelu_erf", "gelu_tanh", "relu"])
def test_fused_matmul(operation: str) -> None:
    x, y = real(6, 16, dtype=torch.float16), real(16, 8, seed=1, dtype=torch.float16)
    third = real(6, 8, seed=2, dtype=torch.float16) if operation in ("add", "mul") else None
    bias = None if operation.startswith("gelu") else real(8, seed=3, dtype=torch.float16)
    out = torch.empty(6, 8, dtype=torch.float32 if operation == "16cast32" else torch.float16)
    value = x.double() @ y.double() + (0 if bias is None else bias.double())
    if operation != "16cast32":
        value = value.half().double()
    want = then(value, operation, third)
    aclnn("aclnnFusedMatmul", x, y, bias, third, operation, 0, out)
    close(out, want, 2e-3)
    given = {"x3": None if third is None else third.npu(), "bias": None if bias is None else bias.npu()}
    got = torch_npu.npu_fused_matmul(x.npu(), y.npu(), fused_op_type=operation, **given)
    assert got.dtype == out.dtype
    close(got.cpu(), want, 2e-3)


def test_fused_matmul_of_batches_and_what_it_refuses() -> None:
    x, y, third = real(2, 3, 4), real(2, 4, 5, seed=1), real(3, 5, seed=2)
    out = torch.empty(2, 3, 5)
    aclnn("aclnnFusedMatmul", x, y, None, third, "mul", 3, out)
    close(out, x.double() @ y.double() * third.double())
    for arguments, message in [
        ((x, y, None, third, "mul", 0, out), "cubeMathType 0 for FLOAT; allowed: 3"),
        ((x, y, None, third, "sub", 3, out), "fusedOpType 'sub'; allowed"),
        ((x, y, None, None, "add", 3, out), "x3 goes with add and mul"),
        ((x, y, None, third, "relu", 3, out), "x3 goes with add and mul"),
        ((x, y[:1], None, third, "add", 3, out), "batches of x1"),
        ((x[0].half(), y[0].half(), real(5).half(), None, "gelu_erf", 0, out[0].half()), "bias with gelu"),
    ]:
        with pytest.raises(Refused, match=message):
            aclnn("aclnnFusedMatmul", *arguments)


@pytest.mark.parametrize("first", [True, False])
def test_add_lora(first: bool) -> None:
    half = torch.float16
    y, x = real(5, 48, dtype=half), real(5, 32 if first else 16, seed=1, dtype=half)
    a = real(3, 2, 16, 32, seed=2, dtype=half) if first else None
    b = real(3, 2, 16, 16, seed=3, dtype=half)
    indices = torch.tensor([2, 0, -1, 2, 3], dtype=torch.int32)
    want = y.double()
    for row, index in enumerate(indices.tolist()):
        if 0 <= index < 3:
            inner = x[row].double() if a is None else x[row].double() @ a[index, 1].double().t()
            want[row, 8:24] += 0.5 * inner @ b[index, 1].double().t()
    out = torch.empty_like(y)
    aclnn("aclnnAddLora", y, x, b, indices, a, 1, 0.5, 8, 16, out)
    close(out, want, 5e-3)
    on_npu = y.npu()
    given = {"layer_idx": 1, "scale": 0.5, "y_offset": 8, "y_slice_size": 16}
    torch_npu.npu_batch_gather_matmul_(on_npu, x.npu(), b.npu(), indices.npu(), None if a is None else a.npu(), **given)
    close(on_npu.cpu(), want, 5e-3)
    with pytest.raises(Refused, match="layerIdx 2 of 2 layers"):
        aclnn("aclnnAddLora", y, x, b, indices, a, 2, 0.5, 8, 16, out)
    with pytest.raises(Refused, match="ySliceSize 16 from yOffset 40 on"):
        aclnn("aclnnAddLora", y, x, b, indices, a, 1, 0.5, 40, 16, out)


# ---- quantized on the way --------------------------------------------------------------------------------------------
def steps_of(x: torch.Tensor, scale: torch.Tensor | None, smooth: torch.Tensor | None):
    rows = x.double() if smooth is None else x.double() * smooth.double()
    scale = rows.abs().amax(1, keepdim=True) / 127 if scale is None else scale.double().reshape(-1, 1)
    return (rows / scale).round().clamp(-128, 127), scale


@pytest.mark.parametrize(("mode", "static"), [("pertoken", False), ("pertoken", True), ("pertensor", True)])
def test_quant_matmul_dequant(mode: str, static: bool) -> None:
    x, weight, scale = real(6, 32, dtype=torch.float16), whole(16, 32, seed=1), real(16, seed=2).abs() * 0.1
    smooth = real(32, seed=3).abs().half() + 0.5
    x_scale = (real(6 if mode == "pertoken" else 1, seed=4).abs() + 1) / 64 if static else None
    steps, factor = steps_of(x, x_scale, smooth)
    out = torch.empty(6, 16, dtype=torch.float16)
    aclnn("aclnnQuantMatmulDequant", x, weight, scale, None, x_scale, None, smooth, mode, True, out)
    # A number between two steps may fall either way in float.
    close(out, steps @ weight.double().t() * scale.double() * factor, 4e-2)

    weights, scales = whole(3, 16, 32, seed=5), real(3, 16, seed=6).abs() * 0.1
    ends = torch.tensor([2, 2, 6])
    want = torch.cat([
        steps[first:last] @ weights[expert].double().t() * scales[expert].double() * factor.expand(6, 1)[first:last]
        for expert, (first, last) in enumerate([(0, 2), (2, 2), (2, 6)])
    ])  # fmt: skip
    for name in ("QuantGroupedMatmulDequant", "QuantGroupedMatmulDequantWeightNZ"):
        out = torch.empty(6, 16, dtype=torch.float16)
        aclnn(f"aclnn{name}", x, weights, scales, ends, None, x_scale, None, smooth, mode, True, out)
        close(out, want, 4e-2)
    got = torch_npu.npu_quant_grouped_matmul_dequant(
        x.npu(), weights.npu(), scales.npu(), ends.npu(), smooth_scale=smooth.npu(), quant_mode=mode,
        x_scale=None if x_scale is None else x_scale.npu(),
    )  # fmt: skip
    close(got.cpu(), want, 4e-2)


def test_quant_matmul_dequant_with_one_scale_for_both() -> None:
    x, weight = real(4, 32, dtype=torch.float16), whole(16, 32, seed=1)
    x_scale, scale = torch.tensor([0.03125], dtype=torch.float16), real(16, seed=2).abs()
    both = (scale * x_scale.float()).view(torch.int32).long()
    out = torch.empty(4, 16, dtype=torch.float16)
    aclnn("aclnnQuantMatmulDequant", x, weight, both, None, x_scale, None, None, "pertensor", True, out)
    steps, factor = steps_of(x, x_scale, None)
    close(out, steps @ weight.double().t() * scale.double() * factor, 4e-2)
    for arguments, message in [
        ((x, weight, both, None, None, None, None, "pertoken", True, out), "goes with xScale of FLOAT16"),
        ((x, weight, scale, None, None, None, None, "pertensor", True, out), "pertensor needs xScale"),
        ((x, weight, scale, None, None, None, None, "pertoken", False, out), "transposeWeight is 0; .* allows 1 "),
        ((x, weight, scale, None, None, None, None, "perblock", True, out), "xQuantMode 'perblock'"),
        ((x[:, :24].contiguous(), weight[:, :24].contiguous(), scale, None, None, None, None, "pertoken", True, out),
         "multiples of 16"),
    ]:  # fmt: skip
        with pytest.raises(Refused, match=message):
            aclnn("aclnnQuantMatmulDequant", *arguments)


# ---- each expert's rows, added up where their tokens are -------------------------------------------------------------
ROWS, INNER, COLUMNS, BATCH = 6, 192, 256, 4  # CANN takes no n below 256, and k above 128 for weights of 4 bits
ENDS = [2, 2, 5]


def combined(products: torch.Tensor, logit, row_index, shared, shared_weight: float, offset: int) -> torch.Tensor:
    out = torch.zeros(BATCH, COLUMNS, dtype=torch.float64)
    for row in range(ENDS[-1]):
        out[row_index[row]] += products[row] * (1 if logit is None else logit[row].double())
    if shared is not None:
        out[offset : offset + len(shared)] += shared_weight * shared.double()
    return out


def of_experts(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    rows = [x[first:last].double() @ weight[expert].double()
            for expert, (first, last) in enumerate(zip([0, *ENDS], ENDS, strict=False))]  # fmt: skip
    return torch.cat(rows)


@pytest.fixture
def in_blocks():
    """Weights in FRACTAL_NZ, which torch_npu makes only where this is set."""
    before, torch.npu.config.allow_internal_format = torch_npu._C._npu_getOption("ALLOW_INTERNAL_FORMAT"), True
    yield lambda weight: torch_npu.npu_format_cast(weight.npu(), 29)
    torch.npu.config.allow_internal_format = before == b"enable"


@pytest.mark.parametrize("plain", [False, True], ids=["shared", "plain"])
def test_grouped_matmul_finalize_routing_of_8_bits(plain: bool, in_blocks) -> None:
    x, weight = whole(ROWS, INNER), whole(3, INNER, COLUMNS, seed=1)
    scale, row_scale = real(3, COLUMNS, seed=2).abs(), real(ROWS, seed=3).abs()
    logit, shared = real(ROWS, seed=4), real(2, COLUMNS, seed=5, dtype=torch.bfloat16)
    if plain:
        shared = None
    row_index = torch.tensor([3, 1, 3, 0, 2, 1])
    experts = torch.tensor([0, 0, 2, 2, 2])
    products = of_experts(x, weight) * scale[experts].double() * row_scale[:5].double()[:, None]
    want = combined(products, logit, row_index, shared, 0.5, 1)
    for kind, groups in enumerate((torch.tensor(ENDS), torch.tensor([2, 0, 3]))):
        rest = (groups, shared, logit, row_index, 0, 0.5, 1, False, False, kind)
        out = torch.empty(BATCH, COLUMNS)
        aclnn("aclnnGroupedMatmulFinalizeRoutingWeightNz", x, Tiles(weight), scale, None, row_scale, *rest, out)
        close(out, want, 1e-3)
        aclnn(
            "aclnnGroupedMatmulFinalizeRoutingWeightNzV2",
            x, Tiles(weight), scale, None, None, None, None, row_scale, *rest, None, out.zero_(),
        )  # fmt: skip
        close(out, want, 1e-3)
        got = torch_npu.npu_grouped_matmul_finalize_routing(
            x.npu(), in_blocks(weight), groups.npu(), scale=scale.npu(), pertoken_scale=row_scale.npu(),
            shared_input=None if plain else shared.npu(), logit=logit.npu(),
            row_index=row_index.npu(), shared_input_weight=0.5, shared_input_offset=1, output_bs=BATCH,
            group_list_type=kind,
        )  # fmt: skip
        close(got.cpu(), want, 1e-3)
    bias, out = real(3, COLUMNS, seed=6, dtype=torch.bfloat16), torch.empty(BATCH, COLUMNS)
    aclnn("aclnnGroupedMatmulFinalizeRoutingWeightNz", x, Tiles(weight), scale, bias, row_scale, *rest, out)
    products += bias[experts].double() * row_scale[:5].double()[:, None]  # before the rows are scaled
    close(out, combined(products, logit, row_index, shared, 0.5, 1), 1e-2)


@pytest.mark.parametrize("zero_points", [False, True])
def test_grouped_matmul_finalize_routing_of_4_bits(zero_points: bool) -> None:
    x, weight = whole(ROWS, INNER), whole(3, INNER, COLUMNS, seed=1, low=-8, high=8)
    nibbles = weight.long() & 15
    words = (nibbles.unflatten(-1, (-1, 8)) << torch.arange(0, 32, 4)).sum(-1).to(torch.int64)
    words = torch.where(words >= 2**31, words - 2**32, words).to(torch.int32)
    scale = torch.randint(1, 9, (3, 1, COLUMNS)).float() / 64
    encoded = scale.view(torch.int32).long()
    bias = 8 * (weight.double() * scale.double()).sum(1).float()
    offset = real(3, 1, COLUMNS, seed=2) if zero_points else None
    row_scale, logit = real(ROWS, seed=3).abs(), real(ROWS, seed=4)
    shared, row_index = real(2, COLUMNS, seed=5, dtype=torch.bfloat16), torch.tensor([3, 1, 3, 0, 2, 1])
    experts = torch.tensor([0, 0, 2, 2, 2])
    products = of_experts(x, weight.double() * scale.double())
    if zero_points:
        products = products + x[:5].double().sum(1, keepdim=True) * offset[experts, 0].double()
    want = combined(products * row_scale[:5].double()[:, None], logit, row_index, shared, 1.0, 2)
    groups = torch.tensor([2, 0, 3])
    for name, last in (("V2", ()), ("V3", (None,))):
        out = torch.empty(BATCH, COLUMNS)
        aclnn(
            f"aclnnGroupedMatmulFinalizeRouting{name}",
            x, words, encoded, bias, offset, None, None, row_scale, groups, shared, logit, row_index, 0, 1.0, 2,
            False, False, 1, *last, out,
        )  # fmt: skip
        close(out, want, 2e-3)
    got = torch_npu.npu_grouped_matmul_finalize_routing(
        x.npu(), words.npu(), groups.npu(), scale=encoded.npu(), bias=bias.npu(), pertoken_scale=row_scale.npu(),
        offset=offset.npu() if zero_points else None, shared_input=shared.npu(), logit=logit.npu(),
        row_index=row_index.npu(), shared_input_offset=2, output_bs=BATCH,
    )  # fmt: skip
    close(got.cpu(), want, 2e-3)


def test_what_finalize_routing_refuses() -> None:
    x, weight, scale = whole(ROWS, INNER), whole(3, INNER, COLUMNS, seed=1), real(3, COLUMNS, seed=2).abs()
    row_scale, row_index = real(ROWS, seed=3).abs(), torch.tensor([3, 1, 3, 0, 2, 1])
    shared, out = real(2, COLUMNS, dtype=torch.bfloat16), torch.empty(BATCH, COLUMNS)

    def call(**other):
        given = {
            "x": x, "weight": Tiles(weight), "scale": scale, "bias": None, "row_scale": row_scale,
            "groups": torch.tensor(ENDS), "shared": shared, "logit": real(ROWS), "row_index": row_index, "dtype": 0,
            "factor": 1.0, "offset": 0, "turned": False, "weight_turned": False, "kind": 0, "out": out,
        } | other  # fmt: skip
        aclnn("aclnnGroupedMatmulFinalizeRoutingWeightNz", *given.values())

    for other, message in [
        ({"dtype": 1}, "dtype is 1; .* allows 0 "),
        ({"turned": True}, "transposeX1 is 1; .* allows 0 "),
        ({"weight_turned": True}, "transposeX2 is 1; .* allows 0 "),
        ({"kind": 2}, "groupListType 2"),
        ({"bias": real(3, COLUMNS)}, "161002.*BFloat16"),
        ({"offset": 3}, "sharedInput .* from row 3 on"),
        ({"row_index": row_index + 1}, "rowIndex beyond 4 rows"),
        ({"row_index": None}, "161001.*rowIndex is null"),
        ({"logit": None}, "161001.*logit is null"),
    ]:
        with pytest.raises(Refused, match=message):
            call(**other)


# ---- numbers of 8 bits with scales of their own ----------------------------------------------------------------------
def powers(*shape: int, seed: int) -> torch.Tensor:
    return whole(*shape, seed=seed, low=124, high=131, dtype=torch.uint8).view(E8M0)


def in_full(pairs: torch.Tensor, k: int) -> torch.Tensor:
    """A factor for each number along k, from (…, k / 64, n, 2) to (…, k, n)."""
    exponents = pairs.view(torch.uint8).double() - 127
    each = [2 ** exponents[..., i // 64, :, i // 32 % 2] for i in range(k)]
    return torch.stack(each, -2)


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2])
def test_quant_batch_matmul_inplace_add(dtype: torch.dtype) -> None:
    k, m, n = 80, 6, 8
    x, weight = real(k, m).to(dtype), real(k, n, seed=1).to(dtype)
    row_scale, scale, y = powers(2, m, 2, seed=2), powers(2, n, 2, seed=3), real(m, n, seed=4)
    left, right = x.double() * in_full(row_scale, k), weight.double() * in_full(scale, k)
    want = y.double() + left.t() @ right
    out = y.clone()
    aclnn("aclnnQuantBatchMatmulInplaceAdd", x, weight, row_scale, scale, out, True, False, 32)
    close(out, want, 1e-4)
    out = y.clone()
    views = (x.t(), weight, row_scale.transpose(0, 1), scale)
    aclnn("aclnnQuantBatchMatmulInplaceAdd", *views, out, False, False, 1 << 32 | 1 << 16 | 32)
    close(out, want, 1e-4)
    for arguments, message in [
        ((x, weight, row_scale, scale, out, True, True, 32), "transposeX1 1 and transposeX2 1"),
        ((x, weight, row_scale, scale, out, True, False, 64), "groupSize of 0 x 0 x 64"),
        ((x, weight, row_scale[:1], scale, out, True, False, 32), "shape"),
    ]:
        with pytest.raises(Refused, match=message):
            aclnn("aclnnQuantBatchMatmulInplaceAdd", *arguments)


ENDS_ALONG_K = [70, 70, 160]


def added_by_groups(x, weight, row_scale, scale, y):
    """The scales of a group begin at its first row by 64, and one further on for each group before it."""
    want = y.double()
    for group, (first, last) in enumerate(zip([0, *ENDS_ALONG_K], ENDS_ALONG_K, strict=False)):
        begin, count = first // 64 + group, last - first
        if count:
            left, right = (
                matrix[first:last].double() * in_full(scales[begin : begin + -(-count // 64)], count)
                for matrix, scales in ((x, row_scale), (weight, scale))
            )
            want[group] += left.t() @ right
    return want


def along_k(m: int, n: int, k: int = 160):
    x, weight = real(k, m).to(torch.float8_e4m3fn), real(k, n, seed=1).to(torch.float8_e4m3fn)
    return x, weight, powers(k // 64 + 3, m, 2, seed=2), powers(k // 64 + 3, n, 2, seed=3), real(3, m, n, seed=4)


@pytest.mark.parametrize("kind", [0, 1])
def test_quant_grouped_matmul_inplace_add(kind: int) -> None:
    x, weight, row_scale, scale, y = along_k(6, 8)
    want = added_by_groups(x, weight, row_scale, scale, y)
    groups = torch.tensor([70, 0, 90] if kind else ENDS_ALONG_K)
    for left, left_scale in ((x, row_scale), (x.t(), row_scale.transpose(0, 1))):
        out = y.clone()
        aclnn("aclnnQuantGroupedMatmulInplaceAdd", left, weight, left_scale, scale, groups, out, kind, 0)
        close(out, want)
    for arguments, message in [
        ((x, weight, row_scale, scale, groups, out, 2, 0), "groupListType is 2"),
        ((x, weight, row_scale, scale, groups, out, kind, 32), "groupSize"),
        ((x, weight, None, scale, groups, out, kind, 0), "x1Scale or groupList is null"),
        ((x, weight, row_scale, scale, groups[:2], out, kind, 0), "shape"),
    ]:
        with pytest.raises(Refused, match=message):
            aclnn("aclnnQuantGroupedMatmulInplaceAdd", *arguments)
    nothing = torch.zeros(2, 0, 8)  # where x1, or x2, has none of these, the rest is not looked at
    aclnn("aclnnQuantGroupedMatmulInplaceAdd", x.t()[:0], weight, row_scale, scale, groups[:2], nothing, kind, 0)


@pytest.mark.parametrize("turned", [False, True])
@on_ascend950
def test_transpose_quant_batch_matmul_of_groups(turned: bool) -> None:
    m, batch, k, n = 3, 2, 128, 8
    x = real(m, batch, k).to(torch.float8_e4m3fn)
    weight = real(batch, k, n, seed=1).to(torch.float8_e4m3fn)
    row_scale, scale = powers(m, batch, k // 64, 2, seed=2), powers(batch, k // 64, n, 2, seed=3)
    left = x.double().permute(1, 0, 2) * in_full(row_scale.permute(1, 2, 0, 3), k).transpose(1, 2)
    want = (left @ (weight.double() * in_full(scale, k))).permute(1, 0, 2)
    perm = [0, 2, 1] if turned else [0, 1, 2]
    if turned:
        weight = weight.transpose(1, 2).contiguous()
        scale = scale.view(torch.uint8).transpose(1, 2).contiguous().view(E8M0)
    for name in ("", "WeightNz"):
        out = torch.empty(m, batch, n, dtype=torch.bfloat16)
        arguments = (row_scale, scale, 27, 32, [1, 0, 2], perm, [1, 0, 2], 1, out)
        aclnn(f"aclnnTransposeQuantBatchMatMul{name}", x, weight, None, *arguments)
        close(out, want, 2e-2)


@on_ascend950
def test_transpose_quant_batch_matmul_by_rows_and_what_it_refuses() -> None:
    m, batch, k, n = 3, 2, 512, 128
    x, weight = real(m, batch, k).to(torch.float8_e5m2), real(batch, k, n, seed=1).to(torch.float8_e4m3fn)
    row_scale, scale = real(m, seed=2), real(n, seed=3)
    out = torch.empty(m, batch, n, dtype=torch.float16)
    perms = ([1, 0, 2], [0, 1, 2], [1, 0, 2])
    aclnn("aclnnTransposeQuantBatchMatMul", x, weight, None, row_scale, scale, 1, 0, *perms, 1, out)
    want = torch.einsum("mbk,bkn->mbn", x.double(), weight.double()) * scale.double()
    want = want * row_scale.double()[:, None, None]
    close(out, want, 2e-3)
    for arguments, message in [
        (
            (x, weight, None, row_scale, scale, 1, 0, [0, 1, 2], perms[1], perms[2], 1, out),
            "0 at index 0; .* allows 1 ",
        ),
        ((x, weight, None, row_scale, scale, 1, 0, *perms, 2, out), "batchSplitFactor is 2; .* allows 1 "),
        ((x, weight, None, row_scale, scale, 34, 0, *perms, 1, out), "dtype 34; allowed: 1, 27"),
        ((x[..., :64], weight[:, :64], None, row_scale, scale, 1, 0, *perms, 1, out), "k of 64 and n of 128"),
        ((x, weight, real(n), row_scale, scale, 1, 0, *perms, 1, out), "bias"),
    ]:
        with pytest.raises(Refused, match=message):
            aclnn("aclnnTransposeQuantBatchMatMul", *arguments)


@pytest.mark.parametrize("biased", [False, True])
@on_ascend950
def test_grouped_matmul_finalize_routing_of_groups(biased: bool) -> None:
    x = real(ROWS, 64).to(torch.float8_e4m3fn)
    weight = real(3, 64, COLUMNS, seed=1).to(torch.float8_e4m3fn)
    row_scale, scale = powers(ROWS, 1, 2, seed=2), powers(3, 1, COLUMNS, 2, seed=3)
    bias = real(3, COLUMNS, seed=4, dtype=torch.bfloat16) if biased else None
    logit, row_index = real(ROWS, seed=5), torch.tensor([3, 1, 3, 0, 2, 1])
    shared, groups = real(2, COLUMNS, seed=6, dtype=torch.bfloat16), torch.tensor([2, 0, 3])
    rows = x.double() * in_full(row_scale.transpose(0, 1), 64).t()
    products = of_experts(rows, weight.double() * in_full(scale, 64))
    if biased:
        products = products + bias[[0, 0, 2, 2, 2]].double()
    out = torch.empty(BATCH, COLUMNS)
    given = (x, weight, scale, bias, None, None, None, row_scale, groups, shared, logit, row_index, 0, 1.0, 2)
    aclnn("aclnnGroupedMatmulFinalizeRoutingV3", *given, False, False, 1, None, out)
    close(out, combined(products, logit, row_index, shared, 1.0, 2), 1e-3)
    without = (*given[:7], None, *given[8:])
    with pytest.raises(Refused, match=r"161001: .*pertokenScale is null"):
        aclnn("aclnnGroupedMatmulFinalizeRoutingV3", *without, False, False, 1, None, out)


# ---- numbers of 4 bits with two scales -------------------------------------------------------------------------------
FLOAT4 = 40
MAGNITUDES = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6], dtype=torch.float64)


def float4(rows: int, k: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Bytes of two numbers each, and these."""
    codes = whole(rows, k, seed=seed, low=0, high=16, dtype=torch.uint8)
    numbers = MAGNITUDES[(codes & 7).long()] * (1 - 2 * (codes >> 3).double())
    return codes[:, ::2] | codes[:, 1::2] << 4, numbers


@pytest.mark.torch_npu("2.8", "torch 2.7 has no FLOAT4")
@pytest.mark.parametrize("k", [1024, 640])
@pytest.mark.parametrize("biased", [False, True])
def test_dual_level_quant_matmul(k: int, biased: bool) -> None:
    m, n, upper = 4, 16, -(-k // 512)
    (x, left), (weight, right) = float4(m, k, 0), float4(n, k, 1)
    row_scale0, scale0 = real(m, upper, seed=2), real(upper, n, seed=3)
    row_scale1, scale1 = powers(m, k // 64, 2, seed=4), powers(n, k // 64, 2, seed=5)
    left = left * in_full(row_scale1.transpose(0, 1), k).t()
    right = right * in_full(scale1.transpose(0, 1), k).t()
    bias = real(n, seed=6) if biased else None
    want = torch.zeros(m, n, dtype=torch.float64) + (bias.double() if biased else 0)
    for group in range(upper):
        part = slice(group * 512, (group + 1) * 512)
        want += left[:, part] @ right[:, part].t() * row_scale0[:, group, None].double() * scale0[group].double()
    out = torch.empty(m, n, dtype=torch.bfloat16)
    scales = (row_scale0, scale0, row_scale1, scale1)
    weight = (
        weight.view(n, k // 64, 32).transpose(0, 1).contiguous().view(n, k // 2)
    )  # FRACTAL_NZ: 32 bytes of each row
    for form in (Pairs(weight, FLOAT4), weight.view(torch.int8)):
        given = (Pairs(x, FLOAT4), form, *scales, bias)
        aclnn("aclnnDualLevelQuantMatmulWeightNz", *given, False, True, 512, 32, out)
        torch.testing.assert_close(out.double(), want, rtol=1e-2, atol=1e-2)
    for rest, message in [
        ((True, True, 512, 32), "transposeX1 1 and transposeX2 1"),
        ((False, True, 256, 32), "groups of 256 and 32"),
    ]:
        with pytest.raises(Refused, match=message):
            aclnn("aclnnDualLevelQuantMatmulWeightNz", *given, *rest, out)


def float4_matrices(count: int, k: int, n: int, seed: int) -> tuple[Pairs, torch.Tensor]:
    data, values = float4(count * k, n, seed)
    return Pairs(data.view(count, k, n // 2), FLOAT4), values.view(count, k, n)


@pytest.mark.torch_npu("2.8", "torch 2.7 has no FLOAT4")
@on_ascend950
def test_grouped_matmul_finalize_routing_of_float4() -> None:
    k = 128
    (data, left), (weight, right) = float4(ROWS, k, 0), float4_matrices(3, k, COLUMNS, 1)
    row_scale, scale = powers(ROWS, 2, 2, seed=2), powers(3, 2, COLUMNS, 2, seed=3)
    logit, row_index = real(ROWS, seed=5), torch.tensor([3, 1, 3, 0, 2, 1])
    products = of_experts(left * in_full(row_scale.transpose(0, 1), k).t(), right * in_full(scale, k))
    out = torch.empty(BATCH, COLUMNS)
    given = (Pairs(data, FLOAT4), weight, scale, None, None, None, None, row_scale, torch.tensor(ENDS))
    rest = (None, logit, row_index, 0, 1.0, 0, False, False, 0, None, out)
    aclnn("aclnnGroupedMatmulFinalizeRoutingV3", *given, *rest)
    close(out, combined(products, logit, row_index, None, 1.0, 0), 1e-3)
    eight_bits = right.to(torch.float8_e4m3fn)
    with pytest.raises(Refused, match="x2 has dtype Float8_e4m3fn; allowed: Float4_e2m1fn_x2"):
        aclnn("aclnnGroupedMatmulFinalizeRoutingV3", given[0], eight_bits, *given[2:], *rest)


# ---- a weight of 4 or 8 bits -----------------------------------------------------------------------------------------
def test_weight_quant_batch_matmul_nz() -> None:
    x, weight = real(4, 64, dtype=torch.float16), whole(64, 32, seed=1)
    scale, offset = real(32, seed=2).abs().half() * 0.1, real(32, seed=3).half()
    bias, out = real(32, seed=4).half(), torch.empty(4, 32, dtype=torch.float16)
    aclnn("aclnnWeightQuantBatchMatmulNz", x, weight, scale, offset, None, None, bias, 0, out)
    # The weight is a number of 16 bits before it is multiplied.
    close(out, x.double() @ ((weight.double() + offset.double()) * scale.double()) + bias.double(), 5e-2)
    with pytest.raises(Refused, match="quantScaleOptional and quantOffsetOptional"):
        aclnn("aclnnWeightQuantBatchMatmulNz", x, weight, scale, offset, scale, None, bias, 0, out)
