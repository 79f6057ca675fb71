"""FLOP of torch_npu's fused products, against values by hand and against what torch counts of the same in aten."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode, sdpa_backward_flop_count

from ophook_npu import observe
from ophook_npu.observe._fused_flops import FORMULAS, flops, pairs


@pytest.fixture(scope="module")
def schemas() -> dict[str, Any]:
    """torch_npu's own, from the file in its wheel: importing it would need CANN."""
    spec = importlib.util.find_spec("torch_npu")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("torch_npu is not installed")
    text = (Path(spec.submodule_search_locations[0]) / "csrc/aten/npu_native_functions_by_codegen.yaml").read_text()
    lines = re.findall(r"^\s*(?:- )?func: (\w+\(.*)$", text, re.MULTILINE)
    return {line.partition("(")[0]: torch._C.parse_schema(line) for line in lines if line.partition("(")[0] in FORMULAS}


Count = Callable[..., int]


@pytest.fixture
def count(schemas: dict[str, Any]) -> Count:
    def run(name: str, *args: Any, result: Any = None, **kwargs: Any) -> int:
        return flops(FORMULAS[name], schemas[name], args, kwargs, result)

    return run


def aten(function: Callable[[], Any]) -> int:
    with FlopCounterMode(display=False) as counter:
        function()
    return counter.get_total_flops()


def t(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.zeros(shape, dtype=dtype)


def test_every_formula_is_for_an_operator_of_torch_npu(schemas: dict[str, Any]) -> None:
    assert set(FORMULAS) == set(schemas)


# ---- products --------------------------------------------------------------------------------------------------------
def test_products_equal_atens(count: Count) -> None:
    x, w = t(4, 8), t(8, 16)
    mm = aten(lambda: x @ w)
    assert mm == 2 * 4 * 8 * 16
    assert count("npu_linear", x, w.T, result=t(4, 16)) == mm
    assert count("npu_linear_backward", t(4, 16), x, w.T) == 2 * mm
    assert count("npu_quant_matmul", x, w, t(1), result=t(4, 16)) == mm
    assert count("npu_weight_quant_batchmatmul", x, w, t(1), result=t(4, 16)) == mm
    assert count("npu_mm_all_reduce_base", x, w, "hcom", result=t(4, 16)) == mm
    assert count("npu_mm_reduce_scatter_base", x, w, "hcom", 2, result=t(2, 16)) == mm
    assert count("npu_all_gather_base_mm", x, w, "hcom", 2, result=(t(8, 16), t(8, 8))) == 2 * mm
    assert count("npu_matmul_all_to_all", x, w, "hcom", 2, result=t(2, 32)) == mm
    a, b = t(3, 4, 8), t(3, 8, 16)
    bmm = aten(lambda: a @ b)
    assert count("npu_bmmV2", a, b, [], result=t(3, 4, 16)) == bmm
    assert count("npu_bmm_v2_mat1_backward", t(3, 4, 16), a, b, [3, 4, 8]) == bmm
    assert count("npu_bmm_v2_mat2_backward", t(3, 4, 16), a, b, [3, 8, 16]) == bmm
    assert count("npu_transpose_batchmatmul", a, b, result=t(4, 3, 16)) == bmm
    assert count("npu_transpose_batchmatmul", a, b.mT, perm_x2=[0, 2, 1], result=t(4, 3, 16)) == bmm
    assert count("npu_quant_matmul_reduce_sum", a, b, result=t(4, 16)) == bmm


def test_four_bit_numbers_eight_in_one(count: Count) -> None:
    packed = t(4, 1, dtype=torch.int32)
    assert count("npu_quant_matmul", packed, t(8, 2, dtype=torch.int32), t(1), result=t(4, 16)) == 2 * 4 * 8 * 16


def test_grouped_products(count: Count) -> None:
    # Two matrices, each with its own; then one of 10 rows cut into groups, by weights in a list or in one tensor.
    apart = count("npu_grouped_matmul", [t(2, 8), t(3, 4)], [t(8, 16), t(4, 6)], result=[t(2, 16), t(3, 6)])
    assert apart == 2 * 2 * 8 * 16 + 2 * 3 * 4 * 6
    for weight in ([t(8, 16), t(8, 16)], [t(2, 8, 16)]):
        assert count("npu_grouped_matmul", [t(10, 8)], weight, result=[t(10, 16)]) == 2 * 10 * 8 * 16
    cut = count("npu_grouped_matmul", [t(10, 8)], [t(8, 16), t(8, 16)], result=[t(4, 16), t(6, 16)])
    assert cut == 2 * 10 * 8 * 16
    joined = count("npu_grouped_matmul", [t(4, 8), t(6, 8)], [t(8, 16), t(8, 16)], result=[t(10, 16)])
    assert joined == 2 * 10 * 8 * 16
    # The inner dimension cut into groups (gradients of weights): x is (8, 10), and each of 2 results is (8, 16).
    inner = count("npu_grouped_matmul", [t(8, 10)], [t(10, 16)], result=[t(2, 8, 16)], group_type=2)
    assert inner == 2 * 8 * 10 * 16
    assert count("npu_grouped_matmul_add", t(2, 8, 16), t(10, 8), t(10, 16), t(2)) == 2 * 8 * 10 * 16
    glu = count(
        "npu_grouped_matmul_swiglu_quant", t(10, 8), t(2, 8, 32), t(2), t(2, 32), t(10), result=(t(10, 16), 0, 0)
    )
    assert glu == 2 * 10 * 8 * 32
    last = count("npu_grouped_matmul_finalize_routing", t(10, 8), t(2, 8, 16), t(2), result=t(5, 16))
    assert last == 2 * 10 * 8 * 16


def test_ffn(count: Count) -> None:
    x, up, down = t(2, 5, 8), t(8, 32), t(32, 8)
    assert count("npu_ffn", x, up, down, "relu", result=x) == aten(lambda: (x @ up).relu() @ down)
    with_experts = count(
        "npu_ffn", t(10, 8), t(3, 8, 32), t(3, 32, 8), "relu", expert_tokens=[3, 3, 4], result=t(10, 8)
    )
    assert with_experts == 2 * 10 * 8 * 32 * 2


@pytest.mark.parametrize("groups", [1, 2])
def test_convolutions_equal_atens(count: Count, groups: int) -> None:
    x, w = torch.randn(2, 4, 9, 9, requires_grad=True), torch.randn(6, 4 // groups, 3, 3, requires_grad=True)
    y = torch.nn.functional.conv2d(x, w, groups=groups, stride=2)
    forward = aten(lambda: torch.nn.functional.conv2d(x, w, groups=groups, stride=2))
    rest = ([2, 2], [0, 0], [1, 1], groups)
    assert count("npu_conv2d", x, w, None, *rest, result=y) == forward
    assert count("npu_convolution", x, w, None, *rest, result=y) == forward
    by_hand = 2 * y.numel() * (4 // groups) * 9
    assert forward == by_hand
    assert count("npu_conv2d_backward", x, y, w, *rest, [True, True, False]) == 2 * forward
    assert count("npu_convolution_backward", x, y, w, *rest, [False, True, True]) == forward
    back = torch.randn(4, 6 // groups, 3, 3)
    transposed = aten(lambda: torch.nn.functional.conv_transpose2d(x.detach(), back, groups=groups))
    wide = t(2, 6, 11, 11)
    spread = ([0, 0], [0, 0], [1, 1], [1, 1], groups)
    if groups == 1:  # torch's own formula takes no notice of groups here
        assert count("npu_conv_transpose2d", x, back, None, *spread, result=wide) == transposed
    assert count("npu_conv_transpose2d", x, back, None, *spread, result=wide) == 2 * x.numel() * (6 // groups) * 9
    both = count("npu_conv_transpose2d_backward", x, wide, back, *spread, [True, True, False])
    assert both == 2 * 2 * x.numel() * (6 // groups) * 9


# ---- attention -------------------------------------------------------------------------------------------------------
def brute(queries: int, keys: int, sees: Callable[[int, int], bool]) -> int:
    return sum(sees(i, j) for i in range(queries) for j in range(keys))


@pytest.mark.parametrize("queries, keys", [(5, 5), (3, 7), (7, 3), (1, 6), (6, 1)])
def test_pairs_by_mode(queries: int, keys: int) -> None:
    corner = keys - queries
    assert pairs(queries, keys, 0, 1, 1) == queries * keys
    assert pairs(queries, keys, 2, 0, 0) == brute(queries, keys, lambda i, j: j <= i)
    assert pairs(queries, keys, 3, 0, 0) == brute(queries, keys, lambda i, j: j <= i + corner)
    for before, after in ((0, 0), (2, 1), (1, -1), (100, 100)):
        band = brute(queries, keys, lambda i, j, b=before, a=after: i + corner - b <= j <= i + corner + a)
        assert pairs(queries, keys, 4, before, after) == band
    for prefix in (0, 2, 100):
        wanted = brute(queries, keys, lambda i, j, p=prefix: j <= i + corner or j < p)
        assert pairs(queries, keys, 6, 0, 0, prefix) == wanted


LAYOUTS = {"BNSD": (2, 4, 6, 8), "BSND": (2, 6, 4, 8), "BSH": (2, 6, 32), "SBH": (6, 2, 32)}
ONE = 2 * 4 * 6 * 6  # batch, heads, queries, keys


@pytest.mark.parametrize("layout", LAYOUTS)
def test_attention_equals_atens(count: Count, layout: str) -> None:
    q = torch.randn(2, 4, 6, 8)
    plain = aten(lambda: q @ q.mT @ q)
    x = t(*LAYOUTS[layout])
    assert count("npu_fusion_attention", x, x, x, 4, layout) == plain == ONE * (2 * 8 + 2 * 8)
    shape = tuple(q.shape)
    backward = sdpa_backward_flop_count(shape, shape, shape, shape)
    assert count("npu_fusion_attention_grad", x, x, x, x, 4, layout) == backward == ONE * 5 * 2 * 8
    assert count("npu_prompt_flash_attention", x, x, x, num_heads=4, input_layout=layout) == plain


def test_query_heads_that_share_a_key_head_each_count(count: Count) -> None:
    q, kv = t(2, 4, 6, 8), t(2, 2, 6, 8)
    assert count("npu_fusion_attention", q, kv, kv, 4, "BNSD") == ONE * 32
    assert count("npu_fusion_attention", t(2, 6, 32), t(2, 6, 16), t(2, 6, 16), 4, "BSH") == ONE * 32
    for heads in ("num_heads", "num_query_heads"):
        name = "npu_fused_infer_attention_score" + ("" if heads == "num_heads" else "_v2")
        few = count(
            name, t(2, 6, 32), t(2, 6, 16), t(2, 6, 16), num_key_value_heads=2, input_layout="BSH", **{heads: 4}
        )
        assert few == ONE * 32


def test_depths_of_keys_and_values_may_differ(count: Count) -> None:
    q, k, v = t(2, 4, 6, 8), t(2, 4, 6, 8), t(2, 4, 6, 3)
    assert count("npu_fusion_attention", q, k, v, 4, "BNSD") == ONE * (2 * 8 + 2 * 3)
    assert count("npu_fusion_attention_grad", q, k, v, v, 4, "BNSD") == ONE * (3 * 2 * 8 + 2 * 2 * 3)
    rope = t(2, 4, 6, 2)
    assert count("npu_fusion_attention_v2", q, k, v, 4, "BNSD", query_rope=rope, key_rope=rope) == ONE * (20 + 6)


def test_masks_by_mode_halve_the_work_and_masks_of_their_own_do_not(count: Count) -> None:
    x, mask = t(1, 1, 6, 8), torch.ones(6, 6, dtype=torch.bool)
    one = 4 * 8
    assert count("npu_fusion_attention", x, x, x, 1, "BNSD", atten_mask=mask) == 36 * one
    assert count("npu_fusion_attention", x, x, x, 1, "BNSD", atten_mask=mask, sparse_mode=2) == 21 * one
    assert count("npu_fusion_attention", x, x, x, 1, "BNSD", sparse_mode=2) == 36 * one  # no mask, no effect
    band = {"atten_mask": mask, "sparse_mode": 4, "pre_tockens": 1, "next_tockens": 0}
    assert count("npu_fusion_attention", x, x, x, 1, "BNSD", **band) == 11 * one
    prefix = {"atten_mask": mask, "sparse_mode": 6, "prefix": [3]}
    assert count("npu_fusion_attention", x, x, x, 1, "BNSD", **prefix) == (3 + 3 + 3 + 4 + 5 + 6) * one


def test_sequences_one_after_the_other(count: Count) -> None:
    x, one = t(9, 2, 8), 2 * 4 * 8
    ends = {"actual_seq_qlen": [2, 5, 9], "actual_seq_kvlen": [2, 5, 9]}
    assert count("npu_fusion_attention", x, x, x, 2, "TND", **ends) == (4 + 9 + 16) * one
    mask = torch.ones(2048, 2048, dtype=torch.bool)
    causal = count("npu_fusion_attention", x, x, x, 2, "TND", atten_mask=mask, sparse_mode=3, **ends)
    assert causal == (3 + 6 + 10) * one
    cut = {"atten_mask": mask, "sparse_mode": 7, "pre_tockens": 1, "next_tockens": 0}
    assert count("npu_fusion_attention", x, x, x, 2, "TND", **cut, **ends) == (3 + 6 + 7) * one


def test_inference_counts_the_lengths_it_is_told(count: Count) -> None:
    q, kv, one = t(2, 4, 1, 8), t(2, 4, 16, 8), 4 * 4 * 8
    assert count("npu_incre_flash_attention", q, kv, kv, num_heads=4, input_layout="BNSD") == 2 * 16 * one
    told = count("npu_incre_flash_attention", q, kv, kv, num_heads=4, input_layout="BNSD", actual_seq_lengths=[3, 10])
    assert told == 13 * one
    pages, table = t(5, 4, 128, 8), torch.zeros(2, 1, dtype=torch.int32)
    paged = count(
        "npu_fused_infer_attention_score", q, pages, pages, num_heads=4, num_key_value_heads=4, input_layout="BNSD",
        actual_seq_lengths_kv=[3, 10], block_table=table, block_size=128,
    )  # fmt: skip
    assert paged == 13 * one


# ---- in the profile --------------------------------------------------------------------------------------------------
@pytest.fixture
def operators() -> Iterator[None]:
    library = torch.library.Library("npu", "FRAGMENT")
    library.define("npu_linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor")
    library.impl("npu_linear", torch.nn.functional.linear, "CPU")
    yield
    library._destroy()


def test_the_profile_counts_them(operators: None) -> None:
    x, w = torch.randn(4, 8), torch.randn(16, 8)
    with observe.Profile() as profile:
        torch.ops.npu.npu_linear(x, w)
        torch.ops.npu.npu_linear(x, w)
        torch.ops.npu.npu_linear(x[:2], w)
    rows = {row.name: row for row in profile.rows("shape")}
    assert rows["npu::npu_linear(4x8, 16x8)"].flops == 2 * 2 * 4 * 8 * 16
    assert rows["npu::npu_linear(2x8, 16x8)"].flops == 2 * 2 * 8 * 16
