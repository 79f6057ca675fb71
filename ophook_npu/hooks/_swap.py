"""``swap``: one operator in place of another under a program that nobody edits, eager and compiled, with an account
of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import torch
from torch import fx, nn
from torch._ops import OpOverload, OpOverloadPacket

from ophook_npu.errors import OphookError
from ophook_npu.hooks import _compat, _graph, _trampoline, targets
from ophook_npu.hooks._call import Call
from ophook_npu.hooks._hook import Hook, hook
from ophook_npu.plural import counted


class Swap:
    """A swap in force inside ``with``, and for each call of it if it was made with a model.

    Attributes:
        eager: calls replaced that ran one by one.
        compiled: calls replaced inside compiled code: the replaced places of each graph, times its runs.
        missed: calls that were not replaced, by reason; in compiled code the places of each graph, once.
    """

    def __init__(self, model: Callable[..., Any] | None, target: Any, replacement: OpOverload, when: Any) -> None:
        self._model = model
        self._replacement = replacement
        self._missed: dict[str, int] = {}
        self._when: Any = when
        every = targets.resolve(target)
        fitting = [op for op in every.ops if _fits(op, replacement) is None]
        if not fitting:
            op = every.ops[0]
            raise OphookError(
                f"swap {every.label}",
                f"{replacement._name} cannot be called like it: {_fits(op, replacement)}",
                allowed=str(op._schema),
                todo="give an operator with the same Tensor arguments, or use hook(…, replace=a function)",
            )
        self.label = every.label
        # Below autograd, so that the program keeps the gradient of the operator it was written with.
        self._hooks: list[Hook] = [
            hook(fitting, replace=self._replace, when=self._may, via="impl_override", on_miss="ignore"),
            # An operator is part of the compiled code; with a question to ask for each call, it is called from Python.
            hook(fitting, replace=replacement, via="dynamo", admit=self._admit)
            if when is None
            else hook(fitting, replace=self._replace, when=self._may_in_graph, via="dynamo", admit=self._admit),
        ]
        self._refused = threading.local()
        unfit = [op for op in every.ops if op not in fitting] + _in_place_siblings(fitting)
        if unfit:
            self._hooks.append(hook(unfit, before=self._tell_unfit, via="impl_override", on_miss="ignore"))
        self._mask = _trampoline.Blindfold([h._handler for h in self._hooks])

    @property
    def eager(self) -> int:
        """Replaced calls that ran one by one."""
        return self._hooks[0].hits

    @property
    def compiled(self) -> int:
        """Replaced calls inside compiled code: the replaced places of each graph, times its runs."""
        return self._hooks[1].hits

    @property
    def missed(self) -> dict[str, int]:
        """Reason -> calls that were not replaced; in compiled code each place of a graph counts once."""
        return dict(self._missed)

    def report(self) -> str:
        """What was replaced how often, and what was not, and why."""
        lines = [
            f"{self.label} → {self._replacement._name}",
            f"  replaced  {counted(self.eager, 'call')} in eager mode, "
            f"{counted(self.compiled, 'call')} in compiled code",
        ]
        lines += [
            f"  not       {count} × {reason}"
            for reason, count in sorted(self._missed.items(), key=lambda i: (-i[1], i[0]))
        ]
        return "\n".join(lines)

    def __enter__(self) -> Swap:
        # A Python implementation of the replacement may call the operator it replaces.
        self._mask.install(self._replacement)
        for h in self._hooks:
            h.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        for h in reversed(self._hooks):
            h.__exit__(*exc)
        self._mask.uninstall(self._replacement)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the model it was made with, swapped."""
        if self._model is None:
            raise OphookError(
                f"swap {self.label}", "made without a model", todo="use it with 'with', or give swap() the model"
            )
        with self:
            return self._model(*args, **kwargs)

    def remove(self) -> None:
        """Gives back what it holds; it cannot be used again."""
        for h in self._hooks:
            h.remove()

    def _replace(self, *args: Any, **kwargs: Any) -> Any:
        del kwargs  # only defaults: see _may
        return self._replacement(*args)

    def _may(self, call: Call) -> bool:
        if _compat.is_compiling_here():
            return False  # a compiler trying things out, not the program
        reason = _call_fits(call.op, call.args, call.kwargs, self._replacement)
        if reason is not None and _graph.running.depth:
            return False  # noted as a place in the graph
        if reason is None and getattr(self._refused, "call", None) == _identity(call):
            self._refused.call = None
            return False  # the call that _may_in_graph let pass
        if reason is None and self._when is not None and not self._when(call):
            reason = f"when= said no to {call.name}"
        return self._note(reason)

    def _may_in_graph(self, call: Call) -> bool:
        if self._when(call):
            return True
        self._refused.call = _identity(call)
        return self._note(f"when= said no to {call.name} in compiled code")

    def _admit(self, node: fx.Node) -> bool:
        return self._note(_call_fits(node.target, node.args, node.kwargs, self._replacement, compiled=True))

    def _note(self, reason: str | None) -> bool:
        if reason is not None:
            self._missed[reason] = self._missed.get(reason, 0) + 1
        return reason is None

    def _tell_unfit(self, call: Call) -> None:
        if not _compat.is_compiling_here() and not _graph.running.depth:
            self._note(f"{call.name} {_fits(call.op, self._replacement)}")


def swap(model_or_op: Any, *rest: Any, when: Callable[[Call], bool] | None = None) -> Swap:
    """One operator in place of another, in eager mode and in functions compiled with any backend.

    ``swap("aten::add", torch.ops.npu.npu_add_custom)`` is in force inside ``with``.
    ``swap(model, "aten::add", torch.ops.npu.npu_add_custom)`` is called like the model, and in force while that runs.

    Args:
        model_or_op: a model or function to run, or the operator to replace (as for :func:`hook`).
        rest: the operator to replace, if a model came first; then the replacement: an operator registered by
            ``torch.library``, with the same Tensor arguments. Keywords it lacks must have their defaults in a call.
        when: asked for each call. In compiled code this needs a call of Python at each place, so nothing is fused
            there; torchair cannot compile it, and npugraph_ex asks only while it records its graph, and warns.

    The gradient stays that of the operator replaced. Calls that the replacement cannot serve run as before, and
    :meth:`Swap.report` tells how many and why.

    Raises:
        OphookError: unknown operator, or a replacement that is not an operator or cannot be called like the target.
    """
    is_model = len(rest) == 2
    if len(rest) not in (1, 2) or (is_model and not callable(model_or_op)):
        raise OphookError(
            "swap",
            f"got {counted(len(rest) + 1, 'argument')}",
            allowed="swap(op, replacement) or swap(model, op, replacement)",
        )
    model = model_or_op if is_model else None
    target, replacement = rest if is_model else (model_or_op, rest[0])
    if isinstance(target, nn.Module):
        raise OphookError(
            "swap", "a model came without an operator", allowed="swap(model, 'aten::add', torch.ops.npu.…)"
        )
    return Swap(model, target, _operator(replacement), when)


def _operator(replacement: Any) -> OpOverload:
    if isinstance(replacement, str):
        ops = targets.resolve(replacement).ops
        return next((op for op in ops if op._overloadname == "default"), ops[0])
    if isinstance(replacement, OpOverloadPacket):
        return replacement.default
    replacement = getattr(replacement, "_opoverload", replacement)  # what @torch.library.custom_op returns
    if not isinstance(replacement, OpOverload):
        raise OphookError(
            "swap",
            f"the replacement is a {type(replacement).__name__}, not an operator",
            allowed="torch.ops.<namespace>.<name>, or what @torch.library.custom_op returns",
            todo="register the function with torch.library.custom_op, or use hook(…, replace=function)",
        )
    return replacement


def _fits(op: OpOverload, replacement: OpOverload) -> str | None:
    """Why calls of ``op`` cannot go to ``replacement``, or ``None`` if some can."""
    if op._schema.is_mutable:
        return "writes into an argument"
    given = [a for a in op._schema.arguments if not a.kwarg_only]
    taken = [a for a in replacement._schema.arguments if not a.kwarg_only]
    if [str(a.type) for a in given[: len(taken)]] != [str(a.type) for a in taken] or any(
        not a.has_default_value() for a in given[len(taken) :]
    ):
        return f"has arguments ({', '.join(str(a.type) for a in given)}), not ({', '.join(str(a.type) for a in taken)})"
    return None


def _call_fits(op: Any, args: Any, kwargs: Any, replacement: OpOverload, compiled: bool = False) -> str | None:
    """Why this call cannot go to ``replacement``, or ``None``."""
    where = " (a place in a compiled graph)" if compiled else ""
    taken = [a for a in replacement._schema.arguments if not a.kwarg_only]
    arguments = op._schema.arguments
    for argument, value in zip(arguments, args, strict=False):
        if str(argument.type) == "Tensor" and not isinstance(value, (torch.Tensor, fx.Node)):
            return f"{op._name} with a Python number for {argument.name!r}{where}"
    for argument, value in list(zip(arguments, args, strict=False))[len(taken) :]:
        if value != argument.default_value:
            return f"{op._name} with {argument.name}={value}{where}"
    for name, value in kwargs.items():
        argument = next(a for a in arguments if a.name == name)
        if value != argument.default_value:
            return f"{op._name} with {name}={value}{where}"
    return None


def _identity(call: Call) -> tuple[Any, ...]:
    return (call.op, *map(id, call.args))


def _in_place_siblings(ops: list[OpOverload]) -> list[OpOverload]:
    found = []
    for packet in dict.fromkeys(op._schema.name for op in ops):
        try:
            found += [op for op in targets.resolve(f"{packet}_").ops if op._schema.is_mutable]
        except OphookError:
            continue  # most operators have none
    return found
