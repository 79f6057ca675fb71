"""What all suites share: which tests compare numbers, and signals as tests expect them."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from cpu_dependent import FILES

# Started in the background of a script, a process ignores Ctrl-C, and so would the programs that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if any(item.path.match(str(here / pattern)) for pattern in FILES):
            item.add_marker(pytest.mark.numbers)
