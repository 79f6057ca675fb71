"""Models compiled by torchair: the eager CPU model's outputs, losses and gradients."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F
import torch_npu
import torchair
from torch import nn
from torchair._ge_concrete_graph import ge_apis as ge
from torchair._ge_concrete_graph.fx2ge_converter import register_fx_node_ge_converter

from ophook_npu.ops.compiled_attention import register_attention_converters
from ophook_npu.ops.compiled_training import torchair_decompositions

BACKEND = torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())
WIDTH, HEADS = 16, 2


class Attention(nn.Module):
    """Attention and a feed-forward part; `fused` takes torch's own attention."""

    def __init__(self, causal: bool, fused: bool = False) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.causal, self.fused = causal, fused

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        q, k, v = self.qkv(self.first(x)).view(batch, length, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        if self.fused:
            attended = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        else:
            scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
            if self.causal:
                hidden = torch.ones(length, length, device=x.device, dtype=torch.bool).triu(1)
                scores = scores.masked_fill(hidden, -1e9)
            attended = torch.softmax(scores, -1) @ v
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.down(F.gelu(self.up(self.second(x)), approximate="tanh"))  # GE has no other form


class Vision(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patches, self.token = nn.Conv2d(3, WIDTH, 8, 8), nn.Parameter(torch.randn(1, 1, WIDTH))
        self.places = nn.Parameter(torch.randn(1, 17, WIDTH))
        self.blocks, self.head = nn.Sequential(Attention(False), Attention(False)), nn.Linear(WIDTH, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.places
        return self.head(self.blocks(x)[:, 0])


class Language(nn.Module):
    def __init__(self, fused: bool = False) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(50, WIDTH), nn.Embedding(32, WIDTH)
        self.blocks, self.head = nn.Sequential(Attention(True, fused), Attention(True, fused)), nn.Linear(WIDTH, 50)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(
            self.blocks(self.words(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device)))
        )


class Llama(nn.Module):
    """Grouped queries, rotary embedding, root mean squares and a gated unit: torch_npu's operators, or plain torch."""

    def __init__(self) -> None:
        super().__init__()
        self.fused = False
        self.words, self.norms = nn.Embedding(50, 32), nn.ParameterList(torch.rand(32) + 0.5 for _ in range(3))
        self.q, self.k, self.v, self.out = (nn.Linear(32, n, bias=False) for n in (32, 16, 16, 32))
        self.gate_up, self.down = nn.Linear(32, 128, bias=False), nn.Linear(64, 32, bias=False)

    def norm(self, x: torch.Tensor, i: int) -> torch.Tensor:
        if self.fused:
            return torch_npu.npu_rms_norm(x, self.norms[i], 1e-6)[0]
        return F.rms_norm(x, (32,), self.norms[i], 1e-6)

    def turn(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        if self.fused:
            return torch_npu.npu_rotary_mul(x, cos, sin)
        low, high = x.chunk(2, -1)
        return x * cos + torch.cat([-high, low], -1) * sin

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        batch, length = tokens.shape
        x = self.words(tokens)
        y = self.norm(x, 0)
        q, k, v = (f(y).view(batch, length, -1, 8).transpose(1, 2) for f in (self.q, self.k, self.v))
        steps = torch.arange(length, device=x.device)[:, None] * 100.0 ** (-torch.arange(4, device=x.device) / 4)
        cos, sin = (torch.cat([f, f], -1)[None, None] for f in (steps.cos(), steps.sin()))
        q, k = self.turn(q, cos, sin), self.turn(k, cos, sin)
        hidden = torch.ones(length, length, device=x.device, dtype=torch.bool).triu(1)
        scale = 1 / math.sqrt(8)
        if self.fused:
            y = torch_npu.npu_fusion_attention(q, k, v, 4, "BNSD", atten_mask=hidden, scale=scale)[0]
        else:
            y = F.scaled_dot_product_attention(q, k, v, ~hidden, scale=scale, enable_gqa=True)
        y = self.out(y.transpose(1, 2).reshape(batch, length, 32))
        if self.fused:
            y, _, x = torch_npu.npu_add_rms_norm(y, x, self.norms[1], 1e-6)
            y = torch_npu.npu_swiglu(self.gate_up(y), -1)
        else:
            x = x + y
            gate, up = self.gate_up(self.norm(x, 1)).chunk(2, -1)
            y = F.silu(gate) * up
        return self.norm(x + self.down(y), 2)


class Experts(nn.Module):
    """Two of four experts for each token, added up by index."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(WIDTH, 4)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(WIDTH, 8), nn.ReLU(), nn.Linear(8, WIDTH)) for _ in range(4)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weights, chosen = torch.softmax(self.gate(x), -1).topk(2, -1)
        weights = weights / weights.sum(-1, keepdim=True)
        rows, total = torch.arange(x.shape[0], device=x.device), torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            share = torch.where(chosen == i, weights, torch.zeros_like(weights)).sum(-1, keepdim=True)
            total = total.index_add(0, rows, share * expert(x))
        return total


class Picture(nn.Module):
    """Down and up again, as a U-Net."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.GroupNorm(2, 8)
        self.down, self.up, self.last = nn.Conv2d(8, 16, 3, 2, 1), nn.ConvTranspose2d(16, 8, 2, 2), nn.Conv2d(16, 3, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.relu(self.norm(self.first(x)))
        x = torch.cat([x, self.up(F.relu(self.down(x)))], 1)
        return self.last(x + F.interpolate(F.max_pool2d(x, 2), scale_factor=2, mode="nearest"))


def randn(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


TOKENS = torch.randint(0, 50, (2, 9), generator=torch.Generator().manual_seed(1))
MODELS: dict[str, tuple[Callable[[], nn.Module], torch.Tensor]] = {
    "vision": (Vision, randn(2, 3, 32, 32)),
    "language": (Language, TOKENS),
    "llama": (Llama, TOKENS),
    "experts": (Experts, randn(10, WIDTH)),
    "picture": (Picture, randn(2, 3, 16, 16)),
    "lstm": (lambda: nn.LSTM(8, WIDTH, batch_first=True), randn(2, 5, 8)),
    "gru": (lambda: nn.GRU(8, WIDTH, batch_first=True), randn(2, 5, 8)),
}


def pair(name: str) -> tuple[nn.Module, nn.Module, torch.Tensor]:
    make, x = MODELS[name]
    torch.manual_seed(0)
    on_cpu = make()
    on_npu = copy.deepcopy(on_cpu).npu()
    if isinstance(on_npu, Llama):
        on_npu.fused = True
    torch._dynamo.reset()
    return on_cpu, on_npu, x


def compiled(function: Callable[..., Any], dynamic: bool = False) -> Callable[..., Any]:
    return torch.compile(function, backend=BACKEND, dynamic=dynamic)


def first(result: Any) -> torch.Tensor:
    return result if isinstance(result, torch.Tensor) else result[0]


def same_gradients(on_cpu: nn.Module, on_npu: nn.Module) -> None:
    for (name, one), other in zip(on_cpu.named_parameters(), on_npu.parameters(), strict=True):
        assert one.grad is not None and other.grad is not None, name
        torch.testing.assert_close(other.grad.cpu(), one.grad, rtol=1e-3, atol=1e-5, msg=lambda m, n=name: f"{n}: {m}")


CASES = [(name, False) for name in MODELS] + [(name, True) for name in ("llama", "experts", "picture", "lstm", "gru")]


@pytest.mark.parametrize(("name", "dynamic"), CASES)
def test_inference(name: str, dynamic: bool) -> None:
    on_cpu, on_npu, x = pair(name)
    graph = compiled(on_npu, dynamic)
    with torch.no_grad():
        for given in (x, torch.cat([x, x])) if dynamic else (x,):
            torch.testing.assert_close(first(graph(given.npu())).cpu(), first(on_cpu(given)), rtol=1e-4, atol=1e-5)


# Not those that stop in torchair 2.13 itself: the gradients of silu, of a matmul whose weight alone needs one, of
# npu_fusion_attention and, with dynamic shapes, of upsampling.
@pytest.mark.parametrize("name", ["vision", "language", "experts", "picture", "lstm"])
def test_training(name: str) -> None:
    on_cpu, on_npu, x = pair(name)
    losses = [first(model(given)).square().mean() for model, given in ((on_cpu, x), (compiled(on_npu), x.npu()))]
    torch.testing.assert_close(losses[1].cpu(), losses[0], rtol=1e-5, atol=1e-6)
    for loss in losses:
        loss.backward()
    same_gradients(on_cpu, on_npu)


@pytest.fixture
def converter(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Give an operator another converter for the length of a test."""

    def replace(op: Any, function: Callable[..., Any]) -> None:
        before = getattr(op, "_ge_converter", None)
        monkeypatch.setattr(op, "_ge_converter", before, raising=False)  # put back at the end
        register_fx_node_ge_converter(op)(function)

    yield replace


def test_attention_of_torch(converter: Callable[..., None]) -> None:
    for op in (torch.ops.npu.npu_fusion_attention_v3, torch.ops.npu.npu_fusion_attention_grad_v3):
        converter(op.default, lambda: None)  # put back at the end
    register_attention_converters()
    torch.manual_seed(0)
    on_cpu = Language(fused=True)
    on_npu = copy.deepcopy(on_cpu).npu()
    torch._dynamo.reset()
    losses = [model(t).square().mean() for model, t in ((on_cpu, TOKENS), (compiled(on_npu), TOKENS.npu()))]
    torch.testing.assert_close(losses[1].cpu(), losses[0], rtol=1e-5, atol=1e-6)
    for loss in losses:
        loss.backward()
    same_gradients(on_cpu, on_npu)
    torch._dynamo.reset()
    graph = compiled(on_npu.eval(), dynamic=True)
    with torch.no_grad():
        for tokens in (TOKENS, TOKENS[:, :5]):
            torch.testing.assert_close(graph(tokens.npu()).cpu(), on_cpu(tokens), rtol=1e-4, atol=1e-5)
        dropped = compiled(lambda q: F.scaled_dot_product_attention(q, q, q, dropout_p=0.5))
        with pytest.raises(
            torch._dynamo.exc.BackendCompilerFailed, match=r"npu_fusion_attention_v3\] keep_prob is 0\.5"
        ):
            dropped(randn(1, 2, 4, 8).npu())


def test_batch_norm_in_training(converter: Callable[..., None]) -> None:
    """torchair hands over BatchNormV3's results in the order of that operator, the running statistics first. In aten's
    order, which this converter keeps, a network trains as on the CPU."""

    def forward(x, weight, bias, mean, var, training, momentum, eps, meta_outputs=None):
        y, mean, var, batch_mean, batch_var = ge.BatchNormV3(
            x, weight, bias, ge.TensorMove(mean), ge.TensorMove(var), epsilon=eps, momentum=momentum, is_training=True
        )
        return y, batch_mean, batch_var, mean, var

    torch.manual_seed(0)
    on_cpu = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(3, 2, 1), nn.Conv2d(8, 4, 1), nn.BatchNorm2d(4),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2),
    )  # fmt: skip
    x = randn(4, 3, 10, 10)
    as_shipped = copy.deepcopy(on_cpu).npu()
    torch._dynamo.reset()
    compiled(as_shipped)(x.npu())
    in_batch = on_cpu[0](x).mean((0, 2, 3))
    torch.testing.assert_close(as_shipped[1].running_mean.cpu(), in_batch.detach(), rtol=1e-4, atol=1e-5)

    converter(torch.ops.aten._native_batch_norm_legit_functional.default, forward)
    on_npu = copy.deepcopy(on_cpu).npu()
    torch._dynamo.reset()
    graph = compiled(on_npu)
    for _ in range(2):
        losses = [model(given).square().mean() for model, given in ((on_cpu, x), (graph, x.npu()))]
        torch.testing.assert_close(losses[1].cpu(), losses[0], rtol=1e-5, atol=1e-6)
        for loss in losses:
            loss.backward()
    same_gradients(on_cpu, on_npu)
    for one, other in zip(on_cpu.buffers(), on_npu.buffers(), strict=True):
        torch.testing.assert_close(other.cpu(), one)


@torch._dynamo.config.patch(specialize_float=True)  # or torchair gets a double for each, which an NPU does not have
def test_a_llama_of_transformers_trains_with_dynamic_shapes() -> None:
    import transformers

    backend = torchair.get_npu_backend(custom_decompositions=torchair_decompositions())
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=2,
        vocab_size=50, use_cache=False, attn_implementation="eager",
    )  # fmt: skip
    on_cpu = transformers.LlamaForCausalLM(config)
    on_npu = copy.deepcopy(on_cpu).npu()
    torch._dynamo.reset()
    graph = torch.compile(on_npu, backend=backend, dynamic=True)
    for tokens in (TOKENS, torch.cat([TOKENS, TOKENS], 1)):
        losses = [
            model(input_ids=given, labels=given.flip(0)).loss
            for model, given in ((on_cpu, tokens), (graph, tokens.npu()))
        ]
        torch.testing.assert_close(losses[1].cpu(), losses[0], rtol=1e-5, atol=1e-6)
        for loss in losses:
            loss.backward()
    same_gradients(on_cpu, on_npu)


def test_dropout_keeps_in_both_directions() -> None:
    graph = compiled(lambda x: F.dropout(x, 0.25))
    torch._dynamo.reset()
    x = torch.ones(100, 100, device="npu").requires_grad_()
    y = graph(x)
    y.sum().backward()
    assert y.unique().tolist() == pytest.approx([0, 1 / 0.75])
    assert (y == 0).float().mean().item() == pytest.approx(0.25, abs=0.02)
    assert torch.equal(x.grad, y)
    assert not torch.equal(graph(x), y)


def test_lists_of_tensors() -> None:
    def f(xs: list[torch.Tensor], ys: list[torch.Tensor]) -> list[torch.Tensor]:
        a = torch._foreach_add(xs, ys, alpha=2)
        b = torch._foreach_mul(torch._foreach_sub(a, 1.5), [2.0, 3.0])
        c = torch._foreach_addcdiv(a, b, torch._foreach_abs(ys), -0.5)
        return torch._foreach_lerp(torch._foreach_maximum(c, 0.1), ys, 0.3)

    xs, ys = [randn(3, 4), randn(5)], [randn(3, 4) + 3, randn(5) + 3]
    torch._dynamo.reset()
    got = compiled(f)([x.npu() for x in xs], [y.npu() for y in ys])
    for one, other in zip(f(xs, ys), got, strict=True):
        torch.testing.assert_close(other.cpu(), one)


def test_functions() -> None:
    def f(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        high = x.abs() + 1.5
        return (
            torch.asinh(x), torch.acosh(high), torch.atanh(x / 8), torch.erfinv(x / 8),
            torch.nan_to_num(x / 0, 1.0, 2.0, -2.0), torch.searchsorted(x[0].sort()[0], x),
            F.logsigmoid(x), F.glu(x), F.leaky_relu(x, 0.1), F.elu(x), F.threshold(x, 0.2, -1.0),
            x.std(1), torch.logsumexp(x, 1), torch.linalg.vector_norm(x, 3, 1),
            torch.linspace(0.0, 1, 5, device=x.device),
        )  # fmt: skip

    x = randn(3, 8)
    torch._dynamo.reset()
    for dynamic in (False, True):
        for one, other in zip(f(x), compiled(f, dynamic)(x.npu()), strict=True):
            torch.testing.assert_close(other.cpu(), one, rtol=1e-4, atol=1e-5, check_dtype=False)


@pytest.mark.parametrize("layout", ["BSH", "BNSD"])
def test_attention_for_inference(layout: str) -> None:
    """The whole prompt, then one token against it."""
    q, k, v = (randn(2, 5, 4 * 8).half() * (i + 1) for i in range(3))

    def split(x: torch.Tensor) -> torch.Tensor:
        return x.view(2, -1, 4, 8).transpose(1, 2)

    if layout == "BNSD":
        q, k, v = (split(x).contiguous() for x in (q, k, v))
    prompt = compiled(
        lambda q, k, v: torch_npu.npu_prompt_flash_attention(q, k, v, num_heads=4, input_layout=layout, scale_value=0.3)
    )
    token = compiled(
        lambda q, k, v: torch_npu.npu_incre_flash_attention(q, k, v, num_heads=4, input_layout=layout, scale_value=0.3)
    )
    either = compiled(
        lambda q, k, v: torch_npu.npu_fused_infer_attention_score(
            q, k, v, num_heads=4, num_key_value_heads=4, input_layout=layout, scale=0.3
        )[0]
    )
    torch._dynamo.reset()
    one = q[:, -1:] if layout == "BSH" else q[:, :, -1:]
    for graph, query in ((prompt, q), (token, one), (either, q), (either, one)):
        got = graph(query.contiguous().npu(), k.npu(), v.npu()).cpu().float()
        heads = [x.float() if layout == "BNSD" else split(x).float() for x in (query, k, v)]
        want = F.scaled_dot_product_attention(*heads, scale=0.3)
        want = want if layout == "BNSD" else want.transpose(1, 2).flatten(2)
        torch.testing.assert_close(got, want, rtol=2e-3, atol=2e-3)


def test_attention_for_inference_sees_lengths_and_masks() -> None:
    q, k, v = (randn(2, 4, 5, 8).half() * (i + 1) for i in range(3))
    hidden = torch.ones(5, 5, dtype=torch.bool).triu(1)
    settings = {"num_heads": 4, "num_key_value_heads": 4, "input_layout": "BNSD", "scale": 0.3}

    def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return torch_npu.npu_fused_infer_attention_score(
            q, k, v, atten_mask=mask, actual_seq_lengths_kv=[3, 5], **settings
        )[0]

    torch._dynamo.reset()
    got = compiled(attend)(q.npu(), k.npu(), v.npu(), hidden.npu()).cpu().float()
    unseen = torch.arange(5) >= torch.tensor([3, 5]).reshape(2, 1, 1, 1)
    want = F.scaled_dot_product_attention(q.float(), k.float(), v.float(), ~(unseen | hidden), scale=0.3)
    torch.testing.assert_close(got, want, rtol=2e-3, atol=2e-3)
