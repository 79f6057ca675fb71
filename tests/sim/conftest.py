"""These tests need `npu`: run them with `scripts/test.sh sim`, that is `ophook-npu run --device sim -- -m pytest
tests/sim`.
"""

import importlib.metadata
import os

import pytest

TORCH_NPU = tuple(map(int, importlib.metadata.version("torch-npu").split(".")[:2]))
_NEEDS = "torch_npu(version, why): needs a torch_npu at least so new"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _NEEDS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for mark in item.iter_markers("torch_npu"):
            version, why = mark.args
            if tuple(map(int, version.split("."))) > TORCH_NPU:
                item.add_marker(pytest.mark.skip(reason=f"torch_npu before {version}: {why}"))


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


@pytest.fixture
def same(capfd: pytest.CaptureFixture[str]):
    """Check that a function gives on `npu:0` what it gives on the CPU, gradients included, without the CPU's help."""
    import torch

    def move(value, to):
        if isinstance(value, torch.Tensor):
            return value.detach().clone().to(to).requires_grad_(value.requires_grad)
        if isinstance(value, (list, tuple)):
            return type(value)(move(item, to) for item in value)
        return value

    def outcome(function, inputs):
        result = function(*inputs)
        results = list(result) if isinstance(result, (list, tuple)) else [result]
        leaves = [item for item in inputs if isinstance(item, torch.Tensor) and item.requires_grad]
        reached = [item for item in results if isinstance(item, torch.Tensor) and item.requires_grad]
        if leaves:
            assert reached, "no output depends on an input that requires a gradient"
            total = sum(
                (item.float() * torch.arange(1, item.numel() + 1).to(item.device).reshape(item.shape)).mean()
                for item in reached
            )
            results += torch.autograd.grad(total, leaves)
        return [item.detach().cpu() if isinstance(item, torch.Tensor) else item for item in results]

    def check(function, *inputs, rtol: float = 1e-5, atol: float = 1e-5, check_dtype: bool = True) -> None:
        capfd.readouterr()
        got = outcome(function, move(inputs, "npu:0"))
        torch.npu.synchronize()
        # An older torch_npu has fewer operators of its own, and sends the others to the CPU by itself.
        assert "fall back to run on the CPU" not in capfd.readouterr().err or TORCH_NPU < (2, 13)
        want = outcome(function, move(inputs, "cpu"))
        torch.testing.assert_close(got, want, rtol=rtol, atol=atol, equal_nan=True, check_dtype=check_dtype)

    return check
