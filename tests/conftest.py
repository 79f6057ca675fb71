"""What all suites share: which tests compare numbers, the order of files, and signals as tests expect them."""

from __future__ import annotations

import gc
import getpass
import os
import signal
import tempfile
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path

import pytest
import weights
from cpu_dependent import compares_numbers

from ophook_npu import collector

HERE = Path(__file__).parent

collector.rarely()  # a test that is about collections calls gc.collect()

# Inductor keeps what it compiled for one vector width, and would take it for another: it does not compile, or is wrong.
if capability := os.environ.get("ATEN_CPU_CAPABILITY"):
    own = Path(tempfile.gettempdir(), f"torchinductor_{getpass.getuser()}_{capability}")
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(own))

# Started in the background of a script, a process ignores Ctrl-C, and so would the programs that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--weigh", action="store_true", help="write how long each file takes to tests/weights.json")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--weigh"):
        if config.getoption("keyword") or config.getoption("markexpr") or any("::" in one for one in config.args):
            raise pytest.UsageError("--weigh measures whole files: leave out -k, -m and names of tests")
        config.pluginmanager.register(Scales(), "scales")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    # To import all test files takes longer than many tests that compare numbers, which are in a few of them.
    numbers_only = config.getoption("markexpr").startswith("numbers")
    return True if numbers_only and collection_path.is_file() and not compares_numbers(collection_path) else None


def pytest_collection_finish() -> None:
    gc.freeze()  # torch, torch_npu and torchair are looked through by no collection of a test's garbage


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if compares_numbers(item.path):
            item.add_marker(pytest.mark.numbers)
    # Files that take longest first; tests of a file keep their order.
    known = weights.load()
    expected = {path: known.get(_name(path)) or weights.guess(path) for path in {item.path for item in items}}
    items.sort(key=lambda item: (-expected[item.path], str(item.path)))


def _name(path: Path) -> str:
    return path.relative_to(HERE).as_posix() if path.is_relative_to(HERE) else str(path)


class Scales:
    """Measures each test where it runs, and adds up where the reports arrive."""

    def __init__(self) -> None:
        self._sums: dict[str, float] = defaultdict(float)
        self._before = 0.0

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        self._before = weights.spent()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, object, object]:
        if call.when == "teardown":
            item.user_properties.append(("processor time", weights.spent() - self._before))
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown":
            self._sums[report.nodeid.split("::")[0]] += dict(report.user_properties).get("processor time", 0.0)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if not hasattr(session.config, "workerinput"):  # a worker of pytest-xdist has sent its reports
            root = session.config.rootpath
            weights.save({_name(root / name): seconds for name, seconds in self._sums.items()})
