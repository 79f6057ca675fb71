"""Operators that were once reported as wrong, over torch's own samples and all forms of their arguments: on npu,
eagerly and in torchair's graphs, they give what they give on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F
import torchair

BACKEND = torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())
Case = tuple[Callable[..., Any], tuple[torch.Tensor, ...]]


def _randn(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    generator = torch.Generator().manual_seed(sum(shape) + len(shape))
    return torch.randn(shape, dtype=dtype, generator=generator)


def _samples(name: str, dtype: torch.dtype) -> Iterator[Case]:
    from torch.testing._internal.common_methods_invocations import op_db

    (info,) = (found for found in op_db if found.name == name)
    for sample in info.sample_inputs("cpu", dtype, requires_grad=False):
        given = (sample.input, *sample.args)
        tensors = [one.detach() for one in given if isinstance(one, torch.Tensor)]
        rest = [one for one in given if not isinstance(one, torch.Tensor)]
        named = [name for name, one in sample.kwargs.items() if isinstance(one, torch.Tensor)]
        others = {name: one for name, one in sample.kwargs.items() if name not in named}
        tensors += [sample.kwargs[name].detach() for name in named]

        def call(*moved: torch.Tensor, rest: Any = rest, named: Any = named, others: Any = others) -> Any:
            first = moved[: len(moved) - len(named)]
            return info.op(*first, *rest, **dict(zip(named, moved[len(first) :], strict=True)), **others)

        yield call, tuple(tensors)


def vecdot() -> Iterator[Case]:
    for dtype in (torch.complex64, torch.float32):
        yield from _samples("linalg.vecdot", dtype)
        a, b = _randn(2, 3, 4, dtype=dtype), _randn(3, 4, dtype=dtype)
        for dim in (-1, 1, 2):
            yield lambda x, y, dim=dim: torch.linalg.vecdot(x, y, dim=dim), (a, a.flip(0))
        yield torch.linalg.vecdot, (a, b)  # broadcast
        yield torch.linalg.vecdot, (b[0], b[1])  # 0-d
        yield torch.linalg.vecdot, (a.transpose(0, 2), a.transpose(0, 2).flip(0))  # not contiguous
        yield torch.linalg.vecdot, (a[..., ::2], a[..., 1::2])
        yield torch.linalg.vecdot, (a[:, :, :0], a[:, :, :0])
        yield lambda x, y: torch.linalg.vecdot(x.conj(), y), (a, a.flip(1))
        yield lambda x, y: torch.linalg.vecdot(x, y.conj()), (a, a.flip(1))


def prelu() -> Iterator[Case]:
    yield from _samples("nn.functional.prelu", torch.float32)
    for shape in ((), (5,), (4, 3), (2, 3, 5), (2, 3, 5, 4), (0, 3)):
        x = _randn(*shape)
        yield F.prelu, (x, torch.tensor([0.25]))
        yield F.prelu, (x, torch.tensor(0.25))
        if len(shape) >= 2:
            weight = torch.tensor([0.1, -0.2, 0.3])
            yield F.prelu, (x, weight)
            yield F.prelu, (x.transpose(0, 1).contiguous().transpose(0, 1), weight)
    yield F.prelu, (_randn(2, 3, 5, 4).to(memory_format=torch.channels_last), torch.tensor([0.1, -0.2, 0.3]))


def bilinear_aa() -> Iterator[Case]:
    yield from _samples("_upsample_bilinear2d_aa", torch.float32)
    image = _randn(2, 3, 8, 6)
    forms = (image, image.to(memory_format=torch.channels_last), image.transpose(2, 3), image[:, :, ::2, 1:])
    for corners in (False, True):
        for form in forms:
            for size in ((4, 3), (16, 9), (3, 11), (1, 1)):
                yield (
                    lambda x, size=size, corners=corners: F.interpolate(
                        x, size=size, mode="bilinear", align_corners=corners, antialias=True
                    ),
                    (form,),
                )
        for scale in (0.5, 2.0, (0.7, 1.3)):
            for recompute in (False, True):
                yield (
                    lambda x, scale=scale, corners=corners, recompute=recompute: F.interpolate(
                        x, scale_factor=scale, mode="bilinear", align_corners=corners, antialias=True,
                        recompute_scale_factor=recompute,
                    ),
                    (image,),
                )  # fmt: skip


def _is_vdot(tensors: tuple[torch.Tensor, ...]) -> bool:
    return all(one.dim() == 1 for one in tensors)


OPERATORS = {"vecdot": vecdot, "prelu": prelu, "bilinear_aa": bilinear_aa}


@pytest.mark.parametrize("name", OPERATORS)
def test_eager(name: str) -> None:
    cases = list(OPERATORS[name]())
    assert len(cases) > 15
    for number, (function, tensors) in enumerate(cases):
        if name == "vecdot" and _is_vdot(tensors) and tensors[0].is_complex():
            # Two vectors are torch's vdot, whose aclnnDot takes no complex numbers on a device either.
            with pytest.raises(RuntimeError, match=r"aclnnDot: .*COMPLEX64"):
                function(*(one.npu() for one in tensors))
            continue
        got = function(*(one.npu() for one in tensors))
        torch.testing.assert_close(
            got.cpu(), function(*tensors), rtol=1e-5, atol=1e-5, msg=lambda text, number=number: f"{number}: {text}"
        )


# Complex tensors are not torchair's; vdot and antialiased resizing have no converter there.
GRAPHS = {"vecdot": lambda own: not own[0].is_complex() and not _is_vdot(own), "prelu": lambda own: True}


@pytest.mark.parametrize("name", GRAPHS)
def test_in_one_graph(name: str) -> None:
    """All cases are the outputs of one graph: compiling takes longer than they do."""
    cases = [case for case in OPERATORS[name]() if GRAPHS[name](case[1]) and case[1][0].numel()]

    def all_of_them(*tensors: torch.Tensor) -> list[torch.Tensor]:
        given = iter(tensors)
        return [function(*(next(given) for _ in own)) for function, own in cases]

    torch._dynamo.reset()
    tensors = [one for _, own in cases for one in own]
    got = torch.compile(all_of_them, backend=BACKEND, fullgraph=True, dynamic=False)(*(one.npu() for one in tensors))
    torch.testing.assert_close([one.cpu() for one in got], all_of_them(*tensors), rtol=1e-5, atol=1e-5)
