"""vLLM's capture asks a communicator for its own all-reduce: one of npu has none, and says so."""

import torch
import torch_npu  # noqa: F401
from taken import take


class Base:
    def __init__(self, *given: object) -> None:
        pass


taken = take(
    "vllm_ascend/distributed/device_communicators/npu_communicator.py", "NPUCommunicator", DeviceCommunicatorBase=Base
)
communicator = taken.NPUCommunicator(None)
graph = torch.npu.NPUGraph()
x = torch.ones(2, device="npu")
with torch.npu.graph(graph):
    y = x + 1 if communicator.ca_comm is None else communicator.ca_comm(x)
graph.replay()
assert y.cpu().tolist() == [2, 2]
