"""The pytest plug-in: ``pytest --npu-device sim`` runs a test suite that needs ``npu`` on the simulated Ascend.

``auto`` uses a real NPU where there is one. Without the option tests find torch as they would without this plug-in; but
where ``import torch`` would raise, because torch_npu is installed and CANN is not, they run on the CPU. The
fixture ``ascendc_kernel`` loads an operator project's kernel and fails the test where a call of it has findings.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ophook_npu.kernel import Kernel


def pytest_addoption(parser: Any) -> None:
    group = parser.getgroup("ophook-npu")
    group.addoption("--npu-device", choices=("auto", "sim", "npu"), help="where torch's npu device comes from")
    group.addoption("--npu-soc", help="the SoC to simulate")
    group.addoption("--npu-devices", type=int, default=1, help="how many devices to simulate")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: Any) -> None:
    # Before conftest files, because the first of them may import torch.
    options = early_config.known_args_namespace
    if not options.npu_device:
        from ophook_npu.npu import autoload

        autoload.settle()
        return
    from ophook_npu import sim
    from ophook_npu.errors import OphookError
    from ophook_npu.npu import place

    try:
        if place.choose(options.npu_device, place.detect()) == "sim":
            os.environ.pop("TORCH_DEVICE_BACKEND_AUTOLOAD", None)
            with _output_shown(early_config):
                sim.enable(soc=options.npu_soc, devices=options.npu_devices)
    except OphookError as error:
        raise pytest.UsageError(str(error)) from error


def _output_shown(config: Any) -> AbstractContextManager[None]:
    """pytest already captures output here, and a first build takes minutes: its message must be seen."""
    capture = config.pluginmanager.getplugin("capturemanager")
    return capture.global_and_fixture_disabled() if capture else nullcontext()


@pytest.fixture
def ascendc_kernel() -> Iterator[Callable[..., Kernel]]:
    """``ascendc_kernel(path, operator=None, **settings)`` is ``ophook_npu.kernel.load``. After the test, a finding of
    the level ``error`` in any call of the kernel fails it; a test that expects one clears ``kernel.all_findings``.
    """
    with checked_kernels() as load:
        yield load


@contextmanager
def checked_kernels() -> Iterator[Callable[..., Kernel]]:
    """What the fixture does, around a block."""
    from ophook_npu.kernel import load

    loaded: list[Kernel] = []

    def load_kernel(path: str | Path, operator: str | None = None, **settings: Any) -> Kernel:
        loaded.append(load(path, operator, **settings))
        return loaded[-1]

    yield load_kernel
    errors = [str(f) for kernel in loaded for f in kernel.all_findings if f.severity == "error"]
    if errors:
        pytest.fail("\n".join(errors), pytrace=False)


def pytest_report_header(config: Any) -> str | None:
    if not config.getoption("npu_device"):
        return None
    from ophook_npu import sim

    root = sim.active()
    return f"npu: simulated {os.environ.get('OPHOOK_SIM_SOC')}, {root}" if root else "npu: hardware"
