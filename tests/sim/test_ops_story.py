"""The story: a Llama of the transformers package, unedited, with its RMSNorm and SwiGLU by the custom operators."""

import copy
from collections.abc import Iterator

import pytest
import torch
import torchair
from transformers import LlamaConfig, LlamaForCausalLM

from ophook_npu import ops
from ophook_npu.ops.compiled_training import torchair_decompositions
from ophook_npu.ops.modules import replace, rms_norm_forward, swiglu_forward

RULES = {"*RMSNorm": rms_norm_forward, "*MLP": swiglu_forward}
STEPS = 10


@pytest.fixture(scope="module", autouse=True)
def registered() -> None:
    """Here, not when the file is imported: every process of a run imports it, and would wait for the compiler."""
    for name in ("npu_rms_norm_custom", "npu_swiglu_custom"):
        ops.register(name)


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@pytest.fixture(scope="module")
def model() -> LlamaForCausalLM:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=64, attn_implementation="eager", use_cache=False,
    )  # fmt: skip
    return LlamaForCausalLM(config)


TOKENS = torch.randint(0, 64, (2, 16), generator=torch.Generator().manual_seed(1))


def losses(model: torch.nn.Module, device: str, backend: object = None, swapped: bool = True) -> list[float]:
    """Of ten training steps."""
    model = copy.deepcopy(model).to(device).train()
    tokens = TOKENS.to(device)
    if swapped:
        found = replace(model, RULES).modules
        assert {name: len(of) for name, of in found.items()} == {"LlamaRMSNorm": 5, "LlamaMLP": 2}
    run = model if backend is None else torch.compile(model, backend=backend, dynamic=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    told = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = run(input_ids=tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
        told.append(loss.item())
    return told


@pytest.fixture(scope="module")
def original(model: LlamaForCausalLM) -> list[float]:
    told = losses(model, "cpu", swapped=False)
    assert told[-1] < told[0] - 1  # it learns
    return told


def test_training_in_eager_mode(model: LlamaForCausalLM, original: list[float]) -> None:
    """Compiled routes: test_ops_pages.py."""
    assert losses(model, "npu") == pytest.approx(original, abs=1e-4)


@pytest.mark.torch_npu("2.13", "torchair makes a MatMul of more than two dimensions (its issue 481)")
def test_training_by_torchair(model: LlamaForCausalLM, original: list[float]) -> None:
    backend = torchair.get_npu_backend(
        compiler_config=torchair.CompilerConfig(), custom_decompositions=torchair_decompositions()
    )
    assert losses(model, "npu", backend) == pytest.approx(original, abs=1e-4)


@pytest.mark.torch_npu("2.13", "torchair makes a MatMul of more than two dimensions (its issue 481)")
@pytest.mark.parametrize(
    ("input_grad", "kind", "limit"),
    [(False, NotImplementedError, "only support mask == "), (True, RuntimeError, "permutation has 2 axes")],
)
def test_torchair_needs_the_decomposition(input_grad: bool, kind: type[Exception], limit: str) -> None:
    """Where this fails, torchair has fixed the gradient of a Linear: remove `torchair_decompositions`."""
    backend = torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())
    linear = torch.nn.Linear(8, 6, bias=False).npu()
    x = torch.randn(2, 5, 8, device="npu", requires_grad=input_grad)
    with pytest.raises(kind, match=limit):
        torch.compile(linear, backend=backend, dynamic=False)(x).sum().backward()


def test_npugraph_ex_needs_the_pass(run_sim) -> None:
    """Where this fails, torch_npu has fixed the strides: remove `npugraph_ex_options`."""
    code = """
import torch
x = torch.randn(2, 3, 4, 5, device="npu", requires_grad=True)
f = torch.compile(lambda x: (x.transpose(1, 2) * 2).sin(), backend="npugraph_ex", dynamic=False)
f(x).sum().backward()
"""
    result = run_sim(code)
    assert result.returncode == 1 and "expected size 4==4, stride" in result.stderr, result.stderr[-2000:]
    repaired = (
        code.replace("dynamic=False", "dynamic=False, options=npugraph_ex_options()")
        + """
torch.testing.assert_close(x.grad, 2 * (x.detach() * 2).cos())
"""
    )
    result = run_sim("from ophook_npu.ops.compiled_training import npugraph_ex_options\n" + repaired)
    assert result.returncode == 0, result.stderr[-2000:]


@pytest.mark.torch_npu("2.13", "torchair makes a MatMul of more than two dimensions (its issue 481)")
@pytest.mark.parametrize("dynamic", [False, True])
def test_inference_by_torchair(model: LlamaForCausalLM, dynamic: bool) -> None:
    backend = torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())
    on_npu = copy.deepcopy(model).npu().eval()
    with torch.no_grad():
        expected = on_npu(input_ids=TOKENS.npu()).logits
        with replace(on_npu, RULES):
            got = torch.compile(on_npu, backend=backend, dynamic=dynamic)(input_ids=TOKENS.npu()).logits
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-5)


def test_inference_by_npugraph_ex(run_sim) -> None:
    """In a process of its own: torchair cannot be used after npugraph_ex."""
    code = """
import torch
from transformers import LlamaConfig, LlamaForCausalLM
from ophook_npu import ops
from ophook_npu.ops.modules import replace, rms_norm_forward, swiglu_forward
for name in ("npu_rms_norm_custom", "npu_swiglu_custom"):
    ops.register(name)
torch.manual_seed(0)
config = LlamaConfig(
    vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=2, max_position_embeddings=64, attn_implementation="eager", use_cache=False,
)
model = LlamaForCausalLM(config).npu().eval()
tokens = torch.randint(0, 64, (2, 16)).npu()
with torch.no_grad():
    expected = model(input_ids=tokens).logits
    with replace(model, {"*RMSNorm": rms_norm_forward, "*MLP": swiglu_forward}):
        compiled = torch.compile(model, backend="npugraph_ex", dynamic=False)
        for _ in range(2):
            torch.testing.assert_close(compiled(input_ids=tokens).logits, expected, rtol=1e-4, atol=1e-5)
print("equal")
"""
    result = run_sim(code)
    assert result.returncode == 0 and result.stdout.strip().endswith("equal"), result.stderr[-2000:]


def test_replacing_is_undone(model: LlamaForCausalLM) -> None:
    before = [vars(module).get("forward") for module in model.modules()]
    with replace(model, RULES):
        assert [vars(module).get("forward") for module in model.modules()] != before
    assert [vars(module).get("forward") for module in model.modules()] == before
