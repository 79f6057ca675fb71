"""Run by test_hccl.py in four ranks: two feed-forward workers and two attention workers write into each other's
windows, and each finds there what was meant for it.
"""

import os
import time

import torch
import torch.distributed as dist
import torch_npu

RANK = int(os.environ["RANK"])
WORKERS, SESSIONS = 2, 2
TOKENS, ROUTED, HIDDEN, EXPERTS = 3, 2, 1024, 3
CHOSEN = ROUTED + 1  # one is shared
NOBODY = 2**31 - 1
# Copies of each expert, device and number of each: the second expert has one on either device, the last is shared.
PLACES = torch.tensor([[[1, 0, 10, 0, 0], [2, 0, 11, 1, 12], [1, 1, 13, 0, 0], [1, 1, 20, 0, 0]]], dtype=torch.int32)
INFO = [SESSIONS, 1, 2 + TOKENS * CHOSEN]
INFO_BYTES = (SESSIONS * (2 + TOKENS * CHOSEN) * 4 + 511) // 512 * 512


def backend(group):
    return group._get_backend(torch.device("npu"))


def grouped(size: int = 2**20):
    """A group with windows, of each kind of worker with the other."""
    group = dist.new_group(range(4))
    others = range(WORKERS, 4) if RANK < WORKERS else range(WORKERS)
    backend(group)._window_register_and_exchange(size, list(others))
    return group, backend(group).get_hccl_comm_name(RANK), backend(group)._get_window_mem()


def drawn(session: int, turn: int) -> tuple[torch.Tensor, torch.Tensor]:
    made = torch.Generator().manual_seed(10 * turn + session)
    x = torch.randn(1, TOKENS, HIDDEN, generator=made).to(torch.bfloat16)
    experts = torch.stack([torch.randperm(EXPERTS, generator=made)[:ROUTED] for _ in range(TOKENS)])
    return x, experts.int()[None]


def sent_to(rank: int, session: int, experts: torch.Tensor, active: int = TOKENS) -> list[tuple[int, int, int]]:
    """Token, choice and the expert's number there."""
    out = []
    for token in range(active):
        for choice, expert in enumerate([*experts[0, token].tolist(), EXPERTS]):
            row = PLACES[0, expert].tolist()
            copy = session % row[0]
            if row[1 + 2 * copy] == rank:
                out.append((token, choice, row[2 + 2 * copy]))
    return out


def send(name: str, turn: int, layer: int = 0, size: int = HIDDEN, **options) -> None:
    session = RANK - WORKERS
    x, experts = drawn(session, turn)
    one = [torch.tensor([value], dtype=torch.int32).npu() for value in (session, 0, layer)]
    torch_npu.npu_attention_to_ffn(
        x.npu(), *one, experts.npu(), PLACES.npu(), name, 4, INFO, [SESSIONS, 1, TOKENS, CHOSEN, size],
        [1, TOKENS, CHOSEN], EXPERTS, **options,
    )  # fmt: skip
    torch.npu.synchronize()


def refused(call, message: str) -> None:
    try:
        call()
        torch.npu.synchronize()
    except RuntimeError as error:
        assert message in str(error), error
    else:
        raise AssertionError(f"not refused: {message}")


def check_info(window: torch.Tensor, layer: int, active: int = TOKENS) -> None:
    info = window[: 4 * INFO[0] * INFO[2]].cpu().view(torch.int32).view(SESSIONS, -1)
    for session in range(SESSIONS):
        want = torch.zeros(INFO[2], dtype=torch.int32)
        want[0], want[1] = 1, layer
        for token, choice, number in sent_to(RANK, session, drawn(session, 1)[1], active):
            want[2 + token * CHOSEN + choice] = number
        assert torch.equal(info[session], want), (info[session], want)


def tokens_to_experts() -> None:
    group, name, window = grouped()
    if RANK >= WORKERS:
        refused(lambda: send(name, 1, sync_flag=1), "syncFlag")
        refused(lambda: send(name, 1, ffn_start_rank_id=1), "ffnStartRankId")
        refused(lambda: send(name, 1, size=HIDDEN - 1), "ffnTokenDataShape has for one")
        mask = torch.tensor([[True, True, False]])
        send(name, 1, layer=5, active_mask=mask.npu())
    dist.barrier()
    if RANK < WORKERS:
        check_info(window, 5, active=2)
        data = window[INFO_BYTES:].cpu()[: SESSIONS * TOKENS * CHOSEN * HIDDEN * 2]
        data = data.view(torch.bfloat16).view(SESSIONS, TOKENS, CHOSEN, HIDDEN)
        for session in range(SESSIONS):
            x, experts = drawn(session, 1)
            want = torch.zeros_like(data[session])
            for token, choice, _ in sent_to(RANK, session, experts, 2):
                want[token, choice] = x[0, token]
            assert torch.equal(data[session], want)
    dist.barrier()
    del group


def quantized_tokens_to_experts() -> None:
    _, name, window = grouped()
    size, has = HIDDEN + 128, (HIDDEN + 128 + 511) // 512 * 512  # as torch_npu's page has it; at multiples of 512
    scales = torch.rand(1, EXPERTS + 1, HIDDEN, generator=torch.Generator().manual_seed(9)) + 0.5
    if RANK >= WORKERS:
        send(name, 1, size=size, quant_mode=2, scales=scales.npu())
    dist.barrier()
    if RANK < WORKERS:
        check_info(window, 0)
        data = window[INFO_BYTES:].cpu()[: SESSIONS * TOKENS * CHOSEN * has].view(SESSIONS, TOKENS, CHOSEN, has)
        for session in range(SESSIONS):
            x, experts = drawn(session, 1)
            for token, choice, _ in sent_to(RANK, session, experts):
                expert = experts[0, token, choice] if choice < ROUTED else EXPERTS
                want = x[0, token].double() * scales[0, expert].double()
                row = data[session, token, choice]
                scale = row[HIDDEN : HIDDEN + 4].clone().view(torch.float32).double()
                torch.testing.assert_close(scale, want.abs().max()[None] / 127, rtol=1e-5, atol=0)
                off = (row[:HIDDEN].double() - want / scale).abs()
                assert off.max() <= 0.5 + 1e-3, off.max()
    dist.barrier()


def mistakes() -> None:
    group = dist.new_group(range(4))
    dist.all_reduce(torch.ones(1).npu(), group=group)
    name = backend(group).get_hccl_comm_name(RANK)
    if RANK == WORKERS:
        refused(lambda: send(name, 1), "has exchanged no window with rank 2")
    dist.barrier()
    _, name, _ = grouped(size=4096)
    if RANK == WORKERS:
        refused(lambda: send(name, 1), "of the 4096 that the window of rank")
    dist.barrier()


def there_and_back() -> None:
    """Several times: experts multiply by their number."""
    _, name, window = grouped()
    common = {
        "session_num": SESSIONS, "micro_batch_num": 1, "micro_batch_size": TOKENS, "selected_expert_num": CHOSEN,
        "expert_num": EXPERTS + 1, "attn_to_ffn_token_size": 2 * HIDDEN, "ffn_to_attn_token_size": 2 * HIDDEN,
    }  # fmt: skip
    kind = "ffn" if RANK < WORKERS else "attention"
    holder = torch_npu._afd.create_schedule_context_holder(
        schedule_mode=int(RANK >= WORKERS), **common,
        **{f"{kind}_window": window.data_ptr(), f"{kind}_window_size": window.numel()},
    )  # fmt: skip
    made = holder.get_schedule_context_tensor()
    torch.npu.synchronize()
    dist.barrier()  # nobody writes into a window that is not made ready
    ranks = torch.arange(WORKERS, 4, dtype=torch.int32).npu()
    for turn in (1, 2, 3):
        if RANK < WORKERS:
            if turn == 2:
                torch_npu.ffn_worker_scheduler_(made, sync_group_size=SESSIONS)
            y, groups, sessions, batches, tokens, choices, _, count = torch_npu.npu_ffn_worker_batching(
                made, EXPERTS + 1, [SESSIONS, TOKENS, CHOSEN, HIDDEN], token_dtype=1, need_schedule=int(turn != 2)
            )
            factors = torch.ones(y.shape[0], 1)
            begin = 0
            for number, many in groups.tolist():
                factors[begin : begin + many] = number
                begin += many
            assert begin == count.item()
            torch_npu.npu_ffn_to_attention(
                y * factors.to(y.dtype).npu(), sessions, batches, tokens, choices, count, name, 4,
                [1, TOKENS, CHOSEN], [1, TOKENS, CHOSEN, HIDDEN], attn_rank_table=ranks,
            )  # fmt: skip
        else:
            session = RANK - WORKERS
            if turn == 2:
                time.sleep(0.3)  # the workers wait
            send(name, turn, layer=turn)
            torch_npu.attention_worker_scheduler_(made)
            x, experts = drawn(session, turn)
            scales = torch.rand(TOKENS, ROUTED, generator=torch.Generator().manual_seed(turn))
            out, following = torch_npu.npu_attention_worker_combine(
                made, scales.npu(), torch.tensor([turn], dtype=torch.int32).npu(), HIDDEN, token_dtype=1
            )
            want = torch.zeros(TOKENS, HIDDEN, dtype=torch.float64)
            for rank in range(WORKERS):
                for token, choice, number in sent_to(rank, session, experts):
                    result = (x[0, token] * number).double()  # as bfloat16, which it goes as
                    want[token] += result * (scales[token, choice].double() if choice < ROUTED else 1)
            torch.testing.assert_close(out.cpu().double(), want, rtol=1e-2, atol=1e-2)
            assert following.tolist() == [turn + 1]
    dist.barrier()


if __name__ == "__main__":
    torch.npu.set_device(RANK)
    dist.init_process_group("hccl")
    dist.barrier()
    for part in (tokens_to_experts, quantized_tokens_to_experts, mistakes, there_and_back):
        part()
        print(f"rank {RANK}: {part.__name__} passed", flush=True)
    dist.destroy_process_group()
