"""Attention in a captured graph, given the lengths of each replay: what vLLM's full graphs do."""

import torch
import torch_npu

torch.manual_seed(0)
BLOCK = 128
keys, values = (torch.randn(4, BLOCK, 2 * 16).half().npu() for _ in range(2))
query, table = torch.randn(2, 4, 16).half().npu(), torch.tensor([[0, 1], [2, 3]], dtype=torch.int32).npu()
captured, eager = torch.zeros(2, 4, 16).half().npu(), torch.zeros(2, 4, 16).half().npu()
log_sum = torch.empty(1, dtype=torch.float16).npu()  # not asked for


def asked(lengths):
    lie = {"query": query, "key": keys, "value": values, "block_table": table, "block_size": BLOCK}
    heads = {"num_heads": 4, "num_key_value_heads": 2, "scale": 0.3, "input_layout": "TND", "sparse_mode": 0}
    return {**lie, **heads, "actual_seq_lengths": [1, 2], "actual_seq_lengths_kv": lengths}


def attend(lengths, out, workspace, **more):
    given = asked(lengths) | more
    torch_npu.npu_fused_infer_attention_score.out(**given, workspace=workspace, out=[out, log_sum])


graph, event, updates = torch.npu.NPUGraph(), torch.npu.ExternalEvent(), torch.npu.Stream()
room = torch_npu._npu_fused_infer_attention_score_get_max_workspace(**asked([128, 128]))
with torch.npu.graph(graph):
    stream = torch.npu.current_stream()
    event.wait(stream)
    event.reset(stream)
    torch.npu.graph_task_group_begin(stream)
    attend([3, 3], captured, room)
    handle = torch.npu.graph_task_group_end(stream)

for lengths in ([7, 200], [130, 8]):
    graph.replay()  # it waits for its lengths
    with torch.npu.stream(updates):
        torch.npu.graph_task_update_begin(updates, handle)
        attend(lengths, captured, room)
        torch.npu.graph_task_update_end(updates)
        event.record(updates)
    torch.npu.synchronize()
    attend(lengths, eager, room)
    print(lengths, bool((captured == eager).all()), bool(eager.isfinite().all()))

try:
    attend([3, 3], eager, room, softmax_lse_flag=True)
except RuntimeError as error:
    print(next(line for line in str(error).splitlines() if "simulated" in line))
