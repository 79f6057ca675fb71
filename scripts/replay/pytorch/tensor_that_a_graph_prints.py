"""A captured graph prints a tensor whose elements are not in order in memory."""

import os

from taken import lay

# The allocator of pinned memory asks too early whether the stream is captured while torch_npu's queue has its wait
# (docs/results.md): then the capture ends with an event more, for which nothing waits.
os.environ["TASK_QUEUE_ENABLE"] = "0"
lay("torch_npu/npu/graphs.py")
import torch  # noqa: E402
import torch_npu  # noqa: E402, F401

x, graph = torch.arange(6.0, device="npu").view(2, 3), torch.npu.NPUGraph()
with torch.npu.graph(graph):
    y = (x + 1).t()
    torch.npu.graphs._print_npugraph_tensor_impl(y)
graph.replay()
torch.npu.synchronize()
