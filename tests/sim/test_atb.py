"""Ascend Transformer Boost: torch_npu's own libop_plugin_atb.so over the simulated libatb.so.

References are in float64, from the formulas that ATB documents.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch_npu
from conftest import PROGRAMS

HEADS, KEY_HEADS, DEPTH, VALUES, SCALE = 4, 2, 16, 8, 0.3
HALVES = (torch.float16, torch.bfloat16)
TOLERANCE = {torch.float16: 4e-3, torch.bfloat16: 3e-2}


def close(got: torch.Tensor, wanted: torch.Tensor) -> None:
    tolerance = TOLERANCE.get(got.dtype, 1e-4)
    torch.testing.assert_close(got.cpu().double(), wanted.double(), atol=tolerance, rtol=tolerance)


def attend(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, added: torch.Tensor | float = 0.0):
    """(tokens, heads, depth) each; ``added`` to the scaled scores, (heads, queries, keys)."""
    q, k, v = (x.double().transpose(0, 1) for x in (query, key, value))
    k, v = (x.repeat_interleave(q.shape[0] // k.shape[0], 0) for x in (k, v))
    return ((SCALE * q @ k.transpose(1, 2) + added).softmax(-1) @ v).transpose(0, 1)


def behind(queries: int, keys: int) -> torch.Tensor:
    """Minus infinity where a key comes after its query; the last query sees all keys."""
    return torch.full((queries, keys), float("-inf"), dtype=torch.float64).triu(1 + keys - queries)


class Paged:
    """Keys and values of sequences in shuffled pages."""

    def __init__(self, lengths: list[int], dtype: torch.dtype, rows: int = 4) -> None:
        self.lengths = torch.tensor(lengths, dtype=torch.int32)
        self.keys = torch.randn(16, rows, KEY_HEADS, DEPTH, dtype=dtype)
        self.values = torch.randn(16, rows, KEY_HEADS, VALUES, dtype=dtype)
        self.table = torch.randperm(16)[: 3 * len(lengths)].reshape(len(lengths), 3).to(torch.int32)

    def sequence(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        pages, length = self.table[index].long(), int(self.lengths[index])
        return tuple(cache[pages].flatten(0, 1)[:length] for cache in (self.keys, self.values))


@pytest.mark.parametrize("dtype", HALVES)
def test_matmul_add(dtype):
    x, weight = torch.randn(6, 4, dtype=dtype), torch.randn(6, 5, dtype=dtype)
    total = torch.randn(4, 5)
    on_npu = total.npu()
    torch_npu._npu_matmul_add_fp32(x.npu(), weight.npu(), on_npu)
    close(on_npu, total.double() + x.double().T @ weight.double())


# op-plugin keeps the first table of cosines that a process gives it, for good: one table for both tests.
COS_SIN = torch.randn(32, DEPTH)


@pytest.mark.parametrize("neox", [True, False])
@pytest.mark.parametrize("shape", [(5, HEADS * DEPTH), (1, 5, HEADS, DEPTH)])
def test_rotary_embedding(neox, shape):
    positions = torch.tensor([3, 0, 31, 7, 7])
    query, key = torch.randn(shape).half(), torch.randn(5, KEY_HEADS * DEPTH).half()
    q, k = query.npu(), key.npu()
    torch_npu._npu_rotary_embedding(positions.npu(), q, k, DEPTH, COS_SIN.npu(), neox)
    cos, sin = (part.double()[positions, None] for part in COS_SIN.chunk(2, -1))
    for got, given in ((q, query), (k, key)):
        x = given.double().reshape(5, -1, DEPTH)
        a, b = x.chunk(2, -1) if neox else (x[..., ::2], x[..., 1::2])
        turned = (a * cos - b * sin, b * cos + a * sin)
        wanted = torch.cat(turned, -1) if neox else torch.stack(turned, -1).flatten(-2)
        close(got.reshape(5, -1, DEPTH), wanted)


@pytest.mark.parametrize("dtype", [*HALVES, torch.int8])
def test_reshape_and_cache(dtype):
    make = torch.ones if dtype == torch.int8 else torch.randn
    key, value = make(4, KEY_HEADS, DEPTH, dtype=dtype), make(4, KEY_HEADS, DEPTH, dtype=dtype)
    slots = torch.tensor([5, -1, 0, 11], dtype=torch.int32)
    caches = [torch.zeros(3, 4, KEY_HEADS, DEPTH, dtype=dtype).npu() for _ in range(3)]
    torch_npu._npu_reshape_and_cache(key.npu(), value.npu(), caches[0], caches[1], slots.npu())
    torch_npu._npu_reshape_and_cache_siso(key.npu(), caches[2], slots.npu())
    for cache, rows in zip(caches, (key, value, key), strict=True):
        wanted = torch.zeros(12, KEY_HEADS, DEPTH, dtype=dtype)
        wanted[[5, 0, 11]] = rows[[0, 2, 3]]  # a negative slot is no place
        assert torch.equal(cache.cpu().flatten(0, 1), wanted)


@pytest.mark.parametrize("dtype", HALVES)
def test_paged_attention(dtype):
    pages = Paged([7, 3, 12], dtype)
    query, out = torch.randn(3, HEADS, DEPTH, dtype=dtype), torch.empty(3, HEADS, VALUES, dtype=dtype).npu()
    call = (
        query.npu(),
        pages.keys.npu(),
        pages.values.npu(),
        KEY_HEADS,
        HEADS,
        SCALE,
        pages.table.npu(),
        pages.lengths,
    )
    torch_npu._npu_paged_attention(*call, out)
    wanted = torch.cat([attend(query[i : i + 1], *pages.sequence(i)) for i in range(3)])
    close(out, wanted)
    out.zero_()
    workspace = torch_npu._npu_paged_attention_get_workspace(*call, out)
    torch_npu._npu_paged_attention(*call, out, workspace=workspace)
    close(out, wanted)


def test_paged_attention_with_values_in_the_keys():
    keys = torch.randn(4, 4, 1, DEPTH).half()
    table, lengths = torch.tensor([[2, 0], [1, 3]], dtype=torch.int32), torch.tensor([5, 8], dtype=torch.int32)
    query, out = torch.randn(2, HEADS, DEPTH).half(), torch.empty(2, HEADS, 12).half().npu()
    torch_npu._npu_paged_attention_mla(query.npu(), keys.npu(), 1, HEADS, SCALE, table.npu(), lengths, 12, out)
    for i in range(2):
        own = keys[table[i].long()].flatten(0, 1)[: lengths[i]]
        close(out[i : i + 1], attend(query[i : i + 1], own, own[..., :12]))


def test_paged_attention_of_several_queries_a_sequence():
    pages, queries = Paged([7, 5], torch.bfloat16), torch.tensor([3, 1], dtype=torch.int32)
    query = torch.randn(4, HEADS, DEPTH).bfloat16()
    mask = torch.zeros(4, 12)
    mask[:3, :7], mask[3:, :5] = behind(3, 7).clamp_min(-1e4), behind(1, 5)
    out = torch.empty(4, HEADS, VALUES).bfloat16().npu()
    torch_npu._npu_paged_attention_splitfuse(
        query.npu(), pages.keys.npu(), pages.values.npu(), pages.table.npu(), pages.lengths, mask.bfloat16().npu(),
        queries, KEY_HEADS, HEADS, SCALE, out,
    )  # fmt: skip
    close(out[:3], attend(query[:3], *pages.sequence(0), behind(3, 7)))
    close(out[3:], attend(query[3:], *pages.sequence(1)))


@pytest.mark.parametrize("dtype", HALVES)
def test_flash_attention(dtype):
    lengths = torch.tensor([3, 5], dtype=torch.int32)
    query, key = torch.randn(8, HEADS, DEPTH, dtype=dtype), torch.randn(8, KEY_HEADS, DEPTH, dtype=dtype)
    value, out = torch.randn(8, KEY_HEADS, VALUES, dtype=dtype), torch.empty(8, HEADS, VALUES, dtype=dtype).npu()
    unseen = torch.ones(6, 6).triu(1)
    # What hides a key: a large negative number in float16, 1 in bfloat16.
    mask = (unseen * -1e4 if dtype == torch.float16 else unseen).to(dtype)
    on_npu = [x.npu() for x in (query, key, value)]
    torch_npu._npu_flash_attention(*on_npu, mask.npu(), lengths, SCALE, HEADS, KEY_HEADS, out)
    for part in (slice(0, 3), slice(3, 8)):
        own = query[part], key[part], value[part]
        close(out[part], attend(*own, behind(len(own[0]), len(own[0]))))
    torch_npu._npu_flash_attention_unpad(*on_npu, lengths, SCALE, HEADS, KEY_HEADS, out)
    for part in (slice(0, 3), slice(3, 8)):
        close(out[part], attend(query[part], key[part], value[part]))


def test_flash_attention_over_pages():
    pages, queries = Paged([7, 5], torch.bfloat16), torch.tensor([3, 2], dtype=torch.int32)
    query, out = torch.randn(5, HEADS, DEPTH).bfloat16(), torch.empty(5, HEADS, VALUES).bfloat16().npu()
    mask = torch.ones(128, 128).triu(1).bfloat16()
    torch_npu._npu_flash_attention_qlens(
        query.npu(), pages.keys.npu(), pages.values.npu(), pages.table.npu(), mask.npu(), queries, pages.lengths,
        KEY_HEADS, HEADS, SCALE, out,
    )  # fmt: skip
    close(out[:3], attend(query[:3], *pages.sequence(0), behind(3, 7)))
    close(out[3:], attend(query[3:], *pages.sequence(1), behind(2, 5)))


def test_group_topk():
    scores = torch.randn(5, 12).half()
    got = scores.npu()
    torch_npu._npu_group_topk(got, k=2, group_num=4, n=2)
    groups = scores.double().reshape(5, 4, 3)
    worst = groups.topk(2, -1).values.sum(-1).topk(2, -1, largest=False).indices
    groups[torch.arange(5)[:, None], worst] = 0
    close(got, groups.flatten(1))


@pytest.mark.parametrize("channels", [(16,), (6, 16), (1,)])
def test_quantization_by_scales_that_are_broadcast(channels: tuple[int, ...]):
    x, scale = torch.randn(2, 6, 16).half(), torch.rand(channels).half() / 8 + 0.05
    offset, out = torch.randint(-9, 9, channels, dtype=torch.int8), torch.empty(2, 6, 16, dtype=torch.int8).npu()
    torch_npu._npu_quantize_per_tensor(x.npu(), scale.npu(), offset.npu(), out)
    wanted = ((x.float() / scale.float()).round() + offset).clamp(-128, 127)
    assert (out.cpu() - wanted).abs().max() == 0


def test_norm_and_quantization():
    x, scale = torch.randn(6, 16).half(), torch.rand(16).half() / 8 + 0.05
    out = torch.empty(6, 16, dtype=torch.int8).npu()
    gamma, beta, one = torch.randn(16).half(), torch.randn(16).half(), torch.tensor([3], dtype=torch.int8)
    torch_npu._npu_quant_rms_norm(x.npu(), gamma.npu(), beta.npu(), scale[:1].npu(), one.npu(), out, eps=1e-3)
    normed = x.double() * (x.double().square().mean(-1, True) + 1e-3).rsqrt() * gamma.double() + beta.double()
    wanted = (normed / scale[0].double() + 3).round().clamp(-128, 127)
    assert (out.cpu() - wanted).abs().max() <= 1  # a tie, in float32


def test_operations_keep_the_stream_s_order():
    x, total = torch.ones(4, 2).half().npu(), torch.zeros(2, 2).npu()
    other = torch.npu.Stream()
    with torch.npu.stream(other):
        for _ in range(50):
            torch_npu._npu_matmul_add_fp32(x, x, total)
            total.mul_(0.5)
    other.synchronize()
    close(total, torch.full((2, 2), 4.0))


def test_a_captured_graph_runs_it_again():
    pages, query = Paged([7, 3], torch.float16), torch.randn(2, HEADS, DEPTH).half()
    q, out = query.npu(), torch.zeros(2, HEADS, VALUES).half().npu()
    keys, values, table = pages.keys.npu(), pages.values.npu(), pages.table.npu()
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        torch_npu._npu_paged_attention(q, keys, values, KEY_HEADS, HEADS, SCALE, table, pages.lengths, out)
    assert not out.any()
    for _ in range(2):
        query = torch.randn(2, HEADS, DEPTH).half()
        q.copy_(query)
        graph.replay()
        close(out, torch.cat([attend(query[i : i + 1], *pages.sequence(i)) for i in range(2)]))


def test_captured_tasks_are_replaced(run_sim: Callable):
    """In a process of its own: a replay that nobody lets go on waits for ever."""
    result = run_sim((PROGRAMS / "task_groups.py").read_text(), timeout=120)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == [
        "[7, 5] True",
        "[2, 8] True",
        "[6, 1] True",
        "[simulated Ascend] aclmdlRICaptureTaskUpdateEnd: 0 tasks were launched; the group has 1",
    ]


def test_what_is_refused(run_sim: Callable):
    """In a process whose operators run at once: torch_npu's queue takes nothing after a failure."""
    result = run_sim((PROGRAMS / "atb_refusals.py").read_text(), TASK_QUEUE_ENABLE="0")
    assert result.returncode == 0, result.stderr
    said = [line.removeprefix("[simulated Ascend] ") for line in result.stderr.splitlines() if "Operation:" in line]
    assert said == [
        "LinearOperation: x has 6 columns and weight 5 rows",
        "LinearOperation: no kernel for tensors of the ACL data types 0 0 0 -> 0",
        "RopeOperation: cos has 8 columns; allowed: 16 to 4096",
        "PagedAttentionOperation: context_lens must lie on the host: ATB reads it when the operation is set up",
        "PagedAttentionOperation: a sequence of 13 keys in 3 pages of 4",
        "PagedAttentionOperation: the key cache has 2 heads; kvHeadNum: 4",
        "PagedAttentionOperation: kvHeadNum 3; allowed: 0 or a divisor of headNum, 4",
        "PagedAttentionOperation: quantType 1 is not simulated",
        "SelfAttentionOperation: seq_len adds up to 10; there are 8 tokens",
        "GroupTopkOperation: k 5; allowed: 1 to groupNum, 4",
    ]
    assert result.stdout.split() == ["refused"] * len(said) + ["fine"]


def test_a_slot_outside_the_cache_is_the_stream_s_error():
    key, cache = torch.randn(1, 2, 16).half().npu(), torch.zeros(2, 4, 2, 16).half().npu()
    torch_npu._npu_reshape_and_cache_siso(key, cache, torch.tensor([8], dtype=torch.int32).npu())
    with pytest.raises(RuntimeError, match="507015"):
        torch.npu.synchronize()
    torch.npu.synchronize()
