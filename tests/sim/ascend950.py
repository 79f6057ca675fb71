"""Tests of what an Ascend950 alone has: each runs in a process whose simulator is one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path

SOC = "Ascend950PR_9589"


def on_ascend950(check: Callable[..., None]) -> Callable[..., None]:
    """The test that calls `check` there. Its parameters are passed as text: numbers, names, torch's types."""

    @functools.wraps(check)
    def test(run_sim, **given) -> None:
        here = str(Path(__file__).parent)
        call = f"import {check.__module__} as m; m.{check.__name__}.check(**{given!r})"
        done = run_sim(f"import sys; sys.path.insert(0, {here!r}); import torch; {call}", "--soc", SOC)
        assert done.returncode == 0, done.stderr

    parameters = [
        inspect.Parameter("run_sim", inspect.Parameter.POSITIONAL_OR_KEYWORD),
        *inspect.signature(check).parameters.values(),
    ]
    test.__signature__ = inspect.Signature(parameters)  # what pytest reads
    test.check = check
    return test
