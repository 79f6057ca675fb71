"""A tiny Llama trained for ten steps as it is, and with its RMSNorm and SwiGLU by custom operators. No downloads.

python examples/custom_ops/llama.py [--device npu] [--backend inductor | aot_eager | torchair | npugraph_ex]
"""

import argparse
import copy
import sys
from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from ophook_npu import ops
from ophook_npu.ops.compiled_training import npugraph_ex_options, torchair_decompositions
from ophook_npu.ops.modules import replace, rms_norm_forward, swiglu_forward


def compiler(name: str) -> dict[str, Any]:
    """Arguments of torch.compile."""
    if name == "torchair":
        import torchair

        config = torchair.CompilerConfig()
        decompositions = torchair_decompositions()
        return {"backend": torchair.get_npu_backend(compiler_config=config, custom_decompositions=decompositions)}
    if name == "npugraph_ex":
        return {"backend": name, "options": npugraph_ex_options()}
    return {"backend": name}


def train(model: torch.nn.Module, tokens: torch.Tensor, backend: str | None, steps: int = 10) -> list[float]:
    run = model if backend is None else torch.compile(model, dynamic=False, **compiler(backend))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = run(input_ids=tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--backend")
    options = parser.parse_args()
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=64, attn_implementation="eager", use_cache=False,
    )  # fmt: skip
    original = LlamaForCausalLM(config).to(options.device)
    tokens = torch.randint(0, 64, (2, 16)).to(options.device)
    swapped = copy.deepcopy(original)
    ops.register("npu_rms_norm_custom")
    ops.register("npu_swiglu_custom")
    with replace(swapped, {"*RMSNorm": rms_norm_forward, "*MLP": swiglu_forward}) as replaced:
        ours = train(swapped, tokens, options.backend)
    theirs = train(original, tokens, None)
    for name, of in replaced.modules.items():
        print(f"replaced {len(of)} {name}")
    for step, (one, other) in enumerate(zip(theirs, ours, strict=True)):
        print(f"step {step}: {one:.6f} {other:.6f}")
    worst = max(abs(one - other) for one, other in zip(theirs, ours, strict=True))
    print(f"largest difference {worst:.2g}")
    return 0 if worst < 1e-4 else 1


if __name__ == "__main__":
    sys.exit(main())
