"""Which kernels ran for a call, and why those."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import torch

from ophook_npu.dispatch import _keys
from ophook_npu.dispatch._table import KIND_TEXT, Table
from ophook_npu.dispatch._trace import KernelTrace, Step, predicted
from ophook_npu.plural import counted


@dataclasses.dataclass
class Explanation:
    """What the dispatcher did with one call, and by which rule.

    Attributes:
        op: the operator asked about, else the first one called.
        steps: every kernel started, in order. Empty if nothing ran.
        ran: ``False`` if the call could not be made here and the explanation is computed from the tables alone.
        args, include, exclude, considered: as in :class:`Step`, for the first call of ``op``.
        modes: active ``TorchFunctionMode`` and ``TorchDispatchMode`` classes, innermost last. Function modes act
            before the dispatcher is reached.
        result: what the call returned.
        error: the exception it raised, as text; explaining does not raise it.
    """

    op: str
    args: dict[str, tuple[str, ...]]
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    considered: tuple[str, ...]
    steps: list[Step]
    ran: bool
    modes: list[str] = dataclasses.field(default_factory=list)
    result: Any = dataclasses.field(default=None, repr=False)
    error: str | None = None
    note: str = ""

    @property
    def agrees(self) -> bool:
        """Whether each kernel that ran is the one predicted from key sets and table. ``False`` if nothing ran."""
        return self.ran and bool(self.steps) and all(step.how != "unexplained" for step in self.steps)

    @property
    def chain(self) -> list[tuple[str, str]]:
        """(operator, key) of the first call of ``op`` and what it passed on to, one inside the other: the way down."""
        first = next((step for step in self.steps if step.op == self.op), None)
        if first is None:
            return [(self.op, key) for key in self.considered[:1]]
        result = [first]
        for step in self.steps[self.steps.index(first) + 1 :]:
            if step.depth <= first.depth:
                break
            if step.parent is result[-1] and step.op == self.op:
                result.append(step)
        return [(step.op, step.key) for step in result]

    def to_json(self) -> dict[str, Any]:
        """The explanation without the result, for ``json.dumps``."""
        skipped = ("result", "steps")
        result = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name not in skipped}
        return result | {"agrees": self.agrees, "chain": self.chain, "steps": [step.to_json() for step in self.steps]}

    def __str__(self) -> str:
        table = Table(self.op)
        lines = [table.schema, ""]
        lines += [f"  {name} brings {_list(keys)}" for name, keys in self.args.items()] or [
            "  no argument brings a key"
        ]
        lines.append(f"  this thread adds {_list(self.include)}")
        lines.append(f"  this thread takes out {_list(_brief(self.exclude))}")
        if self.modes:
            lines.append(f"  modes, innermost last: {', '.join(self.modes)}")
        lines += ["", "by priority, without fallthroughs:"]
        for index, key in enumerate(self.considered):
            row = table.rows.get(key)
            kind = "no kernel" if row is None else f"{row.kind}: {KIND_TEXT[row.kind]}"
            lines.append(f"  {'→' if index == 0 else ' '} {_keys.label(key):32} {kind}")
        lines.append("")
        if self.ran:
            lines.append("what ran:")
            lines += [_say(step) for step in self.steps[:_SHOWN]]
            if len(self.steps) > _SHOWN:
                lines.append(f"  … and {len(self.steps) - _SHOWN} more, in .steps and with --json")
            wrong = [step for step in self.steps if step.how == "unexplained"]
            if wrong:
                lines.append(
                    f"{len(wrong)} of {len(self.steps)} kernels are not the ones that the rules predict (marked ?)"
                )
            elif self.steps:
                lines.append(f"each of the {len(self.steps)} kernels is the one that key sets and table predict")
            else:
                lines.append("  nothing reached the dispatcher")
        else:
            lines.append(f"nothing ran: {self.note}")
        if self.error:
            lines.append(f"raised {self.error}")
        return "\n".join(lines)


def explain(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Explanation:
    """Calls ``call(*args, **kwargs)`` and says which kernels ran and why.

    Args:
        call: an operator, a torch function or any function; it really runs, once. If it is not an operator, the
            explanation is about the first operator it calls; all steps are listed.

    Example::

        >>> print(explain(torch.add, x, y))
    """
    from ophook_npu.hooks import targets

    wanted = None
    if isinstance(call, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
        wanted = {op._name for op in targets.resolve(call).ops}
    return run(call, args, kwargs, wanted)


def run(
    call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], wanted: set[str] | None
) -> Explanation:
    """Like :func:`explain`; the explanation is about the first step whose operator is in ``wanted``."""
    modes = [type(mode).__name__ for mode in torch.overrides._get_current_function_mode_stack()]
    result, error = None, None
    with KernelTrace() as watched:
        try:
            result = call(*args, **kwargs)
        except Exception as raised:
            error = f"{type(raised).__name__}: {str(raised).splitlines()[0] if str(raised) else ''}"
    steps = watched.steps
    about = next((step for step in steps if wanted is None or step.op in wanted), steps[0] if steps else None)
    modes += list(
        dict.fromkeys(
            step.note.split(".")[0].removeprefix("calls ") for step in steps if step.note.startswith("calls ")
        )
    )
    if about is None:
        op = sorted(wanted)[0] if wanted else ""
        note = "no operator reached the dispatcher"
        include, exclude = _keys.tls()
        return Explanation(
            op, {}, _keys.names(include), _keys.names(exclude), (), [], False, modes, result, error, note
        )
    return Explanation(
        about.op, about.args, about.include, about.exclude, about.considered, steps, True, modes, result, error
    )


def computed(op: str, args: dict[str, Any], include: Any, exclude: Any, note: str) -> Explanation:
    """An explanation from key sets alone, for a call that cannot be made here."""
    return Explanation(
        op,
        {name: _keys.names(keys) for name, keys in args.items()},
        _keys.names(include),
        _keys.names(exclude),
        predicted(Table(op), args.values(), include, exclude),
        [],
        False,
        note=note,
    )


_SHOWN = 60


def _list(keys: tuple[str, ...]) -> str:
    return ", ".join(map(_keys.label, keys)) or "nothing"


def _brief(keys: tuple[str, ...]) -> tuple[str, ...]:
    """Autocast keys are all taken out while autocast is off; one word says so."""
    autocast = [key for key in keys if key.startswith("Autocast")]
    autograd = [key for key in keys if key.startswith("Autograd")]
    rest = [key for key in keys if key not in autocast and key not in autograd]
    for group, members in (("Autograd", autograd), ("Autocast", autocast)):
        if len(members) > 3:
            rest.append(f"{group}* ({counted(len(members), 'key')})")
        else:
            rest += members
    return tuple(rest)


def _say(step: Step) -> str:
    mark = "?" if step.how == "unexplained" else "↳" if step.how == "redispatch" else "•"
    row = step.row
    kernel = "no kernel" if row is None else f"{row.kind}, {row.file}"
    text = f"  {'  ' * step.depth}{mark} {step.op} {_keys.label(step.key)}  [{kernel}]"
    if step.note:
        text += f"  {step.note}"
    if step.error:
        text += f"  raised {step.error.splitlines()[0]}"
    return text
