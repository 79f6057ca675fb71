"""Numbers compressed without a loss: what comes back, what is counted, and where the parts lie."""

from __future__ import annotations

import pytest
import torch
import torch_npu
from interfaces import Refused, aclnn
from values import real

COUNT = 32768 + 64


def parts(numbers: torch.Tensor) -> list[torch.Tensor]:
    """A mantissa, the first part of the compressed bytes, and room for the others."""
    size = numbers.element_size()
    counts = (numbers.numel() * (size - 1) // size, numbers.numel() // 2 // size, numbers.numel())
    return [torch.zeros(count, dtype=numbers.dtype) for count in counts]


def bytes_of(numbers: torch.Tensor) -> torch.Tensor:
    return numbers.flatten().view(torch.uint8).reshape(numbers.numel(), -1)


def test_through_torch_npu() -> None:
    for dtype, gathered in [(torch.float32, False), (torch.bfloat16, True), (torch.float16, False)]:
        numbers = real(64, 513, dtype=dtype)
        counts, out = torch.zeros(256, dtype=torch.int32).npu(), torch.zeros_like(numbers).npu()
        mantissa, fixed, rest = (part.npu() for part in parts(numbers))
        torch_npu.npu_hans_encode(numbers.npu(), True, gathered, out=(counts, mantissa, fixed, rest))
        assert torch.equal(counts.cpu().long(), bytes_of(numbers)[:, -1].long().bincount(minlength=256))
        torch_npu.npu_hans_decode(mantissa, fixed, rest, counts, gathered, out=out)
        assert torch.equal(bytes_of(out.cpu()), bytes_of(numbers))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_every_number_comes_back(dtype: torch.dtype) -> None:
    """Also those that are none, whatever the counts say, and from memory that is not in one piece."""
    size = torch.empty((), dtype=dtype).element_size()
    random = torch.randint(0, 256, (2 * COUNT, size), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)
    for numbers in (random.view(dtype).reshape(-1)[::2], torch.zeros(COUNT, dtype=dtype), real(COUNT, dtype=dtype)):
        for counts in (torch.zeros(1, 256, dtype=torch.int32), torch.arange(256, dtype=torch.int32)):
            before, made, out = counts.clone(), parts(numbers), torch.empty_like(numbers)
            aclnn("aclnnHansEncode", numbers, counts, False, False, *made)
            assert torch.equal(counts, before)
            aclnn("aclnnHansDecode", *made, counts, False, out)
            assert torch.equal(bytes_of(out), bytes_of(numbers.contiguous()))


def test_what_is_alike_gets_small() -> None:
    numbers = 1 + torch.rand(COUNT, generator=torch.Generator().manual_seed(0))  # one exponent
    counts, (mantissa, fixed, rest) = torch.zeros(1, 256, dtype=torch.int32), parts(numbers)
    aclnn("aclnnHansEncode", numbers, counts, True, False, mantissa, fixed, rest)
    assert int(counts.sum()) == COUNT and (counts > 0).sum() == 1
    assert not rest.view(torch.uint8).any() and torch.count_nonzero(fixed.view(torch.uint8)) < 100


def test_what_is_refused() -> None:
    def call(count: int = COUNT, short: int = 0, room: int | None = None) -> None:
        numbers = real(count)
        mantissa, fixed, rest = parts(numbers)
        aclnn("aclnnHansEncode", numbers, counts, True, False, mantissa[short:], fixed, rest[:room])

    counts = torch.zeros(1, 256, dtype=torch.int32)
    call()
    for wrong, message in [
        ({"count": COUNT + 1}, "multiples of 64 from 32768 on"), ({"count": 32704}, "32704 numbers"),
        ({"short": 1}, "a mantissa of 98496 bytes expected"), ({"room": 0}, "fixed and var of"),
    ]:  # fmt: skip
        with pytest.raises(Refused, match=message):
            call(**wrong)
    numbers = real(COUNT)
    with pytest.raises(Refused, match="507"):  # bytes that nobody compressed
        aclnn("aclnnHansDecode", *parts(numbers), counts, False, numbers)
