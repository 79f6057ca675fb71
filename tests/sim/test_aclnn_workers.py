"""Workers that exchange tokens through a context in device memory, as the pages' examples and op-plugin's tests lay it
out. Over several devices: test_hccl.py.
"""

from __future__ import annotations

import ctypes
import struct
from typing import Any

import pytest
import torch
import torch_npu
from interfaces import Refused, aclnn, libraries
from values import close, real, whole

NOBODY = 2**31 - 1  # the number of no expert


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


# ---- what attention workers wait for ---------------------------------------------------------------------------------
def attention_holder(window: torch.Tensor, **of: int) -> Any:
    sizes = {"session_num": 2, "micro_batch_num": 3, "micro_batch_size": 4, "selected_expert_num": 3, "expert_num": 8}
    return torch_npu._afd.create_schedule_context_holder(
        schedule_mode=1, attn_to_ffn_token_size=512, ffn_to_attn_token_size=512, attention_window=window.data_ptr(),
        attention_window_size=window.numel() * window.element_size(), **{**sizes, **of},
    )  # fmt: skip


def micro_batch_of(made: torch.Tensor) -> int:
    return struct.unpack_from("<I", made.cpu().numpy().tobytes(), 256 + 32)[0]


def test_results_of_the_next_micro_batch_are_waited_for() -> None:
    window = torch.zeros(4096, dtype=torch.int32).npu()
    flags = window[: 3 * 4 * 3].view(3, 12)
    holder = attention_holder(window)
    made = holder.get_schedule_context_tensor()
    assert micro_batch_of(made) == 2
    for turn in (0, 1, 2, 0):
        flags[turn] = 1
        before = flags.cpu()
        copy = torch_npu.attention_worker_scheduler(made) if turn == 1 else None
        if copy is not None:
            assert micro_batch_of(copy) == 1 and micro_batch_of(made) == 0
            flags[turn] = 1
        torch_npu.attention_worker_scheduler_(made)
        assert micro_batch_of(made) == turn
        before[turn] = 0
        assert torch.equal(flags.cpu(), before)


def test_a_worker_waits_for_the_last_flag() -> None:
    window = torch.zeros(4096, dtype=torch.int32).npu()
    made = attention_holder(window).get_schedule_context_tensor()
    window[:11] = 1
    torch.npu.synchronize()
    aside = torch.npu.Stream()
    with torch.npu.stream(aside):
        torch_npu.attention_worker_scheduler_(made)
    assert micro_batch_of(made) == 2 and not aside.query()
    window[11] = 1
    aside.synchronize()
    assert micro_batch_of(made) == 0 and not window.any()


def test_a_worker_that_is_stopped_leaves_all_as_it_was() -> None:
    window = torch.zeros(4096, dtype=torch.int32).npu()
    holder = attention_holder(window)
    made = holder.get_schedule_context_tensor()
    window[:5] = 1
    torch.npu.synchronize()
    aside = torch.npu.Stream()
    with torch.npu.stream(aside):
        torch_npu.attention_worker_scheduler_(made)
    assert not aside.query()
    holder.stop_schedule()
    aside.synchronize()
    assert micro_batch_of(made) == 2 and window.sum().item() == 5
    torch_npu.attention_worker_scheduler_(made)
    torch.npu.synchronize()
    assert micro_batch_of(made) == 2


NEVER = """
import torch, torch_npu, sys
sys.path[:0] = [{folder!r}]
from test_aclnn_workers import attention_holder
window = torch.zeros(4096, dtype=torch.int32).npu()
made = attention_holder(window).get_schedule_context_tensor()
window[:7] = 1
torch_npu.attention_worker_scheduler_(made)
torch.npu.synchronize()
"""


def test_what_never_comes_is_said_when_time_is_up(run_sim, request) -> None:
    done = run_sim(NEVER.format(folder=str(request.path.parent)), HCCL_EXEC_TIMEOUT="1")
    assert done.returncode and "after 1 s (HCCL_EXEC_TIMEOUT) 7 of 12 flags" in done.stderr, done.stderr


# ---- what feed-forward workers wait for, and put in order ------------------------------------------------------------
SESSIONS, BATCHES, TOKENS, CHOSEN, HIDDEN = 3, 2, 4, 3, 100


class Window:
    """Of a feed-forward worker: who has sent what, and tokens of the given size in bytes."""

    def __init__(self, size: int) -> None:
        self.info_bytes = SESSIONS * BATCHES * (2 + TOKENS * CHOSEN) * 4
        self.begin = (self.info_bytes + 511) // 512 * 512
        self.memory = torch.zeros(self.begin + SESSIONS * BATCHES * TOKENS * CHOSEN * size, dtype=torch.int8).npu()
        self.holder = torch_npu._afd.create_schedule_context_holder(
            schedule_mode=0, session_num=SESSIONS, micro_batch_num=BATCHES, micro_batch_size=TOKENS,
            selected_expert_num=CHOSEN, expert_num=8, attn_to_ffn_token_size=size, ffn_to_attn_token_size=512,
            ffn_window=self.memory.data_ptr(), ffn_window_size=self.memory.numel(),
        )  # fmt: skip
        self.context = self.holder.get_schedule_context_tensor()
        self.info = self.memory[: self.info_bytes].view(torch.int32).view(SESSIONS, BATCHES, -1)
        self.tokens = self.memory[self.begin :].view(SESSIONS, BATCHES, TOKENS, CHOSEN, size)

    def send(self, micro_batch: int, experts: torch.Tensor, layer: int = 0) -> None:
        self.info[:, micro_batch, 2:] = experts.npu()
        self.info[:, micro_batch, 1] = layer
        self.info[:, micro_batch, 0] = 1

    def lists(self) -> tuple[list[int], ...]:
        """Layers, sessions, micro batches and experts, from the context's memory."""
        raw = self.context.cpu().numpy().tobytes()
        out = []
        for at in range(4):
            address, size = struct.unpack_from("<2Q", raw, 384 + 128 + 16 * at)
            out.append(_read(address, size // 4))
        return (*out, struct.unpack_from("<I", raw, 384 + 128 + 64)[0])


def _read(address: int, count: int) -> list[int]:
    to = (ctypes.c_int32 * count)()
    size = ctypes.c_size_t(4 * count)
    assert libraries()[1].aclrtMemcpy(to, size, ctypes.c_void_p(address), size, 2) == 0
    return list(to)


def some_experts(seed: int) -> torch.Tensor:
    """For some choices nobody: they went to another device."""
    made = torch.Generator().manual_seed(seed)
    experts = torch.randint(0, 6, (SESSIONS, TOKENS * CHOSEN), generator=made, dtype=torch.int32)
    return experts.masked_fill(torch.rand(experts.shape, generator=made) < 0.3, NOBODY)


def test_what_all_sessions_sent_is_listed_by_turns() -> None:
    window = Window(512)
    for turn in (0, 1, 0):
        experts = some_experts(turn)
        window.send(turn, experts, layer=7 + turn)
        if turn == 1:
            other = torch_npu.ffn_worker_scheduler(window.context, sync_group_size=SESSIONS)
            assert struct.unpack_from("<Q", other.cpu().numpy().tobytes(), 384 + 32)[0] == 0
            window.send(turn, experts, layer=7 + turn)
        torch_npu.ffn_worker_scheduler_(window.context, sync_group_size=SESSIONS)
        assert window.lists() == (
            [7 + turn] * SESSIONS, [*range(SESSIONS)], [turn] * SESSIONS, experts.flatten().tolist(), SESSIONS
        )  # fmt: skip
        assert not window.info[:, :, 0].any() and window.info[:, turn, 2:].eq(NOBODY).all()


@pytest.mark.parametrize("schedule", [0, 1], ids=["listed", "scanned"])
@pytest.mark.parametrize("kind", [0, 1, 2], ids=["float16", "bfloat16", "int8"])
def test_tokens_come_in_the_order_of_their_experts(kind: int, schedule: int) -> None:
    dtype = (torch.float16, torch.bfloat16, torch.int8)[kind]
    window, bytes_of = Window(512), HIDDEN * dtype.itemsize
    data = whole(*window.tokens.shape[:4], HIDDEN, low=-9, high=9, dtype=dtype)
    scale = real(*window.tokens.shape[:4], 1).abs()
    window.tokens[..., :bytes_of] = data.view(torch.int8).npu()
    if kind == 2:
        window.tokens[..., bytes_of : bytes_of + 4] = scale.view(torch.int8).npu()
    for turn in (0, 1):
        experts = some_experts(10 + turn)
        window.send(turn, experts)
        if not schedule:
            torch_npu.ffn_worker_scheduler_(window.context, sync_group_size=SESSIONS)
        y, groups, sessions, batches, tokens, choices, scales, count = torch_npu.npu_ffn_worker_batching(
            window.context, 8, [SESSIONS, TOKENS, CHOSEN, HIDDEN], token_dtype=kind, need_schedule=schedule
        )
        # Each token by itself, in the order of (expert, session, token, choice).
        flat = [
            (int(expert), session, at // CHOSEN, at % CHOSEN)
            for session in range(SESSIONS)
            for at, expert in enumerate(experts[session])
            if expert != NOBODY
        ]
        flat.sort()
        many = len(flat)
        assert count.tolist() == [many] and batches[:many].eq(turn).all()
        places = torch.stack([sessions[:many], tokens[:many], choices[:many]], 1).cpu()
        assert [tuple(row) for row in places.tolist()] == [one[1:] for one in flat]
        for i, (_, session, token, choice) in enumerate(flat):
            assert torch.equal(y[i].cpu(), data[session, turn, token, choice])
            if kind == 2:
                assert scales[i].item() == scale[session, turn, token, choice].item()
        used = sorted({one[0] for one in flat})
        want = [[expert, sum(one[0] == expert for one in flat)] for expert in used]
        assert groups.tolist() == want + [[0, 0]] * (8 - len(want))


def test_a_stopped_scan_brings_nothing() -> None:
    window = Window(512)
    window.holder.stop_schedule()
    _, groups, *_, count = torch_npu.npu_ffn_worker_batching(
        window.context, 8, [SESSIONS, TOKENS, CHOSEN, HIDDEN], need_schedule=1
    )
    assert count.tolist() == [0] and not groups.any()
    torch_npu.ffn_worker_scheduler_(window.context, sync_group_size=SESSIONS)
    assert window.lists()[-1] == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schedule": 2}, "needSchedule 2"),
        ({"layers": 2}, "layerNum 2 is not simulated"),
        ({"dtype": 3}, "tokenDtype 3"),
        ({"most": [2, 2, 2]}, "maxOutShape"),
        ({"experts": 0}, "expertNum 0"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_batches_that_are_refused(change: dict[str, Any], message: str) -> None:
    of = {"experts": 2, "most": [2, 2, 2, 8], "dtype": 0, "schedule": 0, "layers": 0, **change}
    ids = [torch.empty(8, dtype=torch.int32) for _ in range(4)]
    with pytest.raises(Refused, match=message):
        aclnn(
            "aclnnFfnWorkerBatching", torch.zeros(1024, dtype=torch.int8), *of.values(),
            torch.empty(8, 8, dtype=torch.float16), torch.empty(2, 2, dtype=torch.int64), *ids, torch.empty(8),
            torch.empty(1, dtype=torch.int64),
        )  # fmt: skip


def test_groups_of_sessions_and_other_modes_are_refused() -> None:
    made = torch.zeros(1024, dtype=torch.int8)
    with pytest.raises(Refused, match=r"executeMode is 1; .* allows 0 "):
        aclnn("aclnnInplaceFfnWorkerScheduler", made, 2, 1)
    made[:28] = torch.frombuffer(bytearray(struct.pack("<7I", 2, 1, 1, 1, 1, 512, 512)), dtype=torch.int8)
    with pytest.raises(Refused, match="syncGroupSize 1 of 2 sessions is not simulated"):
        aclnn("aclnnInplaceFfnWorkerScheduler", made, 1, 0)
    with pytest.raises(Refused, match="has 1000 bytes"):
        aclnn("aclnnInplaceAttentionWorkerScheduler", made[:1000])
