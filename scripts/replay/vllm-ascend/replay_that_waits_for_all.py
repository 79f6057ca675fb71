"""A part of a model is replayed: only a graph of a whole model waits for what runs before."""

import enum
import threading
from types import SimpleNamespace

import torch
import torch_npu  # noqa: F401
from taken import take


class Once:
    def info_once(self, *given: object) -> None:
        pass


Mode = enum.Enum("Mode", "NONE PIECEWISE FULL")
taken = take(
    "vllm_ascend/compilation/acl_graph.py", "ACLGraphWrapper.__call__", CUDAGraphMode=Mode, logger=Once(),
    get_forward_context=lambda: SimpleNamespace(batch_descriptor=1, cudagraph_runtime_mode=Mode.PIECEWISE),
)  # fmt: skip
x, graph = torch.ones(4, device="npu"), torch.npu.NPUGraph()
with torch.npu.graph(graph):
    y = x * 2
torch.npu.synchronize()
wrapper = SimpleNamespace(
    runtime_mode=Mode.PIECEWISE, is_debugging_mode=False,
    concrete_aclgraph_entries={1: SimpleNamespace(aclgraph=graph, output=y)},
)  # fmt: skip
other, event = torch.npu.Stream(), torch.npu.ExternalEvent()
event.wait(other)
timer = threading.Timer(3, lambda: event.record(torch.npu.Stream()))
timer.start()
taken.__call__(wrapper, x)
waited = other.query()
timer.join()
torch.npu.synchronize()
assert not waited, "the replay of a part waited for every stream"
