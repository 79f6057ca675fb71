"""For test_order.py, in four ranks: attention workers write into the windows of feed-forward workers, which read them
before anything says that they may; with the argument "right" after a collective.
"""

import sys

import torch
import torch.distributed as dist
import torch_npu
from workers import CHOSEN, EXPERTS, HIDDEN, INFO, PLACES, RANK, SESSIONS, TOKENS, WORKERS, drawn, grouped


def write(name: str) -> None:
    x, experts = drawn(RANK - WORKERS, 1)
    one = [torch.tensor([value], dtype=torch.int32).npu() for value in (RANK - WORKERS, 0, 0)]
    places = x.npu(), *one, experts.npu(), PLACES.npu()
    dims = INFO, [SESSIONS, 1, TOKENS, CHOSEN, HIDDEN], [1, TOKENS, CHOSEN]
    torch_npu.npu_attention_to_ffn(*places, name, 4, *dims, EXPERTS)


torch.npu.set_device(RANK)
dist.init_process_group("hccl")
_, name, window = grouped()
together, store = torch.ones(1).npu(), dist.distributed_c10d._get_default_store()
dist.barrier()
if RANK >= WORKERS:
    write(name)
if sys.argv[1] == "right":
    dist.all_reduce(together)
if RANK < WORKERS:
    seen = window.clone()
store.set(f"launched {RANK}", "")  # what hosts tell each other orders no tasks of streams
store.wait([f"launched {rank}" for rank in range(4)])
torch.npu.synchronize()
dist.barrier()
dist.destroy_process_group()
