"""Tests on the plain CPU: torch must not load torch_npu by itself, in this process or in those that tests start."""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
from forkserver import ForkServer

from ophook_npu import cli

os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"


@pytest.fixture(scope="session")
def _server() -> Iterator[ForkServer]:
    commands = [f"ophook_npu.cli.{name}" for name in cli._COMMANDS]  # many programs are `ophook-npu`
    server = ForkServer([sys.executable], ("torch", "torch._dynamo", *commands), dict(os.environ))
    yield server
    server.close()


@pytest.fixture
def run_python(_server: ForkServer) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run Python with these arguments in a process of its own, which has torch imported. How `ophook-npu` settles what
    plain `import torch` would meet is tested in processes started anew (cli/test_plain.py).
    """

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return _server.run(*arguments, timeout=300)

    return run


@pytest.fixture(scope="session")
def results() -> ModuleType:
    """scripts/results.py, which knows what of ATen's computes."""
    path = Path(__file__).parents[2] / "scripts" / "results.py"
    spec = importlib.util.spec_from_file_location("results", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
