"""The pytest plug-in: ``pytest --npu-device sim`` runs a test suite that needs ``npu`` on the simulated Ascend.

``auto`` uses a real NPU where there is one. Without the option tests find torch as they would without this plug-in; but
where ``import torch`` would raise, because torch_npu is installed and CANN is not, they run on the CPU. The
fixture ``ascendc_kernel`` loads an operator project's kernel and fails the test where a call of it has findings;
``npu_fault`` makes the simulated device fail.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ophook_npu.kernel import Kernel
    from ophook_npu.sim.fault import Made


def pytest_addoption(parser: Any) -> None:
    group = parser.getgroup("ophook-npu")
    group.addoption("--npu-device", choices=("auto", "sim", "npu"), help="where torch's npu device comes from")
    group.addoption("--npu-soc", help="the SoC to simulate")
    group.addoption("--npu-devices", type=int, default=1, help="how many devices to simulate")
    group.addoption(
        "--npu-check-order", action="store_true", help="a test fails where streams race (needs --npu-device)"
    )
    group.addoption(
        "--npu-order-suppressions", metavar="FILE", help="a file of races not to report: lines `WORD … # REASON`"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: Any) -> None:
    # Before conftest files, because the first of them may import torch.
    options = early_config.known_args_namespace
    if not options.npu_device:
        if options.npu_check_order:
            raise pytest.UsageError("--npu-check-order needs --npu-device sim")
        from ophook_npu.npu import autoload

        autoload.settle()
        return
    from ophook_npu import sim
    from ophook_npu.errors import OphookError
    from ophook_npu.npu import place

    try:
        chosen = place.choose(options.npu_device, place.detect())
        if options.npu_check_order and chosen != "sim":
            raise pytest.UsageError("the check of order is the simulator's, and these tests have an NPU")
        if chosen == "sim":
            os.environ.pop("TORCH_DEVICE_BACKEND_AUTOLOAD", None)
            if options.npu_check_order:
                _check_order(early_config, options.npu_order_suppressions)
            with _output_shown(early_config):
                sim.enable(soc=options.npu_soc, devices=options.npu_devices)
    except OphookError as error:
        raise pytest.UsageError(str(error)) from error


def _output_shown(config: Any) -> AbstractContextManager[None]:
    """pytest already captures output here, and a first build takes minutes: its message must be seen."""
    capture = config.pluginmanager.getplugin("capturemanager")
    return capture.global_and_fixture_disabled() if capture else nullcontext()


_ORDER = pytest.StashKey[Any]()


def _check_order(config: Any, suppressed: str | None) -> None:
    from ophook_npu.sim import order

    known = order.suppressions(Path(suppressed)) if suppressed else []
    folder = tempfile.mkdtemp(prefix="ophook-order-")
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    report = Path(folder) / "order.jsonl"
    os.environ.update(order.settings(report))
    config.stash[_ORDER] = order.Watched(report, known)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: Any) -> Iterator[None]:
    outcome = yield
    watched = item.config.stash.get(_ORDER, None)
    found = watched.new() if watched else None
    if found and found.races and not outcome.excinfo:  # type: ignore[attr-defined]
        outcome.force_exception(pytest.fail.Exception(found.text(), pytrace=False))  # type: ignore[attr-defined]


@pytest.fixture
def ascendc_kernel() -> Iterator[Callable[..., Kernel]]:
    """``ascendc_kernel(path, operator=None, **settings)`` is ``ophook_npu.kernel.load``. After the test, a finding of
    the level ``error`` in any call of the kernel fails it; a test that expects one clears ``kernel.all_findings``.
    """
    with checked_kernels() as load:
        yield load


@pytest.fixture
def npu_fault() -> Iterator[Callable[..., Made]]:
    """``npu_fault("aclnnAdd@1=507015")`` makes these faults till the end of the test (`ophook_npu.sim.fault`)."""
    from ophook_npu.sim import fault

    with ExitStack() as stack:
        yield lambda *orders: stack.enter_context(fault(*orders))


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
