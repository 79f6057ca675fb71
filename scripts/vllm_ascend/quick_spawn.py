"""Processes of multiprocessing's method "spawn" without ten seconds of imports each.

`begin` forks a helper while nothing but imports has happened: no device is open, no test is loaded. What a test or an
engine spawns later is a fork of this helper, with the environment variables, the output and the sys.path of who asked.
Python's own fork server is the helper; only its start is another.
"""

from __future__ import annotations

import contextlib
import os
from multiprocessing import forkserver, popen_forkserver, resource_tracker, spawn, util
from multiprocessing.context import SpawnProcess
from typing import Any
from unittest import mock

prepare, preparation_data = spawn.prepare, spawn.get_preparation_data


class Popen(popen_forkserver.Popen):
    def _launch(self, process_obj: Any) -> None:
        self._fds = [1, 2]
        super()._launch(process_obj)


def what_it_gets(name: str) -> dict[str, Any]:
    return preparation_data(name) | {"environ": dict(os.environ)}


def takes(data: dict[str, Any]) -> None:
    os.environ.clear()
    os.environ.update(data["environ"])
    for number, kept in zip((1, 2), forkserver.get_inherited_fds() or [], strict=False):
        os.dup2(kept, number)
    prepare(data)


def fork_in_place_of_start(_: str, arguments: list[str], passed: list[int]) -> int:
    pid = os.fork()
    if not pid:
        try:
            for number in map(int, os.listdir("/proc/self/fd")):
                if number not in (0, 1, 2, *passed):  # such as the pipe of this fork's lines
                    with contextlib.suppress(OSError):
                        os.close(number)
            exec(arguments[-1], {})  # a call of forkserver.main
        finally:
            os._exit(0)
    return pid


def begin() -> None:
    spawn.prepare, spawn.get_preparation_data = takes, what_it_gets
    SpawnProcess._Popen = staticmethod(Popen)
    resource_tracker.ensure_running()
    server = forkserver._forkserver
    start, server.ensure_running = server.ensure_running, lambda: None  # for all that comes from the helper, too
    with mock.patch.object(util, "spawnv_passfds", fork_in_place_of_start):
        start()
