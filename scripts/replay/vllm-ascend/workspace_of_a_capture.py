"""After a capture nothing holds the workspace of its attention, so the next capture can have its memory."""

from types import SimpleNamespace

import torch
import torch_npu
from taken import take


class Once:
    def info_once(self, *given: object) -> None:
        pass


graphs = take(
    "vllm_ascend/compilation/acl_graph.py", "weak_ref_workspaces", weak_ref_tensors=torch_npu._C._weak_ref_tensor
)
params = SimpleNamespace(workspaces={})
taken = take(
    "vllm_ascend/worker/v2/utils.py",
    logger=Once(), get_graph_params=lambda: params, get_draft_graph_params=lambda: None,
    weak_ref_workspaces=graphs.weak_ref_workspaces,
)  # fmt: skip
x = torch.ones(4, device="npu")
with taken.torch_cuda_wrapper():
    graph = torch.cuda.CUDAGraph()
    before = torch.npu.memory_allocated()
    with torch.cuda.graph(graph):
        params.workspaces[4] = torch.empty(1 << 20, dtype=torch.uint8, device="npu")
        x.mul_(2)
held = torch.npu.memory_allocated() - before
assert held < 1 << 20, f"{held} bytes are held after the capture"
