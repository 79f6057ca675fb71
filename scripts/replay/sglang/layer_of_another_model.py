"""A model takes the forward of another model's layer, whose attribute for another vendor's chips it does not have."""

from types import SimpleNamespace

import torch
import torch_npu  # noqa: F401
from taken import take

taken = take("python/sglang/srt/models/deepseek_v2.py", "DeepseekV2DecoderLayer.forward", DeepseekV2MLP=torch.nn.Linear)
between = SimpleNamespace(
    prepare_attn=lambda x, residual, *rest: (x, x), prepare_mlp=lambda x, residual, *rest: (x, residual),
    postprocess_layer=lambda x, residual, *rest: (x, residual), should_use_reduce_scatter=lambda *given: False,
    should_fuse_mlp_allreduce_with_next_layer=lambda *given: False,
)  # fmt: skip
layer = SimpleNamespace(
    layer_communicator=between, self_attn=lambda hidden_states, **given: hidden_states * 2, layer_scatter_modes=None,
    mlp=lambda x, *given: x + 1, nsa_enable_prefill_cp=False,
)  # fmt: skip
out = taken.forward(layer, None, torch.ones(2, 4, device="npu"), None, None, None)
assert out[0].cpu().eq(3.0).all()
