"""What networks are made of, on `npu:0` against the CPU, with gradients."""

import pytest
import torch
import torch.nn.functional as F
from interfaces import Refused, aclnn
from values import close, real

FLOATS = [torch.float32, torch.float16, torch.bfloat16]
TOLERANCE = {torch.float32: 2e-5, torch.float16: 5e-3, torch.bfloat16: 5e-2}


def normal(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


ACTIVATIONS = {
    "relu": F.relu, "gelu": lambda x: F.gelu(x, approximate="tanh"), "silu": F.silu, "mish": F.mish,
    "sigmoid": torch.sigmoid, "tanh": torch.tanh,
    "leaky_relu": F.leaky_relu, "elu": F.elu, "celu": F.celu, "selu": F.selu, "hardtanh": F.hardtanh, "relu6": F.relu6,
    "hardswish": F.hardswish, "hardsigmoid": F.hardsigmoid, "hardshrink": F.hardshrink, "softshrink": F.softshrink,
    "softplus": F.softplus, "logsigmoid": F.logsigmoid, "threshold": lambda x: F.threshold(x, 0.1, -1.0),
    "softsign": F.softsign, "tanhshrink": F.tanhshrink, "glu": lambda x: F.glu(x, -1),
    "softmax": lambda x: F.softmax(x, -1), "log_softmax": lambda x: F.log_softmax(x, 0),
    "softmin": lambda x: F.softmin(x, 1),
    "logit": lambda x: torch.logit(torch.sigmoid(x), eps=1e-3),
}  # fmt: skip


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activation_and_gradient(same, name: str, dtype: torch.dtype) -> None:
    x = normal(4, 6, dtype=dtype).requires_grad_()
    same(ACTIVATIONS[name], x, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


def test_gelu_of_a_device_is_the_form_by_tanh() -> None:
    x = normal(40)
    for approximate in ("none", "tanh"):  # torch_npu calls one function for both
        assert torch.allclose(F.gelu(x.npu(), approximate=approximate).cpu(), F.gelu(x, approximate="tanh"), atol=1e-6)
    assert not torch.allclose(F.gelu(x.npu()).cpu(), F.gelu(x), atol=1e-5)


@pytest.mark.parametrize("name", ["relu_", "leaky_relu_", "elu_", "hardtanh_", "celu_", "threshold_"])
def test_activation_in_place(same, name: str) -> None:
    arguments = (0.1, -1.0) if name == "threshold_" else ()
    same(lambda x: getattr(F, name)(x, *arguments), normal(4, 6))


def test_prelu(same) -> None:
    x = normal(2, 3, 4).requires_grad_()
    same(F.prelu, x, torch.tensor([0.25]).requires_grad_())
    same(F.prelu, x, torch.tensor([0.1, 0.2, 0.3]).requires_grad_())


LOSSES = {
    "mse": F.mse_loss, "l1": F.l1_loss, "smooth l1": lambda x, y, **k: F.smooth_l1_loss(x, y, beta=0.5, **k),
    "kl": lambda x, y, **k: F.kl_div(F.log_softmax(x, 1), F.softmax(y, 1), **k),
    "kl log": lambda x, y, **k: F.kl_div(F.log_softmax(x, 1), F.log_softmax(y, 1), log_target=True, **k),
    "soft margin": lambda x, y, **k: F.soft_margin_loss(x, torch.sign(y), **k),
    "bce": lambda x, y, **k: F.binary_cross_entropy(torch.sigmoid(x), torch.sigmoid(y), **k),
    "bce weighted": lambda x, y, **k: F.binary_cross_entropy(
        torch.sigmoid(x), torch.sigmoid(y), weight=y.detach().abs(), **k),
    "bce logits": lambda x, y, **k: F.binary_cross_entropy_with_logits(x, torch.sigmoid(y), **k),
    "bce logits weighted": lambda x, y, **k: F.binary_cross_entropy_with_logits(
        x, torch.sigmoid(y), weight=y.detach().abs(), pos_weight=y.detach()[0].abs(), **k),
    "cosine": lambda x, y, **k: F.cosine_embedding_loss(x, y, torch.ones(x.shape[0], device=x.device), **k),
}  # fmt: skip


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides")
def test_loss_and_gradient(same, name: str, reduction: str) -> None:
    same(lambda x, y: LOSSES[name](x, y, reduction=reduction), normal(4, 5).requires_grad_(), normal(4, 5, seed=1))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("weighted", [False, True])
def test_cross_entropy_and_gradient(same, reduction: str, weighted: bool) -> None:
    target = torch.tensor([1, 0, -100, 4])
    weight = torch.arange(1.0, 6) if weighted else None

    def loss(x: torch.Tensor, t: torch.Tensor, w: torch.Tensor | None = None) -> torch.Tensor:
        return F.cross_entropy(x, t, weight=w, reduction=reduction)

    same(loss, normal(4, 5).requires_grad_(), target, *([weight] if weighted else []))
    same(loss, normal(2, 5, 3, 2).requires_grad_(), torch.randint(5, (2, 3, 2)), *([weight] if weighted else []))


def test_chances_beyond_one_are_computed() -> None:
    loss = F.binary_cross_entropy(torch.tensor([5.0, 0.5]).npu(), torch.tensor([1.0, 0]).npu(), reduction="none").cpu()
    assert loss[0].isnan() and loss[1].isclose(torch.tensor(2.0).log())


def test_cross_entropy_with_smoothing_and_probabilities(same) -> None:
    same(
        lambda x, t: F.cross_entropy(x, t, label_smoothing=0.1),
        normal(4, 5).requires_grad_(),
        torch.tensor([1, 0, 2, 4]),
    )
    same(lambda x, t: F.cross_entropy(x, t.softmax(1)), normal(4, 5).requires_grad_(), normal(4, 5, seed=1))


def test_ctc(same) -> None:
    scores = normal(8, 2, 5).requires_grad_()
    targets, lengths, sizes = torch.tensor([[1, 2, 3], [2, 2, 0]]), torch.tensor([8, 7]), torch.tensor([3, 2])
    same(lambda x, t: F.ctc_loss(x.log_softmax(2), t, lengths, sizes), scores, targets)


def test_multilabel_margin(same) -> None:
    same(F.multilabel_margin_loss, normal(2, 4), torch.tensor([[1, 3, -1, 0], [0, -1, 1, 2]]))


NORMS = {
    "layer_norm": lambda x, w, b: F.layer_norm(x, (4, 6), w.repeat(1, 3).view(4, 6), b.repeat(1, 3).view(4, 6)),
    "layer_norm plain": lambda x, w, b: F.layer_norm(x, (6,)) + (w.sum() + b.sum()) * 0,
    "batch_norm": lambda x, w, b: F.batch_norm(x, None, None, w[0, :4], b[0, :4], training=True),
    "group_norm": lambda x, w, b: F.group_norm(x, 2, w[0, :4], b[0, :4]),
    "instance_norm": lambda x, w, b: F.instance_norm(x, weight=w[0, :4], bias=b[0, :4]),
}


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", NORMS)
def test_norm_and_gradient(same, name: str, dtype: torch.dtype) -> None:
    tolerance = {torch.float32: 1e-4, torch.float16: 2e-2, torch.bfloat16: 2e-1}[dtype]
    same(NORMS[name], normal(3, 4, 6, dtype=dtype).requires_grad_(), normal(1, 8, seed=1, dtype=dtype).requires_grad_(),
         normal(1, 8, seed=2, dtype=dtype).requires_grad_(), rtol=tolerance, atol=tolerance)  # fmt: skip


@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_keeps_running_statistics(same, training: bool) -> None:
    def run(x: torch.Tensor, mean: torch.Tensor, var: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return F.batch_norm(x, mean, var, training=training, momentum=0.2), mean, var

    same(run, normal(5, 3, 4, 4), torch.zeros(3), torch.ones(3))


def test_rms_norm(same) -> None:
    import torch_npu

    x, gamma = normal(3, 8).requires_grad_(), normal(8, seed=1).requires_grad_()

    def run(x: torch.Tensor, gamma: torch.Tensor) -> torch.Tensor:
        return torch_npu.npu_rms_norm(x, gamma)[0] if x.is_npu else F.rms_norm(x, (8,), gamma, 1e-6)

    same(run, x, gamma)
    same(lambda x, g: F.rms_norm(x, (8,), g), x, gamma)
    torch_npu.npu_rms_norm(x.detach().half().npu(), gamma.detach().npu())
    for norm in (torch_npu.npu_rms_norm, torch_npu.npu_gemma_rms_norm):  # a column of types that no definition has
        with pytest.raises(RuntimeError, match=r"161002[\s\S]*gamma has data type BFLOAT16.*beside FLOAT of x"):
            norm(x.detach().npu(), gamma.detach().bfloat16().npu())


def test_a_weight_of_one_row_is_that_of_the_last_dimension() -> None:
    """AddRmsNorm takes [1, n] for any x1, without rstdOut: by its page."""
    x1, x2 = real(5, 6, dtype=torch.float16), real(5, 6, seed=1, dtype=torch.float16)
    gamma, out, sum_ = real(1, 6, seed=2, dtype=torch.float16), torch.zeros_like(x1), torch.zeros_like(x1)
    aclnn("aclnnAddRmsNorm", x1, x2, gamma, 1e-6, out, None, sum_)
    total = x1.double() + x2.double()
    close(out, total / (total.square().mean(-1, keepdim=True) + 1e-6).sqrt() * gamma.double(), 2e-3)
    close(sum_, total, 1e-3)
    with pytest.raises(Refused, match=r"161002.*shape \[3\] beside"):
        aclnn("aclnnAddRmsNorm", x1, x2, gamma[0, :3].clone(), 1e-6, out, None, sum_)
    one = torch.ones(())
    with pytest.raises(Refused, match=r"561002.*expected \(\*n, k\)"):  # before it runs
        aclnn("aclnnAddLayerNorm", one, one, one, one, None, 1e-6, False, *(one.clone() for _ in range(4)))
    with pytest.raises(Refused, match=r"161002.*expected \(\*n, k\)"):
        aclnn("aclnnAddLayerNormGrad", one, one, one, one, one, one, None, *(one.clone() for _ in range(3)))
    with pytest.raises(Refused, match=r"161002.*expected \(\*n, k\)"):
        aclnn("aclnnDeepNormGrad", one, one, one, one, one, one, 0.3, *(one.clone() for _ in range(4)))


CONVOLUTIONS = {
    "plain": lambda x, w, b: F.conv2d(x, w, b),
    "stride and padding": lambda x, w, b: F.conv2d(x, w, b, stride=2, padding=1),
    "dilation": lambda x, w, b: F.conv2d(x, w, b, dilation=2),
    "no bias": lambda x, w, b: F.conv2d(x, w) + b.sum() * 0,
    "grouped": lambda x, w, b: F.conv2d(x, w[:, :2], b, groups=2),
    "depthwise": lambda x, w, b: F.conv2d(x, w[:4, :1], b[:4], groups=4),
    "one by one": lambda x, w, b: F.conv2d(x, w[..., :1, :1], b),
    "same": lambda x, w, b: F.conv2d(x, w, b, padding="same"),
    "transposed": lambda x, w, b: F.conv_transpose2d(x, w[:4], b[:4], stride=2, padding=1, output_padding=1),
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolution_and_gradients(same, name: str) -> None:
    x, w, b = (
        normal(2, 4, 7, 7).requires_grad_(),
        normal(6, 4, 3, 3, seed=1).requires_grad_(),
        normal(6, seed=2).requires_grad_(),
    )
    same(CONVOLUTIONS[name], x, w, b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dims", [1, 3])
def test_convolution_in_other_dimensions(same, dims: int) -> None:
    x = normal(2, 3, *[5] * dims).requires_grad_()
    w, b = normal(4, 3, *[3] * dims, seed=1).requires_grad_(), normal(4, seed=2).requires_grad_()
    same(getattr(F, f"conv{dims}d"), x, w, b, rtol=1e-4, atol=1e-4)


def test_convolution_of_half(same) -> None:
    x, w = normal(2, 4, 7, 7, dtype=torch.float16), normal(6, 4, 3, 3, seed=1, dtype=torch.float16)
    same(F.conv2d, x, w, rtol=5e-3, atol=5e-3)


POOLS = {
    "max": lambda x: F.max_pool2d(x, 2),
    "max padded": lambda x: F.max_pool2d(x, 3, stride=2, padding=1),
    "average": lambda x: F.avg_pool2d(x, 2),
    "average padded": lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
    "adaptive average": lambda x: F.adaptive_avg_pool2d(x, (2, 3)),
    "adaptive average to one": lambda x: F.adaptive_avg_pool2d(x, 1),
    "adaptive max": lambda x: F.adaptive_max_pool2d(x, (2, 3)),
    "l p": lambda x: F.lp_pool2d(x.abs() + 0.1, 2, 2),
}


@pytest.mark.parametrize("name", POOLS)
def test_pool_and_gradient(same, name: str) -> None:
    same(POOLS[name], normal(2, 3, 8, 9).requires_grad_())


def test_a_pool_of_maxima_goes_back_by_its_mask() -> None:
    def backward(x: torch.Tensor, found: torch.Tensor) -> list[int]:
        grad = torch.ones(1, 1, 1, 1, device="npu")
        step = torch.ops.aten.max_pool2d_with_indices_backward
        return step(grad, x, [2, 2], [2, 2], [0, 0], [1, 1], False, found).flatten().int().tolist()

    x = torch.arange(4.0).view(1, 1, 2, 2).npu()
    mask = F.max_pool2d(x, 2, return_indices=True)[1]
    assert backward(x, mask) == backward(-x, mask) == [0, 0, 0, 1]
    assert backward(-x, torch.zeros_like(mask)) == [1, 0, 0, 0]  # a mask that no pool wrote: found again


def test_pools_in_three_dimensions(same) -> None:
    x = normal(1, 2, 4, 6, 6).requires_grad_()
    same(lambda x: F.max_pool3d(x, 2), x)
    same(lambda x: F.avg_pool3d(x, 2), x)
    same(lambda x: F.adaptive_avg_pool3d(x, (2, 3, 1)), x)


IMAGES = {
    "nearest": lambda x: F.interpolate(x, scale_factor=2),
    "nearest exact": lambda x: F.interpolate(x, size=(7, 9), mode="nearest-exact"),
    "bilinear": lambda x: F.interpolate(x, size=(7, 9), mode="bilinear"),
    "bilinear corners": lambda x: F.interpolate(x, scale_factor=1.5, mode="bilinear", align_corners=True),
    "bicubic": lambda x: F.interpolate(x, size=(7, 9), mode="bicubic"),
    "antialias": lambda x: F.interpolate(x, size=(3, 3), mode="bilinear", antialias=True),
    "reflect": lambda x: F.pad(x, (1, 2, 2, 1), mode="reflect"),
    "replicate": lambda x: F.pad(x, (1, 2, 2, 1), mode="replicate"),
    "circular": lambda x: F.pad(x, (1, 1, 1, 1), mode="circular"),
    "pixel shuffle": lambda x: F.pixel_shuffle(x, 2),
    "channel shuffle": lambda x: F.channel_shuffle(x, 2),
    "unfold": lambda x: F.unfold(x, 3, padding=1),
    "fold": lambda x: F.fold(F.unfold(x, 2, stride=2), (4, 6), 2, stride=2),
    "grid sample": lambda x: F.grid_sample(
        x, F.affine_grid(torch.eye(2, 3, device=x.device).expand(2, 2, 3) * 0.7, [2, 4, 4, 6], align_corners=False),
        align_corners=False),
}  # fmt: skip


@pytest.mark.parametrize("name", IMAGES)
def test_image_and_gradient(same, name: str) -> None:
    same(IMAGES[name], normal(2, 4, 4, 6).requires_grad_(), rtol=1e-4, atol=1e-4)


ATTENTION = {
    "plain": {},
    "causal": {"is_causal": True},
    "scaled": {"scale": 0.3},
}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", ATTENTION)
def test_attention_and_gradients(same, name: str, dtype: torch.dtype) -> None:
    q, k, v = (normal(2, 3, 16, 8, seed=seed, dtype=dtype).requires_grad_() for seed in range(3))
    same(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, **ATTENTION[name]), q, k, v,
         rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])  # fmt: skip


@pytest.mark.parametrize("kind", ["bool", "additive"])
def test_attention_with_a_mask(same, kind: str) -> None:
    q, k, v = (normal(2, 3, 16, 8, seed=seed, dtype=torch.float16) for seed in range(3))
    mask = (
        torch.ones(16, 16, dtype=torch.bool).tril() if kind == "bool" else normal(16, 16, seed=5, dtype=torch.float16)
    )
    same(lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m), q, k, v, mask, rtol=5e-3, atol=5e-3)


@pytest.mark.parametrize("layout", ["BNSD", "BSND", "BSH", "SBH"])
@pytest.mark.parametrize("sparse_mode", [0, 2, 3])
def test_fused_attention_layouts(layout: str, sparse_mode: int) -> None:
    """torch_npu.npu_fusion_attention against its formula, grouped queries included."""
    import torch_npu

    batch, heads, own, queries, keys, depth = 2, 4, 2, 6, 8, 5
    q, k, v = (
        normal(batch, heads, queries, depth),
        normal(batch, own, keys, depth, seed=1),
        normal(batch, own, keys, depth, seed=2),
    )
    arrange = {
        "BNSD": lambda x: x,
        "BSND": lambda x: x.transpose(1, 2),
        "BSH": lambda x: x.transpose(1, 2).flatten(2),
        "SBH": lambda x: x.permute(2, 0, 1, 3).flatten(2),
    }[layout]
    shift = {2: 0, 3: keys - queries}.get(sparse_mode)
    hidden = torch.zeros(queries, keys, dtype=torch.bool)
    if shift is not None:
        hidden = torch.arange(keys) > torch.arange(queries).unsqueeze(1) + shift
    mask = torch.ones(2048, 2048, dtype=torch.bool).triu(1).npu() if sparse_mode else None
    inputs = [arrange(x).contiguous().npu().requires_grad_() for x in (q, k, v)]
    out = torch_npu.npu_fusion_attention(*inputs, heads, layout, scale=0.4, atten_mask=mask, sparse_mode=sparse_mode)[0]
    out.sum().backward()

    references = [x.clone().requires_grad_() for x in (q, k, v)]
    rows, columns, data = references[0], *(x.repeat_interleave(heads // own, 1) for x in references[1:])
    scores = (rows @ columns.transpose(-1, -2) * 0.4).masked_fill(hidden, float("-inf"))
    want = scores.softmax(-1) @ data
    want.sum().backward()
    torch.testing.assert_close(out.cpu(), arrange(want), rtol=1e-4, atol=1e-5)
    for got, reference in zip(inputs, references, strict=True):
        torch.testing.assert_close(got.grad.cpu(), arrange(reference.grad), rtol=1e-4, atol=1e-5)


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: float, hidden: torch.Tensor) -> torch.Tensor:
    keys, values = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    return (q @ keys.transpose(-1, -2) * scale).masked_fill(hidden, float("-inf")).softmax(-1) @ values


@pytest.mark.parametrize("layout", ["BNSD", "BSH"])
@pytest.mark.parametrize("own", [4, 2])
def test_prompt_attention(layout: str, own: int) -> None:
    import torch_npu

    q, k, v = (normal(2, heads, 6, 8, seed=seed).half() for seed, heads in enumerate((4, own, own)))
    arrange = (lambda x: x) if layout == "BNSD" else (lambda x: x.transpose(1, 2).flatten(2))
    hidden = torch.ones(6, 6, dtype=torch.bool).triu(1)
    inputs = [arrange(x).contiguous().npu() for x in (q, k, v)]
    settings = {"num_heads": 4, "num_key_value_heads": own, "scale_value": 0.3, "input_layout": layout}
    got = torch_npu.npu_prompt_flash_attention(*inputs, atten_mask=hidden.npu(), **settings).cpu()
    want = arrange(attention(q.float(), k.float(), v.float(), 0.3, hidden))
    torch.testing.assert_close(got.float(), want, rtol=2e-3, atol=2e-3)
    with pytest.raises(RuntimeError, match="numKeyValueHeads is 1, the key has"):
        torch_npu.npu_prompt_flash_attention(*inputs, **(settings | {"num_key_value_heads": 1}))
    some = torch_npu.npu_prompt_flash_attention(*inputs, atten_mask=hidden.npu(), actual_seq_lengths=[6, 4], **settings)
    rows = some.cpu().transpose(1, 2) if layout == "BNSD" else some.cpu()
    torch.testing.assert_close(some[0].cpu().float(), want[0], rtol=2e-3, atol=2e-3)
    wanted = want.transpose(1, 2) if layout == "BNSD" else want
    assert not rows[1, 4:].any()
    torch.testing.assert_close(rows[1, :4].float(), wanted[1, :4], rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("lengths", [None, [7, 3], [5]])
@pytest.mark.parametrize("masked", [False, True])
def test_attention_of_one_new_token(lengths: list[int] | None, masked: bool) -> None:
    import torch_npu

    q, k, v = (x.half() for x in (normal(2, 4, 1, 8), normal(2, 2, 7, 8, seed=1), normal(2, 2, 7, 8, seed=2)))
    unseen = torch.zeros(2, 7, dtype=torch.bool)
    unseen[1, 0] = masked
    hidden = unseen[:, None, None]
    if lengths:
        hidden = hidden | (torch.arange(7) >= torch.tensor(lengths)[:, None, None, None])
    got = torch_npu.npu_incre_flash_attention(
        q.npu(),
        k.npu(),
        v.npu(),
        atten_mask=unseen.npu() if masked else None,
        actual_seq_lengths=lengths,
        num_heads=4,
        num_key_value_heads=2,
        scale_value=0.3,
        input_layout="BNSD",
    )
    want = attention(q.float(), k.float(), v.float(), 0.3, hidden)
    torch.testing.assert_close(got.cpu().float(), want, rtol=2e-3, atol=2e-3)


def test_fused_attention_of_sequences_of_different_length() -> None:
    import torch_npu

    lengths, heads, depth = [3, 5, 2], 2, 4
    ends = torch.tensor(lengths).cumsum(0).tolist()
    q, k, v = (normal(sum(lengths), heads, depth, seed=seed).npu().requires_grad_() for seed in range(3))
    out = torch_npu.npu_fusion_attention(q, k, v, heads, "TND", scale=0.5, actual_seq_qlen=ends, actual_seq_kvlen=ends)[
        0
    ]
    out.sum().backward()
    start = 0
    for end in ends:
        parts = [x.detach().cpu()[start:end].transpose(0, 1).requires_grad_() for x in (q, k, v)]
        want = (parts[0] @ parts[1].transpose(-1, -2) * 0.5).softmax(-1) @ parts[2]
        want.sum().backward()
        torch.testing.assert_close(out.detach().cpu()[start:end], want.transpose(0, 1), rtol=1e-4, atol=1e-5)
        for whole, part in zip((q, k, v), parts, strict=True):
            torch.testing.assert_close(whole.grad.cpu()[start:end], part.grad.transpose(0, 1), rtol=1e-4, atol=1e-5)
        start = end


@pytest.mark.parametrize("mode", ["half", "interleave"])
def test_rotary_embedding(mode: str) -> None:
    import torch_npu

    x = normal(1, 2, 6, 8)
    angle = torch.arange(6).unsqueeze(1) * (torch.arange(8) % 4 if mode == "half" else torch.arange(8) // 2) * 0.1
    cos, sin = angle.cos().view(1, 1, 6, 8), angle.sin().view(1, 1, 6, 8)
    got = torch_npu.npu_rotary_mul(x.npu(), cos.npu(), sin.npu(), mode).cpu()
    half = torch.view_as_complex(torch.stack([x[..., :4], x[..., 4:]], -1) if mode == "half" else x.view(1, 2, 6, 4, 2))
    turn = torch.polar(torch.ones(6, 4), angle[:, :4] if mode == "half" else angle[:, ::2])
    turned = half * turn
    want = torch.cat([turned.real, turned.imag], -1) if mode == "half" else torch.view_as_real(turned).flatten(-2)
    torch.testing.assert_close(got, want)


def test_swiglu(same) -> None:
    import torch_npu

    def run(x: torch.Tensor) -> torch.Tensor:
        if x.is_npu:
            return torch_npu.npu_swiglu(x)
        gate, value = x.chunk(2, -1)
        return F.silu(gate) * value

    same(run, normal(3, 8).requires_grad_())
