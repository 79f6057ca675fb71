"""torch_npu's fused attention operators: their arguments, in the words of the formulas.

Arguments are exactly those of the operators' schemas.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from ophook_npu.observe.references.arguments import refuse
from ophook_npu.observe.references.attention import ALL, Mask, Scores
from ophook_npu.observe.references.attention_inference import Keys, infer
from ophook_npu.observe.references.attention_training import fusion, fusion_backward

Tensor = torch.Tensor


def _scores(query: Tensor, scale: float, layout: str, pse: Tensor | None, pse_type: int, sink: Tensor | None) -> Scores:
    if pse is not None:
        if pse_type not in (0, 1):
            raise NotImplementedError(f"no formula for pse_type {pse_type}")
        if layout == "TND":
            raise NotImplementedError("no formula for argument pse in layout TND")
        rows = query.shape[{"BNSD": 2, "SBH": 0}.get(layout, 1)]
        if pse.dim() != 4 or pse.shape[-2] not in (1, rows):
            raise NotImplementedError("no formula for argument pse in its compressed form")
    return Scores(scale, pse, pse_type == 0, sink)


def _fusion_attention(
    query: Tensor, key: Tensor, value: Tensor, head_num: int, input_layout: str, pse: Tensor | None = None,
    padding_mask: Tensor | None = None, atten_mask: Tensor | None = None, scale: float = 1.0, keep_prob: float = 1.0,
    pre_tockens: int = ALL, next_tockens: int = ALL, inner_precise: int = 0, prefix: Sequence[int] | None = None,
    actual_seq_qlen: Any = None, actual_seq_kvlen: Any = None, sparse_mode: int = 0, gen_mask_parallel: bool = True,
    sync: bool = False, softmax_layout: str = "", sink: Tensor | None = None, dropout_mask: Tensor | None = None,
    seed: int = 0, offset: int = 0, *, pse_type: int = 1, states: int = 3,
) -> tuple[Any, ...]:  # fmt: skip
    # ``states``: how many results after the fourth tell the state of the random numbers.
    _kept(keep_prob)
    layout = input_layout.upper()
    how = _scores(query, scale, layout, pse, pse_type, sink)
    mask = Mask(atten_mask, sparse_mode, pre_tockens, next_tockens, prefix or (), inner_precise == 2)
    results = fusion(query, key, value, head_num, layout, how, mask, actual_seq_qlen, actual_seq_kvlen, softmax_layout)
    return *results, *[None] * states


def _fusion_attention_v2(
    query: Tensor, key: Tensor, value: Tensor, head_num: int, input_layout: str, *, query_rope: Tensor | None = None,
    key_rope: Tensor | None = None, pre_tokens: int = ALL, next_tokens: int = ALL,
    q_start_idx: Sequence[int] | None = None, kv_start_idx: Sequence[int] | None = None, **rest: Any,
) -> tuple[Any, ...]:  # fmt: skip
    refuse(query_rope=query_rope, key_rope=key_rope, q_start_idx=q_start_idx, kv_start_idx=kv_start_idx)
    rest |= {"pre_tockens": pre_tokens, "next_tockens": next_tokens}
    return _fusion_attention(query, key, value, head_num, input_layout, **rest)


def _fusion_attention_v3(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
    return _fusion_attention(*args, **kwargs, states=2)


def _fusion_attention_grad(
    query: Tensor, key: Tensor, value: Tensor, dy: Tensor, head_num: int, input_layout: str, *,
    pse: Tensor | None = None, padding_mask: Tensor | None = None, atten_mask: Tensor | None = None,
    softmax_max: Tensor | None = None, softmax_sum: Tensor | None = None, softmax_in: Tensor | None = None,
    attention_in: Tensor | None = None, scale_value: float = 1.0, keep_prob: float = 1.0, pre_tockens: int = ALL,
    next_tockens: int = ALL, inner_precise: int = 0, seed: Any = 0, offset: Any = 0, numels: int = 0,
    prefix: Sequence[int] | None = None, actual_seq_qlen: Any = None, actual_seq_kvlen: Any = None,
    sparse_mode: int = 0, gen_mask_parallel: bool = True, sync: bool = False, softmax_layout: str = "",
    sink: Tensor | None = None, pse_type: int = 1,
) -> tuple[Any, ...]:  # fmt: skip
    _kept(keep_prob)
    layout = input_layout.upper()
    how = _scores(query, scale_value, layout, pse, pse_type, sink)
    mask = Mask(atten_mask, sparse_mode, pre_tockens, next_tockens, prefix or (), inner_precise == 2)
    return fusion_backward(
        query, key, value, dy, head_num, layout, how, mask, actual_seq_qlen, actual_seq_kvlen, softmax_layout,
        softmax_max, softmax_sum, attention_in,
    )  # fmt: skip


def _fusion_attention_grad_v2(
    *args: Any, query_rope: Tensor | None = None, key_rope: Tensor | None = None, pre_tokens: int = ALL,
    next_tokens: int = ALL, q_start_idx: Sequence[int] | None = None, kv_start_idx: Sequence[int] | None = None,
    **rest: Any,
) -> tuple[Any, ...]:  # fmt: skip
    refuse(query_rope=query_rope, key_rope=key_rope, q_start_idx=q_start_idx, kv_start_idx=kv_start_idx)
    rest |= {"pre_tockens": pre_tokens, "next_tockens": next_tokens}
    *grads, to_sink = _fusion_attention_grad(*args, **rest)
    return *grads, None, None, to_sink


def _kept(keep_prob: float) -> None:
    if keep_prob != 1:
        raise NotImplementedError(f"keep_prob {keep_prob}: what is dropped is random")


# What only the speed depends on, or what the tensors say themselves.
_IGNORED = {"inner_precise", "padding_mask", "block_size"}
_INFERENCE = {
    "atten_mask", "actual_seq_lengths", "actual_seq_lengths_kv", "num_heads", "num_key_value_heads", "scale_value",
    "pre_tokens", "next_tokens", "input_layout", "sparse_mode", "block_table", "query_rope", "key_rope",
}  # fmt: skip


def _infer(query: Tensor, key: Any, value: Any, given: dict[str, Any], *, next_tokens: int) -> tuple[Any, Any]:
    """Attention without a backward. What else is given is quantization, a shared prefix and such."""
    refuse(**{name: value for name, value in given.items() if name not in _INFERENCE | _IGNORED})
    key, value = (t[0] if isinstance(t, (list, tuple)) and len(t) == 1 else t for t in (key, value))
    if not isinstance(key, Tensor):
        raise NotImplementedError("no formula for argument key as a list")
    if not (query.is_floating_point() and key.is_floating_point()):
        raise NotImplementedError("no formula for argument query or key in integers")
    zeros = given.get("inner_precise", 0) in (2, 3)
    mode, before, after = (
        given.get(n, d) for n, d in (("sparse_mode", 0), ("pre_tokens", ALL), ("next_tokens", next_tokens))
    )
    mask = Mask(given.get("atten_mask"), mode, before, after, (), zeros)
    heads = given.get("num_heads", 1)
    key_heads = given.get("num_key_value_heads", 0) or heads
    keys = Keys(
        key, value, key_heads, given.get("actual_seq_lengths_kv"), given.get("block_table"), given.get("key_rope")
    )
    layout, how = given.get("input_layout", "BSH").upper(), Scores(given.get("scale_value", 1.0))
    lengths, rope = given.get("actual_seq_lengths"), given.get("query_rope")
    return infer(query, keys, heads, layout, how, mask, lengths, rope)


def _prompt_attention(query: Tensor, key: Tensor, value: Tensor, **given: Any) -> Any:
    return _infer(query, key, value, given, next_tokens=0)[0]


def _incre_attention(query: Tensor, key: Tensor, value: Tensor, **given: Any) -> Any:
    # Here inner_precise tells something else, and the mask has a row for each batch: of its one query.
    given.pop("inner_precise", None)
    mask = given.get("atten_mask")
    if mask is not None:
        given["atten_mask"] = mask.reshape(query.shape[0], 1, 1, -1)
    given["actual_seq_lengths_kv"] = given.pop("actual_seq_lengths", None)
    return _infer(query, key, value, given, next_tokens=ALL)[0]


def _fused_infer_attention(
    query: Tensor, key: Tensor, value: Tensor, *, query_rope: Tensor | None = None, key_rope: Tensor | None = None,
    **given: Any,
) -> tuple[Any, Any]:  # fmt: skip
    wants_lse = given.pop("softmax_lse_flag", False)
    given["scale_value"] = given.pop("scale", 1.0)
    for mode in ("antiquant_mode", "key_antiquant_mode", "value_antiquant_mode"):
        given.pop(mode, None)
    layout = given.get("input_layout", "BSH").partition("_")[0]
    mask = given.get("atten_mask")
    if layout in ("BNSD", "BSND", "BSH") and query.shape[2 if layout == "BNSD" else 1] == 1:
        if query_rope is None:
            given["sparse_mode"] = 0  # has no effect for one query
        if mask is not None and mask.dim() == 2 and mask.shape[0] == query.shape[0]:
            given["atten_mask"] = mask[:, None, None]
    given |= {"query_rope": query_rope, "key_rope": key_rope}
    out, lse = _infer(query, key, value, given, next_tokens=ALL)
    return out, lse if wants_lse else None


def _fused_infer_attention_v2(query: Tensor, key: Tensor, value: Tensor, **given: Any) -> tuple[Any, Any]:
    renamed = {
        "actual_seq_qlen": "actual_seq_lengths", "actual_seq_kvlen": "actual_seq_lengths_kv",
        "num_query_heads": "num_heads", "softmax_scale": "scale", "return_softmax_lse": "softmax_lse_flag",
    }  # fmt: skip
    for mode in ("query_quant_mode", "key_quant_mode", "value_quant_mode"):
        given.pop(mode, None)
    return _fused_infer_attention(query, key, value, **{renamed.get(name, name): v for name, v in given.items()})


ATTENTION: Mapping[str, Callable[..., Any]] = {
    "npu_fusion_attention": _fusion_attention,
    "npu_fusion_attention_grad": _fusion_attention_grad,
    "npu_fusion_attention_v2": _fusion_attention_v2,
    "npu_fusion_attention_grad_v2": _fusion_attention_grad_v2,
    "npu_fusion_attention_v3": _fusion_attention_v3,
    "npu_fusion_attention_grad_v3": _fusion_attention_grad,
    "npu_prompt_flash_attention": _prompt_attention,
    "npu_incre_flash_attention": _incre_attention,
    "npu_fused_infer_attention_score": _fused_infer_attention,
    "npu_fused_infer_attention_score_v2": _fused_infer_attention_v2,
}
