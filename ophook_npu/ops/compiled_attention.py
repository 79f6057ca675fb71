"""torch's scaled_dot_product_attention in graphs compiled by torchair of torch_npu 2.13, for inference and training.

torchair has no converter for the operators that torch_npu puts in its place. It generates C++ that calls them inside
the graph, where they refuse the engine's stream: "External NPU stream is not supported in NPUEvent::record". Remove
this file when torchair brings converters, or torch_npu lets an event be recorded there.
"""

from __future__ import annotations

from typing import Any

import torch

_INT64 = 9  # ge::DataType
_ALL = 2**31 - 1


def register_attention_converters() -> None:
    """Register converters for ``npu::npu_fusion_attention_v3`` and its gradient, onto GE's FlashAttentionScore.

    Without dropout, which GE's operator would take as a mask that the graph does not have. Needs torch_npu and loads
    torchair.
    """
    from torchair._ge_concrete_graph.fx2ge_converter import register_fx_node_ge_converter

    register_fx_node_ge_converter(torch.ops.npu.npu_fusion_attention_v3.default)(_forward)
    register_fx_node_ge_converter(torch.ops.npu.npu_fusion_attention_grad_v3.default)(_backward)


def _without_dropout(keep_prob: float) -> None:
    if keep_prob != 1.0:
        raise NotImplementedError(  # of one argument: torchair raises an error's type again, with its own text
            f"[npu_fusion_attention_v3] keep_prob is {keep_prob} in a graph compiled by torchair; allowed: no dropout; "
            "next: leave this attention out of the graph"
        )


def _forward(
    query: Any, key: Any, value: Any, head_num: int, input_layout: str, pse: Any = None, padding_mask: Any = None,
    atten_mask: Any = None, scale: float = 1.0, keep_prob: float = 1.0, pre_tockens: int = _ALL,
    next_tockens: int = _ALL, inner_precise: int = 0, prefix: Any = None, actual_seq_qlen: Any = None,
    actual_seq_kvlen: Any = None, sparse_mode: int = 0, *_: Any, **__: Any,
) -> tuple[Any, ...]:  # fmt: skip
    from torchair._ge_concrete_graph import ge_apis as ge

    _without_dropout(keep_prob)
    largest, total, weights, out = ge.FlashAttentionScore(
        query, key, value, pse, None, padding_mask, atten_mask, prefix, actual_seq_qlen, actual_seq_kvlen, None, None,
        head_num=head_num, input_layout=input_layout, scale_value=scale, keep_prob=keep_prob, pre_tockens=pre_tockens,
        next_tockens=next_tockens, inner_precise=inner_precise, sparse_mode=sparse_mode,
    )  # fmt: skip
    seed, offset = (ge.Fill([1], ge.Cast(0, dst_type=_INT64)) for _ in range(2))
    return out, largest, total, weights, seed, offset


def _backward(
    query: Any, key: Any, value: Any, dy: Any, head_num: int, input_layout: str, *, pse: Any = None,
    padding_mask: Any = None, atten_mask: Any = None, softmax_max: Any = None, softmax_sum: Any = None,
    softmax_in: Any = None, attention_in: Any = None, scale_value: float = 1.0, keep_prob: float = 1.0,
    pre_tockens: int = _ALL, next_tockens: int = _ALL, inner_precise: int = 0, prefix: Any = None,
    actual_seq_qlen: Any = None, actual_seq_kvlen: Any = None, sparse_mode: int = 0, **_: Any,
) -> tuple[Any, ...]:  # fmt: skip
    from torchair._ge_concrete_graph import ge_apis as ge

    _without_dropout(keep_prob)
    grads = ge.FlashAttentionScoreGrad(
        query, key, value, dy, pse, None, padding_mask, atten_mask, softmax_max, softmax_sum, softmax_in, attention_in,
        prefix, actual_seq_qlen, actual_seq_kvlen, None, None, head_num=head_num, input_layout=input_layout,
        scale_value=scale_value, keep_prob=keep_prob, pre_tockens=pre_tockens, next_tockens=next_tockens,
        inner_precise=inner_precise, sparse_mode=sparse_mode,
    )  # fmt: skip
    return *grads, ge.Fill([0], ge.Cast(0.0, dst_type=query.dtype))  # of a sink, which the operator does not have
