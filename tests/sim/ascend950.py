"""Tests of what an Ascend950 alone has: they run in one process whose simulator is one."""

from __future__ import annotations

import functools
import inspect
import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from importlib import import_module

import pytest

from ophook_npu import sim
from ophook_npu.sim import variables

SOC = "Ascend950PR_9589"


def _check(module: str, name: str, given: dict[str, object]) -> None:
    import torch  # noqa: F401  # loads torch_npu, as a program's first import does

    getattr(import_module(module), name).check(**given)


def _started() -> ProcessPoolExecutor:
    process = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.environment(sim.active() or sim.build(), soc=SOC).items():
            patch.setenv(name, value)
        process.submit(os.getpid)  # the first call starts it
    return process


class _Ascend950:
    def __init__(self) -> None:
        self._process: ProcessPoolExecutor | None = None

    def run(self, *call: object) -> None:
        if self._process is None:
            self._process = _started()
        try:
            self._process.submit(_check, *call).result(timeout=240)
        except BrokenProcessPool:
            self._process = None  # the next test has another
            raise


_MACHINE = _Ascend950()


def on_ascend950(check: Callable[..., None]) -> Callable[..., None]:
    """The test that calls `check` there."""

    @functools.wraps(check)
    def test(**given: object) -> None:
        _MACHINE.run(check.__module__, check.__name__, given)

    test.__signature__ = inspect.signature(check)  # what pytest reads
    test.check = check
    return test
