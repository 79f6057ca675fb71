"""The calls that torchair's converters declare as supported, read from the installed wheel.

Here each runs in a graph and in eager mode. What differs has its reason in KNOWN.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch_npu
import torchair

# By operator: why the numbers of a call differ.
KNOWN = {
    "aten.bernoulli.p": "random",
    "aten.randint.default": "random",
    "aten._native_batch_norm_legit.default": "docs/results.md: the order of BatchNormV3's results is torchair's",
    "aten._native_batch_norm_legit_functional.default": "the same",
    "aten.native_batch_norm_backward.default": "the same",
    "aten.native_group_norm_backward.default": "the statistics are drawn, and do not belong to the numbers",
    "aten.batch_norm_elemt.default": "its converter squares invstd, and some that are drawn are negative",
    "aten.as_strided_scatter.default": "its converter writes into the input (docs/simulator.md)",
}
# And why its results have other shapes, or are more.
OTHER_SHAPES = {
    "aten._native_batch_norm_legit_no_training.default": "torch_npu gives statistics, the FX graph has none of them",
    "aten.grid_sampler_2d_backward.default": "what the mask leaves out is None in eager mode only",
}
# What torch itself refuses to trace, and calls that are none: operands in a list.
UNTRACED = {
    "aten.fill.Tensor", "aten._log_softmax.default", "aten._prelu_kernel.default",
    "aten._prelu_kernel_backward.default",
}  # fmt: skip


@functools.cache
def cases() -> dict[str, tuple[Any, list[Any]]]:
    from torchair._ge_concrete_graph.fx2ge_converter import _declare_supported_converters

    return {
        str(op): (op, converter.supported_cases)
        for op, converter in _declare_supported_converters().items()
        if isinstance(op, torch._ops.OpOverload) and str(op) not in UNTRACED
    }


def value(given: Any, generator: torch.Generator) -> Any:
    if isinstance(given, (list, tuple)):
        return type(given)(value(one, generator) for one in given)
    if not hasattr(given, "value_range"):
        return given
    dtype, sizes = given.dtype, given.dims
    if given.value is not None:
        return torch.tensor(given.value, dtype=dtype)
    low, high = given.value_range or ((-1, 1) if dtype.is_floating_point else (0, 2))
    if dtype.is_complex:
        return torch.complex(torch.rand(sizes, generator=generator), torch.rand(sizes, generator=generator))
    if dtype.is_floating_point:
        return (torch.rand(sizes, generator=generator) * (high - low) + low).to(dtype)
    return torch.randint(int(low), int(high), sizes, generator=generator).to(dtype)


def outcome(call: Callable[..., Any], case: Any) -> list[Any]:
    """The results, and the inputs after the call."""
    generator = torch.Generator().manual_seed(0)
    given = value([case.args, list(case.kwargs.values())], generator)
    args, named = torch.utils._pytree.tree_map(lambda one: one.npu() if isinstance(one, torch.Tensor) else one, given)
    torch.manual_seed(1)
    done = call(*args, **dict(zip(case.kwargs, named, strict=True)))
    torch.npu.synchronize()
    return [one for one in torch.utils._pytree.tree_leaves((done, args, named)) if isinstance(one, torch.Tensor)]


def is_run(case: Any) -> bool:
    """A device has no float64, and some declare sizes that are none."""
    given = torch.utils._pytree.tree_leaves((case.args, case.kwargs))
    tensors = [one for one in given if hasattr(one, "value_range")]
    return all(one.dtype != torch.float64 and all(isinstance(size, int) for size in one.dims) for one in tensors)


def test_there_are_as_many_as_before() -> None:
    assert len(cases()) > 240 and sum(len(each) for _, each in cases().values()) > 700
    assert {*KNOWN, *OTHER_SHAPES} <= set(cases())


def compared(name: str, which: slice) -> None:
    op, declared = cases()[name]
    for case in list(filter(is_run, declared))[which]:
        torch._dynamo.reset()
        compiled = torch.compile(
            lambda *args, **named: op(*args, **named), backend=torchair.get_npu_backend(), dynamic=False, fullgraph=True
        )
        want, got = outcome(op, case), outcome(compiled, case)
        if name in OTHER_SHAPES:
            continue
        for one, other in zip(got, want, strict=True):
            assert (one.shape, one.dtype) == (other.shape, other.dtype), str(case)
            if name in KNOWN:
                continue
            close = 2e-2 if other.dtype == torch.bfloat16 else 2e-3
            torch.testing.assert_close(one.cpu(), other.cpu(), rtol=close, atol=close, equal_nan=True, msg=str(case))


NAMES = sorted(cases()) if torch_npu.__version__.startswith("2.13.") else []


@pytest.mark.parametrize("name", NAMES)
def test_the_first_call(name: str) -> None:
    compared(name, slice(1))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_other_calls(name: str) -> None:
    compared(name, slice(1, None))
