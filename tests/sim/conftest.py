"""These tests need `npu`: run them with `scripts/test.sh sim`, that is `ophook-npu run --device sim -- -m pytest
tests/sim`.
"""

import os

import pytest


def pytest_sessionstart(session: pytest.Session) -> None:
    try:
        import torch_npu  # noqa: F401
    except ImportError as error:
        raise pytest.UsageError(
            f"tests/sim needs torch_npu over the simulator ({error}); run scripts/test.sh sim"
        ) from error


@pytest.fixture
def run_sim():
    """Run Python code in a process of its own on the simulator; further keyword arguments are environment variables."""
    import subprocess
    import sys

    def run(code: str, *options: str, timeout: float = 240, **environment: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "ophook_npu", "run", "--device", "sim", *options, "--", "-c", code]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=timeout, env={**os.environ, **environment}, check=False
        )

    return run
