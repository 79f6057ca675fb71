"""Calls that CANN takes and that a check of shapes refuses easily: each with its result, or a twin that is refused."""

from __future__ import annotations

import pytest
import torch
from ascend950 import on_ascend950
from interfaces import Refused, aclnn, rules_of
from torch.nn import functional
from values import close, gradients, real


@pytest.mark.parametrize(
    ("start", "end", "step", "dtype", "want"),
    [
        (0.0, 0.3, 0.1, torch.float16, [0.0, 0.1, 0.2, 0.3]),
        (0.0, 0.3, 0.1, torch.float32, [0.0, 0.1, 0.2]),
        (0.9, 5.1, 1.0, torch.int32, [0, 1, 2, 3, 4, 5]),
        (0.0, 5.7, 1.9, torch.int64, [0, 1, 2, 3, 4, 5]),
    ],
)
def test_a_range_is_counted_in_its_data_type(start: float, end: float, step: float, dtype, want: list[float]) -> None:
    """In float for a half, in whole numbers for these, as op-plugin and torch.range do."""
    out = torch.full((len(want),), -1, dtype=dtype)
    aclnn("aclnnRange", start, end, step, out)
    close(out, torch.tensor(want), 1e-3)


@pytest.mark.parametrize("function", ["aclnnRange", "aclnnArange"])
def test_a_range_is_of_any_shape(function: str) -> None:
    """CANN allocates the shape of the output, and compares it with nothing."""
    out = torch.zeros(1, 2, 3)
    aclnn(function, 1.0, 6.0 if function == "aclnnRange" else 7.0, 1.0, out)
    assert torch.equal(out.flatten(), torch.arange(1.0, 7.0))


@pytest.mark.parametrize("function", ["aclnnRange", "aclnnArange"])
def test_a_range_is_as_long_as_its_output(function: str) -> None:
    """A framework gives aclnnRange the end that is not in it; CANN warns, and computes what both have."""
    short, long = torch.zeros(3), torch.full((9,), -1.0)
    aclnn(function, 0.0, 4.0, 1.0, short)
    aclnn(function, 0.0, 4.0, 1.0, long)
    assert short.tolist() == [0, 1, 2]
    assert long.tolist() == [
        *range(5 if function == "aclnnRange" else 4),
        *[-1] * (4 if function == "aclnnRange" else 5),
    ]
    with pytest.raises(Refused, match=r"161002.*a step of 1 does not lead from 4 to 0"):
        aclnn(function, 4.0, 0.0, 1.0, short)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_a_step_that_is_0_in_whole_numbers_is_refused(dtype: torch.dtype) -> None:
    with pytest.raises(Refused, match=r"161002.*step 0.1 is 0 in the output's data type"):
        aclnn("aclnnRange", 0.0, 0.3, 0.1, torch.zeros(3, dtype=dtype))


def test_the_order_of_a_transposition_is_of_what_is_transposed() -> None:
    x = real(2, 3, 4, 6)
    first, last = torch.zeros(2, 4, 18), torch.zeros(2, 12, 6)
    with rules_of("Ascend950"):
        aclnn("aclnnConfusionTranspose", x, [0, 2, 1, 3], [2, 4, 18], True, first)
        aclnn("aclnnConfusionTranspose", x, [0, 2, 1], [2, 6, 12], False, last)
        with pytest.raises(Refused, match=r"^161002.*an order"):
            aclnn("aclnnConfusionTranspose", x, [0, 2, 1, 3], [2, 6, 12], False, last)
    close(first, x.transpose(1, 2).reshape(2, 4, 18))
    close(last, x.reshape(2, 6, 12).transpose(1, 2))


def test_more_active_rows_than_there_are() -> None:
    """Their number is the smaller of the two, by the page of aclnnMoeInitRouting."""
    x, experts = real(3, 4), torch.tensor([[1, 0], [0, 2], [2, 1]], dtype=torch.int32)
    numbers = torch.arange(6, dtype=torch.int32).reshape(2, 3).t().contiguous()
    rows, places, sorted_ = torch.zeros(6, 4), torch.zeros(6, dtype=torch.int32), torch.zeros(6, dtype=torch.int32)
    aclnn("aclnnMoeInitRouting", x, numbers, experts, 5, rows, places, sorted_)
    order = experts.flatten().argsort(stable=True)
    close(rows, x[order // 2])
    assert sorted_.tolist() == [0, 0, 1, 1, 2, 2]


def test_a_weight_of_groups_need_not_be_a_row() -> None:
    x, grad, gamma = real(2, 8, 5), real(2, 8, 5, seed=1), real(2, 4, seed=2)

    def norm(x: torch.Tensor, gamma: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.group_norm(x, 4, gamma.flatten(), beta.flatten())

    want = gradients(norm, x, gamma, torch.zeros(2, 4), grad=grad)
    parts = x.reshape(2, 4, 10)
    mean, rstd = parts.mean(-1), (parts.var(-1, correction=0) + 1e-5).rsqrt()
    out, out_gamma, out_beta = torch.zeros(2, 8, 5), torch.zeros(2, 4), torch.zeros(2, 4)
    asked = [True, True, True]
    aclnn("aclnnGroupNormBackward", grad, x, mean, rstd, gamma, 2, 8, 5, 4, asked, out, out_gamma, out_beta)
    for got, wanted in zip((out, out_gamma, out_beta), want, strict=True):
        close(got, wanted, 1e-3)


def test_a_margin_of_one_number() -> None:
    x, target = torch.tensor(0.25), torch.tensor([0])
    out, is_target = torch.zeros(()), torch.zeros(1)
    aclnn("aclnnMultilabelMarginLoss", x, target, 1, out, is_target)
    want = torch.nn.functional.multilabel_margin_loss(x.reshape(1), target)
    close(out, want)


def test_an_index_without_dimensions_takes_one() -> None:
    x, out = real(4, 2), torch.zeros(1, 2)
    aclnn("aclnnGatherV2", x, 0, torch.tensor(2), out)
    close(out, x[2:3])
    single = torch.zeros(())
    aclnn("aclnnGatherV2", torch.tensor(3.5), 0, torch.tensor(0), single)
    assert single == 3.5


def test_sums_over_groups_of_columns_have_a_weight_each() -> None:
    """groupType 2 with a list of weights, whose rows say how long the groups are, and an output each."""
    x, weights = real(4, 7), [real(3, 5, seed=1), real(4, 6, seed=2)]
    turned = x.t().contiguous().t()  # by the page x is transposed
    out, none = [torch.zeros(4, 5), torch.zeros(4, 6)], [None] * 6
    aclnn("aclnnGroupedMatmulV4", [turned], weights, *none, None, None, None, None, 0, 2, 0, 0, out, None, None)
    for one, part, weight in zip(out, x.split([3, 4], 1), weights, strict=True):
        close(one, part.double() @ weight.double(), 1e-3)


@pytest.mark.parametrize("wrong", ["rows", "columns", "count", "depth"])
def test_outputs_of_grouped_products(wrong: str) -> None:
    x, weight, ends = real(7, 4), real(2, 4, 5, seed=1), torch.tensor([3, 7])
    out = [torch.zeros(7 + (wrong == "rows"), 5 + (wrong == "columns"))]
    out += [torch.zeros(7, 5)] * (wrong == "count")
    x = real(7, 5) if wrong == "depth" else x
    none = [None] * 6
    with pytest.raises(Refused, match="161002"):
        aclnn("aclnnGroupedMatmulV4", [x], [weight], *none, ends, None, None, None, 3, 0, 0, 0, out, None, None)


def test_one_output_for_groups_of_columns_needs_their_list() -> None:
    x, weight, none = real(4, 7), real(7, 5, seed=1), [None] * 6
    with pytest.raises(Refused, match=r"^161002.*needs a groupList"):
        aclnn(
            "aclnnGroupedMatmulV4", [x], [weight], *none, None, None, None, None, 2, 2, 0, 0,
            [torch.zeros(1, 4, 5)], None, None,
        )  # fmt: skip


def test_the_code_of_a_wrong_shape_is_that_of_the_page() -> None:
    """561002 by the pages of list operators, which have 161002 for data types only."""
    x, scalar = [real(2, 3)], 2.0
    with pytest.raises(Refused, match=r"^561002: .*aclnnForeachNorm"):
        aclnn("aclnnForeachNorm", x, scalar, [torch.zeros(2)])
    with pytest.raises(Refused, match=r"^561002: .*aclnnForeachAbs"):
        aclnn("aclnnForeachAbs", x, [torch.zeros(3, 2)])
    with pytest.raises(Refused, match=r"^161002: .*aclnnForeachAbs"):
        aclnn("aclnnForeachAbs", [torch.zeros(2, 3, dtype=torch.int8)], [torch.zeros(2, 3, dtype=torch.int8)])
    with pytest.raises(Refused, match=r"^161002: .*aclnnAddmm"):
        aclnn("aclnnAddmm", real(2, 2), real(2, 3), real(3, 2), 1.0, 1.0, torch.zeros(3, 2), 0)


@pytest.mark.parametrize(
    ("name", "between", "formula"),
    [
        ("GeluBackward", (), lambda x: functional.gelu(x, approximate="tanh")),
        ("GeluBackwardV2", ("none",), functional.gelu),
        ("MishBackward", (), functional.mish),
    ],
)
def test_a_gradient_broadcasts(name: str, between: tuple, formula) -> None:
    grad, x, out = real(3, seed=1), real(2, 3), torch.zeros(2, 3)
    aclnn(f"aclnn{name}", grad, x, *between, out)
    close(out, gradients(formula, x, grad=grad.expand(2, 3))[0])


@on_ascend950
def test_the_gradient_of_silu_broadcasts_there() -> None:
    test_a_gradient_broadcasts("SiluBackward", (), functional.silu)


@pytest.mark.parametrize(("name", "beta"), [("SmoothL1Loss", (1.0,)), ("MseLoss", ()), ("L1Loss", ())])
def test_the_gradient_of_a_loss_broadcasts(name: str, beta: tuple) -> None:
    losses = {"SmoothL1Loss": functional.smooth_l1_loss, "MseLoss": functional.mse_loss, "L1Loss": functional.l1_loss}
    grad, x, target, out = real(2, 3, seed=1), real(3), real(2, 1, seed=2), torch.zeros(2, 3)
    aclnn(f"aclnn{name}Backward", grad, x, target, 0, *beta, out)
    whole, goal = x.expand(2, 3).clone(), target.expand(2, 3)
    close(out, gradients(lambda x: losses[name](x, goal.double(), reduction="none"), whole, grad=grad)[0])


def test_one_batch_is_multiplied_with_each_of_many() -> None:
    x, one, many, out = real(3, 4), real(1, 3, 5, seed=1), real(2, 5, 4, seed=2), torch.zeros(3, 4)
    aclnn("aclnnAddbmm", x, one, many, 1, 2, out, 0)
    close(out, x + 2 * (one.double() @ many.double()).sum(0), 1e-3)


def test_an_outer_product_without_its_factors() -> None:
    x, a, b, out = real(2, 3), real(2, seed=1), real(3, seed=2), torch.zeros(2, 3)
    aclnn("aclnnAddr", x, a, b, None, None, out)
    close(out, x + torch.outer(a, b))


def test_a_single_result_goes_into_one_element() -> None:
    x, out = real(2, 3), torch.zeros(1, 1)
    aclnn("aclnnReduceSum", x, [0, 1], False, torch.float32, out)
    close(out, x.double().sum().reshape(1, 1))


@pytest.mark.parametrize(("asked", "rows"), [(0, 6), (-2, 4), (9, 6)])
def test_how_many_tokens_stay(asked: int, rows: int) -> None:
    """All for 0, all but so many below it, and never more than there are."""
    x, experts = real(3, 4), torch.tensor([[1, 0], [0, 2], [2, 1]], dtype=torch.int32)
    out, places = torch.zeros(rows, 4), torch.zeros(6, dtype=torch.int32)
    aclnn("aclnnMoeTokenPermute", x, experts, asked, False, out, places)
    close(out, x[experts.flatten().argsort(stable=True)[:rows] // 2])


def test_a_convolution_with_four_paddings() -> None:
    x, weight, out, pads = real(1, 2, 5, 4), real(3, 2, 2, 2, seed=1), torch.zeros(1, 3, 7, 6), [1, 2, 0, 3]
    settings = ([1, 1], pads, [1, 1], False, [0, 0], 1)

    def convolved(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return functional.conv2d(functional.pad(x, (0, 3, 1, 2)), weight)

    aclnn("aclnnConvolution", x, weight, None, *settings, out, 0)
    close(out, convolved(x.double(), weight.double()), 1e-3)
    grad, of_x, of_weight = real(1, 3, 7, 6, seed=2), torch.zeros_like(x), torch.zeros_like(weight)
    asked = [True, True, False]
    aclnn("aclnnConvolutionBackward", grad, x, weight, [3], *settings, asked, 0, of_x, of_weight, None)
    for got, want in zip((of_x, of_weight), gradients(convolved, x, weight, grad=grad), strict=True):
        close(got, want, 1e-3)


FLAT = tuple(torch.zeros(*shape, dtype=torch.half) for shape in ((2, 4, 8), (4, 4), (8, 8)))
PACKED = (torch.zeros(2, 4, 1, dtype=torch.int32), torch.zeros(2))
CHANNELS = [torch.ones(3)] * 2
REFUSED = [
    ("Modulate", (real(2, 3, 4), None, real(2, 4), torch.zeros(2, 3, 4)), "161002.*given both"),
    ("Modulate", (real(2, 3, 4), real(2, 3, 4), real(2, 4), torch.zeros(2, 3, 4)), "161002.*a scale or shift"),
    ("GeGlu", (real(4, 4), -1, 2, torch.zeros(4, 2), torch.zeros(4, 2)), "161002.*approximate is 2"),
    ("FlatQuantV3", (*FLAT, None, 1.5, 0.0, 0, *PACKED), "161002.*clipRatio"),
    ("FlatQuantV3", (*FLAT, torch.tensor([1, 2]), 0.5, 0.0, 2, *PACKED), "161002.*groupListOptional"),
    ("BatchNorm", (real(2, 3, 4), None, None, None, None, True, 0.1, 1e-5, torch.zeros(2, 3, 4), None, None), "161001"),
    ("BatchNorm", (real(2, 3), torch.ones(4), None, *CHANNELS, False, 0.1, 1e-5, torch.zeros(2, 3), None, None),
     "161002.*3 channels"),
    ("AdaptiveAvgPool2dBackward", (real(1, 2, 2), real(3, 4, 4), torch.zeros(3, 4, 4)), "161002.*gradOutput"),
    ("AdaptiveAvgPool3dBackward", (real(1, 2, 2, 2), real(3, 4, 4, 4), torch.zeros(3, 4, 4, 4)), "161002.*gradOutput"),
    ("ScatterReduce", (real(3, 4), 0, torch.zeros(1, 4, dtype=torch.int64), real(3, 4), 6, True, torch.zeros(3, 4)),
     "161002.*reduce is 6"),
    ("SwigluGroupGrad", (real(2, 4), real(2, 8), None, None, None, -1.0, torch.zeros(2, 8), None),
     "161002.*clampLimit"),
    ("LayerNorm",
     (real(2, 3), [3], torch.ones(3), torch.ones(3, dtype=torch.half), 1e-5, torch.zeros(2, 3), None, None),
     "161002.*biasOptional"),
]  # fmt: skip


@pytest.mark.parametrize(("function", "arguments", "why"), REFUSED, ids=[f"{one[0]}-{one[2]}" for one in REFUSED])
def test_what_the_first_phase_of_cann_refuses(function: str, arguments: tuple, why: str) -> None:
    """By CANN's own checks, each in the first phase; most computed to the end here once."""
    with pytest.raises(Refused, match=why):
        aclnn(f"aclnn{function}", *arguments)


def test_an_empty_matrix_asks_no_group_on_an_ascend950() -> None:
    x, empty, weight = (torch.zeros(*sizes, dtype=torch.half) for sizes in ((16, 256), (0, 256), (256, 16)))
    tail = (None, None, None, None, 0, "nobody")
    with rules_of("Ascend950"):
        out, rows = torch.zeros(0, 16).half(), torch.zeros(0, 256).half()
        aclnn("aclnnAllGatherMatmulV2", empty, weight, *tail, 0, 8, 1, 0, "ai_cpu", out, rows, None)
        out = torch.ones(16, 16).half()
        for given in ((empty, weight), (x, weight[:, :0])):
            aclnn("aclnnMatmulReduceScatterV2", *given, *tail, "sum", 8, 1, 0, "ai_cpu", out, None)
        with pytest.raises(Refused, match="no group 'nobody'"):
            aclnn("aclnnMatmulReduceScatterV2", x, weight, *tail, "sum", 8, 1, 0, "ai_cpu", out, None)


def test_a_norm_of_what_its_operator_does_not_take() -> None:
    """CANN converts to FLOAT before Ascend950: of a complex number its real part."""
    x = real(3, 4)
    for given, out in (
        (x.double(), torch.zeros(3).double()),
        (torch.complex(x, x), torch.zeros(3, dtype=torch.cfloat)),
    ):
        aclnn("aclnnNorm", given, 2.0, [1], False, out)
        close(out.real, x.norm(dim=1), 1e-5)
    whole, out = torch.tensor([[3, 4], [6, 8]], dtype=torch.int32), torch.zeros(2)
    aclnn("aclnnLinalgVectorNorm", whole, 2.0, [1], False, 0, out)
    assert out.tolist() == [5, 10]
    with rules_of("Ascend950"), pytest.raises(Refused, match=r"^161002.*DOUBLE"):
        aclnn("aclnnNorm", x.double(), 2.0, [1], False, torch.zeros(3).double())


def test_nothing_ends_a_gradient_before_shapes_are_compared() -> None:
    aclnn("aclnnHardshrinkBackward", torch.zeros(0), torch.ones(1, 4), 0.5, torch.zeros(1, 4))
    nothing, out = torch.zeros(2, 0), torch.zeros(2, 3)
    aclnn("aclnnLogSoftmaxBackward", nothing, nothing, 0, out)
    with rules_of("Ascend950"), pytest.raises(Refused, match="161002"):
        aclnn("aclnnLogSoftmaxBackward", nothing, nothing, 0, out)
    aclnn("aclnnGemm", nothing, torch.zeros(0, 0), torch.zeros(1), 2.0, 2.0, 0, 0, torch.zeros(0, 0), 1)
    with pytest.raises(Refused, match="161002"):
        aclnn("aclnnGemm", nothing, torch.zeros(0, 4), torch.zeros(1), 2.0, 2.0, 0, 0, torch.zeros(2, 3), 1)


def test_several_slopes_have_a_list_of_gradients() -> None:
    grad, x, weight = real(2, 4, 3), real(2, 4, 3, seed=1), real(4, seed=2)
    want = gradients(functional.prelu, x, weight, grad=grad)
    out, slopes = torch.zeros(2, 4, 3), torch.zeros(4)
    aclnn("aclnnPreluBackward", grad, x, weight.reshape(2, 2), out, slopes)
    close(out, want[0]), close(slopes, want[1], 1e-5)
    with pytest.raises(Refused, match="161002"):
        aclnn("aclnnPreluBackward", grad, x, weight.reshape(2, 2), out, torch.zeros(2, 2))


def test_an_average_for_all_places_has_a_gradient_in_double() -> None:
    grad, out = real(2, 3, 1, 1, 1).double(), torch.zeros(2, 3, 2, 2, 2).double()
    aclnn("aclnnAdaptiveAvgPool3dBackward", grad, torch.zeros_like(out), out)
    close(out, (grad / 8).expand_as(out))
    with pytest.raises(Refused, match="161002"):
        aclnn("aclnnAdaptiveAvgPool3dBackward", grad.expand(2, 3, 1, 1, 2).contiguous(), out, out)


def test_an_output_without_its_flag_is_not_looked_at() -> None:
    grad, x, mean = real(2, 3, 4), real(2, 3, 4, seed=1), real(3, seed=2)
    whole, outs = torch.zeros(3, dtype=torch.int32), [torch.zeros(3) for _ in range(2)]
    aclnn("aclnnBatchNormReduceBackward", grad, x, mean, mean.abs(), mean, False, True, True, whole, whole, *outs)
    close(outs[1], grad.sum((0, 2)), 1e-5)
    for first, code in ((whole, "161002"), (None, "161001")):
        with pytest.raises(Refused, match=f"^{code}"):
            aclnn(
                "aclnnBatchNormReduceBackward", grad, x, mean, mean.abs(), mean, True, True, True, first, *outs, outs[0]
            )


def test_as_many_parts_of_attention_as_a_product_takes() -> None:
    logs, parts = [torch.zeros(3)] * 20, [real(3, 8, seed=i) for i in range(20)]
    out = torch.zeros(3, 8)
    aclnn("aclnnAttentionUpdate", logs, parts, 0, out, None)
    close(out, torch.stack(parts).mean(0), 1e-5)
    with rules_of("Ascend950"), pytest.raises(Refused, match="1 to 16"):
        aclnn("aclnnAttentionUpdate", logs, parts, 0, out, None)


def test_places_are_cut_for_tokens_of_one_byte() -> None:
    tokens, experts = torch.arange(12, dtype=torch.int8).reshape(4, 3), torch.tensor([2, 0, 1, 0], dtype=torch.int32)
    out, places = torch.zeros(2, 3, dtype=torch.int8), torch.zeros(3, dtype=torch.int32)
    with rules_of("Ascend950"):
        aclnn("aclnnMoeTokenPermute", tokens, experts, 2, False, out, places)
    assert torch.equal(out, tokens[[1, 3]]) and places.tolist() == [3, 0, 2]
    with pytest.raises(Refused, match="561002"):
        aclnn("aclnnMoeTokenPermute", tokens.bfloat16(), experts, 2, False, out.bfloat16(), places)


def test_what_indices_of_the_first_dimensions_give_goes_into_any_shape() -> None:
    """CANN computes in the output's shape; with a dimension left out before an index it compares them."""
    x, index = torch.arange(6.0).reshape(2, 3), torch.tensor([[1, 0, 1]])
    out = torch.zeros(3)
    aclnn("aclnnIndex", x, [index, torch.tensor([[2, 0, 1]])], out)
    assert out.tolist() == [5, 0, 4]
    with pytest.raises(Refused, match="161002"):
        aclnn("aclnnIndex", x, [index, index], torch.zeros(4))
