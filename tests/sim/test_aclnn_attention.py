"""Attention with a sink, with positions in a depth of their own, and what inference asks of the device: by formula."""

from __future__ import annotations

import ctypes

import pytest
import torch
import torch_npu
from interfaces import Refused, aclnn, libraries, parameters
from values import close, gradients, real

BF16 = torch.bfloat16
FAR = 1 << 30


def attention(query, key, value, sink=None, *, scale: float, causal: bool = False):
    """query (heads, queries, depth); keys may have fewer heads. The sink is one more column of scores."""
    each = query.shape[0] // key.shape[0]
    key, value = key.repeat_interleave(each, 0), value.repeat_interleave(each, 0)
    score = query @ key.transpose(1, 2) * scale
    if causal:
        late = torch.ones(score.shape[1:], dtype=torch.bool).triu(score.shape[2] - score.shape[1] + 1)
        score = score.masked_fill(late, -torch.inf)
    if sink is not None:
        score = torch.cat([score, sink.reshape(-1, 1, 1).expand(-1, score.shape[1], 1)], 2)
    return score.softmax(-1)[..., : key.shape[1]] @ value


def of_sequences(query, key, value, sink, query_ends, key_ends, **how):
    """query (tokens, heads, depth), one sequence after the other."""
    parts = []
    for i, (end, key_end) in enumerate(zip(query_ends, key_ends, strict=True)):
        first, key_first = (query_ends[i - 1], key_ends[i - 1]) if i else (0, 0)
        q, k, v = query[first:end], key[key_first:key_end], value[key_first:key_end]
        parts.append(attention(*(x.transpose(0, 1) for x in (q, k, v)), sink, **how).transpose(0, 1))
    return torch.cat(parts)


@pytest.mark.parametrize("given", [True, False], ids=["with the forward's statistics", "without them"])
def test_a_sink_of_whole_sequences(given: bool) -> None:
    q, k, v, grad = (real(2, heads, 5, 16, seed=n, dtype=torch.float16) for n, heads in enumerate((4, 2, 2, 4)))
    sink = real(4, seed=5)

    def formula(q, k, v, sink):
        return torch.stack([attention(q[i], k[i], v[i], sink, scale=0.3, causal=True) for i in range(2)])

    want = gradients(formula, q, k, v, sink, grad=grad)
    mask = torch.ones(2048, 2048, dtype=torch.bool).triu(1)
    top, total, out = torch.zeros(2, 4, 5, 8), torch.zeros(2, 4, 5, 8), torch.zeros_like(q)
    aclnn(
        "aclnnFlashAttentionScoreV3", q, k, v, None, None, None, mask, sink, None, None, None, 0.3, 1.0, FAR, FAR, 4,
        "BNSD", 0, 3, 1, top, total, None, out,
    )  # fmt: skip
    close(out, formula(*(x.double() for x in (q, k, v, sink))), 2e-3)
    got = [torch.zeros_like(x) for x in (q, k, v)]
    to_sink = torch.zeros(4)
    aclnn(
        "aclnnFlashAttentionScoreGradV3", q, k, v, grad, None, None, None, mask, top if given else None,
        total if given else None, None, out if given else None, sink, None, None, None, 0.3, 1.0, FAR, FAR, 4, "BNSD",
        0, 3, 1, *got, None, to_sink,
    )  # fmt: skip
    for one, expected in zip([*got, to_sink], want, strict=True):
        close(one, expected, 5e-3)


@pytest.mark.parametrize("layout", ["BNSD", "TND"])
def test_a_sink_through_torch_npu(layout: str) -> None:
    heads, ends = 4, [3, 8]
    shape = (2, heads, 5, 16) if layout == "BNSD" else (8, heads, 16)
    inputs = [real(*shape, seed=n, dtype=BF16) for n in range(3)]
    grad, sink = real(*shape, seed=3, dtype=BF16), real(heads, seed=5)

    def formula(q, k, v, sink):
        if layout == "TND":
            return of_sequences(q, k, v, sink, ends, ends, scale=0.25)
        return torch.stack([attention(q[i], k[i], v[i], sink, scale=0.25) for i in range(2)])

    leaves = [x.npu().requires_grad_() for x in [*inputs, sink]]
    lengths = {"actual_seq_qlen": ends, "actual_seq_kvlen": ends} if layout == "TND" else {}
    out = torch_npu.npu_fusion_attention(*leaves[:3], heads, layout, scale=0.25, sink=leaves[3], **lengths)[0]
    close(out.cpu(), formula(*(x.double() for x in [*inputs, sink])), 2e-2)
    out.backward(grad.npu())
    for leaf, want in zip(leaves, gradients(formula, *inputs, sink, grad=grad), strict=True):
        close(leaf.grad.cpu(), want, 5e-2)


@pytest.mark.parametrize("version", [3, 5])
def test_positions_in_a_depth_of_their_own(version: int) -> None:
    heads, depth, rope, ends, key_ends = 4, 16, 8, [3, 7], [4, 10]
    q, q_rope, grad = (real(7, heads, size, seed=n, dtype=BF16) for n, size in enumerate((depth, rope, depth)))
    k, k_rope, v = (real(10, heads, size, seed=5 + n, dtype=BF16) for n, size in enumerate((depth, rope, depth)))
    sink = real(heads, seed=9) if version == 5 else None

    def formula(q, q_rope, k, k_rope, v, sink=None):
        return of_sequences(
            torch.cat([q, q_rope], -1), torch.cat([k, k_rope], -1), v, sink, ends, key_ends, scale=0.2, causal=True
        )

    leaves = [q, q_rope, k, k_rope, v] + ([sink] if version == 5 else [])
    mask = torch.ones(2048, 2048, dtype=torch.bool).triu(1)
    top, total, out = torch.zeros(7, heads, 8), torch.zeros(7, heads, 8), torch.zeros_like(q)
    sinks, layouts = ([sink], ["same_as_input"]) if version == 5 else ([], [])
    aclnn(
        f"aclnnFlashAttentionVarLenScoreV{version}", q, q_rope, k, k_rope, v, None, None, None, mask, *sinks, None,
        ends, key_ends, None, None, 0.2, 1.0, FAR, FAR, heads, "TND", 0, 3, 1, *layouts, top, total, None, out,
    )  # fmt: skip
    close(out, formula(*(x.double() for x in leaves)), 2e-2)
    got = [torch.zeros_like(x) for x in (q, q_rope, k, k_rope, v)]
    to_sink = [torch.zeros(heads)] if version == 5 else []
    aclnn(
        f"aclnnFlashAttentionUnpaddingScoreGradV{version}", q, q_rope, k, k_rope, v, grad, None, None, None, mask, top,
        total, None, out, *sinks, None, ends, key_ends, None, None, 0.2, 1.0, FAR, FAR, heads, "TND", 0, 3, 1, *layouts,
        *got, None, *to_sink,
    )  # fmt: skip
    for one, want in zip(got + to_sink, gradients(formula, *leaves, grad=grad), strict=True):
        close(one, want, 5e-2)


@pytest.mark.parametrize("layout", ["BNSD", "TND"])
def test_the_form_of_any_layout(layout: str) -> None:
    """A sink and positions of their own depth at once, in whole sequences and in sequences one behind the other."""
    heads, ends = 4, [3, 8]
    lead = (2, heads, 5) if layout == "BNSD" else (8, heads)
    q, q_rope, grad = (real(*lead, size, seed=n, dtype=BF16) for n, size in enumerate((16, 8, 16)))
    k, k_rope, v = (real(*lead, size, seed=5 + n, dtype=BF16) for n, size in enumerate((16, 8, 16)))
    sink = real(heads, seed=9)

    def formula(q, q_rope, k, k_rope, v, sink):
        q, k = torch.cat([q, q_rope], -1), torch.cat([k, k_rope], -1)
        if layout == "TND":
            return of_sequences(q, k, v, sink, ends, ends, scale=0.2)
        return torch.stack([attention(q[i], k[i], v[i], sink, scale=0.2) for i in range(2)])

    given = ends if layout == "TND" else None
    top, total, out = torch.zeros(*lead, 8), torch.zeros(*lead, 8), torch.zeros_like(q)
    aclnn(
        "aclnnFlashAttentionScoreV4", q, k, v, None, None, None, None, q_rope, k_rope, None, None, None, sink, None,
        given, given, None, None, 0.2, 1.0, FAR, FAR, heads, layout, 0, 0, 0, 1, "", 0, 0, top, total, None, out,
    )  # fmt: skip
    leaves = [q, q_rope, k, k_rope, v, sink]
    close(out, formula(*(x.double() for x in leaves)), 2e-2)
    got, to_sink = [torch.zeros_like(x) for x in leaves[:5]], torch.zeros(heads)
    to_q, to_q_rope, to_k, to_k_rope, to_v = got
    aclnn(
        "aclnnFlashAttentionScoreGradV4", q, k, v, grad, None, None, None, None, top, total, None, out, sink, q_rope,
        k_rope, *[None] * 5, None, given, given, None, None, 0.2, 1.0, FAR, FAR, heads, layout, "", 0, 0, 1, 0, 0, 0,
        to_q, to_k, to_v, to_q_rope, to_k_rope, None, to_sink,
    )  # fmt: skip
    for one, want in zip([*got, to_sink], gradients(formula, *leaves, grad=grad), strict=True):
        close(one, want, 5e-2)


def test_the_sink_and_the_positions_are_checked() -> None:
    q = real(4, 2, 16, dtype=BF16)

    def call(rope, key_rope, sink):
        out, sums = torch.zeros_like(q), [torch.zeros(4, 2, 8) for _ in range(2)]
        aclnn(
            "aclnnFlashAttentionVarLenScoreV5", q, rope, q, key_rope, q, None, None, None, None, sink, None, [4], [4],
            None, None, 1.0, 1.0, FAR, FAR, 2, "TND", 0, 0, 1, "", *sums, None, out,
        )  # fmt: skip

    for wrong, message in (
        ((None, None, torch.zeros(3)), "expected"),
        ((None, None, torch.zeros(2, dtype=BF16)), "sink"),
        ((q[..., :8], None, None), "query_rope and key_rope go together"),
        ((q[..., :8], q[:3, :, :8], None), "query_rope"),
    ):
        with pytest.raises(Refused, match=message):
            call(*wrong)


@pytest.mark.parametrize("version", [4, 5])
def test_a_sink_in_inference(version: int) -> None:
    q, k, v = (real(6, heads, 32, seed=n, dtype=BF16) for n, heads in enumerate((4, 2, 2)))
    sink, ends = real(4, seed=4, dtype=BF16), [2, 6]
    want = of_sequences(*(x.double() for x in (q, k, v, sink)), ends, ends, scale=0.2)
    out, log_sum = torch.zeros_like(q), torch.zeros(6, 4, 1)
    starts, kind = ([None, None], [0]) if version == 5 else ([], [])
    aclnn(
        f"aclnnFusedInferAttentionScoreV{version}", q, [k], [v], None, None, ends, ends, *[None] * 8, None, None,
        *[None] * 6, None, *[None] * 4, sink, *starts, 4, 0.2, FAR, FAR, "TND", 2, 0, 0, 0, 0, False, 0, 0, 0, *kind,
        out, log_sum,
    )  # fmt: skip
    close(out, want, 2e-2)


def test_a_sink_in_inference_through_torch_npu() -> None:
    q, k, v = (real(6, heads, 64, seed=n, dtype=BF16) for n, heads in enumerate((4, 2, 2)))
    sink, ends = real(4, seed=4, dtype=BF16), [2, 6]
    out, _ = torch_npu.npu_fused_infer_attention_score_v2(
        q.npu(), k.npu(), v.npu(), learnable_sink=sink.npu(), num_query_heads=4, num_key_value_heads=2,
        input_layout="TND", softmax_scale=0.2, actual_seq_qlen=ends, actual_seq_kvlen=ends,
    )  # fmt: skip
    close(out.cpu(), of_sequences(*(x.double() for x in (q, k, v, sink)), ends, ends, scale=0.2), 2e-2)
    with pytest.raises(RuntimeError, match="learnableSinkOptional has data type FLOAT"):
        torch_npu.npu_fused_infer_attention_score_v2(
            q.npu(), k.npu(), v.npu(), learnable_sink=sink.float().npu(), num_query_heads=4, num_key_value_heads=2,
            input_layout="TND", softmax_scale=0.2, actual_seq_qlen=ends, actual_seq_kvlen=ends,
        )  # fmt: skip


@pytest.mark.parametrize(
    "name",
    ["FusedInferAttentionScoreV3", "FusedInferAttentionScoreV4", "FusedInferAttentionScoreV5",
     "FlashAttentionVarLenScoreV5", "FlashAttentionUnpaddingScoreGradV5"],
)  # fmt: skip
def test_the_largest_workspace_is_asked_as_the_workspace_is(name: str) -> None:
    opapi = libraries()[0]
    kinds = parameters(f"aclnn{name}")
    both = [getattr(opapi, f"aclnn{name}Get{which}WorkspaceSize") for which in ("", "Max")]
    assert len(kinds) > 20
    assert ctypes.cast(both[0], ctypes.c_void_p).value == ctypes.cast(both[1], ctypes.c_void_p).value
