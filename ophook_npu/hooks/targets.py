"""What a hook is aimed at: from an overload, packet, name, glob, tag or namespace to a set of operator overloads."""

from __future__ import annotations

import difflib
import fnmatch
import functools
import sys
from collections.abc import Iterable
from typing import Any

import torch
from torch._ops import OpOverload, OpOverloadPacket

from ophook_npu.errors import OphookError
from ophook_npu.hooks import _compat
from ophook_npu.plural import counted


class Targets:
    """The overloads a hook is aimed at, and how the user said so.

    ``explicit`` overloads were named one by one; of the others (from a packet, name, glob, tag or namespace) those
    that a replacement cannot take the arguments of are left out.
    """

    def __init__(self, label: str, ops: Iterable[OpOverload], explicit: bool = False) -> None:
        self.label = label
        self.ops: tuple[OpOverload, ...] = tuple(dict.fromkeys(ops))
        self.explicit = explicit

    def __repr__(self) -> str:
        return f"Targets({self.label}: {counted(len(self.ops), 'overload')})"


def resolve(target: Any) -> Targets:
    """Overloads for ``target``.

    Args:
        target: ``torch.ops.aten.mm.default`` · ``torch.ops.aten.mm`` · ``"aten::mm"`` · ``"aten::add.Tensor"`` ·
            ``"aten::*_backward"`` · ``torch.Tag.pointwise`` · ``torch.ops.aten`` or ``"aten"`` · a list of these.

    Raises:
        OphookError: nothing is registered under that name; the message lists near matches.
    """
    if isinstance(target, OpOverload):
        return Targets(target._name, [target], explicit=True)
    if isinstance(target, OpOverloadPacket):
        return Targets(target._qualified_op_name, _overloads(target))
    if isinstance(target, torch.Tag):
        ops = [op for op in map(_overload, all_names()) if op is not None and target in op.tags]
        return _found(f"tag {target.name}", ops)
    if isinstance(target, str):
        return _by_name(target)
    if isinstance(target, torch._ops._OpNamespace):
        return _by_name(target.name)
    if isinstance(target, (list, tuple, set, frozenset)):
        parts = [resolve(part) for part in target]
        return _found(
            ", ".join(part.label for part in parts),
            [op for part in parts for op in part.ops],
            all(p.explicit for p in parts),
        )
    raise OphookError(
        f"hook {target!r:.80}",
        f"a {type(target).__name__} is not something to hook",
        allowed="an OpOverload, an OpOverloadPacket, a name or glob such as 'aten::mm', a torch.Tag, a namespace, "
        "a list of these; for via='module_hook' a module, a module class or (model, 'path.glob')",
    )


def all_names() -> list[str]:
    """Every registered overload as ``ns::name`` or ``ns::name.overload``, sorted."""
    return sorted(torch._C._dispatch_get_all_op_names())


def _by_name(name: str) -> Targets:
    pattern = name
    if "::" not in name and name.count(".") >= 1 and not _is_glob(name):
        pattern = name.replace(".", "::", 1)  # torch prints overloads as aten.mm.default
    if pattern.endswith(".default"):
        pattern = pattern.removesuffix(".default")
        op = _overload(pattern)
        if op is not None:
            return Targets(pattern, [op], explicit=True)
    if "::" in pattern and "." in pattern and not _is_glob(pattern):
        op = _overload(pattern)
        if op is not None:
            return Targets(pattern, [op], explicit=True)
        raise _unknown(name, pattern)
    names = all_names()
    if "::" not in pattern:
        found = [n for n in names if n.startswith(pattern + "::")]
    elif _is_glob(pattern):
        found = [n for n in names if fnmatch.fnmatchcase(n, pattern) or fnmatch.fnmatchcase(n.split(".")[0], pattern)]
    else:
        found = [n for n in names if n.split(".")[0] == pattern]
    ops = [op for op in map(_overload, found) if op is not None]
    if not ops:
        raise _unknown(name, pattern)
    return Targets(pattern, ops)


def _unknown(given: str, pattern: str) -> OphookError:
    return OphookError(f"hook {given}", "no such operator is registered", allowed=_near(pattern), todo=_todo(pattern))


def _near(pattern: str) -> str:
    names = all_names()
    if "::" not in pattern:
        spaces = sorted({n.split("::")[0] for n in names})
        same = [n.split(".")[0] for n in names if n.split("::")[1].split(".")[0] == pattern]
        close = difflib.get_close_matches(pattern, spaces, 3, 0.6)
        return ", ".join(dict.fromkeys(same + close)) or "the namespaces " + ", ".join(spaces)
    candidates = names if "." in pattern else sorted({n.split(".")[0] for n in names})
    close = difflib.get_close_matches(pattern, candidates, 5, 0.6)
    bare = pattern.split("::")[1].split(".")[0]
    same = [n.split(".")[0] for n in names if n.split("::")[1].split(".")[0] == bare]
    overloads = [n for n in names if n.split(".")[0] == pattern.split(".")[0]]
    return (
        ", ".join(list(dict.fromkeys(overloads + same + close))[:6])
        or "names like 'aten::mm' or globs like 'aten::*mm*'"
    )


def _todo(pattern: str) -> str:
    space = pattern.split("::")[0]
    if space == "npu" and "torch_npu" not in sys.modules:
        return "import torch_npu first; on the command line, --device auto before the program does"
    if space not in {n.split("::")[0] for n in all_names()}:
        return f"import what registers the namespace {space!r} first"
    return "take one of these; `ophook-npu log -- PROGRAM` lists the operators that a program calls"


def _found(label: str, ops: list[OpOverload], explicit: bool = False) -> Targets:
    if not ops:
        raise OphookError(f"hook {label}", "no registered operator matches", todo="check the tag, glob or namespace")
    return Targets(label, ops, explicit)


def _is_glob(name: str) -> bool:
    return any(c in name for c in "*?[")


def _overloads(packet: OpOverloadPacket) -> list[OpOverload]:
    found = (getattr(packet, name) for name in _compat.overloads(packet))
    return [op for op in found if isinstance(op, OpOverload)]  # torch_npu 2.10 puts a function in the place of one


def _overload(name: str) -> OpOverload | None:
    # Only aten's overloads are for ever; those of a destroyed library would be stale.
    return _aten_overload(name) if name.startswith("aten::") else _find_overload(name)


def _find_overload(name: str) -> OpOverload | None:
    space, _, rest = name.partition("::")
    base, _, overload = rest.partition(".")
    try:
        found = getattr(getattr(getattr(torch.ops, space), base), overload or "default")
        return found if isinstance(found, OpOverload) else None
    except (AttributeError, RuntimeError):
        # TorchScript-only entries (aten::__and__.bool and the like) are listed but have no Python overload.
        return None


_aten_overload = functools.lru_cache(maxsize=None)(_find_overload)


def is_composite(op: OpOverload) -> bool:
    """Whether ``op`` is only a program over other operators that autograd and most dispatch keys never see
    (CompositeImplicit)."""
    return is_dispatched(op) and torch._C._dispatch_has_kernel_for_dispatch_key(op._name, "CompositeImplicitAutograd")


def is_dispatched(op: OpOverload) -> bool:
    """Whether the dispatcher has ``op``. ``prim::device`` and its like, which a tensor that computes by itself is asked
    by, are TorchScript's alone, and questions about their kernels raise."""
    return torch._C._dispatch_has_kernel(op._name)


def is_out(op: OpOverload) -> bool:
    return any(a.is_out for a in op._schema.arguments)


def is_one_composite(targets: Targets) -> bool:
    """Whether ``targets`` names composite operators, not a crowd in which some happen to be composite."""
    called = [op for op in targets.ops if not is_out(op)]
    return bool(called) and all(map(is_composite, called))
