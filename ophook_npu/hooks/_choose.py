"""Which mechanism serves a hook, and why."""

from __future__ import annotations

import difflib
from importlib import import_module
from typing import Any

from ophook_npu.errors import OphookError
from ophook_npu.hooks._protocol import NEED_TEXT, Spec

# In the order in which "auto" tries them: the one that sees most and changes least comes first.
MECHANISMS: tuple[str, ...] = (
    "dispatch_mode",
    "impl_override",
    "dynamo",
    "custom_op",
    "backend",
    "module_hook",
    "pattern_rewrite",
)


def mechanism(name: str) -> Any:
    return import_module(f"ophook_npu.hooks.{name}")


def choose(spec: Spec, via: str) -> tuple[Any, str]:
    """The mechanism for ``spec`` and the reason, as one sentence.

    Raises:
        OphookError: ``via`` is unknown, cannot do it, or nothing can; each reason is given.
    """
    where = f"hook {spec.label}"
    if via != "auto":
        if via not in MECHANISMS:
            near = difflib.get_close_matches(via, MECHANISMS, 1)
            raise OphookError(
                where,
                f"unknown mechanism {via!r}" + (f", did you mean {near[0]!r}" if near else ""),
                allowed=", ".join(("auto", *MECHANISMS)),
            )
        chosen = mechanism(via)
        problem = _problem(chosen, spec)
        if problem:
            raise OphookError(where, f"via={via!r}: {problem}", todo="use via='auto', or ask for less")
        return chosen, f"{via}, as asked: {chosen.SUMMARY}"
    rejected: list[str] = []
    for name in MECHANISMS:
        candidate = mechanism(name)
        problem = _problem(candidate, spec)
        if problem is None:
            why = f"{name}: {candidate.SUMMARY}"
            if spec.needs:
                why += f"; it meets {', '.join(sorted(spec.needs))}"
            if rejected:
                why += "; not " + "; not ".join(rejected)
            return candidate, why
        if spec.kind in candidate.KINDS:
            rejected.append(f"{name} ({problem})")
    raise OphookError(
        where, "no mechanism can do this: " + "; ".join(rejected), todo="ask for less, or use several hooks"
    )


def _problem(candidate: Any, spec: Spec) -> str | None:
    if spec.kind not in candidate.KINDS:
        return f"it hooks {' and '.join(sorted(candidate.KINDS))} targets, not a {spec.kind}"
    for need in sorted(spec.needs):
        if candidate.SEES[need] != "yes":
            return f"{need} ({NEED_TEXT[need]}): {candidate.SEES[need]}"  # type: ignore[index]
    unknown = [option for option in spec.options if option not in candidate.OPTIONS]
    if unknown:
        return f"unknown option {unknown[0]!r}; it takes {', '.join(candidate.OPTIONS) or 'none'}"
    return candidate.refuse(spec)
