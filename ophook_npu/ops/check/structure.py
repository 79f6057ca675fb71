"""Schema, examples, what is written to, what aliases what, and torch's own opcheck."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ophook_npu.ops import register
from ophook_npu.ops.check.outcome import Failure, call, copied, results, shown
from ophook_npu.ops.declare import Operator
from ophook_npu.plural import counted


def schema(op: Operator) -> str:
    register(op)
    return str(op.packet.default._schema)


def examples(op: Operator) -> str:
    """Every example runs on the CPU and gives as many results as the schema says."""
    sets = op.examples()
    if not sets:
        raise Failure("examples() gives none; give at least one set of arguments")
    for args in sets:
        given = results(call(op, op.packet, copied(args)))
        if len(given) != len(op.outputs):
            raise Failure(f"{counted(len(given), 'result')} instead of {len(op.outputs)} for ({shown(args)})")
    return counted(len(sets), "set of arguments", "sets of arguments")


def mutation(op: Operator) -> str:
    """Exactly the arguments marked Tensor(a!) are written to."""
    written = set()
    for args in op.examples():
        # Values that no result equals by chance, and that survive rounding: a kernel that leaves them is seen.
        before, after = copied(args), copied(args)
        call(op, op.cpu, after)
        for a, old, new in zip(op.arguments, before, after, strict=False):
            if isinstance(old, torch.Tensor) and not torch.equal(old.nan_to_num(), new.nan_to_num()):
                written.add(a.name)
    undeclared = sorted(written - set(op.mutated))
    if undeclared:
        names = ", ".join(undeclared)
        raise Failure(f"it writes to {names}, which the schema does not say; write Tensor(a!) {undeclared[0]} there")
    idle = sorted(set(op.mutated) - written)
    if idle:
        raise Failure(f"the schema says that it writes to {', '.join(idle)}; with no example it does")
    return f"writes to {', '.join(sorted(written))}" if written else "leaves its arguments as they are"


def aliasing(op: Operator) -> str:
    """No result shares memory with an argument or with another result."""
    for args in op.examples():
        given = copied(args)
        made = results(call(op, op.packet, given))
        names = [a.name for a in op.arguments]
        owners = [(n, t) for n, t in zip(names, given, strict=False) if isinstance(t, torch.Tensor) and t.numel()]
        for name, tensor in zip(op.outputs, made, strict=True):
            if not tensor.numel():
                continue
            for owner, other in owners:
                if tensor.untyped_storage().data_ptr() == other.untyped_storage().data_ptr():
                    raise Failure(f"{name} shares memory with {owner} for ({shown(args)}); return a copy")
            owners.append((name, tensor))
    return "results have memory of their own"


def opcheck(op: Operator) -> str:
    ran: set[str] = set()
    for args in op.examples():
        try:
            ran.update(call(op, _opcheck(op), args))
        except Exception as error:
            text = " ".join(str(error).split())
            raise Failure(f"torch.library.opcheck on ({shown(args)}): {text[:1200]}") from error
    return ", ".join(sorted(ran))


def _opcheck(op: Operator) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        fresh = tuple(a.clone() if isinstance(a, torch.Tensor) and not a.requires_grad else a for a in args)
        return torch.library.opcheck(op.packet.default, fresh, kwargs)

    return run
