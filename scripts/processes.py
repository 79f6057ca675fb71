"""Commands that are given a time, for the scripts that run other people's programs."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path


def finished(
    command: Sequence[str], folder: str | Path, environ: Mapping[str, str], seconds: float
) -> tuple[int | None, str]:
    """A command's status, None where it was not over in time, and what it printed. All that it started ends with it."""
    started = subprocess.Popen(
        command, cwd=folder, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
        text=True, errors="replace", start_new_session=True,
    )  # fmt: skip
    try:
        said, _ = started.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(started.pid, signal.SIGKILL)
        return None, started.communicate()[0]
    return started.returncode, said
