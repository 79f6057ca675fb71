"""A part of a model is captured with the counter of the vLLM of that week, whose name had a letter less."""

from types import SimpleNamespace

import torch
import torch_npu  # noqa: F401
from taken import take

taken = take(
    "vllm_ascend/compilation/piecewise_backend.py",
    envs=SimpleNamespace(VLLM_LOGGING_LEVEL="DEBUG"),
    compilation_counter=SimpleNamespace(num_cudagraph_captured=0),
    vllm_version_is=lambda version: version == "0.9.1",
    weak_ref_tensors=lambda tensors: tensors,
)
config = SimpleNamespace(compile_sizes=[], cudagraph_capture_sizes=[4], use_cudagraph=True, cudagraph_num_of_warmups=0)
part = taken.NPUPiecewiseBackend(
    None, SimpleNamespace(compilation_config=config), None, 0, 2, [0], lambda n, x: x * 2, None
)
x = torch.ones(4, device="npu")
part(4, x)
part(4, x)
x.fill_(3.0)
assert part(4, x).cpu().tolist() == [6.0] * 4
