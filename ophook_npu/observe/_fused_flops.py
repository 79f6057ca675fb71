"""FLOP of torch_npu's fused products, counted as torch.utils.flop_counter counts aten's.

That is 2 for a multiplication with its addition, only products of matrices (no softmax, no activation, no scaling of
quantized numbers), and for the backward of attention the scores once more.

What is counted of attention: the pairs of a query and a key that the arguments say are computed. sparse_mode 2, 3, 4,
6, 7 and 8 count their triangle or band, if there is an atten_mask (without one the modes have no effect); sequences
laid one after the other (TND) and actual_seq_lengths count their own lengths. The *contents* of a mask are not looked
at (modes 0, 1 and 5 count every pair), nor are lengths and groups that are only known on the device: these counts are
upper bounds. Query heads that share a key head (GQA, MQA) each count.

torch's own formulas know no masks: there causal attention counts every pair.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import torch

Arguments = Mapping[str, Any]
Formula = Callable[[Arguments, Any], int]
"""From the arguments by name, with the defaults filled in, and the result."""


# ---- products --------------------------------------------------------------------------------------------------------
def _inner(x: torch.Tensor) -> int:
    """The length of a row of the left matrix; int32 holds eight numbers of four bits."""
    return x.shape[-1] * (8 if x.dtype == torch.int32 else 1)


def _first(result: Any) -> Any:
    return result[0] if isinstance(result, (tuple, list)) else result


def _by_result(x: str) -> Formula:
    """Each number of the (first) result is a sum over a row of ``x``."""
    return lambda a, result: 2 * _first(result).numel() * _inner(a[x])


def _by_left(x: str, columns: int = 1) -> Formula:
    """Each row of ``x`` with each column of the right matrix, of which the result keeps one in ``columns``."""
    return lambda a, result: 2 * a[x].numel() // a[x].shape[-1] * _inner(a[x]) * _first(result).shape[-1] * columns


def _by_right(x: str, weight: str) -> Formula:
    return lambda a, result: 2 * a[x].numel() * a[weight].shape[-1]


def _transposed(a: Arguments, result: torch.Tensor) -> int:
    order = a["perm_x2"] or (0, 1, 2)
    return 2 * result.numel() * int(a["weight"].shape[order[1]])


def _grouped(a: Arguments, result: Sequence[torch.Tensor]) -> int:
    x = a["x"]
    if len(result) > len(x):  # one left matrix, cut into groups
        return sum(2 * each.numel() * _inner(x[0]) for each in result)
    ends = [each.shape[-1] for each in result] * (len(x) if len(result) == 1 else 1)
    return sum(2 * each.numel() // each.shape[-1] * _inner(each) * n for each, n in zip(x, ends, strict=True))


def _ffn(a: Arguments, result: torch.Tensor) -> int:
    rows = a["x"].numel() // a["x"].shape[-1]
    return sum(2 * rows * prod(a[weight].shape[-2:]) for weight in ("weight1", "weight2"))


def _convolution(a: Arguments, result: torch.Tensor) -> int:
    return int(2 * result.numel() * prod(a["weight"].shape[1:]))


def _convolution_transpose(a: Arguments, result: torch.Tensor) -> int:
    return int(2 * a["input"].numel() * prod(a["weight"].shape[1:]))


def _convolution_backward(grad: str = "", mask: str = "output_mask") -> Formula:
    """As often as forward for each of the gradients of input and weight; ``grad``: that of a convolution, whose result
    had its size."""
    return lambda a, result: 2 * a[grad or "input"].numel() * prod(a["weight"].shape[1:]) * sum(a[mask][:2])


# ---- attention -------------------------------------------------------------------------------------------------------
def pairs(queries: int, keys: int, mode: int, before: int, after: int, prefix: int = 0) -> int:
    """How many keys the queries of one sequence see, in all; see the top of this file."""
    corner = 0 if mode == 2 else keys - queries  # all but mode 2 count from the lower right corner
    if mode not in (2, 3, 4, 6):
        return queries * keys
    if mode != 4:
        before, after = keys + queries, 0
    if mode == 6:  # a prefix that all see, and the triangle
        return sum(min(keys, max(prefix, row + corner + 1, 0)) for row in range(queries))
    return sum(max(0, min(keys, row + corner + after + 1) - max(0, row + corner - before)) for row in range(queries))


def _lengths(ends: Any) -> list[int] | None:
    """The lengths of sequences laid one after the other, by where they end."""
    if ends is None or (isinstance(ends, torch.Tensor) and ends.device.type != "cpu"):
        return None
    values = ends.tolist() if isinstance(ends, torch.Tensor) else list(ends)
    return [end - start for start, end in zip([0, *values], values, strict=False)]


def _shape(tensor: torch.Tensor, layout: str, heads: int) -> tuple[int, int, int]:
    """(batch, sequence, depth of a head); a batch of 0 where sequences lie one after the other."""
    s = tensor.shape
    if layout in ("TND", "NTD"):
        return 0, s[layout.index("T")], s[-1]
    sequence = s[layout.index("S")]
    return s[layout.index("B")], sequence, s[-1] if "D" in layout else s[-1] // heads


def attention(
    a: Arguments, *, heads: int, key_heads: int, lengths: Any, key_lengths: Any, before: int, after: int,
    qk: int = 1, pv: int = 1,
) -> int:  # fmt: skip
    """FLOP of softmax(q kᵀ) v.

    Args:
        a: has query, key, value, input_layout, sparse_mode, atten_mask and, where there are any, prefix, query_rope and
            block_table.
        lengths, key_lengths: of the sequences: ends for TND, else one for each batch; ``None``: all of the tensor.
        qk, pv: how many products of the kinds q kᵀ and p v there are: one each forward, three and two backward.
    """
    layout = a["input_layout"].split("_")[0]
    batch, queries, depth = _shape(a["query"], layout, heads)
    if a.get("block_table") is not None:  # keys lie in pages: only the lengths tell how many there are
        value_depth = a["value"].shape[-1] if a["value"].dim() == 4 else a["value"].shape[-1] // key_heads
        if key_lengths is None:
            return 0
        keys = 0
    else:
        _, keys, value_depth = _shape(a["value"], layout, key_heads)
    rope = a.get("query_rope")
    if rope is not None:
        depth += rope.shape[-1] if "D" in layout else rope.shape[-1] // heads
    if batch:
        each_query = _each(lengths, batch, queries)
        each_key = _each(key_lengths, batch, keys)
    else:
        each_query = _lengths(lengths) or [queries]
        each_key = (_each(key_lengths, len(each_query), keys) if keys == 0 else _lengths(key_lengths)) or [keys]
    mode = a["sparse_mode"] if a.get("atten_mask") is not None else 0
    prefixes = list(a.get("prefix") or []) or [0] * len(each_query)
    last = len(each_query) - 1
    seen = 0
    for i, (q, k) in enumerate(zip(each_query, each_key, strict=True)):
        # Where a long sequence was cut off, modes 7 and 8 are a band, else the triangle of mode 3 or 2.
        own = {7: 4 if i == last else 3, 8: 4 if i == 0 else 2}.get(mode, mode)
        seen += pairs(q, k, own, before, after, prefixes[i])
    return 2 * heads * seen * int(qk * depth + pv * value_depth)


def _each(lengths: Any, batch: int, whole: int) -> list[int]:
    if lengths is None or len(lengths) == 0 or (isinstance(lengths, torch.Tensor) and lengths.device.type != "cpu"):
        return [whole] * batch
    values = [int(length) for length in lengths]
    return values * batch if len(values) == 1 else values


def _training(before: str, after: str, qk: int = 1, pv: int = 1) -> Formula:
    def formula(a: Arguments, result: Any) -> int:
        heads = a["head_num"]
        layout = a["input_layout"]
        # SBH and BSH do not say how many key heads there are, but the depth of query and key is the same.
        key_heads = a["key"].shape[-1] * heads // a["query"].shape[-1] if "H" in layout else heads
        return attention(
            a, heads=heads, key_heads=key_heads, lengths=a["actual_seq_qlen"], key_lengths=a["actual_seq_kvlen"],
            before=a[before], after=a[after], qk=qk, pv=pv,
        )  # fmt: skip

    return formula


def _inference(heads: str, lengths: str | None, key_lengths: str) -> Formula:
    def formula(a: Arguments, result: Any) -> int:
        own = a[heads]
        return attention(
            {"sparse_mode": 0, **a}, heads=own, key_heads=a["num_key_value_heads"] or own,
            lengths=a[lengths] if lengths else None, key_lengths=a[key_lengths],
            before=a.get("pre_tokens", 0), after=a.get("next_tokens", 0),
        )  # fmt: skip

    return formula


FORMULAS: dict[str, Formula] = {
    "npu_linear":                          _by_result("input"),
    "npu_linear_backward":                 lambda a, result: 4 * a["grad"].numel() * a["input"].shape[-1],
    "npu_bmmV2":                           _by_result("self"),
    "npu_bmm_v2_mat1_backward":            lambda a, result: 2 * a["grad"].numel() * a["mat1"].shape[-1],
    "npu_bmm_v2_mat2_backward":            lambda a, result: 2 * a["grad"].numel() * a["mat1"].shape[-1],
    "npu_transpose_batchmatmul":           _transposed,
    "npu_quant_matmul":                    _by_result("x1"),
    "npu_quant_matmul_gelu":               _by_result("x1"),
    "npu_quant_matmul_dequant":            _by_result("x"),
    "npu_quant_matmul_reduce_sum":         _by_left("x1"),
    "npu_weight_quant_batchmatmul":        _by_result("x"),
    "npu_mm_all_reduce_base":              _by_result("x1"),
    "npu_all_gather_base_mm":              _by_result("self"),
    "npu_mm_reduce_scatter_base":          _by_left("self"),
    "npu_matmul_all_to_all":               _by_right("x1", "x2"),
    "npu_grouped_matmul":                  _grouped,
    "npu_grouped_matmul_add":              _by_right("x", "weight"),
    "npu_grouped_matmul_add_":             _by_right("x", "weight"),
    "npu_grouped_matmul_swiglu_quant":     _by_left("x", 2),
    "npu_grouped_matmul_swiglu_quant_v2":  _by_left("x", 2),
    "npu_grouped_matmul_finalize_routing": _by_left("x"),
    "npu_ffn":                             _ffn,
    "npu_convolution":                     _convolution,
    "npu_conv2d":                          _convolution,
    "npu_conv3d":                          _convolution,
    "npu_quant_conv2d":                    _convolution,
    "npu_convolution_transpose":           _convolution_transpose,
    "npu_conv_transpose2d":                _convolution_transpose,
    "npu_convolution_backward":            _convolution_backward("grad_output"),
    "npu_conv2d_backward":                 _convolution_backward("grad_output"),
    "npu_conv3d_backward":                 _convolution_backward("grad"),
    "npu_convolution_transpose_backward":  _convolution_backward(mask="grad_input_mask"),
    "npu_conv_transpose2d_backward":       _convolution_backward(),
    "npu_conv_transpose3d_backward":       _convolution_backward(),
    "npu_fusion_attention":                _training("pre_tockens", "next_tockens"),
    "npu_fusion_attention_v2":             _training("pre_tokens", "next_tokens"),
    "npu_fusion_attention_v3":             _training("pre_tockens", "next_tockens"),
    "npu_fusion_attention_grad":           _training("pre_tockens", "next_tockens", 3, 2),
    "npu_fusion_attention_grad_v2":        _training("pre_tokens", "next_tokens", 3, 2),
    "npu_fusion_attention_grad_v3":        _training("pre_tockens", "next_tockens", 3, 2),
    "npu_prompt_flash_attention":          _inference("num_heads", "actual_seq_lengths", "actual_seq_lengths_kv"),
    "npu_incre_flash_attention":           _inference("num_heads", None, "actual_seq_lengths"),
    "npu_fused_infer_attention_score":     _inference("num_heads", "actual_seq_lengths", "actual_seq_lengths_kv"),
    "npu_fused_infer_attention_score_v2":  _inference("num_query_heads", "actual_seq_qlen", "actual_seq_kvlen"),
}  # fmt: skip


def formula_of(op: Any) -> Formula | None:
    space, _, name = getattr(op, "_name", "").partition("::")
    return FORMULAS.get(name.partition(".")[0]) if space == "npu" else None


def flops(formula: Formula, schema: Any, args: Sequence[Any], kwargs: Arguments, result: Any) -> int:
    """What ``formula`` says of a call of an operator with ``schema``."""
    values = {a.name: a.default_value for a in schema.arguments if a.has_default_value()}
    values |= dict(zip([a.name for a in schema.arguments if not a.kwarg_only], args, strict=False))
    return int(formula(values | dict(kwargs), result))
