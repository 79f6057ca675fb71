"""Workers that exchange tokens through a context in device memory, as op-plugin's tests lay it out."""

from __future__ import annotations

import struct

import pytest
import torch
import torch_npu
from values import close, real


def context(tokens: int, chosen: int, data: torch.Tensor, micro_batch: int, *, size: int = 0) -> torch.Tensor:
    """(micro batches, tokens, experts, hidden) lie where it says."""
    common = struct.pack("<7Ii96x", 2, data.shape[0], tokens, chosen, 8, 512, 512, 2)
    control = struct.pack("<i4x3Q96x", 1, 0, 0, 0)
    size = size or data.numel() * data.element_size()
    attention = struct.pack("<4QI92x", 0, 0, data.data_ptr(), size, micro_batch)
    return torch.frombuffer(bytearray(common + control + attention + bytes(640)), dtype=torch.int8)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_what_the_experts_gave_is_added_up(dtype: torch.dtype) -> None:
    tokens, chosen, hidden = 5, 3, 16
    data, scales = real(2, tokens, chosen, hidden, dtype=dtype), real(tokens, chosen - 1, seed=1).abs()
    on_npu, layer = data.npu(), torch.tensor([4], dtype=torch.int32).npu()
    for micro_batch in (0, 1):
        y, following = torch_npu.npu_attention_worker_combine(
            context(tokens, chosen, on_npu, micro_batch).npu(), scales.npu(), layer, hidden,
            token_dtype=int(dtype == torch.bfloat16),
        )  # fmt: skip
        mine = data[micro_batch].double()
        close(y.cpu(), (mine[:, :-1] * scales.double()[..., None]).sum(1) + mine[:, -1], 1e-2)
        assert y.dtype == dtype and following.tolist() == [5]
    with pytest.raises(RuntimeError, match="needSchedule 1 is not simulated"):
        torch_npu.npu_attention_worker_combine(
            context(tokens, chosen, on_npu, 0).npu(), scales.npu(), layer, hidden, need_schedule=1
        )


WRONG = """
import torch, torch_npu, sys
sys.path[:0] = [{folder!r}]
from test_aclnn_workers import context
data = torch.ones(1, 5, 3, 16).half()
given = data if {host} else data.npu()
made = context(5, 3, given, 0, size={size}).npu()
torch_npu.npu_attention_worker_combine(made, torch.ones(5, 2).npu(), torch.ones(1).int().npu(), 16)
torch.npu.synchronize()
"""


@pytest.mark.parametrize(
    ("host", "size", "message"),
    [(True, 0, "not in device memory"), (False, 100, "have 100 bytes; 480 are expected")],
)
def test_a_context_that_names_other_memory_is_refused(run_sim, request, host: bool, size: int, message: str) -> None:
    """In a process of its own: the stream is lost."""
    done = run_sim(WRONG.format(folder=str(request.path.parent), host=host, size=size))
    assert done.returncode and message in done.stderr, done.stderr
