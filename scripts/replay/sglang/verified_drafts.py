"""A graph verifies drafted tokens: that is no prefill, and takes the same way as a decoded token."""

from types import SimpleNamespace

import torch
from taken import take

modes = take("python/sglang/srt/model_executor/forward_batch_info.py", "ForwardMode")
taken = take(
    "python/sglang/srt/models/qwen3_moe.py",
    "Qwen3MoeAttention.forward_prepare",
    _is_npu=True,
)
way = []
layer = SimpleNamespace(
    forward_prepare_native=lambda **given: way.append("prefill"),
    forward_prepare_npu=lambda **given: way.append("decode"),
)
batch = SimpleNamespace(forward_mode=modes.ForwardMode.TARGET_VERIFY)
taken.forward_prepare(layer, None, torch.ones(2, 4), batch)
assert way == ["decode"], f"drafted tokens take the way of a {way[0]}"
