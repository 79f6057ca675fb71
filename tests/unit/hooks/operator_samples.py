"""torch's own samples of its operators, as calls all of whose effects can be compared."""

from __future__ import annotations

import contextlib
import itertools
import random
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree


@dataclass(frozen=True)
class Case:
    """One sample in one way of calling it: as a function, a method in place, with ``out=``, or one that must raise."""

    name: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    is_differentiable: bool = False


def cases(samples: int, errors: int, dtypes: tuple[torch.dtype, ...]) -> Iterator[Case]:
    """The first ``samples`` for each operator and each of its ``dtypes``, and ``errors`` of those that raise."""
    from torch.testing._internal.common_methods_invocations import op_db

    for op in op_db:
        supported = [dtype for dtype in dtypes if dtype in op.supported_dtypes("cpu")]
        for dtype in supported or sorted(op.supported_dtypes("cpu"), key=str)[:1]:
            name = f"{op.name}.{op.variant_test_name}".rstrip(".") + f" {str(dtype).removeprefix('torch.')}"
            differentiable = op.supports_autograd and dtype in op.supported_backward_dtypes("cpu")
            seed()
            found = list(itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=differentiable), samples))
            for number, sample in enumerate(found):
                args, kwargs = (sample.input, *sample.args), sample.kwargs
                yield Case(f"{name} #{number}", op.op, args, kwargs, differentiable)
            if found and op.inplace_variant is not None:
                yield Case(f"{name} in place", op.inplace_variant, (found[0].input, *found[0].args), found[0].kwargs)
            if found and op.supports_out:
                yield Case(f"{name} out=", _with_out(op.op), (found[0].input, *found[0].args), found[0].kwargs)
        if op.error_inputs_func is not None:
            seed()
            for number, wrong in enumerate(itertools.islice(op.error_inputs("cpu"), errors)):
                sample = wrong.sample_input
                yield Case(f"{op.name} error #{number}", op.op, (sample.input, *sample.args), sample.kwargs)


def _with_out(function: Callable[..., Any]) -> Callable[..., Any]:
    """``out`` has a value before the call: torch.linalg.matrix_rank leaves it as it was under a dispatch mode."""

    def call(*args: Any, **kwargs: Any) -> Any:
        out = pytree.tree_map_only(torch.Tensor, lambda made: torch.full_like(made, 77), function(*args, **kwargs))
        return function(*args, **kwargs, out=out), out

    return call


def seed() -> None:
    torch.manual_seed(0)
    np.random.seed(0)
    random.seed(0)


@dataclass
class Outcome:
    """All that a call did. ``facts`` can be compared with ``==``, ``values`` are tensors to be compared by value."""

    facts: list[str]
    values: list[torch.Tensor]


def run(case: Case, device: str = "cpu", compiled: bool = False) -> Outcome:
    """Runs a case on copies of its arguments, on ``device``."""
    copies: dict[int, torch.Tensor] = {}
    if compiled:
        torch._dynamo.reset()  # the same function with other shapes would be compiled for symbols
    function = torch.compile(case.function, backend="aot_eager", dynamic=False) if compiled else case.function

    def fresh(tensor: torch.Tensor) -> torch.Tensor:
        if id(tensor) not in copies:
            copy = tensor.detach().clone().to(device)
            copies[id(tensor)] = copy.requires_grad_(tensor.requires_grad and case.is_differentiable)
        return copies[id(tensor)]

    args, kwargs = pytree.tree_map_only(torch.Tensor, fresh, (case.args, case.kwargs))
    inputs = list(copies.values())
    seed()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = function(*args, **kwargs)
    except RecursionError:
        return Outcome(["RecursionError"], [])  # its text depends on where it was too deep
    except Exception as error:
        return Outcome([_told(error)], [])
    leaves = pytree.tree_leaves(result)
    outputs = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    facts = [str(pytree.tree_structure(result))]
    facts += [_fact(leaf, inputs + outputs[:i]) for i, leaf in enumerate(leaves)]
    values = [*outputs, *inputs]
    if case.is_differentiable:
        grads = _gradients(outputs, [i for i in inputs if i.requires_grad])
        facts.append(grads if isinstance(grads, str) else "")
        values += [] if isinstance(grads, str) else grads
    return Outcome(facts, [value.detach() for value in values])


def _fact(leaf: Any, others: list[torch.Tensor]) -> str:
    if not isinstance(leaf, torch.Tensor):
        return f"{type(leaf).__name__} {leaf!r}"
    facts = [type(leaf).__name__, str(tuple(leaf.shape)) if not leaf.is_nested else "nested", str(leaf.dtype)]
    facts += [str(leaf.layout), f"grad {leaf.requires_grad}"]
    if leaf.layout == torch.strided and not leaf.is_nested:
        facts.append(f"strides {leaf.stride()} at {leaf.storage_offset()} conj {leaf.is_conj()} neg {leaf.is_neg()}")
        facts += [f"is {i}" for i, other in enumerate(others) if other is leaf]
        facts += [f"memory of {i}" for i, other in enumerate(others) if _same_memory(leaf, other)]
    return " · ".join(facts)


def _told(error: Exception) -> str:
    """Kind and first line: further down torch may print the values of arguments, also those nobody has written."""
    return f"{type(error).__name__}: {str(error).strip()}".splitlines()[0]


def _same_memory(a: torch.Tensor, b: torch.Tensor) -> bool:
    with contextlib.suppress(Exception):  # tensors without storage
        return a.numel() > 0 and a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()
    return False


def _gradients(outputs: list[torch.Tensor], inputs: list[torch.Tensor]) -> list[torch.Tensor] | str:
    roots = [o for o in outputs if o.requires_grad]
    if not roots or not inputs:
        return "no gradient"
    try:
        total = sum((root.abs() if root.is_complex() else root).sum() for root in roots)
        found = torch.autograd.grad(total, inputs, allow_unused=True)
    except Exception as error:
        return _told(error)
    return [g for g in found if g is not None]


def is_unwritten(case: Case) -> bool:
    """Whether what it returns is whatever was in memory."""
    return "empty" in case.name or case.name.startswith("_batch_norm_with_update")


def difference(wanted: Outcome, again: Outcome, got: Outcome, values: bool = True) -> str | None:
    """What ``got`` has that ``wanted`` has not; ``again`` is a second run of the same, which says what is not fixed."""
    for fact, second, found in itertools.zip_longest(wanted.facts, again.facts, got.facts, fillvalue=""):
        if fact == second and fact != found:
            return f"{found or 'no error'!r} instead of {fact or 'no error'!r}"
    if not values:
        return None
    if len(wanted.values) != len(got.values):
        return f"{len(got.values)} values instead of {len(wanted.values)}"
    for index, (value, second, found) in enumerate(zip(wanted.values, again.values, got.values, strict=True)):
        if _equal(value, second) and not _equal(value, found):
            return f"value {index} is {found} instead of {value}"
    return None


def _equal(a: torch.Tensor, b: torch.Tensor) -> bool:
    try:
        torch.testing.assert_close(a, b, equal_nan=True, check_stride=False)
    except (AssertionError, RuntimeError, NotImplementedError):
        return False
    return True


def _modes() -> dict[str, Any]:
    """What torch's own mode without any hook does already: some of torch's functions take other ways under a mode."""
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode

    class Dispatch(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **(kwargs or {}))

    class Function(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **(kwargs or {}))

    return {"dispatch_mode": Dispatch, "custom_op": Function}


def compare(via: str, every: list[Case], native: dict[str, tuple[Outcome, Outcome]], **options: Any) -> dict[str, Any]:
    """What a hook on all of aten that passes each call through changes, by case; ``native`` is filled as needed."""
    import ophook_npu
    from ophook_npu.hooks import _host_device

    # As the program would run without the hook: compiled, or on the device that only the backend mechanism has.
    how = {"compiled": via == "dynamo", "device": _host_device.ensure() if via == "backend" else "cpu"}
    key = repr(how)
    for case in every:
        if key + case.name not in native:
            native[key + case.name] = run(case, **how), run(case, **how)
    hook = ophook_npu.hook(
        "aten::*", replace=lambda *args, **kwargs: ophook_npu.original()(*args, **kwargs), via=via, **options
    )
    with hook:
        got = [run(case, **how) for case in every]
    found: dict[str, str] = {}
    for case, outcome in zip(every, got, strict=True):
        values = not is_unwritten(case)
        problem = difference(*native[key + case.name], outcome, values)
        if problem and via in _modes():
            with _modes()[via]():
                problem = difference(run(case, **how), run(case, **how), outcome, values)
        if problem:
            found[case.name] = problem
    return {"cases": len(every), "hits": hook.hits, "misses": dict(hook.misses), "changed": found}


def main(arguments: list[str]) -> None:
    """Arguments: ``complete`` or a share of the operators, and mechanisms; prints JSON, a line for each mechanism."""
    import json
    import time

    complete = arguments[0] == "complete"
    torch.set_num_threads(1)
    if complete:
        every = list(cases(3, 3, (torch.float32, torch.int64, torch.complex64)))
    else:
        every = list(cases(1, 1, (torch.float32,)))
    native: dict[str, tuple[Outcome, Outcome]] = {}
    for argument in arguments[1:]:
        via, _, share = argument.partition("/")
        start = time.perf_counter()
        # The check costs most, so in the short run one mechanism has it.
        options = {} if complete or via == "dispatch_mode" else {"check": "off"}
        told = compare(via, every[:: int(share or 1)], native, **options)
        print(json.dumps({"via": via, **told, "seconds": round(time.perf_counter() - start, 1)}), flush=True)


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
