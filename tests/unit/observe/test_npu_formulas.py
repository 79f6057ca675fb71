"""The formulas that stand for torch_npu's fused operators, against torch's own operators and autograd, on the CPU."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from torch.nn import functional as F

from ophook_npu.observe.references import Unspecified, reference_of
from ophook_npu.observe.references.npu import NPU_REFERENCES

WIDE = torch.float64


def formula(name):
    return NPU_REFERENCES[f"npu::{name}"]


def random(*shape, dtype=WIDE):
    return torch.randn(*shape, dtype=dtype)


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def close(got, want):
    torch.testing.assert_close(got, want, rtol=1e-9, atol=1e-9)


def test_formulas_are_loaded_only_for_operators_of_an_npu(run_python):
    code = (
        "import sys, torch; from ophook_npu import observe\n"
        "with observe.Compare() as c: torch.ones(2).exp()\n"
        "assert c.compared == 2\n"
        "assert not [m for m in sys.modules if m.endswith(('references.npu', 'references.attention'))]"
    )
    done = run_python("-c", code)
    assert done.returncode == 0, done.stderr
    assert reference_of("npu::npu_swiglu") is not None and reference_of("npu::no_such") is None


def test_the_documentation_lists_the_formulas():
    page = (Path(__file__).parents[3] / "docs" / "observing.md").read_text(encoding="utf-8")
    table = re.search(r"\| \| operators with a formula.*?\n\n", page, re.S)[0]
    listed = re.findall(r"`([\w.]+)`", table.split("|---|", 1)[1])
    assert sorted(f"npu::{name}" for name in listed) == sorted(NPU_REFERENCES)


# ---- attention -------------------------------------------------------------------------------------------------------
B, N, S, K, D = 2, 4, 6, 9, 8


def laid_out(x, layout):
    if layout in ("BNSD", "BSND"):
        return x if layout == "BNSD" else x.transpose(1, 2)
    return x.transpose(1, 2).flatten(2) if layout == "BSH" else x.permute(2, 0, 1, 3).flatten(2)


def band(queries, keys, before, after, corner):
    """True where a key is hidden, spelled out element by element."""
    offset = keys - queries if corner else 0
    return torch.tensor(
        [[not i + offset - before <= j <= i + offset + after for j in range(keys)] for i in range(queries)]
    )


SIGN = torch.ones(2048, 2048, dtype=torch.bool).triu(1)
MODES = {
    "full": ({}, None),
    "given": ({"atten_mask": band(S, K, 99, 2, False)}, band(S, K, 99, 2, False)),
    "of heads": (
        {"atten_mask": band(S, K, 99, 2, False).expand(B, N, S, K), "sparse_mode": 1},
        band(S, K, 99, 2, False),
    ),
    "upper left": ({"atten_mask": SIGN, "sparse_mode": 2}, band(S, K, 99, 0, False)),
    "lower right": ({"atten_mask": SIGN, "sparse_mode": 3}, band(S, K, 99, 0, True)),
    "band": ({"atten_mask": SIGN, "sparse_mode": 4, "pre_tockens": 2, "next_tockens": 1}, band(S, K, 2, 1, True)),
    "prefix": (
        {"atten_mask": SIGN, "sparse_mode": 6, "prefix": [5, 8]},
        torch.stack([band(S, K, 99, 0, True) & (torch.arange(K) >= n) for n in (5, 8)]).unsqueeze(1),
    ),
}


@pytest.mark.parametrize("layout", ["BNSD", "BSND", "BSH", "SBH"])
@pytest.mark.parametrize("mode", MODES)
def test_attention_is_torchs_attention_forward_and_backward(layout, mode):
    arguments, hidden = MODES[mode]
    q, k, v = (random(B, n, s, D).requires_grad_() for n, s in ((N, S), (2, K), (2, K)))
    wanted = F.scaled_dot_product_attention(
        q, k, v, attn_mask=None if hidden is None else ~hidden, scale=0.3, enable_gqa=True
    )
    gradient = random(B, N, S, D)
    grads = torch.autograd.grad(wanted, (q, k, v), gradient)
    given = [laid_out(x.detach(), layout) for x in (q, k, v)]
    out, largest, total, unused, *state = formula("npu_fusion_attention")(*given, N, layout, scale=0.3, **arguments)
    close(out, laid_out(wanted.detach(), layout))
    assert largest.shape == total.shape == (B, N, S, 8) and unused.numel() == 0 and state == [None] * 3
    scores = q.detach() @ k.detach().repeat_interleave(2, 1).mT * 0.3
    scores = scores if hidden is None else scores.masked_fill(hidden, -torch.inf)
    close(largest[..., 3] + total[..., 3].log(), scores.logsumexp(-1))
    for forward in ({}, {"softmax_max": largest, "softmax_sum": total, "attention_in": out}):
        got = formula("npu_fusion_attention_grad")(
            *given, laid_out(gradient, layout), N, layout, scale_value=0.3, **forward, **arguments
        )
        close(list(got[:3]), [laid_out(g, layout) for g in grads])
        assert got[3:] == (None, None)


@pytest.mark.parametrize("sink", [False, True])
@pytest.mark.parametrize("pse_type", [0, 1])
def test_position_encoding_and_sink(pse_type, sink):
    q, k, v, pse = (random(*s).requires_grad_() for s in ((B, N, S, D), (B, N, K, D), (B, N, K, D), (1, N, S, K)))
    sinks = random(N).requires_grad_() if sink else None
    product = q @ k.mT
    scores = (product + pse) * 0.3 if pse_type == 1 else product * 0.3 + pse
    if sinks is not None:
        scores = torch.cat((scores, sinks.view(1, N, 1, 1).expand(B, N, S, 1)), -1)
    wanted = scores.softmax(-1)[..., :K] @ v
    gradient = random(B, N, S, D)
    leaves = (q, k, v, pse, sinks) if sink else (q, k, v, pse)
    grads = torch.autograd.grad(wanted, leaves, gradient)
    with torch.no_grad():
        more = {"pse": pse, "pse_type": pse_type, "sink": sinks}
        out, largest, *_ = formula("npu_fusion_attention_v2")(q, k, v, N, "BNSD", scale=0.3, **more)
        close(out, wanted)
        assert isinstance(largest, Unspecified) == sink
        got = formula("npu_fusion_attention_grad_v2")(q, k, v, gradient, N, "BNSD", scale_value=0.3, **more)
    close([got[i] for i in (0, 1, 2, 3, 6)][: len(grads)], list(grads))


# Sequences of (queries, keys), and for each sparse mode whether each is a band or counts from a corner.
LENGTHS = [(3, 3), (2, 6), (4, 5)]
BY_SEQUENCE = {
    0: [None] * 3,
    2: [(99, 0, False)] * 3,
    3: [(99, 0, True)] * 3,
    4: [(3, 1, True)] * 3,
    7: [(99, 0, True), (99, 0, True), (3, 1, True)],
    8: [(3, 1, True), (99, 0, False), (99, 0, False)],
}


@pytest.mark.parametrize("softmax_layout", ["", "TND"])
@pytest.mark.parametrize("mode", BY_SEQUENCE)
def test_sequences_of_different_lengths(mode, softmax_layout):
    ends = [torch.tensor(n).cumsum(0).tolist() for n in zip(*LENGTHS, strict=True)]
    q, k, v = (random(n[-1], heads, D).requires_grad_() for n, heads in zip([*ends, ends[1]], (N, 2, 2), strict=True))
    parts, maxima = [], []
    for (queries, keys), e, f, shape in zip(LENGTHS, *ends, BY_SEQUENCE[mode], strict=True):
        a, b, c = (
            t[end - n : end].transpose(0, 1)[None] for t, end, n in ((q, e, queries), (k, f, keys), (v, f, keys))
        )
        hidden = torch.zeros(queries, keys, dtype=torch.bool) if shape is None else band(queries, keys, *shape)
        parts.append(F.scaled_dot_product_attention(a, b, c, attn_mask=~hidden, enable_gqa=True)[0].transpose(0, 1))
        scores = (a @ b.repeat_interleave(2, 1).mT / D**0.5).masked_fill(hidden, -torch.inf)
        maximum = scores.detach().amax(-1)[0]
        maxima.append(maximum.T if softmax_layout == "TND" else maximum)
    wanted = torch.cat(parts)
    gradient = torch.randn_like(wanted)
    grads = torch.autograd.grad(wanted, (q, k, v), gradient)
    more = {
        "actual_seq_qlen": ends[0],
        "actual_seq_kvlen": ends[1],
        "sparse_mode": mode,
        "softmax_layout": softmax_layout,
    }
    more |= {"atten_mask": SIGN if mode else None, "pre_tockens": 3, "next_tockens": 1}
    with torch.no_grad():
        out, largest, total, *_ = formula("npu_fusion_attention")(q, k, v, N, "TND", scale=D**-0.5, **more)
        close(out, wanted)
        close(largest[..., 0].flatten(), torch.cat([m.flatten() for m in maxima]))
        got = formula("npu_fusion_attention_grad")(
            q, k, v, gradient, N, "TND", scale_value=D**-0.5, softmax_max=largest, softmax_sum=total, attention_in=out,
            **more,
        )  # fmt: skip
    close(list(got[:3]), list(grads))


def test_queries_without_keys():
    q, k, v = random(1, 1, 4, D), random(1, 1, 2, D), random(1, 1, 2, D)
    mask = band(4, 2, 99, 0, True)  # the first two see nothing
    out, largest, *_ = formula("npu_fusion_attention")(q, k, v, 1, "BNSD", atten_mask=SIGN, sparse_mode=3)
    assert out[0, 0, :2].eq(0).all() and out[0, 0, 2:].ne(0).all() and "sees no key" in largest.reason
    assert largest.known.flatten().tolist() == [False, False, True, True]
    unsure, *_ = formula("npu_fusion_attention")(q, k, v, 1, "BNSD", atten_mask=mask)
    close(unsure.value, out)
    assert unsure.known[0, 0, :, 0].tolist() == [False, False, True, True]
    with pytest.raises(NotImplementedError, match="atten_mask hides all keys of a query"):
        formula("npu_fusion_attention_grad")(q, k, v, q, 1, "BNSD", atten_mask=mask)
    sure, *_ = formula("npu_fusion_attention")(q, k, v, 1, "BNSD", atten_mask=mask, inner_precise=2)
    close(sure, out)
    grads = formula("npu_fusion_attention_grad")(
        q, k, v, torch.ones_like(q), 1, "BNSD", atten_mask=mask, inner_precise=2
    )
    assert all(g.isfinite().all() for g in grads[:3]) and grads[0][0, 0, :2].eq(0).all()


REFUSED = {
    "keep_prob 0.9": ("npu_fusion_attention", {"keep_prob": 0.9}),
    "sparse_mode 9": ("npu_fusion_attention", {"atten_mask": SIGN, "sparse_mode": 9}),
    "layout XYZ": ("npu_fusion_attention", {"input_layout": "XYZ"}),
    "pse in its compressed form": ("npu_fusion_attention", {"pse": torch.ones(1, 1, 3, 4)}),
    "argument query_rope": ("npu_fusion_attention_v2", {"query_rope": torch.ones(1)}),
    "pse_type 2": ("npu_fusion_attention_v2", {"pse": torch.ones(1), "pse_type": 2}),
    "argument quant_scale1": ("npu_prompt_flash_attention", {"quant_scale1": torch.ones(1)}),
    "argument pse_shift": ("npu_fused_infer_attention_score", {"pse_shift": torch.ones(1)}),
    "argument kv_padding_size": ("npu_incre_flash_attention", {"kv_padding_size": torch.ones(1)}),
    "argument dequant_scale_key": ("npu_fused_infer_attention_score_v2", {"dequant_scale_key": torch.ones(1)}),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_has_no_formula_is_refused_by_the_name_of_the_argument(what):
    name, arguments = REFUSED[what]
    q = random(1, 1, 4, D)
    heads = {"head_num": 1} if "fusion" in name else {"num_query_heads" if "v2" in name else "num_heads": 1}
    with pytest.raises(NotImplementedError, match=what):
        formula(name)(q, q, q, **{"input_layout": "BNSD", **heads, **arguments})


@pytest.mark.parametrize("layout", ["BNSD", "BSND", "BSH", "BNSD_BSND"])
def test_inference_attention(layout):
    q, k, v = random(B, N, S, D), random(B, 2, K, D), random(B, 2, K, D)
    lengths = [5, 9]
    hidden = torch.stack([(torch.arange(K) >= n) | band(S, K, 99, n - K, True) for n in lengths]).unsqueeze(1)
    seen = ~hidden.all(-1, keepdim=True)
    wanted = F.scaled_dot_product_attention(q, k, v, attn_mask=~hidden, scale=0.3, enable_gqa=True).nan_to_num() * seen
    into, _, back = layout.partition("_")
    given = [laid_out(x, into) for x in (q, k, v)]
    common = {"input_layout": layout, "num_key_value_heads": 2, "atten_mask": SIGN, "sparse_mode": 3}
    want = laid_out(wanted, back or into)
    close(
        formula("npu_prompt_flash_attention")(
            *given, num_heads=N, scale_value=0.3, actual_seq_lengths_kv=lengths, **common
        ),
        want,
    )
    out, lse = formula("npu_fused_infer_attention_score_v2")(
        *given, num_query_heads=N, softmax_scale=0.3, actual_seq_kvlen=lengths, **common
    )
    close(out, want)
    assert lse is None  # nobody asked for it


def test_inference_attention_of_one_token():
    q, k, v = random(B, N, 1, D), random(B, 2, K, D), random(B, 2, K, D)
    hidden = torch.arange(K) >= torch.tensor([4, 7]).reshape(B, 1, 1, 1)
    hidden[:, :, :, 1] = True
    wanted = F.scaled_dot_product_attention(q, k, v, attn_mask=~hidden, scale=0.3, enable_gqa=True)
    mask = torch.zeros(B, 1, K, dtype=torch.bool)
    mask[..., 1] = True
    common = {"num_key_value_heads": 2, "input_layout": "BNSD", "actual_seq_lengths": [4, 7]}
    close(
        formula("npu_incre_flash_attention")(
            q, k, v, num_heads=N, scale_value=0.3, atten_mask=mask, inner_precise=1, **common
        ),
        wanted,
    )
    common["actual_seq_lengths_kv"] = common.pop("actual_seq_lengths")
    out, lse = formula("npu_fused_infer_attention_score")(
        q, k, v, num_heads=N, scale=0.3, atten_mask=mask.squeeze(1), softmax_lse_flag=True, **common
    )
    close(out, wanted)
    scores = (q @ k.repeat_interleave(2, 1).mT * 0.3).masked_fill(hidden, -torch.inf)
    close(lse, scores.logsumexp(-1, True))


# ---- everything else: the backward formula against autograd through the forward one ----------------------------------
def swish_of_groups(x, w, b):
    n = F.group_norm(x, 2, w, b)
    return n * torch.sigmoid(1.0 * n)


def log_softmax_loss(x):
    return F.cross_entropy(x, torch.tensor([1, 0, 2]), torch.tensor([1.0, 2.0, 0.5], dtype=WIDE), ignore_index=2)


def prob_loss(x, labels):
    return -(labels * x.log_softmax(-1)).sum(-1)


X, Y, G, H = (random(2, 3, 8) for _ in range(4))
W, V = random(8), random(8)
MASK = torch.rand(2, 1, 3, 8) < 0.3
PLAIN = {
    "npu_rms_norm": ((X, W), lambda x, w: F.rms_norm(x, (8,), w, 1e-6)),
    "npu_gemma_rms_norm": ((X, W), lambda x, w: F.rms_norm(x, (8,), w + 1, 1e-6)),
    "npu_add_rms_norm": ((X, Y, W), lambda x, y, w: F.rms_norm(x + y, (8,), w, 1e-6)),
    "npu_add_layer_norm": ((X, Y, W, V), lambda x, y, w, v: F.layer_norm(x + y, (8,), w, v)),
    "npu_layer_norm_eval": ((X, [8], W, V), lambda x, s, w, v: F.layer_norm(x, s, w, v)),
    "npu_group_norm_silu": ((random(2, 4, 5), W[:4], V[:4], 2), lambda x, w, v, g: F.silu(F.group_norm(x, g, w, v))),
    "npu_group_norm_swish": ((random(2, 4, 5), 2, W[:4], V[:4]), lambda x, g, w, v: swish_of_groups(x, w, v)),
    "npu_clipped_swiglu": (
        (X * 9,),
        lambda x: (g := x[..., ::2].clamp(max=7)) * torch.sigmoid(1.702 * g) * (x[..., 1::2].clamp(-7, 7) + 1),
    ),
    "npu_swiglu": ((X,), lambda x: F.silu(x[..., :4]) * x[..., 4:]),
    "npu_geglu": ((X,), lambda x: x[..., :4] * F.gelu(x[..., 4:], approximate="tanh")),
    "npu_gelu_mul": ((X,), lambda x: F.gelu(x[..., :4]) * x[..., 4:]),
    "npu_linear": ((X[0], random(5, 8), random(5)), F.linear),
    "npu_bmmV2": ((X, random(2, 8, 4), []), lambda a, b, _: a @ b),
    "npu_silu": ((X,), F.silu),
    "npu_mish": ((X,), F.mish),
    "npu_fast_gelu": ((X,), lambda x: x / (1 + (-1.702 * x).exp())),
    "npu_slice": ((X, [0, 1, 2], [2, 2, -1]), lambda x, *_: x[:, 1:, 2:]),
    "npu_pad": ((X, [0, 1, 2, 0, 0, 0]), lambda x, _: F.pad(x, (0, 0, 2, 0, 0, 1))),
    "npu_softmax_cross_entropy_with_logits": ((X[0], Y[0].softmax(-1)), prob_loss),
    "npu_scaled_masked_softmax": (
        (random(2, 2, 3, 8), MASK, 0.5),
        lambda x, m, s: (x * s).masked_fill(m, -10000).softmax(-1),
    ),
}


@pytest.mark.parametrize("name", PLAIN)
def test_forward_formula(name):
    arguments, wanted = PLAIN[name]
    got = formula(name)(*arguments)
    close(got[0] if isinstance(got, tuple) else got, wanted(*arguments))


def rstd_of_groups(x):
    return (x.reshape(2, 2, -1).var(-1, correction=0) + 1e-5).rsqrt()


def rms(x, w):
    return F.rms_norm(x, (8,), w, 1e-6)


RSTD = (X.square().mean(-1, True) + 1e-6).rsqrt()
SUM = 0.3 * X + Y
MEAN, SPREAD = SUM.mean(-1, True), (SUM.var(-1, correction=0, keepdim=True) + 1e-6).rsqrt()
SUM1 = X + Y
MEAN1, SPREAD1 = SUM1.mean(-1, True), (SUM1.var(-1, correction=0, keepdim=True) + 1e-5).rsqrt()
T4 = random(2, 3, 4, 6)
# name -> the function whose backward it is, what to differentiate, the arguments given the gradient of its result
BACKWARD = {
    "npu_rms_norm_backward": (rms, (X, W), lambda g, x, w: (g, x, w, RSTD)),
    "npu_add_layer_norm_backward": (
        lambda x, y, w, v: F.layer_norm(x + y, (8,), w, v),
        (X, Y, W, V),
        lambda g, x, y, w, v: (g, x, y, SPREAD1, MEAN1, w, None),
    ),
    "npu_deep_norm_backward": (
        lambda x, y, v, w: F.layer_norm(0.3 * x + y, (8,), w, v, 1e-6),
        (X, Y, V, W),
        lambda g, x, y, v, w: (g, x, y, w, MEAN, SPREAD),
    ),
    "npu_group_norm_swish_grad": (
        swish_of_groups,
        (random(2, 4, 5), W[:4], V[:4]),
        lambda g, x, w, b: (g, x, 2, w, b, x.reshape(2, 2, -1).mean(-1), rstd_of_groups(x), [True, True, True]),
    ),
    "npu_rotary_mul_backward": (
        lambda x, c, s: x * c + torch.cat((-x[..., 4:], x[..., :4]), -1) * s,
        (X, G[:1], H[:1]),
        lambda g, x, c, s: (g, x, c, s),
    ),
    "npu_swiglu_backward": (PLAIN["npu_swiglu"][1], (X,), lambda g, x: (g, x)),
    "npu_geglu_grad": (
        PLAIN["npu_geglu"][1],
        (X,),
        lambda g, x: (g, x, F.gelu(x[..., 4:], approximate="tanh")),
    ),
    "npu_linear_backward": (F.linear, (X[0], random(5, 8)), lambda g, x, w: (g, x, w)),
    "npu_fast_gelu_backward": (PLAIN["npu_fast_gelu"][1], (X,), lambda g, x: (g, x)),
    "npu_silu_backward": (F.silu, (X,), lambda g, x: (g, x, F.silu(x))),
    "npu_mish_backward": (F.mish, (X,), lambda g, x: (g, x)),
    "npu_gelu_backward": (F.gelu, (X,), lambda g, x: (g, x)),
    "npu_scaled_masked_softmax_backward": (
        lambda x: (x * 0.5).masked_fill(MASK, -10000).softmax(-1),
        (PLAIN["npu_scaled_masked_softmax"][0][0],),
        lambda g, x: (g, (x * 0.5).masked_fill(MASK, -10000).softmax(-1), MASK, 0.5, False),
    ),
    "npu_confusion_transpose_backward": (
        lambda x: x.permute(0, 2, 1, 3).reshape(2, 4, 18),
        (T4,),
        lambda g, x: (g, (0, 2, 1, 3), x.shape, False),
    ),
    "npu_gather_backward": (
        lambda x: x.gather(1, torch.tensor([[0, 0], [2, 1]])),
        (X[:, :, 0],),
        lambda g, x: (g, x.shape, 1, torch.tensor([[0, 0], [2, 1]]), False),
    ),
    "npu_max_backward": (
        lambda x: x.max(1)[0],
        (X,),
        lambda g, x: (g, 1, x.max(1)[1].int(), x.shape, False),
    ),
    "repeat_interleave_backward_int": (lambda x: x.repeat_interleave(3, 1), (X,), lambda g, x: (g, x, 3, 1)),
    "repeat_interleave_backward_tensor": (
        lambda x: x.repeat_interleave(torch.tensor([2, 0, 3]), 1),
        (X,),
        lambda g, x: (g, x, torch.tensor([2, 0, 3]), 1),
    ),
    "fft_r2c_backward": (lambda x: torch.fft.rfftn(x, dim=(1, 2)), (X,), lambda g, x: (g, [1, 2], 0, True, 8)),
    "fft_c2r_backward": (
        lambda x: torch.fft.irfft(x, 7, norm="forward"),
        (torch.randn(3, 4, dtype=torch.complex128),),
        lambda g, x: (g, [1], 0),
    ),
    "l1_loss_backward": (lambda x: F.l1_loss(x, Y), (X,), lambda g, x: (g, x, Y, 1)),
    "kl_div_backward": (
        lambda x: F.kl_div(x, Y.abs(), reduction="sum"),
        (X,),
        lambda g, x: (g, x, Y.abs(), 2),
    ),
    "kl_div_target_backward": (
        lambda t: F.kl_div(X, t, reduction="none", log_target=True),
        (Y,),
        lambda g, t: (g, X, t, 0),
    ),
    "npu_binary_cross_entropy_with_logits_backward": (
        lambda x: F.binary_cross_entropy_with_logits(x, Y.sigmoid(), W.abs(), pos_weight=V.abs()),
        (X,),
        lambda g, x: (g, x, Y.sigmoid(), W.abs(), V.abs(), 1),
    ),
    "npu_softmax_cross_entropy_with_logits_backward": (
        lambda x: prob_loss(x, Y[0].softmax(-1)),
        (X[0],),
        lambda g, x: (g, x, Y[0].softmax(-1)),
    ),
    "npu_cross_entropy_loss_backward": (
        log_softmax_loss,
        (X[0, :, :3],),
        lambda g, x: (
            g, x.log_softmax(-1), torch.tensor([1, 0, 2]), torch.tensor([1.0, 2.0, 0.5], dtype=WIDE), None, None,
            "mean", 2,
        ),
    ),
}  # fmt: skip
LOG_TARGET = {"kl_div_target_backward": {"log_target": True}}


@pytest.mark.parametrize("name", BACKWARD)
def test_backward_formula(name):
    forward, leaves, arguments = BACKWARD[name]
    leaves = [leaf.detach().clone().requires_grad_() for leaf in leaves]
    result = forward(*leaves)
    gradient = torch.randn_like(result)
    wanted = torch.autograd.grad(result, leaves, gradient)
    with torch.no_grad():
        got = formula(name)(*arguments(gradient, *leaves), **LOG_TARGET.get(name, {}))
    close(list(got) if isinstance(got, tuple) else [got], list(wanted))


def test_experts_there_and_back():
    tokens, indices, probs = (
        random(5, 8),
        torch.tensor([[1, 0], [2, 1], [0, 2], [1, 2], [2, 0]]),
        torch.rand(5, 2).double(),
    )
    permuted, place = formula("npu_moe_token_permute")(tokens, indices)
    assert permuted.shape == (10, 8) and (indices.flatten()[place.argsort()].diff() >= 0).all()
    close(formula("npu_moe_token_unpermute")(permuted, place, probs), tokens * probs.sum(1, True))
    leaves = tokens.clone().requires_grad_(), probs.clone().requires_grad_()
    rows = leaves[0][place.argsort() // 2]
    out = (rows[place.long()].reshape(5, 2, 8) * leaves[1].unsqueeze(2)).sum(1)
    gradient = torch.randn_like(out)
    to_rows, to_probs = torch.autograd.grad(out, (rows, leaves[1]), gradient, retain_graph=True)
    got = formula("npu_moe_token_unpermute_grad_v2")(gradient, place, 10, WIDE, probs, permuted_tokens=permuted)
    close(list(got), [to_rows, to_probs])
    (to_tokens,) = torch.autograd.grad(rows, leaves[0], to_rows)
    close(formula("npu_moe_token_permute_grad_v2")(to_rows, place, 5, WIDE, 2), to_tokens)


@pytest.mark.parametrize("kind, groups", [(0, [2, 2, 7]), (1, [2, 0, 5])])
def test_products_by_group(kind, groups):
    x, weight, bias = random(7, 4), random(3, 4, 5), random(3, 5)
    run = formula("npu_grouped_matmul")
    (out,) = run(
        [x], [weight], bias=[bias], group_list=torch.tensor(groups), split_item=3, group_type=0, group_list_type=kind
    )
    expert = torch.tensor([0, 0, 2, 2, 2, 2, 2])
    close(out, torch.einsum("tk,tkn->tn", x, weight[expert]) + bias[expert])
    close(run([x, x], list(weight[:2])), [x @ weight[0], x @ weight[1]])
    with pytest.raises(NotImplementedError, match="argument antiquant_scale"):
        run([x], [weight], antiquant_scale=[bias])
    with pytest.raises(NotImplementedError, match="group_list leaves out rows"):
        run([x], [weight], group_list=[1, 2, 3], group_type=0)


def test_the_choice_of_experts():
    x = random(5, 6)
    best, chosen, rows = formula("npu_moe_gating_top_k_softmax")(x, torch.tensor([0, 0, 1, 0, 0]), 2)
    close(best, x.softmax(-1).topk(2)[0])
    wanted = x.topk(2)[1].int()
    wanted[2] = 6
    assert torch.equal(chosen, wanted) and rows.tolist() == [[0, 5], [1, 6], [2, 7], [3, 8], [4, 9]]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_narrow_arguments_give_narrow_results_and_wide_statistics(dtype):
    x, w = random(2, 8, dtype=dtype), random(8, dtype=dtype)
    out, rstd = formula("npu_rms_norm")(x, w)
    assert out.dtype == dtype and rstd.dtype == torch.float32
    q = random(1, 1, 4, 8, dtype=dtype)
    out, largest, *_ = formula("npu_fusion_attention")(q, q, q, 1, "BNSD")
    assert out.dtype == dtype and largest.dtype == torch.float32
    assert formula("npu_dtype_cast")(x, 6).dtype == torch.float32
    assert formula("npu_dtype_cast")(x.double(), 5).dtype == torch.float64  # more bits stay
