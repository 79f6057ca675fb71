"""Which mechanism serves a hook, and why."""

from __future__ import annotations

import difflib
from importlib import import_module
from typing import TYPE_CHECKING, cast

from ophook_npu.errors import OphookError
from ophook_npu.hooks._protocol import NEED_TEXT, NEEDS, Mechanism, Spec

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

# These show no call to Python: they serve the observers that count and measure, and "auto" does not try them.
RECORDERS: tuple[str, ...] = ("record_function",)

if TYPE_CHECKING:
    from ophook_npu.hooks import (
        backend,
        custom_op,
        dispatch_mode,
        dynamo,
        impl_override,
        module_hook,
        pattern_rewrite,
        record_function,
    )

    _typed: tuple[Mechanism, ...] = (
        dispatch_mode, impl_override, dynamo, custom_op, backend, module_hook, pattern_rewrite, record_function
    )  # fmt: skip


def mechanism(name: str) -> Mechanism:
    return cast(Mechanism, import_module(f"ophook_npu.hooks.{name}"))


def choose(spec: Spec, via: str) -> tuple[Mechanism, str]:
    """The mechanism for ``spec`` and the reason, as one sentence.

    Raises:
        OphookError: ``via`` is unknown, cannot do it, or nothing can; each reason is given.
    """
    where = f"hook {spec.label}"
    if via != "auto":
        if via not in MECHANISMS + RECORDERS:
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


def _problem(candidate: Mechanism, spec: Spec) -> str | None:
    if spec.kind not in candidate.KINDS:
        return f"it hooks {' and '.join(sorted(candidate.KINDS))} targets, not a {spec.kind}"
    for need in NEEDS:
        if need in spec.needs and candidate.SEES[need] != "yes":
            return f"{need} ({NEED_TEXT[need]}): {candidate.SEES[need]}"
    unknown = [option for option in spec.options if option not in candidate.OPTIONS]
    if unknown:
        return f"unknown option {unknown[0]!r}; it takes {', '.join(candidate.OPTIONS) or 'none'}"
    return candidate.refuse(spec)
