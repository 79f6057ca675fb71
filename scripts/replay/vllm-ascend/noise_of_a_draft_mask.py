"""Exponential noise of a sampler is drawn on the host for requests whose mask of drafts is on the device."""

from contextlib import nullcontext

import torch
import torch_npu  # noqa: F401
from taken import take

taken = take(
    "vllm_ascend/_310p/sample/sampler.py",
    "_get_cpu_generator_310p",
    "_fill_cpu_exponential_310p",
    "fill_exponential_310p",
    _CPU_GENERATOR_CACHE_310P={},
    npu_stream_switch=lambda stream: nullcontext(),
    global_stream=torch.npu.current_stream,
)
q = torch.zeros(2, 4, device="npu")
drafted = torch.tensor([True, False], device="npu")
generators = {i: torch.Generator().manual_seed(i) for i in range(2)}
taken.fill_exponential_310p(q, generators, drafted)
assert (q.cpu() > 0).all(), "a request without drafts keeps zeros"
