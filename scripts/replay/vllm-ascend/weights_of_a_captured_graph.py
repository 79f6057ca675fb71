"""New weights are loaded after a graph was captured, as in reinforcement learning: a replay has to see them."""

from types import SimpleNamespace

import torch
import torch_npu
from taken import take


class Linear:
    pass


taken = take(
    "vllm_ascend/attention/mla_v1.py",
    "AscendMLAImpl.process_weights_after_loading",
    UnquantizedLinearMethod=Linear,
    ACL_FORMAT_FRACTAL_ND=2,
    maybe_trans_nz=lambda weight: weight,
    is_hidden_layer=lambda layer: False,
    torch_npu=torch_npu,
)
heads, rank, nope, value = 2, 16, 8, 8
weight = torch.randn(heads * (nope + value), rank, device="npu")
layer = SimpleNamespace(
    kv_b_proj=SimpleNamespace(weight=torch.nn.Parameter(weight, requires_grad=False), quant_method=Linear()),
    kv_lora_rank=rank, num_heads=heads, qk_nope_head_dim=nope, v_head_dim=value,
    enable_mlapo=False, fa_quant_layer=False, layer_sharding_kwargs=[],
)  # fmt: skip
load = taken.process_weights_after_loading
load(layer, torch.float32)
x = torch.randn(heads, 3, rank, device="npu")
graph = torch.npu.NPUGraph()
with torch.npu.graph(graph):
    out = torch.bmm(x, layer.W_UV)
layer.kv_b_proj.weight.data.copy_(torch.randn_like(weight))
load(layer, torch.float32)
graph.replay()
torch.npu.synchronize()
assert torch.allclose(out.cpu(), torch.bmm(x.cpu(), layer.W_UV.cpu()), atol=1e-4), "the replay used the old weights"
