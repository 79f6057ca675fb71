"""A model names its fused weights to a quantisation that already knows others: it keeps both."""

import contextlib
from types import SimpleNamespace

import torch
from taken import take


class Enough(Exception):
    pass


def stop() -> None:
    raise Enough


base = take("python/sglang/srt/layers/quantization/base_config.py", "QuantizationConfig")
slim = take(
    "python/sglang/srt/layers/quantization/modelslim/modelslim.py",
    "ModelSlimConfig",
    QuantizationConfig=base.QuantizationConfig,
)
taken = take(
    "python/sglang/srt/models/deepseek_v2.py",
    "DeepseekV2ForCausalLM",
    nn=torch.nn,
    DeepseekV2WeightLoaderMixin=object,
    get_pp_group=stop,
)
config = slim.ModelSlimConfig({"packed_modules_mapping": {"model": {"experts": ["a"]}}})
known = set(config.packed_modules_mapping)
with contextlib.suppress(Enough):
    taken.DeepseekV2ForCausalLM(SimpleNamespace(q_lora_rank=8, architectures=[""]), config)
assert known <= set(config.packed_modules_mapping), f"only {sorted(config.packed_modules_mapping)} are left"
assert "fused_qkv_a_proj_with_mqa" in config.packed_modules_mapping
