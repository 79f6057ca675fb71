"""Types of the graph engine that are functions of libopapi: rows fit these, and graphs compute what eager mode does."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import interfaces
import pytest
import torch
import torch_npu
import torchair
from interfaces import Node, Refused

# Operators of torch_npu with arguments, whose converters ask for such a type. `h`: float16.
CALLS = """
npu_add_rms_norm_dynamic_quant | h(2, 3, 8), h(2, 3, 8), h(8), smooth_scale1=h(8), output_mask=[True, True]
npu_anti_quant | i8(4, 8), f(8)
npu_attention_update | [f(6), f(6)], [f(6, 16), f(6, 16)], 1
npu_attention_update | [f(6), f(6)], [f(6, 16), f(6, 16)], 0
npu_clipped_swiglu | h(4, 8), group_index=i64(1, 3)
npu_dequant_rope_quant_kvcache | i32(3, 2, 256, of=None), h(3, 2, 1, 64), h(3, 2, 1, 64), i8(4, 6, 1, 64), i8(4, 6, 1, 64), i32(2, 0, 1), f(1, 64), f(1, 64), [128, 64, 64], weight_scale=f(256), activation_scale=f(6), kv_output=True
npu_dequant_swiglu_quant | i32(7, 12, of=None), weight_scale=f(3, 12), activation_scale=f(7), quant_scale=f(3, 6), group_index=i64(3, 0, 4), quant_mode=1
npu_dynamic_quant | h(4, 8)
npu_ffn | h(7, 8), h(8, 10), h(10, 8), "relu"
npu_group_quant | f(6, 8), f(3, 8), i32(2, 2, 6), offset=f(1), dst_dtype=torch.quint4x2
npu_grouped_matmul_finalize_routing | i8(6, 192), i32(3, 192, 32, of=None), i64(2, 0, 3), scale=i64(3, 1, 256, of=None), bias=f(3, 256), pertoken_scale=f(6), shared_input=h(2, 256).bfloat16(), logit=f(6), row_index=i64(3, 1, 3, 0, 2, 1), shared_input_offset=2, output_bs=4
npu_grouped_matmul | [h(10, 32)], [h(3, 32, 64)], bias=[h(3, 64)], group_list=i64(4, 4, 10), split_item=3, group_type=0, group_list_type=0
npu_grouped_matmul | [i8(10, 32)], [i8(3, 32, 64)], scale=[f(3, 64)], per_token_scale=[f(10)], group_list=i64(4, 4, 10), split_item=3, group_type=0, group_list_type=0, output_dtype=torch.float16
npu_grouped_matmul | [h(10, 32), h(6, 32)], [h(32, 64), h(32, 64)], split_item=0, group_type=-1
npu_kv_rmsnorm_rope_cache | h(2, 1, 5, 576), h(512), h(2, 1, 5, 64), h(2, 1, 5, 64), i64(3, 0, 8, 4, 5, 1, 2, 7, 6, 4).view(2, 5), h(2, 1, 9, 64), h(2, 1, 9, 512), is_output_kv=True
npu_mla_prolog_v2 | b(5, 64), b(64, 32), i8(32, 48), b(2, 16, 32), b(64, 40), b(32), b(32), b(5, 8), b(5, 8), i64(3, 0, 9, 5, 7), b(3, 4, 1, 32), b(3, 4, 1, 8), dequant_scale_w_uq_qr=f(1, 48), smooth_scales_cq=f(1, 32)
npu_mla_prolog_v3_functional | b(5, 64), b(64, 32), i8(32, 48), b(2, 16, 32), b(64, 40), b(32), b(32), b(5, 8), b(5, 8), b(3, 4, 1, 32), b(3, 4, 1, 8), cache_index=i64(3, 0, 9, 5, 7), dequant_scale_w_uq_qr=f(1, 48), query_norm_flag=True, weight_quant_mode=1
npu_moe_init_routing_v2 | f(4, 8), i32(5, 0, 2, 2, 2, 7, 0, 5, 1, 1, 6, 4).view(4, 3), scale=f(4), active_num=12, expert_num=8, expert_tokens_num_type=1, expert_tokens_num_flag=True, active_expert_range=[0, 8], row_idx_type=1
npu_moe_init_routing_v2 | h(4, 8), i32(5, 0, 2, 2, 2, 7, 0, 5, 1, 1, 6, 4).view(4, 3), active_num=12, expert_num=8, expert_tokens_num_type=1, expert_tokens_num_flag=True, active_expert_range=[0, 8], quant_mode=1
npu_moe_re_routing | h(7, 2), i64(2, 0, 1, 1, 3, 0).view(2, 3), per_token_scales=f(7)
npu_qkv_rms_norm_rope_cache_functional | h(6, 896), h(128), h(128), h(6, 128), h(6, 128), i64(3, 0, 1, 9, 5, 11), h(6, 512), i8(3, 8, 4, 32), i8(3, 4, 4, 32), [2, 3, 7, 128], [4, 2, 1], k_scale=f(2, 128), v_scale=f(1, 128), k_offset=f(2, 128), v_offset=f(1, 128), is_output_qkv=True
npu_quant_grouped_matmul_dequant | h(6, 32), i8(3, 16, 32), f(3, 16), i64(2, 2, 6)
npu_quant_matmul | i8(5, 24), i8(24, 6), f(6), offset=f(6), output_dtype=torch.int8
npu_quant_matmul_dequant | h(6, 32), i8(16, 32), f(16)
npu_quant_scatter | i8(2, 5, 4), i32(4, 1), b(2, 1, 4), b(1, 1, 4), b(1, 1, 4)
npu_quantize | f(2, 4), f(4), i32(3, 0, 1, 2), torch.qint8
npu_quantize | f(2, 4), f(4), None, torch.qint32, 1
npu_scatter_list | [h(2, 5, 4), h(2, 5, 4)], i64(2, 3), h(2, 2, 1, 4), torch.ones(2, dtype=torch.uint8)
npu_transpose_batchmatmul | h(4, 2, 8), h(2, 8, 6), perm_x1=[1, 0, 2], perm_y=[1, 0, 2]
npu_weight_quant_batchmatmul | h(5, 64), i8(64, 16), h(1, 16), h(1, 16)
npu_weight_quant_batchmatmul | h(5, 64), i8(64, 16), h(1, 16), h(1, 16), i64(*[1 << 46 | 0x3a800000] * 16)
npu_gelu_quant | h(4, 16), input_scale=h(16), input_offset=h(16), quant_mode="static"
npu_lightning_indexer | b(1, 4, 4, 128), b(1, 40, 1, 128), b(1, 4, 4), sparse_count=8
npu_quant_lightning_indexer | i8(1, 4, 4, 128), i8(1, 40, 1, 128), h(1, 4, 4), h(1, 4, 4), h(1, 40, 1), 0, 0, sparse_count=8
npu_sparse_flash_attention | b(1, 2, 4, 512), b(1, 24, 1, 512), b(1, 24, 1, 512), i32(0, 5, -1, -1, 17, 2, 23, 9).view(1, 2, 1, 4), 0.04, query_rope=b(1, 2, 4, 64), key_rope=b(1, 24, 1, 64), attention_mode=2, return_softmax_lse=True
npu_kv_quant_sparse_flash_attention | b(1, 2, 4, 576), i8(1, 24, 1, 656), i8(1, 24, 1, 656), i32(0, 5, -1, -1, 17, 2, 23, 9).view(1, 2, 1, 4), 0.04, 2, 2, attention_mode=2
npu_masked_causal_conv1d | b(6, 2, 16), b(3, 16)
npu_prefetch | h(4, 8), h(4, 8), 64
"""  # noqa: E501


def test_each_row_fits_its_function() -> None:
    """A parameter that nothing tells, an output that has none, a name that is misspelled: the first call says so."""
    wrong = []
    for of in interfaces.functions():
        inputs = interfaces.prototype(of)[0]
        given = [None if not port.endswith("*") else [] for port in inputs]
        made, error = Node(of, *given), ctypes.create_string_buffer(1024)
        interfaces.libraries()[0].ophook_ge_infer(ctypes.byref(made.call), error, ctypes.c_size_t(len(error)))
        if any(words in error.value for words in (b"nothing tells", b"no parameter", b"there is no ")):
            wrong.append(f"{of}: {error.value.decode()}")
    assert not wrong, "\n".join(wrong)
    assert len(interfaces.functions()) > 80


def made(arguments: str) -> tuple[list[Any], dict[str, Any]]:
    generator = torch.Generator().manual_seed(0)

    def real(dtype: torch.dtype) -> Any:
        return lambda *sizes: (torch.rand(sizes, generator=generator) + 0.25).to(dtype)

    def whole(dtype: torch.dtype) -> Any:
        def values(*given: int, of: object = "given") -> torch.Tensor:
            if of == "given" and dtype != torch.int8:
                return torch.tensor(given, dtype=dtype)
            return torch.randint(-100, 100, given, generator=generator, dtype=dtype)

        return values

    names = {
        "h": real(torch.float16), "b": real(torch.bfloat16), "f": real(torch.float32), "i8": whole(torch.int8),
        "i32": whole(torch.int32), "i64": whole(torch.int64), "torch": torch,
    }  # fmt: skip
    return eval(f"(lambda *a, **k: ([*a], k))({arguments})", names)


def on_npu(value: Any) -> Any:
    return torch.utils._pytree.tree_map(lambda one: one.npu() if isinstance(one, torch.Tensor) else one, value)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("call", CALLS.strip().splitlines(), ids=lambda call: call.partition(" ")[0])
def test_graphs_equal_eager_mode(call: str, dynamic: bool) -> None:
    name, _, arguments = call.partition(" | ")
    op = getattr(torch.ops.npu, name)
    torch._dynamo.reset()
    compiled = torch.compile(
        lambda *given, **named: op(*given, **named), backend=torchair.get_npu_backend(), dynamic=dynamic, fullgraph=True
    )
    results = []
    for run in (op, compiled):
        given, named = on_npu(made(arguments))
        out = run(*given, **named)
        results.append(torch.utils._pytree.tree_leaves((out, given)))  # and what it writes in place
    for want, got in zip(*results, strict=True):
        if isinstance(want, torch.Tensor) and want.numel() > 1:  # of one element: a scale that is not asked for
            torch.testing.assert_close(got.cpu(), want.cpu(), equal_nan=True)


# ---- weights in FRACTAL_NZ, which are inputs of graphs in it ---------------------------------------------------------
def grouped(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    groups = torch.tensor([4, 4, 10], device=x.device)
    return torch_npu.npu_grouped_matmul([x], [w], group_list=groups, split_item=3, group_type=0, group_list_type=0)[0]


def quantized(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch_npu.npu_quant_matmul(x, w, torch.ones(w.shape[-1], device=x.device), output_dtype=torch.bfloat16)


def swiglu(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:  # asks for this format
    ends = torch.tensor([4, 4, len(x)], device=x.device)
    scales = torch.ones(len(w), w.shape[-1], device=x.device), torch.ones(len(x), device=x.device)
    return torch_npu.npu_grouped_matmul_swiglu_quant_v2(x, [w], [scales[0]], scales[1], ends)[0]


IN_TILES: dict[str, tuple[Callable[..., torch.Tensor], str]] = {
    "product": (torch.matmul, "h(16, 32), h(32, 48)"),
    "of odd sizes": (torch.matmul, "h(5, 20), h(20, 30)"),
    "transposed": (torch.nn.functional.linear, "h(16, 32), h(48, 32)"),
    "computed": (lambda x, w: x @ (w + 1), "h(16, 32), h(32, 48)"),
    "quantized": (quantized, "i8(16, 32), i8(32, 64)"),
    "of groups": (grouped, "h(10, 32), h(3, 32, 64)"),
    "of groups, in tiles only": (swiglu, "i8(10, 32), i8(3, 32, 64)"),
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", IN_TILES)
def test_weights_in_tiles(name: str, dynamic: bool) -> None:
    op, arguments = IN_TILES[name]
    x, w = on_npu(made(arguments)[0])
    torch.npu.config.allow_internal_format = True
    try:
        tiled = torch_npu.npu_format_cast(w, 29)
        assert torch_npu.get_npu_format(tiled) == 29
        torch._dynamo.reset()
        compiled = torch.compile(op, backend=torchair.get_npu_backend(), dynamic=dynamic, fullgraph=True)
        torch.testing.assert_close(compiled(x, tiled), op(x, tiled))
    finally:
        torch.npu.config.allow_internal_format = False


def test_an_input_that_the_function_lacks_is_refused() -> None:
    x, w, scale = torch.zeros(4, 8, dtype=torch.int8), torch.zeros(8, 6, dtype=torch.int8), torch.ones(6)
    for given, said in (({"x2_table": scale}, "input x2_table"), ({"compute_type": 1}, "compute_type=1")):
        table = given.pop("x2_table", None)
        call = Node("QuantBatchMatmulV4", x, w, None, None, scale, *[None] * 4, table, dtype=torch.float16, **given)
        with pytest.raises(Refused, match=f"{said} is not simulated"):
            call.infer()


def test_the_first_phase_refuses_while_the_graph_is_compiled() -> None:
    x, w, scale = torch.zeros(4, 8, dtype=torch.int8), torch.zeros(7, 6, dtype=torch.int8), torch.ones(6)
    with pytest.raises(Refused, match=r"aclnnQuantMatmulV4|\(…, k, n\)|7, 6"):
        Node("QuantBatchMatmulV3", x, w, scale, dtype=torch.float16).infer()


@pytest.mark.parametrize("rows", [1, 7919])
def test_shapes_are_inferred_of_any_size(rows: int) -> None:
    x, w, scale = torch.zeros(rows, 8, dtype=torch.int8), torch.zeros(8, 6, dtype=torch.int8), torch.ones(6)
    assert Node("QuantBatchMatmulV3", x, w, scale, dtype=torch.bfloat16).infer() == [(27, [rows, 6])]
    tokens, counts = torch.zeros(rows, 4).half(), torch.tensor([[rows]])
    shapes = [shape for _, shape in Node("MoeReRouting", tokens, counts).infer()]
    assert shapes == [[rows, 4], [rows], [rows], [1]]


def test_numbers_of_4_bits_are_packed_by_a_bitcast() -> None:
    words = torch.arange(12, dtype=torch.int32).view(3, 4)
    for keep, sizes in ((True, [3, 32]), (False, [3, 4, 8])):
        made = Node("Bitcast", words, type=torch.int8, keep_dim=keep)
        made.attrs[0].i = 29  # INT4, of which torch has no type
        assert made.infer() == [(29, sizes)]


def test_what_is_not_asked_for_has_a_shape() -> None:
    """torchair compares the shapes of all outputs with those of the FX graph."""
    x, gamma = torch.randn(2, 4).half(), torch.ones(4).half()
    found = Node("AddRmsNormDynamicMxQuant", x, x, gamma, dst_type=36)
    with interfaces.rules_of("Ascend950"):
        assert [shape for _, shape in found.infer()] == [[2, 4], [2, 4], [2, 1, 2], [2, 1]]
