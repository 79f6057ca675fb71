"""Where keys of attention for inference lie: padded on the left, behind a prefix that all share, in a list; position
encodings; the band of sparse mode 0. Each in eager calls, and in a graph by torchair."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch_npu
from interfaces import aclnn

HEADS, DEPTH, SCALE, ALL = 4, 16, 0.3, 2147483647
SETTINGS = {"num_heads": HEADS, "input_layout": "BNSD", "scale": SCALE}
Fused = Callable[..., torch.Tensor]


def halves(*sizes: int, seed: int) -> torch.Tensor:
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(seed)).half()


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, hidden=None, pse=0) -> torch.Tensor:
    scores = SCALE * q.double() @ k.double().mT + pse
    if hidden is not None:
        scores = scores.masked_fill(hidden, -torch.inf)
    return scores.softmax(-1) @ v.double()


def close(got: torch.Tensor, want: torch.Tensor) -> None:
    torch.testing.assert_close(got.cpu().double(), want, rtol=1e-2, atol=1e-2)


@pytest.fixture(params=["eager", "graph"])
def fused(request: pytest.FixtureRequest) -> Fused:
    """npu_fused_infer_attention_score of tensors on the CPU, eager or compiled: its first result."""

    def call(*tensors: torch.Tensor, **more: object) -> torch.Tensor:
        placed = {name: value.npu() if isinstance(value, torch.Tensor) else value for name, value in more.items()}

        def attend(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
            return torch_npu.npu_fused_infer_attention_score(query, key, value, **SETTINGS, **placed)[0]

        if request.param == "graph":
            import torchair

            torch._dynamo.reset()
            attend = torch.compile(attend, backend=torchair.get_npu_backend(), dynamic=False)
        return attend(*(tensor.npu() for tensor in tensors)).cpu()

    return call


def test_a_position_encoding_is_added_to_the_scaled_scores(fused: Fused) -> None:
    q, k, v = (halves(2, HEADS, tokens, DEPTH, seed=n) for n, tokens in enumerate((5, 7, 7)))
    pse = halves(1, HEADS, 5, 8, seed=3)
    close(fused(q, k, v, pse_shift=pse), attention(q, k, v, pse=pse[..., :7].double()))


def test_sequences_that_end_before_their_batch(fused: Fused) -> None:
    """Padding on the left: rows and columns of mask and position encoding are those of the whole batch."""
    q, k, v = (halves(2, HEADS, tokens, DEPTH, seed=n) for n, tokens in enumerate((6, 8, 8)))
    mask, pse = torch.ones(6, 8, dtype=torch.bool).triu(3), halves(1, HEADS, 6, 8, seed=4)
    rows, columns = [2, 5], [4, 6]
    got = fused(
        q, k, v, atten_mask=mask, pse_shift=pse, actual_seq_lengths=rows, actual_seq_lengths_kv=columns,
        query_padding_size=torch.tensor([1]), kv_padding_size=torch.tensor([-3]),
    )  # fmt: skip
    for i, (count, keys) in enumerate(zip(rows, columns, strict=True)):
        own, kept = slice(5 - count, 5), slice(8 - keys, 8)
        want = attention(q[i, :, own], k[i, :, kept], v[i, :, kept], mask[own, kept], pse[0, :, own, kept].double())
        close(got[i, :, own], want)
        assert not got[i, :, : own.start].any() and not got[i, :, own.stop :].any()


def test_a_prefix_that_sequences_share(fused: Fused) -> None:
    sizes = (2, 3), (2, 4), (2, 4), (1, 6), (1, 6)
    q, k, v, before, value_before = (halves(n, HEADS, m, DEPTH, seed=m + n) for n, m in sizes)
    mask = torch.zeros(3, 9, dtype=torch.bool)
    mask[:, 1] = mask[:, 8] = True
    got = fused(
        q, k, v, atten_mask=mask, key_shared_prefix=before, value_shared_prefix=value_before,
        actual_shared_prefix_len=[5],
    )  # fmt: skip
    keys, values = (torch.cat([x[:, :, :5].expand(2, -1, -1, -1), y], 2) for x, y in ((before, k), (value_before, v)))
    close(got, attention(q, keys, values, mask))


def test_a_mask_decides_beside_pre_and_next_tokens(fused: Fused) -> None:
    """torch_npu's npu_prompt_flash_attention has next_tokens=0 by default, whatever the mask shows."""
    q, k, v = (halves(1, HEADS, 6, DEPTH, seed=n) for n in range(3))
    mask = torch.zeros(6, 6, dtype=torch.bool)
    mask[4, 0] = True
    close(fused(q, k, v, atten_mask=mask, pre_tokens=3, next_tokens=0), attention(q, k, v, mask))


def test_a_mask_that_shows_what_a_device_computes_in_part(fused: Fused) -> None:
    q, k, v = (halves(1, HEADS, tokens, DEPTH, seed=n) for n, tokens in enumerate((2, 1100, 1100)))
    causal = torch.ones(2, 1100, dtype=torch.bool).triu(1)
    close(fused(q, k, v, atten_mask=causal, next_tokens=0), attention(q, k, v, causal))


def test_pages_in_a_graph(fused: Fused) -> None:
    q, cache, values = (
        halves(2, HEADS, 1, DEPTH, seed=1),
        halves(4, 16, HEADS * DEPTH, seed=2),
        halves(4, 16, HEADS * DEPTH, seed=3),
    )
    table = torch.tensor([[2, 1], [0, 3]], dtype=torch.int32)
    got = fused(q, cache, values, block_table=table, block_size=16, actual_seq_lengths_kv=[20, 9])
    for i, (pages, length) in enumerate(zip(table.tolist(), (20, 9), strict=True)):
        k, v = (x[pages].reshape(32, HEADS, DEPTH)[:length].transpose(0, 1) for x in (cache, values))
        close(got[i], attention(q[i], k, v))


def test_keys_in_a_list() -> None:
    q = halves(2, HEADS, 1, DEPTH, seed=0)
    keys, values = ([halves(1, HEADS, n, DEPTH, seed=n + shift) for n in (3, 7)] for shift in (0, 9))
    out = torch.empty_like(q)
    aclnn(
        "aclnnIncreFlashAttentionV4",
        q,
        keys,
        values,
        None,
        None,
        None,
        *[None] * 9,
        HEADS,
        SCALE,
        "BNSD",
        HEADS,
        0,
        1,
        out,
    )
    for i in range(2):
        close(out[i], attention(q[i], keys[i][0], values[i][0]))


def test_a_prompt_of_int8_and_lengths_of_sequences() -> None:
    q, k, v = (halves(2, HEADS, 4, DEPTH, seed=n).mul(4).round().clamp(-8, 7).to(torch.int8) for n in range(3))
    out, one = torch.empty(2, HEADS, 4, DEPTH, dtype=torch.half), torch.ones(1)
    weights = torch.tensor([127.0])
    aclnn("aclnnPromptFlashAttentionV3", q, k, v, None, None, [4, 2], [4, 3], one, weights, one / 127, None, None,
          HEADS, 0.02, ALL, ALL, "BNSD", HEADS, 0, 1, out)  # fmt: skip
    for i, (rows, columns) in enumerate(((4, 4), (2, 3))):
        scores = 0.02 * q[i, :, :rows].double() @ k[i, :, :columns].double().mT
        want = scores.softmax(-1) @ v[i, :, :columns].double()
        torch.testing.assert_close(out[i, :, :rows].double(), want, rtol=5e-2, atol=1e-1)


@pytest.mark.parametrize(
    "more, message",
    [
        ({"block_table": torch.zeros(2, 1).int(), "kv_padding_size": torch.tensor([0])}, "exclude each other"),
        ({"key_shared_prefix": torch.zeros(1, HEADS, 3, DEPTH).half()}, "go together"),
        ({"pse_shift": torch.zeros(1, HEADS, 5, 6).half()}, r"pseShift has shape \[1, 4, 5, 6\] for 5 queries"),
        ({"atten_mask": torch.zeros(4, 7, dtype=torch.bool)}, r"attenMask has shape \[4, 7\] for 5 queries"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(more: dict[str, torch.Tensor], message: str) -> None:
    q, k, v = (halves(2, HEADS, tokens, DEPTH, seed=n) for n, tokens in enumerate((5, 7, 7)))
    with pytest.raises(RuntimeError, match=message):
        placed = {name: value.npu() for name, value in more.items()}
        torch_npu.npu_fused_infer_attention_score(q.npu(), k.npu(), v.npu(), **SETTINGS, **placed)


def test_what_a_device_computes_in_part_is_not_made_up() -> None:
    q, k, v = (halves(1, HEADS, tokens, DEPTH, seed=n).npu() for n, tokens in enumerate((2, 1100, 1100)))
    shown = torch.zeros(2, 1100, dtype=torch.bool).npu()
    with pytest.raises(RuntimeError, match="mask shows keys outside of pre_tokens"):
        torch_npu.npu_fused_infer_attention_score(q, k, v, **SETTINGS, atten_mask=shown, next_tokens=0)
        torch.npu.synchronize()


def test_one_query_is_taken_whatever_its_length_says(fused: Fused) -> None:
    """As in Ascend/pytorch's own tests of graphs whose lengths are updated."""
    q, k, v = (halves(2, HEADS, tokens, DEPTH, seed=n) for n, tokens in enumerate((1, 7, 7)))
    close(fused(q, k, v, actual_seq_lengths=[100]), attention(q, k, v))
    close(fused(q, k, v, actual_seq_lengths=[0, 0]), attention(q, k, v))


def test_lengths_behind_those_of_the_batch_are_not_read(fused: Fused) -> None:
    q, k, v = (halves(2, HEADS, tokens, DEPTH, seed=n) for n, tokens in enumerate((3, 7, 7)))
    got = fused(q, k, v, actual_seq_lengths=[3, 2, 99], actual_seq_lengths_kv=[7, 5, 99, 99])
    close(got[0], attention(q[0], k[0], v[0]))
    close(got[1, :, :2], attention(q[1, :, :2], k[1, :, :5], v[1, :, :5]))


@pytest.mark.parametrize(
    ("lengths", "words"),
    [
        ({"actual_seq_lengths": [4, 3]}, r"actual_seq_lengths\[0\] is 4; allowed: 0 to 3"),
        ({"actual_seq_lengths": [-1]}, r"actual_seq_lengths\[0\] is -1"),
        ({"actual_seq_lengths_kv": [7, 8]}, r"actual_seq_lengths_kv\[1\] is 8; allowed: 0 to 7"),
    ],
)
def test_lengths_beyond_the_tensors_are_refused_at_the_call(lengths: dict[str, list[int]], words: str) -> None:
    q, k, v = (halves(2, HEADS, tokens, DEPTH, seed=n).npu() for n, tokens in enumerate((3, 7, 7)))
    with pytest.raises(RuntimeError, match=words):
        torch_npu.npu_fused_infer_attention_score(q, k, v, **SETTINGS, **lengths)
