"""A capture fails as an old driver has no queue left: the message names the driver's version that has."""

import enum
import sys
from types import ModuleType, SimpleNamespace

import torch
import torch_npu  # noqa: F401
from taken import take

for name in ("vllm", "vllm.model_executor", "vllm.model_executor.offloader", "vllm.model_executor.offloader.base"):
    sys.modules[name] = ModuleType(name)
offloader = SimpleNamespace(sync_prev_onload=lambda: None, join_after_forward=lambda: None)
sys.modules["vllm.model_executor.offloader.base"].get_offloader = lambda: offloader  # type: ignore[attr-defined]
Mode = enum.Enum("Mode", "NONE FULL")
context = SimpleNamespace(batch_descriptor=1, cudagraph_runtime_mode=Mode.FULL)
taken = take(
    "vllm_ascend/compilation/acl_graph.py",
    CUDAGraphMode=Mode,
    get_forward_context=lambda: context,
    validate_cudagraph_capturing_enabled=lambda: None,
)


def model(x: torch.Tensor) -> torch.Tensor:
    raise RuntimeError("Alloc sq cq fail, stream resources are insufficient")


wrapper = SimpleNamespace(
    runnable=model, runtime_mode=Mode.FULL, concrete_aclgraph_entries={}, graph_pool=None,
    aclgraph_options=SimpleNamespace(debug_log_enable=False, gc_disable=False, weak_ref_output=False),
)  # fmt: skip
try:
    taken.ACLGraphWrapper.__call__(wrapper, torch.zeros(2, device="npu"))
except RuntimeError as error:
    assert "25.5.1" in str(error), f"it says nothing of the driver: {error}"
