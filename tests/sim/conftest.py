"""These tests need `npu`: run them with `scripts/test.sh sim`, that is `ophook-npu run --device sim -- -m pytest
tests/sim`.
"""

import importlib.metadata
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from forkserver import ForkServer
from late import is_late

from ophook_npu import cli, sim
from ophook_npu.npu import autoload
from ophook_npu.sim import variables

PROGRAMS = Path(__file__).parent / "programs"
COMMAND = Path(__file__).parents[1] / "forked_command.py"
TORCH_NPU = tuple(map(int, importlib.metadata.version("torch-npu").split(".")[:2]))
_NEEDS = "torch_npu(version, why): needs a torch_npu at least so new"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _NEEDS)
    # A test that makes a task fail must not fail those after it; test_after_failure.py asks for what a device does.
    os.environ.setdefault("OPHOOK_SIM_AFTER_FAILURE", "continue")


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


MODULES = ("torch", "torch_npu", "ophook_npu")
# torchair takes longer to import than all else, and most programs compile graphs.
COMPILERS = ("torch._dynamo", "torchair")
# Many programs are `ophook-npu`.
COMMANDS = tuple(f"ophook_npu.cli.{name}" for name in cli._COMMANDS)
# torch_npu reads where operator packages are when it is imported. What it imports itself takes most of that time.
BEFORE_TORCH_NPU = ("torch", "torch._dynamo", "torch.distributed.tensor", "ophook_npu")
PACKAGES = "ASCEND_CUSTOM_OPP_PATH"


def _machine(options: Sequence[str]) -> dict[str, Any]:
    """The options of `ophook-npu run` as arguments of `variables.environment`."""
    found: dict[str, Any] = {}
    given = iter(options)
    for option in given:
        match option:
            case "--devices":
                found["devices"] = int(next(given))
            case "--memory":
                found["memory"] = int(next(given)) << 20
            case "--soc":
                found["soc"] = next(given)
            case "--cann":
                found["cann"] = next(given)
            case "--sync":
                found["synchronous"] = True
            case _:
                raise ValueError(option)
    return found


class Programs:
    """Runs programs on the simulator, with the options of `ophook-npu run` for it; those that differ in nothing that an
    import reads are forks of one process."""

    def __init__(self) -> None:
        self._servers: dict[tuple[tuple[str, str], ...], ForkServer] = {}

    def run(
        self,
        arguments: tuple[str, ...],
        options: tuple[str, ...],
        environment: dict[str, str],
        timeout: float,
        without_npu: bool = False,
    ):
        environ = {**os.environ, **environment}
        environ.pop("PYTEST_CURRENT_TEST", None)  # changes from test to test
        environ.pop(autoload.VARIABLE, None)
        root = sim.active()
        assert root is not None
        environ.update(variables.environment(root, **_machine(options)))
        late: dict[str, str | None] = {name: environ.pop(name) for name in [*environ] if is_late(name)}
        modules, after = MODULES + COMPILERS + COMMANDS, ()
        if PACKAGES in environment or without_npu:
            late |= {PACKAGES: environ.pop(PACKAGES, None), autoload.VARIABLE: None}
            environ[autoload.VARIABLE] = "0"
            modules, after = BEFORE_TORCH_NPU + COMMANDS, () if without_npu else ("torch_npu",)
        key = tuple(sorted(environ.items()))
        server = self._servers.pop(key, None)
        if server is None:
            if len(self._servers) == 2:  # each takes some memory, and most programs are like the one before
                self._servers.pop(next(iter(self._servers))).close()
            server = ForkServer([sys.executable], modules, environ)
        self._servers[key] = server
        return server.run(*arguments, timeout=timeout, environment=late, modules=after)

    def close(self) -> None:
        for server in self._servers.values():
            server.close()


@pytest.fixture(scope="session")
def programs():
    programs = Programs()
    yield programs
    programs.close()


@pytest.fixture
def run_python(programs: Programs):
    """Run Python with these arguments in a process of its own on the simulator; keyword arguments are environment
    variables."""

    def run(
        *arguments: str, options: tuple[str, ...] = (), timeout: float = 500, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        return programs.run(arguments, options, environment, timeout)

    return run


@pytest.fixture
def run_command(programs: Programs):
    """Run `ophook-npu` with these arguments; Python programs that it starts are forks, too, and import torch_npu."""

    def run(*arguments: str, timeout: float = 280) -> subprocess.CompletedProcess[str]:
        return programs.run((str(COMMAND), *arguments), (), {}, timeout, without_npu=True)

    return run


@pytest.fixture
def launch(run_python):
    """Run a program of the folder programs/ in as many processes, each with a simulated NPU:
    ``launch("x.py", 2, "--soc", "Ascend910B4")``.
    """

    def run(program: str, ranks: int, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
        arguments = (str(PROGRAMS / "ranks.py"), str(PROGRAMS / program), str(ranks))
        options = ("--devices", str(ranks), *options)
        return run_python(*arguments, options=options, timeout=280, OMP_NUM_THREADS="1", **environment)

    return run


@pytest.fixture
def run_sim(run_python):
    """Run Python code in a process of its own on the simulator: ``run_sim(code, "--devices", "2", VARIABLE="1")``.
    ``anew=True`` starts Python anew instead of forking it with torch imported.
    """

    def run(code: str, *options: str, timeout: float = 240, anew: bool = False, **environment: str):
        if not anew:
            return run_python("-c", code, options=options, timeout=timeout, **environment)
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
