"""A captured operator whose lengths are read on the host gets new ones for each replay."""

import torch
import torch_npu

torch.manual_seed(0)
keys, values = torch.randn(4, 4, 2, 16).half().npu(), torch.randn(4, 4, 2, 16).half().npu()
query, table = torch.randn(2, 4, 16).half().npu(), torch.tensor([[0, 1], [2, 3]], dtype=torch.int32).npu()
captured, eager = torch.zeros(2, 4, 16).half().npu(), torch.zeros(2, 4, 16).half().npu()


def attend(lengths, out):
    torch_npu._npu_paged_attention(query, keys, values, 2, 4, 0.3, table, torch.tensor(lengths, dtype=torch.int32), out)


graph, event, updates = torch.npu.NPUGraph(), torch.npu.ExternalEvent(), torch.npu.Stream()
with torch.npu.graph(graph):
    stream = torch.npu.current_stream()
    event.wait(stream)
    event.reset(stream)
    torch.npu.graph_task_group_begin(stream)
    attend([3, 3], captured)
    handle = torch.npu.graph_task_group_end(stream)


def update(lengths):
    with torch.npu.stream(updates):
        torch.npu.graph_task_update_begin(updates, handle)
        attend(lengths, captured)
        torch.npu.graph_task_update_end(updates)
        event.record(updates)


for lengths, late in (([7, 5], False), ([2, 8], True), ([6, 1], True)):
    if not late:
        update(lengths)
    graph.replay()
    if late:  # the replay is under way, and waits
        update(lengths)
    torch.npu.synchronize()
    attend(lengths, eager)
    print(lengths, bool((captured == eager).all()))

with torch.npu.stream(updates):
    torch.npu.graph_task_update_begin(updates, handle)
    try:
        torch.npu.graph_task_update_end(updates)
    except RuntimeError as error:
        print(next(line for line in str(error).splitlines() if "simulated" in line))
